"""LS-SVM by definition, dense and literal, in numpy: what `lssvm` and `sparse_lssvm` of the core are tested against.

Every answer is a direct solution of its own least squares problem or linear system; nothing is downdated.  Shapes:
K (l, l) kernel matrix, Y (l, c) targets, v (l,) positive weights, S row numbers of n kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


# --- dense: [K + mu V^-1, 1; 1', 0] [alpha; b] = [Y; 0] ---------------------------------------------------------------


def bordered(K: Array, v: Array, mu: float) -> Array:
    """The matrix M of the dense system (l + 1, l + 1)."""
    n = len(K)
    M = np.zeros((n + 1, n + 1))
    M[:n, :n] = K + mu * np.diag(1.0 / v)
    M[:n, n] = M[n, :n] = 1.0
    return M


def dense_lssvm(K: Array, Y: Array, v: Array, mu: float, bias: bool = True) -> tuple[Array, Array]:
    """alpha (l, c) and b (c,) by numpy.linalg.solve."""
    if not bias:
        return np.linalg.solve(K + mu * np.diag(1.0 / v), Y), np.zeros(Y.shape[1])
    solved = np.linalg.solve(bordered(K, v, mu), np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solved[:-1], solved[-1]


def dense_cost(K: Array, Y: Array, v: Array, mu: float, alpha: Array, b: Array) -> Array:
    """The objective (c,) at (alpha, b)."""
    error = Y - K @ alpha - b
    return v @ error**2 + mu * np.einsum("io,ij,jo->o", alpha, K, alpha)


def dense_loo(K: Array, Y: Array, v: Array, mu: float, bias: bool = True, unit: bool = False) -> Array:
    """Residual (l, c) of every row from a fit without it, or without one ``unit`` of its weight."""
    out = np.empty_like(Y)
    for i in range(len(K)):
        w = v.copy()
        w[i] = max(v[i] - 1.0, 0.0) if unit else 0.0
        rest = np.flatnonzero(w > 0)
        alpha, b = dense_lssvm(K[np.ix_(rest, rest)], Y[rest], w[rest], mu, bias)
        out[i] = Y[i] - K[i, rest] @ alpha - b
    return out


def dense_variance(K: Array, v: Array, mu: float, k: Array, k_self: Array, bias: bool = True) -> Array:
    """Posterior variance in units of the prior at rows with kernel columns k (l, q): a flat prior on the bias."""
    if not bias:
        return k_self - np.einsum("iq,ij,jq->q", k, np.linalg.inv(K + mu * np.diag(1.0 / v)), k)
    border = np.vstack([k, np.ones((1, k.shape[1]))])
    return k_self - np.einsum("iq,ij,jq->q", border, np.linalg.inv(bordered(K, v, mu)), border)


# --- sparse: sum_i v_i |y_i - k_S(x_i)'beta - b|^2 + mu beta'K_SS beta ------------------------------------------------


@dataclass
class Sparse:
    beta: Array  # (n, c)
    b: Array  # (c,)
    cost: Array  # (c,)
    fitted: Array  # (l, c)
    diagonal: Array  # of [H^-1] for the kernels (n,)


def stacked(K: Array, v: Array, mu: float, S: Array, bias: bool) -> Array:
    """The design whose squared residuals are the objective: (l + n, n + bias)."""
    try:
        half = np.linalg.cholesky(K[np.ix_(S, S)]).T  # half'half = K_SS
    except np.linalg.LinAlgError:  # singular
        values, vectors = np.linalg.eigh(K[np.ix_(S, S)])
        half = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    top = np.hstack([K[:, S], np.ones((len(K), int(bias)))]) * np.sqrt(v)[:, None]
    return np.vstack([top, np.hstack([np.sqrt(mu) * half, np.zeros((len(S), int(bias)))])])


def sparse_lssvm(K: Array, Y: Array, v: Array, mu: float, S: Array, bias: bool = True) -> Sparse:
    """The minimum on the kernels S, by a Householder QR of the stacked design."""
    n = len(S)
    Q, R = np.linalg.qr(stacked(K, v, mu, S, bias))
    right = np.vstack([Y * np.sqrt(v)[:, None], np.zeros((n, Y.shape[1]))])
    projected = Q.T @ right
    inverse = np.linalg.inv(R)
    solved = inverse @ projected
    b = solved[n] if bias else np.zeros(Y.shape[1])
    fitted = Q @ projected  # needs no inverse
    cost = ((right - fitted) ** 2).sum(axis=0)
    return Sparse(solved[:n], b, cost, fitted[: len(K)] / np.sqrt(v)[:, None], (inverse**2).sum(axis=1)[:n])


def sparse_loo(K: Array, Y: Array, v: Array, mu: float, S: Array, bias: bool = True, unit: bool = False) -> Array:
    """Residual (l, c) of every row from a fit on the same kernels without it, or without one ``unit`` of its weight."""
    out = np.empty_like(Y)
    for i in range(len(K)):
        w = v.copy()
        w[i] = max(v[i] - 1.0, 0.0) if unit else 0.0  # its kernel may stay
        fit = sparse_lssvm_weighted(K, Y, w, mu, S, bias)
        out[i] = Y[i] - K[i, S] @ fit.beta - fit.b
    return out


def sparse_lssvm_weighted(K: Array, Y: Array, v: Array, mu: float, S: Array, bias: bool) -> Sparse:
    """`sparse_lssvm` where some weights are zero: without those rows' errors."""
    n = len(S)
    A = stacked(K, v, mu, S, bias)
    right = np.vstack([Y * np.sqrt(v)[:, None], np.zeros((n, Y.shape[1]))])
    solved = np.linalg.lstsq(A, right, rcond=1e-15)[0]
    b = solved[n] if bias else np.zeros(Y.shape[1])
    none = np.empty(0)
    return Sparse(solved[:n], b, none, none, none)


def literal_isls(K: Array, Y: Array, v: Array, mu: float, start: Array, pruning: str) -> list[Array]:
    """Kernels (sorted) at every size from the start to 1, everything solved again at each."""
    S, sets = np.sort(start), []
    while True:
        sets.append(S)
        if len(S) == 1:
            return sets
        fit = sparse_lssvm(K, Y, v, mu, S)
        score = (fit.beta**2).sum(axis=1)
        if pruning == "cost":
            score = score / fit.diagonal
        S = np.delete(S, np.argmin(score))


def literal_sls(K: Array, Y: Array, v: Array, mu: float, pruning: str) -> list[tuple[Array, Array, Array]]:
    """Rows kept, alpha and b at every size: train, drop the row of the smallest score, train again."""
    S, path = np.arange(len(K)), []
    while True:
        alpha, b = dense_lssvm(K[np.ix_(S, S)], Y[S], v[S], mu)
        path.append((S, alpha, b))
        if len(S) == 1:
            return path
        score = (alpha**2).sum(axis=1)
        if pruning == "cost":
            score = score / np.diag(np.linalg.inv(bordered(K[np.ix_(S, S)], v[S], mu)))[:-1]
        S = np.delete(S, np.argmin(score))
