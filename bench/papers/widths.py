"""Learned widths: error, size and processor time with one width and with one a feature, and rivals beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from kernsift import SubsetLSSVMRegressor, learn_gamma
from measure.clock import timed
from measure.data import standardised
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from .ideas import IDEAS, learned, with_options
from .registry import Array, Line, Run, table

SIZES = (100, 300, 500, 1000)
on_forest = partial(table, page="widths", data=("covtype",))
on_tables = partial(table, page="widths", data=("boston", "abalone"))


def one_thread() -> None:
    """BLAS on one thread, here and in the processes that take a part each: they import this module first."""
    threadpool_limits(1)


def in_processes(work: Callable[..., Any], run: Run, things: Any, workers: int = 2) -> Iterator[Any]:
    """The work for each of the things."""
    with ProcessPoolExecutor(workers, get_context("spawn"), one_thread) as pool:
        yield from pool.map(work, [run] * len(things), things)


def forest(run: Run, seed: int) -> tuple[Array, Array, Array, Array]:
    """Class 2 against the rest; other training rows for every seed, the same test rows."""
    archive = run.load("covtype")
    X, y = archive["X"], np.where(archive["y"] == 2, 1.0, -1.0)
    rows, held = (2000, 2000) if run.brief else (50_000, 20_000)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[50_000 * seed : 50_000 * seed + rows], order[-held:]
    A, B = standardised(X[train].astype(float), X[test].astype(float))
    return A, y[train], B, y[test]


def wrong(scores: Array, truth: Array) -> float:
    return 100.0 * float(np.mean(np.where(scores > 0, 1.0, -1.0) != truth))


def cells(label: str, errors: list[list[float]], seconds: list[list[float]]) -> tuple[str, ...]:
    found = np.array(errors)
    spread = found.std(axis=0, ddof=1) if len(found) > 1 else np.zeros(found.shape[1])
    shown = [f"{m:.2f} ± {s:.2f}" if m == m else "" for m, s in zip(found.mean(axis=0), spread, strict=True)]
    return label, *shown, " / ".join(f"{t:.1f}" for t in np.mean(seconds, axis=0) if t == t)


def forest_seed(run: Run, seed: int) -> list[tuple[str, list[float], list[float]]]:
    """Errors and seconds by size of every model, for one draw of training rows."""
    sizes = run.choose((20, 40, 60, 80), SIZES, SIZES)
    X, y, test, truth = forest(run, seed)
    trees, spent = timed(lambda: HistGradientBoostingClassifier(random_state=0).fit(X, y))
    found = [("HistGradientBoosting (no kernels)", [wrong(trees.predict(test), truth)] * len(sizes), [spent])]
    for label, isotropic in (("one width", True), ("learned", False)):
        widths, tuning = timed(lambda i=isotropic: learn_gamma(X, y, isotropic=i, random_state=seed))
        plain: tuple[list[float], list[float]] = ([], [])
        moved: tuple[list[float], list[float]] = ([], [])
        for m in sizes:
            model = SubsetLSSVMRegressor(gamma=widths.gamma, max_basis=m, random_state=seed)
            _, spent = timed(lambda model=model: model.fit(X, y))
            plain[0].append(wrong(model.predict(test), truth))
            plain[1].append(tuning + spent)
            if not isotropic:
                # the same as polish=20 from the start, without choosing the kernels twice
                model.set_params(basis=model.basis_vectors_, polish=run.choose(20, 20 if m <= 500 else 0, 20))
                more = timed(lambda model=model: model.fit(X, y))[1] if model.polish else np.nan
                moved[0].append(wrong(model.predict(test), truth) if model.polish else np.nan)
                moved[1].append(tuning + spent + more)
        found.append((label, *plain))
        if not isotropic:
            found.append(("learned, polish=20", *moved))
    return found


@on_forest(
    "FOREST",
    "errors in %, forest cover (class 2 against the rest), 50,000 rows, mean and spread over 3 seeds",
    "widths | 100 kernels | 300 kernels | 500 kernels | 1000 kernels | seconds",
)
def forest_rows(run: Run) -> Iterator[Line]:
    seeds = range(run.choose(2, 3, 3))
    draws = list(in_processes(forest_seed, run, seeds, len(seeds)))
    for same in zip(*draws, strict=True):
        yield cells(same[0][0], [errors for _, errors, _ in same], [seconds for *_, seconds in same])


@on_forest(
    "SVC",
    "against scikit-learn's SVC on the same rows, 10,000 test rows",
    "model | rows | error % | kernels | seconds",
)
def svc_rows(run: Run) -> Iterator[Line]:
    one_thread()
    X, y, test, truth = forest(run, 0)
    rows = run.choose(1000, 10_000, len(X))
    part, few = slice(0, rows), slice(0, 10_000)
    found, tuning = timed(lambda: learn_gamma(X[part], y[part], random_state=0))
    for m in run.choose((40,), (500, 1000), (500, 1000)):
        model = SubsetLSSVMRegressor(gamma=found.gamma, max_basis=m, random_state=0)
        _, spent = timed(lambda model=model: model.fit(X[part], y[part]))
        error = wrong(model.predict(test[few]), truth[few])
        yield f"learned widths, {m} kernels", f"{rows}", f"{error:.2f}", str(model.n_basis_), f"{tuning + spent:.1f}"
    quick, tuning = timed(lambda: learn_gamma(X[part], y[part], n_rows=2000, m=150, max_iter=10, random_state=0))
    model = SubsetLSSVMRegressor(gamma=quick.gamma, max_basis=run.choose(40, 500, 500), oversample=2.0, random_state=0)
    _, spent = timed(lambda: model.fit(X[part], y[part]))
    error = wrong(model.predict(test[few]), truth[few])
    label = f"widths learned on 2,000 rows with 150 kernels, oversample=2, {model.n_basis_} kernels"
    yield label, f"{rows}", f"{error:.2f}", str(model.n_basis_), f"{tuning + spent:.1f}"
    scaled, scaled_test = X * np.sqrt(found.gamma), test * np.sqrt(found.gamma)
    for label, A, B, gamma, C in (
        ("SVC, one width 1/54, C=10", X, test, 1 / X.shape[1], 10.0),
        ("SVC, learned widths, C=20 (its time without the tuning)", scaled, scaled_test, 1.0, 20.0),
    ):
        svc, spent = timed(lambda A=A, gamma=gamma, C=C: SVC(C=C, gamma=gamma, cache_size=500).fit(A[part], y[part]))
        error = wrong(svc.predict(B[few]), truth[few])
        yield label, f"{rows}", f"{error:.2f}", str(len(svc.support_)), f"{spent:.1f}"


def regression_sets(run: Run) -> Iterator[tuple[str, Callable[[int], tuple[Array, Array]]]]:
    def stored(name: str) -> Callable[[int], tuple[Array, Array]]:
        archive = run.load(name)
        return lambda seed: (archive["X"].astype(float), archive["y"].astype(float))

    def with_noise(X: Array, y: Array, seed: int, more: int) -> tuple[Array, Array]:
        noise = np.random.default_rng(seed).standard_normal((len(X), more))
        return np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), noise]), y

    yield "boston", stored("boston")
    yield "abalone", stored("abalone")
    yield "diabetes", lambda seed: load_diabetes(return_X_y=True)
    yield "diabetes and 40 columns of noise", lambda seed: with_noise(*load_diabetes(return_X_y=True), seed, 40)
    yield "friedman1, 27 of 32 irrelevant", lambda s: make_friedman1(1500, n_features=32, noise=1.0, random_state=s)
    yield "friedman2", lambda seed: make_friedman2(1500, noise=50.0, random_state=seed)
    yield (
        "friedman3 and 12 columns of noise",
        lambda seed: with_noise(*make_friedman3(1500, noise=0.1, random_state=seed), seed, 12),
    )


def split(table: tuple[Array, Array], seed: int, rows: int | None) -> tuple[Array, Array, Array, Array]:
    """Four fifths to learn from and one to test on, standardised on the former."""
    X, y = table
    order = np.random.default_rng(seed).permutation(len(X))[:rows]
    train, test = np.split(order, [4 * len(order) // 5])
    mean, scale = y[train].mean(), y[train].std()
    A, B = standardised(X[train], X[test])
    return A, (y[train] - mean) / scale, B, (y[test] - mean) / scale


def rmse(model: Any, X: Array, y: Array) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def regression_row(run: Run, name: str) -> tuple[str, ...]:
    make = dict(regression_sets(run))[name]
    errors: list[list[float]] = []
    spent: list[float] = []
    sizes: list[int] = []
    for seed in range(run.choose(1, 3, 3)):
        A, t, B, truth = split(make(seed), seed, run.choose(300, None, None))
        m = run.choose(30, 300, 300)
        one = learn_gamma(A, t, isotropic=True, random_state=seed).gamma
        best = learned(m, seed, size="auto")
        _, seconds = timed(lambda best=best, A=A, t=t: best.fit(A, t))
        spent.append(seconds)
        sizes.append(best.n_basis_)
        models: list[Any] = [
            learned(m, seed, gamma=one).fit(A, t),
            learned(m, seed, gamma=one, size="held-out").fit(A, t),
            learned(m, seed, gamma=best.gamma_).fit(A, t),
            best,
            HistGradientBoostingRegressor(random_state=seed).fit(A, t),
        ]
        errors.append([rmse(model, B, truth) for model in models])
    means = np.mean(errors, axis=0)
    return (
        name,
        f"{len(A)} × {A.shape[1]}",
        *(f"{e:.3f}" for e in means),
        f"{100 * (means[2] / means[0] - 1):+.1f} %",
        f"{100 * (means[3] / means[0] - 1):+.1f} %",
        f"{np.mean(sizes):.0f}",
        f"{np.mean(spent):.1f}",
    )


@on_tables(
    "REGRESSION",
    "RMSE in units of the target's deviation, mean over 3 splits, at most 300 kernels",
    'set | rows × features | one width | one width, size held out | learned | gamma="learn" (size held out) | '
    "HistGradientBoosting | learned against one width | with the size held out | kernels | seconds",
)
def regression_rows(run: Run) -> Iterator[Line]:
    yield from in_processes(regression_row, run, [name for name, _ in regression_sets(run) if run.wants(name)])


def further_errors(run: Run, label: str) -> tuple[dict[str, float], float]:
    """Mean RMSE on every set with one change, and the seconds of the fits."""
    fit, m = IDEAS.get(label, with_options()), run.choose(15, 100, 100)
    found: dict[str, list[float]] = {}
    seconds = 0.0
    for name, make in regression_sets(run):
        if name in ("diabetes", "friedman2"):
            continue
        for seed in range(run.choose(1, 2, 3)):
            A, t, B, truth = split(make(seed), seed, run.choose(150, 1000, None))
            model, spent = timed(lambda A=A, t=t, seed=seed: fit(A, t, m, seed))
            found.setdefault(name, []).append(rmse(model, B, truth))
            seconds += spent
    return {name: float(np.mean(errors)) for name, errors in found.items()}, seconds


@on_tables(
    "FURTHER",
    "RMSE with 100 kernels, and what each change alone does to it (seconds of all fits)",
    "change | boston | abalone | diabetes + 40 noise | friedman1, 27 of 32 irrelevant | "
    "friedman3 + 12 noise | better by 1 % | seconds",
)
def further_rows(run: Run) -> Iterator[Line]:
    labels = [label for label in IDEAS if run.wants(label)]
    answers = in_processes(further_errors, run, ['gamma="learn"', *labels])
    base, seconds = next(answers)
    yield 'gamma="learn"', *(f"{e:.3f}" for e in base.values()), "", f"{seconds:.0f}"
    for label, (errors, seconds) in zip(labels, answers, strict=True):
        ratios = [errors[name] / base[name] for name in base]
        paid = f"{sum(r < 0.99 for r in ratios)} of {len(ratios)}"
        yield label, *("no factor" if r != r else f"{100 * (r - 1):+.1f} %" for r in ratios), paid, f"{seconds:.0f}"
