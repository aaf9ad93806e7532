"""Kernel recursive least squares: the online model with Engel's unsupervised rule and no ridge."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base.kernel import KERNELS, KernelParameters, parameter, parameters
from ..base.objects import Objects
from ..base.targets import Rows
from ..base.types import KernelSetting, RandomState
from ..base.validation import COUNT, NOT_NEGATIVE, Interval, check_array, check_weights, transaction
from .online import OnlineLSSVMRegressor
from .parameters import LEAST_MEMORY

ON_FULL = ("stop", "drop-oldest", "prune")


@parameters
class KRLSParameters(KernelParameters):
    """Parameters of `KRLSRegressor`."""

    kernel: KernelSetting = parameter(set(KERNELS), callable, default="rbf")
    novelty_tol: float = parameter(Interval(Real, 0, 1, closed="left"), default=1e-3)
    max_basis: int | None = parameter(COUNT, None, default=None)
    alpha: float | Literal["auto", "gcv"] = parameter(NOT_NEGATIVE, default=0.0)
    on_full: str = parameter(set(ON_FULL), default="stop")
    forgetting: float | Literal["auto"] | ArrayLike = parameter(
        Interval(Real, LEAST_MEMORY, 1, closed="both"), "array-like", default=1.0
    )
    n_jobs: int | None = None
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)


class KRLSRegressor(KRLSParameters, OnlineLSSVMRegressor):
    """Kernel recursive least squares with approximate linear dependence.

    A row becomes a kernel when its squared distance to the span of the kernels there are exceeds ``novelty_tol``,
    whatever its target; every other row is a recursive least-squares step in O(m²) [1]_.  There is no intercept and,
    by default, no ridge.  It is :class:`OnlineLSSVMRegressor` with another rule and the same state.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"} or callable, default="rbf"
        A function of two rows returns k(x, x').  Rows may then be anything it takes, such as texts: see below.
    gamma : float, array of shape (n_features,), Warp, "scale", "standard" or "median", default="scale"
    degree, coef0 : int, float
        The kernel, as in :class:`OnlineLSSVMRegressor`.
    novelty_tol : float in [0, 1), default=1e-3
        The paper's ν, relative to k(x, x).
    max_basis : int or None, default=None
        Most kernels kept; None for no limit.
    alpha : float, default=0.0
        Ridge.  0 is the paper; more gives the regularised form, and with it spreads, evidence and ``refit``.
    on_full : {"stop", "drop-oldest", "prune"}, default="stop"
        What a novel row means once there are ``max_basis`` kernels: nothing more than any other row (the dictionary is
        frozen, and ``audit_`` counts the rows so), the oldest kernel leaves, or the kernel that lowers the cost least.
    forgetting : float in [1e-6, 1] or list of floats, default=1.0
        What the past keeps with each row, the rest being the prior; several memories compete, as in
        :class:`OnlineLSSVMRegressor`.  Below 1 it needs ``alpha > 0``.
    n_jobs : int or None, default=None
        Threads for predictions.
    random_state : int, RandomState, Generator or None
        For gamma="median" on many rows.

    Attributes
    ----------
    basis_vectors_, basis_indices_, dual_coef_ : ndarray
        The model: f(x) = Σᵢ dual_coef_[i] k(basis_vectors_[i], x).
    n_basis_, n_samples_seen_, n_refused_ : int
        Kernels, rows seen, rows too close to the basis for the arithmetic.
    cost_ : float or ndarray
        Sum of squared errors on the rows as the dictionary saw them, plus the ridge.
    audit_ : dict
        Counts of rows admitted, evicted and rejected.

    References
    ----------
    .. [1] Y. Engel, S. Mannor and R. Meir, "The Kernel Recursive Least-Squares Algorithm", IEEE Transactions on Signal
       Processing 52(8), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import KRLSRegressor
    >>> rng = np.random.default_rng(7)
    >>> X = rng.uniform(-10, 10, (1000, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(1000)
    >>> model = KRLSRegressor(gamma=0.1).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sinc(X[:, 0] / np.pi)).max() < 0.1)
    True
    >>> model.n_basis_ < 30
    True

    Texts, by their edit distance:

    >>> def edits(a, b):
    ...     row = list(range(len(b) + 1))
    ...     for i, x in enumerate(a, 1):
    ...         last, row[0] = row[0], i
    ...         for j, z in enumerate(b, 1):
    ...             last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != z))
    ...     return row[-1]
    >>> words = ["cat", "cart", "car", "dog", "dig", "dug"]
    >>> model = KRLSRegressor(kernel=lambda a, b: np.exp(-edits(a, b)), alpha=0.01)
    >>> for word, legs in zip(words, [4.0, 2.0, 2.0, 4.0, 0.0, 0.0]):
    ...     model.update(word, legs)
    >>> bool(model.predict_one("bat") > model.predict_one("big")), model.n_basis_
    (True, 6)
    """

    # What makes the online model Engel's.
    admission = "novelty"
    usefulness_tol = 0.0
    fit_intercept = False
    engine = "orthonormal"
    swap_until = None
    exact_rows = 0
    oversample = 1
    hysteresis = 1.0
    window = None
    linear = False
    error_forecast = False
    noise = "constant"

    # --- kernels of anything: coordinates on the objects that were novel ---

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model from the beginning; a stream learns the rows in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or with ``kernel=callable`` a list of objects
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero are skipped.
        """
        if not callable(self.kernel):
            return super().fit(X, y, sample_weight)
        self._validate_params()
        with transaction(self, *self._former, "columns_", "_core", "_flat") as new:
            new._go_on(X, y, sample_weight)
        return self

    def _go_on(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> None:
        if not callable(self.kernel):
            super()._go_on(X, y, sample_weight, *classes)
            return
        objects = X if isinstance(X, np.ndarray) else list(X)  # type: ignore[arg-type]
        targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        if len(targets) != len(objects):
            raise ValueError(f"y has {len(targets)} rows but X has {len(objects)}")
        weight = check_weights(sample_weight, targets.reshape(len(targets), -1))
        flat = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        begun = self._n_outputs()
        if begun not in (None, targets.shape[1]):
            raise ValueError(f"y has {targets.shape[1]} outputs but this model began with {begun}")
        for x, target, own in zip(objects, targets, weight, strict=True):
            row = Rows(self._coordinates(x, own > 0), target[None], np.array([own]))
            if self._core is None:
                self._flat, self.n_features_in_, self._encodes = flat, 1, True
                self._begin_stream(row)
            self._learn(row)

    def _coordinates(self, x: Any, learned: bool) -> Any:
        """Coordinates of an object, which becomes one of those that span the model where it is novel."""
        if self._core is None:
            self.columns_, row = Objects.learn(self.kernel, [x], None, None)
            return row
        self._check_unchanged_params()
        objects = self.columns_
        w = objects.row(self, x)
        own = float(objects.kernel(x, x))
        left = own - float(w @ w)
        if not np.isfinite(own) or left < -1e-8 * own:
            raise ValueError(f"the kernel is not positive semidefinite: k(x, x) is {own:.3g} of {x!r:.40}")
        full = self.max_basis is not None and len(objects.chosen) >= self.max_basis
        if not learned or full or left <= max(self.novelty_tol, 1e-12) * own:
            return w[None]
        self.columns_ = objects.grown(x, w, left)
        self._core = self._core.add_features(np.ones(1))
        return np.append(w, np.sqrt(left))[None]

    def update(self, x: Any, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row without scikit-learn's validation, in microseconds.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64, or with ``kernel=callable`` an object
        y : float or ndarray of shape (n_outputs,)
        sample_weight : float, default=1.0
        """
        if not callable(self.kernel):
            super().update(x, y, sample_weight)
            return
        with transaction(self) as new:
            if new._core is None:
                new._validate_params()
            new._go_on([x], np.asarray(y, dtype=np.float64)[None], [sample_weight])
