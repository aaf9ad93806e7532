"""Adapters for `river <https://riverml.xyz>`_: rows as dicts, features and classes that come and go.

They stand on the core's one-row path, without scikit-learn's validation, and need river: ``pip install
'kernsift[river]'``.  (``river.compat.convert_sklearn_to_river`` works on the estimators too, at many times the cost a
row, and with a fixed set of features.)
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Literal, overload

import numpy as np

from ..base.arrays import Array
from ..base.kernel import parameters
from ..base.left_out import check_coverage, normal_quantile
from ..base.sets import sets_of
from ..base.targets import Rows
from ..stream.classes import StreamClasses
from ..stream.classifier import OnlineLSSVMClassifier as _Classifier
from ..stream.krls import KRLSRegressor as _KRLS
from ..stream.online import OnlineLSSVMRegressor as _Regressor
from ._rows import Interval, KRLSFields, OnlineFields, RegressorFields, RiverStream, Row, base, check_finite, dataframe

__all__ = ["KRLSRegressor", "OnlineLSSVMClassifier", "OnlineLSSVMRegressor"]


def _check_weight(w: float) -> None:
    if not (math.isfinite(w) and w >= 0):
        raise ValueError(f"w is {w!r}: a weight is finite and not negative")


@parameters
class _Regression(RiverStream, base.MiniBatchRegressor):
    """Numbers from rows."""

    target_lags: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.target_lags, int) or self.target_lags < 0:
            raise ValueError(f"target_lags={self.target_lags!r} must be a whole number of targets, 0 or more")
        super().__post_init__()

    def _start_empty(self) -> None:
        super()._start_empty()
        self._last_targets: list[float] = []

    def learn_one(self, x: Row, y: float, w: float = 1.0) -> None:
        """Learn one row of weight w; rows without features before the first that has some are skipped."""
        _check_weight(w)
        if not math.isfinite(y):
            raise ValueError(f"y is {y!r}: a target is a finite number")
        x = self._with_lags(x)
        if self._core is None and not x:  # as SNARIMAX begins: there is no feature to learn from yet
            return
        row = self._row_to_learn(x)
        try:
            self._learn_row(row, float(y), w)
        except ValueError:
            check_finite(row, x)
            raise
        if self.target_lags:
            self._last_targets = [float(y), *self._last_targets[: self.target_lags - 1]]

    def _with_lags(self, x: Row) -> Row:
        """The row with the last targets, the latest first; before the first target there is 0."""
        if self.target_lags == 0:
            return x
        last = self._last_targets or [0.0]
        return {**x, **{f"target-{j + 1}": last[min(j, len(last) - 1)] for j in range(self.target_lags)}}

    @overload
    def predict_one(self, x: Row, *, with_interval: Literal[False] = False, coverage: float = 0.9) -> float: ...
    @overload
    def predict_one(self, x: Row, *, with_interval: Literal[True], coverage: float = 0.9) -> Interval: ...
    @overload
    def predict_one(self, x: Row, *, with_interval: bool, coverage: float = 0.9) -> Any: ...
    def predict_one(self, x: Row, *, with_interval: bool = False, coverage: float = 0.9) -> Any:
        """Predict one row; 0 before anything was learned.

        With ``with_interval=True``, as in river's ``conf``, return a ``river.conf.Interval`` instead, which contains
        the target of the part ``coverage`` of the rows: it has ``lower``, ``upper``, ``center`` and ``width``, and
        ``y in interval`` says whether it holds.  Before anything was learned it is unbounded.
        """
        if not with_interval:
            return 0.0 if self._core is None else self._predicted(self._with_lags(x)).item()
        quantile = normal_quantile(coverage)
        if self._core is None:
            return Interval(-math.inf, math.inf)
        if not self._core.alpha > 0:
            raise ValueError("with_interval=True needs alpha > 0: without a ridge there is no prior")
        mean, half = self._predicted(self._with_lags(x), "predict_interval_one", quantile)
        return Interval((mean - half).item(), (mean + half).item())

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame of pandas or polars, in their order."""
        targets = np.ascontiguousarray(np.asarray(y, np.float64).reshape(-1, 1))
        if not np.isfinite(targets).all():
            raise ValueError("y holds NaN or infinity: a target is a finite number")
        self._has_no_lags("learn_many")
        rows, _ = self._frame(X, len(targets))
        if len(rows):
            self._learn_frame(Rows(rows, targets, np.ones(len(rows))))

    def _has_no_lags(self, what: str) -> None:
        if self.target_lags:
            raise ValueError(f"{what} takes many rows and target_lags={self.target_lags} needs a target after each")

    def predict_many(self, X: Any) -> Any:
        """Predict the rows of a data frame of pandas or polars, as a series."""
        self._has_no_lags("predict_many")
        rows, frame = self._frame(X)
        values = np.zeros(len(rows)) if self._core is None else self._core.predict(rows, as_next=True)[:, 0]
        return dataframe.to_native_series(values, name=None, like=frame)


