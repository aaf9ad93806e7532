"""The demonstration behind ``python -m kernsift demo``: a stream that changes half-way.

Every number printed is computed here, on this machine, in this run. Each learner sees the same blocks in the
same order and predicts a block before it learns it, and the settings of each are chosen in the same way: the
best of a small grid on the first tenth of the stream, which is then left out of the reported errors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from kernsift import OnlineLSSVMRegressor

from ..base.arrays import Array
from ..base.progress import plain_bar as _plain_bar  # noqa: F401
from ..base.progress import progress

Tick = Callable[[int], None]

LAGS = 6  # values of the series that make one input
BLOCK = 50  # rows predicted, then learned, at a time
CAP = 200  # kernels we may keep, and random features the SGD rival gets
WINDOW = 2000  # rows the kernel ridge rival can afford to keep ...
REFIT = 500  # ... and how often it is refitted on them
WIDTHS = (0.5, 1.0, 2.0)  # gamma times the number of inputs, tried for every learner


def series(n: int, seed: int) -> Array:
    """Mackey-Glass series of `n` noisy readings whose gain rises from 0.2 to 0.3 at ``n // 2``.

    dx/dt = gain x(t-17) / (1 + x(t-17)^10) - 0.1 x(t), Euler steps of 0.5, one reading every 6 units of time.
    """
    step, delay, per_reading, burn_in = 0.5, 34, 12, 100
    rng = np.random.default_rng(seed)
    path = list(1.2 + 0.2 * rng.standard_normal(delay + 1))
    readings = np.empty(n)
    for i in range(-burn_in, n):
        gain = 0.2 if i < n // 2 else 0.3
        for _ in range(per_reading):
            late = path[-delay - 1]
            path.append(path[-1] + step * (gain * late / (1 + late**10) - 0.1 * path[-1]))
        if i >= 0:
            readings[i] = path[-1]
    return readings + 0.02 * readings[: n // 2].std() * rng.standard_normal(n)


def stream(n: int, seed: int) -> tuple[Array, Array]:
    """`n` rows (the last `LAGS` readings, the next one), on the scale of the first tenth."""
    x = series(n + LAGS, seed)
    head = x[: n // 10]
    x = (x - head.mean()) / head.std()
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(x, LAGS)[:n]), x[LAGS:]


class Learner:
    """A learner in the race: a model, and the inputs that it wants."""

    grid: dict[str, list[float]]
    model: Any

    def inputs(self, X: Array) -> Array:
        return X

    def predict(self, X: Array) -> Array:
        return self.model.predict(self.inputs(X))

    def learn(self, X: Array, y: Array) -> None:
        self.model.partial_fit(self.inputs(X), y)

    def size(self) -> int:
        return CAP


class Kernsift(Learner):
    """Ours: one estimator, one `partial_fit` a block."""

    grid = {"gamma": [w / LAGS for w in WIDTHS], "usefulness_tol": [1e-6, 1e-4]}

    def __init__(self, seed: int, **settings: Any) -> None:
        self.model = OnlineLSSVMRegressor(max_basis=CAP, random_state=seed, **settings)

    def size(self) -> int:
        return int(self.model.n_basis_)


class KernsiftOneMemory(Kernsift):
    """The papers' model: one memory, which forgets nothing, and kernels alone."""

    def __init__(self, seed: int, **settings: Any) -> None:
        super().__init__(seed, forgetting=1.0, linear=False, **settings)


class RandomFeaturesSGD(Learner):
    """scikit-learn's own answer for streams: random Fourier features and a linear model by gradient steps.

    The step is constant: scikit-learn's default, a vanishing one, could not follow a change.
    """

    grid = {"gamma": [w / LAGS for w in WIDTHS], "eta0": [0.01, 0.03, 0.1, 0.3, 1.0]}

    def __init__(self, seed: int, gamma: float, eta0: float) -> None:
        # RBFSampler draws its features from the number of columns alone; no row is needed.
        self.features = RBFSampler(gamma=gamma, n_components=CAP, random_state=seed).fit(np.zeros((1, LAGS)))
        self.model = SGDRegressor(alpha=1e-6, learning_rate="constant", eta0=eta0, random_state=seed)

    def inputs(self, X: Array) -> Array:
        return self.features.transform(X)


class WindowedKernelRidge(Learner):
    """The dense machine on what fits: the last `WINDOW` rows, fitted anew every `REFIT` rows."""

    grid = {"gamma": [w / LAGS for w in WIDTHS], "alpha": [0.01, 0.1, 1.0]}

    def __init__(self, seed: int, gamma: float, alpha: float) -> None:
        self.model = KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha)
        self.X, self.y = np.empty((0, LAGS)), np.empty(0)
        self.since = REFIT

    def learn(self, X: Array, y: Array) -> None:
        self.X = np.concatenate([self.X, X])[-WINDOW:]
        self.y = np.concatenate([self.y, y])[-WINDOW:]
        self.since += len(y)
        if self.since >= REFIT:
            self.model.fit(self.X, self.y)
            self.since = 0

    def size(self) -> int:
        return len(self.model.X_fit_)


