"""Dense linear algebra in any float dtype (LAPACK stops at double), and the minimiser of (1.1) by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import Array, KernelFunction


def cholesky(K: Array) -> Array:
    """Lower L (m, m) with K = L L', column by column; LinAlgError when a pivot is not positive."""
    m = len(K)
    L = np.zeros_like(K)
    for j in range(m):
        column = K[j:, j] - L[j:, :j] @ L[j, :j]
        if not column[0] > 0:
            raise np.linalg.LinAlgError(f"pivot {j} of K is {column[0]}: not positive definite")
        L[j:, j] = column / np.sqrt(column[0])
    return L


def solve_lower(L: Array, B: Array) -> Array:
    """L^-1 B for lower L (m, m) and B (m,) or (m, p): forward substitution."""
    X = np.array(B, dtype=np.result_type(L, B))
    for i in range(len(L)):
        X[i] = (X[i] - L[i, :i] @ X[:i]) / L[i, i]
    return X


def solve_upper(R: Array, B: Array) -> Array:
    """R^-1 B for upper R (m, m) and B (m,) or (m, p): back substitution."""
    X = np.array(B, dtype=np.result_type(R, B))
    for i in range(len(R) - 1, -1, -1):
        X[i] = (X[i] - R[i, i + 1 :] @ X[i + 1 :]) / R[i, i]
    return X


def householder_qr(B: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
    """Q'B[:, order] = [R; 0] and Q'Y = [top; rest] for B (r, p), Y (r, c), r >= p.

    Rows are sorted by size and columns pivoted: the error of each row is then small against that row (Cox &
    Higham), which keeps the light rows sqrt(alpha) [0 I] of (1.1) exact beside heavy data rows.
    """
    p = B.shape[1]
    order = np.arange(p)
    if p == 0:
        return np.zeros((0, 0), dtype=B.dtype), order, Y[:0].copy(), Y.copy()
    A = np.hstack([B, Y])[np.argsort(-abs(B).max(axis=1), kind="stable")]
    for j in range(p):
        pivot = j + int(np.argmax((A[j:, j:p] ** 2).sum(axis=0)))
        A[:, [j, pivot]] = A[:, [pivot, j]]
        order[[j, pivot]] = order[[pivot, j]]
        v = A[j:, j].copy()
        norm = np.sqrt(v @ v)
        if norm == 0:
            raise np.linalg.LinAlgError(f"the design has rank {j} of {p}")
        v[0] += np.copysign(norm, v[0])
        v /= np.sqrt(v @ v)
        A[j:, j:] -= np.multiply.outer(2 * v, v @ A[j:, j:])
        A[j + 1 :, j] = 0
    return A[:p, :p], order, A[:p, p:], A[p:, p:]


@dataclass
class Minimum:
    """Minimiser of sum_i v_i |y_i - u_i b - z_i'theta|^2 + alpha |theta|^2, (1.1) with K = L L', z = L^-1 k~.

    theta (m, c), bias (b, c); C (b+m, b+m) = ([U Z]'V[U Z] + alpha diag(0, I))^-1, the bias coordinate first;
    cost, rss (c,); dof = trace of the hat matrix; log_det = -log|C|.
    """

    theta: Array
    bias: Array
    C: Array
    cost: Array
    rss: Array
    dof: Any
    log_det: Any


def minimise(Z: Array, U: Array, Y: Array, v: Array, alpha: Any) -> Minimum:
    """Solve for Z (t, m), U (t, b) the unpenalised columns, Y (t, c), v (t,) by one QR of the augmented
    system."""
    m, b, dtype = Z.shape[1], U.shape[1], Z.dtype
    root = np.sqrt(v)[:, None]
    data, target = root * np.hstack([U, Z]), root * Y
    ridge = np.hstack([np.zeros((m, b), dtype), np.sqrt(dtype.type(alpha)) * np.eye(m, dtype=dtype)])
    B = np.vstack([data, ridge])
    R, order, top, rest = householder_qr(B, np.vstack([target, np.zeros((m, Y.shape[1]), dtype)]))
    solution = np.zeros((b + m, Y.shape[1]), dtype)
    solution[order] = solve_upper(R, top)
    R_inverse = np.zeros((b + m, b + m), dtype)
    R_inverse[order] = solve_upper(R, np.eye(b + m, dtype=dtype))
    return Minimum(
        theta=solution[b:],
        bias=solution[:b],
        C=R_inverse @ R_inverse.T,
        cost=(rest**2).sum(axis=0),
        rss=((target - data @ solution) ** 2).sum(axis=0),
        dof=((data @ R_inverse) ** 2).sum(),
        log_det=2 * np.log(abs(np.diag(R))).sum(),
    )


@dataclass
class Solution:
    """A state of the online model by direct solution; shapes in the module's letters.

    `inverse_P` (m, m) is P^-1 of the kernel coefficients with the bias eliminated.  `cost` (xi), `rss`,
    `gcv`, `noise_variance`, `signal_scale`, `log_evidence` are (c,), one a output.  `n` = t - b.
    """

    kernel: KernelFunction
    alpha: Any
    t: int
    n: int
    indices: Array  # (m,) row numbers
    basis: Array  # (m, d)
    K: Array  # (m, m)
    L: Array  # (m, m)
    theta: Array  # (m, c)
    beta: Array  # (m, c)
    bias: Array  # (c,), zeros without a bias
    C: Array  # (b+m, b+m)
    inverse_P: Array  # (m, m)
    cost: Array
    rss: Array
    dof: Any
    gcv: Array  # t rss/(t - dof)^2
    log_det: Any  # log|Z'VZ + alpha diag(0, I)|, bias coordinate included
    noise_variance: Array  # xi/n
    signal_scale: Array  # xi/(alpha n)
    log_evidence: Array

    def coordinates(self, X: Array) -> Array:
        """w(x) = L^-1 k(x), (m, p) for X (p, d)."""
        if len(self.L) == 0:
            return np.zeros((0, len(X)), self.L.dtype)
        return solve_lower(self.L, self.kernel(self.basis, X))

    def predict(self, X: Array) -> Array:
        """f(x) = b + k(x)'beta, (p, c), as b + w(x)'theta: large coefficients of near neighbours cancel
        in k'beta."""
        return self.bias + self.coordinates(X).T @ self.theta

    def variance(self, X: Array) -> tuple[Array, Array]:
        """w'Cw (bias coordinate 1 included) and delta(x) >= 0, both (p,), in units of the prior (1.9)."""
        w = self.coordinates(X)
        prior = np.array([self.kernel(x[None], x[None])[0, 0] for x in np.asarray(X)], dtype=w.dtype)
        delta = np.maximum(prior - (w * w).sum(axis=0), 0)
        if len(self.C) > len(self.L):
            w = np.vstack([np.ones((1, w.shape[1]), w.dtype), w])
        return (w * (self.C @ w)).sum(axis=0), delta

    def std(self, X: Array) -> Array:
        """Standard deviation (p, c) of a new observation at X: s2 (alpha w'Cw + delta + alpha), (1.9)."""
        inside, delta = self.variance(X)
        return np.sqrt(np.multiply.outer(self.alpha * inside + delta + self.alpha, self.signal_scale))


def rkhs_error(beta: Array, reference: Array, K: Array) -> float:
    """|f - g|/|g| in the RKHS norm, for coefficients beta and reference (m, c) on one dictionary."""
    L = cholesky(np.asarray(K, np.longdouble))
    return float(np.sqrt(((L.T @ (beta - reference)) ** 2).sum() / ((L.T @ reference) ** 2).sum()))
