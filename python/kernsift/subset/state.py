"""Sums over the rows from which a subset of regressors follows: they add, so models merge."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .. import _core
from ..base.memory import ROW_VECTORS, STRIPS, check_memory
from ..io.plain import record
from ..select.task import GIVEN_TOL

Array = NDArray[np.float64]

# Rows a classifier's state carries along to calibrate its probabilities on.
SKETCH = 1000
# alpha is sought between these multiples of the largest eigenvalue.
ALPHA_RANGE = (1e-12, 1e3)
# Sums in kernel coordinates are taken while their rounding grows by less than this on the way to M.
FAST_GROWTH = 1e8
# What a degree of freedom costs when GCV chooses alpha: at 1 GCV now and then takes far too little ridge (300 kernels
# on abalone: RMSE 0.683 instead of 0.638); 1.4 cures that and costs nothing where there is nothing to cure (Kim and Gu,
# "Smoothing spline Gaussian regression: more scalable computation", 2004).
GCV_TOLL = 1.4
# Part of the variance of y that is taken for noise whatever the fit: below it a residual is rounding of the sums.
NOISE_FLOOR = 1e-12
_EPS = np.finfo(np.float64).eps
# As in cpp/core/batch/subset.cpp: with fewer kernels threads sum parts of so many rows, each in a square of its own.
_SHARED, _ROWS_OF_PART = 1024, 4096


@record("Basis")
@dataclass(frozen=True)
class Basis:
    """Kernel, basis vectors and the factor L of their kernel matrix, a lower triangle: nothing above it is read."""

    kernel_arguments: tuple[Any, ...]
    vectors: Array
    indices: NDArray[np.int64]
    L: Array

    @classmethod
    def of(
        cls,
        kernel: _core.Kernel,
        vectors: Array,
        indices: NDArray[np.int64],
        tol: float = GIVEN_TOL,
        *,
        room: bool = False,
        threads: int = 1,
    ) -> Self:
        """Keep vectors that are independent of one another; with ``room`` for another triangle beside L."""
        m = len(vectors)
        square = np.zeros((m, m + 1)) if room else None
        out = None if square is None else square[:, :m]
        kept, L = _core.select_independent(kernel, vectors, np.arange(m), tol, m, out, threads)
        if len(kept) < m and tol > 0:
            # Vectors in order, a grid for one, lose their distances to rounding after some dozens of them, and distant
            # ones look dependent. In random order they do not.
            shuffled = np.argsort(_core.row_keys(vectors, 0), kind="stable")
            kept, _ = _core.select_independent(kernel, vectors, shuffled, tol, m, out, threads)
            kept = np.sort(shuffled[kept])
            corner = None if out is None else out[: len(kept), : len(kept)]
            again, L = _core.select_independent(kernel, vectors, kept, 0.0, len(kept), corner, threads)
            kept = kept[again]
        if not len(kept):
            raise ValueError(f"basis holds no vector with k(x, x) > 0 for the {kernel.name} kernel")
        return cls(kernel.__reduce__()[1], np.ascontiguousarray(vectors[kept]), indices[kept], L)

    @property
    def kernel(self) -> _core.Kernel:
        """The core's kernel, made afresh."""
        return _core.Kernel(*self.kernel_arguments)

    @property
    def spare(self) -> Array | None:
        """The upper triangle beside L in the same square, for whoever needs one, where `of` has left room."""
        square, m = self.L.base, len(self.L)
        return square[:m, 1 : m + 1] if square is not None and self.L.strides[0] > 8 * m else None

    def digest(self) -> str:
        """Name the basis and its kernel: states with another one do not add."""
        name, gamma, degree, coef0, centre = self.kernel_arguments
        stationary = name not in ("polynomial", "linear")
        parts = [repr((name, degree, coef0) if name == "polynomial" else name).encode(), self.vectors.tobytes()]
        parts += [gamma.tobytes()] * (name != "linear") + [centre.tobytes()] * stationary
        return hashlib.sha256(b"|".join(parts)).hexdigest()

    def growth(self) -> float:
        """By how much sums in kernel coordinates lose to sums in orthonormal ones: the condition of K."""
        return _core.whitening_growth(self.L)


