"""The state of an online estimator as a target learns on it: coordinates, their coefficients, and C = U D U'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base.arrays import Array


@dataclass(frozen=True)
class Learner:
    """State of the frozen dictionary in orthonormal coordinates w = [1; L^-1 k], the 1 only with a bias.

    The covariance C = (Z'VZ + alpha I)^-1 is kept as U D U', U unit upper triangular (Bierman 1977): in float32 the
    explicit C loses its sign long before.
    """

    L: Array
    theta: Array  # (dimension, outputs)
    C: Array
    noise: Array  # of the targets, for the rehearsal
    scale: Array  # (outputs, 2): discounted sum of the squares of standardised errors, and their number

    @classmethod
    def of(cls, estimator: Any) -> Self:
        state = estimator._fitted().state()
        noise = np.maximum(np.atleast_1d(estimator._fitted().noise_variance), 0.0)
        return cls(state["factor"], state["theta"], state["inverse"], noise, state["coverage"][:, :2])

    @property
    def dimension(self) -> int:
        return len(self.theta)

    @property
    def bias(self) -> int:
        return self.dimension - len(self.L)

    @property
    def condition(self) -> float:
        values = np.linalg.eigvalsh(self.C)
        return float(values[-1] / values[0]) if values[0] > 0 else float("inf")

    @property
    def constants(self) -> list[Array]:
        return [self.L, self.theta, *self.factors]

    @property
    def factors(self) -> tuple[Array, Array]:
        """U and the diagonal of D."""
        # of the matrix with rows and columns turned round, the lower Cholesky factor is the upper one turned round
        upper = np.linalg.cholesky(self.C[::-1, ::-1])[::-1, ::-1]
        root = np.diag(upper)
        return upper / root, root**2
