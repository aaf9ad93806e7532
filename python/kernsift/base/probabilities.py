"""Probabilities from scores, by one temperature: the core's, for arrays of any precision and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .arrays import Array


def softmax(scores: NDArray[Any], temperature: float) -> Array:
    """Return the probabilities of the classes; one column of scores stands for two classes."""
    return _core.softmax(np.ascontiguousarray(scores, dtype=np.float64), temperature)


def log_softmax(scores: NDArray[Any], temperature: float) -> Array:
    """Return the logarithms of the probabilities, finite where these are too small for a double."""
    hot = temperature * np.asarray(scores, dtype=np.float64)
    hot = np.concatenate([-hot, hot], axis=1) if hot.shape[1] == 1 else hot
    hot = hot - hot.max(axis=1, keepdims=True, initial=-np.inf)
    logs: Array = hot - np.log(np.exp(hot).sum(axis=1, keepdims=True))
    return logs


def fit_temperature(scores: NDArray[Any], codes: NDArray[np.intp], weight: Array) -> float:
    """Return the temperature that fits left-out scores of rows best, from the class of each row."""
    return _core.fit_temperature(
        np.ascontiguousarray(scores, dtype=np.float64),
        np.ascontiguousarray(codes, dtype=np.int64),
        np.ascontiguousarray(weight),
    )
