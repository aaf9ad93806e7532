"""Streams of regression rows beyond ``partial_fit``: a second pass, predict-then-learn, one row at a time."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from ..base.validation import (
    as_targets,
    check_one_row,
    check_rows,
    check_weights,
    checked_block,
    fit_context,
    one_row,
    unchanged_on_error,
)
from .base import OUTCOMES, OnlineBase
from .first_rows import until_known
from .ridge import choose_if_due, choose_ridge


class Prequential(NamedTuple):
    """What ``prequential`` returns, row by row."""

    y_pred: NDArray[Any]
    error: NDArray[np.float64]
    n_basis: NDArray[np.int64]
    std: NDArray[np.float64] | None


class Stream(OnlineBase):
    """Rows one at a time and predict-then-learn, for any targets: the subclasses say what a target is."""

    def _begin_with(
        self, X: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> int | None:
        """Learn the first of rows that come one by one and return their number, or keep all and return None."""
        self._check_beyond_the_papers()
        kept = self.__dict__.get("_waiting")
        known = 0 if kept is None else np.count_nonzero(kept[2] > 0)
        first = until_known(weight, self._rows_to_begin() - known)
        part = slice(0, len(X) if first is None else first)
        rows = self._with_waiting(X[part], targets[part], weight[part])
        if first is None:
            self._waiting = rows
            return None
        self._learn_first(*rows)
        return first

    def _learn_first(
        self, X: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64], restart: bool = True
    ) -> None:
        """Learn rows as `partial_fit` does."""
        self._learn(X, targets, weight, restart=restart, whole=False)

    def _judged(
        self,
        X: NDArray[np.float64],
        targets: NDArray[np.float64],
        weight: NDArray[np.float64],
        delay: int,
        return_std: bool,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.int64]]:
        """Predict each row, then learn the one `delay` before it; NaN where there is no model to predict with yet."""
        n = len(X)
        # in a window the core makes room for a row before it looks at it, and what is wanted is `predict`
        blocks = delay == 0 and not return_std and self.window is None
        mean, n_basis = np.full(targets.shape, np.nan), np.zeros(n, dtype=np.int64)
        variance = np.full(targets.shape, np.nan) if return_std else None
        learned, step = 0, 0  # step i predicts row i and learns row i - delay
        if "_core" not in self.__dict__ and self._rows_to_begin() == 1 and "_waiting" not in self.__dict__:
            self._core = self._begin(X[:1], np.ones(1), targets.shape[1])  # nothing to wait for: it begins empty
        if "_core" not in self.__dict__:
            first = self._begin_with(X, targets, weight)
            if first is None:
                return mean, variance, n_basis
            learned, step = first, first + delay
        while learned < n:
            core = self._fitted()
            check_rows(core.kernel, X[learned:])
            until = self._until_widths(weight[learned:], restart=False)
            end = n if until is None else learned + until
            for part, due in self._between_choices([slice(learned, end)], core):
                last = part.stop + delay
                if blocks:
                    before = core.n_basis
                    mean[part], outcome, _ = core.learn(X[part], targets[part], weight[part], True)
                    grown = np.cumsum(outcome == OUTCOMES.index("admitted"))
                    n_basis[part] = before + np.concatenate([[0], grown[:-1]])
                else:
                    found = core.prequential(X, targets, weight, delay, return_std, step, last)
                    rows = slice(step, min(last, n))
                    mean[rows], n_basis[rows] = found[0][rows], found[2][rows]
                    if variance is not None:
                        variance[rows] = found[1][rows]
                self._calibrate(mean[part], targets[part], weight[part])
                step = last
                if due:
                    choose_ridge(core)
            if "_warm_up" in self.__dict__:
                self._keep(X[learned:end], targets[learned:end], weight[learned:end], due=until is not None)
            learned = end
        return mean, variance, n_basis

    def _keep(
        self, X: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64], due: bool
    ) -> None:
        """Keep rows that the model with gamma="scale" has learned, and begin again where the widths are due."""
        kept: tuple[NDArray[np.float64], ...] = self.__dict__["_warm_up"]
        rows = np.vstack([kept[0], X]), np.vstack([kept[1], targets]), np.concatenate([kept[2], weight])
        self._warm_up = rows
        if due:
            self._learn_first(*rows, restart=True)

    def _arrive(self, x: Any, y: Any, sample_weight: float) -> bool:
        """One row where the stream has not begun or its widths are not known; whether a model has learned it."""
        with unchanged_on_error(self):
            begun = "_core" in self.__dict__
            fresh = not begun and "_waiting" not in self.__dict__
            if fresh:
                self._validate_params()
            rows, targets, weight = self._one_row(np.reshape(x, (1, -1)), y, sample_weight)
            if begun:
                self._learn_first(rows, targets, weight, restart=False)
                return True
            return self._begin_with(rows, targets, weight) is not None

    def _one_row(self, x: Any, y: Any, sample_weight: float) -> Any:
        raise NotImplementedError

    def _scores_of_one(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        core = self.__dict__.get("_core") or self._ready()
        try:
            return core.predict_one(x)
        except TypeError:  # not a contiguous row of float64
            return self._scores_of_one(one_row(x))
        except ValueError:
            check_one_row(self, x)
            raise

    def _learn_one(self, core: Any, x: Any, target: float | NDArray[np.float64], sample_weight: float) -> None:
        try:
            core.update(x, target, sample_weight)
        except TypeError:  # not a contiguous row of float64
            core.update(one_row(x), target, float(sample_weight))
        if self.alpha == "gcv":
            choose_if_due(core)

    def _ready(self) -> Any:
        """The core, for one row to be predicted."""
        core = self.__dict__.get("_core")
        if core is None and "_waiting" in self.__dict__:
            have = np.count_nonzero(self._waiting[2] > 0)
            raise NotFittedError(
                f"this {type(self).__name__} has {have} of the {self._rows_to_begin()} rows from which "
                f"gamma={self.gamma!r} is taken and predicts nothing before: give gamma as a number to begin at once"
            )
        return core or self._fitted()


def check_delay(delay: Any) -> None:
    """Refuse what is no number of rows."""
    if not isinstance(delay, (int, np.integer)) or delay < 0:
        raise ValueError(f"delay must be a whole number of rows, 0 or more; got {delay!r}")


class StreamRegression(Stream):
    """Methods of the online regressors for those who hold the stream in their own hands."""

    @fit_context(prefer_skip_nested_validation=True)
    def refit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, new_widths: bool = False
    ) -> Self:
        """Learn the rows afresh on the present basis: a second pass that removes the loss of the first.

        The basis stays; the coefficients become those of the exact subset-of-regressors solution for these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        new_widths : bool, default=False
            With gamma="learn": learn the widths anew from these rows, and with them the basis.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> rng = np.random.default_rng(7)
        >>> X = rng.uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(400)
        >>> model = OnlineLSSVMRegressor(gamma=1.0, max_basis=12).partial_fit(X, y)
        >>> one_pass = model.score(X, y)
        >>> bool(model.refit(X, y).score(X, y) > one_pass)
        True
        """
        rows, targets, weight = self._second_look(X, y, sample_weight)
        self._refit(rows, targets, weight, new_widths)
        return self

    def _check_outputs(self, targets: NDArray[np.float64]) -> None:
        begun = self._fitted().n_outputs
        if targets.shape[1] != begun:
            raise ValueError(f"y has {targets.shape[1]} outputs but this stream began with {begun}")

    def _second_look(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Rows, targets and weights checked for a stream that has begun."""
        self._fitted()
        self._check_unchanged_params()
        rows, values = checked_block(self, X, y, reset=False, multi_output=True, y_numeric=True)
        weight = check_weights(sample_weight, rows)
        targets = as_targets(values)
        self._check_outputs(targets)
        return rows, targets, weight

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        delay: int = 0,
        return_std: bool = False,
    ) -> Prequential:
        """Predict each row, then learn it: the honest error of a stream, and the model moves on.

        Parameters
        ----------
        X, y, sample_weight
            As in ``partial_fit``.
        delay : int, default=0
            Rows until a target is known: row i is predicted before row ``i - delay`` is learned.
        return_std : bool, default=False
            Also the standard deviation of each prediction.

        Returns
        -------
        Prequential
            Named tuple ``y_pred, error, n_basis, std``: predictions, ``y - y_pred``, kernels before each row, and
            the standard deviations or None.  NaN where a row is not predicted (see Notes).

        Notes
        -----
        A fresh model looks at no row before it has predicted it.  With gamma="scale" or "median" the width comes from
        the first 100 rows (with "learn", ``learn_rows`` if that is fewer), which are learned and not predicted; nor are
        the ``delay`` rows after them, whose predictions would know targets too early.  With gamma as a number every row
        is predicted, the first by 0.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> t = np.arange(500) / 20
        >>> X, y = np.column_stack([np.sin(t), np.cos(t)]), np.sin(2 * t)
        >>> result = OnlineLSSVMRegressor(gamma=1.0, alpha=0.01).prequential(X, y)
        >>> bool(np.abs(result.error[-100:]).max() < 0.05)
        True
        """
        check_delay(delay)
        with unchanged_on_error(self):
            if self.__sklearn_is_fitted__():
                rows, targets, weight = self._second_look(X, y, sample_weight)
            else:
                self._validate_params()
                rows, targets, weight = self._first_look(X, y, sample_weight)
            if return_std and not self._ridge() > 0:
                raise ValueError("prequential(return_std=True) needs alpha > 0: without a ridge there is no prior")
            delay = min(int(delay), len(rows))
            mean, variance, n_basis = self._judged(rows, targets, weight, delay, return_std)
        flat = slice(None) if not self._flat else 0
        std = None if variance is None else np.sqrt(variance)[:, flat]
        return Prequential(mean[:, flat], (targets - mean)[:, flat], n_basis, std)

    def _first_look(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Rows, targets and weights checked for a stream that begins, or of which some rows wait."""
        waiting = self.__dict__.get("_waiting")
        rows, values = checked_block(self, X, y, reset=waiting is None, multi_output=True, y_numeric=True)
        weight, targets = check_weights(sample_weight, rows), as_targets(values)
        if waiting is None:
            self._flat = values.ndim == 1
        elif targets.shape[1] != waiting[1].shape[1]:
            raise ValueError(f"y has {targets.shape[1]} outputs but this stream began with {waiting[1].shape[1]}")
        return rows, targets, weight

    def _one_row(self, x: Any, y: Any, sample_weight: float) -> Any:
        y = np.asarray(y, dtype=np.float64)
        look = self._second_look if "_core" in self.__dict__ else self._first_look
        return look(x, y[None], [sample_weight])

    def update(self, x: NDArray[np.float64], y: float | NDArray[np.float64], sample_weight: float = 1.0) -> None:
        """Learn one row without scikit-learn's validation, in microseconds.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        y : float or ndarray of shape (n_outputs,)
        sample_weight : float, default=1.0

        Notes
        -----
        ``update`` may begin a stream.  With gamma="scale" or "median" it keeps the first 100 rows, from which the width
        is then taken (with "learn", ``learn_rows`` if that is fewer), and learns them together; until then
        ``predict_one`` raises :class:`sklearn.exceptions.NotFittedError`.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> rng = np.random.default_rng(7)
        >>> X = rng.uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(400)
        >>> model = OnlineLSSVMRegressor(gamma=1.0).partial_fit(X[:100], y[:100])
        >>> for x, target in zip(X[100:], y[100:]):
        ...     model.update(x, target)
        >>> model.n_samples_seen_
        400
        """
        core = self.__dict__.get("_core")
        if core is None or "_warm_up" in self.__dict__:
            self._arrive(x, y, sample_weight)
            return
        target = y if isinstance(y, float) else np.atleast_1d(np.asarray(y, dtype=np.float64))
        self._learn_one(core, x, target, sample_weight)

    def predict_one(self, x: NDArray[np.float64]) -> Any:
        """Predict one row without scikit-learn's validation; NaN and infinity are refused.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64

        Returns
        -------
        float, or ndarray of shape (n_outputs,)

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> rng = np.random.default_rng(7)
        >>> X = rng.uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(400)
        >>> model = OnlineLSSVMRegressor(gamma=1.0).fit(X, y)
        >>> bool(abs(model.predict_one(np.array([0.0])) - 1.0) < 0.1)
        True
        """
        mean = self._scores_of_one(x)
        return mean.item() if self._flat else mean
