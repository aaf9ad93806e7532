"""Chooses the build of the C++ core for this CPU and imports it as ``kernsift._core``.

Every level is built with the same module name into a folder of its own, so pickles, stubs and documentation
never name a level.  A build that is present but broken raises: falling back would hide it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from scipy.linalg import cython_lapack

from .. import _cpu

PACKAGE = "kernsift"
NAME = f"{PACKAGE}._core"


def built_levels() -> list[str]:
    """Levels this installation carries, in the order of preference."""
    order = ["v4", "v3", "v2", "baseline"]
    return [level for level in order if importlib.util.find_spec(f"{PACKAGE}._isa_{level}") is not None]


def usable_levels() -> list[str]:
    """Levels this installation carries and this CPU runs, best first."""
    runs = _cpu.levels()
    return [level for level in built_levels() if level in runs]


def choose_level() -> str:
    """Level to load: ``KERNSIFT_ISA`` if set, else the best usable one."""
    usable = usable_levels()
    wanted = os.environ.get("KERNSIFT_ISA")
    if wanted:
        if wanted not in usable:
            raise ImportError(
                f"KERNSIFT_ISA={wanted!r} cannot be used: this installation carries {built_levels()} "
                f"and this CPU runs {_cpu.levels()}; unset it or set it to one of {usable}"
            )
        return wanted
    if not usable:
        raise ImportError(
            f"kernsift was built for {built_levels()} but this CPU runs {_cpu.levels()}; install a wheel for "
            "this machine or build from source"
        )
    return usable[0]


def load_core() -> ModuleType:
    """Import the chosen build as ``kernsift._core`` (once a process)."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    level = choose_level()
    found = importlib.util.find_spec(f"{PACKAGE}._isa_{level}._core")
    if found is None or found.origin is None:
        raise ImportError(f"the {level} build of the kernsift core is missing its extension module; reinstall kernsift")
    path = str(Path(found.origin))
    loader = importlib.machinery.ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[NAME]
        raise
    _lend_lapack(module)
    sys.modules[PACKAGE]._core = module  # type: ignore[attr-defined]  # as an ordinary import of a submodule does
    return module


def _lend_lapack(core: ModuleType) -> None:
    """Give the core scipy's routine for eigenvalues, three to six times as fast as its own; scikit-learn loads it."""
    core.use_dsyevd(cython_lapack.__pyx_capi__["dsyevd"])
