"""How many threads a call may use."""

from __future__ import annotations

import functools
import os
from typing import Any


def n_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs` as joblib counts them: None is one, -1 all, -2 all but one.

    Never more than ``OMP_NUM_THREADS`` allows, if it is set, or threadpoolctl, if it leaves OpenMP fewer than there are
    CPUs.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use None for one thread or -1 for all")
    threads = 1 if n_jobs is None else n_jobs if n_jobs > 0 else cpus() + 1 + n_jobs
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        threads = min(threads, int(limit))
    if threads > 1:
        openmp = min((pool["num_threads"] for pool in _openmp().info()), default=cpus())
        threads = min(threads, openmp) if openmp < cpus() else threads
    return max(1, threads)


def cpus() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _openmp() -> Any:
    """The limits of threadpoolctl for the calling thread; our own threads are not OpenMP's, and follow them."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="openmp")
