"""How a stream comes to its widths: beginnings, challengers and their trials, drift."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import oracles
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor
from kernsift.base.targets import Rows
from kernsift.stream import course
from kernsift.widths.brief import learn_briefly

LOOK, LAST = course.LOOK, course.BEGINNINGS[-1]


def useful(n, rng, d=8, shift=0):
    """Two features of d say something."""
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, shift]) * X[:, shift + 1] + 0.1 * rng.standard_normal(n)


def standard(X):
    """1 / (d variance) of each feature."""
    return 1.0 / (X.shape[1] * X.var(axis=0))


def same(one, other):
    """Equal to the last bit."""
    for name in ("_core", "_challenger"):
        cores = getattr(one, name), getattr(other, name)
        assert (cores[0] is None) == (cores[1] is None)
        if cores[0] is not None:
            states = [core.state() for core in cores]
            assert states[0].keys() == states[1].keys()
            for array, again in zip(*(state.values() for state in states), strict=True):
                np.testing.assert_array_equal(array, again)
            np.testing.assert_array_equal(cores[0].kernel.gamma, cores[1].kernel.gamma)
    assert repr(one._course) == repr(other._course)
    assert one._calibration == other._calibration


def test_a_stream_begins_again_with_the_widths_of_its_first_rows(rng):
    X, y = useful(300, rng)
    model = OnlineLSSVMRegressor(gamma="standard")
    for first, last in zip((0, *course.BEGINNINGS), (*course.BEGINNINGS, 300), strict=True):
        model.partial_fit(X[first:last], y[first:last])
        np.testing.assert_allclose(model.gamma_, standard(X[: min(last, LAST)]), rtol=1e-12)
        assert model.n_samples_seen_ == last
    whole = OnlineLSSVMRegressor(gamma=model.gamma_, linear=False).partial_fit(X, y)
    model = OnlineLSSVMRegressor(gamma="standard", linear=False).partial_fit(X, y)
    np.testing.assert_array_equal(model.basis_indices_, whole.basis_indices_)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-9, atol=1e-12)


def test_learned_widths_take_over_and_lower_the_error(rng):
    X, y = useful(1500, rng)
    fixed = OnlineLSSVMRegressor(gamma="standard", max_basis=100).prequential(X, y).error
    model = OnlineLSSVMRegressor(max_basis=100)
    error = model.prequential(X, y).error
    assert np.square(error[500:]).mean() < 0.5 * np.square(fixed[500:]).mean()
    assert model.gamma_[:2].sum() > 0.7 * model.gamma_.sum()
    np.testing.assert_array_equal(model.learned_gamma_["gamma"], model.gamma_)
    assert model.n_samples_seen_ == 1500
    assert (model.basis_indices_ < 1500).all()
    np.testing.assert_array_equal(X[model.basis_indices_], model.basis_vectors_)  # numbers of the stream's rows
    assert model.health()["sound"]


def test_the_winner_is_the_model_that_learned_the_kept_rows_with_its_widths(rng, monkeypatch):
    """A trial by hand: same rows, same widths, same verdict."""
    monkeypatch.setattr(OnlineLSSVMRegressor, "_improve", lambda self, n: None)
    X, y = useful(2000, rng)
    settings = {"max_basis": 60, "forgetting": [1.0, 0.99], "linear": False, "learn_rows": 150}
    before = OnlineLSSVMRegressor(**settings).partial_fit(X[:LAST], y[:LAST])
    trial = before._course.trial
    assert trial.rows == 0
    model = pickle.loads(pickle.dumps(before))
    now, later = slice(LAST, LAST + LOOK), slice(LAST + LOOK, None)
    challenger = OnlineLSSVMRegressor(**{**settings, "gamma": trial.found["gamma"]}).partial_fit(X[:LAST], y[:LAST])
    predicted = [each.prequential(X[now], y[now]).y_pred for each in (before, challenger)]
    assert oracles.trial(*predicted, y[now], y[:LAST].var()) > course.DECIDED  # two features of eight say something
    model.partial_fit(X[now], y[now])
    np.testing.assert_array_equal(model.gamma_, trial.found["gamma"])
    np.testing.assert_allclose(model.predict(X[later]), challenger.predict(X[later]), rtol=1e-8, atol=1e-10)


def test_a_trial_counts_as_by_hand(rng):
    outputs = 2
    Y, v = rng.standard_normal((90, outputs)), rng.integers(0, 3, 90).astype(float)
    model, other = (Y + scale * rng.standard_normal(Y.shape) for scale in (0.5, 0.4))
    other[:7] = np.nan  # it came later
    trial = course.Trial(0, {}, np.array([1.0, 4.0]))
    for part in (slice(0, 30), slice(30, 90)):
        trial = trial.judged(model[part], other[part], Rows(np.empty((0, 0)), Y[part], v[part]))
    known = np.isfinite(other[:, 0]) & (v > 0)
    gains = ((model - Y) ** 2 - (other - Y) ** 2)[known] / [1.0, 4.0]
    assert trial.rows == known.sum()
    score = gains.sum(axis=1).mean() / (gains.sum(axis=1).std() / np.sqrt(known.sum()))
    assert trial.score() == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("total", [1e200, -1e200])
def test_differences_too_large_to_square_decide_nothing(total):
    assert course.Trial(0, {}, np.ones(1), rows=2, total=total, squares=np.inf).score() in (0.0, np.sign(total))


@pytest.mark.parametrize("kind", ["regressor", "two classes", "three classes"])
def test_a_stream_goes_on_to_the_last_bit_from_any_row(kind, rng):
    X, y = useful(700, rng)
    model = OnlineLSSVMRegressor(max_basis=40)
    if kind != "regressor":
        y = np.digitize(y, [0] if kind == "two classes" else [-0.3, 0.3])
        model = OnlineLSSVMClassifier(max_basis=40)
    first = {} if kind == "regressor" else {"classes": np.unique(y)}
    trials = 0
    for last in (3, 70, 130, 200, 260, 330, 450):
        part = pickle.loads(pickle.dumps(model)).partial_fit(X[:last], y[:last], **first)
        trials += part._challenger is not None
        whole, again = pickle.loads(pickle.dumps(part)), part
        for x, target in zip(X[last : last + 90], y[last : last + 90], strict=True):
            whole.update(x, target)
            again.update(x, target)
        same(whole, again)
    assert trials > 0


@pytest.mark.parametrize("power", [-3, 3])
def test_units_of_the_columns_have_no_say(power, rng):
    X, y = useful(1200, rng, d=5)
    factors = 10.0 ** (power * rng.integers(-1, 2, 5))
    errors = [np.square(OnlineLSSVMRegressor(max_basis=80).prequential(Z, y).error).mean() for Z in (X, X * factors)]
    assert errors[1] == pytest.approx(errors[0], rel=0.05)  # asked of the product


def test_a_challenger_that_predicts_worse_leaves_no_trace(rng, monkeypatch):
    """Widths a thousand times too narrow lose every trial: the stream is that of its first widths."""
    X, y = useful(900, rng)
    narrow = {"gamma": np.full(8, 1e3)}
    monkeypatch.setattr(OnlineLSSVMRegressor, "_widths_from", lambda self, rows: narrow)
    monkeypatch.setattr(OnlineLSSVMRegressor, "_improve", lambda self, n: None)
    model = OnlineLSSVMRegressor(max_basis=50)
    result = model.prequential(X, y)
    assert not hasattr(model, "learned_gamma_")
    plain = OnlineLSSVMRegressor(gamma="standard", max_basis=50).prequential(X, y)
    np.testing.assert_allclose(result.y_pred, plain.y_pred, rtol=1e-6, atol=1e-8)


def test_learning_widths_takes_a_bounded_effort(rng):
    X, y = useful(3000, rng)
    for rows in (200, 3000):
        found = OnlineLSSVMRegressor().partial_fit(X[:rows], y[:rows]).learned_gamma_
        assert found["n_rows"] <= 1000
        assert found["n_landmarks"] <= 60
        assert found["n_evaluations"] <= 150


def test_a_row_that_is_refused_during_a_trial_changes_nothing(rng):
    X, y = useful(LAST + 20, rng)
    model = OnlineLSSVMRegressor().partial_fit(X, y)
    assert model._challenger is not None
    before = pickle.dumps(model)
    for call in (
        lambda: model.update(np.full(8, np.nan), 0.0),
        lambda: model.update(X[0], np.inf),
        lambda: model.partial_fit(np.full((3, 8), np.inf), np.zeros(3)),
        lambda: model.prequential(X[:3, :2], y[:3]),
        lambda: model.update(X[0], 1.0, -1.0),
    ):
        with pytest.raises(ValueError, match=r"X|x|y|NaN|inf|features|weight"):
            call()
    assert pickle.dumps(model) == before


def test_rows_of_weight_zero_have_no_say_in_the_course(rng):
    X, y = useful(500, rng)
    v = np.ones(1000)
    v[1::2] = 0.0
    twice = np.repeat(X, 2, axis=0)
    twice[1::2] *= 5.0
    one = OnlineLSSVMRegressor(max_basis=40).partial_fit(X, y)
    # as many rows of weight zero are kept as others: so that these suffice, twice as many are
    other = OnlineLSSVMRegressor(max_basis=40, learn_rows=2000).partial_fit(twice, np.repeat(y, 2), v)
    np.testing.assert_allclose(one.gamma_, other.gamma_, rtol=1e-9)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-7, atol=1e-9)


def test_drift_is_noted_where_the_world_changes_and_nowhere_else(rng):
    X, y = useful(5000, rng)
    y[3000:] = useful(5000, rng, shift=4)[1][3000:]  # of other rows: nothing of what was learned holds
    y[3000:] = np.sin(2 * X[3000:, 4]) * X[3000:, 5]
    model = OnlineLSSVMRegressor(max_basis=80)
    told = []
    model.on_drift(told.append)
    model.prequential(X[:3000], y[:3000])
    assert model.drift_ == told == []
    error = model.prequential(X[3000:], y[3000:]).error
    assert told == model.drift_
    assert 3000 < model.drift_[0] < 3600
    assert model.gamma_[4:6].sum() > 0.7 * model.gamma_.sum()
    assert np.square(error[-500:]).mean() < 0.2


def test_after_drift_challengers_are_made_of_the_rows_since_then(rng, monkeypatch):
    X, y = useful(4500, rng)
    y[3000:] = np.sin(2 * X[3000:, 4]) * X[3000:, 5]
    model, learned = OnlineLSSVMRegressor(max_basis=80), []
    widths_from = OnlineLSSVMRegressor._widths_from

    def noted(self, rows):
        learned.append((self._course.changed, self._rows_learned(), rows.X))
        return widths_from(self, rows)

    monkeypatch.setattr(OnlineLSSVMRegressor, "_widths_from", noted)
    model.prequential(X, y)
    (changed,) = model.drift_
    after = [(n, rows) for since, n, rows in learned if since == changed]
    assert after[0][0] == changed + 2 * course.LOOK
    assert len(after) > 1
    for n, rows in after:
        assert min(course.FEWEST, n - changed) <= len(rows) <= n - changed + course.LOOK
        np.testing.assert_array_equal(rows, X[n - len(rows) : n])
    assert all(since == 0 for since, n, _ in learned if n <= changed)


def test_who_learns_widths_and_who_does_not(rng):
    X, y = useful(400, rng)
    for model in (
        OnlineLSSVMRegressor(kernel="polynomial"),
        OnlineLSSVMRegressor(engine="inverse"),
        OnlineLSSVMRegressor(gamma="scale"),
        KRLSRegressor(),
    ):
        model.partial_fit(X, y)
        assert model._course is None
        assert not hasattr(model, "learned_gamma_")
    for kernel in ("laplacian", "matern32", "matern52"):
        assert hasattr(OnlineLSSVMRegressor(kernel=kernel, max_basis=50).partial_fit(X, y), "learned_gamma_")
    with pytest.raises(ValueError, match="engine='inverse'"):
        OnlineLSSVMRegressor(gamma="learn", engine="inverse").partial_fit(X, y)
    with pytest.raises(ValueError, match="no widths to learn"):
        OnlineLSSVMRegressor(gamma="learn", kernel="linear").partial_fit(X, y)


def test_a_second_pass_ends_the_course(rng):
    X, y = useful(LAST + 20, rng)
    model = OnlineLSSVMRegressor().partial_fit(X, y).refit(X, y)
    widths = model.gamma_
    model.partial_fit(*useful(900, rng))
    np.testing.assert_array_equal(model.gamma_, widths)


@pytest.mark.parametrize("delay", [0, 5])
def test_targets_that_come_late_judge_what_was_predicted_when_the_row_came(delay, rng):
    X, y = useful(1500, rng)
    model = OnlineLSSVMRegressor(max_basis=60)
    error = model.prequential(X, y, delay=delay).error
    assert hasattr(model, "learned_gamma_")
    assert np.square(error[700:]).mean() < 0.2


def test_a_stream_that_begins_with_rows_that_are_all_the_same_is_sound(rng):
    X = rng.standard_normal((700, 2))
    X[:200] = X[0]
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(700)
    model = OnlineLSSVMRegressor(max_basis=60).partial_fit(X[:210], y[:210])
    assert model.health()["sound"]  # features that never differed have no slope, and not one of a million million
    assert model.partial_fit(X[210:], y[210:]).health()["sound"]
    assert model.score(X[400:], y[400:]) > 0.9


# --- the last targets as features ---


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("outputs", [1, 2])
def test_last_targets_are_features_that_obey_the_delay(delay, outputs, rng):
    X = rng.standard_normal((300, 2))
    Y = np.cumsum(rng.standard_normal((300, outputs)), axis=0)
    Z = np.zeros((300, 2 + 2 * outputs))
    for i in range(300):
        Z[i, :2] = X[i]
        for lag in range(2):
            known = i - delay - 1
            if known >= 0:
                Z[i, 2 + lag * outputs : 2 + (lag + 1) * outputs] = Y[max(known - lag, 0)]
    y = Y[:, 0] if outputs == 1 else Y
    plain = OnlineLSSVMRegressor(max_basis=30)
    expected = [plain.prequential(Z[part], y[part], delay=delay) for part in (slice(0, 120), slice(120, 300))]
    model = OnlineLSSVMRegressor(max_basis=30)
    first = model.prequential(X[:120], y[:120], delay=delay, target_lags=2)
    model = pickle.loads(pickle.dumps(model))
    then = model.prequential(X[120:], y[120:], delay=delay, target_lags=2)
    for found, right in zip((first, then), expected, strict=True):
        np.testing.assert_array_equal(found.y_pred, right.y_pred)
    with pytest.raises(ValueError, match="began with target_lags=2"):
        model.prequential(Z, y)
    for bad in (-1, 1.5, True):
        with pytest.raises(ValueError, match="target_lags"):
            OnlineLSSVMRegressor().prequential(X, y, target_lags=bad)


# --- steps ---


def turning(n, rng):
    """A wave in the plane that turns: its direction by two and a half radians in 1600 rows."""
    X = rng.uniform(-2, 2, (n, 2))
    angle = 2 * np.pi * np.arange(n) / 4000
    return X, np.sin(2 * (np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1])) + 0.1 * rng.standard_normal(n)


def test_a_stream_that_turns_finds_its_ridge(rng):
    X, y = turning(2400, rng)
    free, fixed = (OnlineLSSVMRegressor(max_basis=80, **given) for given in ({}, {"alpha": 0.1}))
    errors = [np.square(model.prequential(X, y).error[800:]).mean() for model in (free, fixed)]
    assert errors[0] < 0.9 * errors[1]
    assert fixed.alpha_ == 0.1
    thirds = np.log(0.1 / free.alpha_) / np.log(3)
    assert thirds == pytest.approx(round(thirds), abs=1e-9)
    assert course.RIDGES[0] <= free.alpha_ < 0.1
    assert free.health()["sound"]


def test_steps_stay_where_the_ridge_is_given_and_leave_a_table_alone(rng):
    X, y = useful(2000, rng)
    model = OnlineLSSVMRegressor(max_basis=60, alpha=0.3).partial_fit(X, y)
    assert model.alpha_ == 0.3
    assert OnlineLSSVMRegressor(max_basis=60).fit(X, y).alpha_ == 0.1


@pytest.mark.parametrize("alpha", ["auto", 0.3])
def test_the_race_of_steps_is_its_definition(alpha, rng):
    """Fresh models predict the kept rows in turn; of the later half the mean of paired differences decides."""
    X, y = turning(700, rng)
    model = OnlineLSSVMRegressor(max_basis=40, alpha=alpha, gamma="learn").partial_fit(X, y)
    model._end_trial()
    start = at = model.gamma_ / 8, model.alpha_  # far from what suits
    kept = model._kept_rows()
    model._core = model._begin(kept, gamma=at[0], ridge=at[1])
    model._core.learn(*kept, True)
    model._course = replace(model._course, before=0, changed=0)
    memories, weights, _ = model._core.memories
    own = {"max_basis": 40, "forgetting": memories[int(np.argmax(weights))]}

    def errors(gamma, ridge):
        fresh = OnlineLSSVMRegressor(gamma=gamma, alpha=ridge, **own)
        said = fresh.prequential(X, y).y_pred
        return ((said - y) ** 2 / y.var())[len(y) // 2 :]

    least = errors(*at)
    for up, down in (((2, 1), (0.5, 1)), ((1, 1 / 3), (1, 3)))[: 2 if alpha == "auto" else 1]:
        for scale, factor in (up, down):
            taken = False
            while True:
                to = scale * at[0], min(max(factor * at[1], 1e-3), 10.0) if factor != 1 else at[1]
                other = errors(*to)
                gain = least - other
                if not gain.mean() > 2 * gain.std() / np.sqrt(len(gain)):
                    break
                at, least, taken = to, other, True
            if taken:
                break
    model._improve(model._rows_learned())
    np.testing.assert_allclose(model.gamma_, at[0], rtol=1e-12)
    assert model.alpha_ == pytest.approx(at[1], rel=1e-12)
    assert model.gamma_[0] > start[0][0]
    assert model._course.trial is None  # the race was of all rows


@pytest.mark.parametrize(("step", "total"), [(False, 1.0), (False, -1.0), (True, 1.0), (True, -1.0)])
def test_a_trial_ends_with_the_better_model(step, total, rng):
    """The mean of 400 differences of deviation 1 is `total` / 4 standard errors from 0; steps follow learned widths."""
    X, y = turning(LAST, rng)
    model = OnlineLSSVMRegressor(max_basis=40, forgetting=0.99).partial_fit(X, y)
    before, challenger, trial = model._core, model._challenger, model._course.trial
    assert trial is not None
    known = replace(trial, step=step, rows=400, total=5 * total, squares=400.0 * (1 + (5 * total / 400) ** 2))
    assert known.score() == pytest.approx(total / 4, rel=1e-12)
    model._course, raced = replace(model._course, trial=known), []
    model._improve = raced.append
    model._decide(model._rows_learned())
    assert model._core is (challenger if total > 0 else before)
    assert model._course.alike == (not step and total < 0)
    assert model._challenger is None
    assert len(raced) == (not step)


def test_steps_beyond_the_kept_rows_have_a_trial_and_go_on_to_the_last_bit(rng):
    X, y = turning(1500, rng)
    model = OnlineLSSVMRegressor(max_basis=30, learn_rows=200, alpha=10.0).partial_fit(X[:900], y[:900])
    model.alpha = "auto"
    model._end_trial()
    model._course = replace(model._course, changed=0)
    model._improve(model._rows_learned())
    assert model._course.trial.step
    whole, again = pickle.loads(pickle.dumps(model)), model
    for x, target in zip(X[900:], y[900:], strict=True):
        whole.update(x, target)
    again.partial_fit(X[900:], y[900:])
    assert whole.alpha_ == again.alpha_
    np.testing.assert_allclose(whole.predict(X), again.predict(X), rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(whole.gamma_, again.gamma_)


def test_widths_of_features_must_be_worth_it(rng):
    X = rng.uniform(-2, 2, (500, 3)) * [1.0, 10.0, 0.1]
    radius = np.linalg.norm(X / X.std(axis=0), axis=1)
    for target, alike in ((np.sin(2 * radius), True), (np.sin(3 * X[:, 0]), False)):
        rows = Rows(X, target[:, None] + 0.2 * rng.standard_normal((500, 1)), np.ones(500))
        widths = learn_briefly(rows, "rbf", True)["gamma"] * X.var(axis=0)
        assert (np.ptp(np.log(widths)) < 1e-9) == alike


def test_widths_do_not_depend_on_where_numbers_lie(rng):
    """Numbers added in packets are added in an order that depends on their address: weights were."""
    parts = rng.standard_normal((300, 2)), rng.standard_normal((300, 1)), rng.uniform(0.1, 3.0, 300)
    found = set()
    for offset in range(8):
        room = [np.empty(part.size + 8)[offset : offset + part.size].reshape(part.shape) for part in parts]
        for place, part in zip(room, parts, strict=True):
            place[...] = part
        found.add(learn_briefly(Rows(*room), "rbf", True)["gamma"].tobytes())
    assert len(found) == 1
