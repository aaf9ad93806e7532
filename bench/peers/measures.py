"""What every kind of work shares: data, kernels in numpy, errors, and the machine's limits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.selection_rivals import rbf
from numpy.typing import NDArray

Array = NDArray[np.float64]
Arrays = dict[str, Array]
Told = dict[str, Any]
Rival = Callable[[Arrays, Told], tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]]
THREADS = int(os.environ.get("KERNSIFT_PEERS_THREADS", "1"))


def forest(data: Path | None, n: int) -> Arrays:
    """Class 2 against the rest as ±1 from `data`; without it a stand-in that only shows that the race runs."""
    if data is not None and (data / "covtype.npz").is_file():
        from benchmarks.reach_subset import forest as read

        return dict(zip(("X", "y", "test", "truth"), read(data, n), strict=True))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + 2000, 54))
    y = np.sign(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    return {"X": X[:n], "y": y[:n], "test": X[n:], "truth": y[n:]}


def synthetic(n: int, seed: int = 0) -> Arrays:
    """Ten features, of which a smooth function of five and noise of .1 of its deviation: friedman1, standardised."""
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n + 5000, noise=0.5, random_state=seed)
    X, y = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    return {"X": np.ascontiguousarray(X[:n]), "y": y[:n], "test": np.ascontiguousarray(X[n:]), "truth": y[n:]}


def wrong(scores: Array, truth: Array) -> float:
    """Per cent of signs that are wrong."""
    return 100.0 * float(np.mean(np.where(np.asarray(scores).ravel() > 0, 1.0, -1.0) != truth))


def rmse(predicted: Array, truth: Array) -> float:
    return float(np.sqrt(np.mean((np.asarray(predicted).ravel() - truth) ** 2)))


def error(told: Told, predicted: Array, truth: Array) -> float:
    return (wrong if told["measure"] == "%" else rmse)(predicted, truth)


_PRODUCT = """
import time
import numpy as np
A = np.random.default_rng(0).standard_normal((1200, 1200))
best = 1e9
for _ in range(6):
    begin = time.process_time()
    A @ A
    best = min(best, time.process_time() - begin)
print(2 * 1200**3 / best)
"""


@cache
def dgemm() -> float:
    """Flops a second of numpy's matrix product, one thread's CPU time.

    The better of OpenBLAS's own choice of kernels and, where the processor has AVX-512, those for it: on some such
    processors it chooses others, and what is then measured is no limit.
    """
    info = Path("/proc/cpuinfo")
    kinds = ["", "SkylakeX"] if info.is_file() and "avx512f" in info.read_text() else [""]
    found = []
    for kind in kinds:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        environment |= {"OPENBLAS_CORETYPE": kind} if kind else {}
        command = [sys.executable, "-c", _PRODUCT]
        found.append(float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout))
    return max(found)


def bandwidth() -> float:
    """Bytes a second of reading an array far larger than the caches (numpy's dot)."""
    a = np.ones(25_000_000)
    best = np.inf
    for _ in range(4):
        begin = time.process_time()
        a @ a
        best = min(best, time.process_time() - begin)
    return a.nbytes / best


def of_peak(flops: float) -> dict[str, float]:
    """For a judge: the flops of the work, and the peak of the same run."""
    return {"flops": flops, "dgemm": dgemm()}


__all__ = ["THREADS", "Array", "Arrays", "Rival", "Told", "bandwidth", "error", "forest", "of_peak", "rbf", "rmse",
           "synthetic", "wrong"]  # fmt: skip
