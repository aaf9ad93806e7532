"""The rivals of the subset benchmarks, in numpy: selections as a careful user would write them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Array = NDArray[np.float64]


def rbf(X: Array, Y: Array, gamma: float) -> Array:
    """The kernel matrix, by one matrix product and in place."""
    K = X @ (2 * gamma * Y.T)
    K -= gamma * (X**2).sum(1)[:, None]
    K -= gamma * (Y**2).sum(1)
    return np.exp(np.minimum(K, 0.0, out=K), out=K)


def efvs(X: Array, gamma: float, n: int, rho: int, nu: int, rng: np.random.Generator) -> list[int]:
    """EFVS, candidates and judges of a step in one triangular solve (the residual-kernel gain, no inverse)."""
    L = np.zeros((n, n), order="F")
    S: list[int] = []
    for m in range(n):
        draw = rng.permutation(len(X))[: rho + nu + m]
        draw = draw[~np.isin(draw, S)][: rho + nu]
        R, T = draw[:rho], draw[rho:]
        W = rbf(X[S], X[draw], gamma) if S else np.zeros((0, len(draw)))
        W = solve_triangular(L[:m, :m], W, lower=True, check_finite=False, overwrite_b=True)
        E = rbf(X[R], X[T], gamma) - W[:, :rho].T @ W[:, rho:]
        residual = 1 - (W[:, :rho] ** 2).sum(0)
        gain = np.where(residual > 1e-8, (E**2).sum(1) / np.maximum(residual, 1e-8), -1.0)
        r = int(np.argmax(gain))
        L[m, :m], L[m, m] = W[:, r], np.sqrt(residual[r])
        S.append(int(R[r]))
    return S


def literal_fvs(K: Array, n: int) -> list[int]:
    """Baudat and Anouar as printed: an inverse for every candidate of every step."""
    S: list[int] = []
    for _ in range(n):
        J = np.full(len(K), -1.0)
        for r in set(range(len(K))) - set(S):
            T = [*S, r]
            J[r] = ((np.linalg.inv(K[np.ix_(T, T)]) @ K[T]) * K[T]).sum() / len(K)
        S.append(int(np.argmax(J)))
    return S


def _candidates(N: int, S: list[int], rng: np.random.Generator) -> NDArray[np.int64]:
    """59 random rows that are not chosen yet."""
    C = rng.choice(N, 59 + len(S) + 1, replace=False)
    return C[~np.isin(C, S)][:59]


def ols59_gram_schmidt(X: Array, y: Array, gamma: float, n: int, ridge: float, rng: np.random.Generator) -> list[int]:
    """OLS with 59 random candidates a step as the papers state it: candidates made orthogonal to the chosen columns."""
    N = len(X)
    Q = np.empty((N, n + 1), order="F")
    Q[:, 0] = 1.0 / np.sqrt(N)
    left_of_y = y - y.mean()
    S: list[int] = []
    for m in range(1, n + 1):
        C = _candidates(N, S, rng)
        P = rbf(X, X[C], gamma)
        before = np.einsum("ij,ij->j", P, P)
        P -= Q[:, :m] @ (Q[:, :m].T @ P)
        left = np.einsum("ij,ij->j", P, P)
        score = np.where(left > 1e-9 * before, (P.T @ left_of_y) ** 2 / (ridge + np.maximum(left, 1e-300)), -1.0)
        b = int(np.argmax(score))
        Q[:, m] = P[:, b] / np.sqrt(left[b])
        left_of_y -= Q[:, m] * (Q[:, m] @ left_of_y)
        S.append(int(C[b]))
    return S


def ols59(X: Array, y: Array, gamma: float, n: int, ridge: float, rng: np.random.Generator) -> list[int]:
    """OLS with 59 random candidates a step, in the normal-equation form: half the work of Gram-Schmidt."""
    N = len(X)
    K = np.empty((N, n + 1), order="F")
    K[:, 0] = 1.0
    L = np.zeros((n + 1, n + 1), order="F")
    L[0, 0] = np.sqrt(N)
    z = np.zeros(n + 1)
    z[0] = y.sum() / L[0, 0]
    S: list[int] = []
    norms = gamma * (X**2).sum(1)
    for m in range(1, n + 1):
        C = _candidates(N, S, rng)
        P = X @ (2 * gamma * X[C].T)
        P -= norms[:, None]
        P -= norms[C]
        np.exp(P, out=P)
        V = solve_triangular(L[:m, :m], K[:, :m].T @ P, lower=True, check_finite=False)
        left = np.einsum("ij,ij->j", P, P) - (V**2).sum(0)
        c = P.T @ y - V.T @ z[:m]
        score = np.where(left > 1e-9 * N, c**2 / (ridge + np.maximum(left, 1e-300)), -1.0)
        b = int(np.argmax(score))
        K[:, m], L[m, :m], L[m, m] = P[:, b], V[:, b], np.sqrt(left[b])
        z[m] = c[b] / L[m, m]
        S.append(int(C[b]))
    return S
