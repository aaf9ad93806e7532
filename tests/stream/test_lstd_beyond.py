"""KernelLSTD beyond one pass: second passes, standard deviations, LSPE, importance, forgetting, given kernels."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import oracles
import pytest
from kernsift import KernelLSTD, learn_gamma, load
from sklearn.base import clone
from support.state import inverse_P
from support.transitions import assert_is_the_fixed_point, chain, core, learn

RBF = oracles.kernel_function("rbf", 1.0, dtype=float)
AT = np.linspace(0, 10, 23)[:, None]


def estimator(**parameters):
    return KernelLSTD(**{"gamma": 1.0, "discount": 0.95, "trace_decay": 0.7, "max_basis": 9, **parameters})


def arguments(data, part=slice(None)):
    named = {"terminal": data.terminal[part], "start": data.start[part]}
    if data.importance is not None:
        named["importance"] = data.importance[part]
    return (data.S[part], data.r[part], data.S_next[part]), named


def feed(model, data, verb="partial_fit", part=slice(None)):
    given, named = arguments(data, part)
    return getattr(model, verb)(*given, **named)


def weighted(data, seed=0):
    ratio = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], len(data.r))
    return replace(data, importance=ratio)


def values(w, elements):
    return RBF(AT, elements) @ w


# --- a second pass


@pytest.mark.parametrize("importance", [False, True])
@pytest.mark.parametrize(("criterion", "decay"), [("lstd", 0.0), ("lstd", 0.7), ("brm", 0.0)])
def test_refit_is_the_dense_fixed_point(criterion, decay, importance):
    """Issue: at most 1e-9; cond(P) is below 1e4 here."""
    data = chain(900, np.random.default_rng(3))
    data = weighted(data) if importance else data
    model = feed(estimator(criterion=criterion, trace_decay=decay), data)
    basis = model.basis_vectors_.copy()
    dense = oracles.dense_lstd(RBF, basis, data, 0.95, decay, 0.1, residual=criterion == "brm")
    stale = abs(model.predict(AT) - values(dense, basis)).max()
    assert feed(model, data, "refit") is model
    np.testing.assert_array_equal(model.basis_vectors_, basis)
    truth = values(dense, basis)
    assert abs(model.predict(AT) - truth).max() <= 1e-9 * abs(truth).max() < 1e-3 * stale
    np.testing.assert_allclose(
        model.trace_, oracles.dense_transitions(RBF, basis, data, 0.95, decay, criterion == "brm").Z[-1], atol=1e-10
    )
    assert model.n_samples_seen_ == 900


def test_a_stream_goes_on_from_a_refit_as_from_the_sums():
    """On given kernels every row is exact: a refit on the first half and the second half as a stream are the whole."""
    data = chain(600, np.random.default_rng(4))
    basis = np.linspace(0, 10, 8)[:, None]
    whole = feed(estimator(basis=basis), data)
    model = feed(feed(estimator(basis=basis), data, part=slice(0, 5)), data, "refit", slice(0, 301))
    feed(model, data, part=slice(301, 600))
    np.testing.assert_allclose(model.predict(AT), whole.predict(AT), atol=1e-9)
    for mine, other in zip(model.predict(AT, return_std=True), whole.predict(AT, return_std=True), strict=True):
        assert mine.shape == other.shape
    np.testing.assert_allclose(model._core.state()["variance"], whole._core.state()["variance"], atol=1e-9)


def test_fit_is_a_pass_and_a_refit_and_forgets_what_was_before():
    data = chain(500, np.random.default_rng(5))
    model = feed(estimator(), data, "fit")
    twice = feed(feed(estimator(), data), data, "refit")
    np.testing.assert_array_equal(model.predict(AT), twice.predict(AT))
    feed(model, chain(300, np.random.default_rng(6)))
    np.testing.assert_array_equal(feed(model, data, "fit").predict(AT), twice.predict(AT))
    stream = feed(estimator(forgetting=0.99), data)
    np.testing.assert_array_equal(feed(estimator(forgetting=0.99), data, "fit").predict(AT), stream.predict(AT))


def test_a_singular_P_is_said_and_the_model_stays():
    """Linear kernel, one element: P = 1 - g s' + alpha = 0 for s' = (1 + alpha) / g."""
    model = KernelLSTD(kernel="linear", alpha=0.5, discount=0.75).partial_fit([[1.0]], [1.0], [[0.0]])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"P is singular .* raise alpha"):
        model.refit([[1.0]], [1.0], [[2.0]])
    assert pickle.dumps(model) == before


# --- given kernels


def test_given_kernels_are_exact_on_every_transition():
    data = chain(400, np.random.default_rng(7))
    basis = np.linspace(0, 10, 9)[:, None]
    model = feed(estimator(basis=np.concatenate([basis, basis[:2]])), data)
    np.testing.assert_array_equal(model.basis_vectors_, basis)  # twins are left out
    np.testing.assert_array_equal(model.basis_indices_, -1)
    truth = values(oracles.dense_lstd(RBF, basis, data, 0.95, 0.7, 0.1), basis)
    np.testing.assert_allclose(model.predict(AT), truth, atol=1e-9 * abs(truth).max())
    assert model.audit_["ignored"] == 800
    with pytest.raises(ValueError, match="basis has 2 features and S has 1"):
        feed(estimator(basis=np.ones((3, 2))), data)


# --- importance


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("max_basis", [0, 8])
def test_LSTD_importance_is_in_the_fixed_point_after_every_step(max_basis, residual):
    data = weighted(chain(500, np.random.default_rng(8)))
    decay = 0.0 if residual else 0.7
    model = core(data, decay=decay, max_basis=max_basis, residual=residual)
    batch = oracles.BatchLSTD(RBF, 0.1, 0.95, decay, residual)
    for t in range(500):
        part = slice(t, t + 1)
        outcome, victim, learned = model.learn(
            data.S[part], data.r[part], data.S_next[part], data.terminal[part], data.start[part], data.importance[part]
        )
        assert learned[0]
        batch.step(data, t, outcome[0], victim[0])
        assert_is_the_fixed_point(model, batch, data, AT, 1e-9)


def test_importance_gives_the_values_of_another_policy():
    """States 0..4, left or right; a coin acts, and the target goes right with 0.9: V = (I - gP)^-1 r by hand."""
    g, n, rng = 0.9, 60_000, np.random.default_rng(0)
    P, mean = np.zeros((5, 5)), np.zeros(5)
    for s in range(5):
        for to, p in ((max(s - 1, 0), 0.1), (s + 1, 0.9)):
            mean[s] += p * (to == 5)
            if to < 5:
                P[s, to] += p
    truth = np.linalg.solve(np.eye(5) - g * P, mean)
    right = rng.random(n) < 0.5
    S, S_next = np.zeros(n), np.zeros(n)
    state = 2
    for t in range(n):
        S[t] = state
        S_next[t] = state + 1 if right[t] else max(state - 1, 0)
        state = 2 if S_next[t] == 5 else int(S_next[t])
    ends = S_next == 5
    model = KernelLSTD(gamma=50.0, alpha=1e-6, discount=g, trace_decay=0.5)
    asked = np.arange(5.0)[:, None]
    given = (S[:, None], ends.astype(float), S_next[:, None])
    model.fit(*given, terminated=ends, importance=np.where(right, 0.9, 0.1) / 0.5)
    # some 5,000 visits a state, a variance of the products of ratios of about ten
    np.testing.assert_allclose(model.predict(asked), truth, atol=0.05)
    plain = clone(model).fit(*given, terminated=ends)
    assert abs(plain.predict(asked) - truth).max() > 0.2


# --- standard deviations


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("max_basis", [0, 8])
def test_LSTD_variance_is_the_covariance_after_every_step(max_basis, residual):
    """S = C (Z'Z + alpha I) C' for the explicit Z and C, in the kernels' own coordinates."""
    data = weighted(chain(400, np.random.default_rng(9)))
    decay = 0.0 if residual else 0.7
    model = core(data, decay=decay, max_basis=max_basis, residual=residual, variance=True)
    batch = oracles.BatchLSTD(RBF, 0.1, 0.95, decay, residual)
    squares = 0.0
    for t in range(400):
        part = slice(t, t + 1)
        s, s_next = data.S[part], data.S_next[part]
        if batch.identifiers:  # the error before the transition, over its standard deviation
            w, _ = batch.solve(data)
            g = 0.0 if data.terminal[t] else 0.95
            h = (RBF(s, batch.elements(data)) - g * RBF(s_next, batch.elements(data)))[0]
            squares += (data.r[t] - h @ w) ** 2 / (1 + h @ batch.covariance(data) @ h)
        else:
            squares += data.r[t] ** 2
        outcome, victim, _ = model.learn(
            s, data.r[part], s_next, data.terminal[part], data.start[part], data.importance[part]
        )
        batch.step(data, t, outcome[0], victim[0])
        _, variance = model.predict_variance(AT)
        np.testing.assert_allclose(model.noise_variance, squares / (t + 1), rtol=1e-8)
        # cond(P) stays below 1e6, and the covariance has its square
        np.testing.assert_allclose(variance / model.noise_variance, batch.variance(data, AT), rtol=1e-6)
    if max_basis:
        assert model.counters[oracles.SWAPPED] > 5


def test_the_variance_after_a_refit_is_that_of_exact_transitions():
    data = chain(500, np.random.default_rng(10))
    model = feed(estimator(), data, "fit")
    rows = oracles.dense_transitions(RBF, model.basis_vectors_, data, 0.95, 0.7)
    K = RBF(model.basis_vectors_, model.basis_vectors_)
    U = np.linalg.inv(rows.Z.T @ rows.H + 0.1 * K)
    freedom = np.trace(rows.H @ U @ rows.Z.T)
    noise = np.sum((data.r - rows.H @ model.dual_coef_) ** 2) / (500 - freedom)
    np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-8)
    k = RBF(AT, model.basis_vectors_)
    inside = np.einsum("ij,ij->i", k @ U @ (rows.Z.T @ rows.Z + 0.1 * K) @ U.T, k)
    beyond = 1 - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)
    expected = np.sqrt(noise * (inside + beyond / 0.1))
    np.testing.assert_allclose(model.predict(AT, return_std=True)[1], expected, rtol=1e-6)


