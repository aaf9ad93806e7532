"""One temperature that turns scores into probabilities, fitted on a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# log T is sought within ± this; the online estimators' range.
_LOG_RANGE = 7.0
# Four digits of T: the optimum is flat, and left-out scores of nearly interpolated rows carry no more. A search by
# halves lands on fixed points, so rounding in the scores does not show in the probabilities.
_LOG_STEP = 1e-4


def softmax(scores: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Return the probabilities of the classes; one column of scores stands for two classes."""
    if scores.shape[1] == 1:
        scores = np.hstack([-scores, scores])
    odds = np.exp(temperature * (scores - scores.max(axis=1, keepdims=True)))
    return odds / odds.sum(axis=1, keepdims=True)


def fit_temperature(scores: NDArray[np.float64], codes: NDArray[np.intp], weight: NDArray[np.float64]) -> float:
    """Return T that minimises the weighted log loss of softmax(T scores) plus (log T)²/2.

    ``scores`` should be those of rows left out; the last term is the online estimators' prior, one row's worth,
    without which separable classes would send T to infinity.
    """
    both = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    truth = both[np.arange(len(both)), codes]

    def slope(log_t: float) -> float:  # in log T
        t = float(np.exp(log_t))
        expected = (softmax(both, t) * both).sum(axis=1)
        return t * float(weight @ (expected - truth)) + log_t

    if slope(-_LOG_RANGE) >= 0:
        return float(np.exp(-_LOG_RANGE))
    if slope(_LOG_RANGE) <= 0:
        return float(np.exp(_LOG_RANGE))
    low, high = -_LOG_RANGE, _LOG_RANGE
    while high - low > _LOG_STEP:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return float(np.exp(0.5 * (low + high)))
