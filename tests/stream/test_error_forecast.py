"""What the errors of the last rows tell of the next: against the definition, by every verb, and what it is worth."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor
from oracles.error_forecast import corrected_predictions

HOW = {"gamma": [0.5, 0.5], "max_basis": 20, "linear": False}


def rows(n=300, outputs=1, seed=3, noise=0.1):
    """A function of two features beside a walk that neither of them shows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    walk = 0.3 * rng.standard_normal((n, outputs)).cumsum(axis=0)
    y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2])[:, :outputs] + walk
    y = y + noise * rng.standard_normal(y.shape)
    return X, y[:, 0] if outputs == 1 else y


def with_and_without(**how):
    return (OnlineLSSVMRegressor(error_forecast=on, **{**HOW, **how}) for on in (True, False))


@pytest.mark.parametrize("delay", [0, 1, 4])
@pytest.mark.parametrize("forgetting", ["auto", 1.0, [1.0, 0.9]])
@pytest.mark.parametrize("outputs", [1, 2])
def test_predictions_are_corrected_as_defined(outputs, forgetting, delay):
    X, y = rows(180, outputs)
    y[100] += 30.0
    weight = np.where(np.arange(len(X)) % 7 == 3, 0.0, 1.0)
    ours, plain = with_and_without(forgetting=forgetting)
    found, said = (model.prequential(X, y, sample_weight=weight, delay=delay).y_pred for model in (ours, plain))
    Y, base = y.reshape(len(y), -1), said.reshape(len(y), -1)
    expected = corrected_predictions(base, Y, weight, delay)
    # two rows wide apart in time meet in sums over all: what cancels is some thousand roundings
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-8, atol=1e-9)
    assert np.abs(found - said).max() > 0.01  # there was something to correct


def test_the_function_that_is_learned_is_the_same():
    X, y = rows(outputs=2)
    ours, plain = (model.partial_fit(X, y) for model in with_and_without(noise="constant"))  # which has other errors
    for verb in ("predict", "predict_one"):
        at = X if verb == "predict" else X[0]
        same = np.array_equal(getattr(ours, verb)(at), getattr(plain, verb)(at))
        assert same == (verb == "predict")
    np.testing.assert_array_equal(ours.predict(X, return_std=True)[1], plain.predict(X, return_std=True)[1])
    assert ours.basis_indices_.tolist() == plain.basis_indices_.tolist()


@pytest.mark.parametrize("how", [{}, {"forgetting": 1.0}, {"window": 50, "forgetting": 1.0}])
def test_every_verb_learns_the_same_errors(how):
    X, y = rows(400)
    whole, blocks, single = (next(with_and_without(**how)) for _ in range(3))
    found = whole.prequential(X, y).y_pred
    for first in range(0, 400, 77):
        blocks.partial_fit(X[first : first + 77], y[first : first + 77])
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        if i > 1:
            # the order in which a block adds is its own
            assert single.predict_one(x) == pytest.approx(found[i], rel=1e-7, abs=1e-7)
        single.update(x, target)
    last = [model.predict_one(X[7]) for model in (whole, blocks, single)]
    np.testing.assert_allclose(last, last[0], rtol=1e-7)


def test_a_stream_goes_on_where_it_was_saved(tmp_path):
    X, y = rows(400)
    whole, half = (next(with_and_without()) for _ in range(2))
    found = whole.prequential(X, y).y_pred
    half.prequential(X[:200], y[:200])
    half.save(tmp_path / "stream.npz")
    for copy in (pickle.loads(pickle.dumps(half)), kernsift.load(tmp_path / "stream.npz")):
        # the sums of a block are in the order of the block
        np.testing.assert_allclose(copy.prequential(X[200:], y[200:]).y_pred, found[200:], rtol=0, atol=1e-12)


def test_a_second_pass_leaves_what_errors_have_told():
    X, y = rows()
    model = next(with_and_without(forgetting=0.99)).partial_fit(X, y)
    before = model.predict_one(X[0]) - model.predict(X[:1])[0]
    model.refit(X, y)
    state = model._core.state()["error_forecast"]
    assert before != 0
    other = next(with_and_without(forgetting=0.99)).partial_fit(X, y)
    np.testing.assert_array_equal(state, other._core.state()["error_forecast"])


def test_it_is_for_streams_that_follow_drift():
    X, y = rows()
    fitted = OnlineLSSVMRegressor().fit(X, y)
    assert fitted.predict_one(X[0]) == pytest.approx(fitted.predict(X[:1])[0], rel=1e-12)
    assert not fitted._core.settings["error_forecast"]
    assert not OnlineLSSVMRegressor(forgetting=1.0).partial_fit(X, y)._core.settings["error_forecast"]
    assert OnlineLSSVMRegressor().partial_fit(X, y)._core.settings["error_forecast"]
    with pytest.raises(ValueError, match="error_forecast=True goes beyond the papers"):
        OnlineLSSVMRegressor(engine="inverse", error_forecast=True).fit(X, y)