def test_for_the_bellman_residual_it_is_gptd():
    """All states as kernels: posterior mean and variance of Gaussian-process temporal differences, n by n."""
    rng = np.random.default_rng(11)
    S = np.arange(12.0)[:, None]
    data = oracles.Transitions(S, rng.standard_normal(12), S + 1, S[:, 0] == 11, S[:, 0] == 0)
    model = KernelLSTD(gamma=0.5, alpha=0.2, discount=0.9, criterion="brm", basis=np.arange(13.0)[:, None])
    feed(model, data)
    at = np.linspace(-2, 14, 30)[:, None]
    kernel = oracles.kernel_function("rbf", 0.5, dtype=float)
    mean, std = model.predict(at, return_std=True)
    noise = model.noise_variance_
    expected, variance = oracles.gptd(kernel, data, 0.9, noise, noise / 0.2, at)
    np.testing.assert_allclose(mean, expected, atol=1e-9)
    np.testing.assert_allclose(std**2, variance, rtol=1e-8)


def test_standard_deviations_are_those_of_the_errors():
    """Values drawn from the prior, rewards of the model: errors over their standard deviations have mean square 1."""
    rng, g = np.random.default_rng(12), 0.9
    basis = np.linspace(0, 10, 12)[:, None]
    root = np.linalg.cholesky(np.linalg.inv(RBF(basis, basis)))
    found = []
    for _ in range(60):
        w = root @ rng.standard_normal(12) / np.sqrt(0.1)
        S, S_next = rng.uniform(0, 10, (2, 150, 1))
        r = (RBF(S, basis) - g * RBF(S_next, basis)) @ w + rng.standard_normal(150)
        model = KernelLSTD(gamma=1.0, alpha=0.1, discount=g, basis=basis).fit(S, r, S_next)
        V, std = model.predict(basis, return_std=True)
        found.append((V - RBF(basis, basis) @ w) / std)
    # 60 independent draws of a mean over 12 correlated squares: standard error below 0.1
    assert 0.75 < np.mean(np.square(found)) < 1.3


