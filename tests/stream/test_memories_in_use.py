"""Memories that compete in use: what they are for, what they cost, what is refused, and what is read."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor
from soak.memory import HIGHEST
from support.memories import SAME, learned, moving, oracle_of
from support.streams import KERNEL, PLAIN, core

# --- what it is for ---------------------------------------------------------------------------------------------------


def rms(error):
    return float(np.sqrt(np.mean(np.square(error))))


def tables(n=4000):
    """Shuffled tables of several noises and sizes, without drift: name, X, y."""
    rng = np.random.default_rng(10)
    X = rng.uniform(0, 1, (n, 10))
    clean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    yield "friedman", X, clean + rng.standard_normal(n)
    x = rng.uniform(-3, 3, (n, 1))
    yield "sinc", x, np.sinc(x[:, 0]) + 0.1 * rng.standard_normal(n)
    Z = rng.standard_normal((n, 4))
    yield "linear", Z, Z @ [1.0, -2.0, 0.5, 0.0] + 0.5 * rng.standard_normal(n)
    yield "noise", Z, rng.standard_normal(n)
    yield "product", Z[:, :2], Z[:, 0] * Z[:, 1] + 0.3 * rng.standard_normal(n)
    yield "step", Z, np.sign(Z[:, 0]) + 0.3 * rng.standard_t(3, n)


@pytest.mark.parametrize("name", [name for name, _, _ in tables(1)])
def test_without_drift_the_default_is_not_worse_than_one_memory(name):
    """Predict, then learn; rows after the first five hundred. Less than half a percent, on any table."""
    X, y = next((X, y) for known, X, y in tables() if known == name)
    ours, single = (
        OnlineLSSVMRegressor(max_basis=60, **settings).prequential(X, y).error[500:]
        for settings in ({}, {"forgetting": 1.0})
    )
    assert rms(ours) <= 1.005 * rms(single)


@pytest.mark.parametrize(
    ("turn", "factor"), [("at once", 2.0), ("slowly", 2.0), ("the level alone", 3.0)]
)  # what one memory errs more
def test_with_drift_the_default_is_better_by_a_factor(turn, factor):
    rng = np.random.default_rng(11)
    n = 4000
    X = rng.uniform(-2, 2, (n, 2))
    t = np.arange(n) / n
    angle = {"at once": np.pi * (t > 0.4), "slowly": 4 * np.pi * t, "the level alone": 0 * t}[turn]
    level = 20 * np.floor(5 * t) if turn == "the level alone" else 0
    y = np.sin(2 * X[:, 0] + angle) + level + 0.1 * rng.standard_normal(n)
    ours, single = (
        rms(OnlineLSSVMRegressor(max_basis=60, **settings).prequential(X, y).error[1000:])
        for settings in ({}, {"forgetting": 1.0})
    )
    assert single > factor * ours


def test_a_class_boundary_that_turns_is_followed():
    rng = np.random.default_rng(12)
    n = 3000
    X = rng.uniform(-1, 1, (n, 2))
    angle = 2 * np.pi * np.arange(n) / n
    y = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0
    ours, single = (
        OnlineLSSVMClassifier(gamma=1.0, max_basis=40, **settings).prequential(X, y).error[500:].mean()
        for settings in ({}, {"forgetting": 1.0})
    )
    assert ours < 0.5 * single


def test_what_no_row_excites_returns_to_the_prior():
    """To the level of the first target, with the standard deviation of the prior."""
    rng = np.random.default_rng(13)
    X = np.r_[rng.uniform(-5, -3.5, (400, 1)), rng.uniform(0.5, 2, (6000, 1))]
    y = np.sin(3 * X[:, 0]) + 5.0
    model = OnlineLSSVMRegressor(gamma=2.0, forgetting=0.99, linear=False, noise="constant").partial_fit(X, y)
    mean, std = model.predict([[-4.3], [1.3]], return_std=True)
    noise = np.sqrt(model.noise_variance_)
    # the constant is learned on the right, and what only the left had seen is gone, by .99^3000
    assert abs(mean[0] - model.predict([[100.0]])[0]) < 1e-3
    assert std[0] > 0.9 * noise / np.sqrt(0.1)
    assert std[1] < 3 * noise


# --- what it costs ----------------------------------------------------------------------------------------------------

MEMORY = """
import numpy as np
import kernsift
{highest}

