"""Choosing rows for kernels, and the settings of a stream beyond the papers: six data sets, one page each.

Times are CPU seconds of one thread, errors those of test rows, means over the seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import kernsift
import numpy as np
from measure.clock import timed
from measure.data import standardised
from sklearn.datasets import make_friedman1
from threadpoolctl import threadpool_limits

from .registry import Array, Head, Line, Run, table

SETS = ("covtype", "letter", "pendigits", "satimage", "abalone", "friedman1")
SEEDS = 3


def load(run: Run, name: str) -> tuple[Array, Array, Array, Array, bool, float]:
    """Training rows and targets, test rows and targets, whether they are classes, gamma."""
    classes = name not in ("friedman1", "abalone")
    if name == "friedman1":
        X, y = make_friedman1(12_500, noise=1.0, random_state=0)
        parts = X[:10_000], y[:10_000], X[10_000:], y[10_000:]
    else:
        data = run.load(name)
        if "X_train" in data:
            parts = data["X_train"].astype(float), data["y_train"], data["X_test"].astype(float), data["y_test"]
        else:
            X, y, forest = data["X"], data["y"], name == "covtype"
            kept = np.random.default_rng(0).permutation(len(X))[: 30_000 if forest else None]
            X, y = X[kept].astype(float), (y == 2 if forest else y)[kept]
            cut = 10_000 if forest else 4 * len(X) // 5
            parts = X[:cut], y[:cut], X[cut:], y[cut:]
    train, test = standardised(parts[0], parts[2])
    y, truth = parts[1], parts[3]
    if not classes:
        y, truth = (y - y.mean()) / y.std(), (truth - y.mean()) / y.std()
    width = {"covtype": 1.0, "letter": 4.0, "pendigits": 2.0, "satimage": 2.0}.get(name, 0.5)
    return train, y, test, truth, classes, width / train.shape[1]


Make = Callable[..., Any]  # of rows, kernels and a seed: settings of an estimator


def compare(
    run: Run, what: str, family: str, sizes: tuple[int, ...], settings: dict[str, Make], spread: bool
) -> Iterator[Line]:
    """A table a data set: the settings against the number of kernels."""
    seeds = range(run.times(SEEDS, SEEDS))
    for name in SETS:
        if not run.wants(name) or (run.brief and name not in ("abalone", "satimage")):
            continue
        X, y, test, truth, classes, gamma = load(run, name)
        kind = "error %" if classes else "RMSE (target's SD)"
        title = f"{name}: {len(X)} rows, {X.shape[1]} features, gamma {gamma:.3g}, {kind}"
        some = sizes[:1] if run.brief else sizes
        yield Head((what, *(f"m = {m}" for m in some)), title)
        make = getattr(kernsift, family + ("Classifier" if classes else "Regressor"))
        for label, choose in settings.items():
            cells = []
            for m in some:
                errors, spent, kernels = [], [], []
                for seed in seeds:
                    order = np.random.default_rng(seed).permutation(len(X)) if spread else slice(None)
                    model = make(gamma=gamma, max_basis=m, **choose(len(X), m, seed))
                    _, seconds = timed(partial(model.fit, X[order], y[order]), time.thread_time)
                    spent.append(seconds)
                    guess = model.predict(test)
                    wrong = 100 * np.mean(guess != truth) if classes else np.sqrt(np.mean((guess - truth) ** 2))
                    errors.append(wrong)
                    kernels.append(model.n_basis_)
                around = f" ± {np.std(errors):.1g}" if spread else ""
                fewer = f" (m {np.mean(kernels):.0f})" if min(kernels) < m and not spread else ""
                cells.append(f"{np.mean(errors):.{2 if classes else 3}f}{around} · {min(spent):.2f} s{fewer}")
            yield label, *cells


SELECTORS = ("random", "ald", "greedy", "rpcholesky", "efvs", "kmeans", "csi", "online", "orols", "qr", "pruned")
STREAMS: dict[str, Make] = {
    "swap for ever": lambda n, m, seed: {"exact_rows": 0, "swap_until": None},
    "frozen when full": lambda n, m, seed: {"exact_rows": 0, "swap_until": 1},
    "hysteresis 0.1": lambda n, m, seed: {"exact_rows": 0, "swap_until": None, "hysteresis": 0.1},
    "swap until 20 m": lambda n, m, seed: {"exact_rows": 0, "swap_until": min(20 * m, n // 2)},
    "exact on 500 rows": lambda n, m, seed: {"exact_rows": 500, "swap_until": None},
    "exact on 500 rows, swap until 20 m": lambda n, m, seed: {"exact_rows": 500, "swap_until": min(20 * m, n // 2)},
    "twice the kernels, pruned at the end": lambda n, m, seed: {"exact_rows": 0, "swap_until": None, "oversample": 2},
    "twice, exact on 500 rows, swap until 20 m": lambda n, m, seed: {
        "exact_rows": 500,
        "swap_until": min(40 * m, n // 2),
        "oversample": 2,
    },
}


@table("SELECTORS", "error and seconds of every selector", data=SETS[:-1], page="selectors", seeds="0 to 2")
def selectors(run: Run) -> Iterator[Line]:
    settings = {
        name: lambda n, m, seed, name=name: {"basis": name, "random_state": seed, "keep_path": False}
        for name in SELECTORS
    }
    with threadpool_limits(1):
        yield from compare(run, "selector", "SubsetLSSVM", (50, 100, 200, 400), settings, spread=False)


@table("STREAMS", "error and seconds of one pass", data=SETS[:-1], page="streams", seeds="orders 0 to 2")
def streams(run: Run) -> Iterator[Line]:
    with threadpool_limits(1):
        yield from compare(run, "settings", "OnlineLSSVM", (100, 300), STREAMS, spread=True)