def test_without_uncertainty_there_is_none_and_the_values_are_the_same():
    data = chain(300, np.random.default_rng(13))
    model, plain = feed(estimator(), data), feed(estimator(uncertainty=False), data)
    np.testing.assert_array_equal(model.predict(AT), plain.predict(AT))
    with pytest.raises(ValueError, match="fit again with uncertainty=True"):
        plain.predict(AT, return_std=True)


# --- LSPE


@pytest.mark.parametrize("max_basis", [0, 8])
@pytest.mark.parametrize("decay", [0.0, 0.7])
def test_LSTD_lspe_is_the_literal_iteration(decay, max_basis):
    data = chain(400, np.random.default_rng(14))
    model = core(data, decay=decay, max_basis=max_basis, lspe=True)
    literal = oracles.DenseLSPE(RBF, 0.1, 0.95, decay)
    for t in range(400):
        outcome, victim, _ = learn(model, data, t)
        w = literal.step(data, t, outcome[0], victim[0])
        scale = 1e-12 + abs(w).max(initial=0)
        np.testing.assert_allclose(model.coef, w, atol=1e-8 * scale)  # cond(K) below 1e4
    if max_basis:
        assert model.counters[oracles.SWAPPED] > 5


def test_lspe_comes_to_the_fixed_point():
    data = chain(800, np.random.default_rng(15))
    lspe, lstd = (feed(estimator(solver=solver), data, "fit") for solver in ("lspe", "lstd"))
    np.testing.assert_array_equal(lspe.basis_indices_, lstd.basis_indices_)
    truth = lstd.predict(AT)
    np.testing.assert_allclose(lspe.predict(AT), truth, atol=1e-8 * abs(truth).max())
    with pytest.raises(ValueError, match=r"solver='lspe' keeps sums that do not fade"):
        feed(estimator(solver="lspe", forgetting=0.9), data)


