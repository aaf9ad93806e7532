"""The search behind `learn_gamma`: quasi-Newton steps on log widths, several starts, stopping by rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array

# Added to the normal equations, per unit of weight: landmarks may repeat each other to rounding.
JITTER = 1e-8
# The ridge, per unit of weight, is sought in here; widths within this factor (of e) about where they began.
ALPHA_BOX = (1e-7, 1.0)
WIDTH_BOX = 6.0
# Multiples of "scale" and ridges tried for one width, on at most this many rows and landmarks.
MULTIPLES, RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0), (1e-2, 1e-4)
LOOK_ROWS, LOOK_LANDMARKS = 1500, 150
# A run goes on beyond `max_iter` while the last STEPS iterations lowered the log criterion by FALL, to at most LONGEST
# times `max_iter`.
MAX_ITER, STEPS, FALL, LONGEST = 12, 5, 5e-3, 5
# A start is looked at on few rows and taken along if it ends there lower than the one width's by this (log criterion).
AHEAD = 0.1
# 1 / variance of the prior on the logs of a feature's slopes, about those a search begins with and up to a factor.
PRIOR = 1.0
# The one width stays unless others are better by this part on rows held out.
GAIN = 0.005


@dataclass(frozen=True)
class Sample:
    """Distinct rows in random order, weights of equal ones added, targets averaged; columns with a spread only."""

    X: Array
    Y: Array
    weight: Array
    within: Array  # sum of v |y|^2 about the average of equal rows

    def __getitem__(self, which: slice | NDArray[np.intp]) -> Sample:
        parts = (np.ascontiguousarray(a[which]) for a in (self.X, self.Y, self.weight, self.within))
        return Sample(*parts)

    def __len__(self) -> int:
        return len(self.X)


@dataclass
class Problem:
    """The criterion on a sample with its first rows as landmarks.

    A point is log widths, or the logs of the slopes of a warp, and the log ridge a weight.
    """

    kernel: str
    sample: Sample
    m: int
    criterion: str
    toll: float
    fit_intercept: bool
    threads: int = 1
    warp: tuple[Array, Array] | None = None  # knots, and slopes that the prior is about
    evaluations: int = 0

    def __post_init__(self) -> None:
        landmarks = np.ascontiguousarray(self.sample.X[: self.m])
        settings: dict[str, Any] = {"fit_intercept": self.fit_intercept, "jitter": JITTER, **vars(self.sample)}
        settings |= {"warp": self.warp, "prior": PRIOR, "threads": self.threads}
        self._core = _core.WidthProblem(self.kernel, landmarks=landmarks, **settings)

    def of(self, sample: Sample, m: int | None = None, criterion: str | None = None, warp: Any = None) -> Problem:
        """The same on other rows, with at most as many landmarks, by another criterion, or through a warp."""
        most = min(self.m if m is None else min(m, self.m), len(sample))
        how = criterion or self.criterion, self.toll, self.fit_intercept, self.threads, warp or self.warp
        return Problem(self.kernel, sample, most, *how)

    def look(self) -> Problem:
        """The same on few rows and landmarks, to look around on."""
        few = len(self.sample) <= LOOK_ROWS and self.m <= LOOK_LANDMARKS
        return self if few else self.of(self.sample[:LOOK_ROWS], LOOK_LANDMARKS)

    def value(self, x: Array) -> float:
        """The log criterion (the evidence is a logarithm already)."""
        self.evaluations += 1
        return self._core.objective(x, criterion=self.criterion, toll=self.toll, gradient=False)

    def __call__(self, x: Array) -> tuple[float, Array]:
        self.evaluations += 1
        return self._core.objective(x, criterion=self.criterion, toll=self.toll, gradient=True)

    def loo_error(self, x: Array) -> float:
        """Mean squared leave-one-out error, without the prior of a warp."""
        ridge = float(np.exp(x[-1]) * self.sample.weight.sum())
        value = self._core.evaluate(np.exp(x[:-1]), ridge, criterion="loo", gradient=False)[0]
        return np.nan if value is None else value

    def error_on(self, x: Array, held_out: Sample) -> float:
        """Weighted sum of squared errors on rows held out."""
        return self._core.error_on(x, **vars(held_out))


def descend(
    f: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: list[tuple[float, float]],
    max_iter: int,
    longest: int,
    tell: Callable[[int, float], None] | None = None,
) -> tuple[list[Array], list[float]]:
    """Minimise from a start; the points and values after 0, 1, 2, ... iterations, never rising."""
    from scipy.optimize import minimize  # half a second to import, for this alone

    lower, upper = np.array(bounds).T
    x0 = np.clip(start, lower, upper)
    points, values = [x0], [f(x0)[0]]

    def after(intermediate_result: Any) -> None:  # scipy knows it by this name
        x, value = intermediate_result.x, float(intermediate_result.fun)
        if not value < values[-1]:
            x, value = points[-1], values[-1]
        points.append(np.array(x))
        values.append(value)
        k = len(points) - 1
        if tell is not None:
            tell(k, value)
        slow = k >= STEPS and values[k - STEPS] - values[k] < FALL
        if k >= longest or (k >= max_iter and slow):
            raise StopIteration

    options = {"maxiter": longest + 1, "maxfun": 4 * longest + 20, "maxcor": 20}
    minimize(f, x0, jac=True, method="L-BFGS-B", bounds=bounds, callback=after, options=options)
    return points, values


def one_width(problem: Problem, look: Problem, shape: Array) -> tuple[Array, float]:
    """The best multiple of the given widths (log) and its ridge: by a grid on few rows, then by descent."""
    best: tuple[float, Array] = (np.inf, np.append(shape, np.log(RIDGES[0])))
    for multiple in MULTIPLES:
        for ridge in RIDGES:
            x = np.append(shape + np.log(multiple), np.log(ridge))
            value = look.value(x)
            if value < best[0]:
                best = (value, x)
    shape, ridge = best[1][:-1], best[1][-1]

    def along(t: Array) -> tuple[float, Array]:
        value, slope = problem(np.append(shape + t[0], t[1]))
        return value, np.array([slope[:-1].sum(), slope[-1]])

    box = [(-4.0, 4.0), (np.log(ALPHA_BOX[0]), np.log(ALPHA_BOX[1]))]
    points, values = descend(along, np.array([0.0, ridge]), box, 10, 20)
    return np.append(shape + points[-1][0], points[-1][1]), values[-1]


def box_about(x: Array) -> list[tuple[float, float]]:
    """Bounds of a search that begins with these widths."""
    ridge = (float(np.log(ALPHA_BOX[0])), float(np.log(ALPHA_BOX[1])))
    return [*((v - WIDTH_BOX, v + WIDTH_BOX) for v in x[:-1].tolist()), ridge]


@dataclass(frozen=True)
class Route:
    """A way to go: from where, down which criterion."""

    start: Array
    criterion: str


def routes_from(look: Problem, one: Array, scale: Array, criteria: list[str], max_iter: int, both: bool) -> list[Route]:
    """The one width by every criterion, and another start where a look on few rows says that the first is stuck.

    Unless `both`, the better start alone: two searches on many rows take twice the time and found nothing more.
    """
    first = descend(look, one, box_about(one), max_iter, max_iter)[1][-1]
    best: tuple[float, Array | None] = (first - AHEAD, None)
    for multiple in (1.0, 4.0):
        start = np.append(scale + np.log(multiple), np.log(RIDGES[1]))
        value = descend(look, start, box_about(start), max_iter, max_iter)[1][-1]
        if value < best[0]:
            best = (value, start)
    routes = [Route(one, c) for c in criteria]
    other = [] if best[1] is None else [Route(best[1], criteria[0])]
    return routes + other if both or not other else other


@dataclass
class Aside:
    """What a search takes from elsewhere and passes on: rows held out, and where other searches began."""

    X: Array | None = None
    Y: Array = field(default_factory=lambda: np.empty((0, 1)))
    weight: Array = field(default_factory=lambda: np.empty(0))
    one: Array = field(default_factory=lambda: np.empty(0))
    routes: list[Route] | None = None  # after a search the best alone
    end: Array = field(default_factory=lambda: np.empty(0))  # where it ended
    found: Array | None = None  # the end of a search on these rows: none is made again

    def fits(self, d: int) -> bool:
        """Whether the starts are those of as many columns that vary."""
        return len(self.one) == d + 1


@dataclass
class Run:
    """The points of one route on one sample."""

    points: list[Array]
    values: list[float]


def run(problem: Problem, route: Route, max_iter: int, longest: int, tell: Callable[[int, float], None] | None) -> Run:
    """Go down a route."""
    own = problem if route.criterion == problem.criterion else problem.of(problem.sample, None, route.criterion)
    points, values = descend(own, route.start, box_about(route.start), max_iter, longest, tell)
    if own is not problem:
        problem.evaluations += own.evaluations
    return Run(points, values)


def watched(longest: int, folds: bool) -> NDArray[np.intp]:
    """Iterations whose widths are tried on rows held out: ever fewer, of several folds all of the first few."""
    if not folds:
        return np.unique(np.round(np.geomspace(1, longest + 1, 9)).astype(np.intp)) - 1
    return np.unique(np.round(np.concatenate([np.arange(6), np.geomspace(6, max(longest, 6), 12)])).astype(np.intp))


def errors_along(problem: Problem, points: list[Array], steps: NDArray[np.intp], held_out: Sample) -> Array:
    """Sums of squared errors on rows held out after each number of iterations; after the last, those of the last."""
    reached = np.minimum(steps, len(points) - 1)
    found = {k: problem.error_on(points[k], held_out) for k in set(reached.tolist())}
    return np.array([found[k] for k in reached.tolist()])


def held_out_errors(
    problem: Problem, routes: list[Route], folds: list[tuple[Sample, Sample]], max_iter: int, longest: int
) -> tuple[NDArray[np.intp], Array]:
    """Mean squared errors (route, watched iteration) on rows held out, summed over the folds."""
    steps = watched(longest, True)
    errors = np.zeros((len(routes), len(steps)))
    for learned, held_out in folds:
        part = problem.of(learned)
        for r, route in enumerate(routes):
            errors[r] += errors_along(part, run(part, route, max_iter, longest, None).points, steps, held_out)
        problem.evaluations += part.evaluations
    return steps, errors / sum(float(h.weight.sum()) for _, h in folds)


def best_stop(steps: NDArray[np.intp], errors: Array, least: float) -> tuple[int, int] | None:
    """Route and number of iterations of the smallest error held out; None unless it is clearly below `least`."""
    r, s = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return (int(r), int(steps[s])) if errors[r, s] < (1 - GAIN) * least else None
