"""A ridge with which the values of the next states feed back less than the discount lets them: alpha="stable"."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Array

LEAST, MOST = 0.1, 100.0  # ridges: tried are the least and its doubles
_KERNELS = 150  # enough to find what grows: these are slow, smooth parts of Q
_ROWS = 4096  # rows of kernel values kept at a time


class Feedback:
    """How the values of rows depend on those of the rows after them, through regression on some of the kernels."""

    def __init__(self, kernel: Any, vectors: Array, rows: Array, weight: Array | None = None) -> None:
        self.kernel = kernel
        self.vectors = np.ascontiguousarray(vectors[:: -(-len(vectors) // _KERNELS)])
        self.rows, self.weight = rows, np.ones(len(rows)) if weight is None else weight
        self.within = kernel.matrix(self.vectors, self.vectors)
        self.gram = self._products(rows, self.weight)

    def _products(self, others: Array, weight: Array) -> Array:
        """Kernel values of the rows times those of others, summed with weights."""
        total = np.zeros((len(self.vectors), len(self.vectors)))
        for a, b in pairwise([*range(0, len(self.rows), _ROWS), len(self.rows)]):
            left = self.kernel.matrix(self.rows[a:b], self.vectors)
            right = left if others is self.rows else self.kernel.matrix(others[a:b], self.vectors)
            total += (left * weight[a:b, None]).T @ right
        return total

    def stable_ridge(self, after: Array, terminated: NDArray[np.bool_], discount: float) -> float:
        """The least of the ridges with which errors of the values grow to at most 2 / (1 - discount) times themselves.

        Regressing r + discount Q(after) on the rows again and again multiplies an error of Q by the spectral radius of
        (K'K + alpha K)^-1 discount K'K_after in each round.  No policy has more than `discount`; transitions of
        another may have, and near 1 the fixed point is badly determined.
        """
        carried = discount * self._products(after, np.where(terminated, 0.0, self.weight))
        alpha = LEAST
        while alpha < MOST:
            rounds = np.linalg.eigvals(np.linalg.solve(self.gram + alpha * self.within, carried))
            if np.abs(rounds).max() <= (1 + discount) / 2:
                break
            alpha *= 2
        return alpha
