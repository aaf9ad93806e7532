"""What part of new rows intervals contain: every family of tables, three kernels, ten tables, few rows and many."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import kernsift
import numpy as np
from sklearn import datasets

from .registry import Array, Line, Run, table

COVERAGE = 0.9
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
        archive = run.load(name)
        yield name, archive["X"].astype(float), archive["y"].astype(float)


@table(
    "COVERAGE",
    "part of new rows inside intervals of nominal 90 %: lowest and highest of ten tables and three kernels",
    "family | 50 rows | 200 rows | 2000 rows",
    page="coverage",
    data=("boston", "abalone"),
    seeds="0 to one less than the splits",
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
                (hits(make(kernel), X, y, n, times), f"{name}, {kernel}")
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


def hits(model: Any, X: Array, y: Array, n: int, splits: int) -> float:
    """Mean part of new rows inside."""
    parts = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(X))
        train, new = order[:n], order[n : n + 1000]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scales of columns
            lower, upper = model.fit(X[train], y[train]).predict_interval(X[new], COVERAGE)
        parts.append(np.mean((lower <= y[new]) & (y[new] <= upper)))
    return float(np.mean(parts))
