"""Before and after a search for widths: columns in units of their deviation, and the report of what was found."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ..base.arrays import Array
from ..base.canonical import Table
from ..base.warp import Warp
from .search import Run, Sample

# A feature whose part of the squared distance is below this part of an equal share is switched off.
OFF = 2e-2


def standardised(table: Table, kernel: str) -> tuple[NDArray[np.intp], Array, Sample, Callable[[Array], Array]]:
    """Columns with a spread, their unit of gamma, the distinct rows in those units, and what takes others to them."""
    X, rows = table.X, table.distinct
    Z = X[rows.which] - X[rows.which[0]]  # about a row, so that a large common offset loses nothing
    largest = np.abs(Z).max(axis=0)
    if not np.isfinite(largest).all():
        raise ValueError("X spans more than the range of a double in a column: rescale it")
    active = np.flatnonzero(largest > 0)
    Z = Z[:, active] / largest[active]  # squares neither over- nor underflow
    middle = np.average(Z, axis=0, weights=rows.weight)
    Z -= middle
    deviation = np.sqrt(np.average(Z**2, axis=0, weights=rows.weight))
    Z /= deviation
    Z = Z.astype(np.float32).astype(np.float64)  # without the rounding of the units: the search is then the same in any
    with np.errstate(over="ignore", divide="ignore"):
        unit = 1.0 / (deviation * largest[active])
        unit = unit if kernel == "laplacian" else unit**2
    if not np.isfinite(unit).all() or (unit == 0).any():
        raise ValueError("the spread of a column of X is beyond the range of a double: rescale it")
    mean = rows.mean(table.weight, table.targets)
    off = ((table.targets - mean[rows.group]) ** 2).sum(axis=1)
    within: Array = np.bincount(rows.group, table.weight * off).astype(np.float64)

    def units(others: Array) -> Array:
        Z = (others[:, active] - X[rows.which[0]][active]) / largest[active]
        return np.ascontiguousarray((Z - middle) / deviation)

    return active, unit, Sample(np.ascontiguousarray(Z), mean, rows.weight, within), units


def report(
    gamma: Array | Warp, parts: Array, active: NDArray[np.intp], chosen: Run, begin: float, **facts: Any
) -> Bunch:
    """What was found; `parts` are those of the active features in a distance."""
    d = gamma.n_features if isinstance(gamma, Warp) else len(gamma)
    relevance = np.zeros(d)
    relevance[active] = parts
    if relevance.any():
        relevance /= relevance.sum()
    path = np.zeros((len(chosen.points), d))
    if isinstance(gamma, Warp):
        path = np.array(chosen.points)
    else:
        for k, point in enumerate(chosen.points):
            path[k, active] = point
    return Bunch(
        gamma=gamma,
        relevance=relevance,
        switched_off=np.flatnonzero(relevance < OFF / max(active.size, 1)),
        path={"criterion": np.array(chosen.values), "gamma": path},
        n_iter=max(len(chosen.points) - 1, 0),
        seconds=time.perf_counter() - begin,
        **facts,
    )
