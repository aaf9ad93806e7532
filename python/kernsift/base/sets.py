"""Sets of classes that contain a row's class with a given probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import Array
from .left_out import LeftOut, check_coverage
from .targets import Probabilities
from .validation import at_this_moment


def sets_of(probabilities: Array, least: Any) -> NDArray[np.bool_]:
    """Return the classes of at least this probability, and the most probable one."""
    sets: NDArray[np.bool_] = probabilities >= least
    sets[np.arange(len(sets)), probabilities.argmax(axis=1)] = True
    return sets


class Sets(Probabilities):
    """Sets of classes that contain a row's class with a given probability."""

    def _least_probability(self, coverage: float) -> float:
        """What a class needs to be in a set of this coverage."""
        raise NotImplementedError

    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return the classes that each row may have: a set that contains its class with a given probability.

        The most probable class, and all that are as probable as the own class of ``coverage`` of the rows of the fit,
        each left out.  On streams as the own class of that part of the rows learned lately, by probabilities given
        before: a bound that moves with every row outside and inside, so that in the long run the part ``coverage`` is
        inside, whatever the stream does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability with which a set contains the row's class, on average over rows like those of the fit.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        coverage = check_coverage(coverage)
        self = at_this_moment(self)
        probabilities = np.asarray(self.predict_proba(X), dtype=np.float64)
        self._needs_all("predict_set")
        return sets_of(probabilities, self._least_probability(coverage))


class LeftOutSets(Sets):
    """Sets of classes calibrated by rows of the fit, each left out."""

    _calibration: LeftOut | None = None

    def _doubts(self) -> LeftOut | None:
        """1 - the probability of the own class of these rows; None of a model saved by an older version."""
        return self._calibration

    def _least_probability(self, coverage: float) -> float:
        doubts = self._doubts()
        if doubts is None:
            raise ValueError(
                "predict_set needs probabilities of rows left out, which this model does not have: it was saved by an "
                "older version; fit it again"
            )
        return 1.0 - float(doubts.quantile(coverage)[0])
