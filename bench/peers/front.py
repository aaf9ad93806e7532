"""The race of the front page: error over a stream that drifts, and what a row costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise

import kernsift
import numpy as np
from kernsift.datasets import mackey_glass_drift
from measure import page

from . import drift_rivals
from .measures import Array
from .tracks import KERNELS, followed_by

TITLE = "The front page: one stream with drift"
ABOUT = """Six readings of a Mackey-Glass series, and the one twelve steps ahead; half-way the equation's delay becomes
longer. Each row is predicted, then learned. Ours is the default model with 100 kernels and raw columns; river's
adaptive random forest has its own settings behind a `StandardScaler`. LightGBM and KernelRidge are fitted again every
100 rows on a window, with columns in standard deviations of the whole stream and the settings that are best for it in
hindsight. A line holds RMSE over the rows up to its first column, in standard deviations of the target; the first line
is microseconds of CPU time a row. The front page's picture is drawn from this table."""
ROWS = {"quick": 600, "default": 8000, "full": 8000}
PARTS = 40

Followed = tuple[float, Array]  # microseconds a row, predictions


def ours(X: Array, y: Array) -> Followed:
    begin = time.process_time()
    predicted = kernsift.OnlineLSSVMRegressor(max_basis=KERNELS).prequential(X, y).y_pred
    return 1e6 * (time.process_time() - begin) / len(y), predicted


def river_forest(X: Array, y: Array) -> Followed:
    from river import forest, preprocessing

    spent, predicted = followed_by(preprocessing.StandardScaler() | forest.ARFRegressor(seed=0), X, y)
    return spent, np.array(predicted)


def contenders() -> dict[str, Callable[[Array, Array], Followed]]:
    found: dict[str, Callable[[Array, Array], Followed]] = {"kernsift, default": ours}
    if find_spec("river"):
        found["river, adaptive forest"] = river_forest
    for name in ("LightGBM, window", "KernelRidge, window"):
        if name.startswith("Kernel") or find_spec("lightgbm"):
            found[name] = lambda X, y, name=name: drift_rivals.tuned(name, X, y)[1:]
    return found


def table(mode: str, rounds: int) -> Iterator[str]:
    """The lines of the page, as they become known."""
    X, y = mackey_glass_drift(ROWS[mode])
    runs = {name: follow(X, y) for name, follow in contenders().items()}
    yield from page.head(("rows", *runs))
    yield page.row(("µs a row", *(f"{spent:.0f}" for spent, _ in runs.values())))
    ends = np.linspace(0, len(y), PARTS + 1).astype(int)
    for begin, end in pairwise(ends.tolist()):
        part = slice(begin, end)
        errors = (np.sqrt(np.mean((predicted[part] - y[part]) ** 2)) / y.std() for _, predicted in runs.values())
        yield page.row((str(end), *(f"{error:.4f}" for error in errors)))
