"""Options, the report header, and what several test files share."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path

import kernsift
import numpy as np
import pytest
from hypothesis import Phase, settings

# Of the state machines: pytest --hypothesis-profile nightly. By itself hypothesis is not random where it sees a CI.
settings.register_profile("nightly", derandomize=False, max_examples=3000)
# A change is judged by the same examples whenever it is judged; chance has its night. Without explanations, for which
# every line that runs is traced.
settings.register_profile("repeatable", derandomize=True, phases=[p for p in Phase if p is not Phase.explain])
# The runtime of a sanitizer comes before everything else of the process (CONTRIBUTING.md).
SANITIZED = "san.so" in os.environ.get("LD_PRELOAD", "")
settings.register_profile("unshrunk", settings.get_profile("repeatable"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("sanitized", derandomize=True, max_examples=10)  # each takes ten times as long
settings.load_profile("sanitized" if SANITIZED else "repeatable")

# What cannot be tested there, by the beginning of its name, and why.
NOT_SANITIZED = {
    "test_batch_calls.py::test_ctrl_c_ends_a_batch_call": "bounds the time from the key to the exception",
    "test_batch_calls.py::test_no_temporary_of_rows_times_kernels": "bounds memory, which the runtime multiplies",
    "test_export_c.py::": "the exported C has no core in it, and its compiler would run under the sanitizer",
    "test_fuzz.py::test_no_file": "bounds the address space of its processes, of which the runtime takes terabytes",
    "test_fuzz.py::test_no_input": "bounds the address space of its processes",
    "test_memory.py::test_a_huge_cap": "bounds memory, which the runtime multiplies",
    "test_memory.py::test_a_peak": "bounds memory, which the runtime multiplies",
    "test_large_bases.py::test_a_fit_without_its_sums_takes_one_square": "bounds memory",
    "test_threads.py::test_a_process_out_of_memory": "bounds the address space",
    "test_threads.py::test_other_threads_run_while_the_core_works": "counts ticks of a clock",
}

# The files of `python -m pytest -m quick`: each family against its oracle, in less than a minute in all.
QUICK = (
    "base/test_kernels.py", "blocks/test_inverses.py", "blocks/test_papers.py", "dense/test_lssvm.py",
    "house/test_codebase.py", "house/test_docs.py", "house/test_language.py", "house/test_python_house.py",
    "select/test_orols.py", "select/test_orthogonal_basis.py", "select/test_stopping.py", "stream/test_krls.py",
    "stream/test_lstd.py", "stream/test_online.py", "subset/test_bases.py", "subset/test_large_bases.py",
    "subset/test_merging.py", "subset/test_subset.py",
)  # fmt: skip


@pytest.fixture
def from_bench(monkeypatch):
    """Imports a module of the benchmarks, by its name in their folder."""
    folder = Path(__file__).resolve().parents[1] / "bench"
    if not folder.is_dir():
        pytest.skip("bench is not beside these tests")
    monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run tests marked slow")


def pytest_configure() -> None:
    # A shell's job in the background ignores Ctrl-C, and so would the models and programs the tests press it on.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.as_posix().endswith(tuple(f"/{file}" for file in QUICK)) and "slow" not in item.keywords:
            item.add_marker("quick")
    if SANITIZED:
        for item in items:
            for name, reason in NOT_SANITIZED.items():
                if f"/{item.nodeid}".rpartition("/")[2].startswith(name):
                    item.add_marker(pytest.mark.skip(reason=f"not under sanitizers: {reason}"))
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow; run with --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


def pytest_report_header() -> str:
    built = kernsift.build_config()
    return f"kernsift {kernsift.__version__}, core {built['cpu_level']}, Eigen {built['eigen']}, {built['compiler']}"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20061)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Where the papers' data sets are; tests that need one are skipped without it."""
    named = os.environ.get("KERNSIFT_DATA")
    here = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not here.is_dir():
        pytest.skip("needs the papers' data sets: set KERNSIFT_DATA to their folder")
    return here
