"""Choosing the rows to put kernels on: one function behind every way of doing it.

All of them see the rows in one canonical form: distinct rows of positive weight, the weights of equal ones added, in
the order of a key that depends on the values and the seed alone.  So a choice knows nothing of the order of the rows,
and a row of weight two is the row twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.memory import ROW_VECTORS, check_memory
from ..base.types import KernelName
from ..base.warp import Warp, widths_of
from ..subset.pruned import prune
from .orols import OROLSRegressor
from .task import ALD_TOL, CACHE_SIZE, INDEPENDENT_TOL, Chosen, Task

_BLOCK = 64
# Candidates a step of "efvs", and rows they are judged on.
_DRAWN = 59
# Directions beyond the pivots in which "csi" knows the kernel matrix, and the share of the targets in what it lowers:
# both as Bach & Jordan have them.
_AHEAD, _BALANCE = 40, 0.99


def _rows_of(task: Task, indices: NDArray[np.int64]) -> Chosen:
    return Chosen(np.ascontiguousarray(task.X[indices]), indices)


def _independent(kernel: _core.Kernel, X: Array, which: NDArray[np.int64], tol: float, most: int) -> NDArray[np.int64]:
    """Return at most `most` linearly independent rows, in order."""
    # The factor is not kept, and an array of ours is not cut to size by another copy.
    m = min(most, len(which))
    taken, _ = _core.select_independent(kernel, X, which, tol=tol, max_basis=m, out=np.empty((m, m)))
    return taken


def _in_order(task: Task, tol: float) -> Chosen:
    """Rows in random order, each that is novel to those taken before it, until max_basis."""
    which = task.rows.which
    return _rows_of(task, which[_independent(task.kernel, task.X, which, tol, task.max_basis)])


def _random(task: Task) -> Chosen:
    return _in_order(task, INDEPENDENT_TOL)


def _efvs_settings(task: Task) -> dict[str, Any]:
    n, m = len(task.rows.which), min(task.max_basis, len(task.rows.which))
    # both forms choose the same rows; the lazy one costs 2 _DRAWN m^3 / 3 of what the cached one does on l m^2
    lazy = 6 * n > 2 * _DRAWN * m or 8 * m * n > CACHE_SIZE * 2**20
    return {"n_candidates": _DRAWN, "n_eval": _DRAWN, "max_basis": m, "form": "lazy" if lazy else "cached"}


def _efvs(task: Task) -> Chosen:
    """Efficient feature vector selection."""
    rows, settings = task.rows, _efvs_settings(task)
    tols: dict[str, Any] = {"candidate_tol": INDEPENDENT_TOL, "reconstruction_tol": 0.0}
    taken, _ = _core.select_feature_vectors(
        task.kernel, task.X, rows.which, weight=rows.weight, seed=task.seed, **tols, **settings
    )
    return _rows_of(task, rows.which[taken])


def _rpcholesky(task: Task) -> Chosen:
    """Randomly pivoted Cholesky, by blocks with rejection."""
    which = task.affordable()
    weight = task.rows.weight[: len(which)]
    block = min(_BLOCK, max(1, task.max_basis // 2))
    taken, _ = _core.select_rpcholesky(
        task.kernel, task.X, which, weight=weight, tol=INDEPENDENT_TOL, max_basis=task.max_basis, block=block,
        seed=task.seed,
    )  # fmt: skip
    return _rows_of(task, which[taken])


def _greedy(task: Task) -> Chosen:
    """Pivoted Cholesky: always the row furthest from the span."""
    which = task.affordable()
    taken, _ = _core.select_greedy(task.kernel, task.X, which, tol=INDEPENDENT_TOL, max_basis=task.max_basis)
    return _rows_of(task, which[taken])


def _kmeans(task: Task) -> Chosen:
    """Centres of mini-batch k-means in the kernel's metric: not rows of the table."""
    from sklearn.cluster import MiniBatchKMeans  # heavy, and for this selector alone

    if task.max_basis >= len(task.rows.which):  # a centre for every row: the rows
        return _random(task)
    rows, m = task.rows, task.max_basis
    means = MiniBatchKMeans(m, n_init=1, batch_size=1024, random_state=task.seed % 2**32)
    metric, X = widths_of(task.kernel), task.X[rows.which]
    if isinstance(metric, Warp):
        vectors = metric.inverse_transform(means.fit(metric.transform(X), sample_weight=rows.weight).cluster_centers_)
    else:
        scale = np.sqrt(metric) if task.kernel.stationary else np.ones(X.shape[1])
        means.fit((X - task.kernel.centre) * scale, sample_weight=rows.weight)
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        vectors = np.ascontiguousarray(means.cluster_centers_ * inverse + task.kernel.centre)
    taken = _independent(task.kernel, vectors, np.arange(m), INDEPENDENT_TOL, m)
    return Chosen(np.ascontiguousarray(vectors[taken]), np.full(len(taken), -1))


