"""Types as users meet them: a script runs, and type checkers accept it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_overloads

import kernsift
import pytest

SCRIPT = Path(__file__).with_name("typed.py")
CHECKERS = {"mypy": ["--strict", "--no-incremental", "--ignore-missing-imports"], "pyright": []}


def test_the_script_runs():
    runpy.run_path(str(SCRIPT))


#: Parameters and results that may be anything, by names that are the same everywhere.
ANYTHING = {
    "estimator or model of any kind": {"estimator", "others", "best_estimator_", "model"},
    "label, or object of a kernel": {"label", "y", "x"},
    "columns of any table": {"X", "columns", "batches"},
    "another library's": {"ax", "axes", "bars", "callbacks", "env", "kwargs", "line", "points"},
    "a class or record of numbers": {"knots", "slopes", "transitions"},
    "by name": {"params"},
}
#: Functions whose result depends on what they were given (a number where there is one output, and a union would have to
#: be taken apart by every user), or is another library's.
RETURNS = {
    "act", "evidence", "fold", "gcv", "load", "plot_curves", "predict",
    "predict_interval", "predict_many", "predict_one", "predict_proba_many", "to_onnx",
}  # fmt: skip
MODULES = ("blocks", "datasets", "display", "export", "forecast", "kernels", "river")


def untyped():
    """Names of parameters, and functions, of the public names that are typed as Any."""
    for module in (kernsift, *(importlib.import_module(f"kernsift.{name}") for name in MODULES)):
        for name in module.__all__:
            thing = getattr(module, name)
            methods = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else [(name, thing)]
            for method, function in methods:
                own = (getattr(function, "__module__", None) or "").startswith("kernsift")
                if not own or (method.startswith("_") and method != "__init__") or get_overloads(function):
                    continue
                found = getattr(inspect.unwrap(function), "__annotations__", {})
                yield from ((method, what) for what, kind in found.items() if kind in ("Any", Any))


def test_what_is_public_has_types():
    """Of these and no others the type is Any."""
    pytest.importorskip("river", reason="needs river")
    given = set().union(*ANYTHING.values())
    found = set(untyped())
    allowed = {pair for pair in found if (pair[1] in given) or (pair[1] == "return" and pair[0] in RETURNS)}
    assert found - allowed == set()
    assert given <= {what for _, what in found}  # none of the list that has a type by now
    assert {method for method, what in found if what == "return"} == RETURNS


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
