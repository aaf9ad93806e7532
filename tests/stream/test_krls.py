"""Kernel RLS: Engel's algorithm word for word is what the online model does under the rule "novelty"."""

from __future__ import annotations

import pickle

import numpy as np
import oracles
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMRegressor, _core
from support.state import inverse_P


def sinc(rng):
    X = rng.uniform(-10, 10, (500, 1))
    return X, np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(500), 0.1, 1e-3


def logistic(rng):
    x = [0.37]
    for _ in range(502):
        x.append(3.9 * x[-1] * (1 - x[-1]))
    x = np.array(x)
    return np.column_stack([x[:-2], x[1:-1]])[:500], x[2:502], 2.0, 1e-2


def waves(rng):
    t = np.arange(504) / 7
    x = np.sin(t) + 0.5 * np.sin(2.6 * t)
    return np.column_stack([x[i : i + 500] for i in range(4)]), x[4:504], 0.3, 1e-3


def surface(rng):
    X = rng.uniform(-2, 2, (500, 3))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2, 0.3, 5e-2


SERIES = [sinc, logistic, waves, surface]


@pytest.mark.parametrize("make", SERIES)
@pytest.mark.parametrize("name", ["rbf", "matern52"])
def test_Engel_ALD_Engel_grow_same_dictionary_and_predictions_to_the_problem_s_own_sensitivity(make, name, rng):
    """Against figure 1 in long double: same dictionary, predictions to rounding times the condition of the problem.

    That condition is measured: how far the figure itself moves when the inputs move by 2^-52 relative, or the kernel
    values are rounded to double.  Measured (rbf; inputs): sinc 2e-12, logistic 3e-15, waves 2e-11, surface 3e-16, where
    ours is off by 1e-11, 9e-15, 3e-11, 1e-14, and the figure in double by 4e-9, 5e-14, 1e-7, 1e-13.  A rounding enters
    at every one of the n rows, not once: three times sqrt(n) is allowed.
    """
    X, y, gamma, nu = make(rng)
    kernel = oracles.kernel_function(name, gamma)
    truth = oracles.engel_krls(kernel, X, y, nu, dtype=np.longdouble)
    model = KRLSRegressor(kernel=name, gamma=gamma, novelty_tol=nu).fit(X, y)
    np.testing.assert_array_equal(model.basis_indices_, truth.indices)
    assert 5 < model.n_basis_ < 450

    new = rng.uniform(X.min(axis=0), X.max(axis=0), (100, X.shape[1]))
    reference = truth.predict(kernel, new, X)
    moved = X * (1 + rng.choice([-1.0, 1.0], X.shape) * 2.0**-52)
    nudged = oracles.engel_krls(kernel, moved, y, nu, dtype=np.longdouble)
    np.testing.assert_array_equal(nudged.indices, truth.indices)  # no decision of these series hangs on the last bit
    scale = abs(reference).max()
    sensitivity = float(abs(nudged.predict(kernel, new, moved) - reference).max() / scale)
    ours = float(abs(model.predict(new) - reference).max() / scale)
    coarse = oracles.rounded(kernel)
    rounded = oracles.engel_krls(coarse, X, y, nu, dtype=np.longdouble)
    sensitivity = max(sensitivity, float(abs(rounded.predict(coarse, new, X) - reference).max() / scale), 2.0**-52)
    assert ours <= 3 * np.sqrt(len(X)) * sensitivity, (ours, sensitivity)
    assert ours < 1e-10
    double = oracles.kernel_function(name, gamma, dtype=np.float64)
    figure = oracles.engel_krls(double, X, y, nu)
    assert ours < float(abs(figure.predict(double, new, X) - reference).max() / scale)


