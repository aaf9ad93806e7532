"""The forecaster as one of river's, beside its SNARIMAX and Holt-Winters: ``pip install 'kernsift[river]'``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..base.arrays import Array
from ..base.optional import optional
from .forecaster import KernelForecaster as _Forecaster

base: Any = optional("river.time_series.base", "kernsift.forecast.river", "river")

__all__ = ["KernelForecaster"]

Row = Mapping[Any, float]


class KernelForecaster(base.Forecaster):
    """Forecasts that go on learning, as a forecaster of river's; see :class:`kernsift.forecast.KernelForecaster`.

    One model of the next value takes its own forecasts for values further ahead, any number of steps.

    Parameters
    ----------
    lags, difference
        As in :class:`kernsift.forecast.KernelForecaster`.

    Examples
    --------
    >>> from kernsift.datasets import air_passengers
    >>> from kernsift.forecast.river import KernelForecaster
    >>> y = air_passengers()
    >>> model = KernelForecaster(lags=13)
    >>> for value in y[:-3]:
    ...     model.learn_one(value)
    >>> bool((abs(model.forecast(3) / y[-3:] - 1) < 0.1).all())
    True
    """

    def __init__(self, lags: int | Iterable[int] = 12, difference: bool | str = "auto") -> None:
        self.lags, self.difference = lags, difference
        self._model: _Forecaster | None = None
        self._names: list[Any] = []
        self._last = 0.0

    def learn_one(self, y: float, x: Row | None = None) -> None:
        """Learn the next value, NaN where it is missing, and features of that moment: those that begin as numbers."""
        if self._model is None:
            names = [name for name, value in (x or {}).items() if isinstance(value, Real)]
            made = _Forecaster(lags=self.lags, strategy="recursive", difference=self.difference)  # type: ignore[arg-type]
            self._model, self._names = made.fit([y], self._rows(names, x)), names
        else:
            self._model.update(y, self._rows(self._names, x))
        self._last = y if y == y else self._last

    def forecast(self, horizon: int, xs: Sequence[Row] | None = None) -> list[float]:
        """Forecast the next values, given the features of each step; repeat the last value until a model has begun."""
        if self._model is None or not self._model._begun:
            return [self._last] * horizon
        if self._names and len(xs or ()) != horizon:
            raise ValueError(f"xs must hold the features {self._names} of each of the {horizon} steps ahead")
        said: list[float] = self._model.predict(range(1, horizon + 1), self._rows(self._names, *(xs or ()))).tolist()
        return said

    @staticmethod
    def _rows(names: list[Any], *xs: Row | None) -> Array | None:
        """The features of some moments, (moments, features); None where there are none."""
        for name in names:
            if any(name not in (x or {}) for x in xs):
                raise ValueError(f"x has no feature {name!r}, which the first row had: give it with every value")
        return np.array([[float((x or {})[name]) for name in names] for x in xs]) if names else None
