"""Beyond the papers: exact recent rows, freezing, refitting, forgetting, prequential use, one row at a time."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import time
import warnings

import numpy as np
import oracles
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor
from kernsift.base.threads import cpus, n_threads
from oracles.dense_stream import DenseStream
from sklearn.exceptions import NotFittedError
from support.streams import KERNEL, core, direct, stream
from threadpoolctl import threadpool_limits


def exact_on_recent(X, Y, v, log, exact_rows, alpha):
    """The design by its definition: a new column is exact on the last `exact_rows` rows of weight, K~ a* before."""
    design, seen, D = np.zeros((0, 0)), [], []
    for i in range(len(X)):
        if log[1][i] == oracles.IGNORED:
            continue
        basis = X[D]
        design = np.vstack([design, KERNEL(X[i : i + 1], basis) if D else np.zeros((1, 0))])
        seen.append(i)
        if log[1][i] in (oracles.ADMITTED, oracles.SWAPPED):
            x = X[i : i + 1]
            column = design @ np.linalg.solve(KERNEL(basis, basis), KERNEL(basis, x)) if D else np.zeros((len(seen), 1))
            recent = seen[-exact_rows:]
            column[len(seen) - len(recent) :] = KERNEL(X[recent], x)
            design = np.hstack([design, column])
            D.append(i)
            if log[1][i] == oracles.SWAPPED:
                gone = D.index(log[2][i])
                design = np.delete(design, gone, axis=1)
                del D[gone]
    return D, *direct(design, X[D], Y[seen], v[seen], alpha)


@pytest.mark.parametrize("block", [1, 50, 400])
@pytest.mark.parametrize("max_basis", [0, 12])
@pytest.mark.parametrize("admission", ["product", "novelty"])
def test_BEYOND_B5_BEYOND_B6_exact_on_recent_rows(admission, max_basis, block):
    """Growth, swaps and blocks: the model is the minimiser for the design whose new columns are exact on 40 rows."""
    rng = np.random.default_rng(5)
    X, Y, v = stream(400, rng, outputs=2, weights=True)
    model = core(n_outputs=2, admission=admission, max_basis=max_basis, exact_rows=40)
    parts = [model.learn(X[i : i + block], Y[i : i + block], v[i : i + block]) for i in range(0, 400, block)]
    log = [np.concatenate([p[k] for p in parts]) for k in range(3)]
    D, beta, bias, cost = exact_on_recent(X, Y, v, log, 40, 0.1)
    if max_basis:
        assert (log[1] == oracles.SWAPPED).sum() > 10
    np.testing.assert_array_equal(model.indices, D)
    np.testing.assert_allclose(model.predict(X), bias + KERNEL(X, X[D]) @ beta, atol=1e-9)
    np.testing.assert_allclose(model.cost, cost, rtol=1e-9)


def test_BEYOND_B5_usefulness_is_the_decrease_of_the_cost_and_the_swap_the_best_one():
    """At the cap the victim is the element whose loss costs least, by solving for each."""
    rng = np.random.default_rng(6)
    X, Y, v = stream(120, rng)
    settings = {"admission": "novelty", "max_basis": 6, "exact_rows": 30, "novelty_tol": 0.2}
    log = core(**settings).learn(X, Y, v)
    checked = 0
    for i in np.flatnonzero(np.isin(log[1], (oracles.SWAPPED, oracles.BOUNCED)))[:8]:
        before = [a[: i + 1].copy() for a in log]
        grown = [before[0], before[1].copy(), before[2]]
        grown[1][i] = oracles.ADMITTED
        costs = []
        D = exact_on_recent(X[: i + 1], Y[: i + 1], v[: i + 1], grown, 30, 0.1)[0]
        for gone in D:
            grown[1][i], grown[2][i] = oracles.SWAPPED, gone
            costs.append(exact_on_recent(X[: i + 1], Y[: i + 1], v[: i + 1], grown, 30, 0.1)[3].sum())
        best = D[int(np.argmin(costs))]
        assert log[2][i] == (-1 if best == i else best)
        checked += 1
    assert checked == 8


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize(
    "beyond", [{"exact_rows": 30}, {"exact_rows": 1}, {"window": 50}, {"exact_rows": 500}], ids=str
)
def test_BEYOND_B5_a_candidate_s_score_is_what_the_cost_falls_by(beyond, outputs):
    """Any row, of the stream or not, by solving with a kernel there; the model and its decisions stay the same."""
    rng = np.random.default_rng(8)
    X, Y, v = stream(300, rng, outputs=outputs, weights=True)
    AT = rng.uniform(-3, 3, (60, 2))
    settings = {"gamma": 0.5, "alpha": 0.1, "admission": "novelty", "max_basis": 10, "novelty_tol": 0.05}
    settings |= {"linear": False, "forgetting": 1.0, "swap_until": None, **beyond}
    model = OnlineLSSVMRegressor(**settings)
    truth = DenseStream(KERNEL, 0.1, 2, outputs, exact_rows=beyond.get("exact_rows", 0), window=beyond.get("window"))
    other, ids, largest = OnlineLSSVMRegressor(**settings), [], []
    for i in range(300):
        model.partial_fit(X[i : i + 1], Y[i : i + 1], v[i : i + 1])
        other.partial_fit(X[i : i + 1], Y[i : i + 1], v[i : i + 1])
        now = model.basis_indices_.tolist()
        gone = [k for k in ids if k not in now]
        truth.learn(X[i], Y[i], v[i], i in now, gone[0] if gone else None, True)
        ids = now
        if i % 100 == 99:
            expected = truth.falls(AT)
            scores = model.score_candidates(AT)
            # a difference of two costs against a product: rounding of the costs
            np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-9 * truth.cost().sum())
            largest.append(scores.max() / truth.cost().sum())
            np.testing.assert_array_equal(model.score_candidates(AT[:1]), scores[:1])
    assert max(largest) > 1e-3  # one exact row may be at a kernel, and say nothing
    at_a_kernel = model.score_candidates(model.basis_vectors_)
    np.testing.assert_array_equal(at_a_kernel, 0.0)
    np.testing.assert_array_equal(model.basis_indices_, other.basis_indices_)
    np.testing.assert_array_equal(model.predict(AT), other.predict(AT))


def test_candidates_of_classes_and_what_cannot_be_scored(rng):
    X = rng.uniform(-2, 2, (300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    classes = OnlineLSSVMClassifier(gamma=0.5, max_basis=4, admission="novelty").fit(X, y)
    targets = OnlineLSSVMRegressor(gamma=0.5, max_basis=4, admission="novelty", fit_intercept=classes.fit_intercept)
    scores = classes.score_candidates(X)
    assert scores.shape == (300,)
    assert scores.max() > 0
    np.testing.assert_allclose(scores, targets.fit(X, np.eye(2)[y]).score_candidates(X), rtol=1e-6, atol=1e-9)
    stream = OnlineLSSVMRegressor(gamma=0.5).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"set exact_rows \(with forgetting=1.0\) or window"):
        stream.score_candidates(X)
    with pytest.raises(ValueError, match="needs recent rows, and none were kept"):
        targets.refit(X, np.eye(2)[y]).score_candidates(X)
    with pytest.raises(ValueError, match="engine='inverse'"):
        OnlineLSSVMRegressor(gamma=0.5, engine="inverse").fit(X, y).score_candidates(X)
    with pytest.raises(ValueError, match="2 features"):
        classes.score_candidates(X[:, :1])
    with pytest.raises(NotFittedError):
        OnlineLSSVMRegressor().score_candidates(X)


def test_freezing_keeps_the_dictionary_and_is_exact():
    """After `swap_until` rows a full dictionary stays; every later row is a normal step of the direct solution."""
    rng = np.random.default_rng(7)
    X, Y, v = stream(2000, rng, weights=True)
    model = core(max_basis=10, admission="novelty", swap_until=500)
    log = model.learn(X, Y, v, False)
    learned = np.flatnonzero(v > 0)
    assert (log[1][learned[500:]] == 7).all()
    assert model.indices.max() < learned[500]
    truth = oracles.BatchModel(oracles.kernel_function("rbf", 0.5), 0.1, compress=True)
    truth.learn(X, Y, v, log[1], log[2])
    np.testing.assert_allclose(model.predict(X), truth.solve().predict(X).astype(float), atol=1e-9)
    rows = core(max_basis=10, admission="novelty", swap_until=500)
    for i in range(2000):
        rows.learn(X[i : i + 1], Y[i : i + 1], v[i : i + 1])
    np.testing.assert_array_equal(rows.indices, model.indices)
    np.testing.assert_allclose(rows.predict(X), model.predict(X), atol=1e-9)


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_refit_is_the_exact_subset_of_regressors_solution(name, rng):
    X = rng.uniform(-2, 2, (1500, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(1500)
    weight = rng.uniform(0.5, 2.0, 1500)
    papers = {"gamma": 0.5, "max_basis": 15, "exact_rows": 0, "swap_until": None}  # leaves much to a second pass
    if name == "regressor":
        model = OnlineLSSVMRegressor(**papers).fit(X, y)
        targets = y[:, None]
    else:
        model = OnlineLSSVMClassifier(**papers).fit(X, y > 0)
        targets = np.where(y > 0, 1.0, -1.0)[:, None]
    kept = model.basis_indices_
    first = np.mean((model._fitted().predict(X) - targets) ** 2)
    model.refit(X, y if name == "regressor" else y > 0, sample_weight=weight)
    np.testing.assert_array_equal(model.basis_indices_, kept)
    beta, bias, cost = direct(KERNEL(X, X[kept]), X[kept], targets, weight, 0.1)
    np.testing.assert_allclose(model._fitted().predict(X), bias + KERNEL(X, X[kept]) @ beta, atol=1e-9)
    np.testing.assert_allclose(model._fitted().cost, cost, rtol=1e-9)
    assert np.mean((model._fitted().predict(X) - targets) ** 2) < first
    # and the stream goes on from there
    again = pickle.loads(pickle.dumps(model))
    labels = y if name == "regressor" else y > 0
    np.testing.assert_array_equal(
        model.partial_fit(X[:100], labels[:100])._core.predict(X),
        again.partial_fit(X[:100], labels[:100])._core.predict(X),
    )


def test_forgetting_wins_on_a_series_that_switches(rng):
    X = rng.uniform(-2, 2, (4000, 1))
    y = np.where(np.arange(4000) < 2000, np.sin(2 * X[:, 0]), np.cos(3 * X[:, 0])) + 0.1 * rng.standard_normal(4000)
    error = {}
    for forgetting in (1.0, 0.995):
        model = OnlineLSSVMRegressor(gamma=1.0, max_basis=30, forgetting=forgetting)
        error[forgetting] = np.sqrt(np.mean(model.prequential(X, y).error[2500:] ** 2))
    assert error[0.995] < 0.13  # the noise is 0.1
    assert error[1.0] > 3 * error[0.995]


def test_what_forgetting_does_not_excite_returns_to_the_prior(rng):
    """Half of the input space goes quiet: its predictions fade to the constant instead of blowing up."""
    X = np.r_[rng.uniform(-2, 2, (500, 1)), rng.uniform(0, 2, (20000, 1))]
    y = np.sin(3 * X[:, 0])
    model = OnlineLSSVMRegressor(gamma=2.0, forgetting=0.99).fit(X, y)
    assert np.abs(model.predict(np.linspace(-2, 2, 50)[:, None])).max() < 2.0
    _, std = model.predict([[-1.5], [1.0]], return_std=True)
    assert std[0] > 2 * std[1]


@pytest.mark.parametrize("return_std", [False, True])
@pytest.mark.parametrize("delay", [0, 1, 17])
def test_prequential_predicts_before_it_learns(delay, return_std, rng):
    X, Y, _ = stream(300, rng)
    y = Y[:, 0]
    # a frozen model learns blocks as sums, whose noise is that of errors of the model as it was settled last
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20, noise="constant").fit(X[:60], y[:60])
    literal = copy.deepcopy(model)
    got = model.prequential(X[60:], y[60:], delay=delay, return_std=return_std)
    for i in range(60, 300):
        mean, std = literal.predict(X[i : i + 1], return_std=True)
        assert abs(got.y_pred[i - 60] - mean[0]) < 1e-10
        assert got.n_basis[i - 60] == literal.n_basis_
        if return_std:
            assert abs(got.std[i - 60] - std[0]) < 1e-10
        if i - delay >= 60:
            literal.partial_fit(X[i - delay : i - delay + 1], y[i - delay : i - delay + 1])
    np.testing.assert_array_equal(got.error, y[60:] - got.y_pred)
    for i in range(300 - delay, 300):
        literal.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(model.predict(X), literal.predict(X), atol=1e-10)
    np.testing.assert_array_equal(model.basis_indices_, literal.basis_indices_)
    assert (got.std is None) == (not return_std)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_has_no_prediction(rng, bad):
    """A dead sensor looked like a forecast: the intercept."""
    X, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    for targets in (y, y[:, 0]):
        for engine in ("orthonormal", "inverse"):
            model = OnlineLSSVMRegressor(gamma=0.5, engine=engine).fit(X, targets)
            before = pickle.dumps(model)
            row = X[0].copy()
            row[1] = bad
            with pytest.raises(ValueError, match=rf"feature 1 of x is {bad}: give finite numbers"):
                model.predict_one(row)
            model.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
            with pytest.raises(ValueError, match=rf"feature 'b' of x is {bad}"):
                model.predict_one(row)
            del model.feature_names_in_
            assert pickle.dumps(model) == before
            assert np.isfinite(model.predict_one(X[0])).all()
    krls = KRLSRegressor(gamma=0.5).fit(X, y[:, 0])
    with pytest.raises(ValueError, match=f"feature 1 of x is {bad}"):
        krls.predict_one(row)


def test_update_and_predict_one_are_partial_fit_and_predict(rng):
    X, Y, _ = stream(400, rng, outputs=2)
    fast = OnlineLSSVMRegressor(gamma=0.5, max_basis=15).fit(X[:100], Y[:100])
    slow = copy.deepcopy(fast)
    for i in range(100, 400):
        np.testing.assert_allclose(fast.predict_one(X[i]), slow.predict(X[i : i + 1])[0], atol=1e-10)
        fast.update(X[i], Y[i])
        slow.partial_fit(X[i : i + 1], Y[i : i + 1])
    np.testing.assert_array_equal(fast.basis_indices_, slow.basis_indices_)
    np.testing.assert_allclose(fast.predict(X), slow.predict(X), atol=1e-12)
    before = pickle.dumps(fast)
    for x, y in ((X[0, :1], Y[0]), (np.array([np.nan, 0.0]), Y[0]), (X[0], np.array([np.inf, 0.0])), (X[0], [1.0])):
        with pytest.raises(ValueError, match=r"x|y"):
            fast.update(x, y)
    assert pickle.dumps(fast) == before


@pytest.mark.parametrize(
    "settings",
    [
        {"error_forecast": False},
        {"forgetting": [1.0, 0.99], "linear": True},
        {"window": 12},
        {"exact_rows": 5},
        {"error_forecast": True},
    ],
    ids=str,
)
def test_what_is_asked_between_two_updates_changes_no_bit(rng, settings):
    """The coordinates that a prediction computes serve the update by the same row, and no other."""
    X, Y, _ = stream(300, rng)
    Y = Y[:, 0]
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=15, alpha=0.1, **settings).partial_fit(X[:60], Y[:60])
    asked = copy.deepcopy(model)
    kept = []
    for i in range(60, 300):
        for j in {0: [i], 1: [i - 1], 2: [i, i - 1], 3: [i, i], 4: []}[i % 5]:
            kept.append((asked.predict_one(X[j]), model.predict(X[j : j + 1])[0]))
            asked.predict(X[:1])  # as the other was: what lags behind catches up then
        model.update(X[i], float(Y[i]))
        asked.update(X[i], float(Y[i]))
    if settings.get("error_forecast") is not True:  # what it adds is of the next row
        np.testing.assert_allclose(*np.array(kept).T, rtol=1e-9, atol=1e-9)
    state = asked._core.state()
    for name, value in model._core.state().items():
        np.testing.assert_array_equal(value, state[name], err_msg=name)


def test_predicting_one_row_does_not_compute_the_coefficients_again(rng):
    """They are kept from the row learned last on: O(m) and not O(m^2), whoever asks."""
    X = rng.normal(size=(1500, 6))
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=1000, novelty_tol=1e-3).fit(X, np.sin(X[:, 0]))
    core, row = model._core, np.ascontiguousarray(X[:1])

    def least(call):
        times = []
        for _ in range(50):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        return min(times)

    assert model.n_basis_ > 900
    # 39 times as long when they were computed each time; making the answer an array takes longer than the sum
    assert least(lambda: core.predict(row)) < 8 * least(lambda: core.predict_one(row[0]))


@pytest.mark.parametrize("kernel", ["polynomial", "linear", "rbf"])
def test_a_row_out_of_the_kernels_range_leaves_update_as_it_was(rng, kernel):
    """The row is prepared in the model's own workspace before it is refused."""
    X, Y, _ = stream(200, rng)
    model = OnlineLSSVMRegressor(kernel=kernel, gamma=0.5, max_basis=10).fit(X[:100], Y[:100])
    calm = copy.deepcopy(model)
    far = np.full(X.shape[1], 1e200)
    for i in range(100, 200):
        before = pickle.dumps(model)
        if kernel == "rbf":  # k(x, x) = 1 wherever x is
            copy.deepcopy(model).update(far, Y[i])
        else:
            with pytest.raises(ValueError, match="overflows"):
                model.update(far, Y[i])
        assert pickle.dumps(model) == before
        model.update(X[i], Y[i])
        calm.update(X[i], Y[i])
    np.testing.assert_array_equal(model.predict(X), calm.predict(X))


