"""Noise that depends on the input: a second model, of the logarithm of the squared errors of rows left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..io.plain import record
from .arrays import Array
from .expansion import KernelExpansion
from .kernel import parameter, parameters
from .left_out import LeftOut

# Kernels of the model that it is made of, at most; rows below which nothing is said, and below which "auto" is
# constant: with 50 rows the choice itself costs two per cent of the coverage.
MOST, FEWEST, ENOUGH = 200, 10, 100
# Rows in one span: what is further out than this part of k(x, x) is in it.
_INDEPENDENT = 1e-8
NoiseSetting = Literal["auto", "constant", "input"]


@parameters
class NoiseParameter:
    """The parameter of regressors whose noise may depend on the input."""

    noise: NoiseSetting = parameter(set(get_args(NoiseSetting)), default="auto")


@record("NoiseField")
@dataclass(frozen=True)
class NoiseField:
    """How many times the constant standard deviation that of a new observation is at each input, s(x).

    log s² is an expansion on kernels of the model and in proportion to its predictions, kept within its values at the
    rows left out; ``left_out`` are those without the row. ``gain`` is the mean by which the logarithm of the density of
    these rows is larger than with constant noise, each output's scale fitted to either, and ``error`` the standard
    error of that.
    """

    expansion: KernelExpansion
    slopes: Array  # (predictions, outputs)
    low: Array
    high: Array
    left_out: Array
    gain: Array
    error: Array

    @classmethod
    def of(cls, model: KernelExpansion, X: Array, left_out: LeftOut) -> Self | None:
        """Fit it to the standardised errors of rows X, each left out, on some of the vectors of a model."""
        kernel, vectors = model.kernel, model.basis
        scores, weight = left_out.scores, left_out.weight
        if len(scores) < FEWEST or not np.all(np.any(scores, axis=0)):
            return None
        # in an order that no order of the rows changes; distant vectors would look dependent in their own
        order = np.argsort(_core.row_keys(vectors, 0), kind="stable")
        places, L = _core.select_independent(kernel, vectors, order, tol=_INDEPENDENT, max_basis=MOST)
        kept = order[places]
        if not len(kept):
            return None
        basis = np.ascontiguousarray(vectors[kept])
        W = _core.basis_coordinates(kernel, vectors=basis, L=L, X=X)
        found = _core.noise_field(W=W, L=L, predictions=model.predict(X), scores=scores, weight=weight)
        nothing = np.zeros(scores.shape[1])
        expansion = KernelExpansion(
            kernel.__reduce__()[1], basis, kept, found["coef"], found["intercept"], nothing, nothing
        )
        level, squares = found["left_out"], scores**2
        own = squares * np.exp(-level)
        once, scaled = np.average(squares, axis=0, weights=weight), np.average(own, axis=0, weights=weight)
        gains = 0.5 * (np.log(once / scaled) - level + squares / once - own / scaled)
        gain = np.average(gains, axis=0, weights=weight)
        error = np.sqrt(np.average((gains - gain) ** 2, axis=0, weights=weight) / len(gains))
        low, high = found["level"].min(axis=0), found["level"].max(axis=0)
        return cls(expansion, found["slopes"], low, high, level, gain, error)

    def outputs(self, noise: str) -> NDArray[np.bool_]:
        """Whether each output's noise depends on the input: for "auto" where a hundred rows left out are sure of it."""
        if noise == "auto":
            return (self.gain > self.error) & (len(self.left_out) >= ENOUGH)
        return np.full(len(self.gain), noise == "input")

    def at(self, X: Array, predictions: Array, noise: str, threads: int = 1) -> Array:
        """Return s(x) for each row and output, of rows with these predictions of the model."""
        level = self.expansion.predict(X, threads) + predictions @ self.slopes
        level = np.clip(level, self.low, self.high)
        return np.where(self.outputs(noise), np.exp(0.5 * level), 1.0)

    def standardised(self, left_out: LeftOut, noise: str) -> LeftOut:
        """Errors of rows left out in units of s(x), itself fitted without the row."""
        return LeftOut(
            left_out.scores / np.where(self.outputs(noise), np.exp(0.5 * self.left_out), 1.0), left_out.weight
        )