def errors(X, y, on="auto", **how):
    how = {"gamma": "standard", **how}  # the same widths, whatever is said of errors
    models = [OnlineLSSVMRegressor(max_basis=50, error_forecast=each, **how) for each in (on, False)]
    return [np.sqrt(np.mean(model.prequential(X, y).error ** 2)) for model in models]


def test_errors_that_follow_each_other_are_foretold():
    """The memories that forget follow a walk already: what they leave is less."""
    X, y = rows(2000)
    ours, plain = errors(X, y)
    assert ours < 0.95 * plain
    ours, plain = errors(X, y, forgetting=1.0, on=True)
    assert ours < 0.4 * plain


def test_errors_that_tell_nothing_are_left_alone():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((3000, 2))
    ours, plain = errors(X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(3000))
    assert ours < 1.002 * plain


def test_shuffled_labels_of_many_classes_are_left_alone():
    """Of twenty classes some would gain by chance."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 20, 2000)
    X = np.column_stack([labels % 5, labels // 5]) + 0.4 * rng.standard_normal((2000, 2))
    wrong = [
        np.mean(OnlineLSSVMClassifier(gamma=0.5, max_basis=50, error_forecast=on).prequential(X, labels).error)
        for on in ("auto", False)
    ]
    assert wrong[0] < 1.005 * wrong[1]


def test_an_outlier_does_not_come_back_in_the_next_row():
    X, y = rows(1000, noise=0.05)
    y[500] += 1e4
    ours, plain = (model.prequential(X, y).y_pred for model in with_and_without())
    # cut at five deviations of all errors so far, the outlier's among them: 5e4 / sqrt(500) at most
    assert abs(ours[501] - plain[501]) < 2400
    after = slice(510, 1000)
    assert np.mean(np.abs(ours - y)[after]) < np.mean(np.abs(plain - y)[after])


@pytest.mark.parametrize("scale", [1e-130, 1e98])
def test_no_scale_of_targets_is_too_large_or_small(scale):
    X, y = rows()
    found = next(with_and_without()).prequential(X, scale * y).y_pred
    assert np.isfinite(found).all()


def test_exact_predictions_leave_nothing_to_foretell():
    X = np.random.default_rng(0).standard_normal((200, 2))
    model = next(with_and_without())
    np.testing.assert_array_equal(model.prequential(X, np.full(200, 3.0)).error[1:], 0.0)


def test_intervals_cover_what_they_say():
    """Of the next row by its corrected prediction: 2,700 rows have 90 % within 1.8, three binomial deviations."""
    X, y = rows(3000, noise=0.2)
    model = OnlineLSSVMRegressor(gamma="standard", max_basis=50)
    found = model.prequential(X, y, coverage=0.9)
    inside = (found.lower <= y) & (y <= found.upper)
    assert 0.882 < inside[300:].mean() < 0.918
    plain = OnlineLSSVMRegressor(gamma="standard", max_basis=50, error_forecast=False).prequential(X, y, coverage=0.9)
    assert np.mean((found.upper - found.lower)[300:]) < np.mean((plain.upper - plain.lower)[300:])
    wide, narrow = model.predict_interval(X[:1], 0.9), model.predict_interval_one(X[0], 0.9)
    assert wide[1][0] - wide[0][0] > 1.01 * (narrow[1] - narrow[0])


def test_labels_that_stay_are_foretold():
    """Runs of forty equal labels, of which the features tell half."""
    rng = np.random.default_rng(2)
    labels = np.repeat(rng.integers(0, 3, 50), 40)
    X = np.column_stack([labels + 1.0 * rng.standard_normal(2000), rng.standard_normal(2000)])
    right = [
        np.mean(
            OnlineLSSVMClassifier(gamma="standard", max_basis=50, error_forecast=on).prequential(X, labels).y_pred
            == labels
        )
        for on in ("auto", False)
    ]
    assert 1 - right[0] < 0.7 * (1 - right[1])


def test_a_class_that_comes_later_begins_with_nothing_known():
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1, 0, 1, 2, 1, 2], 40)
    X = np.column_stack([labels + rng.standard_normal(280), rng.standard_normal(280)])
    late = OnlineLSSVMClassifier(gamma=[0.5, 0.5], max_basis=20).partial_fit(X[:160], labels[:160])
    known = OnlineLSSVMClassifier(gamma=[0.5, 0.5], max_basis=20).partial_fit(X[:160], labels[:160], classes=[0, 1, 2])
    late.partial_fit(X[160:], labels[160:])
    known.partial_fit(X[160:], labels[160:])
    assert late.predict_one(X[0]) == known.predict_one(X[0])
    assert late._core.state()["error_forecast"].shape == known._core.state()["error_forecast"].shape
