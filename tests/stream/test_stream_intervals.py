"""Intervals on streams: against their recursion, however the rows come, and what part of the rows they contain."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import OnlineLSSVMRegressor
from oracles.coverage import LEVELS, NORMAL, widths
from scipy.stats import norm

# gamma is given, so that no challenger takes the model's place
SETTINGS = {
    "a bank": {"gamma": 0.7, "max_basis": 20},
    "a bank without a linear part": {"gamma": 0.7, "max_basis": 20, "linear": False},
    "noise that is seen": {"gamma": 0.7, "max_basis": 20, "noise": "auto"},
    "weights by the noise": {"gamma": 0.7, "max_basis": 20, "noise": "input"},
    "one memory": {"gamma": 0.7, "max_basis": 20, "forgetting": 0.98},
    "noise that is seen, nothing forgotten": {
        "gamma": 0.7,
        "max_basis": 20,
        "forgetting": 1.0,
        "linear": False,
        "noise": "auto",
    },
    "nothing forgotten": {"gamma": 0.7, "max_basis": 20, "forgetting": 1.0, "linear": False},
    "a window": {"gamma": 0.7, "max_basis": 20, "forgetting": 1.0, "linear": False, "window": 60},
    "papers": {"gamma": 0.7, "max_basis": 20, "forgetting": 1.0, "linear": False, "exact_rows": 0, "swap_until": None},
}
# a memory that forgets nothing sums up quiet rows, whose errors are then those of the model before them
SUMMED = ("nothing forgotten", "papers", "noise that is seen, nothing forgotten")


def stream(n, seed=0, drift=True):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    moved = np.where(np.arange(n) > n // 2, 1.5, 0.0) if drift else 0.0
    return X, np.sin(2 * X[:, 0] + moved) * X[:, 1] + (0.1 + 0.2 * (X[:, 0] > 0)) * rng.standard_normal(n)


@pytest.mark.parametrize("kind", SETTINGS)
def test_BEYOND_B13_widths_follow_the_errors_said_before(kind):
    X, y = stream(500)
    said = OnlineLSSVMRegressor(**SETTINGS[kind]).prequential(X, y, return_std=True)
    expected = widths(said.error, said.std)
    for level, quantile in enumerate(LEVELS):
        found = OnlineLSSVMRegressor(**SETTINGS[kind]).prequential(X, y, coverage=quantile)
        # weights of rows follow errors, which with intervals are those of what was said: the same but for rounding
        np.testing.assert_allclose(found.y_pred, said.y_pred, rtol=1e-9 if kind == "weights by the noise" else 0)
        half = expected[:-1, level] * said.std
        np.testing.assert_allclose(found.upper - found.y_pred, half, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(found.y_pred - found.lower, half, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("kind", SETTINGS)
def test_rows_cut_into_blocks_have_the_same_intervals(kind):
    X, y = stream(700, seed=1)
    rows = OnlineLSSVMRegressor(**SETTINGS[kind])
    for x, target in zip(X, y, strict=True):
        rows.update(x, float(target))
    blocks = OnlineLSSVMRegressor(**SETTINGS[kind])
    for first in range(0, 700, 130):
        blocks.partial_fit(X[first : first + 130], y[first : first + 130])
    for coverage in (0.5, 0.9, 0.97):
        expected, found = rows.predict_interval(X[:20], coverage), blocks.predict_interval(X[:20], coverage)
        # a memory that forgets nothing sums up quiet rows: their errors are those of the model as it was before the
        # block, without the variance of the coefficients
        np.testing.assert_allclose(found, expected, rtol=0.15 if kind in SUMMED else 1e-6)


@pytest.mark.parametrize("delay", [0, 7, 40])
@pytest.mark.parametrize("kind", ["drift", "heteroscedastic", "heavy tails", "seasons"])
def test_intervals_contain_what_they_say_in_the_long_run_and_at_any_time(kind, delay):
    rng = np.random.default_rng(3)
    X, y = stream(4000, seed=3)
    if kind == "heteroscedastic":
        y = y + np.abs(np.sin(np.arange(4000) / 300)) * rng.standard_normal(4000)
    elif kind == "heavy tails":
        y = y + 0.2 * rng.standard_t(2, 4000)
    elif kind == "seasons":
        y = y * (1 + np.arange(4000) // 1000)
    model = OnlineLSSVMRegressor(max_basis=40)
    found = model.prequential(X, y, coverage=0.9, delay=delay)
    hits = ((found.lower <= y) & (y <= found.upper))[200:]
    assert 0.88 < hits.mean() < 0.92
    late = 0.9 * delay / 950  # after a jump as many intervals are made before any error shows it
    for quarter in np.array_split(hits, 4):
        assert 0.87 - late < quarter.mean() < 0.93
    rolling = np.convolve(hits, np.full(1000, 1e-3), "valid")
    assert rolling.min() > 0.85 - late
    assert rolling.max() < 0.95


def test_width_between_levels_and_beyond():
    X, y = stream(600)
    model = OnlineLSSVMRegressor(**SETTINGS["a bank"]).partial_fit(X, y)
    said = OnlineLSSVMRegressor(**SETTINGS["a bank"]).prequential(X, y, return_std=True)
    at = widths(said.error, said.std)[-1]
    mean, std = model.predict(X[:3], return_std=True)
    for coverage in (0.2, 0.5, 0.7, 0.9, 0.93, 0.99, 0.999):
        q = norm.ppf(0.5 + coverage / 2)
        if q <= NORMAL[0]:
            expected = at[0] * q / NORMAL[0]
        elif q >= NORMAL[-1]:
            expected = at[-1] * q / NORMAL[-1]
        else:
            expected = np.interp(q, NORMAL, at)
        np.testing.assert_allclose((model.predict_interval(X[:3], coverage)[1] - mean) / std, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", SETTINGS)
def test_intervals_of_one_row_are_those_of_prequential_and_of_blocks(kind):
    X, y = stream(300)
    Y = np.column_stack([y, 10 * y])
    for targets in (y, Y):
        model = OnlineLSSVMRegressor(**SETTINGS[kind], error_forecast=False).partial_fit(X[:200], targets[:200])
        for x, target in zip(X[200:], targets[200:], strict=True):
            expected = pickle.loads(pickle.dumps(model)).prequential(x[None], target[None], coverage=0.9)
            lower, upper = model.predict_interval_one(x)
            np.testing.assert_array_equal(lower, expected.lower[0])
            np.testing.assert_array_equal(upper, expected.upper[0])
            np.testing.assert_allclose((lower + upper) / 2, model.predict_one(x), rtol=1e-12, atol=1e-12)
            block = model.predict_interval(x[None])
            np.testing.assert_allclose(np.squeeze(block), [lower, upper], rtol=1e-7, atol=1e-9)
            model.update(x, target)
    assert isinstance(OnlineLSSVMRegressor().partial_fit(X, y).predict_interval_one(X[0], 0.8)[0], float)


@pytest.mark.parametrize("kind", SETTINGS)
def test_all_verbs_learn_the_same_widths(kind):
    """Errors are compared with what was said before the row, also where an older row then leaves a window."""
    X, y = stream(300)
    said = OnlineLSSVMRegressor(**SETTINGS[kind]).partial_fit(X[:50], y[:50])
    expected = said.prequential(X[50:], y[50:], coverage=0.9)
    rows = OnlineLSSVMRegressor(**SETTINGS[kind]).partial_fit(X[:50], y[:50])
    for i, (x, target) in enumerate(zip(X[50:], y[50:], strict=True)):
        lower, upper = rows.predict_interval_one(x)
        assert upper - lower == pytest.approx(expected.upper[i] - expected.lower[i], rel=1e-9)
        rows.update(x, target)
    blocks = OnlineLSSVMRegressor(**SETTINGS[kind]).partial_fit(X, y)
    for model in (rows, blocks):
        np.testing.assert_allclose(model.predict_interval(X[:9]), said.predict_interval(X[:9]), rtol=1e-9, atol=1e-9)


def test_asking_for_an_interval_of_one_row_changes_nothing():
    X, y = stream(200)
    model = OnlineLSSVMRegressor(**SETTINGS["a bank"]).partial_fit(X, y)
    twin = pickle.loads(pickle.dumps(model))
    model.predict_interval_one(X[3].tolist())
    for a, b in zip(X, y.tolist(), strict=True):
        model.predict_interval_one(a)
        model.update(a, b)
        twin.update(a, b)
    np.testing.assert_allclose(twin.predict_interval(X), model.predict_interval(X), rtol=1e-9)


def test_a_second_pass_and_rows_without_weight_leave_the_widths():
    X, y = stream(400)
    model = OnlineLSSVMRegressor(**{**SETTINGS["nothing forgotten"], "swap_until": 100}).partial_fit(X, y)

    def in_deviations():
        mean, std = model.predict(X[:5], return_std=True)
        return [(model.predict_interval(X[:5], coverage)[1] - mean) / std for coverage in (0.5, 0.9)]

    widths_before = in_deviations()
    model.refit(X, y)
    np.testing.assert_allclose(in_deviations(), widths_before)
    before = model.predict_interval(X[:5])
    model.partial_fit(X[:3], 100 * y[:3], np.zeros(3))
    np.testing.assert_array_equal(model.predict_interval(X[:5]), before)


def test_outputs_copies_and_files_keep_their_widths(tmp_path):
    X, y = stream(500)
    Y = np.column_stack([y, 10 * y + np.random.default_rng(5).standard_t(3, 500)])
    model = OnlineLSSVMRegressor(**SETTINGS["a bank"]).partial_fit(X, Y)
    lower, upper = model.predict_interval(X[:7])
    assert lower.shape == (7, 2)
    assert (lower < upper).all()
    model.save(tmp_path / "model.npz")
    for twin in (kernsift.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.predict_interval(X[:7]), (lower, upper))
        twin.partial_fit(X, Y)
        again = pickle.loads(pickle.dumps(model)).partial_fit(X, Y)
        np.testing.assert_array_equal(twin.predict_interval(X[:7]), again.predict_interval(X[:7]))


def test_the_literal_form_has_normal_intervals():
    X, y = stream(200)
    model = OnlineLSSVMRegressor(gamma=0.7, max_basis=20, engine="inverse", forgetting=1.0, linear=False)
    mean, std = model.partial_fit(X, y).predict(X[:5], return_std=True)
    np.testing.assert_allclose(model.predict_interval(X[:5], 0.95)[1], mean + norm.ppf(0.975) * std)


def test_bad_input_says_what_to_change():
    X, y = stream(60)
    model = OnlineLSSVMRegressor().partial_fit(X, y)
    for coverage in (0, 1, "most"):
        with pytest.raises(ValueError, match="coverage"):
            model.predict_interval(X, coverage)
        with pytest.raises(ValueError, match="coverage"):
            model.predict_interval_one(X[0], coverage)
        before = model.n_samples_seen_
        with pytest.raises(ValueError, match="coverage"):
            model.prequential(X, y, coverage=coverage)
        assert model.n_samples_seen_ == before
    with pytest.raises(ValueError, match="alpha > 0"):
        kernsift.KRLSRegressor(alpha=0.0).fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="shape"):
        model.predict_interval_one(X[0, :1])
    with pytest.raises(ValueError, match="alpha > 0"):
        kernsift.KRLSRegressor(alpha=0.0).fit(X, y).predict_interval_one(X[0])
    with pytest.raises(ValueError, match="alpha > 0"):
        kernsift.KRLSRegressor(alpha=0.0).prequential(X, y, coverage=0.9)
