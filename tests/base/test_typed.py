"""Types as users meet them: a script runs, and type checkers accept it."""

from __future__ import annotations

import importlib.util
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("typed.py")
CHECKERS = {"mypy": ["--strict", "--no-incremental", "--ignore-missing-imports"], "pyright": []}


def test_the_script_runs():
    runpy.run_path(str(SCRIPT))


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_the_script_is_typed(checker):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    command = [sys.executable, "-m", checker, *CHECKERS[checker], str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
