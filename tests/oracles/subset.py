"""Choosing a basis (Cawley & Talbot 2002), and least squares on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .kernels import Array


def reconstruction(K: Array, S: list[int], v: Array | None = None) -> float:
    """J(S) of [EFVS 1]: the weighted mean of k_Si' K_SS^-1 k_Si / k_ii, over the Gram matrix K."""
    v = np.ones(len(K)) if v is None else np.asarray(v, dtype=float)
    if not S:
        return 0.0
    L = np.linalg.cholesky(K[np.ix_(S, S)])
    W = np.linalg.solve(L, K[S])
    return float((v * (W**2).sum(axis=0) / np.diag(K)).sum() / v.sum())


def brute_force_fvs(K: Array, n: int, v: Array | None = None) -> tuple[list[int], list[float]]:
    """Baudat and Anouar's selection: the pattern of the largest J(S + r), every one tried, one factorisation each."""
    S: list[int] = []
    path = []
    for _ in range(n):
        tried = {r: reconstruction(K, [*S, r], v) for r in range(len(K)) if r not in S}
        S.append(max(tried, key=tried.__getitem__))
        path.append(tried[S[-1]])
    return S, path


@dataclass
class SubsetFit:
    """The direct solution of a subset of regressors: coefficients of the kernels and the bias."""

    beta: Array
    bias: Array
    hat: Array  # leverage of each row: diagonal of the matrix from y to the fit, in units of one row


def subset_fit(K_nm: Array, K_mm: Array, Y: Array, v: Array, alpha: float, intercept: bool) -> SubsetFit:
    """Least squares on explicit features: rows sqrt(v) [1, k_m(x)'L^-T], and sqrt(alpha) [0, I] below them."""
    L = np.linalg.cholesky(K_mm)
    W = np.linalg.solve(L, K_nm.T).T
    m, b = W.shape[1], int(intercept)
    Z = np.hstack([np.ones((len(W), b)), W])
    penalty = np.hstack([np.zeros((m, b)), np.sqrt(alpha) * np.eye(m)])
    A = np.vstack([np.sqrt(v)[:, None] * Z, penalty])
    B = np.vstack([np.sqrt(v)[:, None] * Y, np.zeros((m, Y.shape[1]))])
    theta = np.linalg.lstsq(A, B, rcond=None)[0]
    R = np.linalg.qr(A, mode="r")
    leverage = (np.linalg.solve(R.T, Z.T) ** 2).sum(axis=0)
    bias = theta[0] if intercept else np.zeros(Y.shape[1])
    return SubsetFit(np.linalg.solve(L.T, theta[b:]), bias, leverage)


def subset_loo(K_nm: Array, K_mm: Array, Y: Array, v: Array, alpha: float, intercept: bool) -> Array:
    """Predictions of each row by the model refitted without one unit of its weight (all of it if v < 1)."""
    out = np.empty_like(Y)
    for i in range(len(Y)):
        less = v.copy()
        less[i] = max(v[i] - 1.0, 0.0)
        fit = subset_fit(K_nm, K_mm, Y, less, alpha, intercept)
        out[i] = K_nm[i] @ fit.beta + fit.bias
    return out


def literal_deletion(K_nm: Array, K_mm: Array, Y: Array, alpha: float, fraction: float) -> list[int]:
    """The order in which elements leave, each score the increase of the cost by refitting without the element."""

    def cost(S: list[int]) -> float:
        fit = subset_fit(K_nm[:, S], K_mm[np.ix_(S, S)], Y, np.ones(len(Y)), alpha, True)
        e = Y - K_nm[:, S] @ fit.beta - fit.bias
        return float((e**2).sum() + alpha * np.trace(fit.beta.T @ K_mm[np.ix_(S, S)] @ fit.beta))

    S, order = list(range(len(K_mm))), []
    while len(S) > 1:
        scores = {i: cost([j for j in S if j != i]) - cost(S) for i in S}
        go = min(len(S) - 1, max(1, int(np.ceil(fraction * len(S)))))
        gone = sorted(S, key=scores.__getitem__)[:go]
        order += gone
        S = [j for j in S if j not in gone]
    return order + S
