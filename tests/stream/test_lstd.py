"""Kernel LSTD: after every step against the fixed point rebuilt from explicit Z and H."""

from __future__ import annotations

import pickle

import numpy as np
import oracles
import pytest
from kernsift import KernelLSTD, _core
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.state import inverse_P
from support.storing import ROUND_TRIPS
from support.transitions import assert_is_the_fixed_point, chain, core, learn


@pytest.mark.parametrize("max_basis", [0, 8])
@pytest.mark.parametrize("admission", ["novelty", "product"])
@pytest.mark.parametrize("decay", [0.0, 0.7])
def test_LSTD_1_LSTD_normal_LSTD_grow_LSTD_prune_is_the_fixed_point_after_every_step(decay, admission, max_basis):
    """600 steps on 50 states with terminations and cuts; the promise is 1e-7, the conditioning allows 1e-9."""
    data = chain(600, np.random.default_rng(8))
    assert data.terminal.sum() > 3
    assert (data.start[1:] & ~data.terminal[:-1]).any()
    model = core(data, decay=decay, admission=admission, max_basis=max_basis)
    batch = oracles.BatchLSTD(oracles.kernel_function("rbf", 1.0, dtype=float), 0.1, 0.95, decay)
    at = np.linspace(0, 10, 23)[:, None]
    joined = [0, 0]
    for t in range(600):
        outcome, victim, learned = learn(model, data, t)
        assert learned[0]
        batch.step(data, t, outcome[0], victim[0])
        for which in (0, 1):
            joined[which] += outcome[0, which] in (oracles.ADMITTED, oracles.SWAPPED)
        assert_is_the_fixed_point(model, batch, data, at, 1e-9)
    assert min(joined) > 2  # on s and on s'
    if max_basis:
        assert model.counters[oracles.SWAPPED] > 5
        assert model.counters[oracles.BOUNCED] > 5


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("max_basis", [0, 7])
@pytest.mark.parametrize("admission", ["product", "two-part", "per-sample", "novelty"])
def test_LSTD_normal_LSTD_grow_LSTD_prune_decides_as_the_explicit_recursion(admission, max_basis, residual):
    """Every decision and victim of the recursion on K^-1, U and w; values to what those explicit inverses keep."""
    data = chain(300, np.random.default_rng(5))
    decay = 0.0 if residual else 0.7
    settings = {"admission": admission, "max_basis": max_basis, "novelty_tol": 5e-2, "usefulness_tol": 1e-3}
    model = core(data, decay=decay, residual=residual, **settings)
    literal = oracles.ExplicitLSTD(
        oracles.kernel_function("rbf", 1.0, dtype=float), 0.1, 0.95, decay, residual=residual, **settings
    )
    for t in range(300):
        outcome, victim, _ = learn(model, data, t)
        expected = literal.learn(data, t)
        assert outcome[0].tolist() == list(expected[0]), t
        assert victim[0].tolist() == list(expected[1]), t
        # cond(K) < 1e4, and the literal form loses it twice
        np.testing.assert_allclose(model.coef, literal.w, atol=1e-7 * max(1.0, abs(literal.w).max(initial=0)))
    assert model.counters[oracles.ADMITTED] > 3