def peak_of(m, banks):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-3, 3, (3 * m, 8)), rng.standard_normal(3 * m)
    model = kernsift.OnlineLSSVMRegressor(
        gamma=1.0, max_basis=m, admission="novelty", forgetting=banks, linear=False, usefulness_tol=0.0
    )
    peak = highest(lambda: model.partial_fit(X, y))
    assert model.n_basis_ == m, model.n_basis_
    return peak

peak_of(30, [1.0, 0.99])
print(peak_of(700, [1.0, 0.99]), peak_of(700, [1.0, 0.999, 0.998, 0.99, 0.9]))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc to see a peak")
def test_a_memory_more_is_a_square_of_the_kernels_more():
    """(memories + 1) squares are kept; storage grows by a half at a time and a growing one is copied, so that a square
    is up to 1.5^2 of what is needed, and one of them twice."""
    own = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    code = MEMORY.format(highest=HIGHEST)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | own
    )
    two, five = (float(value) for value in done.stdout.split())
    square = 8 * 700**2
    assert five - two < 3 * 1.5**2 * square + 2**20
    assert two < 3 * 1.5**2 * square + 2 * 1.5**2 * square + 2 * 2**20


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"forgetting": 0}, "forgetting"),
        ({"forgetting": 0.0}, "forgetting"),
        ({"forgetting": 1.5}, "forgetting"),
        ({"forgetting": -0.5}, "forgetting"),
        ({"forgetting": float("nan")}, "forgetting"),
        ({"forgetting": []}, "forgetting"),
        ({"forgetting": [0.9, 2]}, "forgetting"),
        ({"forgetting": [0.9, float("nan")]}, "forgetting"),
        ({"forgetting": [[0.9, 0.8]]}, "forgetting"),
        ({"forgetting": [0.9] * 17}, "forgetting"),
        ({"forgetting": "often"}, "forgetting"),
        ({"forgetting": ["0.9", "x"]}, "forgetting"),
        ({"forgetting": None}, "forgetting"),
        ({"forgetting": 0.9, "alpha": 0}, "alpha"),
        ({"forgetting": [1.0, 0.9], "engine": "inverse"}, "forgetting"),
        ({"forgetting": 0.9, "window": 20}, "window"),
        ({"forgetting": [1.0, 0.9], "exact_rows": 20}, "exact_rows"),
        ({"linear": "often"}, "linear"),
        ({"linear": 2}, "linear"),
        ({"linear": None}, "linear"),
        ({"linear": True, "engine": "inverse"}, "linear"),
        ({"linear": True, "alpha": 0}, "linear"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [OnlineLSSVMRegressor, OnlineLSSVMClassifier])
def test_what_cannot_be_is_named(kind, settings, named):
    X, Y, _ = moving(30, seed=14)
    y = Y[:, 0] if kind is OnlineLSSVMRegressor else Y[:, 0] > 1
    for verb in ("fit", "partial_fit", "update", "prequential"):
        model = kind(**settings)
        classes = {"classes": [False, True]} if kind is OnlineLSSVMClassifier and verb != "fit" else {}
        if verb == "update" and classes:
            continue  # labels are named first
        call, before = getattr(model, verb), dict(vars(model))
        with pytest.raises(ValueError, match=named):
            call(X[0], y[0]) if verb == "update" else call(X, y, **classes)
        assert vars(model).keys() == before.keys()
        assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize("name", ["forgetting", "linear"])
