"""Parameters of the subset-of-regressors estimators."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..base.kernel import parameter, parameters
from ..base.types import RandomState
from ..base.validation import COUNT, NOT_NEGATIVE, Interval
from ..select.feature_vectors import FeatureVectorSelector
from ..select.selectors import SELECTORS
from ..widths.race import Racing

BasisName = Literal["pruned", "rpcholesky", "greedy", "kmeans", "efvs", "csi", "orols", "qr", "ald", "online", "random"]


@parameters
class SubsetParameters(Racing):
    """Parameters of the subset estimators."""

    alpha: float | Literal["gcv", "loo"] = parameter(NOT_NEGATIVE, {"gcv", "loo"}, default="gcv")
    basis: BasisName | FeatureVectorSelector | ArrayLike = parameter(
        set(SELECTORS), FeatureVectorSelector, "array-like", default="pruned"
    )
    max_basis: int | Literal["auto"] = parameter(COUNT, {"auto"}, default=500)
    max_basis_limit: int = parameter(COUNT, default=2000)
    size: Literal["auto", "max", "held-out"] = parameter({"auto", "max", "held-out"}, default="auto")
    polish: int = parameter(Interval(Integral, 0, None, closed="left"), default=0)
    n_models: int = parameter(COUNT, default=1)
    oversample: float = parameter(Interval(Real, 1, 1e6, closed="both"), default=3.0)
    cycles: int = parameter(COUNT, default=1)
    keep_path: bool | Literal["memory"] = parameter("boolean", {"memory"}, default="memory")
    keep_sums: bool = parameter("boolean", default=True)
    fit_intercept: bool = parameter("boolean", default=True)
    n_jobs: int | None = parameter(Integral, None, default=None)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)
