"""Widths for a running stream: learned in bounded time from its last rows, with none held out.

How far a search may go is decided by rows held out where a model is fitted once.  A stream need not: the model with new
widths must first predict better than the old one (`stream.course`).
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.utils import Bunch

from ..base.canonical import canonical_table
from ..base.targets import Rows
from .search import RIDGES, Problem, Run, Sample, box_about, descend, one_width
from .units import report, standardised

# Measured on 29 streams: as good as 150 landmarks, 15 steps and rows held out, in a fifteenth of the time.
LANDMARKS, STEPS = 60, 8
# Steps of each of two starts, of which the better goes on: the best single width, and widths this many times narrower
# than those of "standard", from where a function is found that bends much along few features.
FIRST_STEPS, NARROW = 6, 4.0
# Separate widths must lower the leave-one-out error of one width to this part of it: what gains less is most often an
# accident of these rows, and where the relevant directions turn it is wrong soon.
WORTH = 0.95


def learn_briefly(rows: Rows, kernel: str, fit_intercept: bool, isotropic: bool = False) -> Bunch | None:
    """Learn one width per feature by the leave-one-out error; None where the rows tell nothing.

    The result depends on the rows and neither on their order, nor on that of the features, nor on their units.
    """
    begin = time.perf_counter()
    largest = np.abs(rows.X).max(axis=0)
    order = np.lexsort((rows.X / np.where(largest > 0, largest, 1.0)).astype(np.float32)[::-1])
    table = canonical_table(np.ascontiguousarray(rows.X[:, order]), rows.targets, rows.weight, 0, scale_free=True)
    active, unit, sample, _ = standardised(table, kernel)
    Y = sample.Y - np.average(sample.Y, axis=0, weights=sample.weight)
    spread = float(np.sqrt((sample.weight @ (Y**2).sum(axis=1) + sample.within.sum()) / sample.weight.sum()))
    if not active.size or len(sample) < 2 or spread == 0.0:
        return None
    sample = Sample(sample.X, Y / spread, sample.weight, sample.within / spread**2)
    problem = Problem(kernel, sample, min(LANDMARKS, len(sample)), "loo", 1.0, fit_intercept)
    standard = np.full(active.size, -np.log(active.size))
    one, error_one = one_width(problem, problem.look(), standard)
    points, values = [one], [error_one]
    if not isotropic:
        starts = [one, np.append(standard + np.log(NARROW), np.log(RIDGES[1]))]
        runs = [descend(problem, start, box_about(start), FIRST_STEPS, FIRST_STEPS) for start in starts]
        points, values = min(runs, key=lambda run: run[1][-1])
        further = descend(problem, points[-1], box_about(points[-1]), STEPS, STEPS)
        points, values = [*points, *further[0][1:]], [*values, *further[1][1:]]
        if values[-1] > error_one + np.log(WORTH):
            points, values = [one], [error_one]
    active = order[active]
    gamma = np.zeros(rows.X.shape[1])
    gamma[active] = np.exp(points[-1][:-1]) * unit
    if not np.isfinite(gamma).all() or not (gamma > 0).any():
        return None
    found = Run([np.exp(p[:-1]) * unit for p in points], values)
    return report(
        gamma, gamma[active] / unit, active, found, begin, alpha=float(np.exp(points[-1][-1]) * table.weight.sum()),
        error=float(np.exp(values[-1])) * spread**2, error_one_width=float(np.exp(error_one)) * spread**2,
        criterion="loo", held_out={}, n_rows=len(sample), n_landmarks=problem.m, n_evaluations=problem.evaluations,
    )  # fmt: skip
