"""One width per feature, learned from the leave-one-out error of a small model in closed form."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_X_y

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table, canonical_table, draw_seed
from ..base.kernel import TABLE, ChosenKernel, kernel_name
from ..base.memory import ROW_VECTORS, check_memory
from ..base.targets import class_targets
from ..base.threads import n_threads
from ..base.types import RandomState
from ..base.validation import Interval, StrOptions, as_targets, check_some_weight, check_weights
from ..base.warp import Warp
from .learn_warp import Curves
from .search import (
    LONGEST,
    MAX_ITER,
    Aside,
    Problem,
    Route,
    Run,
    Sample,
    best_stop,
    errors_along,
    held_out_errors,
    one_width,
    routes_from,
    run,
    watched,
)
from .units import report, standardised

CRITERIA = ("auto", "loo", "gcv", "evidence")
# Up to this many rows are cut into this many parts, each held out once, to decide where to stop; of more rows one is,
# and nothing is learned again with it.
FOLDS = ((500, 5), (2500, 3))
HELD_OUT = 0.2
# Most rows held out where the table has more than it tunes on.
MOST_HELD_OUT = 2500
# Below these rows "auto" also tries the evidence, and nothing is held out of fewer than the second.
FEW_ROWS, TOO_FEW = 2500, 20
FEW_LANDMARKS = 50
# More rows help more than more kernels do, at the same time: 10,000 and 300 beat 5000 and 500 on forest cover.
N_ROWS, N_LANDMARKS = 10_000, 300


def learn_gamma(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: str = "rbf",
    isotropic: bool = False,
    n_rows: int = N_ROWS,
    m: int = N_LANDMARKS,
    max_iter: int = MAX_ITER,
    criterion: str = "auto",
    classification: bool | None = None,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    callback: Callable[[dict[str, Any]], None] | None = None,
    warp: bool = False,
    n_jobs: int | None = None,
) -> Bunch:
    """Learn one width per feature, and a ridge, by the gradient of a closed-form leave-one-out error.

    A subset of regressors on ``m`` random rows is fitted to ``n_rows`` rows; the error of leaving a row out has a
    closed form and so has its gradient.  Quasi-Newton steps on the logarithms begin with the best single width.  How
    far they go is decided by rows held out, because with many features and few rows the leave-one-out error itself is
    over-fitted; one width for all columns in units of their deviation is what remains if nothing else is better there.
    So the units of the columns have no effect, but with ``isotropic``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets, or class labels (see ``classification``).  Errors of several outputs or classes are added.
    kernel : {"rbf", "laplacian", "matern32", "matern52"}, default="rbf"
    isotropic : bool, default=False
        One width for all features: only its size is learned.
    n_rows : int, default=10_000
        Most rows to tune on, drawn at random.
    m : int, default=300
        Most kernels to tune with; the final model may have more or fewer.
    max_iter : int, default=12
        Quasi-Newton iterations; while the criterion falls, up to five times as many.
    criterion : {"auto", "loo", "gcv", "evidence"}, default="auto"
        Leave-one-out error; GCV with a degree of freedom counted 1.4 times; the marginal likelihood.  "auto" is "loo",
        and below 2500 rows the better of "loo" and "evidence" on rows held out.
    classification : bool, optional
        Whether y holds labels.  By default it does if it is not numeric.
    fit_intercept : bool, default=True
    sample_weight : array-like of shape (n_samples,), optional
    random_state : int, RandomState, Generator or None
        For the rows.  With an int the result does not depend on the order of the rows.
    callback : callable, optional
        Called after every iteration on all rows tuned on, with a dict of ``iteration`` and ``criterion``.
    warp : bool, default=False
        Also learn a monotone curve for each feature, from those widths on, and return it as a :class:`Warp` if its
        error on rows held out is lower by half a percent.  It takes one to three times as long again.
    n_jobs : int or None, default=None
        Threads, for more than 1024 rows; the result does not depend on it.

    Returns
    -------
    Bunch
        ``gamma`` : ndarray of shape (n_features,), or :class:`Warp`, to be given to any estimator here.  0 for a
        constant feature.
        ``alpha`` : float, the ridge that belongs to it, for as many rows as were given.  Models of another size do
        better with their own (``alpha="gcv"``).
        ``relevance`` : ndarray of shape (n_features,), each feature's part of the squared distance (for laplacian: of
        the distance), adding up to 1.  It says how fast the function changes along a feature, not how much depends on
        it: a straight line needs a wide kernel and ranks low.
        ``switched_off`` : indices of features with less than a fiftieth of an equal share.
        ``error``, ``error_one_width`` : leave-one-out mean squared errors on the rows tuned on.
        ``path`` : dict of arrays, ``criterion`` and ``gamma`` (of a warp its slopes) after every iteration of the final
        search.
        ``held_out`` : dict, mean squared errors on rows held out for each ``iteration`` tried; empty if none were.
        ``held_out_warp`` : the same with ``warp=True``, for curves that begin as the ``widths``, and as ``curves``.
        ``criterion``, ``n_iter``, ``n_rows``, ``n_landmarks``, ``n_evaluations``, ``seconds``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import SubsetLSSVMRegressor, learn_gamma
    >>> rng = np.random.default_rng(7)
    >>> X = rng.standard_normal((600, 5))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(600)
    >>> found = learn_gamma(X, y, random_state=0)
    >>> int(found.relevance.argmax()), bool(found.relevance[0] > 0.9)
    (0, True)
    >>> model = SubsetLSSVMRegressor(gamma=found.gamma, max_basis=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """
    _check_parameters(kernel, isotropic, n_rows, m, max_iter, criterion, warp)
    labels = np.asarray(y)
    if classification is None:
        classification = labels.dtype.kind not in "fiu"
    rows, checked = check_X_y(X, y, dtype=np.float64, order="C", multi_output=True, y_numeric=not classification)
    weight = check_weights(sample_weight, rows)
    check_some_weight(weight)
    if classification:
        classes = np.unique(checked[weight > 0])
        if len(classes) < 2:
            raise ValueError(f"y holds one class only ({classes[0]!r}): give rows of another")
        targets = class_targets(classes, checked, weight)
    else:
        targets = as_targets(checked)
    table = canonical_table(rows, targets, weight, draw_seed(random_state), scale_free=True)
    threads = n_threads(n_jobs)
    return learn(
        table, kernel, fit_intercept, isotropic, n_rows, m, max_iter, criterion, callback, warp=warp, threads=threads
    )


def _check_parameters(
    kernel: str, isotropic: bool, n_rows: int, m: int, max_iter: int, criterion: str, warp: bool
) -> None:
    check_kernel(kernel)
    whole = Interval(Integral, 1, None, closed="left")
    for name, value in (("n_rows", n_rows), ("m", m), ("max_iter", max_iter)):
        if not whole.is_satisfied_by(value):
            raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
    if not StrOptions(set(CRITERIA)).is_satisfied_by(criterion):
        raise ValueError(f"criterion={criterion!r} must be one of {list(CRITERIA)}")
    if not isinstance(isotropic, (bool, np.bool_)):
        raise ValueError(f"isotropic={isotropic!r} must be True or False")
    if not isinstance(warp, (bool, np.bool_)):
        raise ValueError(f"warp={warp!r} must be True or False")
    if warp and isotropic:
        raise ValueError("warp=True learns each feature's own curve and isotropic=True one width for all: choose one")


def check_kernel(kernel: str) -> None:
    """Refuse kernels without widths to learn."""
    learnable = sorted(name for name, facts in TABLE.items() if facts["slope"])
    if kernel not in learnable:
        raise ValueError(f"kernel={kernel!r} has no widths to learn: use one of {learnable}, or give gamma as a number")


def learn(
    table: Table,
    kernel: str,
    fit_intercept: bool,
    isotropic: bool = False,
    n_rows: int = N_ROWS,
    m: int = N_LANDMARKS,
    max_iter: int = MAX_ITER,
    criterion: str = "auto",
    callback: Callable[[dict[str, Any]], None] | None = None,
    aside: Aside | None = None,
    warp: bool = False,
    threads: int = 1,
) -> Bunch:
    """`learn_gamma` on rows in canonical form, which may have been begun elsewhere (`aside`)."""
    begin = time.perf_counter()
    (n, d), total = table.X.shape, float(table.weight.sum())
    tuned = min(n_rows, n)
    landmarks = min(m, max(tuned // 2, FEW_LANDMARKS), tuned)
    # Distinct rows in units of their spread, and what that is made of; the problems of the rows tuned on, of those of a
    # fold, and of the fold by another criterion.
    problems = _core.WidthProblem.memory_needed(n=tuned, m=landmarks, d=d, problems=3)
    check_memory(
        max(5 * n * d, 2 * n * d + problems) + ROW_VECTORS * n,
        f"learning widths on {tuned} rows and {landmarks} landmarks",
        "lower n_rows or m of learn_gamma, or give gamma as a number",
    )
    active, unit, sample, units = standardised(table, kernel)
    mean = np.average(sample.Y, axis=0, weights=sample.weight)
    Y = sample.Y - mean
    spread = float(np.sqrt(sample.weight @ (Y**2).sum(axis=1) + sample.within.sum()))
    if not active.size or len(sample) < 2 or spread == 0.0:
        # nothing to tell widths by: those of "scale", each feature on its own scale
        gamma = np.zeros(d)
        gamma[active] = unit / max(active.size, 1)
        if not active.size:
            gamma[:] = 1.0 / d
        none = dict.fromkeys(("error", "error_one_width", "n_rows", "n_landmarks", "n_evaluations"), 0)
        return report(
            gamma,
            gamma[active] / unit,
            active,
            Run([], []),
            begin,
            alpha=1e-4 * total,
            criterion="none",
            held_out={},
            **none,
        )
    scale = spread / np.sqrt(sample.weight.sum())
    sample = Sample(sample.X, Y / scale, sample.weight, sample.within / scale**2)

    rows = sample[:n_rows]
    first = "loo" if criterion == "auto" else criterion
    most = max(len(rows) // 2, FEW_LANDMARKS)  # more than half of the rows cost time and tell no more
    toll = _core.GCV_TOLL if first == "gcv" else 1.0
    problem = Problem(kernel, rows, min(m, most, len(rows)), first, toll, bool(fit_intercept), threads)
    own = np.full(active.size, -np.log(active.size))  # each feature on its own scale
    raw = -np.log(unit)  # all alike, as gamma given as one number
    raw = raw - np.log(np.exp(raw).sum())
    begun = None if aside is None or not aside.fits(len(own)) else aside
    look, one = problem.look(), None if begun is None else begun.one
    if one is None:
        one = one_width(problem if isotropic else look, look, raw if isotropic else own)[0]

    chosen, how = Run([one], [problem.value(one)]), first
    held_out: dict[str, Any] = {}
    rest = sample[n_rows : n_rows + MOST_HELD_OUT]
    if aside is not None and aside.X is not None:
        rest = Sample(units(aside.X), (aside.Y - mean) / scale, aside.weight, np.zeros(len(aside.X)))
    elif len(rest) < HELD_OUT * len(rows):
        rest = rest[:0]
    if not isotropic and active.size > 1:
        routes = None if begun is None else begun.routes
        if routes is None:
            routes = _routes(problem, look, one, own, criterion, max_iter)
        best = 0
        if begun is not None and begun.found is not None:
            chosen, how = Run([begun.found], [problem.value(begun.found)]), routes[0].criterion
        elif len(rows) >= TOO_FEW:
            names = [r.criterion + ("" if r.start is one else ", other start") for r in routes]
            chosen, held_out, best = _followed(problem, rest, routes, names, one, max_iter, callback)
            how = routes[best].criterion
        if aside is not None:
            aside.one, aside.routes, aside.end = one, [routes[best]], chosen.points[-1]
    x = chosen.points[-1]
    gamma = np.zeros(d)
    gamma[active] = np.exp(x[:-1]) * unit
    if not np.isfinite(gamma).all() or not (gamma > 0).any():
        raise ValueError("the widths of X are beyond the range of a double: rescale its columns")
    loo = problem if first == "loo" else problem.of(rows, None, "loo")
    error, error_one = (float(np.exp(loo.value(p))) * scale**2 for p in (x, one))
    facts = {"error_one_width": error_one, "n_rows": len(rows), "n_landmarks": problem.m}
    metric: Array | Warp = gamma
    parts = gamma[active] / unit
    points = [np.exp(p[:-1]) * unit for p in chosen.points]
    evaluations = problem.evaluations + (look.evaluations if look is not problem else 0)
    if warp and len(rows) >= TOO_FEW:
        curves = Curves.of(sample, table.X[table.distinct.which][:, active])
        problem, routes = curves.routes(problem, x, how)
        names = ["widths", "curves"]
        found, facts["held_out_warp"], best = _followed(
            problem, rest, routes, names, routes[0].start, max_iter, callback
        )
        evaluations += problem.evaluations
        if best > 0 or len(found.points) > 1:
            chosen, x = found, found.points[-1]
            metric = curves.warp(x, active, table.X[0])
            points = [np.exp(p[:-1]) for p in found.points]
            error = problem.loo_error(x) * scale**2
            parts = curves.parts(x, rows, kernel)
    chosen = Run(points, chosen.values)
    return report(
        metric, parts, active, chosen, begin, alpha=float(np.exp(x[-1]) * total),
        error=error, criterion=how, held_out=held_out, n_evaluations=evaluations, **facts,
    )  # fmt: skip


def learned_width(estimator: Any, X: Array, targets: Array, weight: Array) -> Array | Warp:
    """Learn the metric of an estimator from rows in any order."""
    table = canonical_table(X, targets, weight, draw_seed(estimator.random_state), scale_free=True)
    return width_of(estimator, table, estimator.gamma)


def width_of(estimator: Any, table: Table, gamma: Any) -> Array | Warp:
    """gamma="learn" or "warp" of an estimator: what else was found is kept in its ``learned_gamma_``."""
    chosen: ChosenKernel | None = getattr(estimator, "_chosen", None)
    if chosen is not None and chosen.learned is not None:
        found = chosen.learned
    else:
        kernel = kernel_name(estimator)
        check_kernel(kernel)
        warp = gamma == "warp" or (chosen is not None and chosen.warp)
        threads = n_threads(getattr(estimator, "n_jobs", None))
        found = learn(table, kernel, bool(estimator.fit_intercept), warp=warp, threads=threads)
    estimator.learned_gamma_ = dict(found)
    return found["gamma"]


def _routes(problem: Problem, look: Problem, one: Array, own: Array, criterion: str, max_iter: int) -> list[Route]:
    """The ways from the one width to one a feature that are worth trying."""
    if len(problem.sample) < TOO_FEW:
        return [Route(one, problem.criterion)]
    criteria = ["loo", "evidence"] if criterion == "auto" and len(problem.sample) < FEW_ROWS else [problem.criterion]
    return routes_from(look, one, own, criteria, max_iter, both=len(problem.sample) <= FOLDS[-1][0])


def _followed(
    problem: Problem,
    rest: Sample,
    routes: list[Route],
    names: list[str],
    first: Array,
    max_iter: int,
    callback: Callable[[dict[str, Any]], None] | None,
) -> tuple[Run, dict[str, Any], int]:
    """As far as rows held out allow, on the best route; `first` alone, which is route 0's, unless that is better."""
    rows, n = problem.sample, len(problem.sample)
    longest = LONGEST * max_iter

    def tell(k: int, value: float) -> None:
        if callback is not None:
            callback({"iteration": k, "criterion": value})

    parts = 1 if len(rest) else next((k for most, k in FOLDS if n <= most), 1)
    if parts > 1:
        folds = [(rows[np.flatnonzero(np.arange(n) % parts != k)], rows[k::parts]) for k in range(parts)]
        steps, errors = held_out_errors(problem, routes, folds, max_iter, longest)
        least, found = errors[0, 0], None
        if (best := best_stop(steps, errors, least)) is not None and best[1] > 0:
            found = run(problem, routes[best[0]], best[1], best[1], tell)
    else:
        part = problem
        if not len(rest):
            k = round(1 / HELD_OUT)
            part, rest = problem.of(rows[np.flatnonzero(np.arange(n) % k)]), rows[::k]
        runs = [run(part, route, max_iter, longest, tell) for route in routes]
        steps, total = watched(longest, False), rest.weight.sum()
        errors = np.array([errors_along(part, r.points, steps, rest) for r in runs]) / total
        least = part.error_on(first, rest) / total
        best = best_stop(steps, errors, least)
        found = None if best is None else runs[best[0]]
        problem.evaluations += part.evaluations if part is not problem else 0
    held = {"iteration": steps, **dict(zip(names, errors, strict=True))}
    if best is None:
        return Run([first], [problem.value(first)]), held, 0
    route, stop = best
    if found is None:
        found = Run([routes[route].start], [problem.value(routes[route].start)])
    return Run(found.points[: stop + 1], found.values[: stop + 1]), held, route
