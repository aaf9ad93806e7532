"""Dense LS-SVM: estimators over ``cpp/core/batch/lssvm.hpp``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table
from ..base.kernel import parameters
from ..base.memory import ROW_VECTORS, check_memory
from .base import BatchClassifier, BatchLSSVM, BatchRegressor


class _DenseLSSVM(BatchLSSVM):
    def _check_memory(self, n: int, d: int, outputs: int) -> None:
        grid = "loo" in (self.alpha, self.gamma if isinstance(self.gamma, str) else None)
        alphas = len(self._alphas()) if grid else 0
        check_memory(
            _core.DenseProblem.memory_needed(n=n, d=d, outputs=outputs, alphas=alphas) + n * ROW_VECTORS,
            f"a dense LS-SVM on {n} rows",
            "use SparseLSSVMRegressor or SparseLSSVMClassifier with max_start well below the number of rows, an "
            "online estimator, or fit on a subset of the rows",
        )

    def _make_problem(self, kernel: _core.Kernel, table: Table, part: Array) -> _core.DenseProblem:
        return _core.DenseProblem(kernel, X=table.X, Y=table.targets, part=part, fit_intercept=bool(self.fit_intercept))

    def _take(self, problem: _core.DenseProblem, table: Table, targets: Array, v: Array) -> None:
        found = problem.solve(v, self.alpha_)
        order = np.argsort(table.rows)
        self._keep_model(table.given, table.rows[order], found["coef"][order], found["intercept"], found["cost"])
        place = np.argsort(order)
        self._group = np.where(table.group < 0, -1, place[table.group])
        self._residual = np.ascontiguousarray((self.alpha_ * found["coef"] / v[:, None])[table.group])
        rest = np.flatnonzero(table.group < 0)
        if len(rest):
            fitted = self._fitted().predict(table.given[rest])
            self._residual[rest] = targets[rest] - fitted

    def _merged(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Rows of positive weight, the kernel of each, and the weight of each kernel's rows together."""
        used = np.flatnonzero(self._sample_weight > 0)
        # files of version 0.1.0 have a kernel for every row
        group = self._group[used] if hasattr(self, "_group") else np.arange(len(used))
        return used, group, np.bincount(group, self.weights_[used]).astype(np.float64)

    def _factor(self) -> Array:
        """Cholesky factor, computed on first use: saved models contain no n x n matrix."""
        if "factor" not in self._cache:
            n = self.n_basis_
            # A as LLT leaves it, and the copy that is kept
            check_memory(2 * n * n, f"the factor of {n} rows", "fit on a subset of the rows")
            rows: dict[str, Any] = {"X": self.basis_vectors_, "Y": np.zeros((n, 1))}
            problem = _core.DenseProblem(self._kernel(), **rows, fit_intercept=self._has_intercept)
            self._cache["factor"] = problem.solve(self._merged()[2], self.alpha_, keep_factor=True)["factor"]
        return self._cache["factor"]

    def _rows_of_fit(self) -> tuple[Array, Array]:
        if "slack" not in self._cache:
            used, group, v = self._merged()
            self._cache["slack"] = self._slack_of_rows(used, group, v, self._dense_slack(self._factor(), v))
        return self._residual, self._cache["slack"]

    def _relative_variance(self, X: Array) -> Array:
        return self._dense_variance(self._factor(), self._merged()[2], X)

    def _log_det(self) -> float:
        how: dict[str, Any] = {"alpha": self.alpha_, "fit_intercept": self._has_intercept}
        return _core.dense_log_det(self._factor(), sample_weight=self._merged()[2], **how)

    def _relative_covariance(self, X: Array) -> Array:
        return self._dense_covariance(self._factor(), self._merged()[2], X)


