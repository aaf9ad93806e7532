"""Parameters of the front door."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from ..base.estimator import Estimator
from ..base.kernel import parameter, parameters
from ..base.types import RandomState, Validation
from ..base.validation import Interval
from ..widths.splits import WAYS


@parameters
class FrontParameters(Estimator):
    """Parameters of the two estimators."""

    small: bool = parameter("boolean", default=True)
    time_budget: float | None = parameter(Interval(Real, 0, None, closed="neither"), None, default=None)
    validation: Validation = parameter(set(WAYS), "array-like", default="random")
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)
    n_jobs: int | None = parameter(Integral, None, default=None)
    settings: dict[str, Any] | None = parameter(dict, None, default=None)