@record("Sketch")
@dataclass(frozen=True)
class Sketch:
    """Rows of the smallest keys, with their class codes and weights: the same whatever the order and the parts."""

    keys: NDArray[np.uint64]
    codes: NDArray[np.intp]
    weight: Array
    X: Array

    @classmethod
    def of(cls, X: Array, codes: NDArray[np.intp], weight: Array) -> Self:
        """Take the rows of positive weight with the SKETCH smallest distinct keys."""
        return cls(_core.row_keys(X, 0), codes, weight, X)._smallest()

    def merge(self, other: Self) -> Self:
        """Take the smallest keys of two sketches."""
        both = ([getattr(s, f.name) for s in (self, other)] for f in fields(self))
        return type(self)(*map(np.concatenate, both))._smallest()

    def _smallest(self) -> Self:
        rows = np.flatnonzero(self.weight > 0)
        keys = np.unique(self.keys[rows])
        if len(keys) > SKETCH:
            rows = rows[self.keys[rows] <= keys[SKETCH - 1]]
        # equal rows of one class become one
        labels = np.stack([self.keys[rows], self.codes[rows].astype(np.uint64)], axis=1)
        _, first, group = np.unique(labels, axis=0, return_index=True, return_inverse=True)
        total: Array = np.bincount(group.ravel(), self.weight[rows], len(first)).astype(np.float64)
        kept = rows[first]
        return type(self)(self.keys[kept], self.codes[kept], total, np.ascontiguousarray(self.X[kept]))


@record("SubsetState")
@dataclass(frozen=True)
class SubsetState:
    """Sums over rows on one basis, as plain arrays; sums over disjoint rows add by :meth:`merge`.

    ``M`` = Σv ww', ``z`` = Σv w(y - offset)', ``s`` = Σv w, ``y`` = Σv(y - offset), ``yy`` = Σv(y - offset)²,
    ``weight`` = Σv, with w the orthonormal coordinates of a row in the span of the basis.
    """

    digest: str
    M: Array
    z: Array
    s: Array
    y: Array
    yy: Array
    offset: Array
    weight: float
    n_weighted: int
    n_rows: int
    precision: float  # rounding of M, relative to its largest eigenvalue
    sketch: Sketch | None = None

    @classmethod
    def of(
        cls,
        basis: Basis,
        X: Array,
        targets: Array,
        weight: Array,
        *,
        fast: bool = False,
        sketch: Sketch | None = None,
        out: Array | None = None,
        threads: int = 1,
    ) -> Self:
        """Sum over rows.

        ``fast`` sums in kernel coordinates, at half the cost, and loses the condition of the basis's kernel matrix.
        M goes into the upper triangle of ``out``, if that is given.
        """
        total = float(weight.sum())
        offset = weight @ targets / total if total > 0 else np.zeros(targets.shape[1])
        kernel, offset = basis.kernel, np.ascontiguousarray(offset)
        sums = _core.normal_sums(kernel, basis.vectors, basis.L, X, targets, weight, offset, fast, True, out, threads)
        return cls(
            digest=basis.digest(),
            offset=offset,
            n_weighted=int(np.count_nonzero(weight > 0)),
            n_rows=len(X),
            precision=rounding(basis, fast),
            sketch=sketch,
            **sums,
        )

    @property
    def has_sums(self) -> bool:
        """Whether M is there, and not the ridge's factor in its place."""
        return len(self.M) == len(self.z)

    def without_sums(self) -> SubsetState:
        """Forget M."""
        return replace(self, M=np.empty((0, 0)))

    def merge(self, *others: SubsetState) -> SubsetState:
        """Return the state of the rows of all, in any order the same to rounding.

        Parameters
        ----------
        *others : SubsetState
            States on the same basis.
        """
        return reduce(SubsetState._merge, others, self)

    def _merge(self, other: SubsetState) -> SubsetState:
        if not isinstance(other, SubsetState):
            raise TypeError(f"merge takes states on the same basis, got {type(other).__name__}")
        if self.digest != other.digest:
            raise ValueError(
                "the states have different bases or kernels and cannot be merged; choose the basis once "
                "(select_basis) and accumulate every part on it"
            )
        if not (self.has_sums and other.has_sums):
            raise ValueError("a model with keep_sums=False has no sums to merge; fit it with keep_sums=True")
        if self.z.shape != other.z.shape or (self.sketch is None) != (other.sketch is None):
            raise ValueError(f"the states have {self.z.shape[1]} and {other.z.shape[1]} outputs, or other classes")
        if other.weight == 0:
            first, second = self, other
        elif self.weight == 0:
            first, second = other, self
        else:
            first, second = self, other
        shift = second.offset - first.offset if second.weight > 0 else np.zeros_like(first.offset)
        return SubsetState(
            digest=self.digest,
            M=first.M + second.M,
            z=first.z + second.z + np.outer(second.s, shift),
            s=first.s + second.s,
            y=first.y + second.y + second.weight * shift,
            yy=first.yy + second.yy + 2 * shift * second.y + second.weight * shift**2,
            offset=first.offset,
            weight=first.weight + second.weight,
            n_weighted=first.n_weighted + second.n_weighted,
            n_rows=first.n_rows + second.n_rows,
            precision=max(first.precision, second.precision),
            sketch=None if self.sketch is None or other.sketch is None else self.sketch.merge(other.sketch),
        )


