"""Two selectors of the literature that the product has not, for the table of selectors.

"qr": Nair, Choudhury & Keane (2002), the row with the largest residual of the fit without a ridge next.  "csi": Bach &
Jordan (2005), incomplete Cholesky with side information.
"""

from __future__ import annotations

import numpy as np
from kernsift import OROLSRegressor
from sklearn.metrics.pairwise import rbf_kernel

from .registry import Array

# A row whose squared distance to the span is below this is none.
DEPENDENT = 1e-8


def qr(X: Array, targets: Array, gamma: float, m: int) -> Array:
    """Rows chosen by the largest residual: OROLS without a ridge is the thin QR of the columns."""
    model = OROLSRegressor(gamma=gamma, alpha=0.0, stop=None, max_basis=m, max_condition=1e12)
    return X[model.fit(X, targets).basis_indices_]


def csi(X: Array, targets: Array, gamma: float, m: int) -> Array:
    """Rows chosen for what they explain of the kernel matrix and of the targets together."""
    return X[side_information(X, targets, gamma, m)]


def side_information(X: Array, targets: Array, gamma: float, m: int, ahead: int = 40, balance: float = 0.99) -> Array:
    """Row numbers of the pivots, in order.

    Each step takes the row that lowers (1 - balance) trace(E)/trace(K) + balance |R|²/|Y|² most, E the residual of the
    kernel matrix and R that of the centred targets.  E is known on `ahead` further pivots only, as AA': in it the
    column of row i is A a_i/|a_i|.
    """
    n = len(X)
    R = targets - targets.mean(axis=0)
    by_kernel, by_target = (1 - balance) / n, balance / np.sum(R * R)
    chosen: list[int] = []
    G, Q = np.zeros((n, m)), np.full((n, 1), n**-0.5)  # columns of the pivots; orthogonal, with the constant
    A, B = np.zeros((n, 0)), np.zeros((n, 0))  # columns ahead; without their parts along Q
    left, beyond = np.ones(n), np.ones(n)  # what the pivots leave of k(x, x); what those ahead leave of it
    free, waiting = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)

    def look_ahead(i: int) -> None:
        nonlocal A, B, beyond
        k = len(chosen)
        column = rbf_kernel(X, X[i : i + 1], gamma=gamma)[:, 0] - G[:, :k] @ G[i, :k] - A @ A[i]
        column /= np.sqrt(beyond[i])
        A, B = np.column_stack([A, column]), np.column_stack([B, column - Q @ (Q.T @ column)])
        beyond = beyond - column**2

    while len(chosen) < m:
        while A.shape[1] < ahead:
            i = int(np.where(free & ~waiting, beyond, -1.0).argmax())
            if not (free[i] and not waiting[i] and beyond[i] > DEPENDENT):
                break
            look_ahead(i)
            waiting[i] = True
        size = np.einsum("ij,ij->i", A, A)
        of_kernel = np.einsum("ij,ij->i", A @ (A.T @ A), A)
        of_target, along = np.sum((A @ (B.T @ R)) ** 2, axis=1), np.einsum("ij,ij->i", A @ (B.T @ B), A)
        gain = by_kernel * of_kernel / np.maximum(size, DEPENDENT) + by_target * of_target / np.maximum(along, 1e-300)
        i = int(np.where(free & (left > DEPENDENT) & (size > DEPENDENT), gain, -1.0).argmax())
        if not (free[i] and left[i] > DEPENDENT and size[i] > DEPENDENT):
            break
        free[i] = False
        if not waiting[i]:
            if not beyond[i] > DEPENDENT:
                continue  # those ahead and it depend on each other
            look_ahead(i)
        waiting[i] = False
        # a reflection that leaves AA' and makes the first column that of row i
        u = A[i].copy()
        u[0] += np.copysign(np.linalg.norm(u), u[0])
        u /= np.linalg.norm(u)
        A, B = A - 2 * np.outer(A @ u, u), B - 2 * np.outer(B @ u, u)
        G[:, len(chosen)], q = A[:, 0], B[:, 0] - Q @ (Q.T @ B[:, 0])
        A, B = A[:, 1:], B[:, 1:]
        left = left - G[:, len(chosen)] ** 2
        chosen.append(i)
        if np.linalg.norm(q) > 1e-12:
            q = q / np.linalg.norm(q)
            Q, R, B = np.column_stack([Q, q]), R - np.outer(q, q @ R), B - np.outer(q, q @ B)
    return np.array(chosen)


RIVALS = {"qr": qr, "csi": csi}