# --- forgetting


@pytest.mark.parametrize("max_basis", [0, 7])
def test_BEYOND_B7_forgetting_is_a_step_back_to_the_prior(max_basis):
    """Decisions, victims and values of the explicit recursion with U <- fU + (1 - f)/alpha K^-1, w <- sqrt(f) w."""
    data = weighted(chain(400, np.random.default_rng(16)))
    settings = {"admission": "product", "max_basis": max_basis, "novelty_tol": 5e-2, "usefulness_tol": 1e-3}
    model = core(data, decay=0.7, forgetting=0.98, variance=True, **settings)
    literal = oracles.ExplicitLSTD(RBF, 0.1, 0.95, 0.7, forgetting=0.98, **settings)
    for t in range(400):
        part = slice(t, t + 1)
        outcome, victim, _ = model.learn(
            data.S[part], data.r[part], data.S_next[part], data.terminal[part], data.start[part], data.importance[part]
        )
        expected = literal.learn(data, t)
        assert outcome[0].tolist() == list(expected[0]), t
        assert victim[0].tolist() == list(expected[1]), t
        # cond(K) < 1e4, and the literal form loses it twice
        np.testing.assert_allclose(model.coef, literal.w, atol=1e-7 * max(1.0, abs(literal.w).max(initial=0)))
    np.testing.assert_allclose(inverse_P(model), literal.U, atol=1e-6 * abs(literal.U).max())
    assert model.counters[oracles.SWAPPED if max_basis else oracles.ADMITTED] > 3


