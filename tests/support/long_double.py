"""Comparisons in long double, and streams with decisions of every kind for the oracles of streams."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracles import (
    ADMITTED,
    BOUNCED,
    EXTENDED,
    IGNORED,
    REJECTED_NOVELTY,
    REJECTED_USEFULNESS,
    SWAPPED,
    Array,
    cholesky,
    kernel_function,
    solve_lower,
)

LD = np.longdouble
RBF = kernel_function("rbf", gamma=0.7)


def off(value: Any, truth: Any) -> float:
    """Largest error relative to the largest entry (absolute where the truth is all zero)."""
    value, truth = np.asarray(value), np.asarray(truth)
    assert value.shape == truth.shape
    if truth.size == 0:
        return 0.0
    return float(abs(value - truth).max() / (abs(truth).max() or 1))


def digits(extended: float, double: float) -> float:
    """A tolerance for machines with and without a wide long double."""
    return extended if EXTENDED else double


def make_stream(n: int, d: int = 2, c: int = 1, seed: int = 0, weighted: bool = False) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    Y = np.stack([np.sin((1 + o) * X[:, 0]) + 0.5 * np.cos(X[:, -1] - o) for o in range(c)], axis=1)
    Y = Y + 0.1 * rng.standard_normal((n, c))
    v = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    return X, Y, v


def random_log(
    X: Array, kernel: Any, novelty_tol: float, cap: int, seed: int = 0, v: Array | None = None
) -> tuple[Array, Array]:
    """A decision log with every outcome: novelty decides, the victim at the cap is drawn."""
    rng = np.random.default_rng(seed)
    outcome, victim = np.full(len(X), REJECTED_NOVELTY, np.uint8), np.full(len(X), -1, np.int64)
    members: list[int] = []
    for i in range(len(X)):
        if v is not None and v[i] == 0:
            outcome[i] = IGNORED
            continue
        K, k = kernel(X[members], X[members]), kernel(X[members], X[i : i + 1])[:, 0]
        w = solve_lower(cholesky(K), k)
        prior = kernel(X[i : i + 1], X[i : i + 1])[0, 0]
        if not prior - w @ w > novelty_tol * prior:
            continue
        draw = rng.random()
        if draw < 0.2:
            outcome[i] = REJECTED_USEFULNESS
        elif len(members) < cap:
            outcome[i] = ADMITTED
            members.append(i)
        elif draw < 0.4:
            outcome[i] = BOUNCED
        else:
            outcome[i], victim[i] = SWAPPED, members[rng.integers(len(members))]
            members.remove(int(victim[i]))
            members.append(i)
    return outcome, victim
