"""What part of new rows intervals contain: every family of tables, three kernels, ten tables, few rows and many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import kernsift
import numpy as np
from sklearn import datasets

from .registry import Array, Line, Run, table

COVERAGE = 0.9
of_splits = partial(table, page="coverage", seeds="0 to one less than the splits")
on_ten_tables = partial(of_splits, data=("boston", "abalone"))
KERNELS = ("rbf", "laplacian", "matern32")
FAMILIES: dict[str, Callable[[str], Any]] = {
    "LSSVM": lambda kernel: kernsift.LSSVMRegressor(kernel=kernel, gamma="standard"),
    'LSSVM, alpha="loo"': lambda kernel: kernsift.LSSVMRegressor(kernel=kernel, gamma="standard", alpha="loo"),
    "SparseLSSVM, 100 kernels": lambda kernel: kernsift.SparseLSSVMRegressor(kernel=kernel, gamma="standard"),
    "SubsetLSSVM": lambda kernel: kernsift.SubsetLSSVMRegressor(kernel=kernel, gamma="standard", random_state=0),
    "SubsetLSSVM, 100 kernels": lambda kernel: kernsift.SubsetLSSVMRegressor(
        kernel=kernel, gamma="standard", max_basis=100, random_state=0
    ),
    "OROLS": lambda kernel: kernsift.OROLSRegressor(kernel=kernel, gamma="standard"),
}


def sets(run: Run) -> Iterator[tuple[str, Array, Array]]:
    rng = np.random.default_rng(0)
    for number, noise in ((1, 1.0), (2, 50.0), (3, 0.1)):
        yield f"friedman{number}", *getattr(datasets, f"make_friedman{number}")(5000, noise=noise, random_state=1)
    X = rng.uniform(-3, 3, (5000, 1))
    yield "sinc", X, np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(5000)
    yield "uneven noise", X, np.sin(X[:, 0]) + (0.05 + 0.3 * (X[:, 0] > 0)) * rng.standard_normal(5000)
    X = rng.uniform(-1, 1, (5000, 3))
    yield "steps", X, np.sign(X[:, 0]) + np.floor(2 * X[:, 1]) + 0.2 * rng.standard_normal(5000)
    X = rng.standard_normal((5000, 6))
    yield "heavy tails", X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_t(3, 5000)
    yield "diabetes", *datasets.load_diabetes(return_X_y=True)
    for name in ("boston", "abalone"):
        yield name, *rows_of(run, name)


def rows_of(run: Run, name: str) -> tuple[Array, Array]:
    archive = run.load(name)
    return archive["X"].astype(float), archive["y"].astype(float)


def fitted(make: Callable[[], Any], X: Array, y: Array, n: int, splits: int) -> Iterator[tuple[Any, Array]]:
    """A model of n rows drawn at random, and the numbers of up to 1,000 others, for each split."""
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(X))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scales of columns
            yield make().fit(X[order[:n]], y[order[:n]]), order[n : n + 1000]


@on_ten_tables(
    "COVERAGE",
    "part of new rows inside intervals of nominal 90 %: lowest and highest of ten tables and three kernels",
    "family | 50 rows | 200 rows | 2000 rows",
)
def coverage(run: Run) -> Iterator[Line]:
    splits = run.times(10, 20)
    tables = list(sets(run))[:: 5 if run.brief else 1]
    for family, make in FAMILIES.items():
        if not run.wants(family):
            continue
        cells = []
        for n in (50, 200, 2000)[: 1 if run.brief else 3]:
            times = splits if n < 2000 else max(splits // 5, 1)
            found = [
                (hits(partial(make, kernel), X, y, n, times), f"{name}, {kernel}")
                for name, X, y in tables
                if len(X) >= n + 100
                for kernel in KERNELS
            ]
            (low, where), (high, there) = min(found), max(found)
            cells.append(f"{low:.3f} ({where}) to {high:.3f} ({there})")
        yield family, *cells
    yield (
        "A cell is a mean over the splits (a fifth of them at 2,000 rows), each with up to 1,000 new rows; its "
        "standard error is about .01 at 50 rows and .005 at more."
    )


def uneven_sets(run: Run) -> Iterator[tuple[str, int, int | None, Array, Array]]:
    """Tables whose noise depends on x: a name, rows to fit, the column that it depends on or None, rows and targets."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (5000, 1))
    noise = rng.standard_normal(5000)
    yield "step", 400, 0, X, np.sin(X[:, 0]) + (0.05 + 0.3 * (X[:, 0] > 0)) * noise
    yield "parabola", 400, 0, X, np.sin(2 * X[:, 0]) + (0.05 + 0.08 * X[:, 0] ** 2) * noise
    X = rng.uniform(0, 1, (5000, 1))
    yield "ramp", 400, 0, X, 2 * np.sin(2 * np.pi * X[:, 0]) + (0.5 + X[:, 0]) * noise
    X = rng.uniform(-1, 1, (5000, 4))
    yield "four columns", 1500, 2, X, X[:, 0] + np.sin(3 * X[:, 1]) + np.exp(1.2 * X[:, 2] - 1.5) * noise
    yield "constant", 400, 0, X[:, :2], np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * noise
    for name, rows in (("boston", 400), ("abalone", 1500)):
        yield name, rows, None, *rows_of(run, name)