def test_Engel_grow_P_is_engel_s_in_other_clothes(rng):
    """P^-1 = K^-1 P_Engel K^-1 at alpha = 0."""
    X, y, gamma, nu = surface(rng)
    kernel = oracles.kernel_function("rbf", gamma)
    truth = oracles.engel_krls(kernel, X, y, nu, dtype=np.longdouble)
    model = KRLSRegressor(gamma=gamma, novelty_tol=nu).fit(X, y)
    expected = (truth.K_inverse @ truth.P @ truth.K_inverse).astype(float)
    # cond(K) is some 1e3 here and enters twice
    np.testing.assert_allclose(inverse_P(model._core), expected, atol=1e-9 * abs(expected).max())


def test_the_first_row_is_a_kernel_whatever_its_target():
    model = KRLSRegressor(gamma=1.0).fit([[1.0], [1.0 + 1e-9]], [0.0, 0.0])
    np.testing.assert_array_equal(model.basis_indices_, [0])


def test_without_a_ridge_the_information_form_is_entered_where_no_digit_is_lost():
    """The condition of C is measured: no ridge bounds it, and none need do."""
    kernel = _core.Kernel("linear", np.ones(2), 3, 1.0, np.zeros(2))
    core = _core.OnlineLSSVM(kernel, 1, alpha=0.0, novelty_tol=1e-3, admission="novelty", fit_intercept=False)
    X = np.zeros((4000, 2))
    X[0], X[1] = [1.0, 0.0], [0.0, 1.0]
    y = np.ones((4000, 1))
    core.learn(X, y, np.ones(4000), False)
    assert core.state()["information"].size == 4
    np.testing.assert_allclose(core.coef[:, 0], [1.0, 1.0], atol=1e-15)
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-2, 2, (6000, 2)), rng.standard_normal(6000)
    model = KRLSRegressor(gamma=0.5, novelty_tol=1e-2).fit(X, y)
    assert model._core.state()["information"].size == model.n_basis_**2
    settings = {"alpha": 0.0, "novelty_tol": 1e-2, "admission": "novelty", "fit_intercept": False}
    exact = _core.OnlineLSSVM(model._core.kernel, 1, **settings)
    exact.learn(X, np.ascontiguousarray(y[:, None]), np.ones(6000), True)
    # two orders of the same sums: the design's condition of some 1e3 times rounding
    np.testing.assert_allclose(model.predict(X[:50]), exact.predict(X[:50])[:, 0], atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("on_full", ["stop", "drop-oldest", "prune"])
def test_at_the_cap(on_full, alpha, rng):
    """Each policy against the direct minimiser of the cost for the dictionary the policy dictates."""
    X = rng.uniform(-2, 2, (700, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    kernel = _core.Kernel("rbf", np.full(2, 0.5), 3, 1.0, np.zeros(2))
    core = _core.OnlineLSSVM(
        kernel,
        1,
        alpha=alpha,
        novelty_tol=1e-2,
        admission="novelty",
        max_basis=9,
        fit_intercept=False,
        on_full=on_full,
    )
    _, outcome, victim = core.learn(X, np.ascontiguousarray(y[:, None]), np.ones(700))
    if on_full == "stop":
        assert (outcome[np.flatnonzero(outcome == oracles.ADMITTED)[-1] + 1 :] == 7).all()  # frozen
        np.testing.assert_array_equal(core.indices, np.flatnonzero(outcome == oracles.ADMITTED))
    elif on_full == "drop-oldest":
        kept = np.flatnonzero(np.isin(outcome, (oracles.ADMITTED, oracles.SWAPPED)))
        np.testing.assert_array_equal(core.indices, kept[-9:])
        np.testing.assert_array_equal(victim[kept[9:]], kept[:-9])
        assert len(kept) > 50
    else:
        assert (outcome == oracles.SWAPPED).any()
        assert (outcome == oracles.BOUNCED).any()
    model = oracles.BatchModel(oracles.kernel_function("rbf", 0.5), alpha, fit_intercept=False, compress=True)
    replayed = np.where(outcome == 7, oracles.REJECTED_NOVELTY, outcome)
    truth = model.learn(X, y[:, None], np.ones(700), replayed, victim).solve()
    new = rng.uniform(-2, 2, (50, 2))
    np.testing.assert_array_equal(core.indices, truth.indices)
    expected = truth.predict(new)
    # alpha = 0 leaves the condition of the rows alone (a few hundred swaps' worth): MATH 8.1 has 1e-11 at 1e-8
    tol = 1e-10 if alpha else 1e-8
    np.testing.assert_allclose(core.predict(new), expected.astype(float), atol=tol * float(abs(expected).max()))


@pytest.mark.parametrize("on_full", ["stop", "drop-oldest", "prune"])
def test_blocks_decide_as_rows_at_the_cap(on_full, rng):
    X = rng.uniform(-2, 2, (600, 2))
    y = np.cos(X[:, 0] + X[:, 1])
    settings = {"gamma": 0.5, "alpha": 1e-3, "novelty_tol": 1e-2, "max_basis": 8, "on_full": on_full}
    rows, block = KRLSRegressor(**settings), KRLSRegressor(**settings).fit(X, y)
    for i in range(600):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_array_equal(rows.basis_indices_, block.basis_indices_)
    assert rows.audit_ == block.audit_
    # alpha = 1e-3: cond(C) < 1e6 times rounding
    np.testing.assert_allclose(rows.predict(X), block.predict(X), atol=1e-9)


def test_with_a_ridge_it_is_the_online_model(rng):
    """alpha > 0 and forgetting: the very same core, settings for settings."""
    X, y, gamma, nu = surface(rng)
    ours = KRLSRegressor(gamma=gamma, novelty_tol=nu, alpha=0.1, forgetting=0.99).fit(X, y)
    theirs = OnlineLSSVMRegressor(
        gamma=gamma,
        novelty_tol=nu,
        alpha=0.1,
        forgetting=0.99,
        linear=False,
        admission="novelty",
        usefulness_tol=0.0,
        fit_intercept=False,
        max_basis=None,
    ).partial_fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    mean, std = ours.predict(X[:5], return_std=True)
    assert (std > 0).all()
    before = np.mean((ours.predict(X) - y) ** 2)
    assert np.mean((ours.refit(X, y).predict(X) - y) ** 2) < 2 * before
    assert np.isfinite(mean).all()


def test_the_stream_s_other_methods(rng):
    X, y, gamma, nu = waves(rng)
    model = KRLSRegressor(gamma=gamma, novelty_tol=nu)
    result = model.prequential(X, y)
    # a row is represented up to sqrt(nu) = 0.03 in norm, and the function's norm is a few; it starts from 1
    assert abs(result.error[-100:]).max() < 0.1
    assert abs(result.error[:100]).max() > 0.9
    again = KRLSRegressor(gamma=gamma, novelty_tol=nu).partial_fit(X[:1], y[:1])
    for x, target in zip(X[1:], y[1:], strict=True):
        again.update(x, target)
    np.testing.assert_array_equal(again.basis_indices_, model.basis_indices_)
    assert again.predict_one(X[7]) == pytest.approx(again.predict(X[7:8])[0], abs=1e-12)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"novelty_tol": 1.0}, "novelty_tol"),
        ({"on_full": "drop-newest"}, "on_full"),
        ({"max_basis": 0}, "max_basis"),
        ({"alpha": -1.0}, "alpha"),
        ({"forgetting": 0.9}, "forgetting < 1 needs alpha > 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KRLSRegressor(**parameters).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(
    "ask",
    [
        lambda m, X, y: m.refit(X, y),
        lambda m, X, y: m.predict(X, return_std=True),
        lambda m, X, y: m.prequential(X, y, return_std=True),
    ],
)
def test_what_needs_a_ridge_says_so_and_changes_nothing(ask, rng):
    X, y, gamma, nu = surface(rng)
    model = KRLSRegressor(gamma=gamma, novelty_tol=nu).fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="alpha > 0"):
        ask(model, X, y)
    assert pickle.dumps(model) == before
