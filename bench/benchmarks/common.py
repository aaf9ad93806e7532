"""What every benchmark here shares: how asv times it, and data.

Times are CPU time of the calling thread, which a busy neighbour disturbs least. So that a rival cannot hide
work in other threads, BLAS is held to one.
"""

from __future__ import annotations

import os
import time
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]

threadpool_limits(1)

SEED = 20261


def sizes(*all_sizes: int) -> list[int]:
    """Sizes to measure at; the first two where only a smoke run is wanted."""
    return list(all_sizes[:2] if os.environ.get("KERNSIFT_BENCH_SMALL") else all_sizes)


def _load() -> ModuleType | None:
    """kernsift, or None where KERNSIFT_ISA asks for a level this machine or this build does not have."""
    try:
        import kernsift
    except ImportError as error:
        if "KERNSIFT_ISA" not in str(error):
            raise
        return None
    return kernsift


kernsift = _load()


def setup(*_: object) -> None:
    """Imported by every benchmark file: asv calls it first, and shows n/a for what raises this."""
    if kernsift is None:
        raise NotImplementedError("no such CPU level here")


class Timed:
    """Base class: thread CPU time as the clock. asv runs `setup` again before every sample."""

    timer = time.thread_time
    number = 1
    rounds = 1
    warmup_time = 0.0


def table(n: int, features: int = 8, seed: int = SEED) -> tuple[Array, Array]:
    """Standardised rows and a smooth function of three of their features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, features))
    return X, target(X, rng)


def target(X: Array, rng: np.random.Generator) -> Array:
    return np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(len(X))


def assert_close(ours: Array, reference: Array, tolerance: float) -> None:
    """Largest difference, relative to the largest reference value, is at most `tolerance`."""
    scale = np.abs(reference).max()
    error = np.abs(ours - reference).max() / scale
    assert error <= tolerance, f"wrong answer: relative error {error:.1e}, allowed {tolerance:.0e}"
