"""The rival of `bench_online`: the papers' online LS-SVM written row by row in numpy.

Kernel recursive least squares with the two explicit inverses, as one would write it from the paper: no bias,
every novel row that is useful enough is a candidate, and at the cap the model grows, then loses the kernel with the
smallest score.
It shares nothing with the C++ core and serves as its reference too.
"""

from __future__ import annotations

import numpy as np

from .common import Array


class Recursion:
    """Minimises ``sum (y - K beta)^2 + alpha beta' K_mm beta`` row by row over a growing dictionary."""

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
