"""Kernels by explicit differences, and what every oracle shares: types, codes, tolerances."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

Array = np.ndarray
KernelFunction = Callable[[Array, Array], Array]


class Outcome(IntEnum):
    """What became of a row: the codes that the core's `learn` returns."""

    REJECTED_NOVELTY = 0
    REJECTED_USEFULNESS = 1
    ADMITTED = 2
    SWAPPED = 3
    BOUNCED = 4
    REFUSED = 5
    IGNORED = 6


REJECTED_NOVELTY, REJECTED_USEFULNESS, ADMITTED, SWAPPED, BOUNCED, REFUSED, IGNORED = Outcome
#: A row becomes a kernel where delta^2 exceeds this part of k* (k* + sum_j a_j^2 k_jj): what a double resolves.
RESOLUTION = 1e-14
#: Pruning scores this close (relative to the smallest) are a tie and fall to the oldest element,
TIE = 1e-9
#: and so are all below this part of the squares of the targets: costs, in double, know no less.
NOTHING = 1e-20
#: Whether long double is wider than double here.
EXTENDED = bool(np.finfo(np.longdouble).eps < 1e-18)


def kernel_matrix(name: str, X: Array, Y: Array, gamma: Any = 1.0, degree: int = 3, coef0: float = 1.0) -> Array:
    """k(x_i, y_j) (n, m) of X (n, d) and Y (m, d), by explicit differences, feature by feature.

    gamma is a number or one width per feature (d,).  The result has the dtype of the inputs (at least
    double).
    """
    X, Y = np.asarray(X), np.asarray(Y)
    dtype = np.result_type(X, Y, np.float64)
    X, Y = X.astype(dtype), Y.astype(dtype)
    d = X.shape[1]
    width = np.broadcast_to(np.asarray(gamma, dtype=dtype), (d,))

    r1 = np.zeros((len(X), len(Y)), dtype=dtype)  # sum_j gamma_j |x_j - y_j|
    r2 = np.zeros_like(r1)  # sum_j gamma_j (x_j - y_j)^2
    weighted, plain = np.zeros_like(r1), np.zeros_like(r1)  # sum_j gamma_j x_j y_j and x'y
    for j in range(d):
        difference = X[:, j][:, None] - Y[:, j][None, :]
        product = X[:, j][:, None] * Y[:, j][None, :]
        r1 += width[j] * abs(difference)
        r2 += width[j] * difference * difference
        weighted += width[j] * product
        plain += product

    one, three, five = dtype.type(1), dtype.type(3), dtype.type(5)
    if name == "rbf":
        return np.exp(-r2)
    if name == "laplacian":
        return np.exp(-r1)
    if name == "matern32":
        s = np.sqrt(three * r2)
        return (one + s) * np.exp(-s)
    if name == "matern52":
        s = np.sqrt(five * r2)
        return (one + s + s * s / three) * np.exp(-s)
    if name == "polynomial":
        base, value = weighted + dtype.type(coef0), np.ones_like(weighted)
        for _ in range(int(degree)):
            value = value * base
        return value
    if name == "linear":
        return plain
    raise ValueError(f"unknown kernel {name!r}")


def kernel_function(
    name: str, gamma: Any = 1.0, degree: int = 3, coef0: float = 1.0, dtype: Any = np.longdouble
) -> KernelFunction:
    """The callable (X, Y) -> (n, m) that the models below take; `kernel_matrix` in the given dtype."""

    def kernel(X: Array, Y: Array) -> Array:
        return kernel_matrix(name, np.asarray(X, dtype), np.asarray(Y, dtype), gamma, degree, coef0)

    return kernel


def rounded(kernel: KernelFunction) -> KernelFunction:
    """The same kernel with values rounded to double.

    The distance between a model with `kernel` and one with `rounded(kernel)` is what half a unit in the
    last place of the kernel alone does: no method in double can be expected to come closer to the oracle
    than that.
    """

    def coarse(X: Array, Y: Array) -> Array:
        values = kernel(X, Y)
        return values.astype(np.float64).astype(values.dtype)

    return coarse
