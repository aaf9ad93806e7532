"""Sums over the rows from which a subset of regressors follows: they add, so models merge."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.canonical import sum_of_logs
from ..base.memory import ROW_VECTORS, check_memory
from ..io.plain import record
from ..select.task import GIVEN_TOL

# Rows a state carries along to calibrate standard deviations, intervals and probabilities on.
SKETCH = 1000
# alpha="loo" looks through these multiples of the largest eigenvalue.
LOO_GRID = np.geomspace(1e2, 1e-12, 57)
# Sums in kernel coordinates are taken while their rounding grows by less than this on the way to M.
FAST_GROWTH = 1e8
_EPS = np.finfo(np.float64).eps
_KEYED = 65536  # rows whose keys are made at a time
_PLENTY = 4


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

        def independent(which: NDArray[np.int64], tol: float, out: Array | None) -> tuple[NDArray[np.int64], Array]:
            most = len(which)
            return _core.select_independent(kernel, vectors, which, tol=tol, max_basis=most, out=out, threads=threads)

        kept, L = independent(np.arange(m), tol, out)
        if len(kept) < m and tol > 0:
            # Vectors in order, a grid for one, lose their distances to rounding after some dozens of them, and distant
            # ones look dependent. In random order they do not.
            shuffled = np.argsort(_core.row_keys(vectors, 0), kind="stable")
            kept = np.sort(shuffled[independent(shuffled, tol, out)[0]])
            again, L = independent(kept, 0.0, None if out is None else out[: len(kept), : len(kept)])
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

    @property
    def core(self) -> dict[str, Any]:
        """The basis as arguments of the core."""
        return {"kernel": self.kernel, "vectors": self.vectors, "L": self.L}

    def digest(self) -> str:
        """Name the basis and its kernel: states with another one do not add."""
        name, gamma, degree, coef0, centre, *warp = self.kernel_arguments
        stationary = self.kernel.stationary
        parts = [repr((name, degree, coef0) if name == "polynomial" else name).encode(), self.vectors.tobytes()]
        parts += [gamma.tobytes()] * (name != "linear") + [centre.tobytes()] * stationary
        parts += [part.tobytes() for pair in warp for part in pair]
        return hashlib.sha256(b"|".join(parts)).hexdigest()

    def growth(self) -> float:
        """By how much sums in kernel coordinates lose to sums in orthonormal ones: the condition of K."""
        return _core.whitening_growth(self.L)


@record("Sketch")
@dataclass(frozen=True)
class Sketch:
    """Rows of the smallest keys, with their targets and weights: the same whatever the order and the parts.

    ``codes`` holds the place of each row's class, (n,), or of a regressor the targets, (n, outputs).
    """

    keys: NDArray[np.uint64]
    codes: NDArray[Any]
    weight: Array
    X: Array

    @classmethod
    def of(cls, X: Array, codes: NDArray[Any], weight: Array, units: Array | None = None, most: int = SKETCH) -> Self:
        """Take the rows of positive weight with the smallest distinct keys, of rows in units of their own.

        These are rounded to single precision, so that a change of the columns' scales changes no key.
        """
        if units is None:
            keys = _core.row_keys(X, 0)
        else:
            parts = (X[i : i + _KEYED] for i in range(0, len(X), _KEYED))
            rounded = ((part * units).astype(np.float32).astype(np.float64) for part in parts)
            keys = np.concatenate([_core.row_keys(part, 0) for part in rounded])
        return cls(keys, codes, weight, X)._smallest(most)

    def merge(self, other: Self) -> Self:
        """Take the smallest keys of two sketches."""
        both = ([getattr(s, f.name) for s in (self, other)] for f in fields(self))
        return type(self)(*map(np.concatenate, both))._smallest()

    def _smallest(self, most: int = SKETCH) -> Self:
        rows = np.flatnonzero(self.weight > 0)
        keys = self.keys[rows]
        if len(keys) > _PLENTY * most:  # the smallest of many, equal rows among them
            near = np.unique(keys[keys <= np.partition(keys, _PLENTY * most)[_PLENTY * most]])
            keys = near if len(near) > most else keys
        keys = np.unique(keys)
        if len(keys) > most:
            rows = rows[self.keys[rows] <= keys[most - 1]]
        # equal rows of one class, or with equal targets, become one
        codes = np.ascontiguousarray(np.atleast_2d(self.codes[rows].T).T).view(np.uint64)
        labels = np.concatenate([self.keys[rows, None], codes], axis=1)
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
    log_weights: float | None = None  # sum of log v over the rows of positive weight; None of an older version

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
        offset = np.ascontiguousarray(offset)
        rows: dict[str, Any] = {"X": X, "Y": targets, "weight": weight, "offset": offset}
        sums = _core.normal_sums(**basis.core, **rows, fast=fast, whitened=True, out=out, threads=threads)
        return cls(
            digest=basis.digest(),
            offset=offset,
            n_weighted=int(np.count_nonzero(weight > 0)),
            n_rows=len(X),
            precision=rounding(basis, fast),
            sketch=sketch,
            log_weights=sum_of_logs(weight),
            **sums,
        )

    @property
    def has_sums(self) -> bool:
        """Whether M is there, and not the ridge's factor in its place."""
        return len(self.M) == len(self.z)

    def problem(
        self, fit_intercept: bool, threads: int = 1, factor: Array | None = None, alpha: float = 0.0
    ) -> _core.RidgeProblem:
        """The least-squares problem of the sums; with a factor kept in the place of M, for its alpha alone."""
        return _core.RidgeProblem(
            M=self.M,
            **{name: np.ascontiguousarray(getattr(self, name)) for name in ("z", "s", "y", "yy", "offset")},
            weight=self.weight,
            count=self.n_weighted,
            precision=self.precision,
            fit_intercept=fit_intercept,
            threads=threads,
            factor=factor,
            alpha=alpha,
        )

    def log_evidence(self, fit_intercept: bool, alpha: float) -> Array:
        """Return the log evidence of each output; rows are one observation each, whatever their weight."""
        if alpha == 0:
            raise AttributeError("log_evidence_ needs alpha > 0: without a ridge there is no prior; fit again with one")
        if self.log_weights is None:
            raise AttributeError("log_evidence_ needs sums that an older version did not keep: fit again")
        rows: dict[str, float] = {"rows": self.n_weighted, "sum_log_weights": self.log_weights}
        return self.problem(fit_intercept).log_evidence(alpha, **rows)

    def without_sums(self) -> SubsetState:
        """Return the state without M."""
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
        kinds = {s.sketch.codes.ndim for s in (self, other) if s.sketch is not None}
        if self.z.shape != other.z.shape or len(kinds) > 1:
            raise ValueError(f"the states have {self.z.shape[1]} and {other.z.shape[1]} outputs, or other classes")
        first, second = (other, self) if self.weight == 0 < other.weight else (self, other)
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
            log_weights=_added(first.log_weights, second.log_weights),
        )


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def sums_doubles(m: int, n: int, d: int, outputs: int, threads: int) -> float:
    """Doubles that `SubsetState.of` takes for n rows on m kernels, M not counted."""
    core: float = _core.normal_sums_memory(m=m, n=n, d=d, outputs=outputs, threads=threads)
    return core + (ROW_VECTORS + 2 * outputs) * n


