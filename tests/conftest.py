"""Options, the report header, and what several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import kernsift
import numpy as np
import pytest
from hypothesis import settings

# of the state machines: pytest --hypothesis-profile nightly
settings.register_profile("nightly", max_examples=3000)
# A change is judged by the same examples whenever it is judged; chance has its night.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="also run tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
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
