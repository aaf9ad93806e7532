"""Settings of the stream beyond the papers: window, prune and oversample, hysteresis, threads, single precision."""

from __future__ import annotations

import copy
import pickle
import signal
import threading
import time

import numpy as np
import oracles
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor, _core
from kernsift.stream.parameters import MEMORIES
from support.state import inverse_P
from support.streams import KERNEL, KERNELS, PLAIN, core, direct, stream


@pytest.mark.parametrize("max_basis", [0, 12])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_window_is_the_direct_solution_on_its_rows(max_basis, outputs):
    """Also weighted, with swaps, and after as many rows as renew it several times over."""
    rng = np.random.default_rng(3)
    X, Y, v = stream(500, rng, outputs=outputs, weights=True)
    model = core(
        n_outputs=outputs, admission="novelty", novelty_tol=0.05, max_basis=max_basis, exact_rows=60, window=True
    )
    seen: list[int] = []
    for first in range(0, 500, 50):
        part = slice(first, first + 50)
        model.learn(X[part], Y[part], v[part])
        seen += [i for i in range(first, first + 50) if v[i] > 0]
        last = seen[-60:]
        basis = X[model.indices]
        beta, bias, cost = direct(KERNEL(X[last], basis), basis, Y[last], v[last], 0.1)
        # every row leaves by a step that divides by what is left of its leverage: three digits of the ten are spare
        np.testing.assert_allclose(model.predict(X), bias + KERNEL(X, basis) @ beta, atol=1e-9)
        np.testing.assert_allclose(model.cost, cost, rtol=1e-8)
    assert model.rows_learned == len(seen)


def test_a_window_forgets_another_world():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (2000, 1))
    y = np.where(np.arange(2000) < 1000, 1.0, -1.0) * np.sin(2 * X[:, 0]) + 0.05 * rng.standard_normal(2000)
    windowed = OnlineLSSVMRegressor(gamma=1.0, max_basis=20, window=300).partial_fit(X, y)
    remembers = OnlineLSSVMRegressor(gamma=1.0, max_basis=20, **PLAIN).partial_fit(X, y)
    truth = -np.sin(2 * X[:, 0])
    assert np.abs(windowed.predict(X) - truth).mean() < 0.05 < 0.3 < np.abs(remembers.predict(X) - truth).mean()


def test_a_window_resumes_to_the_last_bit():
    rng = np.random.default_rng(5)
    X, Y, _ = stream(400, rng)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=15, window=80).partial_fit(X[:300], Y[:300, 0])
    again = pickle.loads(pickle.dumps(model))
    for stays in (model, again):
        stays.partial_fit(X[300:], Y[300:, 0])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"window": 50, "forgetting": 0.99}, "forgetting"),
        ({"window": 50, "exact_rows": 20}, "exact_rows"),
        ({"window": 50, "swap_until": 100}, "swap_until"),
        ({"window": 50, "alpha": 0.0}, "alpha"),
        ({"window": 50, "engine": "inverse"}, "window"),
        ({"window": 1}, "window"),
        ({"oversample": 2, "max_basis": None}, "max_basis"),
        ({"hysteresis": 0.0}, "hysteresis"),
    ],
)
def test_settings_that_contradict_each_other_are_named(settings, named):
    with pytest.raises(ValueError, match=named):
        OnlineLSSVMRegressor(**settings).fit(np.arange(20.0)[:, None], np.arange(20.0))