CONTENDERS: dict[str, type[Any]] = {
    "kernsift OnlineLSSVMRegressor": Kernsift,
    "kernsift, forgets nothing": KernsiftOneMemory,
    "RBFSampler + SGDRegressor": RandomFeaturesSGD,
    "KernelRidge, last rows": WindowedKernelRidge,
}


@dataclass
class Run:
    """One learner's way through the stream."""

    name: str
    settings: dict[str, float]
    error: Array
    sizes: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def rmse(self, start: int, stop: int) -> float:
        """Root mean square of the a-priori errors of rows ``start:stop``."""
        return math.sqrt(float(np.mean(self.error[start:stop] ** 2)))


def race(name: str, learner: Learner, settings: dict[str, float], X: Array, y: Array, tick: Tick) -> Run:
    """Predict each block, then learn it. The first block only teaches: its errors stay NaN."""
    run = Run(name, settings, np.full(len(y), np.nan))
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        begin = time.perf_counter()
        if start:
            run.error[rows] = learner.predict(X[rows]) - y[rows]
        learner.learn(X[rows], y[rows])
        run.seconds += time.perf_counter() - begin
        run.sizes.append(learner.size())
        tick(len(y[rows]))
    return run


def grid_points(contender: type[Any]) -> list[dict[str, float]]:
    """Every combination of the contender's settings."""
    return list(ParameterGrid(contender.grid))


def choose(contender: type[Any], seed: int, X: Array, y: Array, tick: Tick) -> dict[str, float]:
    """Settings with the smallest a-priori error on the second half of these rows."""

    def score(settings: dict[str, float]) -> float:
        return race("", contender(seed, **settings), settings, X, y, tick).rmse(len(y) // 2, len(y))

    return min(grid_points(contender), key=score)


def run_demo(rows: int, seed: int) -> list[Run]:
    """Run every contender over the stream of `rows` rows."""
    X, y = stream(rows, seed)
    head = rows // 10
    total = sum(head * len(grid_points(contender)) + rows for contender in CONTENDERS.values())
    runs = []
    # One thread each: more would compare how a machine is loaded, not the learners.
    with threadpool_limits(1), progress(total) as advance:
        for name, contender in CONTENDERS.items():
            tick = partial(advance, name)
            settings = choose(contender, seed, X[:head], y[:head], tick)
            runs.append(race(name, contender(seed, **settings), settings, X, y, tick))
    return runs


def report(runs: list[Run]) -> str:
    """The table, with what a reader needs to judge it."""
    n = len(runs[0].error)
    head, half = n // 10, n // 2
    spans = {"before": (head, half), "just after": (half, half + head), "last tenth": (n - head, n)}
    lines = [
        f"{n} rows of a Mackey-Glass series: {LAGS} readings in, the next one out. "
        f"Its gain rises from 0.2 to 0.3 at row {half}.",
        f"Each block of {BLOCK} rows is predicted, then learned. "
        f"Errors are RMSE, in standard deviations of the first {head} rows.",
        "",
        f"{'':<30}" + "".join(f"{label:>12}" for label in spans) + f"{'kernels':>10}{'rows/s':>10}",
    ]
    for run in runs:
        errors = "".join(f"{run.rmse(*span):>12.4f}" for span in spans.values())
        lines.append(f"{run.name:<30}{errors}{run.sizes[-1]:>10}{n / run.seconds:>10.0f}")
    lines += [
        "",
        f"'just after' is the tenth of the stream that follows the change. "
        f"The kernels of SGD are {CAP} random features;",
        f"KernelRidge is refitted every {REFIT} rows on the last {WINDOW}. "
        "rows/s counts predicting and learning, on one thread.",
        f"Settings, each the best of its grid on the first {head} rows (not counted above):",
    ]
    for run in runs:
        lines.append(f"  {run.name:<30}" + ", ".join(f"{k}={v:.3g}" for k, v in run.settings.items()))
    return "\n".join(lines)


def plot(runs: list[Run], path: Path) -> None:
    """Running error of each learner over the size of its model, as a picture file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n = len(runs[0].error)
    width = max(n // 40, BLOCK)
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)  # no window system, and the caller's own matplotlib state stays as it is
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    for run, style in zip(runs, ("-", "-.", "--", ":"), strict=True):
        square = np.concatenate([[0.0], np.cumsum(np.nan_to_num(run.error) ** 2)])
        at = np.arange(width + BLOCK, n + 1)  # the first block has no errors
        above.plot(at, np.sqrt((square[at] - square[at - width]) / width), style, label=run.name)
        below.plot(np.arange(len(run.sizes)) * BLOCK, run.sizes, style)
    for axes in (above, below):
        axes.axvline(n // 2, color="grey", linewidth=0.8)
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
    above.set_ylabel(f"RMSE of the last {width} rows")
    above.set_title("Predict, then learn: a Mackey-Glass series whose gain changes half-way")
    above.legend()
    below.set_ylabel("kernels kept")
    below.set_xlabel("row")
    figure.savefig(path, dpi=110)