@pytest.mark.parametrize("outputs", [1, 2, 5])  # few outputs keep their coefficients between two rows learned
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_predict_one_sees_every_change(rng, outputs, fit_intercept):
    X, Y, _ = stream(400, rng, outputs=outputs)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=30, alpha=0.3, fit_intercept=fit_intercept).fit(X[:100], Y[:100])
    changes = [
        lambda: model.update(X[100], Y[100] if outputs > 1 else float(Y[100, 0])),
        lambda: model.partial_fit(X[101:200], Y[101:200]),
        lambda: model.refit(X[:300], Y[:300]),
        lambda: model.prune(12),
        lambda: model._core.choose_ridge(),
        lambda: model.__setstate__(model.__getstate__()),
        lambda: model.prequential(X[300:], Y[300:], return_std=True),
    ]
    before = model.predict_one(X[0])
    for change in changes:
        model.predict_one(X[0])
        change()
        after = model.predict_one(X[0])
        assert not np.array_equal(before, after) or change is changes[5]
        # the same sum of at most 30 terms
        np.testing.assert_allclose(after, model.predict(X[:1])[0], atol=1e-11)
        np.testing.assert_array_equal(after, model.predict_one(X[0]))
        before = after


def test_a_stream_swaps_by_true_scores_after_a_short_second_pass(rng):
    X, Y, _ = stream(400, rng)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=10, swap_until=100, usefulness_tol=0.0)
    assert model.partial_fit(X[:150], Y[:150]).audit_["frozen"] > 0
    model.refit(X[150:160], Y[150:160])  # ten rows are fewer than swap_until: the stream is young again
    fresh = copy.deepcopy(model).prune(10)  # deletes nothing, and computes the scores from the state
    before = model.basis_indices_
    for one in (model, fresh):
        one.partial_fit(X[160:200], Y[160:200])
    assert not np.array_equal(before, model.basis_indices_)
    np.testing.assert_array_equal(model.basis_indices_, fresh.basis_indices_)
    np.testing.assert_allclose(model.predict(X), fresh.predict(X), atol=1e-9)


