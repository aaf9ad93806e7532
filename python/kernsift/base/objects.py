"""Kernels of anything: a function of two objects, or a matrix of kernel values, as coordinates.

With objects s_1 ... s_r and L Lᵀ = (k(s_i, s_j)), w(x) = L⁻¹ (k(s_i, x)) has ⟨w(x), w(x')⟩ = k(x, x') wherever one of
the two is in the span of the objects.  So a model with the linear kernel on w is the model with k on these objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular

from ..io.plain import record
from .arrays import Array
from .memory import check_memory

#: Part of the largest k(x, x) that an object may be from the span of the others and still be in it.
IN_SPAN = 1e-12
#: Part of the largest k(x, x) by which rounding may make a squared distance negative.
NEGATIVE = 1e-8


class RowKernel(ABC):
    """A kernel of rows of numbers that is evaluated on many at once."""

    @abstractmethod
    def fitted_to(self, X: Array, names: Sequence[Any]) -> Self:
        """The same as plain numbers, for columns of these names."""

    @abstractmethod
    def matrix(self, X: Array, Z: Array) -> Array:
        """Values of rows X with rows Z."""

    @abstractmethod
    def diagonal(self, X: Array) -> Array:
        """Values of rows with themselves."""


@record("Objects")
@dataclass(frozen=True)
class Objects:
    """The objects that span a model: what ``columns_`` is with a kernel that is none of the core's.

    Attributes
    ----------
    kernel : callable, "precomputed" or RowKernel
    chosen : tuple or ndarray
        The objects, of a matrix their row numbers, of a RowKernel rows.
    factor : ndarray
        L.
    rows : int
        Rows of the fit: columns that a matrix of kernel values has.
    """

    kernel: Any
    chosen: Any
    factor: Array
    rows: int

    @classmethod
    def learn(cls, kernel: Any, X: Any, most: int | None, given: Any) -> tuple[Self, Array]:
        """Choose objects that span the others, the furthest next, or those `given`; and return all coordinates."""
        objects, n = _objects(kernel, X), len(X)
        if isinstance(kernel, str):
            if objects.shape != (n, n):
                raise ValueError(
                    f"kernel='precomputed' takes the square matrix of the kernel values of all rows in fit, got shape "
                    f"{objects.shape}"
                )
            off = np.abs(objects - objects.T).max(initial=0.0)
            if off > NEGATIVE * np.abs(objects).max(initial=0.0):
                raise ValueError(f"the matrix of kernel values is not symmetric (by {off:.2g}): give (K + K.T) / 2")
        if n == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required")
        size = n if most is None else min(n, most)
        size = len(given) if given is not None else size
        check_memory(n * size, f"coordinates of {n} objects on {size}", "give fewer rows, or a smaller max_basis")
        diagonal = _diagonal(kernel, objects)
        left, largest = diagonal.copy(), float(diagonal.max())
        if not largest > 0 or diagonal.min() < 0:
            raise ValueError(
                f"k(x, x) is {diagonal.min():.3g} in row {int(diagonal.argmin())}: it must not be negative"
            )
        W, pivots = np.zeros((n, size)), []
        for j in range(size):
            p = int(left.argmax()) if given is None else int(given[j])
            if left[p] <= IN_SPAN * largest:
                if given is None:
                    break
                raise ValueError(f"basis holds row {p}, which is in the span of those before it: leave it out")
            column = _column(kernel, objects, p)
            W[:, j] = (column - W[:, :j] @ W[p, :j]) / np.sqrt(left[p])
            left -= W[:, j] ** 2
            left[p] = 0.0
            pivots.append(p)
            if left.min() < -NEGATIVE * largest:
                raise ValueError(
                    f"the kernel is not positive semidefinite: row {int(left.argmin())} has the squared distance "
                    f"{left.min():.2g} to the span of others; add a constant to k(x, x), or take another kernel"
                )
        W = np.ascontiguousarray(W[:, : len(pivots)])
        chosen: Any = tuple(pivots) if isinstance(kernel, str) else tuple(objects[p] for p in pivots)
        if isinstance(kernel, RowKernel):
            chosen = np.array(chosen)
        return cls(kernel, chosen, np.tril(W[pivots]), n), W

    def values(self, X: Any) -> Array:
        """Kernel values of objects with those that span the model, (n, r)."""
        if isinstance(self.kernel, RowKernel):
            return _finite(self.kernel.matrix(X, self.chosen))
        if callable(self.kernel):
            values = [[_number(self.kernel(x, one)) for one in self.chosen] for x in _objects(self.kernel, X)]
            return _finite(np.array(values, dtype=np.float64).reshape(len(values), len(self.chosen)))
        matrix = _objects(self.kernel, X)
        if matrix.ndim != 2 or matrix.shape[1] != self.rows:
            raise ValueError(
                f"kernel='precomputed' takes kernel values with the {self.rows} rows of fit, (n, {self.rows}), got "
                f"shape {matrix.shape}"
            )
        return np.ascontiguousarray(matrix[:, list(self.chosen)])

    def encode(self, X: Any) -> Array:
        """Return the coordinates w of objects, (n_samples, r)."""
        return np.ascontiguousarray(solve_triangular(self.factor, self.values(X).T, lower=True).T)

    def row(self, estimator: Any, x: Any) -> Array:
        """The coordinates of a single object, or of a row of kernel values."""
        return self.encode([x])[0]

    def grown(self, x: Any, w: Array, left: float) -> Self:
        """The same with another object, of coordinates w and squared distance `left` from the span."""
        r = len(self.chosen)
        factor = np.zeros((r + 1, r + 1))
        factor[:r, :r], factor[r, :r], factor[r, r] = self.factor, w, np.sqrt(left)
        return replace(self, chosen=(*self.chosen, x), factor=factor)

    @property
    def columns(self) -> tuple[int, ...]:
        """Numbers of the coordinates."""
        return tuple(range(len(self.chosen)))

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return [f"coordinate {j}" for j in self.columns]

    @property
    def owner(self) -> Any:
        """Number of the coordinate of each coordinate."""
        return np.arange(len(self.chosen))

    def by_column(self, parts: Any) -> Array:
        """There are no columns."""
        raise AttributeError("kernels of objects have no features: feature_importances_ is for tables")

    def described(self) -> str:
        """What the kernel is, for errors."""
        return "kernel=" + ("a function" if callable(self.kernel) else repr(self.kernel))


def _objects(kernel: Any, X: Any) -> Any:
    """Rows as they go to a function, or a matrix of kernel values."""
    if isinstance(kernel, RowKernel):
        return X
    if callable(kernel):
        if hasattr(X, "tolist") and not isinstance(X, np.ndarray):  # a series
            return X.tolist()
        if isinstance(X, (str, bytes)) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
            raise ValueError(f"X must be a list of objects, or an array, got {X!r:.40}")
        return X
    try:
        matrix = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("kernel='precomputed' takes a matrix of numbers") from None
    return _finite(matrix)


def _diagonal(kernel: Any, objects: Any) -> Array:
    if isinstance(kernel, RowKernel):
        return _finite(kernel.diagonal(objects))
    if isinstance(kernel, str):
        return np.array(np.diagonal(objects))
    return _finite(np.array([_number(kernel(one, one)) for one in objects]))


def _column(kernel: Any, objects: Any, p: int) -> Array:
    """Values of all objects with one of them."""
    if isinstance(kernel, RowKernel):
        return _finite(kernel.matrix(objects, objects[p : p + 1])[:, 0])
    if isinstance(kernel, str):
        return np.array(objects[:, p])
    return _finite(np.array([_number(kernel(one, objects[p])) for one in objects]))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"the function in kernel= returned {value!r:.40}: it must return a number") from None


def _finite(values: Array) -> Array:
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        raise ValueError(
            f"the kernel of row {bad[0, 0]} is {values[tuple(bad[0])]} (NaN or infinity): it must be finite"
        )
    return values
