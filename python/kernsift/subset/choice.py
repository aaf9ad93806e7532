"""The basis of a subset-of-regressors model: found by a selector, or given."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table, canonical_rows, draw_seed
from ..base.kernel import wants_learning
from ..base.memory import check_memory
from ..base.threads import n_threads
from ..base.validation import check_rows
from ..select.feature_vectors import FeatureVectorSelector
from ..select.selectors import SELECTORS, select
from ..select.task import Task, kernel_of
from ..widths.learn_gamma import width_of
from .pruned import Path, enough, errors_held_out, prune
from .state import Basis, solution_doubles, sums_doubles

_FEWER = "take fewer (max_basis, or a smaller basis)"


def task_of(model: Any, kernel: _core.Kernel, table: Table, alpha: float | None = None) -> Task:
    """What a selector is given for the rows of a fit."""
    return Task(
        kernel,
        table.X,
        table.weight,
        model._cap(),
        table.seed,
        table.targets,
        bool(model.fit_intercept),
        alpha,
        n_weighted=table.n_weighted,
        threads=n_threads(model.n_jobs),
        scale_free=table.scale_free,
        _canonical=table.distinct,
    )


def choose_basis(model: Any, table: Table, without_targets: bool = False) -> tuple[Basis, Path | None]:
    """Choose kernel width and basis as the parameters of a model say, and the path of deletions there may be."""
    if wants_learning(model.gamma) and without_targets:
        raise ValueError(f"gamma={model.gamma!r} looks at y: give y to select_basis")
    gamma = width_of(model, table, model.gamma) if wants_learning(model.gamma) else model.gamma
    kernel = kernel_of(model, gamma, table)
    X, targets = table.given, None if without_targets else table.targets
    check_rows(kernel, X)
    if not isinstance(model.basis, str):
        vectors, indices = _given(model, kernel, table)
        check_fit(model, len(vectors), X, targets)
        return _basis_of(model, kernel, vectors, indices), None
    task = task_of(model, kernel, table, float(model.alpha) if isinstance(model.alpha, Real) else None)
    if without_targets:
        task.targets = None
    if model.basis == "pruned" and targets is not None:
        oversample, cycles = float(model.oversample), int(model.cycles)
        path = prune(task, oversample=oversample, cycles=cycles)
        size = path.n_chosen
        if model.max_basis == "auto":
            model.path_ = {} if model._chosen is None or model._chosen.sizes is None else model._chosen.sizes
        elif model.size == "held-out" or (model.size == "auto" and wants_learning(model.gamma)):
            known = None if model._chosen is None else model._chosen.sizes
            if known is None:
                known = errors_held_out(task, model.size == "auto", oversample=oversample, cycles=cycles)
            model.path_ = known
            size = min(size, enough(model.path_, size))
        check_fit(model, size, X, targets)
        path = replace(path, basis=replace(path.basis, indices=table.indices(path.basis.indices)))
        return path.basis_at(size), path
    if model.basis not in SELECTORS:
        raise ValueError(f"basis={model.basis!r} is not available in this build; choose one of {sorted(SELECTORS)}")
    chosen = select(model.basis, task)
    check_fit(model, len(chosen.vectors), X, targets)
    return _basis_of(model, kernel, chosen.vectors, table.indices(chosen.indices)), None


def check_fit(model: Any, m: int, X: Array, targets: Array | None) -> None:
    """Raise MemoryError if L, M and the solution for m kernels do not fit."""
    outputs, squares = 1 if targets is None else targets.shape[1], m * m
    sums = sums_doubles(m, len(X), X.shape[1], outputs, n_threads(model.n_jobs))
    number, instead = isinstance(model.alpha, Real), f"{_FEWER}, or keep_sums=False and a number for alpha"
    if not model.keep_sums:  # M beside L in one square, and the ridge's factor in its place
        solution = 0.0 if number else solution_doubles(m, outputs, model.alpha)
        return check_memory(squares + max(sums, solution), f"a fit on {m} kernels", _FEWER if number else instead)
    solution = solution_doubles(m, outputs, model.alpha)
    check_memory(2 * squares + max(sums, solution), f"a fit on {m} kernels", instead)


def check_more(model: Any, m: int, X: Array, outputs: int) -> None:
    """Raise MemoryError if another M, for the sums over more rows, does not fit."""
    sums = sums_doubles(m, len(X), X.shape[1], outputs, n_threads(model.n_jobs))
    check_memory(m * m + sums, f"the sums of {len(X)} rows on {m} kernels", f"{_FEWER}, or give fewer rows at a time")


def check_again(model: Any, m: int, outputs: int, squares: int, what: str) -> None:
    """Raise MemoryError if another solution from the sums, with further m x m squares, does not fit."""
    needed = squares * m * m + solution_doubles(m, outputs, model.alpha)
    check_memory(needed, f"{what} {m} kernels", f"{_FEWER}, or give alpha as a number")


def _basis_of(model: Any, kernel: _core.Kernel, vectors: Array, indices: NDArray[np.int64]) -> Basis:
    return Basis.of(kernel, vectors, indices, room=not model.keep_sums, threads=n_threads(model.n_jobs))


def _given(model: Any, kernel: _core.Kernel, table: Table) -> tuple[Array, NDArray[np.int64]]:
    """Vectors from a selector, from row numbers or from vectors."""
    X, selector = table.given, model.basis
    if isinstance(selector, FeatureVectorSelector):
        selector._validate_params()
        rows, seed = table.distinct, table.seed
        if selector.random_state is not None:
            seed = draw_seed(selector.random_state)
            rows = canonical_rows(table.X, table.weight, seed, table.scale_free)
        chosen = selector._select(kernel, table.X, rows, seed)[0]
        return np.ascontiguousarray(table.X[chosen]), table.indices(chosen)
    given = np.asarray(model.basis)
    if given.ndim == 1 and given.dtype.kind in "iu":
        if not len(given) or given.min() < 0 or given.max() >= len(X):
            raise ValueError(f"basis holds row numbers that are not in 0 .. {len(X) - 1}, the rows of X")
        return np.ascontiguousarray(X[given]), given.astype(np.int64)
    if given.ndim != 2 or given.shape[1] != X.shape[1] or not len(given) or given.dtype.kind not in "fiu":
        raise ValueError(
            f"basis has shape {given.shape} and dtype {given.dtype}; give row numbers (m,), vectors "
            f"(m, {X.shape[1]}), a FeatureVectorSelector or one of {sorted(SELECTORS)}"
        )
    vectors = np.ascontiguousarray(given, dtype=np.float64)
    if not np.isfinite(vectors).all():
        raise ValueError("basis holds NaN or infinity")
    return vectors, np.full(len(vectors), -1)
