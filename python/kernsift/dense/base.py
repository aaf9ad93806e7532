"""What the batch LS-SVM estimators share: parameters, the choice of alpha and gamma, robust weights, prediction."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from .. import _core
from ..base.canonical import Table, canonical_table, draw_seed
from ..base.estimator import Estimator, in_precision_of
from ..base.kernel import LEARNING_CONSTRAINTS, resolve_gamma
from ..base.probabilities import fit_temperature, softmax
from ..base.targets import class_targets, how_few
from ..base.validation import (
    Interval,
    StrOptions,
    as_targets,
    check_is_fitted,
    check_rows,
    check_weights,
    checked_block,
    fit_context,
    ridge_grid,
    unchanged_on_error,
    validate_data,
)
from ..select.selectors import kernel_of
from ..widths.learn_gamma import learned_width, wants_learning
from .robust import robust_weights

# What alpha="loo" and gamma="loo" look through unless told.
ALPHAS = np.logspace(-6, 4, 21)
GAMMA_FACTORS = np.logspace(-1.5, 1.5, 7)


class BatchLSSVM(Estimator):
    """Base of the four estimators.

    A subclass makes a problem for a kernel and rows (`_make_problem`) that answers ``residuals(weight, alpha)`` and
    ``loo_grid(weight, alphas)``, and takes the model over from it (`_take`).
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **LEARNING_CONSTRAINTS,
        "gamma": [*LEARNING_CONSTRAINTS["gamma"], StrOptions({"loo"})],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "alphas": ["array-like", None],
        "gammas": ["array-like", None],
        "robust": ["boolean"],
        "fit_intercept": ["boolean"],
        "random_state": ["random_state"],
    }

    # --- fitting ---

    def _fit_rows(self, X: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
        table = canonical_table(X, targets, weight, self._table_seed())
        self._check_memory(len(table.X), X.shape[1], targets.shape[1])
        v = table.weight
        alphas = self._alphas()
        widths = self._widths(table)

        kernel, alpha, problem = self._select(table, v, widths, alphas)
        factor = np.ones(len(v))
        if self.robust:
            factor = robust_weights(problem, v, alpha)
            if len(widths) * len(alphas) > 1:  # the first choice was made with the outliers
                problem = None
                kernel, alpha, problem = self._select(table, v * factor, widths, alphas)
                factor = robust_weights(problem, v, alpha)

        self._kernel_state = (kernel.name, kernel.gamma, kernel.degree, kernel.coef0, kernel.centre)
        self._has_intercept = bool(self.fit_intercept)
        self.alpha_ = float(alpha)
        self.gamma_ = kernel.gamma
        self.n_samples_seen_ = len(X)
        self.weights_ = weight * np.where(weight > 0, factor[table.group], 0.0)
        self._sample_weight = weight.copy()  # the caller's may change
        self._effective_rows = self._rows_for_noise(np.flatnonzero(weight > 0))
        self._cache: dict[str, Any] = {}  # filled when first asked for, not pickled
        self._take(problem, table, targets, v * factor)

    def _rows_for_noise(self, rows: NDArray[np.intp]) -> float:
        """Rows that count for the noise, weights above one as repetitions: the flat prior of the bias takes one."""
        v, given = self.weights_[rows], self._sample_weight[rows]  # [MATH 1.8]
        return max(float((v / np.minimum(given, 1.0)).sum()) - self._has_intercept, 1.0)

    def _slack_of_rows(
        self, used: NDArray[np.intp], group: NDArray[np.intp], v: NDArray[np.float64], slack: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """1 - leverage of each row of the fit, from that of the rows that repeat together, whose weight is v."""
        out = np.ones(len(self.weights_))
        part = self.weights_[used] / v[group]
        out[used] = (1.0 - part) + part * slack[group]
        return out

    def _table_seed(self) -> int:
        """The seed of the rows that gamma="median" is taken from."""
        return draw_seed(self.random_state) if isinstance(self.gamma, str) and self.gamma == "median" else 0

    def _alphas(self) -> NDArray[np.float64]:
        if not isinstance(self.alpha, str):
            return np.array([float(self.alpha)])
        if self.alphas is None:
            return ALPHAS
        return ridge_grid(self.alphas)

    def _widths(self, table: Table) -> list[Any]:
        self.__dict__.pop("learned_gamma_", None)
        if wants_learning(self.gamma):
            return [learned_width(self, table.X, table.targets, table.weight)]
        if not (isinstance(self.gamma, str) and self.gamma == "loo"):
            return [self.gamma]
        if self.gammas is None:
            scale = float(resolve_gamma("scale", table.X, table.weight)[0])
            return [scale * factor for factor in GAMMA_FACTORS]
        widths = list(np.asarray(self.gammas, dtype=np.float64))
        if not widths:
            raise ValueError("gammas is empty: give at least one width, or None for a range about gamma='scale'")
        return widths

    def _select(
        self,
        table: Table,
        v: NDArray[np.float64],
        widths: list[Any],
        alphas: NDArray[np.float64],
    ) -> tuple[_core.Kernel, float, Any]:
        """Return the kernel and alpha of the smallest leave-one-out error, and the problem they belong to."""
        data, part = table.X, 1.0 / np.maximum(table.weight, 1.0)  # one unit of a row is left out at a time
        choose = len(widths) * len(alphas) > 1
        if choose and table.n_weighted < 2:
            raise ValueError("alpha='loo' and gamma='loo' need more than 1 sample: give them as numbers")
        best: tuple[float, Any] = (np.inf, None)
        errors = []
        for gamma in widths:
            problem = None  # there is room for the best one and a new one
            kernel = kernel_of(self, gamma, replace(table, weight=v))
            check_rows(kernel, data)
            problem = self._make_problem(kernel, table, part)
            if not choose:
                return kernel, float(alphas[0]), problem
            grid = problem.loo_grid(v, alphas)
            errors.append(grid)
            if np.isfinite(grid).any() and np.nanmin(grid) < best[0]:
                k = int(np.nanargmin(grid))
                best = (float(grid[k]), (kernel, float(alphas[k]), problem))
        self.loo_grid_ = {
            "alpha": alphas,
            "gamma": np.array([np.broadcast_to(g, data.shape[1:]) for g in widths]) if len(widths) > 1 else None,
            "error": np.array(errors),
        }
        if best[1] is None:
            raise ValueError(
                f"no alpha between {alphas[0]:g} and {alphas[-1]:g} has a finite leave-one-out error on {len(data)} "
                "rows; give alpha as a number, or larger ones in alphas"
            )
        return best[1]

    def _check_memory(self, n: int, d: int, outputs: int) -> None:
        raise NotImplementedError

    def _make_problem(self, kernel: _core.Kernel, table: Table, part: NDArray[np.float64]) -> Any:
        raise NotImplementedError

    def _take(
        self,
        problem: Any,
        table: Table,
        targets: NDArray[np.float64],
        v: NDArray[np.float64],
    ) -> None:
        raise NotImplementedError

    def _keep_model(
        self,
        X: NDArray[np.float64],
        indices: NDArray[np.intp],
        coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
        cost: NDArray[np.float64],
    ) -> None:
        self.basis_indices_ = indices
        self.basis_vectors_ = np.ascontiguousarray(X[indices])
        self._coef = np.ascontiguousarray(coef)
        self._intercept = np.ascontiguousarray(intercept)
        self._cost = np.maximum(cost, 0.0)

    # --- the fitted model ---

    def __sklearn_is_fitted__(self) -> bool:
        return "basis_vectors_" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_cache" in state:
            state["_cache"] = {}
        return state

    def _kernel(self) -> _core.Kernel:
        check_is_fitted(self)
        name, gamma, degree, coef0, centre = self._kernel_state
        return _core.Kernel(name, gamma, degree, coef0, centre)

    def _per_output(self, values: NDArray[np.float64]) -> Any:
        return float(values[0]) if self._flat else values

    def _columns(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values[:, 0] if self._flat else values

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the kernels, (n_basis_,) or (n_basis_, outputs)."""
        check_is_fitted(self)
        return self._columns(self._coef)

    @property
    def intercept_(self) -> Any:
        """The constant, one per output."""
        check_is_fitted(self)
        return self._per_output(self._intercept)

    @property
    def cost_(self) -> Any:
        """Regularised cost ξ, per output."""
        check_is_fitted(self)
        return self._per_output(self._cost)

    @property
    def n_basis_(self) -> int:
        """Number of kernels."""
        check_is_fitted(self)
        return len(self.basis_vectors_)

    @property
    def noise_variance_(self) -> Any:
        """Estimate of the noise variance from the cost, per output."""
        check_is_fitted(self)
        return self._per_output(self._cost / self._effective_rows)

    @property
    def residuals_(self) -> NDArray[np.float64]:
        """y - f(x) of the rows of the fit; ±1 targets for a classifier."""
        check_is_fitted(self)
        return self._columns(self._rows_of_fit()[0])

    @property
    def loo_residuals_(self) -> NDArray[np.float64]:
        """y - f(x) of each row with f fitted without that row, in closed form; ±1 targets for a classifier.

        The kernels and alpha are those of the whole fit.  A row of weight zero is out of the fit already.
        """
        check_is_fitted(self)
        residual, slack = self._rows_of_fit()
        return self._columns(residual / slack[:, None])

    def _rows_of_fit(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Residuals (n, outputs) and 1 - leverage (n,) of all rows given to fit."""
        raise NotImplementedError

    def _relative_variance(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance of a new observation at X in units of the noise variance."""
        raise NotImplementedError

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        rows = self._rows(X)
        return self._kernel().expand(self.basis_vectors_, self._coef, self._intercept, rows)


def _some_weight(sample_weight: ArrayLike | None, X: NDArray[np.float64]) -> NDArray[np.float64]:
    weight = check_weights(sample_weight, X)
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
    return weight


class BatchRegressor(RegressorMixin, BatchLSSVM):
    """Fit and predict of the two regressors."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Several outputs share the kernels and one factorisation.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row's squared error; rows of weight zero are skipped.
        """
        with unchanged_on_error(self):
            rows, outputs = checked_block(self, X, y, reset=True, multi_output=True, y_numeric=True)
            weight = _some_weight(sample_weight, rows)
            self._flat = outputs.ndim == 1
            self._fit_rows(rows, as_targets(outputs), weight)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict, with the standard deviation of a new observation if asked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            The spread of the model, of what its kernels do not span at x, and of the noise, together.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape, only with ``return_std=True``
        """
        mean = self._columns(self._scores(X))
        if not return_std:
            return in_precision_of(X, mean)
        relative = self._relative_variance(self._rows(X))
        std = self._columns(np.sqrt(relative[:, None] * (self._cost / self._effective_rows)))
        return in_precision_of(X, mean, std)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class BatchClassifier(ClassifierMixin, BatchLSSVM):
    """Fit and predict of the two classifiers."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero are skipped; a class that has no other is not a class.
        """
        with unchanged_on_error(self):
            rows, labels = checked_block(self, X, y, reset=True)
            check_classification_targets(labels)
            weight = _some_weight(sample_weight, rows)
            self.classes_ = np.unique(labels[weight > 0])
            if len(self.classes_) < 2:
                raise ValueError(
                    f"a classifier needs at least 2 classes, got {how_few(self.classes_)}: give rows of another"
                )
            self._flat = len(self.classes_) == 2
            targets = class_targets(self.classes_, labels, weight)
            # of rows of positive weight; the others may carry labels that are no class
            self._codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
            self._fit_rows(rows, targets, weight)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores: (n_samples,) for two classes, else (n_samples, n_classes)."""
        return in_precision_of(X, self._columns(self._scores(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest score of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp) if self._flat else scores.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (n_samples, n_classes): a softmax of the scores."""
        return in_precision_of(X, softmax(self._scores(X), self.temperature_))

    @property
    def temperature_(self) -> float:
        """Factor on the scores inside the softmax of ``predict_proba``, from leave-one-out scores.

        One unit of weight is left out at a time, so that a weight of two is two rows here too.
        """
        check_is_fitted(self)
        if "temperature" not in self._cache:
            used = self._sample_weight > 0
            residual, slack = (part[used] for part in self._rows_of_fit())
            weight = self._sample_weight[used]
            unit = 1.0 - (1.0 - slack) / np.maximum(weight, 1.0)
            codes = self._codes[used]
            targets = np.full(residual.shape, -1.0)
            if self._flat:
                targets[codes == 1, 0] = 1.0
            else:
                targets[np.arange(len(codes)), codes] = 1.0
            scores = targets - residual / np.maximum(unit, np.finfo(float).eps)[:, None]
            self._cache["temperature"] = fit_temperature(scores, codes, weight)
        return float(self._cache["temperature"])
