"""CPU time, memory and the limits of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .fair import without_handicaps

Clock = Callable[[], float]


def timed(work: Callable[[], Any], clock: Clock = time.process_time) -> tuple[Any, float]:
    """What the work returns, and its seconds: by default of all threads of this process."""
    begin = clock()
    answer = work()
    return answer, clock() - begin


def best(work: Callable[[], object], rounds: int = 3) -> float:
    """Least CPU time of this thread over a few rounds."""
    return min(timed(work, time.thread_time)[1] for _ in range(rounds))


def ratio(
    ours: Callable[[Any], object],
    rival: Callable[[Any], object],
    fresh: Callable[[], tuple[Any, Any]] = lambda: (None, None),
    rounds: int = 5,
) -> float:
    """Our CPU time over the rival's, smaller is better: the median over interleaved rounds.

    `fresh` makes the arguments of `ours` and `rival` before each round, outside the clock.
    """
    ratios = []
    for _ in range(rounds):
        states = fresh()
        one, other = (
            timed(lambda w=work, s=state: w(s), time.thread_time)[1]
            for work, state in zip((ours, rival), states, strict=True)
        )
        ratios.append(one / other)
    return float(f"{statistics.median(ratios):.4g}")


def cpu() -> float:
    """Seconds of all threads, and of the programs this process has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


# --- memory


def status(key: str) -> float:
    """Bytes of this process: VmRSS now, VmHWM since the last `forget_peak`; nan where Linux does not say."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as file:
        return 1024.0 * next(int(line.split()[1]) for line in file if line.startswith(key))
    return float("nan")


def forget_peak() -> float:
    """Begin VmHWM again where Linux permits it; bytes in use now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


@contextlib.contextmanager
def peak_memory(trim: bool = False) -> Iterator[list[float]]:
    """Bytes of memory in use at most, above those at the beginning. `trim` first returns freed memory to the system."""
    peak = [float("nan")]
    with contextlib.suppress(OSError, AttributeError):
        if trim:
            ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = forget_peak()
    yield peak
    peak[0] = status("VmHWM") - before


def highest(call: Callable[[], object]) -> float:
    """Peak of a call in bytes; its result is alive until the peak is read."""
    with peak_memory() as peak:
        answer = call()
    del answer
    return peak[0]


# --- limits


def dgemm(size: int = 800, rounds: int = 5) -> float:
    """Flops a second of numpy's matrix product on one thread, now."""
    A = np.random.default_rng(0).standard_normal((size, size))
    return 2.0 * size**3 / best(lambda: A @ A, rounds)


def fraction_of_dgemm(work: Callable[[], object], flops: float, rounds: int = 3) -> float:
    """Flops a second of the work over those of a matrix product just before: the median over interleaved rounds."""
    return float(f"{statistics.median(flops / (dgemm() * best(work, 1)) for _ in range(rounds)):.3g}")


@cache
def dgemm_limit() -> float:
    """Flops a second of the matrix product on one thread, in a process of its own."""
    own = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    own["PYTHONPATH"] = str(Path(__file__).parents[1])
    environment = {**without_handicaps(os.environ), **own}
    command = [sys.executable, "-c", "from measure.clock import dgemm; print(dgemm(1200, 6))"]
    return float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


@cache
def bandwidth() -> float:
    """Bytes a second of reading an array far larger than the caches (numpy's dot)."""
    a = np.ones(25_000_000)
    return a.nbytes / best(lambda: a @ a, 4)