@parameters
class OnlineLSSVMRegressor(RegressorFields, _Regression):
    """Sparse kernel least squares on a stream; see :class:`kernsift.OnlineLSSVMRegressor`.

    A feature that a row does not have counts as 0, and one that comes for the first time was 0 before: both exactly,
    as if it had been there from the beginning.  Put a ``StandardScaler`` before the model.

    Parameters
    ----------
    kernel, degree, coef0, alpha, max_basis, novelty_tol, usefulness_tol, admission, fit_intercept, swap_until, \
exact_rows, forgetting, linear, error_forecast, noise
        As in :class:`kernsift.OnlineLSSVMRegressor`.
    gamma
        Width of the kernel, exp(-gamma r²) for "rbf".  "auto" takes the widths from the first rows and goes on learning
        them, one per feature, as :class:`kernsift.OnlineLSSVMRegressor` does; None is one over the number of features
        of the first row.
    target_lags
        So many of the last targets become features, for series with a memory of their own: one row's target must be
        known before the next row.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from kernsift.river import OnlineLSSVMRegressor
    >>> model = preprocessing.StandardScaler() | OnlineLSSVMRegressor(max_basis=100)
    >>> error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> bool(error.get() < 0.8)
    True

    Row by row, and as frames:

    >>> import pandas as pd
    >>> model = OnlineLSSVMRegressor(gamma=0.1)
    >>> model.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    >>> round(model.predict_one({"a": 1.0, "b": 2.0}), 6)
    3.0
    >>> frame = pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, 3.0]})
    >>> model.learn_many(frame, pd.Series([2.0, 4.0]))
    >>> model.predict_many(frame).shape
    (2,)
    """

    _kind = _Regressor
    _fields = RegressorFields


@parameters
class KRLSRegressor(KRLSFields, _Regression):
    """Kernel recursive least squares; see :class:`kernsift.KRLSRegressor`.

    Features may come and go as in :class:`kernsift.river.OnlineLSSVMRegressor`.

    Parameters
    ----------
    kernel, gamma, degree, coef0, novelty_tol, max_basis, alpha, on_full, forgetting
        As in :class:`kernsift.KRLSRegressor`, but kernels are those with a name; gamma=None is one over the number of
        features of the first row.
    target_lags
        So many of the last targets become features.

    Examples
    --------
    >>> import math
    >>> from kernsift.river import KRLSRegressor
    >>> model = KRLSRegressor(gamma=0.1, alpha=0.01)
    >>> for i in range(200):
    ...     model.learn_one({"a": i / 20}, math.sin(i / 20))
    >>> bool(abs(model.predict_one({"a": 1.0}) - math.sin(1.0)) < 0.05)
    True
    """

    _kind = _KRLS
    _fields = KRLSFields


