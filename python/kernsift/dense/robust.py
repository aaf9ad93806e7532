"""Weights that take outliers out of a least squares fit, iterated (Suykens et al. 2002)."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

# Residuals in units of the robust scale: full weight up to C1, none to speak of from C2.
C1, C2 = 2.5, 3.0
FLOOR = 1e-4
# 1.483 MAD estimates the standard deviation of normal noise.
CONSISTENCY = 1.483
MAX_ROUNDS = 100
UNDAMPED = 10
SETTLED = 1e-3


def weighted_median(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Return the median in which a row of weight w counts as w rows."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weight[order])
    half = 0.5 * below[-1]
    low = int(np.searchsorted(below, half * (1 - 1e-12)))
    high = int(np.searchsorted(below, half * (1 + 1e-12)))
    return float(0.5 * (values[low] + values[min(high, len(values) - 1)]))


def outlier_weights(residuals: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one weight in [1e-4, 1] a row; with several outputs the row's worst residual counts."""
    ratio = np.zeros(len(residuals))
    for e in residuals.T:
        scale = CONSISTENCY * weighted_median(np.abs(e - weighted_median(e, weight)), weight)
        if scale > 1e-12 * float(np.abs(e).max(initial=0.0)):  # else more than half the rows are fitted exactly
            ratio = np.maximum(ratio, np.abs(e) / scale)
    return np.clip((C2 - ratio) / (C2 - C1), FLOOR, 1.0)


def iterate_weights(
    residuals_for: Callable[[NDArray[np.float64]], NDArray[np.float64]], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return weights in agreement with the residuals of the fit that they make.

    ``residuals_for(v)`` fits with the weights v.
    """
    factor = np.ones(len(weight))
    for done in range(MAX_ROUNDS):
        new = outlier_weights(residuals_for(weight * factor), weight)
        change = float(np.abs(new - factor).max())
        # a row that helps to fit itself can swing in and out for ever: half steps let it come to rest
        factor = new if done < UNDAMPED else 0.5 * (factor + new)
        if change <= SETTLED:
            return factor
    warnings.warn(
        f"the robust weights still change by {change:.2g} after {MAX_ROUNDS} rounds; a larger alpha or gamma "
        "closer to the data's scale usually settles them",
        ConvergenceWarning,
        stacklevel=2,
    )
    return factor
