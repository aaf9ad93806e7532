"""Forward selection of kernels: estimators over ``cpp/core/select/forward_selection.hpp``."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import Array
from ..base.intervals import Intervals
from ..base.kernel import parameter, parameters
from ..base.left_out import LeftOut
from ..base.noise import NoiseField
from ..base.probabilities import fit_temperature, softmax
from ..base.sets import LeftOutSets
from ..base.targets import Rows
from .orols_base import OROLSBase

# Rows of a kernel block made in Python (the variance of the predictions).
_BLOCK = 1024


@parameters
class OROLSRegressor(Intervals, OROLSBase):
    """Order-recursive orthogonal least squares regression: kernels chosen one by one, the ridge with them.

    From a constant, each step adds the kernel column that the selection rule prefers, orthogonalised against those
    before it [1]_, re-estimates the ridge by generalised cross-validation in closed form [2]_, and stops where that
    score has its minimum.

    There is no ``partial_fit``: the basis is orthogonal over the training rows, and a further row would change every
    inner product already divided by. For streams see :class:`OnlineLSSVMRegressor`.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear", "auto", "precomputed"}, callable
        "auto" is chosen on rows held out, as in :class:`SubsetLSSVMRegressor`.
    gamma : float, array of shape (n_features,), Warp, "scale", "standard", "median", "learn" or "warp", default="scale"
        Width, as in :class:`SubsetLSSVMRegressor`.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gammas : list of widths, optional
        Several kernels in one dictionary: every (row, width) pair is a candidate. Each entry as ``gamma``, which is
        then not used.
    selection : {"residual", "error-reduction"}, default="residual"
        "residual" takes the row with the largest residual (OROLS; O(n m) a step), "error-reduction" the candidate that
        lowers the training error most (OLS; O(n²) kernel values a step, or ``n_candidates`` n).
    n_candidates : int, optional
        Compare this many random candidates a step instead of all (59: with probability 0.95 one of the best 5 %).
        For "error-reduction" only.
    candidates : array of row numbers, optional
        Rows that may become kernels; by default all.
    alpha : float or "gcv", default="gcv"
        Ridge on the coefficients of the orthogonal columns; the constant carries none. "gcv": re-estimated after
        every column, never below 1e-6 of the largest squared column.
    stop : {"gcv", "evidence", "bic", "loo", "alpha"} or None, default="gcv"
        Which score says enough: after ``patience`` columns without a new minimum, and return to the minimum. "gcv":
        generalised cross-validation; "evidence": the marginal likelihood at the present ridge; "bic": Schwarz's
        criterion (Orr 1996); "loo": the squared errors of rows left out, in closed form. "alpha": when alpha has not
        changed for ``patience`` columns (the paper's rule, whose result depends much on ``tol``). None: at
        ``max_basis``.
    patience : int, default=10
    tol : float, default=1e-4
        Relative change of the score or of alpha that counts.
    max_basis : int, float in (0, 1] or None, default=500
        Most kernels; a float is a fraction of the rows, None allows as many as rows.
    error_tol : float, default=0
        Also stop when the training error is at most this fraction of the variance.
    max_condition : float, default=1e7
        Also stop when the longest orthogonal column is this many times the shortest.
    fit_intercept : bool, default=True
        An unpenalised constant.
    cache_size : float, default=200
        Megabytes of kernel values that selection="error-reduction" over all candidates may keep between two steps; what
        does not fit is made again.
    n_jobs : int, optional
        Threads for large problems; the result does not depend on it.
    noise : {"auto", "constant", "input"}, default="auto"
        Whether the noise depends on x, as in :class:`SubsetLSSVMRegressor`.
    validation : {"random", "time"}, list of (train, test) or array of shape (n_samples,), default="random"
        Rows that kernel="auto" holds out, as in :class:`SubsetLSSVMRegressor`.
    categorical_features, periods
        Columns of every kind, as in :class:`SubsetLSSVMRegressor`.
    keep : {"all", "predict"}, default="all"
        What ``fit`` leaves, as in :class:`SubsetLSSVMRegressor`.
    random_state : int, RandomState, Generator or None
        For ``n_candidates``, and gamma="median" on many rows.

    Attributes
    ----------
    basis_vectors_, basis_indices_, basis_gammas_ : ndarray
        Centres of the kernels, their row numbers and widths, in the order chosen.
    dual_coef_, intercept_ : ndarray
        The model: f(x) = intercept_ + Σᵢ dual_coef_[i] k(basis_vectors_[i], x).
    alpha_, gcv_, cost_ : float or ndarray
        Ridge, score and regularised cost of the model.
    noise_variance_ : float or ndarray
        With up to 200 rows, or where the model spends more than a quarter of their degrees of freedom: the mean squared
        error of a fifth of the rows at a time, in units of its predicted variance, with the kernels chosen again
        without that fifth. Elsewhere from the residuals, a degree of freedom counted 1.4 times.
    noise_ : str
        "input" where the noise of an output depends on x, else "constant".
    gcv_path_, alpha_path_, error_path_ : ndarray
        GCV, ridge and mean squared training error with 0, 1, 2, ... kernels, those given up at the end included.
    score_path_ : ndarray
        What ``stop`` looks at, up to a factor, with 0, 1, 2, ... kernels; GCV where it is no score.
    selection_path_ : ndarray
        Row numbers in the order chosen, those given up at the end included.
    n_basis_, n_samples_seen_, n_dependent_ : int
        Kernels, rows seen, candidates refused because their column depends on those chosen.
    stopped_by_ : str
        The rule of ``stop``, "max_basis", "error", "condition", "exhausted" (no candidate left, or a thousand in a row
        that depend on those chosen) or "no_freedom" (as many columns as rows).

    Notes
    -----
    Memory is 8 n m bytes for n rows and m kernels while fitting; no n x n matrix is formed. Whether there is
    room for ``max_basis`` kernels is asked before the first (with None and a stop rule nothing is asked ahead). Weights
    whose sum exceeds the number of rows count as repetitions in the score.

    References
    ----------
    .. [1] E. Andelić et al., "Order-recursive updates for nonlinear discriminants", IJCAI 2007.
    .. [2] M. Orr, "Regularisation in the selection of radial basis function centers", Neural Computation 7, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OROLSRegressor
    >>> rng = np.random.default_rng(7)
    >>> X = rng.uniform(-10, 10, (200, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(200)
    >>> model = OROLSRegressor(gamma=0.1).fit(X, y)
    >>> bool(model.n_basis_ < 25 and np.abs(model.predict(X) - np.sinc(X[:, 0] / np.pi)).max() < 0.15)
    True
    >>> of_a_constant = model.pseudoinverse(X) @ np.ones(200)  # the constant, and no kernel
    >>> bool(np.allclose(of_a_constant, np.eye(1 + model.n_basis_)[0], atol=1e-6))
    True
    """

    def _fit_rows(self, rows: Rows) -> None:
        found = self._select(rows.X, [rows.targets], rows.weight)[0]
        self._keep_one(rows.X, found)
        self._spread = found["spread"]
        errors, model, weight = (found[f"left_out_{name}"] for name in ("errors", "model", "weight"))
        self._calibration = LeftOut.of(errors, model, found["noise"], weight)
        self._field = NoiseField.of(self._fitted(), rows.X[found["left_out_rows"]], self._calibration)

    def _noise_field(self) -> NoiseField | None:
        return getattr(self, "_field", None)  # None of an older version

    def _mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        relative = np.empty(len(X))
        for first in range(0, len(X), _BLOCK):
            part = slice(first, first + _BLOCK)
            relative[part] = 1.0 + ((self._design(X[part]) @ self._spread) ** 2).sum(axis=1)
        model = self._fitted()
        return model.predict(X), relative[:, None] * model.noise_variance

    def _mean_and_covariance(self, X: Array) -> tuple[Array, Array, Array]:
        model, root = self._fitted(), self._design(X) @ self._spread
        noise = model.noise_variance
        return model.predict(X), (root @ root.T) * noise[:, None, None], noise

    def pseudoinverse(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """Return K† = U⁻¹H⁻¹Qᵀ for the design K = [1 k(X, basis)], (constant and n_basis_, n_samples).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit: the estimator does not keep them.
        sample_weight : array-like of shape (n_samples,), optional
            The map is then from y to the weighted least squares coefficients.
        """
        return self._pseudoinverse(X, sample_weight, slice(None))


@parameters
class OROLSClassifier(LeftOutSets, OROLSBase):
    """Order-recursive orthogonal least squares classification on ±1 targets, one column a class.

    Parameters
    ----------
    basis : {"per-class", "shared"}, default="per-class"
        "per-class": each class against the rest chooses its own kernels and alpha (the paper). "shared": one
        dictionary and one alpha for all classes, the residual of a row being its norm over the classes: fewer kernels
        in all, one fit instead of one a class.
    kernel, gamma, degree, coef0, gammas, selection, n_candidates, candidates
        As in :class:`OROLSRegressor`.
    alpha, stop, patience, tol, max_basis, error_tol, max_condition, fit_intercept, cache_size, n_jobs, validation, \
categorical_features, periods, keep, random_state
        As in :class:`OROLSRegressor`; ``max_basis`` is per class with basis="per-class".
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, times ``sample_weight``; 1 for a class that is not named.  "balanced" is the weight of
        all rows, over the number of classes times the weight of the class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    basis_vectors_, basis_indices_, basis_gammas_ : ndarray
        Centres of the kernels; with basis="per-class" those of any class, ascending by row.
    dual_coef_, intercept_ : ndarray
        Zero where a class does not use a kernel.
    n_basis_, n_samples_seen_ : int
    n_basis_per_class_ : ndarray of shape (n_classes,), or (1,) for two classes
    class_basis_ : list of ndarray
        For each class its kernels, as places in ``basis_vectors_`` in the order chosen.
    alpha_, gcv_, gcv_path_, score_path_, alpha_path_, error_path_, selection_path_, n_dependent_, stopped_by_
        As in :class:`OROLSRegressor`; lists over the classes with basis="per-class" and more than two classes.

    Notes
    -----
    There is no ``partial_fit``; see :class:`OROLSRegressor`. Probabilities are a softmax of the scores with one
    temperature, fitted to rows that no selection saw where rows are few or kernels many, else to left-out scores.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import OROLSClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=7)
    >>> model = OROLSClassifier(gamma=2.0, max_basis=50).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True
    """

    basis: Literal["per-class", "shared"] = parameter({"per-class", "shared"}, default="per-class")

    def _fit_rows(self, rows: Rows) -> None:
        if self._flat or self.basis == "shared":
            found = self._select(rows.X, [rows.targets], rows.weight)
            self._keep_one(rows.X, found[0])
            self.class_basis_ = [np.arange(self.n_basis_)] * rows.targets.shape[1]
        else:
            columns = [np.ascontiguousarray(column[:, None]) for column in rows.targets.T]
            found = self._select(rows.X, columns, rows.weight)
            self._keep_classes(rows.X, found)
        self.n_basis_per_class_ = np.array([len(b) for b in self.class_basis_])
        self._calibrate(rows, found)

    def _calibrate(self, rows: Rows, found: list[dict[str, Any]]) -> None:
        """Fit the temperature to rows left out of every selection."""
        common = found[0]["left_out_rows"]
        for other in found[1:]:
            common = np.intersect1d(common, other["left_out_rows"])
        errors, weight = [], np.empty(len(common))
        for one in found:
            order = np.argsort(one["left_out_rows"])
            place = order[np.searchsorted(one["left_out_rows"], common, sorter=order)]
            errors.append(one["left_out_errors"][place])
            weight = one["left_out_weight"][place]
        targets = np.ascontiguousarray(rows.targets[common])
        scores, codes = targets - np.hstack(errors), self._codes_of(targets)
        self.temperature_ = fit_temperature(scores, codes, weight)
        self._calibration = LeftOut.of_classes(softmax(scores, self.temperature_), codes, weight)

    def _keep_classes(self, X: Array, found: list[dict[str, Any]]) -> None:
        """Take over one model a class on the union of their kernels."""
        pairs = [f["width"][: f["n_basis"]] * len(X) + f["chosen"][: f["n_basis"]] for f in found]
        # by row, then width
        union = np.unique(np.concatenate(pairs))
        union = union[np.lexsort((union // len(X), union % len(X)))]
        place = {int(pair): i for i, pair in enumerate(union)}
        self.class_basis_ = [np.array([place[int(p)] for p in mine], dtype=np.intp) for mine in pairs]
        coef = np.zeros((len(union), len(found)))
        for column, (mine, f) in enumerate(zip(self.class_basis_, found, strict=True)):
            coef[mine, column] = f["coef"][:, 0]
        self._keep(X, union % len(X), union // len(X), coef, found)

    def pseudoinverse(self, X: ArrayLike, sample_weight: ArrayLike | None = None, label: Any = None) -> Array:
        """Return K† = U⁻¹H⁻¹Qᵀ for the design K = [1 k(X, basis)]; with several bases, of the class ``label``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit: the estimator does not keep them.
        sample_weight : array-like of shape (n_samples,), optional
        label : class label, optional
            Needed when each of several classes has its own kernels.
        """
        self._fitted()
        if isinstance(self.stopped_by_, str):
            return self._pseudoinverse(X, sample_weight, self.class_basis_[0])
        known = np.flatnonzero(self.classes_ == label)
        if not known.size:
            raise ValueError(f"label={label!r} must be one of {self.classes_.tolist()}: each class has its own kernels")
        return self._pseudoinverse(X, sample_weight, self.class_basis_[int(known[0])])
