"""Columns of kernels, to be selected: well and badly conditioned."""

from __future__ import annotations

import numpy as np
from kernsift.blocks import PseudoInverse
from oracles import Array, kernel_matrix

ROWS = 60


def problem(rng: np.random.Generator, n: int = ROWS, d: int = 2, outputs: int = 1) -> tuple[Array, Array]:
    X = rng.uniform(-2, 2, (n, d))
    Y = np.stack([np.sin(2 * X[:, 0] + o) + 0.3 * X[:, -1] for o in range(outputs)], axis=1)
    return X, Y + 0.2 * rng.standard_normal(Y.shape)


#: Lets in columns far inside the core's rank test (1e-10), which alone would hold the condition below about 1e9.
LENIENT = 1e-24


def part(columns: Array, rank_tol: float = 1e-10) -> PseudoInverse:
    """The block with these columns; all must be independent."""
    basis = PseudoInverse(len(columns), rank_tol=rank_tol)
    for column in columns.T:
        assert basis.append(column)
    return basis


def ill_conditioned(rng: np.random.Generator, condition: float, n: int = 200) -> tuple[Array, Array]:
    """[1 K_m] with columns added until the condition number is reached, and targets."""
    X = rng.uniform(-1, 1, (n, 2))
    columns = [np.ones(n)]
    for i in range(n):
        k = kernel_matrix("rbf", X, X[i : i + 1], 0.3)[:, 0]
        kept = np.array([*columns, k]).T
        if np.linalg.cond(kept / np.linalg.norm(kept, axis=0)) <= condition:
            columns.append(k)
    kept = np.array(columns).T
    assert np.linalg.cond(kept / np.linalg.norm(kept, axis=0)) > condition / 10, "the problem misses its condition"
    return kept, rng.standard_normal((n, 1))


def off_diagonal(Q: Array) -> float:
    """Largest cosine between two columns."""
    Q = Q / np.linalg.norm(Q, axis=0)
    return float(np.abs(Q.T @ Q - np.diag(np.diag(Q.T @ Q))).max())