def test_what_is_forgotten_is_the_prior():
    """Rewards of another part of the world, for long: the first part's values fade, and its deviations grow back."""
    data = chain(200, np.random.default_rng(17))
    model = feed(estimator(forgetting=0.95, trace_decay=0.0), data)
    far = np.full((400, 1), 100.0)
    model.partial_fit(far, np.zeros(400), far, terminated=np.ones(400))
    assert abs(model.predict(AT)).max() < 1e-3
    std = model.predict(AT, return_std=True)[1]
    np.testing.assert_allclose(std, np.sqrt(model.noise_variance_ / 0.1), rtol=1e-3)
    with pytest.raises(ValueError, match=r"forgetting=0.95 the recent ones more"):
        feed(model, data, "refit")


# --- scores and health


def test_LSTD_error_is_the_projected_bellman_error():
    data, other = (chain(500, np.random.default_rng(seed)) for seed in (18, 19))
    model = feed(estimator(), data)
    for rows in (data, weighted(other)):
        basis, w = model.basis_vectors_, model.dual_coef_
        expected = -oracles.projected_error(RBF, basis, rows, 0.95, 0.7, 0.1, w)
        assert feed(model, rows, "score") == pytest.approx(expected, rel=1e-8)
    fitted, off = feed(estimator(), data, "fit"), feed(estimator(), replace(data, r=-data.r), "fit")
    assert feed(off, other, "score") < feed(fitted, other, "score") < 0


def test_health_is_the_norm_of_C_and_warns():
    data = chain(500, np.random.default_rng(20))
    model = feed(estimator(), data)
    found = model.health()
    L = np.linalg.cholesky(RBF(model.basis_vectors_, model.basis_vectors_))
    C = L.T @ inverse_P(model._core) @ L
    assert found["ridge_norm"] == pytest.approx(0.1 * np.linalg.norm(C, 2), rel=1e-6)
    assert found["sound"]
    assert found["problems"] == []
    near = KernelLSTD(kernel="linear", alpha=0.5, discount=0.75, basis=[[1.0]])
    near.partial_fit([[1.0]], [1.0], [[1.99]])  # P = 1.5 - 0.75 * 1.99
    with pytest.warns(UserWarning, match="near singular: alpha |C| is 66.7"):
        assert not near.health()["sound"]


# --- how transitions are given


def test_gymnasium_s_names_and_what_was_cut_off():
    data = chain(400, np.random.default_rng(21))
    model = feed(estimator(), data)
    truncated = np.append(data.start[1:] & ~data.terminal[:-1], False)
    other = estimator()
    for first in range(0, 400, 57):
        part = slice(first, first + 57)
        other.partial_fit(
            data.S[part],
            data.r[part],
            data.S_next[part],
            terminated=data.terminal[part].astype(int),
            truncated=truncated[part].astype(float),
        )
    np.testing.assert_array_equal(other.predict(AT), model.predict(AT))


def test_environments_side_by_side_are_learned_one_after_the_other():
    parts = [chain(60, np.random.default_rng(seed)) for seed in (22, 23, 24)]
    together = {name: np.stack([getattr(p, name) for p in parts], axis=1) for name in ("S", "r", "S_next", "terminal")}
    model = estimator().partial_fit(
        together["S"], together["r"], together["S_next"], terminated=together["terminal"],
        truncated=np.stack([np.append(p.start[1:] & ~p.terminal[:-1], False) for p in parts], axis=1),
    )  # fmt: skip
    other = estimator()
    for part in parts:
        feed(other, part)
    np.testing.assert_array_equal(model.predict(AT), other.predict(AT))
    with pytest.raises(ValueError, match=r"r has shape \(60,\), expected \(60, 3\)"):
        estimator().partial_fit(together["S"], parts[0].r, together["S_next"])


