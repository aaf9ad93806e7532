"""The race against other libraries runs, and the gate on instructions fails and passes where it should."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bench_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def comparison() -> ModuleType:
    return module(BENCH / "gate" / "comparison.py")


COUNTS = {"kernel": 1_000_000, "stream": 2_000_000}


@pytest.mark.parametrize(("more", "failures"), [(0.04, 1), (0.02, 0), (-0.2, 0)])
def test_the_gate_fails_at_four_per_cent_more_and_passes_at_two(
    comparison: ModuleType, more: float, failures: int
) -> None:
    counted = {**COUNTS, "stream": round(COUNTS["stream"] * (1 + more))}
    lines = comparison.verdicts(COUNTS, counted)
    assert len(lines) == failures
    assert all(line.startswith("stream:") and "4.0 % more" in line for line in lines)


def test_work_that_only_one_side_knows_fails_the_gate(comparison: ModuleType) -> None:
    assert len(comparison.verdicts(COUNTS, {"kernel": 1_000_000})) == 1
    assert len(comparison.verdicts({"kernel": 1_000_000}, COUNTS)) == 1


def test_counts_of_other_tools_are_not_compared(comparison: ModuleType) -> None:
    tools = {"compiler": "c++ 12", "valgrind": "3.19"}
    assert comparison.differences(tools, tools) == []
    assert comparison.differences(tools, {"compiler": "c++ 12"}) == []  # the other is not known yet
    assert comparison.differences(tools, {**tools, "compiler": "c++ 13"}) == ["compiler is c++ 13, not c++ 12"]


def test_a_moved_baseline_keeps_its_reasons(comparison: ModuleType) -> None:
    first = comparison.moved({}, COUNTS, {"compiler": "c++ 12"}, "the first count")
    counted = {"kernel": 1_100_000, "path": 5}
    second = comparison.moved(first, counted, {"compiler": "c++ 12"}, "a check that was missing")
    assert second["instructions"] == counted
    assert [move["reason"] for move in second["moves"]] == ["the first count", "a check that was missing"]
    assert second["moves"][1]["changed"] == {"kernel": "+10.0 %", "path": "new", "stream": "gone"}
    assert comparison.verdicts(second["instructions"], counted) == []


def test_the_committed_baseline_is_of_the_driver(comparison: ModuleType) -> None:
    baseline = json.loads((BENCH / "gate" / "baseline.json").read_text(encoding="utf-8"))
    table = (BENCH / "gate" / "work.cpp").read_text(encoding="utf-8").split("kWork[]")[1]
    assert set(baseline["instructions"]) == set(re.findall(r'\{"(\w+)", ', table))
    assert all(move["reason"] for move in baseline["moves"])


def test_the_race_runs(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"

    def run(*work: str) -> str:
        command = [sys.executable, str(BENCH / "peers"), "--quick", "--table", *work, "--out", str(page)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return page.read_text(encoding="utf-8")

    text = run("paths", "--only", "OLS, 20")
    assert "failed" not in text
    assert "| kernsift OLS | " in text
    assert "| OrthogonalMatchingPursuit | " in text
    # another run keeps the sections it has no part in
    text = run("large")
    assert "| Nystroem+Ridge | " in text
    assert "| kernsift OLS | " in text


def test_handicaps_of_blas_are_lifted_before_numpy_loads_and_refused_after() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(BENCH)!r}); from measure.fair import blas, lift; lift(); "
        "held = blas(); import os; os.environ['OPENBLAS_CORETYPE'] = 'Haswell'; print(held)\n"
        "try:\n    lift()\nexcept RuntimeError as error:\n    print(error)"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    said = [
        subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout
        for env in (clean, {**clean, "OPENBLAS_CORETYPE": "Prescott"})
    ]
    assert said[0] == said[1]  # the same kernels whatever the machine sets
    assert "OPENBLAS_CORETYPE" in said[0]


@pytest.mark.parametrize("module", sorted(path.stem for path in (BENCH / "benchmarks").glob("bench_*.py")))
def test_benchmarks_race_without_handicaps_whatever_the_machine_sets(module: str) -> None:
    handicaps = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "512"}
    environment = {**os.environ, **handicaps}
    code = f"import benchmarks.{module}, os; print([name for name in {tuple(handicaps)} if name in os.environ])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=BENCH, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
