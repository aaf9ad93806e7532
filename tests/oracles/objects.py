"""Models on a matrix of kernel values, dense and literal."""

from __future__ import annotations

import numpy as np


def edit_distance(a: str, b: str) -> int:
    """Least number of insertions, deletions and replacements, by its recursion."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    table[:, 0], table[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, change)
    return int(table[-1, -1])


def gram(kernel, left, right):
    return np.array([[kernel(a, b) for b in right] for a in left])


def ls_svm(K, y, alpha):
    """Coefficients and constant of an LS-SVM: [K + alpha I, 1; 1', 0] [a; b] = [y; 0]."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n], system[:n, n], system[n, :n] = K + alpha * np.eye(n), 1.0, 1.0
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], solution[n]


def subset(K_nm, K_mm, y, alpha):
    """Minimiser of |y - K_nm beta - b|^2 + alpha beta' K_mm beta."""
    n, m = K_nm.shape
    Z = np.column_stack([K_nm, np.ones(n)])
    R = np.zeros((m + 1, m + 1))
    R[:m, :m] = K_mm
    solution = np.linalg.solve(Z.T @ Z + alpha * R, Z.T @ y)
    return solution[:m], solution[m]


def krls(kernel, objects, y, tol, alpha):
    """Objects that are novel one after another, and the ridge solution on what was known of each row when it came."""
    chosen, rows = [], []
    for x in objects:
        if chosen:
            K = gram(kernel, chosen, chosen)
            k = gram(kernel, chosen, [x])[:, 0]
            a = np.linalg.solve(K, k)
            left = kernel(x, x) - k @ a
        if not chosen or left > tol * kernel(x, x):
            chosen.append(x)
            a = np.eye(len(chosen))[-1]
        rows.append(a)
    A = np.array([np.append(a, np.zeros(len(chosen) - len(a))) for a in rows])
    K = gram(kernel, chosen, chosen)
    Z = A @ K
    return chosen, np.linalg.solve(Z.T @ Z + alpha * K, Z.T @ y)