def test_predictions_do_not_depend_on_threads(rng, monkeypatch):
    X, Y, _ = stream(20_000, rng, outputs=2)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=60).fit(X[:2000], Y[:2000])
    one, one_std = model.predict(X, return_std=True)
    for n_jobs in (2, 3, -1):
        many, many_std = model.set_params(n_jobs=n_jobs).predict(X, return_std=True)
        np.testing.assert_array_equal(many, one)
        np.testing.assert_allclose(many_std, one_std, rtol=1e-12)  # matrix products of parts of other sizes
    model.partial_fit(X[:10], Y[:10])  # how many threads is not part of the stream
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads(8) == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert n_threads(None) == 1
    with threadpool_limits(1000, "openmp"):  # this process may have begun with a limit
        assert n_threads(3) == 3


@pytest.mark.skipif(cpus() == 1, reason="a limit of one thread cannot be told from one CPU")
def test_threadpoolctl_bounds_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpool_limits(1000, "openmp"):
        assert (n_threads(None), n_threads(3), n_threads(-1)) == (1, 3, cpus())
        with threadpool_limits(1):
            assert (n_threads(None), n_threads(3), n_threads(-1)) == (1, 1, 1)
        with threadpool_limits(1, "blas"):  # which the core does not use
            assert n_threads(3) == 3
        assert n_threads(3) == 3


