"""Streams of regression rows beyond ``partial_fit``: a second pass, predict-then-learn, one row at a time."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._learn_gamma import wants_learning
from ._online_base import OUTCOMES, OnlineBase
from ._validation import (
    as_targets,
    check_one_row,
    check_rows,
    check_weights,
    checked_block,
    fit_context,
    one_row,
    unchanged_on_error,
)


class Prequential(NamedTuple):
    """What ``prequential`` answers, row by row."""

    y_pred: NDArray[np.float64]
    error: NDArray[np.float64]
    n_basis: NDArray[np.int64]
    std: NDArray[np.float64] | None


class StreamRegression(OnlineBase):
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
            the spread or None.

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
        if not isinstance(delay, (int, np.integer)) or delay < 0:
            raise ValueError(f"delay must be a whole number of rows, 0 or more; got {delay!r}")
        with unchanged_on_error(self):
            if not self.__sklearn_is_fitted__():
                rows, values = checked_block(self, X, y, reset=True, multi_output=True, y_numeric=True)
                weight = check_weights(sample_weight, rows)
                targets = as_targets(values)
                if wants_learning(self.gamma):
                    raise ValueError(
                        "gamma='learn' would look at the rows that prequential is to predict: begin the stream with "
                        "partial_fit on other rows, or give gamma as numbers (learn_gamma)"
                    )
                core = self._begin(rows, weight, targets.shape[1])
                self._flat = values.ndim == 1
            else:
                self._check_warm("prequential")
                rows, targets, weight = self._second_look(X, y, sample_weight)
                core = self._fitted()
            check_rows(core.kernel, rows)
            if return_std and not self._ridge() > 0:
                raise ValueError("prequential(return_std=True) needs alpha > 0: without a ridge there is no prior")
            # in a window the core makes room for a row before it looks at it, and what is asked for is `predict`
            if delay == 0 and not return_std and self.window is None:
                before = core.n_basis
                self._core = core
                mean, outcome, _ = core.learn(rows, targets, weight, True)
                grown = np.cumsum(outcome == OUTCOMES.index("admitted"))
                n_basis, std = before + np.concatenate([[0], grown[:-1]]), None
            else:
                self._core = core
                mean, variance, n_basis = core.prequential(rows, targets, weight, min(int(delay), len(rows)))
                std = np.sqrt(variance) if return_std else None
        flat = slice(None) if not self._flat else 0
        error = (targets - mean)[:, flat]
        return Prequential(mean[:, flat], error, n_basis, None if std is None else std[:, flat])

    def update(self, x: NDArray[np.float64], y: float | NDArray[np.float64], sample_weight: float = 1.0) -> None:
        """Learn one row without scikit-learn's validation, in microseconds.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        y : float or ndarray of shape (n_outputs,)
        sample_weight : float, default=1.0

        Notes
        -----
        The stream must have begun with ``fit`` or ``partial_fit``, which fix the kernel.

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
        core = self.__dict__.get("_core") or self._fitted()
        self._check_warm("update")
        target = y if isinstance(y, float) else np.atleast_1d(np.asarray(y, dtype=np.float64))
        try:
            core.update(x, target, sample_weight)
        except TypeError:  # not a contiguous row of float64
            core.update(one_row(x), target, float(sample_weight))

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
        core = self.__dict__.get("_core") or self._fitted()
        try:
            mean = core.predict_one(x)
        except TypeError:  # not a contiguous row of float64
            return self.predict_one(one_row(x))
        except ValueError:
            check_one_row(self, x)
            raise
        return mean.item() if self._flat else mean
