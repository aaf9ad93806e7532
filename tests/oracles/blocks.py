"""What the blocks hold, by definition: matrices and rows are kept, everything else is computed afresh."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import Array
from .linear import Minimum, minimise


def dense_inverse(B: Array) -> tuple[Array, float, float]:
    """B^-1 (m, m), log|det B| and the sign of det B, by Gauss-Jordan with row pivots in long double."""
    m = len(B)
    A = np.hstack([np.asarray(B, np.longdouble), np.eye(m, dtype=np.longdouble)])
    log_det, sign = np.longdouble(0), 1.0
    for j in range(m):
        p = j + int(np.argmax(abs(A[j:, j])))
        if A[p, j] == 0:
            raise np.linalg.LinAlgError("singular")
        if p != j:
            A[[j, p]] = A[[p, j]]
            sign = -sign
        log_det += np.log(abs(A[j, j]))
        sign *= float(np.sign(A[j, j]))
        A[j] /= A[j, j]
        others = np.arange(m) != j
        A[others] -= np.multiply.outer(A[others, j], A[j])
    return A[:, m:], float(log_det), sign


class RidgeRows:
    """Rows x (d,), y (c,), v of a ridge regression: sum v |y - b - x'beta|^2 + alpha |beta|^2, solved afresh."""

    def __init__(self, d: int, c: int, alpha: float, fit_intercept: bool) -> None:
        self.alpha, self.fit_intercept = alpha, fit_intercept
        self.X, self.Y, self.v = np.zeros((0, d)), np.zeros((0, c)), np.zeros(0)

    def add(self, X: Array, Y: Array, v: Array) -> None:
        self.X, self.Y, self.v = np.vstack([self.X, X]), np.vstack([self.Y, Y]), np.append(self.v, v)

    def take_back(self, i: int) -> None:
        self.X, self.Y, self.v = np.delete(self.X, i, 0), np.delete(self.Y, i, 0), np.delete(self.v, i)

    def grow(self, count: int) -> None:
        self.X = np.hstack([self.X, np.zeros((len(self.X), count))])

    def delete(self, i: int) -> None:
        self.X = np.delete(self.X, i, 1)

    def solve(self) -> Minimum:
        """The minimiser; coordinates of C are the intercept, then the features."""
        X, Y, v = (np.asarray(a, np.longdouble) for a in (self.X, self.Y, self.v))
        unit = np.ones((len(X), int(self.fit_intercept)), np.longdouble)
        return minimise(X, unit, Y, v, np.longdouble(self.alpha))

    def log_evidence(self, best: Minimum) -> Array:
        """Of a Gaussian process with features ~ N(0, s2 / alpha), noise s2 / v, at the best s2."""
        n = len(self.X) - int(self.fit_intercept)
        scale = best.cost / n
        log_det = best.log_det - self.X.shape[1] * np.log(np.longdouble(self.alpha))
        return -0.5 * (n * (1 + np.log(2 * np.pi * scale)) + log_det - np.log(self.v).sum())


class FadingFilter:
    """Coefficients that drift back to their prior N(0, 1/alpha) after every row, by the dense equations of a filter.

    C is their covariance and theta (p, c) their mean, cost the discounted squares of standardised innovations.
    """

    def __init__(self, p: int, c: int, alpha: float, memory: float) -> None:
        self.alpha, self.memory = np.longdouble(alpha), np.longdouble(memory)
        self.C = np.eye(p, dtype=np.longdouble) / self.alpha
        self.theta, self.cost = np.zeros((p, c), np.longdouble), np.zeros(c, np.longdouble)
        self.rows = np.longdouble(0)

    def learn(self, w: Array, y: Array, v: float) -> None:
        h = self.C @ w
        Delta, rho = 1 / np.longdouble(v) + w @ h, y - w @ self.theta
        self.C = self.memory * (self.C - np.outer(h, h) / Delta) + (1 - self.memory) / self.alpha * np.eye(len(w))
        self.theta = np.sqrt(self.memory) * (self.theta + np.outer(h, rho) / Delta)
        self.cost, self.rows = self.memory * self.cost + rho**2 / Delta, self.memory * self.rows + 1

    def grow(self) -> None:
        p = len(self.C)
        self.C = np.pad(self.C, (0, 1))
        self.C[p, p] = 1 / self.alpha
        self.theta = np.pad(self.theta, ((0, 1), (0, 0)))
        self.cost, self.rows = self.memory * self.cost, self.memory * self.rows  # as if a row without targets passed

    def delete(self, i: int) -> None:
        kept = np.arange(len(self.C)) != i
        self.cost = self.cost + self.theta[i] ** 2 / self.C[i, i]
        column = self.C[kept, i] / self.C[i, i]
        self.theta = self.theta[kept] - np.outer(column, self.theta[i])
        self.C = self.C[np.ix_(kept, kept)] - np.outer(column, self.C[i, kept])


def column_ridge(K: Array, Y: Array, v: Array, ridge: float, free: int) -> tuple[Array, Any]:
    """a (m, c) of sum v |y - Ka|^2 + ridge |(Ua)_free..|^2 with V^1/2 K = QU, and the GCV score, by dense matrices."""
    root = np.sqrt(v)[:, None]
    A = np.asarray(root * K, np.float64)
    Q, R = np.linalg.qr(A)
    size = np.diag(R)
    U, Q = R / size[:, None], Q * size
    D = np.diag((np.arange(K.shape[1]) >= free).astype(float)) * ridge
    smoother = np.linalg.solve(Q.T @ Q + D, Q.T)
    a = np.linalg.solve(U, smoother @ (root * Y))
    left = np.eye(len(K)) - Q @ smoother
    rows = max(float(v.sum()), float(len(K)))
    freedom = rows - float(np.trace(Q @ smoother))
    return a, rows * float(((left @ (root * Y)) ** 2).sum()) / freedom**2
