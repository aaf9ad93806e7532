"""What a forecaster is given: values and exogenous rows with or without labels, and the requested steps."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError

from ..base.arrays import Array
from ..base.estimator import Estimator
from ..base.kernel import parameter, parameters
from ..base.validation import as_targets, check_array, did_you_mean
from ..stream.online import OnlineLSSVMRegressor
from .clock import Clock


@parameters
class ForecastParameters(Estimator):
    """Parameters of the forecaster."""

    lags: int | Iterable[int] = parameter(Integral, "array-like", default=12)
    horizons: int | Iterable[int] = parameter(Integral, "array-like", default=1)
    strategy: Literal["auto", "direct", "recursive"] = parameter({"auto", "direct", "recursive"}, default="auto")
    difference: bool | Literal["auto"] = parameter("boolean", {"auto"}, default="auto")
    freq: str | None = parameter(str, None, default=None)
    estimator: OnlineLSSVMRegressor | None = parameter(OnlineLSSVMRegressor, None, default=None)


class Given(ForecastParameters):
    """Reading what a forecaster is given."""

    models_: list[Any]
    horizons_: list[int]
    _clock: Clock | None
    _n_outside: int
    _names: list[str] | None

    def _fitted(self) -> None:
        if not hasattr(self, "models_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")

    def _given(self, y: Any, X: Any, begin: bool = False) -> tuple[Array, Array, Clock | None]:
        """Values, exogenous rows, and the clock after them; missing steps are NaN."""
        index: Any = getattr(y, "index", None)
        values = check_array(
            np.atleast_1d(y), dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y"
        )
        if values.ndim != 1:
            raise ValueError(f"y has shape {values.shape}: give one series, (n,)")
        as_targets(np.where(np.isfinite(values), values, 0.0))  # refuses what cannot be squared
        rows = self._exogenous(X, len(values), begin)
        if begin:
            clock = Clock.of(index, self.freq)
            if clock is None:
                return values, rows, None
            clock = Clock(str(index[0]), clock.step, clock.periods).moved(-1)
        else:
            clock = self._clock
            if clock is None or callable(index) or index is None:
                return values, rows, None if clock is None else clock.moved(len(values))
        places = clock.places(index)
        whole, outside = np.full(places[-1], np.nan), np.zeros((places[-1], rows.shape[1]))
        at = np.array(places) - 1
        whole[at], outside[at] = values, rows
        if rows.shape[1] and len(at) < len(whole):
            raise ValueError(f"X has no values for the step {clock.at(int(np.flatnonzero(np.isnan(whole))[0]) + 1)!s}")
        return whole, outside, clock.moved(places[-1])

    def _exogenous(self, X: Any, n: int, begin: bool = False) -> Array:
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        rows = np.zeros((n, 0))
        if X is not None:
            values = check_array(np.atleast_2d(X) if n == 1 else X, dtype=np.float64, input_name="X")
            rows = values
        if begin:
            self._n_outside, self._names = rows.shape[1], names
        elif rows.shape[1] != self._n_outside:
            raise ValueError(f"X has {rows.shape[1]} exogenous columns and the forecaster learned {self._n_outside}")
        elif names is not None and self._names is not None and names != self._names:
            other = next(a for a, b in zip(names, self._names, strict=True) if a != b)
            hint = did_you_mean(other, self._names)
            raise ValueError(f"X has the column {other!r}{hint}: give {', '.join(self._names)} in this order")
        if len(rows) != n:
            raise ValueError(f"X has {len(rows)} rows and y has {n}")
        return rows

    def _asked(self, horizons: Any, X: Any) -> tuple[list[int], Array]:
        """Steps to forecast, and exogenous values of all steps up to the last."""
        self._fitted()
        steps = self.horizons_ if horizons is None else steps_of(horizons, "horizons", alone=True)
        furthest = max(steps)
        if X is None and self._n_outside:
            raise ValueError(f"the forecaster learned {self._n_outside} exogenous columns: give X of the next steps")
        if X is not None and self._clock is not None and hasattr(X, "loc"):
            for h in range(1, furthest + 1):
                if self._clock.at(h) not in X.index:
                    raise ValueError(f"X has no row for {self._clock.at(h)!s}, {h} steps ahead")
            X = X.loc[self._clock.future(list(range(1, furthest + 1)))]
        given = furthest if X is None else min(len(X), furthest)
        rows = self._exogenous(None if X is None else X[:furthest], given)
        if len(rows) < furthest:
            raise ValueError(f"X has {len(rows)} rows and the forecast is {furthest} steps ahead: give one a step")
        return steps, rows

    def _labelled(self, values: Array, steps: list[int]) -> Any:
        if self._clock is None:
            return values
        import pandas

        return pandas.Series(values, index=self._clock.future(steps))


def steps_of(horizons: Any, what: str, alone: bool = False) -> list[int]:
    """Steps ahead as a list: 1 to a number, or `alone` that number, or those given."""
    one = isinstance(horizons, Integral) and not isinstance(horizons, bool)
    given = ([int(horizons)] if alone else list(range(1, int(horizons) + 1))) if one else horizons
    values = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    if not values or not all(isinstance(h, Integral) and int(h) >= 1 for h in values):
        raise ValueError(f"{what}={horizons!r} must be a number of steps ahead, 1 or more, or several")
    return sorted({int(h) for h in values}) if not alone else [int(h) for h in values]
