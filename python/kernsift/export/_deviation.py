"""The standard deviation of a new observation, as exports compute it: triangles, and how the noise depends on x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..base.arrays import Array
from ..base.intervals import Intervals
from ..base.targets import Regression
from ..dense.base import BatchRegressor
from ..select.orols import OROLSRegressor
from ..stream.online import OnlineLSSVMRegressor
from ..stream.online_model import OnlineModel
from ..subset.subset import SubsetLSSVMRegressor
from ._model import Term

ALONE = "std=True takes a regressor on columns as they are: export the last step of the pipeline by itself"
# What an export may be off by, of the largest deviation: more is a mistake and no rounding.
_MISTAKE = 1e-5


@dataclass(frozen=True)
class Noise:
    """s(x) = exp(level / 2), level = intercept + k(x)'coef + f(x)'slopes, kept between low and high."""

    coef: Array  # (m, outputs), of the vectors of the deviation
    slopes: Array
    intercept: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Deviation:
    """scale s(x) √(1 + |Q [1; w]|² + prior (k(x, x) - |w|²)), w = L⁻¹k(x)."""

    term: Term  # kernel and vectors; its coefficients are those of `Noise`, or none
    L: Array
    Q: Array
    prior: float
    scale: Array  # (outputs,)
    noise: Noise | None

    @property
    def folded(self) -> tuple[Array, Array]:
        """L⁻ᵀ, and Q in the place of w with k: u = Q[:, 0] + k folded."""
        inverse = solve_triangular(self.L, np.eye(len(self.L)), lower=True, trans="T")
        return inverse, inverse @ self.Q[:, 1:].T

    def at(self, X: Array, predictions: Array) -> Array:
        """Return the standard deviations, (n, outputs), of rows with these predictions."""
        kernel = self.term.kernel
        k = kernel.matrix(X, self.term.vectors)
        w = solve_triangular(self.L, k.T, lower=True)
        u = self.Q[:, :1] + self.Q[:, 1:] @ w
        rest = np.maximum(kernel.diagonal(X) - (w**2).sum(axis=0), 0.0)
        root = np.sqrt(1.0 + (u**2).sum(axis=0) + self.prior * rest)[:, None] * self.scale
        if self.noise is None:
            return root
        level = self.noise.intercept + k @ self.noise.coef + predictions @ self.noise.slopes
        return root * np.exp(0.5 * np.clip(level, self.noise.low, self.noise.high))


def deviation(estimator: Any, rows: Array) -> Deviation:
    """Read it off a fitted regressor, and compare it with the estimator's own on rows."""
    estimator = getattr(estimator, "model_", estimator)  # of the front door, what it has chosen
    if getattr(estimator, "columns_", None) is not None:
        raise ValueError(ALONE)
    if not isinstance(estimator, Regression):
        raise ValueError(f"std=True needs a regressor with standard deviations, got {type(estimator).__name__}")
    model = estimator._fitted()
    estimator._needs_all("std=True")
    vectors, L, Q, prior = _parts(estimator)
    kernel = model.kernel
    if prior and not kernel.stationary:
        raise ValueError(
            f"std=True needs a kernel of a distance, and this model has {kernel.name!r}: export without std, or fit "
            "with rbf, laplacian, matern32 or matern52"
        )
    outputs = model.coef.shape[1] if model.coef.ndim > 1 else 1
    scale, noise = np.sqrt(np.atleast_1d(model.noise_variance)), None
    coef = np.zeros((len(vectors), outputs))
    if isinstance(estimator, Intervals):
        field, left_out = estimator._calibrated()
        scale = scale if left_out is None else scale * left_out.rms
        if field is not None:
            place = {row.tobytes(): i for i, row in enumerate(vectors)}
            varies = field.outputs(estimator.noise)
            parts = field.expansion
            np.add.at(coef, [place[row.tobytes()] for row in parts.basis], np.where(varies, parts.coef, 0.0))
            low, high = np.where(varies, field.low, 0.0), np.where(varies, field.high, 0.0)
            noise = Noise(coef, np.where(varies, field.slopes, 0.0), parts.intercept, low, high)
    elif isinstance(estimator, OnlineLSSVMRegressor) and any(model.uneven_noise):
        noise = _noise_of_stream(model, L)
        coef = noise.coef
    found = Deviation(Term(kernel, vectors, coef), L, Q, prior, scale, noise)
    mean, expected = (np.reshape(part, (len(rows), outputs)) for part in estimator.predict(rows, return_std=True))
    off = float(np.abs(found.at(rows, mean) - expected).max() / np.abs(expected).max())
    if not off <= _MISTAKE:
        raise ValueError(
            f"the standard deviations lose {off:.1g} of their size outside the model's own arithmetic: fit with a "
            "larger alpha, or export without std"
        )
    return found


