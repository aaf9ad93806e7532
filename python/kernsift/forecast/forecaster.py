"""A forecaster: streams on the lags of a series, one for each horizon or one for all, of several kinds that compete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ..base.arrays import Array
from ..base.left_out import check_coverage
from ..base.validation import at_this_moment, transaction
from ..stream.lags import checked_lags
from ..stream.online import OnlineLSSVMRegressor
from .given import Given, steps_of

# Errors of recursive forecasts kept for each horizon.
_ERRORS = 500
# Ridges that compete where no estimator is given: short series with much noise need the larger one.
_RIDGES: tuple[Any, ...] = ("auto", 10.0)
# Members are weighed by a power of their mean squared errors one step ahead, of which older ones count less.
_MEMORY, _POWER = 0.98, 12.0


class KernelForecaster(Given):
    """Forecasts of a series some steps ahead, which go on learning with every value.

    Rows of past values, and of exogenous columns at the moment of the target, go to
    :class:`~kernsift.OnlineLSSVMRegressor`, which finds its widths and follows drift by itself.

    Parameters
    ----------
    lags : int or iterable of ints, default=12
        So many recent values, 0, 1, ..., lags - 1 before the present; or these lags (0 is the present).
    horizons : int or iterable of ints, default=1
        Steps ahead, 1 to a number or these.
    strategy : {"auto", "direct", "recursive"}, default="auto"
        "recursive": one model for the next value, which takes its own forecasts for values further ahead; "direct": a
        model for each horizon.  "auto" is "recursive", with exogenous columns "direct".
    difference : bool or "auto", default="auto"
        True: lags and target less the present value, for series whose level wanders.  "auto": both, and two ridges
        where no estimator is given, as members that are averaged by how well each forecast the next value lately.
    freq : str, optional
        Step of an index of timestamps that does not say it, as pandas writes it; missing steps are then missing values.
    estimator : OnlineLSSVMRegressor or KRLSRegressor, optional
        With settings of its own; not changed.

    Attributes
    ----------
    models_ : list of estimator
        One a horizon, or the one of "recursive"; none with ``difference="auto"``, whose ``members_`` have them.
    members_ : list of KernelForecaster
        Those that compete.
    weights_ : ndarray
        Of the members, at present.
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

    members_: list[KernelForecaster]
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
            new._clock = None
            values, rows, clock = new._given(y, X, begin=True)
            new._start(rows.shape[1])
            new._begin(values, rows)
            new._clock = clock
        return self

    def update(self, y: ArrayLike, X: ArrayLike | None = None) -> Self:
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
            new._copy_models()
            values, rows, clock = new._given(y, X)
            for value, row in zip(values, rows, strict=True):
                new._step(float(value), row)
            new._clock = clock
        return self

    def _start(self, n_outside: int) -> None:
        """Members, or models, that have seen nothing."""
        self.horizons_, self._lags = steps_of(self.horizons, "horizons"), checked_lags(self.lags)
        self._one_step = self.strategy == "recursive" or (self.strategy == "auto" and not n_outside)
        self._ahead = [1] if self._one_step else self.horizons_
        self._past, self.n_seen_ = np.empty(0), 0
        self._errors, self._said = [[] for _ in self.horizons_], []
        self._loss = self._judged = 0.0
        self.members_, self.models_ = [], []
        if isinstance(self.difference, str):
            given = [OnlineLSSVMRegressor(alpha=a) for a in _RIDGES] if self.estimator is None else [self.estimator]
            for difference in (False, True)[: 2 if self._lags.any() else 1]:
                for model in given:
                    member = KernelForecaster(
                        lags=self._lags.tolist(),
                        horizons=self.horizons_,
                        strategy="recursive" if self._one_step else "direct",
                        difference=difference,
                        estimator=clone(model),
                    )
                    member._start(n_outside)
                    self.members_.append(member)
            return
        if self.difference and 0 in self._lags:
            self._lags = self._lags[self._lags > 0]
            if not len(self._lags):
                raise ValueError("difference=True takes the present value from the others: give lags beyond 0")
        model = OnlineLSSVMRegressor() if self.estimator is None else self.estimator
        self.models_ = [clone(model) for _ in self._ahead]
        # the last errors show in the lags, and a row may be several moments after the last
        for each in self.models_:
            if each.get_params().get("error_forecast") == "auto":
                each.set_params(error_forecast=False)

    def _copy_models(self) -> None:
        """What an error leaves behind is a copy."""
        self.models_, self._errors = list(self.models_), [list(errors) for errors in self._errors]
        for k, model in enumerate(self.models_):
            with transaction(model) as copied:
                self.models_[k] = copied
        self.members_ = [at_this_moment(member) for member in self.members_]
        for member in self.members_:
            member._copy_models()

    def _begin(self, values: Array, rows: Array) -> None:
        """Learn a whole series: in blocks where no forecast of its own is needed on the way."""
        longest = int(self._lags.max())
        if np.isnan(values).any() or self._one_step:
            for value, row in zip(values, rows, strict=True):
                self._step(float(value), row)
            return
        for member in self.members_:
            member._begin(values, rows)
        for model, h in zip(self.models_, self._ahead, strict=not self.members_):
            n = len(values) - longest - h
            if n < 1:
                continue
            lagged = np.stack([values[longest - lag : longest - lag + n] for lag in self._lags.tolist()], axis=1)
            base = values[longest : longest + n] if self.difference else np.zeros(n)
            block = np.concatenate([lagged - base[:, None], rows[longest + h :]], axis=1)
            targets = values[longest + h :] - base
            if model is self.models_[0] and hasattr(model, "prequential"):
                self._judge(model.prequential(block, targets).error)
            else:
                model.partial_fit(block, targets)
        self._past, self.n_seen_ = values[-self._kept :].copy(), len(values)

    def _judge(self, errors: Array) -> None:
        """Note errors of the shortest horizon, which the model made before it learned the values."""
        faded = _MEMORY ** np.arange(len(errors))[::-1]
        fade = _MEMORY ** len(errors)
        self._loss = fade * self._loss + float(faded @ np.square(errors))
        self._judged = fade * self._judged + float(faded.sum())

    @property
    def _begun(self) -> bool:
        """Whether every model has learned a row."""
        return all(model.__sklearn_is_fitted__() for member in self.members_ or [self] for model in member.models_)

    @property
    def weights_(self) -> Array:
        """Weights of the members at present."""
        self._fitted()
        losses = np.array([max(m._loss, 1e-300) / max(m._judged, 1e-300) for m in self.members_])
        weights: Array = (losses.min(initial=np.inf) / losses) ** _POWER
        return weights / weights.sum()

    def _mean(self, of_members: list[Any]) -> Array:
        return np.einsum("k,k...->...", self.weights_, np.array(of_members, dtype=np.float64))

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
        if self._one_step:
            for k, (h, errors) in enumerate(zip(self.horizons_, self._errors, strict=True)):
                if len(self._said) >= h and np.isfinite(value) and np.isfinite(self._said[-h][k]):
                    errors.append(abs(value - self._said[-h][k]))
                    del errors[:-_ERRORS]
        self._learn(value, outside)
        if self._one_step and not len(outside):  # with exogenous columns the future is not known here
            said = self._recursive(np.zeros((max(self.horizons_), 0)))
            self._said = [*self._said, said][-max(self.horizons_) :]

    def _learn(self, value: float, outside: Array) -> None:
        """Learn the next value: every member, or every model the row whose target it is."""
        missing = not np.isfinite(value)
        if self.members_:
            for member in self.members_:
                member._learn(value, outside)
        elif missing:
            value = self._stand_in(outside)
        else:
            for model, h in zip(self.models_, self._ahead, strict=True):
                found = self._row(self._past, h, outside)
                if found is None:
                    continue
                if model is self.models_[0] and model.__sklearn_is_fitted__():
                    self._judge(np.array([value - found[1] - float(model.predict_one(found[0]))]))
                model.update(found[0], value - found[1])
        self._past = np.append(self._past, value)[-self._kept :]
        self.n_seen_ += 1

    def _stand_in(self, outside: Array) -> float:
        """A forecast in the place of a missing value, or the value before."""
        found = self._row(self._past, self._ahead[0], outside)
        if found is not None and self.models_[0].__sklearn_is_fitted__():
            return float(self.models_[0].predict_one(found[0])) + found[1]
        if not len(self._past):
            raise ValueError("the first value of y is missing: begin the series with a value")
        return float(self._past[-1])

    # --- forecasts ---

    def predict(self, horizons: int | Iterable[int] | None = None, X: ArrayLike | None = None) -> Any:
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
        return self._labelled(np.array(self._forecasts(steps, outside)), steps)

    def _forecasts(self, steps: list[int], outside: Array) -> list[float]:
        if self.members_:
            return self._mean([member._forecasts(steps, outside) for member in self.members_]).tolist()
        if self._one_step:
            return self._recursive(outside, steps)
        return [float(self.models_[k].predict_one(row)) + base for k, row, base in self._rows_of(steps, outside)]

    def predict_interval(
        self, horizons: int | Iterable[int] | None = None, X: ArrayLike | None = None, coverage: float = 0.9
    ) -> Any:
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
        if not self._one_step:
            lower, upper = self._bounds(steps, outside, coverage)
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

    def _bounds(self, steps: list[int], outside: Array, coverage: float) -> Array:
        """Intervals of the streams, with members their mean."""
        if self.members_:
            return self._mean([member._bounds(steps, outside, coverage) for member in self.members_])
        pairs = [
            np.array(self.models_[k].predict_interval_one(row, coverage)) + base
            for k, row, base in self._rows_of(steps, outside)
        ]
        return np.array(pairs, dtype=np.float64).reshape(-1, 2).T

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
        if self.members_:
            return self._mean([member._recursive(outside, steps) for member in self.members_]).tolist()
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

    _lags: NDArray[np.int64]
    _one_step: bool
    _ahead: list[int]
    _past: Array
    _errors: list[list[float]]
    _said: list[list[float]]
    _loss: float
    _judged: float
