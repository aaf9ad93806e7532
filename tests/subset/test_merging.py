"""Rows that arrive in parts, blocks and other processes: the sums add, so that the model is that of all rows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from kernsift import SubsetLSSVMClassifier, SubsetLSSVMRegressor
from sklearn.base import clone
from sklearn.datasets import make_moons
from support.subset_tables import table


def states_of(model, X, y, parts, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return [model.accumulate(X[i], y[i], weight[i]) for i in parts]


@pytest.mark.parametrize("outputs", [None, 2])
def test_seven_parts_in_any_order_are_one_pass(outputs, rng):
    X, y = table(rng, 1000, outputs=outputs)
    y = y + 1e4  # a common offset costs nothing
    v = rng.uniform(0, 2, 1000)
    model = SubsetLSSVMRegressor(gamma=0.5, basis=X[:60], alpha=0.1).select_basis(X)
    whole = clone(model).partial_fit(X, y, sample_weight=v)
    parts = np.array_split(rng.permutation(1000), [3, 10, 200, 333, 700, 999])
    states = states_of(model, X, y, parts, v)
    scale = np.abs(whole.predict(X)).max()
    for order in (range(7), range(6, -1, -1), rng.permutation(7)):
        merged = copy.deepcopy(model).merge(*(states[i] for i in order))
        np.testing.assert_allclose(merged.predict(X) / scale, whole.predict(X) / scale, atol=1e-12)
        np.testing.assert_allclose(merged.state_.M, whole.state_.M, rtol=0, atol=1e-12 * whole.state_.M.max())
        assert merged.n_samples_seen_ == 1000
    tree = states[0].merge(states[1]).merge(states[2].merge(*states[3:]))
    np.testing.assert_allclose(model.merge(tree).predict(X) / scale, whole.predict(X) / scale, atol=1e-12)


def test_blocks_batches_and_whole_are_the_same_model(rng):
    X, y = table(rng, 900)
    whole = SubsetLSSVMRegressor(gamma=0.5, basis=X[:50], alpha="gcv").fit(X, y)
    blocks = clone(whole)
    for i in range(0, 900, 100):
        blocks.partial_fit(X[i : i + 100], y[i : i + 100])
    batches = clone(whole).fit_batches((X[i : i + 250], y[i : i + 250]) for i in range(0, 900, 250))
    for other in (blocks, batches):
        # the whole table may be summed in kernel coordinates, which costs digits of a condition of 1e8 at most
        np.testing.assert_allclose(other.predict(X), whole.predict(X), atol=1e-7)
        assert other.alpha_ == pytest.approx(whole.alpha_, rel=1e-6)
    assert blocks.partial_fit(X[:0], y[:0]).n_samples_seen_ == 900
    np.testing.assert_allclose(blocks.predict(X), batches.predict(X), atol=1e-10)


def test_estimators_merge(rng):
    X, y = table(rng, 600)
    parts = [SubsetLSSVMRegressor(gamma=0.5, basis=X[:40]).partial_fit(X[i::2], y[i::2]) for i in (0, 1)]
    with pytest.raises(ValueError, match="another basis or kernel"):  # the kernel's centre is the first row
        parts[0].merge(SubsetLSSVMRegressor(gamma=0.6, basis=X[:40]).partial_fit(X[1::2], y[1::2]))
    first = SubsetLSSVMRegressor(gamma=0.5, basis=X[:40]).select_basis(X)
    second = copy.deepcopy(first).partial_fit(X[1::2], y[1::2])
    first.partial_fit(X[::2], y[::2]).merge(second)
    assert first.n_samples_seen_ == 600
    whole = SubsetLSSVMRegressor(gamma=0.5, basis=X[:40]).fit(X, y)
    np.testing.assert_allclose(first.predict(X), whole.predict(X), atol=1e-7)


def test_parts_may_be_summed_elsewhere(rng):
    X, y = table(rng, 300)
    chosen = SubsetLSSVMRegressor(gamma=0.5, basis="random", max_basis=20, random_state=0).select_basis(X)
    worker = pickle.loads(pickle.dumps(chosen))
    state = pickle.loads(pickle.dumps(worker.accumulate(X, y)))
    np.testing.assert_allclose(chosen.merge(state).predict(X), worker.partial_fit(X, y).predict(X), atol=1e-12)
    labels = np.where(y > 0, "up", "down")
    chosen = SubsetLSSVMClassifier(gamma=0.5, max_basis=20, random_state=0)
    chosen.select_basis(X[:100], labels[:100], classes=["down", "level", "up"])
    assert set(chosen.merge(copy.deepcopy(chosen).accumulate(X, labels)).predict(X)) == {"down", "up"}


def test_what_does_not_add_is_refused_and_changes_nothing(rng):
    X, y = table(rng, 200)
    model = SubsetLSSVMRegressor(gamma=0.5, basis=X[:20]).fit(X, y)
    before = pickle.dumps(model)
    other = SubsetLSSVMRegressor(gamma=0.5, basis=X[20:40]).fit(X, y)
    with pytest.raises(ValueError, match="different bases"):
        model.state_.merge(other.state_)
    two = SubsetLSSVMRegressor(gamma=0.5, basis=X[:20]).fit(X, np.stack([y, y], axis=1))
    for bad, error in ((other, ValueError), (other.state_, ValueError), (two, ValueError), (3.0, TypeError)):
        with pytest.raises(error):
            model.merge(bad)
    with pytest.raises(ValueError, match="2 outputs"):
        model.partial_fit(X, np.stack([y, y], axis=1))
    assert pickle.dumps(model) == before


def test_alpha_may_change_without_a_pass_but_not_the_kernel(rng):
    X, y = table(rng, 200)
    model = SubsetLSSVMRegressor(gamma=0.5, basis=X[:20], alpha=1.0).fit(X, y)
    state = model.state_
    model.set_params(alpha=0.01).merge()
    again = SubsetLSSVMRegressor(gamma=0.5, basis=X[:20], alpha=0.01).fit(X, y)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-9)
    model.partial_fit(X[:1], y[:1])
    assert model.alpha_ == 0.01
    assert model.state_.n_rows == state.n_rows + 1
    with pytest.raises(ValueError, match=r"gamma was 0\.5"):
        model.set_params(gamma=0.7).partial_fit(X, y)


def test_loo_needs_the_rows(rng):
    X, y = table(rng, 50)
    model = SubsetLSSVMRegressor(alpha="loo", max_basis=10)
    for call in (
        lambda: model.partial_fit(X, y),
        lambda: model.fit_batches([(X, y)]),
        lambda: model.select_basis(X, y),
    ):
        with pytest.raises(ValueError, match="alpha='loo'"):
            call()
    assert model.fit(X, y).n_basis_ == 10


def test_a_classifier_from_parts_is_the_classifier_probabilities_included(rng):
    X, y = make_moons(3000, noise=0.2, random_state=1)
    model = SubsetLSSVMClassifier(gamma=2.0, max_basis=40, random_state=0).select_basis(X, y)
    whole = copy.deepcopy(model).partial_fit(X, y)
    states = states_of(model, X, y, np.array_split(rng.permutation(3000), 5))
    merged = copy.deepcopy(model).merge(*states)
    np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert len(merged.state_.sketch.keys) == 1000
    blocks = SubsetLSSVMClassifier(gamma=2.0, basis=model._basis.vectors)
    for i in range(0, 3000, 1000):
        blocks.partial_fit(X[i : i + 1000], y[i : i + 1000], classes=[0, 1])
    np.testing.assert_allclose(blocks.predict_proba(X), whole.predict_proba(X), atol=1e-7)
    batches = clone(blocks).fit_batches([(X, y)], classes=[0, 1])
    np.testing.assert_allclose(batches.predict_proba(X), whole.predict_proba(X), atol=1e-9)