@on_ten_tables(
    "NOISE",
    "nominal 90 % where the noise depends on x: new rows inside in the worst fifth of the inputs, and mean widths",
    "family | rows | worst fifth, constant | worst fifth, auto | all, auto | width | log density",
)
def noise(run: Run) -> Iterator[Line]:
    splits = run.times(10, 20)
    for family, make in FAMILIES.items():
        if not run.wants(family):
            continue
        for name, n, column, X, y in list(uneven_sets(run))[:: 3 if run.brief else 1]:
            parts = {how: [] for how in ("constant", "auto")}
            for model, new in fitted(partial(make, "rbf"), X, y, n, splits):
                for how, found in parts.items():
                    found.append(by_fifths(model.set_params(noise=how), X[new], y[new], column))
            constant, auto = (np.mean(parts[how], axis=0) for how in parts)
            cells = f"{constant[2:].min():.3f}", f"{auto[2:].min():.3f}", f"{auto[2:].mean():.3f}"
            yield f"{family} | {name}, {n}", *cells, f"{auto[0] / constant[0]:.3f}", f"{auto[1] - constant[1]:+.3f}"
    yield (
        "Fifths of the inputs are along the column that the noise depends on, of boston and abalone by the prediction; "
        "a fifth's part inside is a mean over the splits. Width and log density (of normal errors with the predicted "
        'deviations, a row): noise="auto" against "constant".'
    )


def by_fifths(model: Any, X: Array, y: Array, column: int | None) -> list[float]:
    """Mean width, mean log density, and the part inside of each fifth of the rows."""
    lower, upper = model.predict_interval(X, COVERAGE)
    mean, std = model.predict(X, return_std=True)
    density = -0.5 * (np.log(2 * np.pi) + ((y - mean) / std) ** 2) - np.log(std)
    inside = (lower <= y) & (y <= upper)
    return [np.mean(upper - lower), density.mean(), *by_fifth(mean if column is None else X[:, column], inside)]


def by_fifth(values: Array, inside: Array) -> list[float]:
    """Part inside of each fifth of the rows in the order of these values."""
    place = np.argsort(np.argsort(values, kind="stable")) * 5 // len(values)
    return [inside[place == fifth].mean() for fifth in range(5)]


def hits(make: Callable[[], Any], X: Array, y: Array, n: int, splits: int) -> float:
    """Mean part of new rows inside."""
    parts = []
    for model, new in fitted(make, X, y, n, splits):
        lower, upper = model.predict_interval(X[new], COVERAGE)
        parts.append(np.mean((lower <= y[new]) & (y[new] <= upper)))
    return float(np.mean(parts))
