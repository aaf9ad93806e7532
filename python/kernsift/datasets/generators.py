"""Tables, streams and series that are drawn, each the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Array

Seed = int | np.random.Generator | None


def waves(n: int = 1000, *, noise: float = 0.3, random_state: Seed = 0) -> tuple[Array, Array]:
    """Draw a table of two features: y = sin 2a + cos ab and noise.

    Parameters
    ----------
    n : int, default=1000
    noise : float, default=0.3
        Standard deviation.
    random_state : int, Generator or None, default=0

    Returns
    -------
    X : ndarray of shape (n, 2)
        Uniform from -3 to 3.
    y : ndarray of shape (n,)

    Examples
    --------
    >>> from kernsift import LSSVMRegressor
    >>> from kernsift.datasets import waves
    >>> X, y = waves(500)
    >>> truth = waves(500, noise=0.0)[1]
    >>> model = LSSVMRegressor(gamma=0.5, alpha=0.3).fit(X, y)
    >>> bool(abs(model.predict(X) - truth).mean() < 0.15)
    True
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(2 * X[:, 0]) + np.cos(X[:, 0] * X[:, 1]) + noise * rng.standard_normal(n)


def uneven_noise(n: int = 400, *, random_state: Seed = 0) -> tuple[Array, Array]:
    """Draw a table of one feature: y = sin x with a standard deviation of 0.05 below 0 and 0.35 above.

    Parameters
    ----------
    n : int, default=400
    random_state : int, Generator or None, default=0

    Returns
    -------
    X : ndarray of shape (n, 1)
        Uniform from -3 to 3.
    y : ndarray of shape (n,)

    Examples
    --------
    >>> from kernsift import SubsetLSSVMRegressor
    >>> from kernsift.datasets import uneven_noise
    >>> model = SubsetLSSVMRegressor(random_state=0).fit(*uneven_noise())
    >>> model.noise_
    'input'
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + np.where(X[:, 0] > 0, 0.35, 0.05) * rng.standard_normal(n)


def houses(n: int = 2000, *, noise: float = 12.0, random_state: Seed = 0) -> tuple[NDArray[Any], Array]:
    """Draw a table with columns of several kinds: prices of flats in thousands.

    Old and new flats are dear, and high up with a lift only; the year is missing in a twentieth of the rows.

    Parameters
    ----------
    n : int, default=2000
    noise : float, default=12.0
        Standard deviation; with 0 the price by the rule.
    random_state : int, Generator or None, default=0

    Returns
    -------
    X : ndarray of objects, of shape (n, 5)
        Area in square metres, year of construction (NaN where missing), storey, lift (True or False), and place:
        "harbour", "hill", "mill" or "plain".
    y : ndarray of shape (n,)

    Examples
    --------
    >>> from kernsift import KernelRegressor
    >>> from kernsift.datasets import houses
    >>> X, y = houses(400)
    >>> model = KernelRegressor(random_state=0, settings={"categorical_features": [3, 4]}).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """
    rng = np.random.default_rng(random_state)
    area, year = rng.gamma(9, 14, n), rng.integers(1900, 2021, n)
    storey, lift = rng.integers(0, 9, n), rng.random(n) < 0.5
    place = rng.choice(["harbour", "hill", "mill", "plain"], n)
    worth = np.select([place == "harbour", place == "hill", place == "mill"], [2.2, 1.8, 1.1], 1.3)
    price = 40 + 1.1 * area * worth + 60 * ((year - 1965) / 55) ** 2 + storey * np.where(lift, 5.0, -6.0)
    y = price + noise * rng.standard_normal(n)
    X = np.empty((n, 5), dtype=object)
    for j, column in enumerate((area, year, storey, lift, place)):
        X[:, j] = column.tolist()
    X[rng.random(n) < 0.05, 1] = np.nan
    return X, y


def phase_jump(n: int = 6000, *, shift: float = 2.0, noise: float = 0.1, random_state: Seed = 0) -> tuple[Array, Array]:
    """Draw a stream of two features that changes half-way: y = sin(2a + phase) cos 1.5b, where the phase jumps.

    Parameters
    ----------
    n : int, default=6000
    shift : float, default=2.0
        The phase of the second half.
    noise : float, default=0.1
        Standard deviation.
    random_state : int, Generator or None, default=0

    Returns
    -------
    X : ndarray of shape (n, 2)
        Uniform from -2 to 2.
    y : ndarray of shape (n,)

    Examples
    --------
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.datasets import phase_jump
    >>> model = OnlineLSSVMRegressor(max_basis=60)
    >>> error = model.prequential(*phase_jump(3000)).error
    >>> bool(abs(error[1500:1600]).mean() > 3 * abs(error[-100:]).mean())
    True
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-2, 2, (n, 2))
    phase = np.where(np.arange(n) < n // 2, 0.0, shift)
    return X, np.sin(2 * X[:, 0] + phase) * np.cos(1.5 * X[:, 1]) + noise * rng.standard_normal(n)


def rotating_sine(n: int = 4000, *, noise: float = 0.1, random_state: Seed = 0) -> tuple[Array, Array]:
    """Draw a stream of two features that drifts slowly: a wave in the plane that turns once round.

    Parameters
    ----------
    n : int, default=4000
    noise : float, default=0.1
        Standard deviation.
    random_state : int, Generator or None, default=0

    Returns
    -------
    X : ndarray of shape (n, 2)
        Uniform from -2 to 2.
    y : ndarray of shape (n,)

    Examples
    --------
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.datasets import rotating_sine
    >>> model = OnlineLSSVMRegressor(max_basis=60)
    >>> bool(abs(model.prequential(*rotating_sine()).error[1000:]).mean() < 0.3)
    True
    """
    rng, angle = np.random.default_rng(random_state), 2 * np.pi * np.arange(n) / n
    X = rng.uniform(-2, 2, (n, 2))
    along = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    return X, np.sin(2 * along) + noise * rng.standard_normal(n)


def mackey_glass(n: int = 2000, *, delay: int = 17, noise: float = 0.0, random_state: Seed = 0) -> Array:
    """Draw the series of Mackey and Glass (1977): dx/dt = 0.2 x(t - delay) / (1 + x(t - delay)^10) - 0.1 x(t).

    Parameters
    ----------
    n : int, default=2000
        Values, a unit of time apart; Euler steps of 0.1.
    delay : int, default=17
        From 17 on the series is chaotic.
    noise : float, default=0.0
        Standard deviation of what is added to the values.
    random_state : int, Generator or None, default=0
        Of the values before the first, from which the series is determined, and of the noise.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from kernsift import OnlineLSSVMRegressor, lag_embed
    >>> from kernsift.datasets import mackey_glass
    >>> X, y = lag_embed(mackey_glass(1500), [0, 6, 12, 18], horizon=6)
    >>> error = OnlineLSSVMRegressor(max_basis=60).prequential(X, y, delay=5).error
    >>> bool(abs(error[-200:]).mean() < 0.05)
    True
    """
    rng = np.random.default_rng(random_state)
    path = _delayed(rng, 10 * (n + 300), delay=10 * delay, later=10 * delay, step=0.1)
    return path[-10 * n :: 10] + noise * rng.standard_normal(n)


def mackey_glass_drift(n: int = 4000, *, random_state: Seed = 0) -> tuple[Array, Array]:
    """Draw a stream of readings of a Mackey-Glass series whose delay becomes longer half-way, 30 instead of 17.

    Parameters
    ----------
    n : int, default=4000
    random_state : int, Generator or None, default=0

    Returns
    -------
    X : ndarray of shape (n, 6)
        The present reading and those 6, 12, ..., 30 steps before.
    y : ndarray of shape (n,)
        The reading twelve steps ahead.

    Examples
    --------
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.datasets import mackey_glass_drift
    >>> X, y = mackey_glass_drift(2000)
    >>> error = OnlineLSSVMRegressor(max_basis=60).prequential(X, y).error
    >>> bool(abs(error[500:]).mean() < 0.25 * y.std())
    True
    """
    rng, lags, ahead = np.random.default_rng(random_state), 6, 12
    length = n + lags * lags + ahead
    path = _delayed(rng, length, delay=17, later=30, step=1.0)
    series = path[-length:] + 0.02 * rng.standard_normal(length)
    now = np.arange((lags - 1) * lags, length - ahead)[:n]
    return np.column_stack([series[now - j * lags] for j in range(lags)]), series[now + ahead]


def _delayed(rng: np.random.Generator, steps: int, *, delay: int, later: int, step: float) -> Array:
    """The equation of Mackey and Glass in Euler steps, after 400 drawn values; half-way the delay is the later one."""
    path = (1.2 + 0.1 * rng.standard_normal(400)).tolist()
    for t in range(steps):
        late = path[-1 - (delay if t < steps // 2 else later)]
        path.append(path[-1] + 0.2 * step * late / (1 + late**10) - 0.1 * step * path[-1])
    return np.array(path)


def electric_load(days: int = 150, *, noise: float = 0.1, random_state: Seed = 0) -> Array:
    """Draw an hourly load: a daily wave with two peaks, smaller at weekends, and weather that wanders.

    Parameters
    ----------
    days : int, default=150
        The first is a Monday.
    noise : float, default=0.1
        Standard deviation.
    random_state : int, Generator or None, default=0

    Returns
    -------
    ndarray of shape (24 * days,)

    Examples
    --------
    >>> from kernsift.datasets import electric_load
    >>> from kernsift.forecast import KernelForecaster
    >>> load = electric_load(40)
    >>> model = KernelForecaster(lags=[0, 1, 23, 24, 167], horizons=1).fit(load[:-1])
    >>> bool(abs(model.predict()[0] - load[-1]) < 0.5)
    True
    """
    rng, hours = np.random.default_rng(random_state), np.arange(24 * days)
    daily, weekend = 2 * np.pi * hours / 24, (hours // 24) % 7 >= 5
    weather = np.zeros(len(hours))
    for i in range(1, len(hours)):
        weather[i] = 0.98 * weather[i - 1] + 0.05 * rng.standard_normal()
    wave = np.maximum(np.sin(daily - 1.5), 0) + 0.6 * np.maximum(np.sin(2 * daily), 0)
    return np.where(weekend, 0.5, 1.0) * wave + weather + noise * rng.standard_normal(len(hours))