def _online(task: Task) -> Chosen:
    """The dictionary of the online LS-SVM after one pass in canonical order."""
    rows = task.rows
    targets = task.mean_targets()
    alpha = task.alpha if task.alpha is not None else max(1e-5 * float(rows.weight.sum()), 1e-8)
    model = _core.OnlineLSSVM(
        task.kernel,
        targets.shape[1],
        alpha=alpha,
        novelty_tol=ALD_TOL,
        usefulness_tol=1e-4,
        admission="product",
        max_basis=task.max_basis,
        fit_intercept=task.fit_intercept,
    )
    model.learn(np.ascontiguousarray(task.X[rows.which]), targets, rows.weight)
    taken = model.indices if model.n_basis else np.zeros(1, dtype=np.int64)  # the constant alone was enough
    return _rows_of(task, rows.which[taken])


def _csi(task: Task) -> Chosen:
    """Cholesky with side information: pivots that explain the kernel matrix and the targets together."""
    which = task.affordable(copies=2)
    n = len(which)
    taken = _core.select_side_information(
        task.kernel, task.X, which, Y=np.ascontiguousarray(task.mean_targets()[:n]), weight=task.rows.weight[:n],
        tol=INDEPENDENT_TOL, max_basis=task.max_basis, ahead=_AHEAD, balance=_BALANCE, fit_intercept=task.fit_intercept,
    )  # fmt: skip
    return _rows_of(task, which[taken])


def _orols(task: Task) -> Chosen:
    """Forward selection by orthogonal least squares, the largest residual next."""
    return _forward(task, "gcv" if task.alpha is None else task.alpha)


def _qr(task: Task) -> Chosen:
    """The same without a ridge: columns of a QR factorisation, chosen as Nair, Choudhury & Keane (2002) do."""
    return _forward(task, 0.0)


def _forward(task: Task, alpha: float | Literal["gcv"]) -> Chosen:
    rows, kernel = task.rows, task.kernel
    model = OROLSRegressor(
        kernel=cast(KernelName, kernel.name),
        gamma=widths_of(kernel),
        degree=kernel.degree,
        coef0=kernel.coef0,
        alpha=alpha,
        stop=None,
        max_basis=min(task.max_basis, len(rows.which)),
        fit_intercept=task.fit_intercept,
        random_state=task.seed % 2**32,
    ).fit(task.X[rows.which], task.mean_targets(), sample_weight=rows.weight)
    taken = model.basis_indices_ if model.n_basis_ else np.zeros(1, dtype=np.int64)  # the constant alone was enough
    return _rows_of(task, rows.which[taken])


def _pruned(task: Task) -> Chosen:
    path = prune(task)
    basis = path.basis_at(path.n_chosen)
    return Chosen(basis.vectors, basis.indices)


#: Every selector by its name.  A new one is one more line.
SELECTORS: dict[str, Callable[[Task], Chosen]] = {
    "ald": lambda task: _in_order(task, ALD_TOL),
    "csi": _csi,
    "efvs": _efvs,
    "greedy": _greedy,
    "kmeans": _kmeans,
    "online": _online,
    "orols": _orols,
    "pruned": _pruned,
    "qr": _qr,
    "random": _random,
    "rpcholesky": _rpcholesky,
}
#: Those that look at y.
SUPERVISED = {"csi", "online", "orols", "pruned", "qr"}


def _doubles(name: str, task: Task) -> float:
    """What a selector has in use at once, beside X: its largest arrays, by the names they have in the code."""
    (n, d), rows = task.X.shape, len(task.rows.which)
    m, outputs = min(task.max_basis, rows), 0 if task.targets is None else task.targets.shape[1]
    factor = _core.independent_memory(max_basis=m, d=d)
    taken: dict[str, float] = {
        "ald": factor,
        "csi": 0,
        "greedy": 0,
        "kmeans": factor + 3 * (rows + max(3072, 3 * m)) * d,  # scaled rows, those that k-means begins with
        "online": n * (d + 7),  # rows and targets in order, the core's outputs; its model grows with the kernels
        "orols": n * (d + 4),  # rows and targets in order; the selection checks its own memory
        "pruned": 0,  # checks its own memory
        "qr": n * (d + 4),  # as "orols"
        "random": factor,
        "rpcholesky": 0,
    }
    if name in ("greedy", "rpcholesky"):
        taken[name] = _core.pivoted_memory(rows=len(task.affordable()), max_basis=m, d=d, block=_BLOCK)
    if name == "csi":
        taken[name] = _core.side_information_memory(
            rows=len(task.affordable(copies=2)), outputs=outputs, d=d, max_basis=m, ahead=_AHEAD
        )
    if name == "efvs":
        taken[name] = _core.feature_vectors_memory(n=rows, d=d, **_efvs_settings(task))
    # of a selector without a line of its own: scaled rows and what it makes of them, and `select_independent`
    return taken.get(name, factor + 3 * rows * d) + ROW_VECTORS * n


def select(name: str, task: Task, fewer: str = "max_basis") -> Chosen:
    """Choose a basis by the selector of that name; `fewer` is the parameter that says how many."""
    if name in SUPERVISED and task.targets is None:
        raise ValueError(f"basis={name!r} looks at y: give y, or choose one of {sorted(set(SELECTORS) - SUPERVISED)}")
    check_memory(_doubles(name, task), f"choosing {task.max_basis} kernels by {name!r}", f"take fewer ({fewer})")
    chosen = SELECTORS[name](task)
    if not len(chosen.vectors):
        raise ValueError(f"basis={name!r} found no row with k(x, x) > 0: X is zero for the {task.kernel.name} kernel")
    return chosen