@parameters
class LSSVMRegressor(BatchRegressor, _DenseLSSVM):
    """Least-squares support vector regression with a kernel on every row.

    Minimises Σᵢ vᵢ(yᵢ - w·φ(xᵢ) - b)² + alpha |w|² by one Cholesky factorisation [1]_ [2]_, which gives several outputs
    and the leave-one-out residuals too.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear", "auto", "precomputed"}, callable
        With r² = Σγⱼ(xⱼ-x'ⱼ)²: ``exp(-r²)``, ``exp(-Σγⱼ|xⱼ-x'ⱼ|)``, Matérn 3/2 and 5/2 of length 1,
        ``(Σγⱼxⱼx'ⱼ + coef0)^degree``, ``x·x'``.  "auto" is chosen on rows held out, as in
        :class:`SubsetLSSVMRegressor`.  A function of two rows returns k(x, x'), and rows may then be anything it takes:
        texts, graphs.  With "precomputed" X is the matrix of kernel values, with the rows of the fit in columns.
        Sums and products of kernels on groups of columns: :class:`kernsift.kernels.On`.
    gamma : float, array (n_features,), Warp, "scale", "standard", "median", "learn", "warp" or "loo", default="scale"
        Width.  "scale" is one over the sum of the features' variances, "standard" the same with each feature in units
        of its own deviation, "median" 1/(2s²) with s the median distance,
        "loo" the one of ``gammas`` with the smallest leave-one-out error, "learn" one per feature by
        :func:`learn_gamma`, "warp" a :class:`Warp`.
    degree, coef0 : int, float
        Of the polynomial kernel.
    alpha : float or "loo", default=0.1
        Ridge, a total weight against the sum of squared errors (see Notes), or the one of ``alphas`` with the
        smallest leave-one-out error.
    alphas : array-like, optional
        Grid for alpha="loo"; 21 values from 1e-6 to 1e4 by default.
    gammas : array-like of shape (k,) or (k, n_features), optional
        Grid for gamma="loo"; seven values about "scale" by default.
    robust : bool, default=False
        Take outliers out: weights from the residuals (full within 2.5 robust standard deviations, 1e-4 beyond 3 [2]_)
        on top of ``sample_weight``, fitted again until they settle.
    fit_intercept : bool, default=True
        The unpenalised constant b.
    noise : {"auto", "constant", "input"}, default="auto"
        Whether the noise depends on x, as in :class:`SubsetLSSVMRegressor`.
    validation : {"random", "time"}, list of (train, test) or array of shape (n_samples,), default="random"
        Rows that kernel="auto" holds out, as in :class:`SubsetLSSVMRegressor`.
    categorical_features, periods
        Columns of every kind, as in :class:`SubsetLSSVMRegressor`.
    keep : {"all", "predict"}, default="all"
        What ``fit`` leaves, as in :class:`SubsetLSSVMRegressor`.
    random_state : int, RandomState, Generator or None
        For gamma="median" on many rows.

    Attributes
    ----------
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
        The model: f(x) = intercept_ + Σᵢ dual_coef_[i] k(basis_vectors_[i], x), over the rows of positive weight; rows
        that repeat, targets included, have one kernel.
    alpha_, gamma_, kernel_ : float, ndarray, str
        In use.
    search_ : list of dict
        With kernel="auto", as in :class:`SubsetLSSVMRegressor`.
    loo_residuals_, residuals_ : ndarray of the shape of y
        Errors of the rows of the fit, each left out and not.
    loo_grid_ : dict
        With "loo": ``alpha``, ``gamma`` and the mean squared leave-one-out ``error`` of every pair.
    weights_ : ndarray of shape (n_samples,)
        Weights in use: ``sample_weight``, times the robust ones.
    cost_, noise_variance_, gcv_, log_evidence_ : float or ndarray
        Minimum of the objective, the noise variance estimated from it, and two scores of the model as a whole.
    noise_ : str
        "input" where the noise of an output depends on x, else "constant".
    n_basis_, n_samples_seen_ : int

    Notes
    -----
    ``alpha`` means the same in the whole package.  Against the papers' γ: alpha = 1/(2γ) for the objective
    ½|w|² + γΣe², l/(2γ) for ½|w|² + (γ/l)Σe² on l rows, and 1/γ for Suykens' ½|w|² + (γ/2)Σe².  (The linear systems
    printed in [1]_ for the first two lack the factor 2.)

    A fit takes 8 n² bytes and n³/3 multiplications.  A choice by leave-one-out error costs an eigen-decomposition for
    each width, and the criterion itself can be over-fitted when many widths compete for few rows [3]_: keep the grids
    short, and judge the model on rows that took no part.  Of a row of weight two one unit is
    left out at a time, as of the row twice.

    References
    ----------
    .. [1] G. C. Cawley and N. L. C. Talbot, "Improved sparse least-squares support vector machines",
       Neurocomputing 48, 2002.
    .. [2] J. A. K. Suykens et al., "Weighted least squares support vector machines", Neurocomputing 48, 2002.
    .. [3] G. C. Cawley and N. L. C. Talbot, "On over-fitting in model selection", JMLR 11, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import LSSVMRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = LSSVMRegressor(gamma=1.0, alpha="loo").fit(X, np.sinc(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sinc(X[:, 0])).max() < 0.1)
    True

    Two curves that fit the rows, at ten places:

    >>> model.sample_y(X[::20], n_samples=2, random_state=0, noise=False).shape
    (10, 2)
    """

    def _left_out_rows(self) -> Array:
        return np.ascontiguousarray(self.basis_vectors_[self._merged()[1]])


@parameters
class LSSVMClassifier(BatchClassifier, _DenseLSSVM):
    """Least-squares support vector classification with a kernel on every row.

    Regresses on ±1 targets, one column a class (one column in all for two classes), all on one factorisation.

    Parameters
    ----------
    kernel, gamma, degree, coef0, alpha, alphas, gammas, robust, fit_intercept, validation, \
categorical_features, periods, keep, random_state
        As in :class:`LSSVMRegressor`; errors are those of the ±1 targets.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, times ``sample_weight``; 1 for a class that is not named.  "balanced" is the weight of
        all rows, over the number of classes times the weight of the class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    basis_vectors_, basis_indices_, dual_coef_, intercept_, alpha_, gamma_, loo_residuals_, residuals_, loo_grid_, \
weights_, cost_, noise_variance_, n_basis_, n_samples_seen_
        As in :class:`LSSVMRegressor`.
    temperature_ : float
        Factor on the scores inside the softmax of ``predict_proba``, from leave-one-out scores.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import LSSVMClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=7)
    >>> model = LSSVMClassifier(gamma=2.0).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True
    """
