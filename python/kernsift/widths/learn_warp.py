"""Monotone curves of the features, learned like widths: where their knots stand and where the search begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Array
from ..base.warp import Warp
from .search import Problem, Route, Sample

#: Most bins of a feature: one fewer than its distinct values where these are few.
BINS = 8
#: The search begins at, and its prior is about, slopes that are this part of an equal rise from each knot to the next,
#: by EVEN standard deviations in all; the rest is the learned width.
MIX, EVEN = 0.5, 3.0


@dataclass(frozen=True)
class Curves:
    """Knots of the columns of a sample, in its units and in those of the rows; NaN behind the last of a column."""

    knots: Array
    given: Array

    @classmethod
    def of(cls, sample: Sample, rows: Array) -> Self:
        """Quantiles of the rows, among their values; all values where these are few."""
        places = [_knots_of(column, sample.weight) for column in sample.X.T]
        return cls(*(_padded(values, places) for values in (sample.X, rows)))

    def routes(self, problem: Problem, x: Array, criterion: str) -> tuple[Problem, list[Route]]:
        """The problem of the slopes, and its starts: learned widths, clipped at the ends, and partly even slopes."""
        root = np.exp(x[:-1] if problem.kernel == "laplacian" else 0.5 * x[:-1])[:, None]
        length = np.diff(self.knots, axis=1)
        bins = np.isfinite(length).sum(axis=1)[:, None]
        clipped, mixed = root * length, root * ((1 - MIX) * length + MIX * EVEN / bins)
        starts = (np.append(np.log(slopes[np.isfinite(slopes)]), x[-1]) for slopes in (clipped, mixed))
        warp = self.knots, np.where(np.isfinite(length), mixed, np.nan)
        return problem.of(problem.sample, warp=warp), [Route(start, criterion) for start in starts]

    def warp(self, x: Array, active: NDArray[np.intp], first: Array) -> Warp:
        """The metric at a point; features that are not active are switched off, at their value in the first row."""
        knots, slopes = [np.array([value]) for value in first], [np.empty(0)] * len(first)
        for j, its_knots, its_slopes in zip(active.tolist(), *self._rows_of(x, self.given), strict=True):
            knots[j], slopes[j] = its_knots, its_slopes
        return Warp(knots, slopes)

    def _rows_of(self, x: Array, knots: Array) -> tuple[list[Array], list[Array]]:
        """Knots and slopes of each active feature at a point."""
        bins = np.isfinite(knots).sum(axis=1) - 1
        slopes = np.split(np.exp(x[:-1]), np.cumsum(bins)[:-1])
        return [row[: k + 1] for row, k in zip(knots, bins, strict=True)], slopes

    def parts(self, x: Array, rows: Sample, kernel: str) -> Array:
        """Variance of each curve over the rows (laplacian: standard deviation): its part in their distances."""
        W = Warp(*self._rows_of(x, self.knots)).transform(rows.X)
        variance = np.average((W - np.average(W, axis=0, weights=rows.weight)) ** 2, axis=0, weights=rows.weight)
        return np.sqrt(variance) if kernel == "laplacian" else variance


def _knots_of(column: Array, weight: Array) -> NDArray[np.intp]:
    """Rows with the knots of a column."""
    order = np.argsort(column, kind="stable")
    values, first = np.unique(column[order], return_index=True)
    if len(values) > BINS + 1:
        mass = np.add.reduceat(weight[order], first)
        middle = np.cumsum(mass) - mass / 2
        level = np.linspace(middle[0], middle[-1], BINS + 1)
        first = first[np.unique(np.append(np.searchsorted(middle, level[:-1]), len(values) - 1))]
    return order[first]


def _padded(rows: Array, places: list[NDArray[np.intp]]) -> Array:
    out = np.full((len(places), max(map(len, places))), np.nan)
    for j, where in enumerate(places):
        out[j, : len(where)] = rows[where, j]
    return out
