"""The orthogonal basis of the selected columns, and the ridge by generalised cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from kernsift.blocks import PseudoInverse
from oracles import Array, kernel_matrix, orthogonal_columns, paper_recursion, reestimated_ridge, ridge_fit
from support.columns import LENIENT, ROWS, ill_conditioned, off_diagonal, part, problem

# ---- the orthogonal basis


@pytest.mark.parametrize("n", [40, 256, 257, 1100])  # below, at and across the blocks of 256 rows
def test_OROLS_10_and_OROLS_18_and_OROLS_20_the_decomposition(rng, n):
    X, Y = problem(rng, n, outputs=2)
    K = np.hstack([np.ones((n, 1)), kernel_matrix("rbf", X, X[:35], 1.0)])
    basis = part(K)
    Q, U = orthogonal_columns(K)
    found = basis.decomposition()
    cond = np.linalg.cond(K)
    # Columns and coefficients are as accurate as the condition allows; K = QU and orthogonality do not depend on it.
    assert np.abs(found.Q - Q).max() < 1e-15 * cond * 10
    assert np.abs(found.U - U).max() < 1e-15 * cond * 10
    assert np.array_equal(np.tril(found.U, -1), np.zeros_like(found.U))
    assert np.array_equal(np.diag(found.U), np.ones(basis.size))
    assert np.abs(found.Q @ found.U - K).max() < 1e-14
    np.testing.assert_allclose(found.h, (found.Q**2).sum(axis=0), rtol=1e-13)
    residual = (Y - Q @ ((Q.T @ Y) / (Q * Q).sum(axis=0)[:, None])).astype(float)
    # the span itself is known to eps cond
    assert np.abs(basis.residual(Y) - residual).max() < 1e-15 * cond


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e10])
def test_the_basis_is_orthogonal_whatever_the_condition(rng, condition):
    K, _ = ill_conditioned(rng, condition)
    # Gram-Schmidt twice is orthogonal to rounding as long as the rank test passes: 45 epsilon here
    assert off_diagonal(part(K, LENIENT).decomposition().Q) < 1e-14


def test_OROLS_17_and_OROLS_26_pseudoinverse_and_weights(rng):
    X, Y = problem(rng)
    K = np.hstack([np.ones((ROWS, 1)), kernel_matrix("rbf", X, X[:12], 1.0)])
    basis = part(K)
    cond = np.linalg.cond(K)
    assert cond < 1e5
    expected = np.linalg.pinv(K)
    # numpy's own pinv is right to about eps cond relative to its largest entry
    assert np.abs(basis.to_dense() - expected).max() < 1e-15 * cond * np.abs(expected).max()
    recursion = paper_recursion(K[:, 1:])
    assert np.abs(basis.to_dense() - recursion.pseudoinverse).max() < 1e-10 * np.abs(expected).max()
    weights = basis.solve(Y)
    assert np.abs(weights - np.linalg.lstsq(K, Y, rcond=None)[0]).max() < 1e-14 * cond * np.abs(weights).max()


def test_a_dependent_column_is_refused_and_changes_nothing(rng):
    X, Y = problem(rng)
    K = kernel_matrix("rbf", X, X[:6], 1.0)
    basis = part(K)
    assert not basis.append(K[:, 3])
    assert not basis.append(K @ np.ones(6))
    assert basis.size == 6
    np.testing.assert_allclose(basis.decomposition().Q, part(K).decomposition().Q, atol=1e-14)
    np.testing.assert_allclose(basis.residual(Y), part(K).residual(Y), atol=1e-14)
    new = kernel_matrix("rbf", X, X[7:8], 1.0)
    assert basis.append(new[:, 0])
    np.testing.assert_allclose(basis.decomposition().Q, part(np.hstack([K, new])).decomposition().Q, atol=1e-13)


# ---- GCV


def problem_of_ridge(rng: np.random.Generator, noise: float, free: int = 1) -> tuple[Array, Array, PseudoInverse]:
    """Orthogonal columns, targets, and the block of these columns."""
    X, _ = problem(rng)
    Y = np.sin(2 * X[:, :1]) + noise * rng.standard_normal((ROWS, 1))
    K = np.hstack([np.ones((ROWS, free)), kernel_matrix("rbf", X, X[:20], 1.0)])
    Q = orthogonal_columns(K)[0].astype(np.float64)
    columns = PseudoInverse(ROWS, n_unpenalised=free)
    for column in Q.T:
        assert columns.append(column)
    return Q, Y, columns


@pytest.mark.parametrize("free", [0, 1])
def test_OROLS_27_and_OROLS_29_and_OROLS_31_the_score_and_its_derivative(rng, free):
    Q, Y, columns = problem_of_ridge(rng, 0.3, free)
    for lam in (0.0, 1e-6, 0.03, 2.0, 1e3):
        fit = ridge_fit(Q, Y, lam, free)
        rss = float((columns.residual(Y, ridge=lam) ** 2).sum())
        gcv = columns.gcv(Y, ridge=lam)
        np.testing.assert_allclose([gcv, rss, np.sqrt(ROWS * rss / gcv)], [fit.gcv, fit.rss, fit.trace], rtol=1e-10)
        # Q is orthogonal to rounding only: the coefficients of the block are of its own columns
        np.testing.assert_allclose(columns.solve(Y, ridge=lam), fit.weights, rtol=1e-8, atol=1e-10)
        # (28): the score is stationary exactly where (30) returns what it was given
        step = 1e-5 * max(lam, 1e-3)
        slope = (ridge_fit(Q, Y, lam + step, free).gcv - fit.gcv) / step
        assert np.sign(slope) == np.sign(lam - columns.reestimate(Y, ridge=lam))


def minima(scores: Array) -> Array:
    """Places of the local minima inside the grid."""
    return 1 + np.flatnonzero((scores[1:-1] <= scores[:-2]) & (scores[1:-1] < scores[2:]))


@pytest.mark.parametrize("noise", [0.02, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("start", [0.0, 1e-6, 1.0, 1e3])
def test_OROLS_30_the_fixed_point_is_the_minimum_of_gcv(rng, noise, start):
    Q, Y, columns = problem_of_ridge(rng, noise)
    grid = np.exp(np.linspace(np.log(1e-8), np.log(1e4), 1001))
    scores = np.array([columns.gcv(Y, ridge=g) for g in grid])
    step = np.log(grid[1] / grid[0])  # the grid cannot say more

    # the lowest minimum, unless it is below the floor of 1e-6 of the longest column
    low = 1e-6 * float((Q[:, 1:] ** 2).sum(axis=0).max())
    best, lowest = columns.best_ridge(Y), scores[grid >= low].min()
    assert columns.gcv(Y, ridge=best) <= lowest * (1 + 1e-6)

    # (30) alone ends in a local minimum; at noise 0.2 there are two here
    lam = start
    for _ in range(5000):
        before, lam = lam, columns.reestimate(Y, ridge=lam)
        if abs(lam - before) <= 1e-12 * lam:
            break
    places = grid[minima(scores)]
    assert len(places) == (2 if noise == 0.2 else 1)
    assert np.abs(np.log(lam / places)).min() <= step
    # and it is the point of (28)-(30) in matrices
    np.testing.assert_allclose(lam, reestimated_ridge(Q, Y, start, 1), rtol=1e-6)
