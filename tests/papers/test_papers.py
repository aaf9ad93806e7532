"""The command that makes the papers' tables: its rows, its page, and one table from end to end."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
FOLDER = BENCH / "papers"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="bench/papers is not beside these tests")


@pytest.fixture
def registry(from_bench):
    return from_bench("papers.registry")


@pytest.fixture
def datasets(from_bench):
    return from_bench("measure.data")


@pytest.mark.parametrize(
    ("ours", "more", "verdict"),
    [
        (4.0, {"spread": 1.0, "repetitions": 100}, "better"),
        (6.0, {"spread": 1.0, "repetitions": 100}, "worse"),
        (5.1, {"spread": 1.0, "repetitions": 100}, "matches"),
        (5.1, {"spread": 1.0, "repetitions": 10_000}, "worse"),
        (5.1, {"standard_error": 0.06}, "matches"),
        (5.1, {"standard_error": 0.06, "note": "one run"}, "matches"),
        (5.1, {}, "worse"),
        # the paper's mean has a standard error too: hypot(0.06, 0.6 / sqrt(100)) * 2 = 0.17
        (5.15, {"standard_error": 0.06, "paper_spread": 0.6, "paper_repetitions": 100}, "matches"),
        (5.15, {"standard_error": 0.06, "paper_spread": 0.6, "paper_repetitions": 10_000}, "worse"),
        (4.0, {"ruling": "not identified", "note": "why"}, "not identified"),
        (
            4.0,
            {"spread": 0.1, "repetitions": 9, "kernels": "5.6 % in all", "paper_kernels": "5 %"},
            "better, more kernels",
        ),
        (5.0, {"kernels": "5.4 % in all", "paper_kernels": "5 %"}, "matches"),
        (5.0, {"kernels": "44", "paper_kernels": "50"}, "matches, fewer kernels"),
        (6.0, {"variant": True}, "(worse)"),
    ],
)
def test_verdicts(registry, ours, more, verdict):
    row = registry.Row("item", 5.0, ours, **more)
    assert row.verdict == verdict
    shown = dict(zip(registry.HEADINGS, row.cells(), strict=True))
    assert list(shown)[:2] == ["item", "verdict"]
    assert (shown["verdict"], shown["note"]) == (verdict, more.get("note", ""))
    assert registry.Row("item", None, ours, spread=1.0).verdict == ""


def test_a_table_replaces_its_section_and_leaves_the_others(registry, tmp_path):
    page = tmp_path / "RESULTS.md"
    old, new = (
        registry.markdown(registry.Table("B1", "second", iter), [registry.Row("item", 5.0, x)], "quick") for x in (6, 7)
    )
    other = registry.markdown(registry.Table("A1", "first", iter), [registry.Row("thing", 1.0, 1.5)], "quick")
    registry.write_results(page, {"B1": old})
    registry.write_results(page, {"A1": other})
    registry.write_results(page, {"B1": new})
    text = page.read_text(encoding="utf-8")
    assert text.index("## First (`A1`)") < text.index("## Second (`B1`)")
    assert text.count("## ") == 3
    assert text.startswith("# Measured by `python bench/papers`\n\n## Of 2 printed numbers 0 are matched")
    assert "| item | worse | 5 | 7 |" in text
    assert "| item | worse | 5 | 6 |" not in text
    assert "| thing | worse | 1 | 1.5 |" in text


def test_the_summary_counts_what_is_printed(registry):
    Row = registry.Row
    lines = [
        Row("a", 5.0, 4.0, kernels="3", paper_kernels="2"),
        Row("b", 5.0, 5.0),
        Row("c", 5.0, 6.0),
        Row("d", 5.0, 4.0, ruling="not identified"),
        Row("e", 5.0, 6.0, variant=True),
        Row("f", None, 6.0),
    ]
    found = {
        "A1": registry.markdown(registry.Table("A1", "title", iter), lines, "quick"),
        "B1": "## B1\n\n| better | b |\n",
    }
    text = registry.summary(found)
    assert "Of 4 printed numbers 2 are" in text
    assert "| A1 | 4 | 1 | 1 | 1 | 1 | 0 | 1 |" in text
    assert "B1" not in text
    assert registry.summary({"B1": found["B1"]}) == ""


def test_sections_stand_in_the_order_of_the_list(registry, tmp_path, monkeypatch):
    page = tmp_path / "RESULTS.md"
    monkeypatch.setattr(registry, "TABLES", {})
    for name in ("Z1", "M1"):
        registry.table(name, "listed")(iter)
    for name in ("M1", "A1", "Z1"):
        section = registry.markdown(registry.Table(name, "title", iter), ["words"], "quick")
        registry.write_results(page, {name: section})
    text = page.read_text(encoding="utf-8")
    assert text.index("(`Z1`)") < text.index("(`M1`)") < text.index("(`A1`)")
    assert "SUMMARY" not in text


def test_peak_memory_sees_an_array(from_bench):
    with from_bench("measure.clock").peak_memory(trim=True) as peak:
        values = np.ones(4_000_000)
        values[::512] = 2.0
        del values
    if not np.isnan(peak[0]):
        assert 30 < peak[0] / 2**20 < 60  # 32 MB, and what else the interpreter did meanwhile


# ---- data


def test_the_fingerprint_is_of_the_values(datasets):
    X, y = np.arange(12).reshape(4, 3), np.array([1, 2, 1, 2])
    one = datasets.fingerprint({"X": X.astype(np.uint8), "y": y.astype(np.uint8)})
    assert one == datasets.fingerprint({"y": y, "X": X.astype(float), "feature_names": np.array(["a"])})
    assert one != datasets.fingerprint({"X": X[::-1], "y": y})
    assert one != datasets.fingerprint({"X": X.reshape(3, 4), "y": y})
    assert one != datasets.fingerprint({"X": X, "y": y.astype(str)})


def test_only_the_right_set_is_kept_and_only_when_asked(datasets, tmp_path, monkeypatch):
    arrays = {"X": np.eye(3), "y": np.arange(3.0)}
    fetched = []
    monkeypatch.setitem(datasets.SOURCES, "boston", lambda: fetched.append(1) or arrays)
    with pytest.raises(SystemExit, match="--download"):
        datasets.load(tmp_path, "boston")
    assert not fetched
    with pytest.raises(SystemExit, match="not kept"):
        datasets.download("boston", tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setitem(datasets.CHECKSUMS, "boston", datasets.fingerprint(arrays))
    datasets.download("boston", tmp_path)
    assert np.array_equal(datasets.load(tmp_path, "boston")["X"], np.eye(3))
    datasets.download("boston", tmp_path)  # there already
    assert len(fetched) == 2


@pytest.mark.parametrize("name", ["boston", "abalone", "letter", "optdigits", "usps", "motorcycle", "satimage"])
def test_the_checksums_are_those_of_the_papers_sets(datasets, data_dir, name):
    assert datasets.fingerprint(datasets.load(data_dir, name)) == datasets.CHECKSUMS[name]


# ---- the command


def test_one_table_from_end_to_end(tmp_path):
    rng = np.random.default_rng(20063)
    for name, rows, features in (("boston", 506, 13), ("abalone", 4177, 8)):
        X = rng.standard_normal((rows, features))
        y = X[:, 3] + 0.1 * rng.standard_normal(rows)
        np.savez(tmp_path / f"{name}.npz", X=X, y=y, sex=rng.choice(["M", "F", "I"], rows))
    page = tmp_path / "RESULTS.md"
    command = [sys.executable, str(FOLDER), "--table", "OROLS4", "--quick", "--data", str(tmp_path)]
    done = subprocess.run([*command, "--out", str(page)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [
        line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(("| boston", "| abalone"))
    ]
    assert len(rows) == 2 * (4 + 1)  # four ways to choose the size, and the dense machine
    assert all(0.0 < float(row.split("|")[4].split("±")[0]) < 1.2 for row in rows)

    assert "![" not in page.read_text(encoding="utf-8")

    missing = subprocess.run([*command[:-1], str(page)], capture_output=True, text=True, check=False, timeout=60)
    assert missing.returncode != 0
    assert "--data" in missing.stderr


def test_one_figure_from_end_to_end(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    X = np.round(rng.uniform(0, 50, (40, 1)))
    np.savez(tmp_path / "motorcycle.npz", X=X, y=np.sin(X[:, 0] / 8) + 0.1 * rng.standard_normal(40))
    page = tmp_path / "out" / "RESULTS.md"
    command = [sys.executable, str(FOLDER), "--table", "ISLS1", "--quick", "--data", str(tmp_path)]
    done = subprocess.run([*command, "--out", str(page)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "![ISLS1](figures/ISLS1.png)" in page.read_text(encoding="utf-8")
    assert (page.parent / "figures" / "ISLS1.png").stat().st_size > 1000


def test_tables_whose_data_are_absent_are_skipped_and_named(registry, tmp_path, capsys, monkeypatch):
    """The first missing set ended the whole run."""
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        monkeypatch.delenv(name, raising=False)  # numpy is loaded; here nothing is raced
    spec = importlib.util.spec_from_file_location("papers_main", FOLDER / "__main__.py")
    main = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    made = []
    tables = {
        name: dataclasses.replace(main.TABLES[name], make=lambda run, name=name: made.append(name) or [], data=data)
        for name, data in (("JP1", ("abalone",)), ("OROLS3", ()))
    }
    monkeypatch.setattr(main, "TABLES", tables)
    for given in ([], ["--data", str(tmp_path)]):
        assert main.main(["--quick", *given, "--out", str(tmp_path / "R.md")]) == 0
        said = capsys.readouterr()
        assert "JP1: skipped" in said.out
        assert "skipped: JP1; missing: abalone: give the folder of the data sets with --data" in said.err
    assert made == ["OROLS3", "OROLS3"]
    assert main.main(["--table", "JP1", "--out", str(tmp_path / "R.md")]) == 1  # named, and not made