def test_LSTD_prune_scores_are_the_cost_of_leaving_for_the_bellman_residual():
    """For z = h the score w_i^2 / U_ii is the exact increase of |r - Hw|^2 + alpha w'Kw; for the newcomer it is the
    usefulness, because without it the model is the normal step's."""
    data = chain(200, np.random.default_rng(3))
    model = core(data, residual=True)
    batch = oracles.BatchLSTD(oracles.kernel_function("rbf", 1.0, dtype=float), 0.1, 0.95, 0.0, residual=True)
    for t in range(200):
        outcome, victim, _ = learn(model, data, t)
        batch.step(data, t, outcome[0], victim[0])
    K = batch.kernel(batch.elements(data), batch.elements(data))

    def cost(kept):
        H, K_kept = batch.H[:, kept], K[np.ix_(kept, kept)]
        w = np.linalg.solve(H.T @ H + 0.1 * K_kept, H.T @ batch.r)
        return np.sum((batch.r - H @ w) ** 2) + 0.1 * w @ K_kept @ w

    everything = list(range(len(K)))
    scores = model.coef**2 / np.diag(inverse_P(model))
    increase = [cost([j for j in everything if j != i]) - cost(everything) for i in everything]
    # a difference of two costs of order 10
    np.testing.assert_allclose(scores, increase, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("max_basis", [0, 9])
def test_without_a_future_it_is_the_regression_recursion(max_basis, residual):
    """Every transition terminal: the online model's dictionary and predictions, symmetric or not."""
    rng = np.random.default_rng(2)
    n = 800
    X = rng.uniform(-2, 2, (n, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    always = np.ones(n, bool)
    data = oracles.Transitions(X, y, X + 1, always, always)
    model = core(data, gamma=0.5, decay=0.0 if residual else 0.5, max_basis=max_basis, residual=residual)
    learn(model, data, 0, n)
    kernel = _core.Kernel("rbf", np.full(2, 0.5), 3, 1.0, np.zeros(2))
    online = _core.OnlineLSSVM(
        kernel, 1, alpha=0.1, novelty_tol=1e-2, admission="novelty", max_basis=max_basis, fit_intercept=False
    )
    online.learn(X, np.ascontiguousarray(y[:, None]), np.ones(n))
    np.testing.assert_array_equal(model.indices, online.indices)
    # two orders of operations at alpha = 0.1 (MATH 8.1: 1e-13)
    np.testing.assert_allclose(model.predict(X), online.predict(X)[:, 0], atol=1e-10)
    np.testing.assert_array_equal(model.counters[2:5], online.counters[2:5])


@pytest.mark.parametrize("decay", [0.0, 0.7])
def test_value_of_a_deterministic_chain(decay):
    """0, 1, ..., 49 with rewards cos(s): V by hand.  Isolated kernels make it the tabular method: exact up to alpha."""
    rewards = np.cos(np.arange(50.0))
    truth = np.zeros(51)
    for s in reversed(range(50)):
        truth[s] = rewards[s] + 0.9 * truth[s + 1]
    S = np.tile(np.arange(50.0), 4)[:, None]
    model = KernelLSTD(gamma=100.0, alpha=1e-9, discount=0.9, trace_decay=decay, admission="novelty")
    model.partial_fit(S, np.tile(rewards, 4), S + 1, terminal=S[:, 0] == 49)
    # the ridge takes alpha of values of order one, through (I - 0.9 P)^-1 <= 10 and the trace's <= 3
    np.testing.assert_allclose(model.predict(np.arange(50.0)[:, None]), truth[:50], atol=1e-7)


def test_value_of_a_random_walk():
    """From each of 50 states left and right equally often, ends paying 0 and 1: V = (I - gP)^-1 r, solved densely."""
    g, n = 0.98, 50
    P, r = np.zeros((n, n)), np.zeros(n)
    S, rewards, S_next, terminal = [], [], [], []
    for s in range(n):
        for to in (s - 1, s + 1):
            ends = to in (-1, n)
            pay = 1.0 if to == n else 0.0
            S.append(s)
            S_next.append(to)
            terminal.append(ends)
            rewards.append(pay)
            r[s] += 0.5 * pay
            if not ends:
                P[s, to] = 0.5
    truth = np.linalg.solve(np.eye(n) - g * P, r)
    model = KernelLSTD(gamma=100.0, alpha=1e-9, discount=g, admission="novelty")
    model.partial_fit(np.array(S, float)[:, None], rewards, np.array(S_next, float)[:, None], terminal=terminal)
    # alpha times the norm of (I - gP)^-1, at most 50
    np.testing.assert_allclose(model.predict(np.arange(float(n))[:, None]), truth, atol=1e-6)
    biased = clone(model).set_params(criterion="brm")
    biased.partial_fit(np.array(S, float)[:, None], rewards, np.array(S_next, float)[:, None], terminal=terminal)
    assert abs(biased.predict(np.arange(float(n))[:, None]) - truth).max() > 0.05  # as it must be: double sampling


def test_a_transition_that_would_make_P_singular_is_skipped():
    """Linear kernel, one element: P = 1 - g + alpha, then P + (1 - g x) = 0 for the right x."""
    g, alpha = 0.9, 0.1
    P = 1 - g + alpha
    x = (1 + P) / g
    model = KernelLSTD(kernel="linear", alpha=alpha, discount=g, admission="novelty", novelty_tol=1e-3)
    model.partial_fit([[1.0]], [1.0], [[1.0]])
    before = model.predict([[1.0]])
    model.partial_fit([[1.0]], [5.0], [[x]])
    assert model.audit_["skipped"] == model.n_refused_ == 1
    np.testing.assert_array_equal(model.predict([[1.0]]), before)
    model.partial_fit([[1.0]], [1.0], [[1.0]])
    assert model.audit_["skipped"] == 1
    assert np.isfinite(model.predict([[1.0]])).all()


def test_a_state_whose_Delta_b_vanishes_is_refused():
    """Linear kernel, empty dictionary, s = 1: Delta_b = alpha + 1 - g s' = 0 for s' = (1 + alpha)/g, and s', on
    the same line, fares no better."""
    model = KernelLSTD(kernel="linear", alpha=0.5, discount=0.75, admission="novelty")
    model.partial_fit([[1.0]], [1.0], [[2.0]])
    assert model.audit_["refused"] == model.n_refused_ == 2
    assert model.n_basis_ == 0
    np.testing.assert_array_equal(model.predict([[1.0], [2.0]]), 0.0)


@pytest.mark.parametrize("alpha", [1e-3, 1e-8, 1e-14])
@pytest.mark.parametrize("name", ["rbf", "polynomial"])
def test_small_ridges_never_give_nan(alpha, name):
    data = chain(1500, np.random.default_rng(1))
    model = core(data, alpha=alpha, decay=0.9, discount=1.0, novelty_tol=0.0, max_basis=12, name=name, gamma=0.3)
    learn(model, data, 0, 1500)
    assert np.isfinite(model.predict(data.S)).all()
    assert all(np.isfinite(v).all() for v in model.state().values())


def estimator(**parameters):
    settings = {"gamma": 1.0, "discount": 0.95, "trace_decay": 0.7, "max_basis": 8, **parameters}
    return KernelLSTD(**settings)


def feed(model, data, first, last):
    part = slice(first, last)
    return model.partial_fit(
        data.S[part], data.r[part], data.S_next[part], terminal=data.terminal[part], start=data.start[part]
    )


@pytest.mark.parametrize("block", [1, 7, 200])
def test_blocks_are_rows(block):
    data = chain(600, np.random.default_rng(4))
    whole, cut = feed(estimator(), data, 0, 600), estimator()
    for first in range(0, 600, block):
        feed(cut, data, first, first + block)
    np.testing.assert_array_equal(cut.basis_indices_, whole.basis_indices_)
    np.testing.assert_array_equal(cut.predict(data.S), whole.predict(data.S))
    assert cut.audit_ == whole.audit_


@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_it_resumes_exactly_in_the_middle_of_an_episode(way):
    data = chain(600, np.random.default_rng(4))
    model = feed(estimator(), data, 0, 301)
    assert not data.terminal[300]
    restored = ROUND_TRIPS[way](model)
    feed(model, data, 301, 600)
    assert restored.n_samples_seen_ == 301
    feed(restored, data, 301, 600)
    for name, value in model._core.state().items():
        np.testing.assert_array_equal(restored._core.state()[name], value)
    np.testing.assert_array_equal(restored.predict(data.S), model.predict(data.S))


def test_fitted_attributes_make_the_prediction():
    data = chain(400, np.random.default_rng(4))
    model = feed(estimator(), data, 0, 400)
    kernel = oracles.kernel_function("rbf", 1.0, dtype=float)
    at = np.linspace(0, 10, 9)[:, None]
    np.testing.assert_allclose(kernel(at, model.basis_vectors_) @ model.dual_coef_, model.predict(at), atol=1e-12)
    where = np.where(model.basis_is_next_[:, None], data.S_next[model.basis_indices_], data.S[model.basis_indices_])
    np.testing.assert_array_equal(model.basis_vectors_, where)
    assert model.n_basis_ == len(model.trace_) == 8
    assert model.n_samples_seen_ == 400
    assert model.alpha_ == 0.1
    audit = model.audit_
    states = ("admitted", "rejected_novelty", "rejected_usefulness", "bounced", "refused", "ignored")
    assert sum(audit[name] for name in states) == 800
    assert audit["admitted"] - audit["evicted"] == 8


def test_estimator_conventions():
    model = estimator()
    with pytest.raises(NotFittedError):
        model.predict([[0.0]])
    data = chain(50, np.random.default_rng(4))
    fitted = feed(model, data, 0, 50)
    assert fitted is model
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        _ = fresh.basis_vectors_
    before = pickle.dumps(model)
    assert model.partial_fit(np.zeros((0, 1)), [], np.zeros((0, 1))) is model
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=r"alpha was 0\.1"):
        feed(model.set_params(alpha=1.0), data, 0, 5)


Z4 = np.zeros((4, 1))
BAD = {
    "shapes differ": ((Z4, np.zeros(4), np.zeros((3, 1))), {}, r"S has shape \(4, 1\) but S_next has \(3, 1\)"),
    "columns differ": ((Z4, np.zeros(4), np.zeros((4, 2))), {}, "S_next has"),
    "NaN reward": ((Z4, [0, np.nan, 0, 0], Z4), {}, "r contains NaN"),
    "infinite reward": ((Z4, [0, np.inf, 0, 0], Z4), {}, "r contains infinity"),
    "reward too large": ((Z4, [0, 1e200, 0, 0], Z4), {}, "square overflows"),
    "too few rewards": ((Z4, np.zeros(3), Z4), {}, "one reward for each transition"),
    "NaN state": ((np.full((4, 1), np.nan), np.zeros(4), Z4), {}, "contains NaN"),
    "NaN next state": ((Z4, np.zeros(4), np.full((4, 1), np.nan)), {}, "S_next contains NaN"),
    "terminal of numbers": ((Z4, np.zeros(4), Z4), {"terminal": [0, 1, 2, 1]}, "terminal holds .*give True or 1"),
    "terminal too short": ((Z4, np.zeros(4), Z4), {"terminal": [True]}, "terminal has shape"),
    "start of text": ((Z4, np.zeros(4), Z4), {"start": ["a"] * 4}, "start holds .*give True or 1"),
    "more features than before": ((np.zeros((4, 2)), np.zeros(4), np.zeros((4, 2))), {}, "2 features.*expecting 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_changes_nothing(case):
    arrays, flags, message = BAD[case]
    model = feed(estimator(), chain(100, np.random.default_rng(4)), 0, 100)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*arrays, **flags)
    assert pickle.dumps(model) == before
    fresh = estimator()
    if case != "more features than before":
        with pytest.raises(ValueError, match=message):
            fresh.partial_fit(*arrays, **flags)
        assert not fresh.__sklearn_is_fitted__()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discount": 1.1}, "discount"),
        ({"discount": -0.1}, "discount"),
        ({"trace_decay": 2.0}, "trace_decay"),
        ({"alpha": 0.0}, "alpha"),
        ({"criterion": "td"}, "criterion"),
        ({"criterion": "brm", "trace_decay": 0.5}, "trace_decay=0.5 has no meaning for criterion='brm'"),
        ({"max_basis": 0}, "max_basis"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    model = estimator(**parameters)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(Z4, np.zeros(4), Z4)
    assert not model.__sklearn_is_fitted__()
