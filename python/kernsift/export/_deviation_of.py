"""Reading the standard deviation off a fitted regressor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..base.arrays import Array
from ..base.intervals import Intervals
from ..base.targets import Regression
from ..base.validation import at_this_moment, forget
from ..dense.base import BatchRegressor
from ..select.orols import OROLSRegressor
from ..stream.online import OnlineLSSVMRegressor
from ..subset.subset import SubsetLSSVMRegressor
from ._deviation import Deviation, Noise, Spread
from ._model import Model, Term, before

# What an export may be off by, of the largest deviation: more is a mistake and no rounding.
_MISTAKE = 1e-5


def deviation(estimator: Any, model: Model, rows: Array) -> Deviation:
    """Read it off a fitted regressor that `model` describes, and compare it with the estimator's own on rows.

    It takes rows as the kernels of the model do: the coordinates of its steps.
    """
    estimator = getattr(estimator, "model_", estimator)  # of the front door, what it has chosen
    if not isinstance(estimator, Regression):
        raise ValueError(f"std=True needs a regressor with standard deviations, got {type(estimator).__name__}")
    core = estimator._fitted()
    estimator._needs_all("std=True")
    kernel = core.kernel
    spread, scale, noise = _parts(estimator)
    if spread.prior and not kernel.stationary:
        raise ValueError(
            f"std=True needs a kernel of a distance, and this model has {kernel.name!r}: export without std, or fit "
            "with rbf, laplacian, matern32 or matern52"
        )
    coef = np.zeros((len(spread.vectors), len(scale))) if noise is None else noise.coef
    found = Deviation(Term(kernel, spread.vectors, coef), spread, scale, noise)
    columns = getattr(estimator, "columns_", None)
    if columns is not None and model.steps is None:  # steps that have become part of the kernels
        found = _before_steps(found, estimator, *columns.affine())
    elif columns is not None:
        estimator = _behind_steps(estimator, model)
    mean, expected = (np.reshape(part, (len(rows), len(scale))) for part in estimator.predict(rows, return_std=True))
    off = float(np.abs(found.at(rows, mean) - expected).max() / np.abs(expected).max())
    if not off <= _MISTAKE:
        raise ValueError(
            f"the standard deviations lose {off:.1g} of their size outside the model's own arithmetic: fit with a "
            "larger alpha, or export without std"
        )
    return found


def _before_steps(found: Deviation, estimator: Any, places: Any, slopes: Array, constants: Array) -> Deviation:
    """The same for rows x, of that for coordinates z = slopes x[places] + constants."""
    width = int(estimator.n_features_in_)
    (term,), _ = before([found.term], found.scale, width, places, slopes, constants, "this export")

    def of_x(along: Array) -> Array:
        out = np.zeros((*along.shape[:-1], width))
        out[..., places] = along * slopes
        return out

    spread, noise = found.spread, found.noise
    if spread.along is not None:
        Q = spread.Q.copy()
        Q[:, :, 0] += spread.along @ constants
        spread = spread._replace(Q=Q, along=of_x(spread.along))
    if noise is not None and noise.along is not None:
        intercept = noise.intercept + constants @ noise.along
        noise = replace(noise, intercept=intercept, along=of_x(noise.along.T).T)
    return Deviation(term, spread._replace(vectors=term.vectors), found.scale, noise)


def _behind_steps(estimator: Any, model: Model) -> Any:
    """The estimator without the steps before it."""
    bare = at_this_moment(estimator)
    bare.columns_, bare._encodes, bare.n_features_in_ = None, False, model.n_features
    forget(bare, "feature_names_in_")
    return bare


def _parts(estimator: Any) -> tuple[Spread, Array, Noise | None]:
    """What the deviation is made of: the spread, its scales, and how the noise depends on x."""
    core = estimator._fitted()
    if isinstance(estimator, OnlineLSSVMRegressor) and estimator.engine == "orthonormal" and estimator.alpha_ > 0:
        of_stream, scale = _of_stream(core)
        return of_stream, scale, _noise_of_stream(core, of_stream.L) if any(core.uneven_noise) else None
    vectors, L, Q, prior = _of_table(estimator)
    spread, scale = Spread(vectors, L, Q[None], prior), np.sqrt(np.atleast_1d(core.noise_variance))
    if not isinstance(estimator, Intervals):
        return spread, scale, None
    field, left_out = estimator._calibrated()
    scale = scale if left_out is None else scale * left_out.rms
    if field is None:
        return spread, scale, None
    varies, parts = field.outputs(estimator.noise), field.expansion
    coef = np.zeros((len(vectors), len(scale)))
    place = {row.tobytes(): i for i, row in enumerate(vectors)}
    np.add.at(coef, [place[row.tobytes()] for row in parts.basis], np.where(varies, parts.coef, 0.0))
    low, high = np.where(varies, field.low, 0.0), np.where(varies, field.high, 0.0)
    return spread, scale, Noise(coef, np.where(varies, field.slopes, 0.0), parts.intercept, low, high)


def _of_table(estimator: Any) -> tuple[Array, Array, Array, float]:
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
    raise ValueError(
        f"std=True has no form for this {type(estimator).__name__}: of streams it needs engine='orthonormal' and "
        "alpha > 0, of tables one model (n_models=1)"
    )


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


# --- streams ---


def _of_stream(core: Any) -> tuple[Spread, Array]:
    """Of the core of a stream with a ridge: what an output's variance is made of, and the root of what they scale with.

    The variance of a mixture is the mean of the memories' variances and the variance of their means, both quadratic in
    the coordinates: one form an output, which is that of all outputs where there is one memory.
    """
    state, settings = core.state(), core.settings
    _, weights, _ = core.memories
    members = [_memory(state, e) for e in range(len(weights))]
    if len(members) == 1:
        forms, variance = [members[0][0]], np.atleast_1d(core.noise_variance)
    else:
        mean = sum(weight * theta for weight, (_, theta, _) in zip(weights, members, strict=True))
        variance = sum(weight * noise for weight, (_, _, noise) in zip(weights, members, strict=True))
        forms = [np.zeros_like(members[0][0]) for _ in variance]
        for weight, (C, theta, noise) in zip(weights, members, strict=True):
            for o, form in enumerate(forms):
                apart = theta[:, o] - mean[:, o]
                form += weight * (noise[o] * C + np.outer(apart, apart)) / variance[o]
    L = state["factor"]
    first = len(forms[0]) - len(L)
    Q = np.array([np.linalg.cholesky(form).T for form in forms])
    constant, along = _of_rows(core, settings, Q[:, :, :first])
    Q = np.concatenate([constant[:, :, None], Q[:, :, first:]], axis=2)
    return Spread(core.basis, L, Q, 1.0 / settings["alpha"], along), np.sqrt(variance)


def _noise_of_stream(core: Any, L: Array) -> Noise:
    """How the noise depends on x: on the first kernels, and on x itself where there is a linear part."""
    state, varies = core.state(), np.array(core.uneven_noise)
    theta = np.where(varies, state["noise_theta"], 0.0)
    lead = len(state["inverse"]) - len(L)
    own = theta[lead:]
    coef = np.zeros((len(L), theta.shape[1]))
    coef[: len(own)] = solve_triangular(L[: len(own), : len(own)], own, lower=True, trans="T")
    constant, along = _of_rows(core, core.settings, theta[:lead].T)
    low, high = np.where(varies, state["noise_levels"][:, :2].T, 0.0)
    outputs = theta.shape[1]
    return Noise(coef, np.zeros((outputs, outputs)), constant, low, high, None if along is None else along.T)


def _memory(state: dict[str, Array], e: int) -> tuple[Array, Array, Array]:
    """Covariance, coefficients and variance of the noise of a memory."""
    prefix = f"memory{e}_" if e else ""
    C, theta, cost = (state[prefix + name] for name in ("inverse", "theta", "cost"))
    scale, shift, rows = (state[prefix + name].item() for name in ("inverse_scale", "inverse_shift", "effective_rows"))
    return scale * (C + shift * np.eye(len(C))), theta, cost[:, 0] / max(rows, 1.0)


def _of_rows(core: Any, settings: dict[str, Any], leading: Array) -> tuple[Array, Array | None]:
    """Functions of the leading coordinates, the last axis, as functions of rows: a constant, and x with these factors.

    The leading coordinates are a constant, or none, and scale (x - centre), or none.
    """
    linear = np.asarray(settings["linear"])
    has_constant = leading.shape[-1] > len(linear)
    constant = leading[..., 0] if has_constant else np.zeros(leading.shape[:-1])
    if not len(linear):
        return constant, None
    along = leading[..., leading.shape[-1] - len(linear) :] * linear
    return constant - along @ core.kernel.centre, along
