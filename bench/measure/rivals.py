"""Rivals in numpy, as a careful user would write them, and scikit-learn's way to the same model.

They share nothing with the C++ core and serve as its reference too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline

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


def nystroem_ridge(gamma: float, m: int, alpha: float) -> Pipeline:
    """scikit-learn's way to the same model."""
    return make_pipeline(Nystroem(gamma=gamma, n_components=m, random_state=0), Ridge(alpha=alpha))


# --- the papers' online LS-SVM, row by row


class Recursion:
    """Kernel recursive least squares with the two explicit inverses, as one would write it from the paper.

    No bias; every novel row that is useful enough is a candidate, and at the cap the model grows, then loses the
    kernel with the smallest score.

    Minimises ``sum (y - K beta)^2 + alpha beta' K_mm beta`` row by row over a growing dictionary.
    """

    def __init__(
        self, d: int, gamma: float, alpha: float, novelty_tol: float, max_basis: int, usefulness_tol: float = 0.0
    ) -> None:
        self.gamma, self.alpha, self.novelty_tol, self.max_basis = gamma, alpha, novelty_tol, max_basis
        self.usefulness_tol, self.targets = usefulness_tol, (0, 0.0, 0.0)  # rows, mean, squares about it
        self.basis = np.empty((0, d))
        self.K_inv = np.empty((0, 0))
        self.P_inv = np.empty((0, 0))
        self.beta = np.empty(0)

    def kernel(self, x: Array) -> Array:
        difference = self.basis - x
        return np.exp(-self.gamma * np.einsum("ij,ij->i", difference, difference))

    def learn(self, X: Array, y: Array) -> None:
        for x, target in zip(X, y, strict=True):
            self.learn_row(x, target)

    def learn_row(self, x: Array, y: float) -> None:
        k = self.kernel(x)
        a = self.K_inv @ k
        delta = 1.0 - k @ a
        g = self.P_inv @ k
        Delta = 1.0 + k @ g
        rho = y - k @ self.beta
        P_inv = self.P_inv - np.outer(g, g) / Delta
        n, mean, squares = self.targets
        moved = mean + (y - mean) / (n + 1)
        self.targets = n + 1, moved, squares + (y - mean) * (y - moved)
        usefulness = delta * rho**2 / (Delta * (delta + self.alpha * Delta))
        useful = delta * usefulness > self.usefulness_tol * self.targets[2] / self.targets[0]
        if delta <= self.novelty_tol or (self.usefulness_tol > 0 and not useful):
            self.P_inv = P_inv
            self.beta = self.beta + g * rho / Delta
            return
        # P after a normal step, bordered by the new column: w_b and Delta_b of the growing step.
        Delta_b = delta * (delta / Delta + self.alpha)
        kappa = rho / (delta + self.alpha * Delta)
        self.P_inv = bordered(P_inv, a + (delta / Delta) * g, Delta_b)
        self.K_inv = bordered(self.K_inv, a, delta)
        self.beta = np.append(self.beta + kappa * (self.alpha * g - a), kappa)
        self.basis = np.vstack([self.basis, x])
        if len(self.beta) > self.max_basis:
            self.delete(int(np.argmin(self.beta**2 / np.diagonal(self.P_inv))))

    def delete(self, i: int) -> None:
        u = self.P_inv[:, i]
        self.beta = np.delete(self.beta - u * (self.beta[i] / u[i]), i)
        self.P_inv = without(self.P_inv, i)
        self.K_inv = without(self.K_inv, i)
        self.basis = np.delete(self.basis, i, axis=0)

    def predict(self, X: Array) -> Array:
        return np.array([self.kernel(x) @ self.beta for x in X])


def bordered(inverse: Array, w: Array, pivot: float) -> Array:
    """Inverse of a bordered matrix: `w` is the inverse times the new column, `pivot` the Schur complement."""
    m = len(w)
    larger = np.zeros((m + 1, m + 1))
    larger[:m, :m] = inverse
    u = np.append(w, -1.0)
    return larger + np.outer(u, u) / pivot


def without(inverse: Array, i: int) -> Array:
    """Inverse of the matrix whose row and column `i` are struck out."""
    u = inverse[:, i]
    smaller = inverse - np.outer(u, u) / u[i]
    return np.delete(np.delete(smaller, i, axis=0), i, axis=1)