@pytest.mark.parametrize("max_basis", [0, 7])
def test_each_environment_has_a_trace_of_its_own(max_basis):
    """Turns at random: the fixed point with the traces of the definition, while kernels join and leave."""
    rng = np.random.default_rng(31)
    data = chain(500, rng)
    data = replace(data, start=np.zeros(500, bool))
    model = core(data, decay=0.8, max_basis=max_basis, novelty_tol=5e-2)
    batch = oracles.BatchLSTD(RBF, 0.1, 0.95, 0.8)
    for t in range(500):
        environment = int(rng.integers(0, 4))
        batch.turn_to(environment)
        part = slice(t, t + 1)
        outcome, victim, learned = model.learn(
            data.S[part], data.r[part], data.S_next[part], data.terminal[part], data.start[part],
            environment=environment,
        )  # fmt: skip
        assert learned[0]
        batch.step(data, t, outcome[0], victim[0])
        assert_is_the_fixed_point(model, batch, data, AT, 1e-9)
        if t == 250:
            model = pickle.loads(pickle.dumps(model))
    assert (model.counters[oracles.SWAPPED] > 5) == bool(max_basis)


def side_by_side(parts, steps=slice(None)):
    """Arguments of transitions of several environments, a step a row."""
    given = [np.stack([getattr(p, name)[steps] for p in parts], axis=1) for name in ("S", "r", "S_next")]
    cut = [np.append(p.start[1:] & ~p.terminal[:-1], False)[steps] for p in parts]
    return given, {
        "terminated": np.stack([p.terminal[steps] for p in parts], axis=1),
        "truncated": np.stack(cut, axis=1),
    }


@pytest.mark.parametrize("at_once", [1, 7, 60])
def test_environments_go_on_from_call_to_call(at_once):
    """On given kernels every transition is exact: in what order they come makes no difference to the sums."""
    parts = [chain(60, np.random.default_rng(seed)) for seed in (22, 23, 24)]
    basis = np.linspace(0, 10, 8)[:, None]
    model, whole = estimator(basis=basis), estimator(basis=basis)
    for first in range(0, 60, at_once):
        given, named = side_by_side(parts, slice(first, first + at_once))
        model.partial_fit(*given, **named)
    for part in parts:
        feed(whole, part)
    np.testing.assert_allclose(model.predict(AT), whole.predict(AT), rtol=1e-9, atol=1e-12)
    # a refit counts the same transitions, and no trace runs from one environment into the next
    given, named = side_by_side(parts)
    np.testing.assert_allclose(model.refit(*given, **named).predict(AT), whole.predict(AT), rtol=1e-9, atol=1e-12)
    joined = oracles.Transitions(
        *(np.concatenate([getattr(p, name) for p in parts]) for name in ("S", "r", "S_next", "terminal", "start"))
    )
    assert model.score(*given, **named) == pytest.approx(feed(model, joined, "score"), rel=1e-12)


# --- transitions kept


@pytest.mark.parametrize("settings", [{}, {"solver": "lspe"}, {"criterion": "brm", "trace_decay": 0.0}])
def test_a_refit_without_transitions_is_one_on_the_last_of_them(settings):
    data = weighted(chain(400, np.random.default_rng(32)))
    model = feed(estimator(keep_last=150, **settings), data, part=slice(0, 170))
    feed(model, data, part=slice(170, 400))
    given = feed(pickle.loads(pickle.dumps(model)), data, "refit", slice(250, 400))
    before = model.trace_
    model = pickle.loads(pickle.dumps(model))
    assert model.refit() is model
    np.testing.assert_allclose(model.predict(AT, return_std=True), given.predict(AT, return_std=True), rtol=1e-12)
    np.testing.assert_array_equal(model.trace_, before)  # the stream goes on
    np.testing.assert_array_equal(model.refit().predict(AT), model.predict(AT))
    whole = feed(estimator(keep_last=1000, **settings), data)
    twice = feed(feed(estimator(**settings), data), data, "refit")
    np.testing.assert_allclose(whole.refit().predict(AT), twice.predict(AT), rtol=1e-12)


def test_kept_transitions_of_environments_are_in_order_again():
    parts = [chain(40, np.random.default_rng(seed)) for seed in (33, 34)]
    model = estimator(keep_last=80)
    for t in range(40):
        given, named = side_by_side(parts, slice(t, t + 1))
        model.partial_fit(*given, **named)
    given, named = side_by_side(parts)
    expected = pickle.loads(pickle.dumps(model)).refit(*given, **named)
    np.testing.assert_allclose(model.refit().predict(AT), expected.predict(AT), rtol=1e-9)


