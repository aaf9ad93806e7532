"""`PaperModel` against closed forms, and Engel's algorithm against least squares on its dictionary.

Nothing of the package is imported.  Tolerances are those of `test_oracles.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles import (
    ADMITTED,
    BOUNCED,
    IGNORED,
    REFUSED,
    REJECTED_NOVELTY,
    REJECTED_USEFULNESS,
    SWAPPED,
    TIE,
    Array,
    BatchModel,
    PaperModel,
    Solution,
    engel_krls,
    kernel_function,
    solve_lower,
    solve_upper,
)
from support.long_double import LD, RBF, digits, make_stream, off

# ---- PaperModel --------------------------------------------------------------------------------------------


def closed_forms(state: Solution, x: Array, y: Array, v: float) -> dict[str, Any]:
    """(1.3), (1.5), (1.7) for one row, from a solved state; the bias is a coordinate of C and theta."""
    m, b = len(state.indices), len(state.C) - len(state.indices)
    x, y = np.asarray(x, LD)[None], np.asarray(y, LD)
    k, k_star = state.kernel(state.basis.reshape(m, x.shape[1]), x)[:, 0], state.kernel(x, x)[0, 0]
    w = solve_lower(state.L, k)
    delta = k_star - w @ w
    w_b = np.append(np.ones(b, LD), w)
    theta = np.vstack([state.bias[None][:b], state.theta])
    h = state.C @ w_b
    Delta, rho = 1 / LD(v) + w_b @ h, y - w_b @ theta
    alpha = state.alpha
    den = delta + alpha * Delta
    kappa = rho / den
    use = (delta * rho**2 / (Delta * den)).sum()  # (1.5)
    g, a = solve_upper(state.L.T, h[b:]), solve_upper(state.L.T, w)
    d = np.diag(state.inverse_P)
    slope, Delta_b = a + delta / Delta * g, delta * den / Delta
    beta = state.beta + np.outer(alpha * g - a, kappa)
    d = d - g**2 / Delta + slope**2 / Delta_b
    scores = np.append((beta**2).sum(axis=1) / d, use)  # (1.7)
    return {"delta": delta, "Delta": Delta, "rho": rho, "use": use, "scores": scores}


@pytest.mark.parametrize("admission", ["product", "two-part", "per-sample", "novelty"])
@pytest.mark.parametrize(("max_basis", "bias", "c"), [(0, True, 1), (6, False, 1), (6, True, 2)])
def test_paper_model_decides_as_the_closed_forms(admission: str, max_basis: int, bias: bool, c: int) -> None:
    """At every row: delta, the usefulness as the difference of two solved costs against (1.5), the scores
    as solved cost increases against (1.7) and, for the state grown, (1.6); then the decision itself from
    the closed forms."""
    n, alpha, tol1 = 60, 0.1, 2e-2
    tol2 = 1e-4 if admission == "per-sample" else 5e-3
    X, Y, v = make_stream(n, c=c, weighted=True, seed=8)
    v[10] = 0
    model = PaperModel(
        RBF,
        alpha,
        novelty_tol=tol1,
        usefulness_tol=tol2,
        admission=admission,
        max_basis=max_basis,
        fit_intercept=bias,
        n_outputs=c,
    )
    apriori, outcome, victim = model.learn(X, Y, v)
    batch = BatchModel(RBF, alpha, fit_intercept=bias, n_outputs=c)
    batch.learn(X[:0], Y[:0], None, outcome[:0], victim[:0])
    kept = []
    for i in range(n):
        state, record = batch.solve(), model.records[i]
        assert off(state.predict(X[i : i + 1]), apriori[i : i + 1]) < digits(1e-13, 1e-9)
        if v[i] > 0:
            kept.append(i)
            mean = np.average(Y[kept], axis=0, weights=v[kept])
            variance = np.average((Y[kept] - mean) ** 2, axis=0, weights=v[kept]).sum()
            assert float(record.variance) == pytest.approx(variance, rel=1e-12, abs=1e-15)
        if v[i] > 0 and (state.t > 0 or not bias):
            form = closed_forms(state, X[i], Y[i], v[i])
            tolerance = digits(1e-11, 1e-6)
            assert abs(record.delta - form["delta"]) < digits(1e-14, 1e-11)
            if not np.isnan(record.use):
                assert float(record.use) == pytest.approx(float(form["use"]), rel=tolerance)
                # a difference of two costs has their rounding
                cost = float(state.cost.sum() + (Y[i] ** 2).sum() * v[i])
                assert abs(record.use_by_costs - form["use"]) < digits(1e-15, 1e-12) * cost
            if record.scores is not None:
                assert off(record.scores, form["scores"]) < tolerance
                assert float(record.scores[-1]) == pytest.approx(float(record.use), rel=tolerance)
            t = len(kept)
            value = {"product": form["delta"] * form["use"], "two-part": form["use"]}.get(
                admission, form["delta"] * form["use"] / t
            )
            if not form["delta"] > tol1:
                expected, gone = REJECTED_NOVELTY, -1
            elif admission != "novelty" and not value > tol2 * variance:
                expected, gone = REJECTED_USEFULNESS, -1
            elif not max_basis or len(state.indices) < max_basis:
                expected, gone = ADMITTED, -1
            else:
                scores = form["scores"]
                weakest = int(np.flatnonzero(scores <= scores.min() * (1 + TIE))[0])
                bounced = weakest == max_basis
                expected, gone = (BOUNCED, -1) if bounced else (SWAPPED, int(state.indices[weakest]))
            assert record.margin > 1e-9  # no decision here hangs on rounding
            assert (outcome[i], victim[i]) == (expected, gone), i
        batch.learn(X[i : i + 1], Y[i : i + 1], v[i : i + 1], outcome[i : i + 1], victim[i : i + 1])
        if record.outcome == SWAPPED:
            # (1.6) on the grown state, before anything was deleted
            grown = BatchModel(RBF, alpha, fit_intercept=bias, n_outputs=c)
            grown.learn(X[:i], Y[:i], v[:i], outcome[:i], victim[:i])
            grown.learn(X[i : i + 1], Y[i : i + 1], v[i : i + 1], np.array([ADMITTED]), np.array([-1]))
            full = grown.solve()
            scores = (full.beta**2).sum(axis=1) / np.diag(full.inverse_P)
            assert off(record.scores, scores) < digits(1e-11, 1e-6)
            assert float(batch.solve().cost.sum() - full.cost.sum()) == pytest.approx(
                float(scores.min()), rel=digits(1e-9, 1e-4)
            )
    assert batch.indices == model.indices
    assert (outcome[10], victim[10]) == (IGNORED, -1)
    if max_basis:
        assert {ADMITTED, SWAPPED} <= set(outcome.tolist())
    assert off(model.design, batch.design) < digits(1e-14, 1e-10)


def test_paper_model_first_row_with_and_without_bias() -> None:
    """Without a bias the first useful row joins (var = 0); with one the constant has already fitted it."""
    X, Y = np.array([[0.0], [3.0]]), np.array([1.0, -1.0])
    assert PaperModel(RBF, 0.1, fit_intercept=False).learn(X, Y)[1].tolist() == [ADMITTED, ADMITTED]
    assert PaperModel(RBF, 0.1).learn(X, Y)[1].tolist() == [REJECTED_USEFULNESS, ADMITTED]
    unsupervised = PaperModel(RBF, 0.1, admission="novelty")
    assert unsupervised.learn(X, Y)[1].tolist() == [REJECTED_USEFULNESS, ADMITTED]
    zero = PaperModel(RBF, 0.1, fit_intercept=False).learn(X, np.zeros(2))[1]
    assert zero.tolist() == [REJECTED_USEFULNESS, REJECTED_USEFULNESS]
    constant = PaperModel(RBF, 0.1).learn(np.linspace(0, 9, 10)[:, None], np.full(10, 0.1))[1]
    assert set(constant.tolist()) == {REJECTED_USEFULNESS}


def test_paper_model_per_sample_counts_rows_of_positive_weight_and_this_one() -> None:
    """Isolated points, no bias: use = y^2/(1 + alpha), delta = 1, var = 1.  At t = 2 the rule compares
    use/2."""
    X, Y, v = np.array([[0.0], [5e2], [1e3]]), np.array([1.0, 9.0, -1.0]), np.array([1.0, 0.0, 1.0])
    use = 1 / 1.1
    for share, last in ((0.45, ADMITTED), (0.55, REJECTED_USEFULNESS)):
        model = PaperModel(RBF, 0.1, usefulness_tol=share * use, admission="per-sample", fit_intercept=False)
        assert model.learn(X, Y, v)[1].tolist() == [ADMITTED, IGNORED, last]


def test_paper_model_ties_fall_to_the_oldest() -> None:
    """Isolated points of equal |y| tie exactly: the oldest goes, not the newcomer; a weaker newcomer
    bounces."""
    X = np.array([[0.0], [1e3], [2e3], [3e3], [4e3]])
    Y = np.array([1.0, -1.0, 1.0, 2.0, 0.5])
    model = PaperModel(RBF, 0.1, max_basis=2, fit_intercept=False)
    _, outcome, victim = model.learn(X, Y)
    assert outcome.tolist() == [ADMITTED, ADMITTED, SWAPPED, SWAPPED, BOUNCED]
    assert victim.tolist() == [-1, -1, 0, 1, -1]
    assert model.indices == [2, 3]
    assert model.records[2].margin == np.inf or model.records[2].margin > 0.1


def test_paper_model_refuses_near_duplicates() -> None:
    """Where delta^2 <= 1e-14 (1 + |a|^2) nothing is admitted: counted as refused where the user's thresholds would have
    let it pass."""
    gap = 2e-6  # delta = 2 gamma gap^2 = 5.6e-12, with a = (1, 0)
    X = np.array([[0.0], [1.0], [gap], [0.0]])
    Y = np.array([1.0, -1.0, 3.0, -2.0])
    for admission in ("product", "novelty"):
        strict = PaperModel(RBF, 0.1, novelty_tol=1e-12, usefulness_tol=0.0, admission=admission, fit_intercept=False)
        assert strict.learn(X, Y)[1].tolist() == [ADMITTED, ADMITTED, REFUSED, REJECTED_NOVELTY]
        loose = PaperModel(RBF, 0.1, novelty_tol=1e-2, admission=admission, fit_intercept=False)
        assert loose.learn(X, Y)[1].tolist() == [ADMITTED, ADMITTED, REJECTED_NOVELTY, REJECTED_NOVELTY]


def test_decide_leaves_the_model_alone() -> None:
    X, Y, _ = make_stream(20)
    model = PaperModel(RBF, 0.1, max_basis=3)
    model.learn(X, Y)
    before = (model.n_seen, list(model.indices), model.design.copy(), len(model.records))
    model.decide(np.array([5.0, 5.0]), np.array([9.0]), 1.0)
    assert before[:2] == (model.n_seen, model.indices)
    assert (before[2] == model.design).all()
    assert before[3] == len(model.records)


# ---- KRLS-ALD ----------------------------------------------------------------------------------------------


def test_engel_krls_is_least_squares_on_its_dictionary() -> None:
    """[Engel fig. 1] minimises |A K alpha - y|^2 for the rows a_i of its own test: section 2.  In double;
    the figure's recursions lose cond(K) cond(A'A)."""
    X, Y, _ = make_stream(150)
    y, n = Y[:, 0], len(X)
    kernel = kernel_function("rbf", gamma=0.7, dtype=np.float64)
    got = engel_krls(kernel, X, y, nu=1e-2)
    m = len(got.indices)
    assert 10 < m < 80

    # the design by its definition: row i is projected on the dictionary of its time, later columns are zero
    A = np.zeros((n, m))
    for i in range(n):
        members = got.indices[got.indices <= i]
        if i in members:
            A[i, len(members) - 1] = 1
        else:
            A[i, : len(members)] = np.linalg.solve(
                kernel(X[members], X[members]), kernel(X[members], X[i : i + 1])[:, 0]
            )
    K = kernel(X[got.indices], X[got.indices])
    coef = np.linalg.lstsq(A @ K, y)[0]
    new = make_stream(30, seed=2)[0]
    assert off(got.predict(kernel, new, X), kernel(new, X[got.indices]) @ coef) < 1e-8
    assert off(got.coef, coef) < 1e-6
    assert off(got.P, np.linalg.inv(A.T @ A)) < 1e-9
    assert off(got.K_inverse, np.linalg.inv(K)) < 1e-8

    # and the online model with the rule "novelty", alpha = 0: P^-1 = K^-1 P_Engel K^-1
    batch = BatchModel(RBF, 0.0, fit_intercept=False).learn(X, y, None, got.outcome, np.full(n, -1)).solve()
    assert (batch.indices == got.indices).all()
    assert off(got.coef, batch.beta[:, 0]) < 1e-6
    assert off(got.K_inverse @ got.P @ got.K_inverse, batch.inverse_P) < 1e-6


def test_engel_krls_keeps_what_the_novelty_rule_keeps() -> None:
    X, Y, _ = make_stream(40)
    got = engel_krls(RBF, X, Y[:, 0], nu=5e-2, dtype=LD)
    model = PaperModel(RBF, 1e-6, novelty_tol=5e-2, admission="novelty", fit_intercept=False)
    assert (model.learn(X, Y)[1] == got.outcome).all()
