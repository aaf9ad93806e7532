"""What tests of the dense and of the pruned LS-SVM share."""

from __future__ import annotations

import numpy as np
from oracles.dense import dense_loo


def gram(model, X, Y=None):
    return model._kernel().matrix(X, X if Y is None else np.ascontiguousarray(Y))


def off(value, truth):
    return np.max(np.abs(np.asarray(value) - truth)) / np.max(np.abs(truth))


def check_grid(model, X, Y, v, bias):
    """The error of each alpha is that of leaving out rows one by one, and the smallest was taken."""
    grid = model.loo_grid_["alpha"]
    K = gram(model, X)
    errors = np.array([(v @ dense_loo(K, Y, v, a, bias, unit=True) ** 2).sum() / v.sum() for a in grid])
    assert off(model.loo_grid_["error"][0], errors) < 1e-9
    assert model.alpha_ == grid[int(np.argmin(errors))]
    return K
