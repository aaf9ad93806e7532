"""Weights that take outliers out of a least squares fit, iterated in the core (Suykens et al. 2002)."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .. import _core
from ..base.arrays import Array

MAX_ROUNDS = 100


def robust_weights(problem: Any, weight: Array, alpha: float) -> Array:
    """Return factors of the weights in agreement with the residuals of the fit that they make."""
    factor, change = problem.robust_weights(weight, alpha, rounds=MAX_ROUNDS)
    if change > _core.SETTLED:
        warnings.warn(
            f"the robust weights still change by {change:.2g} after {MAX_ROUNDS} rounds; a larger alpha or gamma "
            "closer to the data's scale usually settles them",
            ConvergenceWarning,
            stacklevel=2,
        )
    return factor
