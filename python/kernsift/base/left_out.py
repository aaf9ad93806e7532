"""Errors of rows left out of a model: they calibrate its standard deviations and give its intervals their width."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..io.plain import record
from .arrays import Array


def kernels_on(vectors: Array, X: Array, weight: Array) -> NDArray[np.int64]:
    """Return the number of the kernel that a row takes along when it is left out: on it, and on no other row; else -1.

    In its place the model would have other kernels: that on the row itself fits its noise.
    """
    place = {vector.tobytes(): number for number, vector in enumerate(vectors)}
    rows = [row.tobytes() for row in X]
    own = np.array([place.get(row, -1) for row in rows], dtype=np.int64)
    times = Counter(rows)
    own[[times[row] > 1 for row in rows]] = -1
    own[weight > 1] = -1
    return own


def check_coverage(coverage: Any) -> float:
    """Refuse what is no probability between 0 and 1."""
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"coverage={coverage!r} must lie between 0 and 1, both excluded, such as 0.9")
    return float(coverage)


def normal_quantile(coverage: Any) -> float:
    """Return what the size of a standard normal error does not exceed with this probability."""
    return float(ndtri(0.5 + 0.5 * check_coverage(coverage)))


@record("LeftOut")
@dataclass(frozen=True)
class LeftOut:
    """Scores of rows left out of a model: errors in units of their standard deviations, or doubts about their classes.

    Those of n rows and of a new one can be exchanged. So the new one is among the smallest ``coverage`` (n + 1) with
    that probability at least, whatever the distribution of the errors.
    """

    scores: Array  # (n, outputs)
    weight: Array  # number of rows each stands for, 1 at least

    @classmethod
    def of(cls, errors: Array, model: Array, noise: Array, weight: Array) -> Self:
        """Standardise errors by the variance of a new observation.

        Parameters
        ----------
        errors : ndarray of shape (n, outputs)
        model : ndarray of shape (n,)
            Variance of the model at each row, in units of the noise's.
        noise : ndarray of shape (outputs,)
            Its variance for a row of weight 1.
        weight : ndarray of shape (n,)
            One unit of it is left out, as one of equal rows; a smaller one whole.
        """
        variance = 1.0 / np.minimum(weight, 1.0) + model
        standard = np.sqrt(variance[:, None] * noise)
        scores = np.divide(errors, standard, out=np.zeros_like(errors), where=standard > 0)
        return cls(scores, np.maximum(weight, 1.0))

    @classmethod
    def of_classes(cls, probabilities: Array, codes: NDArray[np.intp], weight: Array) -> Self:
        """1 - the probability of each row's own class."""
        own = probabilities[np.arange(len(codes)), codes]
        return cls(1.0 - own[:, None], np.maximum(weight, 1.0))

    @property
    def rms(self) -> Array:
        """Root mean square of each output's scores: 1 where the standard deviations were right, or nothing is known."""
        if not len(self.scores):
            return np.ones(self.scores.shape[1])
        rms = np.sqrt(np.average(self.scores**2, axis=0, weights=self.weight))
        return np.where(rms > 0, rms, 1.0)

    def quantile(self, coverage: float) -> Array:
        """Return what the size of a new row's score does not exceed with this probability, for each output."""
        total = float(self.weight.sum())
        if coverage * (total + 1.0) > total:
            needed = int(np.ceil(round(coverage / (1.0 - coverage), 9)))
            raise ValueError(
                f"coverage={coverage!r} needs {needed} rows of the fit and there are {total:.0f}: ask for less, or fit "
                "with more rows"
            )
        order = np.argsort(np.abs(self.scores), axis=0, kind="stable")
        below = np.cumsum(self.weight[order], axis=0)
        # the rounding of the product must not ask for one row more
        place = (below < coverage * (total + 1.0) * (1.0 - 1e-12)).sum(axis=0)
        return np.abs(self.scores)[order[place, np.arange(order.shape[1])], np.arange(order.shape[1])]
