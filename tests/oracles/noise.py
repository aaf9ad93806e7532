"""Noise that depends on the input, literally: penalised least squares on the logarithms of squared errors."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def in_units(f: Array, v: Array) -> Array:
    """Columns about their mean, in units of their standard deviation."""
    about = f - (v @ f) / v.sum()
    return about / np.sqrt((v @ about**2) / v.sum())


def system(G: Array, f: Array, K: Array, v: Array, alpha: float) -> tuple[Array, Array]:
    """[1 G f] and the matrix of its normal equations: the constant carries no ridge, f that of a unit vector."""
    D = np.column_stack([np.ones(len(G)), G, f])
    m = len(K)
    penalty = np.zeros((D.shape[1],) * 2)
    penalty[1 : m + 1, 1 : m + 1] = alpha * K
    penalty[m + 1 :, m + 1 :] = alpha * np.eye(f.shape[1])
    return D, D.T @ np.diag(v) @ D + penalty


def logarithms(scores: Array, v: Array) -> Array:
    """log z², of z² no smaller than 1/400 of their mean."""
    mean = (v @ scores**2) / v.sum()
    return np.log(np.maximum(scores**2, mean / 400.0))


def gcv(G: Array, f: Array, K: Array, t: Array, v: Array, alpha: float) -> float:
    """Generalised cross-validation of one ridge for all outputs, a degree of freedom counted 1.4 times."""
    D, H = system(G, in_units(f, v), K, v, alpha)
    fitted = D @ np.linalg.solve(H, D.T @ (v[:, None] * t))
    n = max(len(G), v.sum())
    dof = np.trace(np.linalg.solve(H, D.T @ np.diag(v) @ D))
    return float(n * (v @ (t - fitted) ** 2).sum() / (n - 1.4 * dof) ** 2)


def field(G: Array, f: Array, K: Array, scores: Array, v: Array, alpha: float) -> tuple[Array, Array]:
    """log s² at the rows, and at each row without it.

    A fit to the logarithms, raised by what these are smaller on average for normal errors (Euler's constant + log 2);
    then two steps of scoring for the variance of normal errors, of squares of at most nine variances. What these fit
    has the variance 2, where logarithms have π²/2; the ridge is in units of it.
    """
    f = in_units(f, v)
    t = logarithms(scores, v)
    for step in range(3):
        if step == 1:
            alpha *= 2.0 / (np.pi**2 / 2.0)
        D, H = system(G, f, K, v, alpha)
        level = D @ np.linalg.solve(H, D.T @ (v[:, None] * t))
        if step == 2:
            break
        level += (np.euler_gamma + np.log(2.0)) * (step == 0)
        t = level + np.minimum(scores**2 / np.exp(level), 9.0) - 1.0
    without = np.empty_like(level)
    for i in range(len(v)):
        rest = v.copy()
        rest[i] -= min(v[i], 1.0)
        D, rest_H = system(G, f, K, rest, alpha)
        without[i] = D[i] @ np.linalg.solve(rest_H, D.T @ (rest[:, None] * t))
    return level, without


def log_density_gains(scores: Array, level: Array, v: Array) -> Array:
    """By how much each row is more likely with variances in proportion to exp(level) than with equal ones.

    Both scales are the most likely ones.
    """
    shape = np.exp(level)
    equal = (v @ scores**2) / v.sum()
    common = (v @ (scores**2 / shape)) / v.sum()

    def log_normal(variance: Array) -> Array:
        return -0.5 * (np.log(2 * np.pi * variance) + scores**2 / variance)

    return log_normal(common * shape) - log_normal(np.broadcast_to(equal, scores.shape))
