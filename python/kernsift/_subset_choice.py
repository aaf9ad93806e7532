"""The basis of a subset-of-regressors model: found by a selector, or given."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from . import _core
from ._feature_vectors import FeatureVectorSelector
from ._kernel import make_kernel
from ._learn_gamma import learned_width, wants_learning
from ._pruned import Path, enough, errors_held_out, prune
from ._selectors import SELECTORS, Task, kernel_for, select
from ._subset_state import Basis
from ._threads import n_threads
from ._validation import check_rows

Array = NDArray[np.float64]


def choose_basis(model: Any, X: Array, targets: Array | None, weight: Array) -> tuple[Basis, Path | None]:
    """Choose kernel width and basis as the parameters of a model say, and the path of deletions there may be."""
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    if wants_learning(model.gamma):
        if targets is None:
            raise ValueError("gamma='learn' looks at y: give y to select_basis")
        widths = learned_width(model, X, targets, weight, seed)
        kernel = make_kernel(model.kernel, widths, model.degree, model.coef0, X, weight, seed)
    else:
        kernel = kernel_for(model, X, weight, seed)
    check_rows(kernel, X)
    if not isinstance(model.basis, str):
        return _given(model, kernel, X, weight, seed), None
    alpha = float(model.alpha) if isinstance(model.alpha, Real) else None
    task = Task(kernel, X, weight, int(model.max_basis), seed, targets, bool(model.fit_intercept), alpha)
    if model.basis == "pruned" and targets is not None:
        oversample, cycles = float(model.oversample), int(model.cycles)
        path = prune(task, oversample=oversample, cycles=cycles)
        size = path.n_chosen
        if model.size == "held-out" or (model.size == "auto" and wants_learning(model.gamma)):
            model.path_ = errors_held_out(task, model.size == "auto", oversample=oversample, cycles=cycles)
            size = min(size, enough(model.path_, size))
        return path.basis_at(size), path
    if model.basis not in SELECTORS:
        raise ValueError(f"basis={model.basis!r} is not available in this build; choose one of {sorted(SELECTORS)}")
    chosen = select(model.basis, task)
    return _basis_of(model, kernel, chosen.vectors, chosen.indices), None


def _basis_of(model: Any, kernel: _core.Kernel, vectors: Array, indices: NDArray[np.int64]) -> Basis:
    return Basis.of(kernel, vectors, indices, room=not model.keep_sums, threads=n_threads(model.n_jobs))


def _given(model: Any, kernel: _core.Kernel, X: Array, weight: Array, seed: int) -> Basis:
    """A basis from a selector, from row numbers or from vectors."""
    if isinstance(model.basis, FeatureVectorSelector):
        model.basis._validate_params()
        if model.basis.random_state is not None:
            seed = int(check_random_state(model.basis.random_state).randint(2**31 - 1))
        indices = model.basis._select(kernel, X, weight, seed)[0]
        return _basis_of(model, kernel, np.ascontiguousarray(X[indices]), indices)
    given = np.asarray(model.basis)
    if given.ndim == 1 and given.dtype.kind in "iu":
        if not len(given) or given.min() < 0 or given.max() >= len(X):
            raise ValueError(f"basis holds row numbers that are not in 0 .. {len(X) - 1}, the rows of X")
        return _basis_of(model, kernel, np.ascontiguousarray(X[given]), given.astype(np.int64))
    if given.ndim != 2 or given.shape[1] != X.shape[1] or not len(given) or given.dtype.kind not in "fiu":
        raise ValueError(
            f"basis has shape {given.shape} and dtype {given.dtype}; give row numbers (m,), vectors "
            f"(m, {X.shape[1]}), a FeatureVectorSelector or one of {sorted(SELECTORS)}"
        )
    vectors = np.ascontiguousarray(given, dtype=np.float64)
    if not np.isfinite(vectors).all():
        raise ValueError("basis holds NaN or infinity")
    return _basis_of(model, kernel, vectors, np.full(len(vectors), -1))
