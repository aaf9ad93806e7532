"""The kernels from which pruning starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import _core
from ..base.arrays import Array
from ..select.selectors import select
from ..select.task import Task


def first_basis(kernel: _core.Kernel, X: Array, max_start: int | None, random_state: Any) -> NDArray[np.int64]:
    """Return the rows a path starts from: all, or ``max_start`` that span most of them where there are more.

    Those are drawn by randomly pivoted Cholesky: a random row, more likely the further it is from the span so far.
    """
    n = len(X)
    if max_start is None or n <= max_start:
        return np.arange(n, dtype=np.int64)
    seed = int(check_random_state(random_state).randint(2**31))
    chosen = select("rpcholesky", Task(kernel, X, np.ones(n), int(max_start), seed), fewer="max_start")
    return np.sort(chosen.indices)
