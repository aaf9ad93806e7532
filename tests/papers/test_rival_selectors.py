"""Selectors that only the benchmarks have, against their definitions."""

from __future__ import annotations

import numpy as np
import oracles
import pytest


@pytest.fixture
def rivals(from_bench):
    return from_bench("papers.rival_selectors")


def error_of(columns, Y):
    """Squared error of the least-squares fit by a constant and these columns."""
    design = np.column_stack([np.ones(len(Y)), columns])
    return float(np.sum((Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]) ** 2))


@pytest.mark.parametrize("balance", [0.0, 0.5, 0.99])
def test_side_information_takes_the_row_of_the_largest_gain(rivals, balance):
    """With every row ahead nothing is estimated: each choice by solving with each row."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (30, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.standard_normal((30, 2))
    K = oracles.kernel_matrix("rbf", X, X, 0.7).astype(float)
    chosen = rivals.side_information(X, Y, 0.7, 12, ahead=30, balance=balance)
    assert len(set(chosen.tolist())) == 12
    whole = error_of(K[:, :0], Y)
    for step, pick in enumerate(chosen):
        before = chosen[:step]
        E = K - K[:, before] @ np.linalg.solve(K[np.ix_(before, before)], K[before]) if step else K
        gains = np.full(30, -1.0)
        for i in set(range(30)) - set(before.tolist()):
            of_kernel = np.sum(E[:, i] ** 2) / E[i, i] / np.trace(K)
            of_target = (error_of(K[:, before], Y) - error_of(K[:, [*before, i]], Y)) / whole
            gains[i] = (1 - balance) * of_kernel + balance * of_target
        # rows whose distance to those ahead is below 1e-8 are not looked at
        assert gains[pick] >= gains.max() * (1 - 1e-6)


def test_few_rows_ahead_are_enough_for_a_fit(rivals):
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (400, 2))
    Y = np.sin(3 * X[:, :1]) * X[:, 1:]
    K = oracles.kernel_matrix("rbf", X, X, 0.7).astype(float)
    drawn = np.mean([error_of(K[:, rng.permutation(400)[:15]], Y) for _ in range(20)])
    assert error_of(K[:, rivals.side_information(X, Y, 0.7, 15)], Y) < 0.5 * drawn
    assert len(rivals.csi(X, Y, 0.7, 15)) == len(rivals.qr(X, Y, 0.7, 15)) == 15