def solution_doubles(m: int, outputs: int, alpha: Any) -> float:
    """Doubles that a solution from the sums takes, beside L and M."""
    spectrum, alphas = isinstance(alpha, str) or not alpha > 0, len(LOO_GRID) if alpha == "loo" else 0
    return _core.RidgeProblem.memory_needed(m=m, outputs=outputs, spectrum=spectrum, alphas=alphas)


def rounding(basis: Basis, fast: bool) -> float:
    """Rounding of M, relative to its largest eigenvalue."""
    return float(_EPS * (basis.growth() if fast else len(basis.vectors)))


def ready(problem: _core.RidgeProblem, alpha: float, m: int, outputs: int) -> _core.RidgeProblem:
    """Return the problem with what a solution for alpha needs: a factor, or room for eigenvectors in its place."""
    if not problem.ready(alpha):
        needed = solution_doubles(m, outputs, 0)
        check_memory(needed, f"the eigenvectors of the sums on {m} kernels", "give a larger alpha, or take fewer")
    return problem


def error_on(problem: _core.RidgeProblem, basis: Basis, alpha: float, X: Array, Y: Array, weight: Array) -> float:
    """The weighted sum of squared errors of a solution on other rows."""
    found = problem.solution(basis.L, alpha)
    fitted = basis.kernel.expand(basis.vectors, found["coef"], found["intercept"], X)
    return float(weight @ ((Y - fitted) ** 2).sum(axis=1))