def sums_doubles(m: int, n: int, d: int, outputs: int, threads: int) -> int:
    """Doubles that `SubsetState.of` takes for n rows on m kernels, M not counted."""
    parts = min(threads, -(-n // _ROWS_OF_PART)) if m < _SHARED and n > _ROWS_OF_PART else 0
    # an M for each thread; K of a block of rows for each, vectors, what is prepared of them, z and products
    return parts * m * m + m * (STRIPS * max(parts, 1) + 4 * (d + outputs)) + (ROW_VECTORS + 2 * outputs) * n


def solution_doubles(m: int, outputs: int, alpha: Any) -> int:
    """Doubles that a solution from the sums takes, beside L and M."""
    if not isinstance(alpha, str) and alpha > 0:
        return m * m  # the ridge's factor
    # M about the mean (and before it an outer product); the core's copy, eigenvectors and a copy of those; with "loo"
    # instead, after it, T and the core's copy, and U of a block of rows and the ridges of a grid
    return 4 * m * m + (m * (2 * STRIPS + 60 * (1 + outputs)) if alpha == "loo" else 0)


def rounding(basis: Basis, fast: bool) -> float:
    """Rounding of M, relative to its largest eigenvalue."""
    return float(_EPS * (basis.growth() if fast else len(basis.vectors)))


class Centred:
    """The least-squares problem of a state with the unpenalised bias eliminated."""

    def __init__(self, state: SubsetState, fit_intercept: bool, threads: int = 1) -> None:
        self.weight, self.threads = state.weight, threads
        # As many rows as the weights stand for; weights that were scaled down still count as rows.
        self.total = max(state.weight, float(state.n_weighted))
        self.bias = float(fit_intercept)
        if fit_intercept:
            self.mean = state.s / state.weight
            shift = state.y / state.weight
            self.z = state.z - np.outer(state.s, shift)
            self.yy = np.maximum(state.yy - state.y * shift, 0.0)
            self.mean_y = state.offset + shift
        else:
            self.mean = np.zeros_like(state.s)
            self.z = state.z + np.outer(state.s, state.offset)
            self.yy = state.yy + 2 * state.offset * state.y + state.weight * state.offset**2
            self.mean_y = np.zeros_like(state.offset)
        self._sums, self._sum, self.z = state.M, np.ascontiguousarray(state.s), np.ascontiguousarray(self.z)
        self.precision = max(state.precision, _EPS * len(state.s))
        self._spectrum: tuple[Array, Array, Array] | None = None
        self._factor: tuple[float, Array | None] | None = None

    @property
    def M(self) -> Array:
        """Cross products about the mean; made when asked for, because a large one is felt."""
        return self._sums - np.outer(self._sum, self.mean) if self.bias else self._sums

    @property
    def spectrum(self) -> tuple[Array, Array, Array]:
        """Eigenvalues, eigenvectors Q and Q'z."""
        if self._spectrum is None:
            self._spectrum = _core.spectrum(np.ascontiguousarray(self.M), self.z)
        return self._spectrum

    def _without_factor(self) -> tuple[Array, Array, Array]:
        """The spectrum, where there was room for the ridge's factor and rounding forbids it."""
        if self._spectrum is None:
            m = len(self._sum)
            needed = solution_doubles(m, self.z.shape[1], 0)
            check_memory(needed, f"the eigenvectors of the sums on {m} kernels", "give a larger alpha, or take fewer")
        return self.spectrum

    @property
    def largest(self) -> float:
        """The largest eigenvalue, or 1 where there is nothing to see."""
        top = float(self.spectrum[0][-1])
        return top if top > 0 else 1.0

    def _explained(self) -> tuple[Array, Array, Array]:
        """Eigenvalues that are more than rounding, what their directions explain of y, and what none explains."""
        values, _, f = self.spectrum
        real = values > self.precision * self.largest
        part = f[real] ** 2 / values[real][:, None]
        rest = np.maximum(self.yy - part.sum(axis=0), 0.0) + NOISE_FLOOR * self.yy
        return values[real], part, rest

    def rss(self, alpha: float) -> Array:
        """Residual sum of squares of each output."""
        values, part, rest = self._explained()
        return rest + (alpha / (values + alpha)) ** 2 @ part if alpha > 0 else rest

    def dof(self, alpha: float) -> float:
        """Effective number of parameters, the bias among them."""
        values, _, _ = self._explained()
        return self.bias + float((values / (values + alpha)).sum())

    def gcv(self, alpha: float, toll: float = 1.0) -> Array:
        """GCV of each output: n rss / (n - toll dof)²."""  # [MATH 1.8]
        left = self.total - toll * self.dof(alpha)
        return self.total * self.rss(alpha) / left**2 if left > _EPS * self.total else np.full(len(self.yy), np.inf)

    def _gcv_sums(self, alphas: Array) -> Array:
        """GCV with `GCV_TOLL` summed over the outputs, for many alphas at once."""
        values, part, rest = self._explained()
        kept = values / (values + alphas[:, None])  # (alphas, values): the part of each direction that is fitted
        rss = rest.sum() + (1 - kept) ** 2 @ part.sum(axis=1)
        left = self.total - GCV_TOLL * (self.bias + kept.sum(axis=1))
        usable = left > _EPS * self.total
        return np.where(usable, self.total * rss / np.where(usable, left, 1.0) ** 2, np.inf)

    def best_gcv(self) -> float:
        """Return the largest alpha within 1e-4 of the smallest GCV summed over the outputs, on a grid of ten a decade.

        A degree of freedom counts `GCV_TOLL` times.

        A fixed grid, because a refined minimum would turn rounding of the sums into differences of alpha: a fit shall
        not depend on the order of the rows.
        """
        lowest = max(ALPHA_RANGE[0], self.precision)
        steps = int(np.ceil(10 * np.log10(ALPHA_RANGE[1] / lowest)))
        grid: Array = self.largest * ALPHA_RANGE[1] * np.power(10.0, -0.1 * np.arange(steps + 1)).astype(np.float64)
        scores = self._gcv_sums(grid)
        good = scores <= scores.min() * (1 + 1e-4)
        return float(grid[int(np.argmax(good))])

    def above_rounding(self, alpha: float) -> bool:
        """Whether the ridge is certainly larger than the rounding of M: by its trace, not by its largest eigenvalue."""
        diagonal = np.diagonal(self._sums) - self.bias * self._sum**2 / self.weight
        return alpha > self.precision * float(diagonal.sum())

    def factor(self, alpha: float, out: Array | None = None) -> Array | None:
        """R', upper triangular, with RR' = M about the mean + alpha I; None where rounding forbids it.

        With ``out`` in the place of the sums, which are gone then.
        """
        if self._factor is None or self._factor[0] != alpha:
            R = _core.ridge_factor(self._sums, self._sum, self.bias * self.weight, alpha, out, self.threads)
            self._factor = alpha, R
        return self._factor[1]

    def take_factor(self, alpha: float, R: Array) -> Self:
        """Use a factor kept from before."""
        self._factor = alpha, R
        return self

    def theta(self, alpha: float) -> Array:
        """Coefficients in orthonormal coordinates."""
        theta = None
        if alpha > 0 and self._spectrum is None and (R := self.factor(alpha)) is not None:
            theta = _core.solve_triangle(R, _core.solve_triangle(R, self.z, False, True), False, False)
        if theta is None or not np.isfinite(theta).all():
            # the smallest minimiser: directions that rounding moves by more than is in them, the ridge included, hold
            # nothing but rounding
            values, vectors, f = self._without_factor()
            real = values + alpha > self.precision * self.largest
            theta = vectors[:, real] @ (f[real] / (values[real] + alpha)[:, None])
        return theta

    def standardised(self, W: Array, alpha: float) -> tuple[Array, Array]:
        """U (m, n) and f (m, outputs) from coordinates W (n, m) of rows.

        Of A = M + alpha I about the mean, u'u is the row's leverage (w - mean)'A^-1(w - mean), and u'f its fit.
        """
        centred = np.ascontiguousarray((W - self.mean).T)
        if self._spectrum is None and (R := self.factor(alpha)) is not None:
            return _core.solve_triangle(R, centred, False, True), _core.solve_triangle(R, self.z, False, True)
        values, vectors, f = self._without_factor()
        scale = 1.0 / np.sqrt(values + alpha)[:, None]
        return scale * (vectors.T @ centred), scale * f

    def left_out(self, basis: Basis, X: Array, Y: Array, weight: Array, alpha: float) -> Array:
        """Predictions of the rows (few) when left out, with the basis fixed.

        A row of weight v leaves one unit of it (all of it if v < 1), which is what refitting gives when the row stands
        v times in the table.
        """  # [MATH LOO]
        W = _core.basis_coordinates(basis.kernel, basis.vectors, basis.L, X)
        U, f = self.standardised(W, alpha)
        h = (U**2).sum(axis=0) + (1.0 / self.weight if self.bias else 0.0)
        h = np.minimum(np.minimum(weight, 1.0) * h, 1.0 - 1e-12)  # off 1, where the row alone carries a direction
        return Y - (Y - self.mean_y - U.T @ f) / (1.0 - h)[:, None]

    def leave_one_out(self, basis: Basis) -> tuple[_core.Kernel, Array, Array, Array, Array, Array, Array, float]:
        """Arguments of the core's leave-one-out before the rows."""
        values, vectors, f = self.spectrum
        T = solve_triangular(basis.L, vectors, lower=True, trans="T").T
        shift = vectors.T @ self.mean
        bias = 1.0 / self.weight if self.bias else 0.0
        T = np.ascontiguousarray(T)
        return (basis.kernel, basis.vectors, T, shift, values, f, np.ascontiguousarray(self.mean_y), bias)
