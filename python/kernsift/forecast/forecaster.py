"""A forecaster: streams on the lags of a series, one for each horizon or one for all."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ..base.arrays import Array
from ..base.estimator import Estimator
from ..base.kernel import parameter, parameters
from ..base.left_out import check_coverage
from ..base.validation import check_array, did_you_mean, transaction
from ..stream.lags import checked_lags
from ..stream.online import OnlineLSSVMRegressor
from .clock import Clock

# Errors of recursive forecasts kept for each horizon.
_ERRORS = 500


@parameters
class ForecastParameters(Estimator):
    """Parameters of the forecaster."""

    lags: Any = parameter(Integral, "array-like", default=12)
    horizons: Any = parameter(Integral, "array-like", default=1)
    strategy: str = parameter({"direct", "recursive"}, default="direct")
    difference: bool = parameter("boolean", default=False)
    freq: str | None = parameter(str, None, default=None)
    estimator: Any = parameter(OnlineLSSVMRegressor, None, default=None)


class KernelForecaster(ForecastParameters):
    """Forecasts of a series some steps ahead, which go on learning with every value.

    Rows of past values, and of exogenous columns at the moment of the target, go to
    :class:`~kernsift.OnlineLSSVMRegressor`, which finds its widths and follows drift by itself.

    Parameters
    ----------
    lags : int or iterable of ints, default=12
        So many recent values, 0, 1, ..., lags - 1 before the present; or these lags (0 is the present).
    horizons : int or iterable of ints, default=1
        Steps ahead, 1 to a number or these.
    strategy : {"direct", "recursive"}, default="direct"
        A model for each horizon, or one for the next value, which takes its own forecasts for values further ahead.
    difference : bool, default=False
        Lags and target less the present value: for series whose level wanders.
    freq : str, optional
        Step of an index of timestamps that does not say it, as pandas writes it; missing steps are then missing values.
    estimator : OnlineLSSVMRegressor or KRLSRegressor, optional
        With settings of its own; not changed.

    Attributes
    ----------
    models_ : list of estimator
        One a horizon, or the one of "recursive".
    horizons_ : list of int
    n_seen_ : int
        Steps of the series so far, missing ones included.

    Notes
    -----
    A missing value (NaN, or a step that an index leaves out) is no target; where it is a lag its forecast stands in.
    A forecast is of what came before: a model for h steps ahead learns a row when its target is there.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.forecast import KernelForecaster
    >>> t = np.arange(600)
    >>> y = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 7)
    >>> model = KernelForecaster(lags=24, horizons=3).fit(y[:500])
    >>> bool(np.abs(model.predict() - y[500:503]).max() < 0.1)
    True
    >>> model = model.update(y[500])  # the next value
    >>> lower, upper = model.predict_interval([1, 2], coverage=0.9)
    >>> bool((lower <= upper).all()), model.n_seen_
    (True, 501)
    """

    models_: list[Any]
    horizons_: list[int]
    n_seen_: int

    # --- learning ---

    def fit(self, y: ArrayLike, X: ArrayLike | None = None) -> Self:
        """Learn a series from its beginning.

        Parameters
        ----------
        y : array-like of shape (n,)
            Values in the order of time, NaN where missing; a series of pandas keeps its index.
        X : array-like of shape (n, n_columns), optional
            Exogenous values at the same moments, which must be known ahead to forecast.
        """
        self._validate_params()
        with transaction(self) as new:
            new.horizons_ = _steps(self.horizons, "horizons")
            new._lags = checked_lags(self.lags)
            if self.difference and 0 in new._lags:
                new._lags = new._lags[new._lags > 0]
                if not len(new._lags):
                    raise ValueError("difference=True takes the present value from the others: give lags beyond 0")
            model = OnlineLSSVMRegressor() if self.estimator is None else self.estimator
            new._ahead = [1] if self.strategy == "recursive" else new.horizons_
            new.models_ = [clone(model) for _ in new._ahead]
            new._past, new.n_seen_ = np.empty(0), 0
            new._errors = [[] for _ in new.horizons_]
            new._said = []
            new._clock = None
            values, rows, clock = new._given(y, X, begin=True)
            new._begin(values, rows)
            new._clock = clock
        return self

    def update(self, y: Any, X: Any = None) -> Self:
        """Learn the next value, or the next values.

        Parameters
        ----------
        y : float, or array-like of shape (n,)
            NaN where missing.  Of a series with an index the next moments; those left out are missing.
        X : array-like of shape (n_columns,) or (n, n_columns), optional
            Exogenous values at the same moments.
        """
        self._fitted()
        with transaction(self) as new:
            new.models_, new._errors = list(self.models_), [list(errors) for errors in self._errors]
            for k, model in enumerate(self.models_):
                with transaction(model) as copied:  # what an error leaves behind is a copy
                    new.models_[k] = copied
            values, rows, clock = new._given(y, X)
            for value, row in zip(values, rows, strict=True):
                new._step(float(value), row)
            new._clock = clock
        return self

    def _begin(self, values: Array, rows: Array) -> None:
        """Learn a whole series: in blocks where no forecast of its own is needed on the way."""
        longest = int(self._lags.max())
        if np.isnan(values).any() or self.strategy == "recursive":
            for value, row in zip(values, rows, strict=True):
                self._step(float(value), row)
            return
        for model, h in zip(self.models_, self._ahead, strict=True):
            n = len(values) - longest - h
            if n < 1:
                continue
            lagged = np.stack([values[longest - lag : longest - lag + n] for lag in self._lags.tolist()], axis=1)
            base = values[longest : longest + n] if self.difference else np.zeros(n)
            block = np.concatenate([lagged - base[:, None], rows[longest + h :]], axis=1)
            model.partial_fit(block, values[longest + h :] - base)
        self._past, self.n_seen_ = values[-self._kept :].copy(), len(values)

    @property
    def _kept(self) -> int:
        return int(self._lags.max()) + max(self._ahead) + 1

    def _row(self, past: Array, back: int, outside: Array) -> tuple[Array, float] | None:
        """The row whose present is `back` steps before the end of the past, and what is taken from its values."""
        if len(past) < back + int(self._lags.max()):
            return None
        base = float(past[-back]) if self.difference else 0.0
        return np.concatenate([past[-back - self._lags] - base, outside]), base

    def _step(self, value: float, outside: Array) -> None:
        """The next moment of the series."""
        if self.strategy == "recursive":
            for k, (h, errors) in enumerate(zip(self.horizons_, self._errors, strict=True)):
                if len(self._said) >= h and np.isfinite(value) and np.isfinite(self._said[-h][k]):
                    errors.append(abs(value - self._said[-h][k]))
                    del errors[:-_ERRORS]
        missing = not np.isfinite(value)
        if missing:
            value = self._stand_in(outside)
        else:
            for model, h in zip(self.models_, self._ahead, strict=True):
                found = self._row(self._past, h, outside)
                if found is not None:
                    model.update(found[0], value - found[1])
        self._past = np.append(self._past, value)[-self._kept :]
        self.n_seen_ += 1
        if self.strategy == "recursive" and not len(outside):  # with exogenous columns the future is not known here
            said = self._recursive(np.zeros((max(self.horizons_), 0)))
            self._said = [*self._said, said][-max(self.horizons_) :]

    def _stand_in(self, outside: Array) -> float:
        """A forecast in the place of a missing value, or the value before."""
        found = self._row(self._past, self._ahead[0], outside)
        if found is not None and self.models_[0].__sklearn_is_fitted__():
            return float(self.models_[0].predict_one(found[0])) + found[1]
        if not len(self._past):
            raise ValueError("the first value of y is missing: begin the series with a value")
        return float(self._past[-1])

    # --- forecasts ---

    def predict(self, horizons: Any = None, X: ArrayLike | None = None) -> Any:
        """Forecast the values some steps ahead.

        Parameters
        ----------
        horizons : int or iterable of ints, optional
            Those of the forecaster by default; some of them, or with "recursive" any.
        X : array-like of shape (n_steps, n_columns), optional
            Exogenous values of the next steps, from the first on; of a data frame the rows with their labels.

        Returns
        -------
        ndarray of shape (n_horizons,), or series with the index of the forecasts
        """
        steps, outside = self._asked(horizons, X)
        said: list[float]
        if self.strategy == "recursive":
            said = self._recursive(outside, steps)
        else:
            said = [float(self.models_[k].predict_one(row)) + base for k, row, base in self._rows_of(steps, outside)]
        return self._labelled(np.array(said), steps)

    def predict_interval(self, horizons: Any = None, X: ArrayLike | None = None, coverage: float = 0.9) -> Any:
        """Return an interval for the value some steps ahead.

        Of "direct" those of the streams, which follow the values that were outside and inside; of "recursive" as wide
        as contain that part of the last 500 errors of its own forecasts, without exogenous columns.

        Parameters
        ----------
        horizons : int or iterable of ints, optional
        X : array-like of shape (n_steps, n_columns), optional
        coverage : float, default=0.9

        Returns
        -------
        lower, upper : ndarray of shape (n_horizons,), or series
        """
        coverage = check_coverage(coverage)
        steps, outside = self._asked(horizons, X)
        if self.strategy == "direct":
            pairs = [
                np.array(self.models_[k].predict_interval_one(row, coverage)) + base
                for k, row, base in self._rows_of(steps, outside)
            ]
            lower, upper = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
            return self._labelled(lower, steps), self._labelled(upper, steps)
        widths = []
        for h in steps:
            errors = sorted(self._errors[self.horizons_.index(h)]) if h in self.horizons_ else []
            rank = int(np.ceil((len(errors) + 1) * coverage))
            if rank > len(errors) or not errors:
                raise ValueError(
                    f"{len(errors)} forecasts {h} steps ahead have met their values, and coverage={coverage!r} needs "
                    f"{max(int(np.ceil(coverage / (1 - coverage))), 1)}: name the horizon in horizons, without "
                    "exogenous columns, and go on, or use strategy='direct'"
                )
            widths.append(errors[rank - 1])
        said = np.array(self._recursive(outside, steps))
        return self._labelled(said - widths, steps), self._labelled(said + widths, steps)

    def _rows_of(self, steps: list[int], outside: Array) -> list[tuple[int, Array, float]]:
        rows = []
        for h in steps:
            if h not in self.horizons_:
                raise ValueError(
                    f"horizons={h} was not learned: the forecaster has {self.horizons_}; fit with it, or with "
                    "strategy='recursive'"
                )
            k = self.horizons_.index(h)
            found = self._row(self._past, 1, outside[h - 1])
            if found is None or not self.models_[k].__sklearn_is_fitted__():
                raise self._too_short(h)
            rows.append((k, *found))
        return rows

    def _too_short(self, h: int) -> ValueError:
        needed = int(self._lags.max()) + h + 1
        return ValueError(f"a forecast {h} steps ahead needs {needed} values, and {self.n_seen_} have come")

    def _recursive(self, outside: Array, steps: list[int] | None = None) -> list[float]:
        """Forecasts one after another, each with those before; NaN while there is no model."""
        wanted, model = self.horizons_ if steps is None else steps, self.models_[0]
        past, said = self._past, []
        for h in range(1, max(wanted) + 1):
            found = self._row(past, 1, outside[h - 1])
            if found is None or not model.__sklearn_is_fitted__():
                if steps is None:
                    return [float("nan")] * len(wanted)
                raise self._too_short(1)
            said.append(float(model.predict_one(found[0])) + found[1])
            past = np.append(past, said[-1])
        return [said[h - 1] for h in wanted]

    # --- what is given ---

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
        steps = self.horizons_ if horizons is None else _steps(horizons, "horizons", alone=True)
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

    _lags: NDArray[np.int64]
    _ahead: list[int]
    _past: Array
    _errors: list[list[float]]
    _said: list[list[float]]
    _clock: Clock | None
    _n_outside: int
    _names: list[str] | None


def _steps(horizons: Any, what: str, alone: bool = False) -> list[int]:
    """Steps ahead as a list: 1 to a number, or `alone` that number, or those given."""
    one = isinstance(horizons, Integral) and not isinstance(horizons, bool)
    given = ([int(horizons)] if alone else list(range(1, int(horizons) + 1))) if one else horizons
    values = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    if not values or not all(isinstance(h, Integral) and int(h) >= 1 for h in values):
        raise ValueError(f"{what}={horizons!r} must be a number of steps ahead, 1 or more, or several")
    return sorted({int(h) for h in values}) if not alone else [int(h) for h in values]
