"""Types as users meet them: a script runs, and type checkers accept it."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("typed.py")
CHECKERS = {"mypy": ["--strict", "--no-incremental", "--ignore-missing-imports"], "pyright": []}


def test_the_script_runs():
    runpy.run_path(str(SCRIPT))


def check(checker, script):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    command = [sys.executable, "-m", checker, *CHECKERS[checker], str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=script.parent)


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_the_script_is_typed(checker, tmp_path):
    script = Path(shutil.copy(SCRIPT, tmp_path))  # away from our settings
    done = check(checker, script)
    assert done.returncode == 0, done.stdout


WRONG = """
from kernsift import LSSVMRegressor, OnlineLSSVMRegressor, OROLSRegressor, SubsetLSSVMRegressor
from kernsift.forecast import KernelForecaster

SubsetLSSVMRegressor(kernel="poly")
SubsetLSSVMRegressor(alpha="gvc")
SubsetLSSVMRegressor(noise="inputs")
LSSVMRegressor(alpha="gcv")
OnlineLSSVMRegressor(admission="two part")
OROLSRegressor(selection="residuals")
KernelForecaster(strategy="recursiv")
SubsetLSSVMRegressor(gama=1.0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_misspelt_words_are_found_before_the_script_runs(checker, tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text(WRONG, encoding="utf-8")
    said = check(checker, script).stdout
    lines = {int(number) for number in re.findall(r"wrong\.py:(\d+)(?::\d+ -)?:? error", said)}
    # scikit-learn has no types, and of what has such a base mypy takes any keyword
    assert lines == set(range(5, 12 if checker == "mypy" else 13)), said
