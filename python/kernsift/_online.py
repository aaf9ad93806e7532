"""Online LS-SVM estimators: thin skins over the C++ core (``cpp/core/online_lssvm.hpp``)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets

from . import _core
from ._classes import class_targets
from ._kernel import KERNEL_CONSTRAINTS, make_kernel
from ._persist import pack, unpack
from ._validation import (
    Interval,
    StrOptions,
    as_targets,
    check_is_fitted,
    check_rows,
    check_weights,
    fit_context,
    is_empty_block,
    unchanged_on_error,
    validate_data,
)

ADMISSIONS = ("product", "two-part", "per-sample", "novelty")
OUTCOMES = (
    "rejected_novelty",
    "rejected_usefulness",
    "admitted",
    "swapped",
    "bounced",
    "refused",
    "ignored",
)
_ENGINES = {"orthonormal": _core.OnlineLSSVM, "inverse": _core.OnlineInverse}


class _OnlineLSSVM(BaseEstimator):
    """Parameters, state and fitted attributes of the online estimators."""

    _parameter_constraints: dict[str, list[Any]] = {
        **KERNEL_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_basis": [Interval(Integral, 1, None, closed="left"), None],
        "novelty_tol": [Interval(Real, 0, None, closed="left")],
        "usefulness_tol": [Interval(Real, 0, None, closed="left")],
        "admission": [StrOptions(set(ADMISSIONS))],
        "fit_intercept": ["boolean"],
        "engine": [StrOptions(set(_ENGINES))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: str | float | ArrayLike = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        alpha: float = 0.1,
        max_basis: int | None = 500,
        novelty_tol: float = 1e-2,
        usefulness_tol: float = 1e-4,
        admission: str = "product",
        fit_intercept: bool = True,
        engine: str = "orthonormal",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.max_basis = max_basis
        self.novelty_tol = novelty_tol
        self.usefulness_tol = usefulness_tol
        self.admission = admission
        self.fit_intercept = fit_intercept
        self.engine = engine
        self.random_state = random_state

    # --- learning ---

    def _start(self, X: NDArray[np.float64], weight: NDArray[np.float64], n_outputs: int) -> Any:
        """Make the core for a stream that begins with X."""
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weight, self.random_state)
        return _ENGINES[self.engine](
            kernel,
            n_outputs,
            float(self.alpha),
            float(self.novelty_tol),
            float(self.usefulness_tol),
            self.admission,
            0 if self.max_basis is None else int(self.max_basis),
            bool(self.fit_intercept),
        )

    def _learn(
        self, X: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64], restart: bool
    ) -> NDArray[np.float64]:
        """Send checked rows to the core; answers the predictions made before each row was learned."""
        core = None if restart else self.__dict__.get("_core")
        if core is None:
            core = self._start(X, weight, targets.shape[1])
            self._begun_with = self.get_params(deep=False)
        check_rows(core.kernel, X)
        self._core = core
        apriori, _, _ = core.learn(X, targets, weight)
        return apriori

    def _check_unchanged_params(self) -> None:
        """A stream keeps the parameters it began with: widths and ridge are in its state."""
        for name, begun in self._begun_with.items():
            now = getattr(self, name)
            if now is not begun and not np.array_equal(now, begun):
                raise ValueError(
                    f"{name} was {begun!r} when this stream began and is {now!r} now; call fit to start again, or "
                    f"set_params({name}={begun!r}) to go on"
                )

    # --- state ---

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_core" in state:
            state["_core"] = pack(state["_core"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_core" in state:
            state["_core"] = unpack(state["_core"])
        self.__dict__.update(state)

    def _fitted(self) -> Any:
        core = self.__dict__.get("_core")
        if core is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' first."
            )
        return core

    def _per_output(self, values: NDArray[np.float64]) -> Any:
        return float(values[0]) if self._flat else values

    @property
    def basis_vectors_(self) -> NDArray[np.float64]:
        """The kernels' centres, (n_basis_, n_features_in_)."""
        return self._fitted().basis

    @property
    def basis_indices_(self) -> NDArray[np.int64]:
        """Row numbers of the kernels' centres in the order seen."""
        return self._fitted().indices

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the kernels, (n_basis_,) or (n_basis_, outputs)."""
        coef = self._fitted().coef
        return coef[:, 0] if self._flat else coef

    @property
    def intercept_(self) -> Any:
        """The constant, one per output."""
        return self._per_output(self._fitted().intercept)

    @property
    def n_basis_(self) -> int:
        """Number of kernels."""
        return self._fitted().n_basis

    @property
    def n_samples_seen_(self) -> int:
        """Rows seen, those of weight zero included."""
        return self._fitted().rows_seen

    @property
    def alpha_(self) -> float:
        """The ridge in use."""
        self._fitted()
        return float(self._begun_with["alpha"])

    @property
    def gamma_(self) -> NDArray[np.float64]:
        """Width in use, one per feature."""
        return self._fitted().kernel.gamma

    @property
    def cost_(self) -> Any:
        """Regularised cost ξ, per output."""
        return self._per_output(self._fitted().cost)

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score, per output."""
        return self._per_output(self._fitted().gcv)

    @property
    def log_evidence_(self) -> Any:
        """Log marginal likelihood of the Gaussian process with this basis, at its best signal scale."""
        self._needs_ridge("log_evidence_")
        return self._per_output(self._fitted().log_evidence)

    @property
    def noise_variance_(self) -> Any:
        """Estimate of the noise variance from the cost, per output."""
        return self._per_output(self._fitted().noise_variance)

    @property
    def n_refused_(self) -> int:
        """Rows too close to the span of the basis for the arithmetic (see ``audit_``)."""
        return self.audit_["refused"]

    @property
    def audit_(self) -> dict[str, int]:
        """What became of the rows.

        ``admitted`` (became a kernel; swaps included), ``evicted``, ``rejected_novelty`` and ``rejected_usefulness``
        (by which rule a row did not become a kernel), ``bounced`` (admitted at the cap but itself the least useful),
        ``refused`` (too close to the basis for the arithmetic), ``ignored`` (weight zero).
        """
        counts = dict(zip(OUTCOMES, self._fitted().counters.tolist(), strict=True))
        evicted = counts.pop("swapped")
        counts["admitted"] += evicted
        return {**counts, "evicted": evicted}

    def _needs_ridge(self, what: str) -> None:
        if self.alpha_ == 0:
            raise ValueError(f"{what} needs alpha > 0: without a ridge there is no prior; set alpha and fit again")

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._fitted().predict(self._rows(X))

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")


