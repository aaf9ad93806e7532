"""What the tables of 002 share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from registry import Array

FOLDS = 5


def width(sigma: float) -> float:
    return 1.0 / (2.0 * sigma**2)


def best_sigma(
    fit: Callable[[float, Array, Array], object],
    error: Callable[[object, Array, Array], float],
    sigmas: list[float],
    X: Array,
    y: Array,
    folds: list[tuple[Array, Array]],
) -> float:
    """The σ of the least mean error over the folds."""
    scores = [
        np.mean([error(fit(sigma, X[train], y[train]), X[test], y[test]) for train, test in folds]) for sigma in sigmas
    ]
    return sigmas[int(np.argmin(scores))]
