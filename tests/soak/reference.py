"""The definition in extended precision that streams are measured against: long_batch.cpp, compiled."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections import deque
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import oracles

SOURCE = Path(__file__).with_name("long_batch.cpp")


class CannotCompile(Exception):
    """There is no reference here, and why."""


@cache
def library(*options: str) -> Any:
    """The compiled reference; never with -ffast-math, which would be another arithmetic."""
    if np.finfo(np.longdouble).eps > 1e-18:
        raise CannotCompile("the reference needs a long double wider than double")
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not compiler:
        raise CannotCompile("the reference needs a C++ compiler")
    with tempfile.TemporaryDirectory() as folder:  # once loaded it needs no file
        out = Path(folder) / "long_batch.so"
        command = [compiler, "-std=gnu++17", "-O2", "-shared", "-fPIC", str(SOURCE), *options, "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotCompile(f"{SOURCE.name} does not compile here: {done.stderr.strip()[-400:]}")
        found = ctypes.CDLL(str(out))
    number, count, pointer = ctypes.c_double, ctypes.c_long, ctypes.c_void_p
    found.long_batch.restype, found.long_batch_size.restype = pointer, count
    found.long_batch.argtypes = [count, number, number, number]
    found.long_batch_free.argtypes = found.long_batch_size.argtypes = [pointer]
    found.long_batch_learn.argtypes = [pointer, count, count, *[pointer] * 4]
    found.long_batch_ids.argtypes = [pointer, pointer]
    found.long_batch_predict.argtypes = [pointer, count, count, pointer, pointer]
    return found


class Reference:
    """All rows so far, by the core's log: what minimises their cost, or, with a memory that fades, what is known.

    ``quad`` computes in 113 bits instead of 64, many times slower.
    """

    def __init__(
        self, d: int, gamma: float, alpha: float, forgetting: float | None = None, *, quad: bool = False
    ) -> None:
        self._library = library("-DLONG_BATCH_QUAD", "-lquadmath") if quad else library()
        self._d = d
        self._batch = self._library.long_batch(d, gamma, alpha, 0.0 if forgetting is None else forgetting)

    def __del__(self) -> None:
        if hasattr(self, "_batch"):
            self._library.long_batch_free(self._batch)

    def learn(self, X: np.ndarray, y: np.ndarray, outcome: np.ndarray, victim: np.ndarray) -> None:
        arrays = [self._rows(X), _dense(y, np.float64), _dense(outcome, np.uint8), _dense(victim, np.int64)]
        if any(len(a) != len(X) for a in arrays):
            raise ValueError("one target, outcome and victim a row")
        self._library.long_batch_learn(self._batch, len(X), self._d, *(a.ctypes.data for a in arrays))

    @property
    def indices(self) -> np.ndarray:
        """Row numbers of the kernels."""
        out = np.empty(self._library.long_batch_size(self._batch), np.int64)
        self._library.long_batch_ids(self._batch, out.ctypes.data)
        return out

    def predict(self, X: np.ndarray) -> np.ndarray:
        rows, out = self._rows(X), np.empty(len(X), np.longdouble)
        self._library.long_batch_predict(self._batch, len(X), self._d, rows.ctypes.data, out.ctypes.data)
        return out

    def _rows(self, X: np.ndarray) -> np.ndarray:
        rows = _dense(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self._d:
            raise ValueError(f"rows of {self._d} features, not shape {rows.shape}")
        return rows


class MemoriesReference:
    """Several memories, a reference each, mixed by the weights that the core gives them."""

    def __init__(self, core: Any, d: int, gamma: float, alpha: float, memories: list[float]) -> None:
        self._core = core
        self._references = [Reference(d, gamma, alpha, memory) for memory in memories]

    def learn(self, X: np.ndarray, y: np.ndarray, outcome: np.ndarray, victim: np.ndarray) -> None:
        for reference in self._references:
            reference.learn(X, y, outcome, victim)

    @property
    def indices(self) -> np.ndarray:
        """Row numbers of the kernels."""
        return self._references[0].indices

    def predict(self, X: np.ndarray) -> np.ndarray:
        weights = self._core.memories[1].astype(np.longdouble)
        return np.asarray(weights @ np.array([reference.predict(X) for reference in self._references]))


class WindowReference:
    """The last rows alone, by the core's log: their exact kernel values, solved afresh in extended precision."""

    def __init__(self, gamma: float, alpha: float, window: int) -> None:
        self._kernel = oracles.kernel_function("rbf", gamma)
        self._alpha, self._rows = alpha, deque[tuple[np.ndarray, float]](maxlen=window)
        self._basis: dict[int, np.ndarray] = {}
        self._seen = 0

    def learn(self, X: np.ndarray, y: np.ndarray, outcome: np.ndarray, victim: np.ndarray) -> None:
        for row in zip(X, y, outcome.tolist(), victim.tolist(), strict=True):
            x, target, event, gone = row
            if event in (oracles.ADMITTED, oracles.SWAPPED):
                self._basis[self._seen] = x
            self._basis.pop(gone, None)
            if event != oracles.REFUSED:
                self._rows.append((x, target))
            self._seen += 1

    @property
    def indices(self) -> np.ndarray:
        """Row numbers of the kernels."""
        return np.array(list(self._basis), np.int64)

    def predict(self, X: np.ndarray) -> np.ndarray:
        basis = np.array(list(self._basis.values()))
        L = oracles.cholesky(self._kernel(basis, basis))
        rows, y = (np.array(part) for part in zip(*self._rows, strict=True))
        Z, at = (oracles.solve_lower(L, self._kernel(basis, each)).T for each in (rows, X))
        ones = np.ones((len(rows), 1), np.longdouble)
        best = oracles.minimise(Z, ones, y[:, None].astype(np.longdouble), ones[:, 0], self._alpha)
        return np.ravel(at @ best.theta + best.bias)


def _dense(values: np.ndarray, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(values, dtype)
