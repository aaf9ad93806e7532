"""Kernel recursive least squares by approximate linear dependence (Engel, Mannor & Meir 2004), as printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import ADMITTED, REJECTED_NOVELTY, Array, KernelFunction


@dataclass
class KRLS:
    """State of Engel's figure 1: indices (m,), K_inverse (m, m), P (m, m) = (A'A)^-1, coef (m,), outcome
    (n,)."""

    indices: Array
    K_inverse: Array
    P: Array
    coef: Array
    outcome: Array

    def predict(self, kernel: KernelFunction, X: Array, stream: Array) -> Array:
        """f(x) = sum_j coef_j k(x~_j, x), (p,)."""
        return kernel(X, np.asarray(stream)[self.indices]) @ self.coef


def engel_krls(kernel: KernelFunction, X: Array, y: Array, nu: float, dtype: Any = np.float64) -> KRLS:
    """Kernel recursive least squares, word for word from [Engel fig. 1]: X (n, d), y (n,), threshold nu."""
    X, y = np.asarray(X, dtype), np.asarray(y, dtype)

    def k(A: Array, B: Array) -> Array:
        return np.asarray(kernel(A, B), dtype)

    # Initialize: K~^-1 = [1/k11], alpha = y1/k11, P = [1], m = 1
    k11 = k(X[:1], X[:1])[0, 0]
    D, K_inverse, coef, P = [0], np.array([[1 / k11]]), np.array([y[0] / k11]), np.ones((1, 1), dtype)
    outcome = np.full(len(X), REJECTED_NOVELTY, np.uint8)
    outcome[0] = ADMITTED
    for t in range(1, len(X)):
        k_t = k(X[D], X[t : t + 1])[:, 0]  # k~_{t-1}(x_t)
        a = K_inverse @ k_t
        delta = k(X[t : t + 1], X[t : t + 1])[0, 0] - k_t @ a  # ALD test
        error = y[t] - k_t @ coef
        m = len(D)
        if delta > nu:
            D.append(t)
            outcome[t] = ADMITTED
            grown = np.empty((m + 1, m + 1), dtype)
            grown[:m, :m] = delta * K_inverse + np.outer(a, a)
            grown[:m, m] = grown[m, :m] = -a
            grown[m, m] = 1
            K_inverse = grown / delta
            P = np.block([[P, np.zeros((m, 1), dtype)], [np.zeros((1, m), dtype), np.ones((1, 1), dtype)]])
            coef = np.append(coef - a / delta * error, error / delta)
        else:
            q = P @ a / (1 + a @ P @ a)
            P = P - np.outer(q, a @ P)
            coef = coef + K_inverse @ q * error
    return KRLS(np.array(D), K_inverse, P, coef, outcome)