def test_a_stream_that_has_begun_keeps_its_memories(name):
    X, Y, _ = moving(60, seed=15)
    model = OnlineLSSVMRegressor(gamma=0.5).partial_fit(X, Y[:, 0])
    before, given = pickle.dumps(model), getattr(model, name)
    model.set_params(**{name: {"forgetting": [1.0, 0.9], "linear": False}[name]})
    for call in (lambda: model.partial_fit(X, Y[:, 0]), lambda: model.prequential(X, Y[:, 0])):
        with pytest.raises(ValueError, match=name):
            call()
    model.set_params(**{name: given})
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_not_learned_by_any_memory(bad):
    X, Y, _ = moving(120, seed=16)
    y = Y[:, 0]
    model = OnlineLSSVMRegressor(gamma=0.5).partial_fit(X, y)
    before = pickle.dumps(model)
    row = X[0].copy()
    row[1] = bad
    for call in (
        lambda: model.update(row, 1.0),
        lambda: model.update(X[0], bad),
        lambda: model.partial_fit(np.vstack([X, row]), np.r_[y, 1.0]),
        lambda: model.prequential(np.vstack([X, row]), np.r_[y, 1.0]),
        lambda: model.predict_one(row),
    ):
        with pytest.raises(ValueError, match=r"finite|NaN|infinity"):
            call()
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("far", [1e60, 1e155, 1e300])
def test_a_row_too_far_for_the_linear_part_is_refused(far):
    """k(x, x) is 1 wherever a row is, but its square in the linear part overflows."""
    X, Y, _ = moving(120, seed=24)
    y = Y[:, 0]
    model = OnlineLSSVMRegressor(gamma=0.5).partial_fit(X, y)
    before = pickle.dumps(model)
    row = np.array([far, -far])
    for call in (
        lambda: model.update(row, 1.0),
        lambda: model.partial_fit(np.vstack([X, row]), np.r_[y, 1.0]),
        lambda: model.prequential(np.vstack([X, row]), np.r_[y, 1.0]),
        lambda: model.refit(np.vstack([X, row]), np.r_[y, 1.0]),
    ):
        with pytest.raises(ValueError, match=r"x is too large|X is too large in row 120"):
            call()
        assert pickle.dumps(model) == before
    without = OnlineLSSVMRegressor(gamma=0.5, linear=False).partial_fit(np.vstack([X, row]), np.r_[y, 1.0])
    assert np.isfinite(without.predict(X)).all()


def test_scores_follow_other_rows_that_take_the_place_of_those_learned():
    """What a kernel is worth after `refit` is what those rows say, whether or not scores were kept before."""
    X, Y, v = moving(200, seed=25)
    plain, scored = (core(forgetting=[0.9, 0.5]) for _ in range(2))
    for model in (plain, scored):
        model.learn(X, Y, v)
    scored.prune(len(scored.indices))  # takes none, and keeps scores from now on
    for model in (plain, scored):
        model.refit(X[:3], Y[:3], np.ones(3))
        model.prune(4)
    assert plain.indices.tolist() == scored.indices.tolist()


# --- what is read -----------------------------------------------------------------------------------------------------


def test_experts_are_the_memories_with_weight_and_error():
    X, Y, v = moving(400, seed=17, outputs=2)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=12, forgetting=[1.0, 0.99, 0.9]).partial_fit(X, Y, v)
    assert [each["forgetting"] for each in model.experts_] == [1.0, 0.99, 0.9]
    assert sum(each["weight"] for each in model.experts_) == pytest.approx(1, abs=1e-12)
    assert all(each["error"].shape == (2,) for each in model.experts_)
    single = OnlineLSSVMRegressor(gamma=0.5, **PLAIN).partial_fit(X, Y[:, 0])
    (only,) = single.experts_
    assert only["forgetting"] == only["weight"] == 1.0


def test_errors_and_weights_are_those_of_the_beliefs():
    X, Y, v = moving(300, seed=18, outputs=2)
    model = core(n_outputs=2, max_basis=8, novelty_tol=0.05, forgetting=[1.0, 0.99, 0.9], linear=[0.5, 0.5])
    truth = oracle_of(model, X, learned(model, X, Y, v, 40), Y, v)
    kept, weights, errors = model.memories
    assert kept == [1.0, 0.99, 0.9]
    np.testing.assert_allclose(weights, truth.weights, atol=SAME)
    np.testing.assert_allclose(errors.T, np.sqrt(truth.mixture.squares / truth.mixture.counted), rtol=SAME)


