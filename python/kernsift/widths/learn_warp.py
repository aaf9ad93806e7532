"""Monotone curves of the features, learned like widths: where their knots stand and where the search begins."""

from __future__ import annotations

import numpy as np

from ..base.arrays import Array
from .search import Problem, Sample

#: Most bins of a feature: one fewer than its distinct values where these are few.
BINS = 10


def knots_at(sample: Sample) -> list[list[int]]:
    """Rows of a sample whose values are the knots of each column: quantiles, or all values where they are few."""
    found = []
    for column in sample.X.T:
        order = np.argsort(column, kind="stable")
        values, first = np.unique(column[order], return_index=True)
        if len(values) > BINS + 1:
            mass = np.add.reduceat(sample.weight[order], first)
            below = np.cumsum(mass) - mass / 2  # of a value, half of its own weight
            level = np.linspace(below[0], below[-1], BINS + 1)
            take = np.unique(np.searchsorted(below, level[1:-1]))
            first = first[np.unique(np.concatenate([[0], take, [len(values) - 1]]))]
        found.append(order[first].tolist())
    return found


def padded(rows: Array, knots: list[list[int]]) -> Array:
    """The knots of each column of these rows, NaN behind those of a column with fewer."""
    out = np.full((len(knots), max(map(len, knots))), np.nan)
    for j, (row, places) in enumerate(zip(out, knots, strict=True)):
        row[: len(places)] = rows[places, j]
    return out


def warped(problem: Problem, sample: Sample, knots: Array, x: Array) -> tuple[Problem, Array]:
    """The problem of the slopes between knots, and the point at which they are the widths of x, clipped at the ends."""
    root = np.exp(x[:-1] if problem.kernel == "laplacian" else 0.5 * x[:-1])
    slopes = root[:, None] * np.diff(knots, axis=1)
    problem = problem.of(sample, warp=(knots, slopes))
    return problem, np.append(np.log(slopes[np.isfinite(slopes)]), x[-1])
