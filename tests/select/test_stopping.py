"""When the selection stops, and the scores it stops by."""

from __future__ import annotations

import numpy as np
import pytest
from kernsift import OROLSRegressor
from oracles import Array, kernel_matrix, marginal_score, orthogonal_columns, refitted_score, schwarz_score
from support.columns import ROWS, problem


def test_gcv_stops_at_its_minimum_and_rolls_back(rng):
    X, Y = problem(rng, 150)
    run = OROLSRegressor(gamma=0.8, stop=None, max_basis=60).fit(X, Y)
    model = OROLSRegressor(gamma=0.8, patience=5).fit(X, Y)
    assert model.stopped_by_ == "gcv"
    m = model.n_basis_
    assert len(model.gcv_path_) == len(model.alpha_path_) == len(model.error_path_) == m + 5 + 1
    assert len(model.selection_path_) == m + 5
    np.testing.assert_allclose(run.gcv_path_[: m + 6], model.gcv_path_)
    assert (model.gcv_path_[m + 1 :] >= model.gcv_path_[m] * (1 - 1e-4)).all()
    assert model.alpha_ == model.alpha_path_[m]
    assert model.gcv_ == model.gcv_path_[m]
    # rolled back, it is the model that had never gone on; its noise variance counts that the size was chosen
    short = OROLSRegressor(gamma=0.8, stop=None, max_basis=m).fit(X, Y)
    np.testing.assert_allclose(model.dual_coef_, short.dual_coef_, rtol=1e-9)
    np.testing.assert_allclose(model.cost_, short.cost_, rtol=1e-9)


def scores_of(model: OROLSRegressor, X: Array, Y: Array, v: Array, score) -> Array:
    """The score of the models along a path, each from scratch."""
    root, free = np.sqrt(v)[:, None], int(model.fit_intercept)
    expected = []
    for m, alpha in enumerate(model.alpha_path_):
        K = kernel_matrix("rbf", X, X[model.selection_path_[:m]], 0.8)
        Q = orthogonal_columns(root * np.hstack([np.ones((len(X), free)), K]))[0].astype(np.float64)
        expected.append(score(Q, root * Y, alpha, free))
    return np.array(expected)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("settings", [{}, {"selection": "error-reduction", "alpha": 0.3}])
@pytest.mark.parametrize("rule", ["evidence", "bic", "loo"])
def test_OROLS_evidence_and_OROLS_bic_and_MATH_LOO_the_scores_by_definition(
    rng, rule, settings, outputs, fit_intercept
):
    X, Y = problem(rng, outputs=outputs)
    # the others count a weight above one as rows that repeat, as GCV does
    v = rng.uniform(0.2, 3.0, ROWS) if rule == "loo" else rng.uniform(0.2, 1.0, ROWS)
    model = OROLSRegressor(
        gamma=0.8, stop=rule, patience=100, max_basis=15, fit_intercept=fit_intercept, **settings
    ).fit(X, Y, sample_weight=v)
    definition = {
        "evidence": marginal_score,
        "bic": schwarz_score,
        "loo": lambda Q, Z, alpha, free: refitted_score(Q, Z, v, alpha, free),
    }[rule]
    expected = scores_of(model, X, Y, v, definition)
    factor = model.score_path_[0] / expected[0]  # a score is one up to a factor
    assert factor > 0
    expected *= factor
    assert len(expected) == 16
    # the last column is orthogonal to 1e-11, its second orthogonalisation being delayed
    np.testing.assert_allclose(model.score_path_, expected, rtol=1e-8)
    assert model.stopped_by_ == "max_basis"
    assert model.n_basis_ == np.argmin(expected)


def test_the_score_of_left_out_rows_is_in_units_of_the_targets(rng):
    X, Y = problem(rng)
    model = OROLSRegressor(gamma=0.8, stop="loo", max_basis=3, patience=5).fit(X, Y)
    expected = scores_of(model, X, Y, np.ones(ROWS), lambda Q, Z, a, free: refitted_score(Q, Z, np.ones(ROWS), a, free))
    np.testing.assert_allclose(model.score_path_, expected, rtol=1e-8)


@pytest.mark.parametrize("rule", ["evidence", "bic", "loo"])
@pytest.mark.parametrize("selection", ["residual", "error-reduction"])
def test_other_scores_stop_at_their_minimum_and_roll_back(rng, rule, selection):
    X, Y = problem(rng, 150)
    model = OROLSRegressor(gamma=0.8, patience=5, stop=rule, selection=selection).fit(X, Y)
    assert model.stopped_by_ == rule
    m = model.n_basis_
    assert len(model.score_path_) == len(model.gcv_path_) == m + 5 + 1
    assert (model.score_path_[m + 1 :] >= model.score_path_[m] * (1 - 1e-4)).all()
    short = OROLSRegressor(gamma=0.8, stop=None, max_basis=m, selection=selection).fit(X, Y)
    np.testing.assert_allclose(model.dual_coef_, short.dual_coef_, rtol=1e-9)
    np.testing.assert_array_equal(short.score_path_, short.gcv_path_)  # without a rule of its own
    # a few more kernels or fewer than GCV's: another opinion on the same path
    gcv = OROLSRegressor(gamma=0.8, patience=5, selection=selection).fit(X, Y)
    np.testing.assert_array_equal(gcv.score_path_, gcv.gcv_path_)
    shared = min(len(model.gcv_path_), len(gcv.gcv_path_))
    np.testing.assert_allclose(model.gcv_path_[:shared], gcv.gcv_path_[:shared], rtol=1e-9)


def test_the_papers_stop_waits_for_alpha_to_settle(rng):
    X, Y = problem(rng, 150)
    model = OROLSRegressor(gamma=0.8, stop="alpha", tol=0.05, patience=2).fit(X, Y)
    assert model.stopped_by_ == "alpha"
    change = np.abs(np.diff(model.alpha_path_)) / model.alpha_path_[1:]
    assert (change[-2:] <= 0.05).all()
    assert not any((change[i] <= 0.05) and (change[i + 1] <= 0.05) for i in range(1, len(change) - 2))
    assert model.n_basis_ == len(model.selection_path_)
    with pytest.raises(ValueError, match="stop='alpha'"):
        OROLSRegressor(stop="alpha", alpha=0.1).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_basis": 7, "stop": None}, "max_basis"),
        ({"max_basis": 0.1, "stop": None}, "max_basis"),
        ({"error_tol": 0.5}, "error"),
        ({"max_condition": 1.5}, "condition"),
        ({"candidates": [0, 1, 2], "stop": None}, "exhausted"),
        # isolated rows: what is left of the error and of the freedom reach zero together, and rounding says which first
        ({"max_basis": None, "stop": None, "gamma": 500.0, "alpha": 0.1}, "no_freedom or error"),
    ],
)
def test_the_other_stops(rng, settings, reason):
    X, Y = problem(rng, 70)
    model = OROLSRegressor(**{"gamma": 0.8, **settings}).fit(X, Y)
    assert model.stopped_by_ in reason.split(" or ")
    assert np.isfinite(model.predict(X)).all()
    if "max_basis" in settings and reason == "max_basis":
        assert model.n_basis_ == 7
