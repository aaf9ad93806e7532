"""The command that makes the papers' tables: its rows, its page, and one table from end to end."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "bench" / "papers"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="bench/papers is not beside these tests")


@pytest.fixture
def registry(monkeypatch):
    spec = importlib.util.spec_from_file_location("registry_of_papers", FOLDER / "registry.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("ours", "more", "verdict"),
    [
        (4.0, {"spread": 1.0, "repetitions": 100}, "better"),
        (6.0, {"spread": 1.0, "repetitions": 100}, "worse"),
        (5.1, {"spread": 1.0, "repetitions": 100}, "matches"),
        (5.1, {"spread": 1.0, "repetitions": 10_000}, "worse"),
        (5.1, {"standard_error": 0.06}, "matches"),
        (5.1, {"standard_error": 0.06, "note": "one run"}, "matches; one run"),
        (5.1, {}, "worse"),
    ],
)
def test_verdicts(registry, ours, more, verdict):
    assert registry.Row("item", 5.0, ours, **more).verdict == verdict
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
    assert text.index("## A1: first") < text.index("## B1: second")
    assert text.count("## ") == 2
    assert "| item | 5 | 7 |" in text
    assert "| item | 5 | 6 |" not in text
    assert "| thing | 1 | 1.5 |" in text


def test_one_table_from_end_to_end(tmp_path):
    rng = np.random.default_rng(20063)
    for name, rows, features in (("boston", 506, 13), ("abalone", 4177, 8)):
        X = rng.standard_normal((rows, features))
        y = X[:, 3] + 0.1 * rng.standard_normal(rows)
        np.savez(tmp_path / f"{name}.npz", X=X, y=y, sex=rng.choice(["M", "F", "I"], rows))
    page = tmp_path / "RESULTS.md"
    command = [sys.executable, str(FOLDER), "--table", "OROLS4", "--quick", "--data", str(tmp_path)]
    done = subprocess.run([*command, "--results", str(page)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [
        line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(("| boston", "| abalone"))
    ]
    assert len(rows) == 6
    assert all(0.0 < float(row.split("|")[3].split("±")[0]) < 1.2 for row in rows)

    missing = subprocess.run([*command[:-1], str(page)], capture_output=True, text=True, check=False, timeout=60)
    assert missing.returncode != 0
    assert "--data" in missing.stderr
