"""``health()``: sound states are called sound, each kind of damage is found and named."""

from __future__ import annotations

import numpy as np
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor
from support.state import inverse_P
from support.streams import PLAIN


def rows(n=600):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"fit_intercept": False},
        {"engine": "inverse"},
        {"engine": "inverse", "fit_intercept": False},
        {"forgetting": 0.98},
        {"forgetting": [1.0, 0.9], "linear": False},
        {"exact_rows": 40},
        {"alpha": 1e-8, "novelty_tol": 1e-8, "max_basis": 100},
        {"kernel": "linear", "alpha": 1e-3},
        {"kernel": "polynomial", "degree": 2},
    ],
)
def test_what_learning_leaves_is_sound(parameters):
    X, y = rows()
    model = OnlineLSSVMRegressor(**{"gamma": 0.5, "max_basis": 25, **parameters})
    for first in range(0, len(X), 150):
        model.partial_fit(X[first : first + 150], y[first : first + 150])
        report = model.health()
        assert report["problems"] == []
        assert report["sound"] is True
    K = model._core.kernel.matrix(model.basis_vectors_, model.basis_vectors_)
    assert report["kernel_condition"] == pytest.approx(np.linalg.cond(K), rel=1e-6)
    assert report["inverse_condition"] >= 1
    assert {name: report[name] for name in model.audit_} == model.audit_


def test_other_estimators_and_the_first_row():
    X, y = rows()
    assert KRLSRegressor(gamma=0.5, max_basis=25).fit(X, y).health()["sound"]
    assert OnlineLSSVMClassifier(gamma=0.5, max_basis=25).fit(X, y > 0).health()["sound"]
    assert OnlineLSSVMRegressor(gamma=0.5).partial_fit(X[:1], y[:1]).health()["sound"]


@pytest.mark.parametrize("window", [2, 3, 7])
def test_a_perfect_fit_in_a_window_costs_nothing_and_never_less(window):
    """Rows leave with their squares; what rounding leaves must not be negative, or the spread is NaN."""
    X, y = rows()
    model = OnlineLSSVMRegressor(kernel="laplacian", gamma=0.3, window=window, alpha=1e-2)
    for i in range(600):
        model.partial_fit(X[i : i + 1], np.sign(y[i : i + 1]))
        assert model.cost_ >= 0
        assert np.isfinite(model.predict(X[:3], return_std=True)[1]).all()
        assert model.health()["problems"] == []


def damaged(model, **changes):
    """The model with arrays of its state replaced."""
    state = model.__getstate__()
    arrays = {**state["_core"]["arrays"]}
    arrays |= {name: change(arrays[name].copy()) for name, change in changes.items()}
    other = type(model).__new__(type(model))
    other.__setstate__({**state, "_core": {**state["_core"], "arrays": arrays}})
    return other


def entry(i, j, value):
    def change(A):
        A[i, j] = value
        return A

    return change


@pytest.mark.parametrize(
    ("engine", "name", "change", "said"),
    [
        ("orthonormal", "factor", entry(5, 2, 0.7), "factor is not the factor"),
        ("orthonormal", "basis", entry(3, 0, 9.0), "factor is not the factor"),
        ("orthonormal", "inverse", lambda C: -C, "not positive definite"),
        ("orthonormal", "inverse", lambda C: 1e3 * C, "exceeds what the ridge allows"),
        ("orthonormal", "cost", lambda c: -c, "cost is negative"),
        ("orthonormal", "counters", lambda c: c + 1, "rows seen and"),
        ("inverse", "kernel_inverse", lambda A: 1.1 * A, "not the inverse"),
        ("inverse", "inverse", lambda C: -C, "not positive definite"),
    ],
)
def test_damage_is_found_and_named(engine, name, change, said):
    X, y = rows()
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=25, engine=engine).fit(X, y)
    report = damaged(model, **{name: change}).health()
    assert not report["sound"]
    assert any(said in problem for problem in report["problems"]), report["problems"]
    model.max_basis = 24
    assert "25 kernels and max_basis=24" in model.health()["problems"]


@pytest.mark.parametrize("engine", ["orthonormal", "inverse"])
def test_kernels_that_are_dependent_up_to_rounding_are_named(engine):
    """Models of 0.1.0 can hold them: ordered rows with a small `novelty_tol`."""
    model = OnlineLSSVMRegressor(gamma=0.5, engine=engine).partial_fit(np.array([[0.0], [1.0], [5.0]]), [1.0, 2.0, 4.0])
    near = np.array([[0.0], [2e-8]])
    assert model.n_basis_ == len(near)
    L = np.linalg.cholesky(np.array([[1.0, 1.0], [1.0, 1.0 + 2e-16]]))
    inverse = np.linalg.inv(L @ L.T)
    kept = {"basis": lambda _: near, "factor": lambda _: L} if engine == "orthonormal" else {}
    kept = kept or {"basis": lambda _: near, "kernel_inverse": lambda _: inverse}
    report = damaged(model, **kept).health()
    assert any("dependent up to rounding" in problem for problem in report["problems"]), report["problems"]


def test_prequential_in_a_window_predicts_as_predict_does():
    """The core forgets the oldest row before it looks at the next; the state machine met the difference."""
    X, y = rows(60)
    model, literal = (OnlineLSSVMRegressor(gamma=0.5, window=4).partial_fit(X[:10], y[:10]) for _ in range(2))
    got = model.prequential(X[10:], y[10:])
    for i in range(10, 60):
        np.testing.assert_allclose(got.y_pred[i - 10], literal.predict(X[i : i + 1])[0], atol=1e-10)
        assert got.n_basis[i - 10] == literal.n_basis_
        literal.partial_fit(X[i : i + 1], y[i : i + 1])


@pytest.mark.parametrize("beyond", [{"exact_rows": 20}, {"window": 40}, {}, {"forgetting": 0.98}])
def test_pruning_scores_stay_right_where_kernels_join_after_a_pruning(beyond):
    """Below the cap nobody asks for scores, and the normal steps they owe must not wait for a kernel to join."""
    X, y = rows(200)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=8, admission="novelty", **{"exact_rows": 0, **PLAIN, **beyond})
    if "window" in beyond:
        model.set_params(exact_rows="auto")
    model.partial_fit(X[:60], y[:60]).prune(3)
    for i in range(60, 200):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        state = model._core.state()
        # MATH 1.7: 5e-12 at TOL1 = alpha = 1e-2 over hundreds of swaps
        np.testing.assert_allclose(state["diagonal"].ravel(), np.diag(inverse_P(model._core)), rtol=1e-7)
        np.testing.assert_allclose(state["beta"].ravel(), model.dual_coef_, atol=1e-7)