@pytest.mark.parametrize("outputs", [1, 2])
def test_linear_coef_and_intercept_are_the_function_far_from_all_kernels(outputs):
    X, Y, _ = moving(400, seed=19, outputs=outputs)
    y = Y if outputs > 1 else Y[:, 0]
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=12, linear=True).partial_fit(X, y)
    assert model.linear_coef_.shape == ((2, 2) if outputs > 1 else (2,))
    far = np.array([[60.0, -80.0], [-70.0, 90.0]])
    by_hand = model.intercept_ + far @ model.linear_coef_
    np.testing.assert_allclose(model.predict(far), by_hand, rtol=1e-12)
    without = OnlineLSSVMRegressor(gamma=0.5, max_basis=12, linear=False).partial_fit(X, y)
    assert not without.linear_coef_.any()
    table = OnlineLSSVMRegressor(gamma=0.5, max_basis=12).fit(X, y)
    assert not table.linear_coef_.any()


def test_the_linear_part_is_the_slope_of_a_plane_and_beyond_the_rows():
    rng = np.random.default_rng(20)
    X = rng.standard_normal((800, 3)) * [1.0, 10.0, 0.1]
    y = X @ [2.0, -0.3, 5.0] + 7.0 + 0.01 * rng.standard_normal(800)
    model = OnlineLSSVMRegressor(linear=True).partial_fit(X, y)
    far = 5.0 * X[:50]
    truth = far @ [2.0, -0.3, 5.0] + 7.0
    assert rms(model.predict(far) - truth) < 0.1 * truth.std()
    plain = OnlineLSSVMRegressor(linear=False).partial_fit(X, y)
    assert rms(plain.predict(far) - truth) > 2 * rms(model.predict(far) - truth)  # wide kernels reach far, too


def test_the_evidence_of_a_stream_that_forgets_is_refused():
    X, Y, _ = moving(200, seed=21)
    for settings in ({}, {"forgetting": 0.99}, {"forgetting": [0.99, 1.0]}):
        model = OnlineLSSVMRegressor(gamma=0.5, **settings).partial_fit(X, Y[:, 0])
        with pytest.raises(AttributeError, match=r"log_evidence_.*forgetting=1\.0"):
            model.log_evidence_  # noqa: B018
        assert not hasattr(model, "log_evidence_")
        assert np.isfinite(model.gcv_)
    for model in (
        OnlineLSSVMRegressor(gamma=0.5, forgetting=1.0).partial_fit(X, Y[:, 0]),
        OnlineLSSVMRegressor(gamma=0.5).fit(X, Y[:, 0]),
        KRLSRegressor(gamma=0.5, alpha=0.1).partial_fit(X, Y[:, 0]),
    ):
        assert np.isfinite(model.log_evidence_)


def test_the_evidence_with_a_linear_part_is_that_of_the_gaussian_process():
    """Of the rows under K(x, x') = (k + 1 + s'(x - c)(x' - c)s) / alpha and noise, at its best scale."""
    rng = np.random.default_rng(22)
    X = rng.uniform(-1, 1, (40, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(40)
    scale, alpha = np.array([0.5, 0.3]), 0.3
    # every row a kernel but for the nearest ones, so that no row is stale but by rounding: batches of one pass
    model = core(forgetting=[1.0], linear=scale.tolist(), novelty_tol=1e-9, admission="novelty", alpha=alpha)
    model.learn(X, y[:, None], np.ones(40))
    centre = np.zeros(2)
    model.refit(X, y[:, None], np.ones(40))
    D, Z = X[model.indices], scale * (X - centre)
    K = KERNEL(X, D) @ np.linalg.solve(KERNEL(D, D), KERNEL(D, X)) + 1.0 + Z @ Z.T
    S = K / alpha + np.eye(40)
    measured = y - y[0]
    chi = measured @ np.linalg.solve(S, measured)
    expected = -0.5 * (40 * np.log(2 * np.pi * chi / 40) + np.linalg.slogdet(S)[1] + 40)
    np.testing.assert_allclose(model.log_evidence, expected, rtol=1e-7)
