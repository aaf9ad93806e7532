"""Learned widths by definition: the criteria of a subset of regressors, dense and literal, and central differences.

Nothing here is shared with the core.  Leaving a row out means solving again without one unit of its weight.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def kernel_matrix(name: str, X: Array, Z: Array, gamma: Array) -> Array:
    """Kernel values of all pairs from their differences."""
    difference = X[:, None, :] - Z[None, :, :]
    if name == "laplacian":
        return np.exp(-(gamma * np.abs(difference)).sum(axis=2))
    r2 = (gamma * difference**2).sum(axis=2)
    if name == "rbf":
        return np.exp(-r2)
    if name == "matern32":
        s = np.sqrt(3 * r2)
        return (1 + s) * np.exp(-s)
    s = np.sqrt(5 * r2)
    return (1 + s + s**2 / 3) * np.exp(-s)


def solve(K: Array, KZ: Array, Y: Array, v: Array, alpha: float, jitter: float, bias: bool) -> tuple[Array, Array]:
    """Coefficients and intercept of the weighted least-squares problem, from its bordered normal equations."""
    n, m = K.shape
    design = np.hstack([K, np.ones((n, 1))]) if bias else K
    A = design.T @ (v[:, None] * design)
    A[:m, :m] += alpha * KZ + jitter * np.eye(m)
    coef = np.linalg.solve(A, design.T @ (v[:, None] * Y))
    return coef[:m], coef[m] if bias else np.zeros(Y.shape[1])


def loo(
    name: str, X: Array, Z: Array, Y: Array, v: Array, gamma: Array, alpha: float, jitter: float, bias: bool
) -> float:
    """Mean squared leave-one-out error by solving once a row.  ``jitter`` is a total, not per unit of weight."""
    K, KZ = kernel_matrix(name, X, Z, gamma), kernel_matrix(name, Z, Z, gamma)
    total = 0.0
    for i in range(len(X)):
        w = v.copy()
        w[i] -= min(v[i], 1.0)
        coef, intercept = solve(K, KZ, Y, w, alpha, jitter, bias)
        total += v[i] * ((Y[i] - K[i] @ coef - intercept) ** 2).sum()
    return float(total / v.sum())


def gcv(
    name: str,
    X: Array,
    Z: Array,
    Y: Array,
    v: Array,
    gamma: Array,
    alpha: float,
    jitter: float,
    bias: bool,
    toll: float = 1.0,
) -> float:
    """n rss / (n - toll dof)^2 from the matrix that takes targets to fitted values."""
    n = max(v.sum(), float(len(v)))
    K, KZ = kernel_matrix(name, X, Z, gamma), kernel_matrix(name, Z, Z, gamma)
    coef, intercept = solve(K, KZ, np.eye(len(X)), v, alpha, jitter, bias)
    hat = K @ coef + intercept
    rss = float((v[:, None] * (Y - hat @ Y) ** 2).sum())
    return n * rss / (n - toll * np.trace(hat)) ** 2 * n / v.sum()


def evidence(
    name: str, X: Array, Z: Array, Y: Array, v: Array, gamma: Array, alpha: float, jitter: float, bias: bool
) -> float:
    """-2 log marginal likelihood a row at its best signal scale, up to terms without widths and ridge.

    The Gaussian process has covariance K (alpha K_Z + jitter)^-1 K' + V^-1; a flat prior on the bias takes one row.
    """
    n, c = Y.shape
    rows = max(v.sum(), float(n))
    root = np.sqrt(v)
    K, KZ = kernel_matrix(name, X, Z, gamma), kernel_matrix(name, Z, Z, gamma)
    one = root / np.linalg.norm(root)
    project = np.eye(n) - np.outer(one, one) if bias else np.eye(n)
    S, T = project @ (root[:, None] * K), project @ (root[:, None] * Y)
    covariance = np.eye(n) + S @ np.linalg.solve(alpha * KZ + jitter * np.eye(len(Z)), S.T)
    cost = float((T * np.linalg.solve(covariance, T)).sum())
    logdet = float(np.linalg.slogdet(covariance)[1])
    return ((rows - bias) * c * np.log(cost / v.sum()) + c * logdet) / rows


def differences(f: Callable[[Array], float], at: Array, step: float) -> Array:
    """Central differences of fourth order."""
    out = np.empty_like(at)
    for j in range(at.size):
        e = np.zeros_like(at)
        e.flat[j] = step
        near, far = f(at + e) - f(at - e), f(at + 2 * e) - f(at - 2 * e)
        out.flat[j] = (8 * near - far) / (12 * step)
    return out


def curves(X: Array, knots: list[Array], slopes: list[Array]) -> Array:
    """Monotone curves of the features: each rises by its slopes from knot to knot, and is constant outside."""
    out = np.zeros_like(X)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            for first, last, rise in zip(knots[j][:-1], knots[j][1:], slopes[j], strict=True):
                out[i, j] += rise * min(max((X[i, j] - first) / (last - first), 0.0), 1.0)
    return out
