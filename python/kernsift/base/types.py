"""Types of parameters that several estimators have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .objects import RowKernel

RandomState = int | np.random.RandomState | np.random.Generator | None
KernelName = Literal["rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"]
# all but the names of some estimators only
KernelSetting = KernelName | Literal["auto", "precomputed"] | Callable[[Any, Any], float] | RowKernel
GammaSetting = Literal["scale", "standard", "median", "learn", "warp", "auto", "loo"]
Validation = Literal["random", "time"] | ArrayLike | Sequence[tuple[ArrayLike, ArrayLike]]
