"""The standard deviation of a new observation, as exports compute it: triangles, and how the noise depends on x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..base.arrays import Array
from ._model import Term


@dataclass(frozen=True)
class Noise:
    """s(x) = exp(level / 2), level = intercept + k(x)'coef + f(x)'slopes + x'along, kept between low and high."""

    coef: Array  # (m, outputs), of the vectors of the deviation
    slopes: Array
    intercept: Array
    low: Array
    high: Array
    along: Array | None = None  # (d, outputs)


class Spread(NamedTuple):
    """1 + |Q [1; w] + along x|² + prior (k(x, x) - |w|²), w = L⁻¹k(x): one an output, or the same for all."""

    vectors: Array
    L: Array
    Q: Array  # (1 or outputs, q, 1 + m)
    prior: float
    along: Array | None = None  # (1 or outputs, q, d)


@dataclass(frozen=True)
class Deviation:
    """scale s(x) times the root of the spread."""

    term: Term  # kernel and vectors; its coefficients are those of `Noise`, or none
    spread: Spread
    scale: Array  # (outputs,)
    noise: Noise | None

    @property
    def L(self) -> Array:
        return self.spread.L

    @property
    def Q(self) -> Array:
        """Of all outputs, one below the other."""
        return self.spread.Q.reshape(-1, self.spread.Q.shape[2])

    @property
    def along(self) -> Array | None:
        along = self.spread.along
        return None if along is None else along.reshape(-1, along.shape[2])

    @property
    def of_output(self) -> Array:
        """Which rows of Q each output sums the squares of: (rows, outputs) of 1 and 0."""
        groups, q, _ = self.spread.Q.shape
        return np.repeat(np.eye(groups), q, axis=0) if groups > 1 else np.ones((q, len(self.scale)))

    @property
    def folded(self) -> tuple[Array, Array]:
        """L⁻ᵀ, and Q in the place of w with k: u = Q[:, 0] + k folded."""
        inverse = solve_triangular(self.L, np.eye(len(self.L)), lower=True, trans="T")
        return inverse, inverse @ self.Q[:, 1:].T

    @property
    def size(self) -> int:
        """Numbers that a header takes for it."""
        m, outputs, parts = len(self.L), len(self.scale), [self.Q.size]
        parts += [m * (m + 1) // 2 if self.spread.prior else 0, 0 if self.along is None else self.along.size, outputs]
        if self.noise is not None:
            parts += [self.noise.coef.size, self.noise.slopes.size, 3 * outputs]
            parts += [0 if self.noise.along is None else self.noise.along.size]
        return sum(parts)

    def at(self, X: Array, predictions: Array) -> Array:
        """Return the standard deviations, (n, outputs), of rows with these predictions."""
        kernel, spread = self.term.kernel, self.spread
        k = kernel.matrix(X, self.term.vectors)
        w = solve_triangular(self.L, k.T, lower=True).T
        u = self.Q[:, 0] + w @ self.Q[:, 1:].T
        if self.along is not None:
            u += X @ self.along.T
        rest = np.maximum(kernel.diagonal(X) - (w**2).sum(axis=1), 0.0)
        root = np.sqrt(1.0 + u**2 @ self.of_output + spread.prior * rest[:, None]) * self.scale
        if self.noise is None:
            return root
        level = self.noise.intercept + k @ self.noise.coef + predictions @ self.noise.slopes
        if self.noise.along is not None:
            level += X @ self.noise.along
        return root * np.exp(0.5 * np.clip(level, self.noise.low, self.noise.high))
