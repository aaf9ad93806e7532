"""The examples of the docstrings run and say what is printed beside them."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import kernsift
import pytest

MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(kernsift.__path__, "kernsift.")
    if "._isa_" not in m.name and "__main__" not in m.name
)


def imported(name):
    """The module, or None where it belongs to an extra that is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        if "pip install 'kernsift[" not in str(missing):
            raise
        return None


# Packages that the examples of a module need, where the module itself does not.
NEEDS = {"_path_display": "matplotlib.pyplot", "display": "matplotlib.pyplot", "_onnx": "onnx", "_skl2onnx": "skl2onnx"}


@pytest.fixture
def pictures():
    """Pictures that nobody sees, and that are closed again."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib")
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, request):
    for part, package in NEEDS.items():
        if part in name.split("."):
            pytest.importorskip(package, reason=f"the examples need {package}")
            if part in ("display", "_path_display"):
                request.getfixturevalue("pictures")
    module = imported(name)
    if module is None:
        pytest.skip(f"{name} belongs to an extra that is not installed")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_there_are_examples():
    modules = [module for module in map(imported, MODULES) if module is not None]
    found = [doctest.DocTestFinder().find(module) for module in modules]
    assert sum(bool(test.examples) for tests in found for test in tests) > 15
