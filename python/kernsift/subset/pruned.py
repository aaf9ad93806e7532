"""Over-select at random, then delete by cost: one pass over rows, then only small matrices.

Of many rows a sample decides which elements go, and the sums of those that stay are over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.memory import check_memory
from ..io.plain import record
from ..select.task import Task
from .state import Basis, SubsetState, error_on, rounding, solution_doubles, sums_doubles

# A start nearer to dependence than this adds only rounding errors.
_START_TOL = 1e-6
# Sizes of a path whose errors on rows held out are compared, each this part of the next, down to so few.
NEXT, _FEWEST = 0.7, 10
# Rows held out: a part, once, or every part in turn if the rows are few.
_PARTS, _FEW_ROWS = 5, 4000
# A smaller model must err less by this, in mean square: the full one is as good within noise otherwise.
_WORTH = 0.02
# With this many rows a kernel, choosing the kernels costs nothing.
PLENTY = 50
# Part of the elements deleted between two factorisations: more at a time costs error, fewer gain nothing.
_FRACTION = 0.1
# Rows for each element of the start on which deletion is decided: at first, and at most.
_ROWS, _MOST_ROWS = 64, 128
# Scores at the border of the choice, in variances of the noise, from which more rows would hardly change the choice:
# the standard error of a score is 2/sqrt(this) of it.
_CLEAR = 4.0


@record("DeletionPath")
@dataclass(frozen=True)
class Path:
    """Sums on all the elements of the start, in kernel coordinates, and the order in which they were deleted."""

    basis: Basis
    state: SubsetState  # its M, z, s are sums of k k', k y and k, not of w
    order: NDArray[np.int64]  # first deleted first
    n_chosen: int

    def members(self, size: int) -> NDArray[np.int64]:
        """Elements left when `size` are."""
        return np.sort(self.order[-size:])

    def basis_at(self, size: int) -> Basis:
        """The basis of that size."""
        kept = self.members(size)
        return Basis.of(self.basis.kernel, self.basis.vectors[kept], self.basis.indices[kept], tol=0.0)

    def at(self, size: int, basis: Basis | None = None) -> SubsetState:
        """Sums for the basis of that size, without another pass."""
        full, basis = self.state, self.basis_at(size) if basis is None else basis
        sums: dict[str, Any] = _core.sums_of_elements(M=full.M, z=full.z, s=full.s, which=self.members(size), L=basis.L)
        return replace(full, digest=basis.digest(), precision=rounding(basis, fast=True), **sums)


def prune(task: Task, *, oversample: float = 3.0, cycles: int = 1) -> Path:
    """Choose ``task.max_basis`` elements out of ``oversample`` times as many.

    ``cycles`` > 1 adds new random rows to the survivors and deletes again.
    """
    assert task.targets is not None
    m = task.max_basis
    which = task.rows.which
    size = max(m, round(oversample * m))
    most, (n, d) = min(size, len(which)), task.X.shape
    # L and M of the path, and beside them what deletes; or, to choose alpha, L and M of the m it begins with and theirs
    square, first, outputs = most**2, min(m, most), task.targets.shape[1]
    choosing = (2 * first**2 + solution_doubles(first, outputs, "gcv")) * (task.alpha is None)
    check_memory(
        2 * square
        + max(_core.deletion_memory(n=most, d=d, outputs=outputs), choosing)
        + sums_doubles(most, n, d, outputs, task.threads),
        f"deleting down to {m} kernels from {most}",
        "take fewer (max_basis), or begin with fewer for each (oversample)",
    )
    fresh = 0  # canonical rows offered so far
    kept = np.empty(0, dtype=np.int64)
    for cycle in range(cycles):
        # survivors first, then the next rows of the random order
        offered = np.concatenate([kept, which[fresh:]])
        taken, L = _core.select_independent(
            task.kernel, task.X, offered, tol=_START_TOL, max_basis=size, threads=task.threads
        )
        if not len(taken):
            raise ValueError(f"no row has k(x, x) > 0: X is zero for the {task.kernel.name} kernel")
        start = offered[taken]
        fresh += max(int(taken[-1]) + 1 - len(kept), 0)
        path = _deleted(task, Basis(task.kernel.__reduce__()[1], np.ascontiguousarray(task.X[start]), start, L), m)
        if len(start) <= m or cycle + 1 == cycles:
            return _on_all_rows(task, path)
        kept = start[path.members(m)]
        del path, L  # sums and factor of one cycle at a time
    raise AssertionError("cycles is at least 1")


def _deleted(task: Task, basis: Basis, m: int) -> Path:
    """Delete down to m elements and on, by the scores on as many rows as the choice of m needs."""
    n, m = len(basis.vectors), min(m, len(basis.vectors))
    group, used = task.rows.group, task.rows.used
    rows, most = min(_ROWS * n, len(task.rows.which)), min(_MOST_ROWS * n, len(task.rows.which))
    path = Path(basis, _sums(task, basis, used[group < rows]), np.arange(n)[::-1], m)
    while n > 1:
        path, clear = _in_order_of_deletion(task, path)
        if clear or rows == most:
            break
        more = used[(group >= rows) & (group < min(2 * rows, most))]
        rows = min(2 * rows, most)
        path = replace(path, state=path.state.merge(_sums(task, basis, more)))
    return path


def _on_all_rows(task: Task, path: Path) -> Path:
    """The path with sums over all rows; of one that follows from a sample, its end from the chosen elements on."""
    if path.state.n_rows == len(task.rows.used):
        return path
    m, place = path.n_chosen, np.empty(len(path.order), dtype=np.int64)
    place[path.members(m)] = np.arange(m)
    basis = path.basis_at(m)
    return Path(basis, _sums(task, basis, task.rows.used), place[path.order[-m:]], m)


def _sums(task: Task, basis: Basis, rows: NDArray[np.int64]) -> SubsetState:
    """Sums over some rows in kernel coordinates, at half the cost of orthonormal ones.

    Rounding may cost digits of the score of an element that is nearly in the span of others, and such an element is
    cheap to delete whatever its digits.
    """
    assert task.targets is not None
    every = len(rows) == len(task.rows.used)
    X, Y, weight = (a if len(rows) == len(a) else a[rows] for a in (task.X, task.targets, task.weight))
    offset = task.weight @ task.targets / float(task.weight.sum())
    given: dict[str, Any] = {"X": X, "Y": Y, "weight": weight, "offset": offset}
    sums = _core.normal_sums(**basis.core, **given, fast=True, whitened=False, threads=task.threads)
    return SubsetState(
        digest=basis.digest(),
        offset=offset,
        precision=0.0,
        n_weighted=len(X) if task.n_weighted is None or not every else task.n_weighted,
        n_rows=len(X),
        **sums,
    )


def _in_order_of_deletion(task: Task, path: Path) -> tuple[Path, bool]:
    """The path with the order of deletion by its sums, and whether the scores at its end stand out of the noise."""
    basis, state, m, n = path.basis, path.state, path.n_chosen, len(path.order)
    if task.alpha is None:
        alpha = _ridge_of_first(path, m, task.fit_intercept)
    else:  # the part of it that these rows bear
        alpha = task.alpha * state.weight / float(task.weight.sum())
    order, scores = _core.deletion_order(
        basis.kernel,
        vectors=basis.vectors,
        **{name: getattr(state, name) for name in ("M", "z", "s", "y", "weight", "offset")},
        alpha=alpha,
        fit_intercept=task.fit_intercept,
        target=1,
        fraction=_FRACTION,
    )
    path = replace(path, order=order)
    if n == m or state.n_rows == len(task.rows.used):
        return path, True
    kept = path.basis_at(m)
    noise = path.at(m, kept).problem(task.fit_intercept).solution(kept.L, alpha)["noise_variance"]
    border = scores[n - m - max(1, m // 10) : n - m + max(1, m // 10)]
    return path, float(np.median(border)) >= _CLEAR * float(np.sum(noise))


def _ridge_of_first(path: Path, m: int, fit_intercept: bool) -> float:
    """The ridge by GCV on the first m elements of the start, which are random ones."""
    basis = path.basis
    corner = np.ascontiguousarray(basis.L[:m, :m])
    first = Basis(basis.kernel_arguments, basis.vectors[:m], basis.indices[:m], corner)
    return path.at(m, first).problem(fit_intercept).best_gcv()


def sizes_below(most: int, part: float = NEXT) -> list[int]:
    """Sizes of a path whose errors are compared, the largest first."""
    sizes = [most]
    while sizes[-1] * part >= _FEWEST:
        sizes.append(int(sizes[-1] * part))
    return sizes


def errors_along(
    path: Path, sizes: list[int], alpha: float | None, fit_intercept: bool, X: Array, Y: Array, v: Array
) -> Array:
    """Sums of squared errors of the models of these sizes on other rows."""
    errors = np.zeros(len(sizes))
    for i, size in enumerate(sizes):
        basis = path.basis_at(min(size, len(path.order)))
        problem = path.at(len(basis.vectors), basis).problem(fit_intercept)
        errors[i] = error_on(problem, basis, problem.best_gcv() if alpha is None else alpha, X, Y, v)
    return errors


def errors_held_out(task: Task, unless_plenty: bool, *, oversample: float, cycles: int) -> dict[str, Array]:
    """Mean squared errors of sizes up to ``task.max_basis`` on rows that took no part in choosing the kernels.

    GCV and leave-one-out with the basis given do not see that the basis was chosen by the targets, and err with it.
    Empty where nothing can be held out, or with ``unless_plenty`` where there are fifty rows to a kernel.
    """
    assert task.targets is not None
    which = task.rows.which  # distinct rows in random order
    n = len(which)
    if n < 2 * _PARTS or (unless_plenty and n >= PLENTY * task.max_basis):
        return {"n_basis": np.empty(0, dtype=np.int64), "error": np.empty(0)}
    part = np.empty(len(task.X), dtype=np.int64)
    part[task.rows.used] = np.arange(n)[task.rows.group] % _PARTS
    sizes = sizes_below(min(task.max_basis, n))
    errors, total = np.zeros(len(sizes)), 0.0
    for held in range(_PARTS if n <= _FEW_ROWS else 1):
        learned, out = (np.flatnonzero((task.weight > 0) & chosen) for chosen in (part != held, part == held))
        X, Y, v = (a[out] for a in (task.X, task.targets, task.weight))
        smaller = Task(
            task.kernel,
            task.X[learned],
            task.weight[learned],
            task.max_basis,
            task.seed,
            task.targets[learned],
            task.fit_intercept,
            task.alpha,
            threads=task.threads,
            scale_free=task.scale_free,
        )
        path = prune(smaller, oversample=oversample, cycles=cycles)
        errors += errors_along(path, sizes, task.alpha, task.fit_intercept, X, Y, v)
        total += float(v.sum())
        del path  # before that of the next part
    return {"n_basis": np.array(sizes[::-1]), "error": errors[::-1] / total}


def enough(path: dict[str, Array], largest: int) -> int:
    """The largest size whose error on rows held out is within two percent of the smallest."""
    sizes, errors = path["n_basis"], path["error"]
    return int(sizes[errors <= (1 + _WORTH) * errors.min()][-1]) if len(sizes) else largest
