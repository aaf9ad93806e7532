"""Facts about this installation."""

from __future__ import annotations

from typing import Any

from .. import _cpu
from .._core import build_info
from .loader import built_levels


def build_config() -> dict[str, Any]:
    """Describe the loaded core: CPU level, SIMD, Eigen, compiler, and what else could be loaded.

    Returns
    -------
    dict
        ``cpu_level`` (the build in use; set ``KERNSIFT_ISA`` before the import to force another),
        ``built_levels``, ``cpu_runs``, ``eigen``, ``compiler``, ``simd``, and ``assertions`` (True in a checked build,
        which stops where the state of an online model cannot be).

    Examples
    --------
    >>> import kernsift
    >>> kernsift.build_config()["cpu_level"] in kernsift.build_config()["built_levels"]
    True
    """
    return {**build_info(), "built_levels": built_levels(), "cpu_runs": _cpu.levels()}
