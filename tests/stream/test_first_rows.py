"""The first rows of a stream: by whatever verb they come, one model, and nothing is predicted by what came later."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor
from sklearn.base import clone
from sklearn.exceptions import NotFittedError


def begun_by(verb, model, X, Y, v):
    """A fresh model after the same rows, by one verb."""
    if verb == "partial_fit":
        model.partial_fit(X, Y, v)
    elif verb == "parts":
        model.partial_fit(X[:3], Y[:3], v[:3]).partial_fit(X[3:150], Y[3:150], v[3:150])
        model.partial_fit(X[150:], Y[150:], v[150:])
    elif verb == "update":
        for x, y, w in zip(X, Y, v, strict=True):
            model.update(x, y, w)
    elif verb == "prequential":
        model.prequential(X[:130], Y[:130], v[:130])
        model.prequential(X[130:], Y[130:], v[130:])
    elif verb == "mixed":
        for x, y, w in zip(X[:40], Y[:40], v[:40], strict=True):
            model.update(x, y, w)
        model = pickle.loads(pickle.dumps(model))
        model.prequential(X[40:300], Y[40:300], v[40:300])
        model = pickle.loads(pickle.dumps(model))  # a trial, where there is one, too
        model.partial_fit(X[300:], Y[300:], v[300:])
    else:
        model.prequential(X, Y, v, delay=verb, return_std=True)
    return model


@pytest.mark.parametrize("verb", ["parts", "update", "prequential", "mixed", 0, 3])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gamma": 0.5},
        {"gamma": "scale"},
        {"gamma": "median", "alpha": "gcv"},
        {"alpha": "gcv", "max_basis": 20},
        {"gamma": "learn", "learn_rows": 280, "alpha": "gcv"},
        {"gamma": "learn", "learn_rows": 60},
        {"window": 50},
        {"forgetting": 0.99},
        {"forgetting": [1.0, 0.98], "alpha": "gcv"},
        {"gamma": "scale", "engine": "inverse", "forgetting": 1.0, "linear": False},
    ],
    ids=str,
)
def test_a_fresh_stream_is_the_same_model_by_whatever_verb(settings, verb, rng):
    X = rng.uniform(-2, 2, (600, 2))
    Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(600)
    v = rng.integers(0, 3, 600).astype(float)
    v[0] = 1.0  # `update` and `prequential` begin with the first row, whatever its weight
    fresh = OnlineLSSVMRegressor(max_basis=40, random_state=0).set_params(**settings)
    if verb == 3 and fresh.gamma in ("auto", "learn"):  # a trial judges what was predicted when the rows came
        fresh.set_params(gamma="standard")
    one, other = (begun_by(how, clone(fresh), X, Y, v) for how in ("partial_fit", verb))
    np.testing.assert_array_equal(one.gamma_, other.gamma_)
    np.testing.assert_array_equal(one.basis_indices_, other.basis_indices_)
    assert one.alpha_ == pytest.approx(other.alpha_, rel=1e-9)
    assert one.n_samples_seen_ == other.n_samples_seen_ == 600
    # blocks against single rows: rounding times the condition of K
    if verb == 3 and len(one.experts_) > 1:  # the same memories, weighed by what they predicted three targets earlier
        states = one._core.state(), other._core.state()
        names = [name for name in states[0] if name.endswith("theta") and name != "noise_theta"]
        assert len(names) == len(one.experts_)
        for name in names:
            np.testing.assert_allclose(states[0][name], states[1][name], rtol=1e-7, atol=1e-9)
        return
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("gamma", ["auto", "scale", "median", "learn", 0.5])
@pytest.mark.parametrize("delay", [0, 1, 7])
@pytest.mark.parametrize("return_std", [False, True])
def test_prequential_of_a_fresh_model_never_looks_ahead(gamma, delay, return_std, rng):
    """What is predicted of a row is the same whatever the rows after it, and the targets not known yet, are."""
    X = rng.uniform(-2, 2, (430, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(430)
    fresh = OnlineLSSVMRegressor(gamma=gamma, learn_rows=200, max_basis=20, alpha="gcv", random_state=0)
    truth = clone(fresh).prequential(X, y, delay=delay, return_std=return_std)
    assert np.isfinite(truth.y_pred).all()
    assert (truth.y_pred[: delay + 1] == 0).all()
    if return_std:
        assert np.isfinite(truth.std).all()
    for now in (3, 16, 101, 128, 150, 192, 256, 320, 384, 400):
        other_X, other_y = X.copy(), y.copy()
        other_X[now + 1 :] *= 7.0
        other_y[max(now - delay, 0) :] -= 50.0  # targets of rows before now - delay are known
        other = clone(fresh).prequential(other_X, other_y, delay=delay, return_std=return_std)
        np.testing.assert_allclose(other.y_pred[: now + 1], truth.y_pred[: now + 1], rtol=1e-8, atol=1e-10)
        if return_std:
            np.testing.assert_allclose(other.std[: now + 1], truth.std[: now + 1], rtol=1e-6)


def test_a_stream_predicts_from_its_first_row(rng):
    X = rng.uniform(-2, 2, (60, 2))
    Y = np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1)
    model = OnlineLSSVMRegressor()
    for call in (lambda: model.predict_one(X[0]), lambda: model.predict(X)):
        with pytest.raises(NotFittedError):
            call()
    errors = []
    for x, target in zip(X, Y, strict=True):
        if errors:
            errors.append(target - model.predict_one(x))
        model.update(x, target)
        errors = errors or [target]
    found = OnlineLSSVMRegressor().prequential(X, Y).error  # in blocks: to rounding
    np.testing.assert_allclose(found, np.array(errors), rtol=1e-7, atol=1e-10)
    before = pickle.dumps(model)
    for bad in ((X[0, :1], Y[0]), (X[0], Y[0, 0]), (np.array([np.nan, 0.0]), Y[0]), (X[0], np.array([np.inf, 1.0]))):
        with pytest.raises(ValueError, match=r"x|y|outputs|features"):
            model.update(*bad)
    assert pickle.dumps(model) == before


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["update", "prequential", "mixed"])
@pytest.mark.parametrize(
    "settings", [{}, {"gamma": 0.5}, {"alpha": "gcv"}, {"gamma": "learn", "learn_rows": 150}], ids=str
)
@pytest.mark.parametrize("names", [["no", "yes"], [3, 5, 9]], ids=str)
def test_a_stream_of_labels_is_the_same_model_by_whatever_verb(settings, verb, names, rng):
    X = rng.uniform(-2, 2, (400, 2))
    y = np.asarray(names)[np.clip((X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(400) > 0).astype(int), 0, None)]
    y[X[:, 0] > 1] = names[-1]
    v = rng.integers(0, 3, 400).astype(float)
    fresh = OnlineLSSVMClassifier(max_basis=40, random_state=0).set_params(**settings)
    first = 20
    one, other = clone(fresh), clone(fresh)
    one.partial_fit(X[:first], y[:first], classes=names, sample_weight=v[:first])
    other.partial_fit(X[:first], y[:first], classes=names, sample_weight=v[:first])
    one.partial_fit(X[first:], y[first:], sample_weight=v[first:])
    cut = 200 if verb == "mixed" else 400
    if verb == "update":
        for row, label, w in zip(X[first:], y[first:], v[first:], strict=True):
            other.update(row, label, w)
    else:
        result = other.prequential(X[first:cut], y[first:cut], sample_weight=v[first:cut])
        assert set(result.y_pred) <= set(names)
        np.testing.assert_array_equal(result.error, result.y_pred != y[first:cut])
        if cut < 400:
            other.partial_fit(X[cut:], y[cut:], sample_weight=v[cut:])
    np.testing.assert_array_equal(one.basis_indices_, other.basis_indices_)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-9)
    assert one.temperature_ == pytest.approx(other.temperature_, rel=1e-7)
    for row in X[:20]:
        assert other.predict_one(row) == one.predict_one(row)
        np.testing.assert_allclose(other.predict_proba_one(row), one.predict_proba_one(row), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("delay", [0, 4])
def test_labels_of_a_fresh_model_are_not_predicted_from_what_comes(delay, rng):
    X = rng.uniform(-2, 2, (300, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    result = OnlineLSSVMClassifier().prequential(X, y, delay=delay)
    assert set(result.y_pred) == {"a", "b"}
    np.testing.assert_array_equal(result.error, result.y_pred != y)
    assert result.error[50 + delay :].mean() < 0.2
    other_X, other_y = X.copy(), y.copy()
    other_X[201:] *= 5.0
    other_y[200 - delay :] = "a"
    other = OnlineLSSVMClassifier().prequential(other_X, other_y, classes=["a", "b"], delay=delay)
    np.testing.assert_array_equal(other.y_pred[:201], result.y_pred[:201])


def test_labels_that_are_not_known_are_refused_and_change_nothing(rng):
    X = rng.uniform(-2, 2, (60, 2))
    y = np.where(X[:, 0] > 0, 7, 3)
    model = OnlineLSSVMClassifier().partial_fit(X, y, classes=[3, 7])
    before = pickle.dumps(model)
    for label in (5, 11, "7"):
        with pytest.raises((ValueError, TypeError)):
            model.update(X[0], label)
    with pytest.raises(ValueError, match="x"):
        model.update(X[0, :1], 7)
    assert pickle.dumps(model) == before