def test_a_fork_after_threads_predicts(rng):
    """std::thread leaves nothing behind that a forked child could hang in."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    X, Y, _ = stream(20_000, rng)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=60, n_jobs=2).fit(X[:2000], Y[:2000, 0])
    expected = model.predict(X)
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, about fork beside threads
        with context.Pool(1) as pool:
            np.testing.assert_array_equal(pool.apply_async(model.predict, (X,)).get(timeout=60), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forgetting": 0.9, "engine": "inverse"}, "forgetting=0.9"),
        ({"exact_rows": 10, "engine": "inverse"}, "exact_rows=10"),
        ({"swap_until": 10, "max_basis": None}, "max_basis"),
        ({"forgetting": 0.9, "alpha": 0.0}, "alpha > 0"),
        ({"forgetting": 0.0}, "forgetting"),
        ({"forgetting": 1.5}, "forgetting"),
        ({"swap_until": 0}, "swap_until"),
        ({"exact_rows": -1}, "exact_rows"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, message, rng):
    X, Y, _ = stream(30, rng)
    with pytest.raises(ValueError, match=message):
        OnlineLSSVMRegressor(**settings).fit(X, Y[:, 0])


@pytest.mark.parametrize("settings", [{"exact_rows": 30}, {"forgetting": 0.98}, {"swap_until": 150, "exact_rows": 30}])
def test_state_beyond_the_papers_resumes_exactly(settings, rng):
    X, Y, _ = stream(600, rng)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=10, **settings).fit(X[:300], Y[:300, 0])
    again = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[300:], Y[300:, 0])
    again.partial_fit(X[300:], Y[300:, 0])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.basis_indices_, model.basis_indices_)


@pytest.mark.parametrize("beyond", [{"exact_rows": 40}, {"forgetting": 0.99}, {}], ids=str)
@pytest.mark.parametrize("kernel", ["polynomial", "rbf"])
@pytest.mark.parametrize("level", [1.0, -3e7])
def test_a_constant_is_the_intercept_and_its_rounding_becomes_no_kernel(kernel, level, beyond, rng):
    X = rng.standard_normal((120, 4))
    settings = {"kernel": kernel, "gamma": 0.2, "alpha": 0.01, "max_basis": None, **beyond}
    at_once = OnlineLSSVMRegressor(**settings).partial_fit(X, np.full(120, level))
    by_rows = OnlineLSSVMRegressor(**settings)
    for row in X:
        by_rows.partial_fit(row[None], [level])
    assert at_once.n_basis_ == by_rows.n_basis_ == 0
    np.testing.assert_allclose(at_once.predict(X), level, rtol=1e-14)
    # what varies by more than rounding is learned, also beside an offset of 1e6 times as much
    wave = OnlineLSSVMRegressor(**settings).partial_fit(X, level * (1 + 1e-6 * np.sin(X[:, 0])))
    assert wave.n_basis_ > 0
