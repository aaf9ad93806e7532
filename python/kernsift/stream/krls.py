"""Kernel recursive least squares: the online model with Engel's unsupervised rule and no ridge."""

from __future__ import annotations

from numbers import Real
from typing import Any

from numpy.typing import ArrayLike

from ..base.kernel import KernelParameters, parameter, parameters
from ..base.validation import COUNT, NOT_NEGATIVE, Interval
from .online import OnlineLSSVMRegressor
from .parameters import LEAST_MEMORY

ON_FULL = ("stop", "drop-oldest", "prune")


@parameters
class KRLSParameters(KernelParameters):
    """Parameters of `KRLSRegressor`."""

    novelty_tol: float = parameter(Interval(Real, 0, 1, closed="left"), default=1e-3)
    max_basis: int | None = parameter(COUNT, None, default=None)
    alpha: float | str = parameter(NOT_NEGATIVE, default=0.0)
    on_full: str = parameter(set(ON_FULL), default="stop")
    forgetting: float | str | ArrayLike = parameter(
        Interval(Real, LEAST_MEMORY, 1, closed="both"), "array-like", default=1.0
    )
    n_jobs: int | None = None
    random_state: Any = parameter("random_state", default=None)


class KRLSRegressor(KRLSParameters, OnlineLSSVMRegressor):
    """Kernel recursive least squares with approximate linear dependence.

    A row becomes a kernel when its squared distance to the span of the kernels there are exceeds ``novelty_tol``,
    whatever its target; every other row is a recursive least-squares step in O(m²) [1]_.  There is no intercept and,
    by default, no ridge.  It is :class:`OnlineLSSVMRegressor` with another rule and the same state.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
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
    random_state : int, RandomState or None
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
