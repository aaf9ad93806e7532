"""The examples of the docstrings run and say what is printed beside them."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re

import kernsift
import pytest
from support.public import PUBLIC

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
NEEDS = {"path_display": "matplotlib.pyplot", "display": "matplotlib.pyplot", "_onnx": "onnx", "_skl2onnx": "skl2onnx"}


@pytest.fixture
def pictures():
    """Pictures that nobody sees, and that are closed again."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib")
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    for part, package in NEEDS.items():
        if part in name.split("."):
            pytest.importorskip(package, reason=f"the examples need {package}")
            if part in ("display", "path_display"):
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


# Not shown: they open a progress bar, a window or need another program.
NOT_SHOWN = {"set_callbacks", "register_skl2onnx", "predict_proba_many"}


def public_things():
    """Public classes and functions with the names they have in the documentation."""
    for name in PUBLIC:
        module = imported(name)
        for part in getattr(module, "__all__", []):
            thing = getattr(module, part)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                yield f"{name}.{part}", thing


def own_methods(cls):
    """Public methods that are written in this package."""
    for name, method in inspect.getmembers(cls, inspect.isroutine):
        if not name.startswith("_") and (getattr(method, "__module__", None) or "").startswith("kernsift"):
            yield name, method


def examples_of(thing):
    """The source of all examples in the docstrings of a class and its methods, or of a function."""
    owners = [thing, *(method for _, method in own_methods(thing))] if inspect.isclass(thing) else [thing]
    parser = doctest.DocTestParser()
    return "".join(e.source for owner in owners for e in parser.get_examples(inspect.getdoc(owner) or ""))


def test_every_public_name_has_an_example():
    assert [name for name, thing in public_things() if not examples_of(thing)] == []


def test_every_public_method_is_called_in_an_example():
    """In one of a class that has it: what is shared needs to be shown once."""
    wanted, shown = {}, ""
    for name, thing in public_things():
        shown += examples_of(thing)
        if inspect.isclass(thing):
            wanted.update({method: name for method, _ in own_methods(thing)})
    called = set(re.findall(r"\.(\w+)\(", shown))
    assert {m: c for m, c in wanted.items() if m not in called | NOT_SHOWN} == {}
