"""Feature vector selection as a transformer."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Canonical, canonical_rows, draw_seed
from ..base.estimator import Estimator, is_float32
from ..base.groups import On, Product, Sum
from ..base.kernel import KERNELS, KernelParameters, parameter, parameters
from ..base.memory import ROW_VECTORS, check_memory
from ..base.types import KernelSetting, RandomState
from ..base.validation import (
    COUNT,
    NOT_NEGATIVE,
    Interval,
    check_is_fitted,
    check_rows,
    check_some_weight,
    check_weights,
    fit_context,
    transaction,
    validate_data,
)
from ..base.warp import widths_of
from .task import kernel_for

_BLOCK = 4096


@parameters
class FeatureVectorSelector(KernelParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Choose rows whose kernels span all rows best, and give coordinates in their span.

    Efficient feature vector selection [1]_: greedy on the mean relative reconstruction error in feature space, each
    step over a few random candidates judged on a few random rows, both drawn afresh.  With ``n_candidates=None`` and
    ``n_eval=None`` it is the exact greedy selection of Baudat and Anouar (FVS).  Like ``Nystroem`` it makes linear
    models kernel models: inner products of transformed rows are those of their projections in feature space.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear", "precomputed"}, callable
        As in :class:`OnlineLSSVMRegressor`, or a kernel of your own, as in :class:`LSSVMRegressor`.
    gamma : float, array of shape (n_features,), Warp, "scale", "standard" or "median", default="scale"
        Width.
    degree, coef0 : int, float
        Of the polynomial kernel.
    n_components : int, default=100
        Most rows chosen (the paper's N).
    n_candidates : int or None, default=59
        Candidates of a step (ρ), None for all.  One of 59 is among the best 5 % with probability 0.95.
    n_eval : int or None, default=59
        Rows a candidate is judged on (ν), None for all.
    candidate_tol : float, default=1e-8
        Relative reconstruction error (ε) below which a row is no candidate any more.
    reconstruction_tol : float, default=0.0
        Mean relative reconstruction error (τ) to stop at.
    cache_size : float, default=200
        MB for coordinates of all rows.  Where they fit, the error is exact; where not, only the rows drawn are looked
        at, the cost does not depend on the number of rows, and the error is an estimate.  The choice is the same.
    random_state : int, RandomState, Generator or None
        With an int, ``fit`` does not depend on the order of the rows.

    Attributes
    ----------
    basis_vectors_ : ndarray of shape (n_components_, n_features)
    basis_indices_ : ndarray of shape (n_components_,)
        Rows chosen, in the order chosen.
    reconstruction_error_ : float
        Mean relative reconstruction error of the rows, weighted.
    path_ : ndarray of shape (n_components_,)
        The same after each choice.
    n_components_ : int
    gamma_ : ndarray of shape (n_features,), or Warp

    References
    ----------
    .. [1] G. C. Cawley and N. L. C. Talbot, "Efficient Formation of a Basis in a Kernel Induced Feature Space",
       ESANN 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernsift import FeatureVectorSelector
    >>> X, y = make_moons(400, noise=0.1, random_state=7)
    >>> model = make_pipeline(FeatureVectorSelector(gamma=2.0, n_components=30, random_state=0), RidgeClassifier())
    >>> bool(model.fit(X, y).score(X, y) > 0.98)
    True
    >>> model[0].transform(X).shape  # coordinates in the span of the rows chosen
    (400, 30)
    """

    kernel: KernelSetting = parameter({*KERNELS, "precomputed"}, callable, On, Product, Sum, default="rbf")
    n_components: int = parameter(COUNT, default=100)
    n_candidates: int | None = parameter(COUNT, None, default=59)
    n_eval: int | None = parameter(COUNT, None, default=59)
    candidate_tol: float = parameter(Interval(Real, 0, 1, closed="left"), default=1e-08)
    reconstruction_tol: float = parameter(NOT_NEGATIVE, default=0.0)
    cache_size: float = parameter(NOT_NEGATIVE, default=200)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row in the mean; a row of weight two is the row twice, one of weight zero is not there.
        """
        with transaction(self) as new:
            rows = np.ascontiguousarray(validate_data(new, X, dtype=[np.float64, np.float32], order="C"), np.float64)
            weight = check_weights(sample_weight, rows)
            check_some_weight(weight)
            new._choose(rows, weight)
        return self

    def _choose(self, rows: Array, weight: Array) -> None:
        seed = draw_seed(self.random_state)
        distinct = canonical_rows(rows, weight, seed)
        kernel = kernel_for(self, self.gamma, rows, distinct)
        check_rows(kernel, rows)
        indices, path = self._select(kernel, rows, distinct, seed)
        if not len(indices):
            raise ValueError(f"X has no row with k(x, x) > 0 for the {self.kernel} kernel: nothing to choose")
        vectors = np.ascontiguousarray(rows[indices])
        # chosen rows are independent to candidate_tol; the factor only has to follow
        kept, self._factor = _core.select_independent(
            kernel, vectors, np.arange(len(vectors)), tol=0.0, max_basis=len(vectors)
        )
        self.basis_vectors_, self.basis_indices_ = vectors[kept], indices[kept]
        self.path_ = path[kept]
        self.reconstruction_error_ = float(path[-1])
        self._kernel_arguments = kernel.__reduce__()[1]
        self.gamma_ = widths_of(kernel)

    def _select(self, kernel: _core.Kernel, X: Array, rows: Canonical, seed: int) -> tuple[NDArray[np.int64], Array]:
        """Rows chosen and the error after each."""
        n, m = len(rows.which), min(int(self.n_components), len(rows.which))
        rho, nu = (0 if k is None or k >= n else int(k) for k in (self.n_candidates, self.n_eval))
        form, d = self._form(n, m, rho, nu), X.shape[1]
        # the choice; and after it the factor of those chosen, and the vectors
        choice = _core.feature_vectors_memory(n=n, d=d, n_candidates=rho, n_eval=nu, max_basis=m, form=form)
        needed = max(choice, _core.independent_memory(max_basis=m, d=d) + m * d) + ROW_VECTORS * len(X)
        fewer = "lower n_components, or give numbers for n_candidates and n_eval, and low ones"
        if form != "lazy":
            fewer += f", or lower cache_size={self.cache_size!r}"
        check_memory(needed, f"choosing {m} of {n} distinct rows", fewer)
        taken, error = _core.select_feature_vectors(
            kernel, X, rows.which, weight=rows.weight, n_candidates=rho, n_eval=nu, max_basis=m, seed=seed, form=form,
            candidate_tol=float(self.candidate_tol), reconstruction_tol=float(self.reconstruction_tol),
        )  # fmt: skip
        return rows.which[taken], error

    def _form(self, n: int, m: int, rho: int, nu: int) -> str:
        budget = float(self.cache_size) * 2**20 / 8
        if not rho and not nu and n * n <= budget:
            return "dense"
        if n * m <= budget:
            return "cached"
        if rho and nu:
            return "lazy"
        raise ValueError(
            f"n_candidates=None or n_eval=None keeps {8 * n * m / 2**20:.0f} MB for {n} distinct rows and {m} "
            f"components, more than cache_size={self.cache_size!r} MB; raise cache_size or give numbers (59 is usual)"
        )

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return orthonormal coordinates of the rows' projections on the span of the basis.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_), float32 for float32
        """
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        kernel = _core.Kernel(*self._kernel_arguments)
        n, m = len(rows), len(self.basis_vectors_)
        # all of them, those of a block, and its kernel values
        needed = (n + min(n, _BLOCK)) * m + _core.basis_coordinates_memory(m=m)
        check_memory(needed, f"the coordinates of {n} rows", "transform fewer rows at a time, or lower n_components")
        out = np.empty((n, m), dtype=np.float32 if is_float32(X) else np.float64)
        for first in range(0, len(rows), _BLOCK):
            part = np.ascontiguousarray(rows[first : first + _BLOCK], dtype=np.float64)
            out[first : first + _BLOCK] = _core.basis_coordinates(
                kernel, vectors=self.basis_vectors_, L=self._factor, X=part
            )
        return out

    @property
    def n_components_(self) -> int:
        """Number of rows chosen."""
        check_is_fitted(self)
        return len(self.basis_vectors_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "basis_vectors_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
