"""`loss="auto"`: the logistic loss on the kernels of a subset model, kept where rows left out say so."""

from __future__ import annotations

import copy
import pickle

import kernsift
import numpy as np
import pytest
from kernsift import KernelClassifier, SubsetLSSVMClassifier, export
from kernsift.subset import logistic
from kernsift.subset.state import SKETCH
from oracles.logistic import design_of, newton, without_each
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics import log_loss

MOONS = make_moons(900, noise=0.3, random_state=0)


def model(**how):
    return SubsetLSSVMClassifier(**{"gamma": 1.0, "max_basis": 25, "random_state": 0, "loss": "auto"} | how)


def three(n=700):
    return make_classification(
        n, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, flip_y=0.1, random_state=0
    )


@pytest.mark.parametrize("table", [MOONS, three()], ids=["two", "three"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_steps_and_rows_left_out_are_the_definition(table, fit_intercept, rng):
    X, y = table[0][:120], table[1][:120]
    v = rng.integers(1, 4, 120).astype(float)
    fitted = model(max_basis=10, alpha=0.3, gamma=0.4, fit_intercept=fit_intercept).fit(X, y, sample_weight=v)
    rows = fitted._state.sketch
    targets = fitted._targets_of(rows.codes)
    found = logistic.fit_logistic(fitted._basis, rows, targets, 0.2, fit_intercept)
    kernel = fitted._basis.kernel
    G, K = kernel.matrix(rows.X, fitted.basis_vectors_), kernel.matrix(fitted.basis_vectors_, fitted.basis_vectors_)
    design, penalty = design_of(G, K, 0.2, fit_intercept)
    for output, t in enumerate(targets.T):
        c, w, z = newton(design, penalty, t, rows.weight, logistic.STEPS)
        # the condition of K is below 1e6: half the digits of a double
        mine = G @ found.coef[:, output] + found.intercept[output]
        np.testing.assert_allclose(mine, design @ c, rtol=0, atol=1e-7)
        alone = without_each(design, penalty, w, z, rows.weight)
        np.testing.assert_allclose(found.left_out[:, output], alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize("table", [MOONS, three()], ids=["two", "three"])
def test_the_lower_log_loss_is_kept(table):
    X, y = table
    squared, auto = model(loss="squared").fit(X[:500], y[:500]), model().fit(X[:500], y[:500])
    assert set(squared.log_loss_) == {"squared"}
    assert auto.log_loss_["squared"] == squared.log_loss_["squared"]
    same = np.array_equal(auto.decision_function(X), squared.decision_function(X))
    assert same == (auto.log_loss_["logistic"] >= auto.log_loss_["squared"])
    losses = [log_loss(y[500:], m.predict_proba(X[500:])) for m in (auto, squared)]
    assert losses[0] <= losses[1] + 0.01
    np.testing.assert_array_equal(auto.predict(X), auto.classes_[auto.predict_proba(X).argmax(axis=1)])
    np.testing.assert_allclose(auto.predict_proba(X).sum(axis=1), 1.0)


def test_skewed_noise_is_where_least_squares_is_wrong():
    """What it is for: a boundary that is not in the middle of two noisy classes."""
    X, y = MOONS
    squared, auto = (model(loss=loss).fit(X[:500], y[:500]) for loss in ("squared", "auto"))
    assert auto.log_loss_["logistic"] < auto.log_loss_["squared"]
    assert log_loss(y[500:], auto.predict_proba(X[500:])) < log_loss(y[500:], squared.predict_proba(X[500:]))


def test_order_weights_and_units_change_nothing(rng):
    X, y = MOONS
    one = model(gamma="standard").fit(X, y)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(one.decision_function(X), model(gamma="standard").fit(X[order], y[order])
                                  .decision_function(X))  # fmt: skip
    v = rng.integers(1, 3, 300)
    twice = np.repeat(np.arange(300), v)
    weighted = model().fit(X[:300], y[:300], sample_weight=v)
    repeated = model().fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=0, atol=1e-9)
    scaled = model(gamma="standard").fit(X * [1e6, 1e-6], y)
    np.testing.assert_allclose(scaled.predict_proba(X * [1e6, 1e-6]), one.predict_proba(X), rtol=0, atol=1e-6)
    balanced = model(class_weight={0: 2.0}).fit(X, y)
    by_hand = model().fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    np.testing.assert_array_equal(balanced.predict_proba(X), by_hand.predict_proba(X))


def test_it_is_a_model_like_any_other(tmp_path):
    X, y = MOONS
    fitted = model().fit(X, y)
    assert fitted.log_loss_["logistic"] < fitted.log_loss_["squared"]
    expected = fitted.predict_proba(X)
    for what in ("all", "predict"):
        fitted.save(tmp_path / "model", what=what)
        np.testing.assert_array_equal(kernsift.load(tmp_path / "model").predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), expected)
    described = export._model.describe(fitted)
    np.testing.assert_allclose(described.scores(X)[:, 0], fitted.decision_function(X), rtol=0, atol=1e-10)
    assert described.temperature == fitted.temperature_


def test_sums_make_a_model_of_least_squares():
    X, y = MOONS
    plain = model(loss="squared").fit(X[:450], y[:450])
    for way in (lambda m: m.partial_fit(X[450:], y[450:]), lambda m: m.resize(12), lambda m: m.merge()):
        auto, squared = model().fit(X[:450], y[:450]), copy.deepcopy(plain)
        np.testing.assert_array_equal(way(auto).predict_proba(X), way(squared).predict_proba(X))
        assert set(auto.log_loss_) == {"squared"}


def test_many_rows_are_judged_on_those_of_the_sketch(monkeypatch):
    X, y = make_moons(4000, noise=0.3, random_state=1)
    monkeypatch.setattr("kernsift.subset.subset.ROWS", 2000)
    fitted = model().fit(X, y)
    assert len(fitted._state.sketch.X) == SKETCH
    assert abs(fitted.log_loss_["logistic"] - log_loss(y, fitted.predict_proba(X))) < 0.03


def test_the_front_door_takes_it():
    X, y = MOONS
    front = KernelClassifier(random_state=0, settings={"kernel": "rbf", "gamma": 1.0, "max_basis": 25}).fit(X, y)
    assert front.log_loss_["logistic"] < front.log_loss_["squared"]
    assert "log loss of rows left out" in front.report()
    plain = KernelClassifier(
        random_state=0, settings={"kernel": "rbf", "gamma": 1.0, "max_basis": 25, "loss": "squared"}
    ).fit(X, y)
    assert set(plain.log_loss_) == {"squared"}


def test_bad_words_are_refused():
    with pytest.raises(ValueError, match="loss"):
        model(loss="log").fit(*MOONS)
