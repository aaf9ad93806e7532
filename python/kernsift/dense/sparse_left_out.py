"""Rows left out of a pruned LS-SVM, each with the kernel on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base.arrays import Array
from ..base.left_out import kernels_on


def rows_left_out(model: Any, X: Array, solved: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Errors of the rows X of positive weight, each left out, the model's variance there, and the given weights.

    With a row goes the kernel on it.
    """
    used, unit = np.flatnonzero(model._sample_weight > 0), model._units_left_out()
    if "weight" in solved:  # SLS: rows without a kernel had no part, and a kernel goes with its row
        variance = (1.0 - unit.slack) / (unit.leaves * unit.slack)
        out = unit.slack == 1.0
        variance[out] = model._relative_variance(np.ascontiguousarray(X[out])) - 1.0
        return unit.errors, variance, unit.given
    vectors = np.ascontiguousarray(model.basis_vectors_[solved["pivots"]])
    basis = {"kernel": model._kernel(), "vectors": vectors, "L": solved["L"]}
    Y, v = np.ascontiguousarray(model._training[1][used]), np.ascontiguousarray(model.weights_[used])
    offset = v @ Y / v.sum()
    rows: dict[str, Any] = {"X": X, "Y": Y, "weight": v, "offset": offset}
    sums = _core.normal_sums(**basis, **rows, fast=False, whitened=True)
    facts: dict[str, Any] = {"count": len(X), "precision": 0.0, "fit_intercept": model._has_intercept}
    problem = _core.RidgeProblem(**sums, offset=offset, **facts)
    own = kernels_on(vectors, X, model._sample_weight[used])
    found = problem.left_out(**basis, X=X, Y=Y, leaves=unit.leaves, own=own, alpha=model.alpha_)
    return *found, unit.given