def _parts(estimator: Any) -> tuple[Array, Array, Array, float]:
    """Vectors, L, Q and the factor of what the vectors do not span."""
    if isinstance(estimator, SubsetLSSVMRegressor):
        return _of_subset(estimator)
    if isinstance(estimator, BatchRegressor):
        return _of_batch(estimator)
    if isinstance(estimator, OROLSRegressor):
        if len(estimator.gammas_) > 1:
            raise ValueError("std=True needs one width and this model has several: fit with gamma, not gammas")
        root = estimator._spread.T
        constant = [] if estimator._has_intercept else [np.zeros((len(root), 1))]
        return estimator.basis_vectors_, np.eye(estimator.n_basis_), np.hstack([*constant, root]), 0.0
    if isinstance(estimator, OnlineModel) and estimator.engine == "orthonormal":
        model = estimator._fitted()
        if model.memories[0] == [1.0] and not model.slopes.size and estimator.alpha_ > 0:
            state = model.state()
            L, C = state["factor"], state["inverse"]
            Q = np.linalg.cholesky(C).T
            if len(C) == len(L):
                Q = np.hstack([np.zeros((len(Q), 1)), Q])
            return model.basis, L, Q, 1.0 / estimator.alpha_
    raise ValueError(
        f"std=True has no form for this {type(estimator).__name__}: of streams it needs engine='orthonormal', "
        "alpha > 0, forgetting=1.0 and linear=False; of tables one model (n_models=1)"
    )


def _noise_of_stream(core: Any, L: Array) -> Noise:
    state, varies = core.state(), np.array(core.uneven_noise)
    theta = np.where(varies, state["noise_theta"], 0.0)
    outputs, constant = theta.shape[1], len(theta) - len(L)
    coef = solve_triangular(L, theta[constant:], lower=True, trans="T")
    low, high = np.where(varies, state["noise_levels"][:, :2].T, 0.0)
    return Noise(coef, np.zeros((outputs, outputs)), theta[:constant].sum(axis=0), low, high)


def _of_subset(estimator: Any) -> tuple[Array, Array, Array, float]:
    state, basis, alpha = estimator._state, estimator._basis, float(estimator.alpha_)
    if alpha == 0:
        raise ValueError("std=True needs alpha > 0: without a ridge there is no prior")
    mean = state.s / state.weight if estimator.fit_intercept else np.zeros_like(state.s)
    if estimator._ridge is not None:
        upper = np.triu(estimator._ridge)
    else:
        A = np.triu(state.M) - state.weight * np.triu(np.outer(mean, mean)) + alpha * np.eye(len(mean))
        upper = cholesky(A)  # R' of A = R R'
    Q = _about(upper.T, mean, 1.0 / state.weight if estimator.fit_intercept else 0.0)
    return basis.vectors, np.tril(basis.L), Q, 1.0 / alpha


def _about(R: Array, mean: Array, constant: float) -> Array:
    """Q of |R⁻¹(w - mean)|² + constant."""
    inverse = solve_triangular(R, np.eye(len(R)), lower=True)
    Q = np.hstack([-(inverse @ mean)[:, None], inverse])
    return np.vstack([Q, np.r_[np.sqrt(constant), np.zeros(len(R))]]) if constant > 0 else Q


def _of_batch(estimator: Any) -> tuple[Array, Array, Array, float]:
    alpha, bias = float(estimator.alpha_), estimator._has_intercept
    solved = estimator._solved() if hasattr(estimator, "_solved") else None
    if solved is not None and "factor" not in solved:
        L, F = np.tril(solved["L"]), np.tril(solved["F"])
        vectors = np.ascontiguousarray(estimator.basis_vectors_[solved["pivots"]])
        mean = solve_triangular(L, solved["mean"], lower=True)
        total = solved["total"]
        return (
            vectors,
            L,
            _about(solve_triangular(L, F, lower=True), mean, 1.0 / total if total > 0 else 0.0),
            1 / alpha,
        )
    if solved is None:
        factor, v = estimator._factor(), estimator._merged()[2]
    else:
        factor, v = solved["factor"], estimator._weights_of_kernels()
    n = len(v)
    F, root = np.triu(factor[:n, :n]).T, np.sqrt(v)  # numpy's upper triangle is the lower one of matrices by columns
    half = solve_triangular(F, root, lower=True)
    Q = np.zeros((1, n + 1))
    if bias:
        Q = np.r_[1.0, -half][None] / np.sqrt(half @ half * alpha)
    return estimator.basis_vectors_, F / root[:, None], Q, 1.0 / alpha
