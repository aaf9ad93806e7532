"""Labels of classes as targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array


def class_targets(classes: NDArray[Any], y: NDArray[Any], weight: Array) -> Array:
    """Return ±1 targets, one column a class; one column in all for two classes.

    Rows of weight zero may carry unknown labels.
    """
    where = np.searchsorted(classes, y)
    known = classes[np.minimum(where, len(classes) - 1)] == y
    if not known[weight > 0].all():
        unknown = np.unique(np.asarray(y)[~known & (weight > 0)])
        raise ValueError(
            f"y holds labels {unknown.tolist()} that are not among the classes {classes.tolist()}; name all labels in "
            "the first call with classes="
        )
    targets = np.full((len(y), len(classes)), -1.0)
    targets[np.flatnonzero(known), where[known]] = 1.0
    return np.ascontiguousarray(targets[:, 1:]) if len(classes) == 2 else targets
