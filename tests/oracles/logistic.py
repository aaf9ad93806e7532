"""The logistic loss on given kernels, literally: one output, Newton steps from 0, and a refit without each row."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def design_of(G: Array, K: Array, ridge: float, constant: bool) -> tuple[Array, Array]:
    """Columns [1 G], the 1 only with a constant, and the penalty of their coefficients."""
    design = np.column_stack([np.ones((len(G), int(constant))), G])
    penalty = np.zeros((design.shape[1],) * 2)
    penalty[int(constant) :, int(constant) :] = ridge * K
    return design, penalty


def newton(design: Array, penalty: Array, t: Array, v: Array, steps: int) -> tuple[Array, Array, Array]:
    """Coefficients, and curvature and target of the last weighted least squares.

    Each step solves sum v p(1-p) (z - f)^2 + c'penalty c for the z of the step before.
    """
    c = np.zeros(design.shape[1])
    for _ in range(steps):
        f = design @ c
        p = 1.0 / (1.0 + np.exp(-f))
        w, z = v * p * (1.0 - p), f + ((t > 0) - p) / (p * (1.0 - p))
        c = np.linalg.solve(design.T @ np.diag(w) @ design + penalty, design.T @ (w * z))
    return c, w, z


def without_each(design: Array, penalty: Array, w: Array, z: Array, v: Array) -> Array:
    """f(x_i) of the last least squares, solved again without one unit of row i."""
    out = np.empty(len(design))
    for i in range(len(design)):
        rest = w.copy()
        rest[i] *= 1.0 - 1.0 / max(v[i], 1.0)
        c = np.linalg.solve(design.T @ np.diag(rest) @ design + penalty, design.T @ (rest * z))
        out[i] = design[i] @ c
    return out