@parameters
class OnlineLSSVMClassifier(OnlineFields, StreamClasses, RiverStream, base.MiniBatchClassifier):
    """Sparse kernel classification on a stream; see :class:`kernsift.OnlineLSSVMClassifier`.

    A class may come at any time: exactly as if it had been known from the beginning.  Features may come and go as in
    :class:`kernsift.river.OnlineLSSVMRegressor`.  Probabilities are a softmax of the scores with one temperature,
    learned from scores given before their row was seen.

    Parameters
    ----------
    kernel, gamma, degree, coef0, alpha, max_basis, novelty_tol, usefulness_tol, admission, fit_intercept, \
swap_until, exact_rows, forgetting
        As in :class:`kernsift.river.OnlineLSSVMRegressor`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from kernsift.river import OnlineLSSVMClassifier
    >>> model = preprocessing.StandardScaler() | OnlineLSSVMClassifier(max_basis=100)
    >>> accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> bool(accuracy.get() > 0.85)
    True

    Classes need not be named beforehand:

    >>> model = OnlineLSSVMClassifier(gamma=0.1)
    >>> for x, label in (({"a": 0.0}, "low"), ({"a": 9.0}, "high"), ({"a": 1.0}, "low")):
    ...     model.learn_one(x, label)
    >>> model.predict_one({"a": 8.0})
    'high'
    >>> sorted(model.predict_proba_one({"a": 8.0}))
    ['high', 'low']
    """

    _kind = _Classifier

    def _start_empty(self) -> None:
        super()._start_empty()
        self._labels: list[Hashable] = []
        self._code: dict[Hashable, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        del state["_code"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._code = {label: i for i, label in enumerate(self._labels)}

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Hashable]:
        """Labels met so far."""
        return list(self._labels)

    def _targets(self, labels: list[Hashable]) -> Array:
        """Targets of labels, after room was made for classes met for the first time."""
        new = list(dict.fromkeys(label for label in labels if label not in self._code))
        if new:
            self._labels = [*self._labels, *new]
            self._code = {label: i for i, label in enumerate(self._labels)}
            self._add_columns(len(self._labels))
        codes = np.array([self._code[label] for label in labels])
        return (codes[:, None] == np.arange(len(self._labels))).astype(np.float64)

    def learn_one(self, x: Row, y: Hashable, w: float = 1.0) -> None:
        """Learn one row of weight w."""
        _check_weight(w)
        if y is None or y != y:
            raise ValueError(f"y is {y!r}: that is no label")
        row = self._row_to_learn(x)
        check_finite(row, x)
        self._learn_frame(Rows(row[None, :], self._targets([y]), np.array((w,), np.float64)))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame of pandas or polars, in their order."""
        labels = list(y)
        if any(label is None or label != label for label in labels):
            raise ValueError("y holds None or NaN: that is no label")
        rows, _ = self._frame(X, len(labels))
        if len(rows):
            self._learn_frame(Rows(rows, self._targets(labels), np.ones(len(rows))))

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """Return the most likely label; None before anything was learned."""
        if self._core is None:
            return None
        return self._labels[int(self._predicted(x).argmax())]

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label met so far."""
        if self._core is None:
            return {}
        odds = self._odds(self._predicted(x)[None, :])[0]
        return dict(zip(self._labels, odds.tolist(), strict=True))

    def predict_set_one(self, x: Row, coverage: float = 0.9) -> set[Any]:
        """Return the labels a row may have: they contain its own for the part ``coverage`` of the rows."""
        coverage = check_coverage(coverage)
        odds = self.predict_proba_one(x)
        if not odds:
            return set()
        taken = sets_of(np.array([[*odds.values()]]), self._least(coverage))[0]
        return {label for label, taken_in in zip(odds, taken.tolist(), strict=True) if taken_in}

    def predict_many(self, X: Any) -> Any:
        """Return the most likely label of each row of a data frame, as a series."""
        rows, frame = self._frame(X)
        codes = [] if self._core is None else self._core.predict(rows, as_next=True).argmax(axis=1)
        labels: list[Any] = [None] * len(rows) if self._core is None else [self._labels[code] for code in codes]
        return dataframe.to_native_series(labels, name=None, like=frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probability of each label, a column each, as a data frame."""
        rows, frame = self._frame(X)
        values = np.empty((len(rows), 0)) if self._core is None else self._odds(self._core.predict(rows, as_next=True))
        columns = {} if self._core is None else {label: values[:, i] for i, label in enumerate(self._labels)}
        return dataframe.to_native_frame(columns, like=frame)
