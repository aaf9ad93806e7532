"""Labels as regression targets, shared by the classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def how_few(classes: NDArray[Any]) -> str:
    """Fewer than two classes, in words."""
    return f"1 class ({classes[0]!r})" if len(classes) else "no class"


def class_targets(
    classes: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64], hint: str = ""
) -> NDArray[np.float64]:
    """Return ±1 targets, one column a class; one column in all for two classes.

    Rows of weight zero may carry unknown labels.
    """
    where = np.searchsorted(classes, y)
    known = classes[np.minimum(where, len(classes) - 1)] == y
    if not known[weight > 0].all():
        unknown = np.unique(np.asarray(y)[~known & (weight > 0)])
        raise ValueError(f"y holds labels {unknown.tolist()} that are not among the classes {classes.tolist()}{hint}")
    if len(classes) == 2:
        return np.where(where == 1, 1.0, -1.0)[:, None]
    targets = np.full((len(y), len(classes)), -1.0)
    targets[np.flatnonzero(known), where[known]] = 1.0
    return targets
