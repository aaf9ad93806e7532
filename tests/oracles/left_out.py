"""Rows left out by solving again without them, and the intervals that follow, literally."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def standardised(
    G_all: Array,
    K_all: Array,
    own: Array,
    Y: Array,
    v: Array,
    alpha: float,
    constant: bool,
    noise: Array,
    kernel_of: dict[int, int],
) -> Array:
    """Error of each row, one unit of its weight left out, over the standard deviation predicted for it.

    G holds the kernels at the rows, K among themselves, `own` is k(x, x) of the rows. A new observation at x has the
    variance noise (1/v + d'H⁻¹d + (k(x, x) - g'K⁻¹g)/alpha), with d = [1 g] and H that of the other rows. A row in
    `kernel_of` takes that kernel along.
    """
    bias = int(constant)
    scores = np.empty(Y.shape)
    for i in range(len(Y)):
        kept = [k for k in range(len(K_all)) if k != kernel_of.get(i)]
        G, K = G_all[:, kept], K_all[np.ix_(kept, kept)]
        D = np.column_stack([np.ones((len(G), bias)), G])
        penalty = np.zeros((D.shape[1],) * 2)
        penalty[bias:, bias:] = alpha * K
        unit = min(v[i], 1.0)
        rest = v.copy()
        rest[i] -= unit
        H = D.T @ np.diag(rest) @ D + penalty
        error = Y[i] - D[i] @ np.linalg.solve(H, D.T @ (rest[:, None] * Y))
        beyond = own[i] - G[i] @ np.linalg.solve(K, G[i])
        variance = 1.0 / unit + D[i] @ np.linalg.solve(H, D[i]) + max(beyond, 0.0) / alpha
        scores[i] = error / np.sqrt(noise * variance)
    return scores


def smallest_that_holds(scores: Array, counts: Array, coverage: float) -> float:
    """The coverage (N + 1)-th of the N sizes of scores, each repeated as often as it counts."""
    sizes = np.sort(np.repeat(np.abs(scores), counts))
    return float(sizes[int(np.ceil(coverage * (len(sizes) + 1) - 1e-9)) - 1])


def jackknife_plus(
    fit: Callable[[Array, Array], Callable[[Array], Array]], X: Array, y: Array, new: Array, coverage: float
) -> tuple[Array, Array]:
    """Intervals of Barber, Candès, Ramdas & Tibshirani (2021): a model without each row, all at the new rows."""
    n = len(X)
    below, above = np.empty((n, len(new))), np.empty((n, len(new)))
    for i in range(n):
        model = fit(np.delete(X, i, axis=0), np.delete(y, i))
        error = abs(y[i] - model(X[i : i + 1])[0])
        below[i], above[i] = model(new) - error, model(new) + error
    place = int(np.ceil(coverage * (n + 1) - 1e-9))
    return np.sort(below, axis=0)[n - place], np.sort(above, axis=0)[place - 1]
