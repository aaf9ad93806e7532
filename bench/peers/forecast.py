"""Forecasts of series one to six steps ahead, walked forward: error, and time an update."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from kernsift import datasets
from kernsift.forecast import KernelForecaster
from measure import page

from .measures import Array

TITLE = "Forecasts: a series one to six steps ahead"
ABOUT = """The first values are learned; from there each value is forecast one to six steps ahead, then learned. A cell
is the mean absolute error over the six steps, of the first step alone, and milliseconds of CPU time an update with its
forecasts; errors are in units of the error of the seasonal naive forecast one step ahead on the first values. Ours is
the default `KernelForecaster`. AutoARIMA, AutoETS and AutoTheta (statsforecast) know the season; they choose a model
again every 50 values (500 of the long series), between which they filter the new values. LightGBM in skforecast's
`ForecasterRecursive`, on the lags that ours has, is fitted again every 20 values. Passengers, sunspots and the Nile are
of the world, load and Mackey-Glass (noise .02) are drawn (`kernsift.datasets`). Rivals that are not installed are left
out: `pip install statsforecast skforecast lightgbm`, in an environment of their own where they would change numpy."""
STEPS = 6

Walk = Callable[["Series"], tuple[Array, float]]  # forecasts (values, steps), seconds


@dataclass
class Series:
    """A series, how many of its values are walked, its lags and its season."""

    values: Array
    walked: int
    lags: list[int]
    season: int = 1

    @property
    def ends(self) -> range:
        """Numbers of values known, a forecast each."""
        return range(len(self.values) - self.walked, len(self.values) - STEPS + 1)


def series(mode: str) -> dict[str, Series]:
    few = mode == "quick"
    found = {
        "air passengers": Series(datasets.air_passengers(), 72, list(range(13)), 12),
        "sunspots": Series(datasets.sunspots(), 159, list(range(12))),
        "Nile": Series(datasets.nile(), 50, list(range(12))),
        "load": Series(datasets.electric_load(60), 480, [0, 1, 2, 22, 23, 24, 166, 167], 24),
        "Mackey-Glass": Series(datasets.mackey_glass(1500, noise=0.02), 500, [0, 1, 2, 6, 12, 18]),
    }
    return {"Nile": Series(datasets.nile(), 20, list(range(3)))} if few else found


def error(one: Series, said: Array) -> tuple[float, float]:
    """Mean absolute error over all steps, and of the first, in units of the naive one."""
    y, first = one.values, one.ends[0]
    off = np.abs(said - np.array([y[end : end + STEPS] for end in one.ends]))
    naive = np.abs(y[one.season : first] - y[: first - one.season]).mean()
    return off.mean() / naive, off[:, 0].mean() / naive


def walk(one: Series, forecast: Callable[[int, Array], Array]) -> tuple[Array, float]:
    """Forecasts by a function of the number of the step and the values so far; seconds of CPU time."""
    begin = time.process_time()
    said = np.array([forecast(k, one.values[:end]) for k, end in enumerate(one.ends)])
    return said, time.process_time() - begin


def ours(one: Series) -> tuple[Array, float]:
    model = KernelForecaster(lags=one.lags, horizons=STEPS).fit(one.values[: one.ends[0]])
    return walk(one, lambda k, y: (model if k == 0 else model.update(y[-1])).predict())


def naive(one: Series) -> tuple[Array, float]:
    """The value of the last season."""
    return walk(one, lambda k, y: np.resize(y[-one.season :], STEPS))


def statsforecast(name: str) -> Walk:
    def follow(one: Series) -> tuple[Array, float]:
        from statsforecast import models

        every = 50 if len(one.values) < 500 else 500
        make = getattr(models, name)
        make(season_length=one.season).forecast(one.values[: one.ends[0]], h=STEPS)  # compiles
        model = None

        def forecast(k: int, y: Array) -> Array:
            nonlocal model
            if k % every:
                return model.forward(y, h=STEPS)["mean"]
            model = make(season_length=one.season).fit(y)
            return model.predict(h=STEPS)["mean"]

        return walk(one, forecast)

    return follow


def lightgbm(one: Series) -> tuple[Array, float]:
    import pandas
    from lightgbm import LGBMRegressor
    from skforecast.recursive import ForecasterRecursive

    trees = LGBMRegressor(verbose=-1, n_jobs=1, min_child_samples=5)
    model = ForecasterRecursive(estimator=trees, lags=[lag + 1 for lag in one.lags])  # lag 1 is the present there

    def forecast(k: int, y: Array) -> Array:
        known = pandas.Series(y)
        if k % 20 == 0:
            model.fit(known)
        return model.predict(steps=STEPS, last_window=known.iloc[-max(one.lags) - 1 :]).to_numpy()

    return walk(one, forecast)


def contenders() -> dict[str, Walk]:
    found: dict[str, Walk] = {"kernsift, default": ours, "seasonal naive": naive}
    if find_spec("statsforecast"):
        found |= {name: statsforecast(name) for name in ("AutoARIMA", "AutoETS", "AutoTheta")}
    if find_spec("skforecast") and find_spec("lightgbm"):
        found["skforecast, LightGBM"] = lightgbm
    return found


def table(mode: str, rounds: int) -> Iterator[str]:
    """The lines of the page, as they become known."""
    names = contenders()
    yield from page.head(("series", "values", "walked", *names))
    for name, one in series(mode).items():
        cells = []
        for follow in names.values():
            said, seconds = follow(one)
            every, first = error(one, said)
            cells.append(f"{every:.3f}, {first:.3f} ({1e3 * seconds / len(one.ends):.2g})")
        yield page.row((name, str(len(one.values)), str(one.walked), *cells))
