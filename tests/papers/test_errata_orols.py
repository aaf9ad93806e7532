"""Errata of Andelić et al. that concern whole selections; the others are in `test_errata_batch.py`."""

from __future__ import annotations

import numpy as np
from kernsift import OROLSRegressor
from oracles import (
    Array,
    exhaustive_selection,
    kernel_matrix,
    orthogonal_columns,
    paper_recursion,
    reestimated_ridge,
    ridge_fit,
)
from support.columns import LENIENT, ROWS, ill_conditioned, off_diagonal, part, problem


def printed_residual_path(K: Array, y: Array, steps: int) -> list[int]:
    """OROLS with (24): the residual updated with the ridge of the moment, as printed."""
    M = len(y)
    chosen: list[int] = []
    e, lam = y - y.mean(), 0.0
    for _ in range(steps):
        i = max((i for i in range(M) if i not in chosen), key=lambda i: abs(e[i]))
        chosen.append(i)
        Q, _ = orthogonal_columns(np.column_stack([np.ones(M), K[:, chosen]]))
        Q = Q.astype(float)
        lam = reestimated_ridge(Q, y[:, None], lam, 1, floor=1e-6)
        q = Q[:, -1]
        e = e - q * (y @ q) / (lam + q @ q)
    return chosen


def test_erratum_002_1_the_printed_residual_is_right_for_a_fixed_ridge_only(rng):
    X, Y = problem(rng)
    y = Y[:, 0]
    K = kernel_matrix("rbf", X, X, 0.8)
    right = exhaustive_selection(K, Y, np.ones(ROWS), 15).chosen
    printed = printed_residual_path(K, y, 15)
    assert printed != right
    model = OROLSRegressor(gamma=0.8, stop=None, max_basis=15).fit(X, y)
    assert model.selection_path_.tolist() == right
    # with the ridge held the two residuals are one
    Q, _ = orthogonal_columns(np.column_stack([np.ones(ROWS), K[:, right]]))
    Q = Q.astype(float)
    lam, e = 0.3, y - y.mean()
    for q in Q.T[1:]:
        e = e - q * (y @ q) / (lam + q @ q)
    np.testing.assert_allclose(e, (ridge_fit(Q, Y, lam, 1).P @ y), atol=1e-12)


def test_erratum_002_5_a_jitter_on_the_diagonal_is_not_in_the_predictions(rng):
    X, Y = problem(rng)
    eps, chosen = 1e-3, [4, 17, 33]
    K = kernel_matrix("rbf", X, X, 0.8)
    jittered = (K + eps * np.eye(ROWS))[:, chosen]
    alpha = np.linalg.lstsq(jittered, Y[:, 0], rcond=None)[0]
    fitted, predicted = jittered @ alpha, K[:, chosen] @ alpha
    gap = np.zeros(ROWS)
    gap[chosen] = eps * alpha
    np.testing.assert_allclose(fitted - predicted, gap, atol=1e-12)
    assert np.abs(gap).max() > 1e-4, "the jitter shows"
    # ours has none: what was fitted is what is predicted
    model = OROLSRegressor(gamma=0.8, stop=None, max_basis=10).fit(X, Y[:, 0])
    error = ((Y[:, 0] - model.predict(X)) ** 2).mean()
    np.testing.assert_allclose(error, model.error_path_[-1], rtol=1e-9)


def test_erratum_002_6_the_largest_residual_can_be_at_a_chosen_row(rng):
    X, Y = problem(rng)
    Y[5] += 30.0  # an outlier, which a large ridge leaves the largest residual
    K = kernel_matrix("rbf", X, X, 0.8)
    first = exhaustive_selection(K, Y, np.ones(ROWS), 1, lam=100.0)
    assert first.chosen == [5]
    e = ridge_fit(first.Q, Y, 100.0, 1).P @ Y
    assert int(np.argmax(np.abs(e))) == 5, "the unrestricted argmax takes the same row again"
    model = OROLSRegressor(gamma=0.8, alpha=100.0, stop=None, max_basis=10).fit(X, Y)
    assert len(set(model.selection_path_.tolist())) == 10


def test_erratum_002_8_without_reorthogonalisation_the_basis_is_lost(rng):
    K, Y = ill_conditioned(rng, 1e8)
    printed = paper_recursion(K[:, 1:])
    # "needs not to be reorthogonalised as long as the Gram matrix has full rank": it has, to eight digits
    assert np.linalg.matrix_rank(K) == K.shape[1]
    assert off_diagonal(printed.Q) > 1e-3
    basis = part(K, LENIENT)
    assert off_diagonal(basis.decomposition().Q) < 1e-14
    # and with it the least squares solution
    best = Y - K @ np.linalg.lstsq(K, Y, rcond=None)[0]
    ours, theirs = np.linalg.norm(basis.residual(Y)), np.linalg.norm(Y - K @ (printed.pseudoinverse @ Y))
    assert ours <= np.linalg.norm(best) * (1 + 1e-7)
    assert theirs > np.linalg.norm(best) * (1 + 1e-7)
