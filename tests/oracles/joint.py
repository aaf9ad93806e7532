"""Several new observations together, and the evidence, by the full matrices of the Gaussian process, literally.

Signal s² k̂, noise s² alpha / v on a row, and a flat prior on the constant.  With kernels on some rows alone k̂ is
Q = G K⁻¹ G' among the rows, and among new ones k itself: what the basis does not span is independent of the rows.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def covariance(Q: Array, cross: Array, new: Array, v: Array, alpha: float, constant: bool) -> Array:
    """Covariance of the function at new rows, in units of the noise, given observations at rows of weights v.

    Q (n, n) of the rows, `cross` (n, q) with the new ones, `new` (q, q) of these; all over alpha.
    """
    S = Q / alpha + np.diag(1.0 / v)
    A = cross / alpha
    given = new / alpha - A.T @ np.linalg.solve(S, A)
    if not constant:
        return given
    one = np.linalg.solve(S, np.ones(len(S)))
    gap = 1.0 - A.T @ one
    return given + np.outer(gap, gap) / one.sum()


def log_evidence(Q: Array, y: Array, v: Array, alpha: float, constant: bool) -> float:
    """Logarithm of the normal density of y with the covariance s²(Q / alpha + V⁻¹), at its best s².

    With a constant, of the n - 1 combinations of y that a constant does not change: the density of all of y, the
    constant integrated out.
    """
    S = Q / alpha + np.diag(1.0 / v)
    n = len(y) - int(constant)
    inverse = np.linalg.inv(S)
    logs = np.linalg.slogdet(S)[1]
    if constant:
        one = inverse @ np.ones(len(y))
        inverse = inverse - np.outer(one, one) / one.sum()
        logs += np.log(one.sum())
    scale = y @ inverse @ y / n
    return float(-0.5 * (n * np.log(2 * np.pi * scale) + n + logs))


def gcv(G: Array, K: Array, y: Array, v: Array, alpha: float, constant: bool, n: float) -> float:
    """n rss / (n - trace H)² of the smoother H that minimises Σ v (y - f)² + alpha b'Kb; n is given."""
    D = np.column_stack([np.ones((len(G), int(constant))), G])
    penalty = np.zeros((D.shape[1],) * 2)
    penalty[int(constant) :, int(constant) :] = alpha * K
    H = D @ np.linalg.solve(D.T @ np.diag(v) @ D + penalty, D.T @ np.diag(v))
    return float(n * (v @ (y - H @ y) ** 2) / (n - np.trace(H)) ** 2)
