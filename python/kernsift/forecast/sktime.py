"""The forecaster as one of sktime's: its horizons, splitters and metrics, ``pip install 'kernsift[sktime]'``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.optional import optional
from .forecaster import KernelForecaster as _Forecaster

base: Any = optional("sktime.forecasting.base", "kernsift.forecast.sktime", "sktime")

__all__ = ["KernelForecaster"]


class KernelForecaster(base.BaseForecaster):
    """Forecasts that go on learning, as a forecaster of sktime's; see :class:`kernsift.forecast.KernelForecaster`.

    The horizons are sktime's ``fh``, of ``fit``.  ``update`` learns, whatever ``update_params`` is.

    Parameters
    ----------
    lags, strategy, difference, freq, estimator
        As in :class:`kernsift.forecast.KernelForecaster`.

    Attributes
    ----------
    model_ : kernsift.forecast.KernelForecaster

    Examples
    --------
    >>> import pandas as pd
    >>> from kernsift.datasets import air_passengers
    >>> from kernsift.forecast.sktime import KernelForecaster
    >>> y = pd.Series(air_passengers(), index=pd.period_range("1949-01", periods=144, freq="M"))
    >>> model = KernelForecaster(lags=13).fit(y[:-3], fh=[1, 2, 3])
    >>> bool((abs(model.predict() / y[-3:] - 1) < 0.1).all())
    True
    """

    _tags = {
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
        "capability:exogenous": True,
        "capability:missing_values": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:insample": False,
        "requires-fh-in-fit": True,
    }

    def __init__(
        self,
        lags: Any = 12,
        strategy: str = "auto",
        difference: bool | str = "auto",
        freq: str | None = None,
        estimator: Any = None,
    ) -> None:
        self.lags, self.strategy, self.difference = lags, strategy, difference
        self.freq, self.estimator = freq, estimator
        super().__init__()

    def _steps(self, fh: Any) -> list[int]:
        return [int(step) for step in fh.to_relative(self.cutoff)]

    def _rows(self, fh: Any, X: Any) -> Any:
        """Exogenous rows of all steps to the last: sktime may give those of the horizons alone, others have no use."""
        if X is None or self.strategy == "recursive":
            return X
        steps = self._steps(fh)
        wanted = fh.to_absolute_index(self.cutoff)
        rows = np.zeros((max(steps), X.shape[1]))
        rows[np.array(steps) - 1] = X.loc[wanted] if wanted.isin(X.index).all() else X.iloc[: len(steps)]
        return rows

    def _fit(self, y: Any, X: Any, fh: Any) -> Any:
        self.model_ = _Forecaster(horizons=self._steps(fh), **self.get_params(deep=False)).fit(y, X)
        self._seen = y.index[-1]
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> Any:
        new = y.index > self._seen  # sktime may give values again
        if new.any():
            self.model_.update(y[new], None if X is None else X[new])
            self._seen = y.index[-1]
        return self

    def _predict(self, fh: Any, X: Any) -> Any:
        import pandas

        said = np.asarray(self.model_.predict(self._steps(fh), self._rows(fh, X)))
        return pandas.Series(said, index=fh.to_absolute_index(self.cutoff), name=self._y.name)

    def _predict_interval(self, fh: Any, X: Any, coverage: Any) -> Any:
        import pandas

        steps, rows = self._steps(fh), self._rows(fh, X)
        bounds = [np.asarray(b) for c in coverage for b in self.model_.predict_interval(steps, rows, float(c))]
        names = self._get_columns(method="predict_interval", coverage=coverage)
        return pandas.DataFrame(np.column_stack(bounds), index=fh.to_absolute_index(self.cutoff), columns=names)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> Any:
        """Settings for sktime's own checks.

        Parameters
        ----------
        parameter_set : str, default="default"
        """
        return [{"lags": 3}, {"lags": 2, "strategy": "direct", "difference": False}]
