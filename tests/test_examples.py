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


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    found = [doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES]
    assert sum(bool(test.examples) for tests in found for test in tests) > 15