@pytest.mark.parametrize("engine", ["OnlineLSSVM", "OnlineInverse"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_JP_19_prune_deletes_what_costs_least(engine, fit_intercept):
    """By the normal equations themselves: P from its inverse, z = P beta, and each deletion solved afresh."""
    rng = np.random.default_rng(6)
    X, Y, v = stream(300, rng, outputs=2, weights=True)
    model = core(engine, n_outputs=2, novelty_tol=0.05, fit_intercept=fit_intercept)
    model.learn(X, Y, v)
    P, beta, cost = np.linalg.inv(inverse_P(model)), model.coef, model.cost.sum()
    z, kept = P @ beta, list(range(len(P)))

    def least(S):  # the minimum of the cost on S, but for a constant: -z_S'P_SS^-1 z_S
        return -np.sum(z[S] * np.linalg.solve(P[np.ix_(S, S)], z[S]))

    indices = model.indices
    start = least(kept)
    while len(kept) > 6:
        kept.remove(min(kept, key=lambda i: least([j for j in kept if j != i])))
    model.prune(6)
    np.testing.assert_array_equal(model.indices, indices[kept])
    # P is inverted here once more, which costs its condition (1e6) of the fifteen digits
    np.testing.assert_allclose(model.coef, np.linalg.solve(P[np.ix_(kept, kept)], z[kept]), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.cost.sum(), cost + least(kept) - start, rtol=1e-7)
    model.learn(X, Y, v)  # and the stream goes on
    assert np.isfinite(model.predict(X)).all()


def test_prune_with_recent_rows_keeps_them_exact():
    rng = np.random.default_rng(7)
    X, Y, v = stream(200, rng)
    model = core(admission="novelty", novelty_tol=0.05, exact_rows=50, window=True)
    model.learn(X, Y, v)
    model.prune(5)
    basis = X[model.indices]
    beta, bias, _ = direct(KERNEL(X[-50:], basis), basis, Y[-50:], v[-50:], 0.1)
    np.testing.assert_allclose(model.predict(X), bias + KERNEL(X, basis) @ beta, atol=1e-9)
    model.learn(X, Y, v)
    basis = X[model.indices % 200]
    beta, bias, _ = direct(KERNEL(X[-50:], basis), basis, Y[-50:], v[-50:], 0.1)
    np.testing.assert_allclose(model.predict(X), bias + KERNEL(X, basis) @ beta, atol=1e-9)


def test_prune_of_a_frozen_model_thaws_it():
    rng = np.random.default_rng(8)
    X, Y, v = stream(400, rng)
    model = core(admission="novelty", max_basis=15, exact_rows=30, swap_until=150)
    model.learn(X, Y, v)
    assert model.counters[7] > 0  # frozen rows
    model.prune(8)
    model.learn(X, Y, v)
    assert model.n_basis == 15
    assert np.isfinite(model.predict(X)).all()


def test_oversample_deletes_at_the_end():
    rng = np.random.default_rng(9)
    X, Y, _ = stream(600, rng)
    y = Y[:, 0]
    settings = {"gamma": 2.0, "max_basis": 10, "novelty_tol": 1e-3}
    twice = OnlineLSSVMRegressor(**settings, oversample=2)
    assert twice.fit(X, y).n_basis_ == 10
    same = copy.deepcopy(twice).set_params(oversample=1, max_basis=20).fit(X, y).prune(10)
    np.testing.assert_array_equal(twice.predict(X), same.predict(X))
    goes_on = OnlineLSSVMRegressor(**settings, oversample=2).partial_fit(X, y)
    assert goes_on.n_basis_ == 20
    assert goes_on.prune().n_basis_ == 10
    labels = y > 1
    assert OnlineLSSVMClassifier(**settings, oversample=2).fit(X, labels).n_basis_ == 10
    with pytest.raises(ValueError, match="n_basis"):
        goes_on.prune(0)


@pytest.mark.parametrize("engine", ["OnlineLSSVM", "OnlineInverse"])
@pytest.mark.parametrize("hysteresis", [0.3, 0.01])
def test_hysteresis_swaps_as_defined(engine, hysteresis):
    rng = np.random.default_rng(10)
    X, Y, v = stream(150, rng)
    settings = {"admission": "novelty", "novelty_tol": 0.1, "max_basis": 8, "hysteresis": hysteresis}
    kernel = oracles.kernel_function("rbf", 0.5)
    oracle = oracles.PaperModel(kernel, 0.1, **settings)
    _, outcome, victim = oracle.learn(X, Y, v)
    assert (outcome == oracles.SWAPPED).sum() > 0
    log = core(engine, **settings).learn(X, Y, v)
    np.testing.assert_array_equal(log[1], outcome)
    np.testing.assert_array_equal(log[2], victim)
    plain = core(engine, **{**settings, "hysteresis": 1.0}).learn(X, Y, v)
    assert (plain[1] == oracles.SWAPPED).sum() > (outcome == oracles.SWAPPED).sum()


def test_the_defaults_know_whether_the_stream_ends():
    rng = np.random.default_rng(18)
    X, Y, _ = stream(900, rng)
    y, settings = Y[:, 0], {"gamma": 2.0, "max_basis": 12, "admission": "novelty"}
    papers = {"exact_rows": 0, "swap_until": None, **PLAIN}
    endless = {**papers, "forgetting": list(MEMORIES), "linear": True}
    table = {"exact_rows": 500, "swap_until": 240, **PLAIN}

    def answers(model):
        return model.predict(X), model.basis_indices_

    fitted = answers(OnlineLSSVMRegressor(**settings).fit(X, y))
    streamed = answers(OnlineLSSVMRegressor(**settings).partial_fit(X, y))
    for got, explicit, other in ((fitted, table, endless), (streamed, endless, table)):
        for a, b in zip(got, answers(OnlineLSSVMRegressor(**settings, **explicit).fit(X, y)), strict=True):
            np.testing.assert_array_equal(a, b)
        assert not np.array_equal(got[0], OnlineLSSVMRegressor(**settings, **other).fit(X, y).predict(X))
    inverse = OnlineLSSVMRegressor(**settings, engine="inverse").fit(X, y)  # the papers' form has nothing beyond
    papers_own = OnlineLSSVMRegressor(**settings, **papers).partial_fit(X, y)
    np.testing.assert_array_equal(inverse.basis_indices_, papers_own.basis_indices_)
    assert OnlineLSSVMRegressor(gamma=2.0, max_basis=300).fit(X, y)._core.state()["rows_learned"] == 900
    few = OnlineLSSVMRegressor(**settings).fit(X[:100], y[:100])  # half of the rows, where 20 times m are more
    assert few.audit_["frozen"] == 50


# --- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [False, True])
def test_refit_and_frozen_rows_are_the_same_bits_on_any_number_of_threads(weights):
    rng = np.random.default_rng(11)
    X, Y, v = stream(20_000, rng, outputs=3, weights=weights)
    begin = core(n_outputs=3, admission="novelty", max_basis=20, swap_until=300)
    begin.learn(X[:1000], Y[:1000], v[:1000])
    refitted, streamed = [], []
    for threads in (1, 2, 3):
        model = pickle.loads(pickle.dumps(begin))
        model.refit(X, Y, v, threads)
        refitted.append((model.predict(X[:500]), model.cost, model.rows_learned))
        model = pickle.loads(pickle.dumps(begin))
        _, outcome, _ = model.learn(X, Y, v, False, threads)
        assert set(outcome) <= {oracles.IGNORED, 7}
        streamed.append((model.predict(X[:500]), model.cost, model.rows_learned))
    for results in (refitted, streamed):
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                np.testing.assert_array_equal(a, b)
    # and right: a second pass is the direct solution, a frozen stream what asking for every prediction gives
    basis = begin.basis
    beta, bias, _ = direct(KERNEL(X[v > 0], basis), basis, Y[v > 0], v[v > 0], 0.1)
    np.testing.assert_allclose(refitted[0][0], bias + KERNEL(X[:500], basis) @ beta, atol=1e-8)
    exact = pickle.loads(pickle.dumps(begin))
    exact.learn(X, Y, v, True)
    np.testing.assert_allclose(streamed[0][0], exact.predict(X[:500]), atol=1e-9)
    np.testing.assert_allclose(streamed[0][1], exact.cost, rtol=1e-9)


def test_n_jobs_changes_no_bit_of_an_estimator():
    rng = np.random.default_rng(12)
    X, Y, _ = stream(6000, rng)
    models = [OnlineLSSVMRegressor(gamma=0.5, max_basis=30, swap_until=600, n_jobs=n).fit(X, Y[:, 0]) for n in (1, 2)]
    assert models[0].audit_["frozen"] > 4000
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    for model in models:
        model.refit(X, Y[:, 0])
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_the_gil_is_free_while_a_refit_runs():
    rng = np.random.default_rng(13)
    X, Y, _ = stream(60_000, rng)
    model = OnlineLSSVMRegressor(gamma=2.0, max_basis=150, novelty_tol=1e-4).fit(X[:3000], Y[:3000, 0])
    ticks, done = 0, threading.Event()

    def work():
        model.refit(X, Y[:, 0])
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(1e-4)
    thread.join()
    assert ticks > 20  # the whole refit would be one tick if it held the lock


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_an_interrupted_refit_leaves_the_model_as_it_was():
    rng = np.random.default_rng(14)
    X, Y, _ = stream(2000, rng)
    X, y = np.tile(X, (200, 1)), np.tile(Y[:, 0], 200)
    model = OnlineLSSVMRegressor(gamma=2.0, max_basis=150, novelty_tol=1e-4).fit(X[:2000], y[:2000])
    before = model.predict(X[:100])

    def interrupt(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)  # the refit takes seconds
        with pytest.raises(KeyboardInterrupt):
            model.refit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    np.testing.assert_array_equal(model.predict(X[:100]), before)


# --- single precision -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize("outputs", [1, 3])
def test_kernel_sums_in_single_precision(name, outputs):
    """Beside double: kernel values to a few units in the last place of single, coefficients and sums in double."""
    rng = np.random.default_rng(15)
    X, vectors = rng.standard_normal((200, 4)), rng.standard_normal((37, 4))
    X[7] += 60.0  # far from the centre, where expanded distances would cancel
    vectors[5] = X[7] + 0.1
    coef, intercept = rng.standard_normal((37, outputs)), rng.standard_normal(outputs)
    kernel = _core.Kernel(name, np.full(4, KERNELS[name]), 3, 1.0, np.zeros(4))
    single = kernel.expand_single(vectors, coef, intercept, X.astype(np.float32))
    assert single.dtype == np.float32
    rounded = X.astype(np.float32).astype(np.float64)
    double = kernel.expand(vectors, coef, intercept, rounded)
    # 1e-5 of the largest term that the sum could have
    scale = np.abs(kernel.matrix(rounded, vectors)) @ np.abs(coef) + 1.0
    assert (np.abs(single - double) < 1e-5 * scale).all()
    for threads in (2, 3):
        many = np.tile(X.astype(np.float32), (40, 1))
        np.testing.assert_array_equal(
            kernel.expand_single(vectors, coef, intercept, many, threads),
            kernel.expand_single(vectors, coef, intercept, many),
        )


def test_float32_rows_are_predicted_in_float32():
    rng = np.random.default_rng(16)
    X, Y, _ = stream(500, rng)
    for model in (OnlineLSSVMRegressor(gamma=0.5), KRLSRegressor(gamma=0.5, novelty_tol=1e-2)):
        model.fit(X, Y[:, 0])
        single, double = model.predict(X.astype(np.float32)), model.predict(X)
        assert single.dtype == np.float32
        assert double.dtype == np.float64
        np.testing.assert_allclose(single, double, atol=1e-4)
    classifier = OnlineLSSVMClassifier(gamma=0.5).fit(X, Y[:, 0] > 1)
    assert classifier.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(classifier.predict(X.astype(np.float32)), classifier.predict(X))


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_value_inside_a_block_is_named_by_its_row(where, bad):
    rng = np.random.default_rng(17)
    X, Y, _ = stream(4096, rng)
    y = Y[:, 0].copy()
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20).fit(X[:100], y[:100])
    before = pickle.dumps(model)
    (X if where == "X" else y)[3000] = bad
    for call in (model.partial_fit, model.refit, model.prequential):
        with pytest.raises(ValueError, match="row 3000"):
            call(X, y)
    assert pickle.dumps(model) == before