def test_a_refit_that_cannot_be_says_what_to_give():
    data = chain(50, np.random.default_rng(35))
    model = feed(estimator(), data)
    with pytest.raises(ValueError, match=r"needs S, r and S_next, or keep_last \(0\)"):
        model.refit()
    kept = feed(estimator(keep_last=20), data)
    before = pickle.dumps(kept)
    for wrong in ({"r": data.r}, {"terminated": data.terminal}, {"S": data.S, "r": data.r}):
        with pytest.raises(ValueError, match="belong together: give all"):
            kept.refit(**wrong)
    assert pickle.dumps(kept) == before
    with pytest.raises(ValueError, match="keep_last"):
        feed(estimator(keep_last=-1), data)
    with pytest.raises(ValueError, match=r"P is singular .* raise alpha"):
        KernelLSTD(kernel="linear", alpha=0.5, discount=0.75, keep_last=1).partial_fit(
            [[1.0], [1.0]], [1.0, 1.0], [[0.0], [2.0]]
        ).refit()


def test_widths_from_the_states_and_learned():
    """Learned widths are those of `learn_gamma` on the targets r + gV(s') of a first fit with "standard"."""
    rng = np.random.default_rng(25)
    S = rng.uniform(0, 3, (2000, 2))
    S_next = np.clip(S + 0.2 * rng.standard_normal((2000, 2)), 0, 3)
    r = np.sin(2 * S[:, 0])
    given = (S, r, S_next)
    learned = KernelLSTD(gamma="learn", discount=0.5, random_state=0).fit(*given)
    first = KernelLSTD(gamma="standard", discount=0.5).fit(*given)
    targets = r + 0.5 * first.predict(S_next)
    np.testing.assert_array_equal(learned.gamma_, learn_gamma(S, targets, random_state=0)["gamma"])
    median = KernelLSTD(gamma="median", discount=0.5, random_state=0).fit(*given)
    distances = np.sqrt(((S[:, None] - S) ** 2).sum(axis=2))[np.triu_indices(2000, 1)]
    np.testing.assert_allclose(median.gamma_, 0.5 / np.median(distances) ** 2, rtol=0.1)  # of 500 rows
    with pytest.raises(ValueError, match="gamma='learn' needs"):
        KernelLSTD(gamma="learn").partial_fit(*given)


def test_all_of_it_is_stored(tmp_path):
    data = weighted(chain(300, np.random.default_rng(26)))
    for parameters in ({"forgetting": 0.99}, {"solver": "lspe"}, {"basis": np.arange(5.0)[:, None]}):
        model = feed(estimator(**parameters), data, part=slice(0, 151))
        model.save(tmp_path / "values.npz")
        restored = load(tmp_path / "values.npz")
        for one in (model, restored):
            feed(one, data, part=slice(151, 300))
        np.testing.assert_array_equal(restored.predict(AT, return_std=True), model.predict(AT, return_std=True))


Z4 = np.zeros((4, 1))
BAD = {
    "two names": ({"terminated": [0] * 4, "terminal": [0] * 4}, "terminal is another name of terminated"),
    "truncated of numbers": ({"truncated": [0, 1, 2, 1]}, "truncated holds .*give True or 1"),
    "negative importance": ({"importance": [1, 1, -0.5, 1]}, r"importance is -0.5 in transition 2"),
    "importance too short": ({"importance": [1.0]}, r"importance has shape \(1,\), expected \(4,\)"),
    "importance NaN": ({"importance": [1, np.nan, 1, 1]}, "importance contains NaN in transition 1"),
    "NaN reward": ({"r": [0, 0, 0, np.nan]}, "r contains NaN in transition 3"),
}


@pytest.mark.parametrize("verb", ["partial_fit", "fit", "refit", "score"])
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_changes_nothing(case, verb):
    given, message = BAD[case]
    model = feed(estimator(), chain(100, np.random.default_rng(4)))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        getattr(model, verb)(Z4, S_next=Z4, **{"r": np.zeros(4), **given})
    assert pickle.dumps(model) == before
