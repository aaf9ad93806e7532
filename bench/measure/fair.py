"""A fair race: BLAS at its best for numpy and every rival, and it is known which.

`lift` comes before the first import of numpy: some machines set variables that hold OpenBLAS to the kernels of older
processors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

HANDICAPS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE")


def without_handicaps(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process that races."""
    return {name: value for name, value in environment.items() if name not in HANDICAPS}


def lift() -> None:
    """Take the handicaps out of this process; too late once BLAS is loaded."""
    held = [name for name in HANDICAPS if name in os.environ]
    if held and "numpy" in sys.modules:
        raise RuntimeError(f"BLAS was loaded with {', '.join(held)} set: unset them, the race would not be fair")
    for name in held:
        del os.environ[name]


def blas() -> str:
    """The BLAS that numpy and scipy run, and its kernels."""
    import scipy.linalg  # noqa: F401 (loads its BLAS, and numpy's)
    from threadpoolctl import threadpool_info

    found = {
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')} kernels)"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return " and ".join(sorted(found)) or "no BLAS that threadpoolctl knows"