class OnlineLSSVMRegressor(RegressorMixin, _OnlineLSSVM):
    """Online least-squares support vector regression on a small basis that follows the stream.

    Each row is learned in O(m²) for m kernels, whatever the number of rows seen [1]_.  A row becomes a kernel when
    it is novel and useful; at ``max_basis`` the kernel that lowers the cost least leaves.  The model is the exact
    minimiser of its regularised cost after every row.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
        With r² = Σγⱼ(xⱼ-x'ⱼ)²: ``exp(-r²)``, ``exp(-Σγⱼ|xⱼ-x'ⱼ|)``, Matérn 3/2 and 5/2 of length 1,
        ``(Σγⱼxⱼx'ⱼ + coef0)^degree``, ``x·x'``.
    gamma : float, array of shape (n_features,), "scale" or "median", default="scale"
        Width.  "scale" is one over the sum of the features' variances in the first block, "median" 1/(2s²) with s
        the median distance there.  A stream that begins with a single row should be given a number.
    degree, coef0 : int, float
        Of the polynomial kernel.
    alpha : float, default=0.1
        Ridge: the papers' γ (000) and λ (001).  A total weight, not one per row.
    max_basis : int or None, default=500
        Most kernels kept; None for no limit.
    novelty_tol : float, default=1e-2
        TOL1: squared distance to the span of the basis, relative to k(x, x), from which a row is novel.
    usefulness_tol : float, default=1e-4
        TOL2, relative to the variance of y so far.
    admission : {"product", "two-part", "per-sample", "novelty"}, default="product"
        Of a novel row with distance δ and decrease of the cost u: δu > TOL2 (000), u > TOL2 (001), δu > TOL2 per
        row seen, or always (Engel's unsupervised rule).
    fit_intercept : bool, default=True
        An unpenalised constant; False is the papers' form.
    engine : {"orthonormal", "inverse"}, default="orthonormal"
        How the state is kept: in an orthonormal basis of the kernels' span, or as the papers' explicit inverses,
        a reference that loses up to eleven digits more.
    random_state : int, RandomState or None
        For gamma="median" on many rows.

    Attributes
    ----------
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
        The model: f(x) = intercept_ + Σᵢ dual_coef_[i] k(basis_vectors_[i], x).
    n_basis_, n_samples_seen_, n_refused_ : int
        Kernels, rows seen, rows too close to the basis for the arithmetic.
    cost_, gcv_, noise_variance_, log_evidence_ : float or ndarray
        Read off the state, without the rows.
    audit_ : dict
        Counts of rows admitted, evicted and rejected, by rule.

    References
    ----------
    .. [1] T. Jung and D. Polani, "Sequential Learning with LS-SVM for Large-Scale Data Sets", ICANN 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> rng = np.random.default_rng(7)
    >>> X = rng.uniform(-3, 3, (600, 1))
    >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(600)
    >>> model = OnlineLSSVMRegressor(gamma=1.0)
    >>> for block in range(0, 600, 100):
    ...     model = model.partial_fit(X[block:block + 100], y[block:block + 100])
    >>> bool(np.abs(model.predict(X) - np.sinc(X[:, 0])).max() < 0.1)
    True
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rows from the beginning, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row's squared error; rows of weight zero are skipped.
        """
        with unchanged_on_error(self):
            return self._fit_block(X, y, sample_weight, restart=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows, in their order.  A block without rows changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        """
        if is_empty_block(X):
            return self
        with unchanged_on_error(self):
            return self._fit_block(X, y, sample_weight, restart=not self.__sklearn_is_fitted__())

    def _fit_block(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, restart: bool) -> Self:
        X, y = validate_data(
            self, X, y, reset=restart, dtype=np.float64, order="C", multi_output=True, y_numeric=True
        )
        weight = check_weights(sample_weight, X)
        targets = as_targets(y)
        if restart:
            if not (weight > 0).any():
                raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
            self._flat = y.ndim == 1
        else:
            self._check_unchanged_params()
            if targets.shape[1] != self._fitted().coef.shape[1]:
                raise ValueError(
                    f"y has {targets.shape[1]} outputs but this stream began with {self._fitted().coef.shape[1]}"
                )
        self._learn(X, targets, weight, restart)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict, with the standard deviation of a new observation if asked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            The spread of the model, of what the basis does not span at x, and of the noise, together: the
            augmented predictive variance of 001.  Far from the basis it returns to the prior's.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape, only with ``return_std=True``
        """
        scores = self._scores(X)
        mean = scores[:, 0] if self._flat else scores
        if not return_std:
            return mean
        self._needs_ridge("predict(return_std=True)")
        core = self._fitted()
        spread, delta = core.variance(self._rows(X))
        # [MATH 1.9] alpha w'Cw + delta in units of the prior, whose scale is noise / alpha; plus the noise itself
        relative = 1.0 + spread + delta / self.alpha_
        std = np.sqrt(relative[:, None] * core.noise_variance)
        return mean, (std[:, 0] if self._flat else std)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class OnlineLSSVMClassifier(ClassifierMixin, _OnlineLSSVM):
    """Online least-squares support vector classification, all classes on one basis.

    Regresses on ±1 targets, one column a class (one column in all for two classes), so that k classes share the
    kernels and the inverse and cost little more than one.  Probabilities are a softmax of the scores with one
    temperature, learnt from scores given before their row was seen.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
    gamma : float, array of shape (n_features,), "scale" or "median", default="scale"
    degree, coef0 : int, float
    alpha : float, default=0.1
    max_basis : int or None, default=500
    novelty_tol : float, default=1e-2
    usefulness_tol : float, default=1e-4
    admission : {"product", "two-part", "per-sample", "novelty"}, default="product"
    fit_intercept : bool, default=True
    engine : {"orthonormal", "inverse"}, default="orthonormal"
    random_state : int, RandomState or None
        All as in :class:`OnlineLSSVMRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
    n_basis_, n_samples_seen_, n_refused_ : int
    cost_, gcv_, noise_variance_, log_evidence_ : float or ndarray
    audit_ : dict
    temperature_ : float
        Factor on the scores inside the softmax.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import OnlineLSSVMClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=7)
    >>> model = OnlineLSSVMClassifier(gamma=2.0).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rows from the beginning, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero are skipped; a class that has no other is not a class.
        """
        with unchanged_on_error(self):
            return self._fit_block(X, y, None, sample_weight, restart=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn further rows, in their order.  A block without rows changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All labels the stream can bring; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
        """
        if is_empty_block(X):
            return self
        with unchanged_on_error(self):
            return self._fit_block(X, y, classes, sample_weight, restart=not self.__sklearn_is_fitted__())

    def _fit_block(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        restart: bool,
    ) -> Self:
        X, y = validate_data(self, X, y, reset=restart, dtype=np.float64, order="C")
        check_classification_targets(y)
        weight = check_weights(sample_weight, X)
        if restart:
            if not (weight > 0).any():
                raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
            self.classes_ = np.unique(y[weight > 0] if classes is None else np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(
                    f"a classifier needs at least 2 classes, got 1 class ({self.classes_[0]!r}); in partial_fit, "
                    "name all labels with classes="
                )
            self._flat = len(self.classes_) == 2
            self._calibration = (0.0, 1.0)  # log temperature and its Fisher information
        else:
            self._check_unchanged_params()
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(f"classes={classes!r} differs from the {self.classes_!r} this stream began with")
        targets = self._encode(y, weight)
        apriori = self._learn(X, targets, weight, restart)
        self._calibration = _core.calibrate(apriori, targets, weight, *self._calibration)
        return self

    def _encode(self, y: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """±1 targets, one column a class; one column in all for two classes."""
        hint = "; name all labels in the first partial_fit with classes="
        return class_targets(self.classes_, y, weight, hint)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores: (n_samples,) for two classes, else (n_samples, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if self._flat else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely class of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp) if self._flat else scores.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (n_samples, n_classes)."""
        scores = self._scores(X)
        if self._flat:
            scores = np.hstack([-scores, scores])
        scores = self.temperature_ * (scores - scores.max(axis=1, keepdims=True))
        odds = np.exp(scores)
        return odds / odds.sum(axis=1, keepdims=True)

    @property
    def temperature_(self) -> float:
        """Factor on the scores inside the softmax of ``predict_proba``."""
        self._fitted()
        return float(np.exp(self._calibration[0]))
