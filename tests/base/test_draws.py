"""`random_state`: an int draws the same each time, a generator of numpy goes on."""

from __future__ import annotations

import inspect
import pickle

import kernsift
import numpy as np
import pytest
from kernsift.base.canonical import draw_seed
from kernsift.base.draws import random_numbers
from kernsift.base.kernel import _MEDIAN_ROWS
from sklearn.base import clone, is_classifier

N = 2 * _MEDIAN_ROWS  # more rows than the median of distances is taken over, so that some are drawn


def table():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (N, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


X, Y = table()
FEW = {"gamma": 1.0, "max_basis": 6}
#: Settings with which a fit depends on what is drawn, for every public class with a random_state.
ESTIMATORS = {
    "FeatureVectorSelector": {"gamma": 1.0, "n_components": 6, "n_candidates": 3, "n_eval": 20},
    "KRLSRegressor": {"gamma": "median", "novelty_tol": 0.1},
    "KernelClassifier": {"small": True, "settings": {"basis": "random", **FEW}},
    "KernelLSPI": {"gamma": 1.0, "max_basis": 3, "actions": 2, "max_iter": 1},
    "KernelLSTD": {"gamma": "median", "max_basis": 6},
    "KernelRegressor": {"small": True, "settings": {"basis": "random", **FEW}},
    "LSSVMClassifier": {"gamma": "median", "alpha": 1.0},
    "LSSVMRegressor": {"gamma": "median", "alpha": 1.0},
    "OROLSClassifier": {"n_candidates": 5, "selection": "error-reduction", **FEW},
    "OROLSRegressor": {"n_candidates": 5, "selection": "error-reduction", **FEW},
    "OnlineLSSVMClassifier": {"gamma": "median", "max_basis": 6},
    "OnlineLSSVMRegressor": {"gamma": "median", "max_basis": 6},
    "SparseLSSVMClassifier": {"max_start": 10, "alpha": 1.0, **FEW},
    "SparseLSSVMRegressor": {"max_start": 10, "alpha": 1.0, **FEW},
    "SubsetLSSVMClassifier": {"basis": "random", **FEW},
    "SubsetLSSVMRegressor": {"basis": "random", **FEW},
}
FUNCTIONS = {"learn_gamma", "evaluate_policy"}


def fitted(model):
    if isinstance(model, kernsift.KernelLSTD):
        return model.fit(X[:-1], Y[:-1], X[1:])
    if isinstance(model, kernsift.KernelLSPI):
        return model.fit((X[:-1], np.arange(N - 1) % 2, Y[:-1], X[1:], np.zeros(N - 1, dtype=bool)))
    return model.fit(X, Y > 0.5 if is_classifier(model) else Y)


def answer(model):
    if isinstance(model, kernsift.KernelLSPI):
        return model.q_values(X[:50])
    for name in ("decision_function", "predict", "transform"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X[:50]))
    raise AssertionError(model)


def test_every_public_name_with_a_random_state_is_tried():
    public = {name: getattr(kernsift, name) for name in kernsift.__all__}
    taking = {
        name for name, one in public.items() if callable(one) and "random_state" in inspect.signature(one).parameters
    }
    assert taking == set(ESTIMATORS) | FUNCTIONS


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_generator_goes_on_and_an_int_draws_the_same(name):
    kind, settings = getattr(kernsift, name), ESTIMATORS[name]
    same = [answer(fitted(kind(random_state=4, **settings))) for _ in range(2)]
    np.testing.assert_array_equal(*same)

    generator = np.random.default_rng(4)
    model = kind(random_state=generator, **settings)
    assert model.get_params()["random_state"] is generator
    first = answer(fitted(model))
    assert generator.bit_generator.state != np.random.default_rng(4).bit_generator.state
    assert model.get_params()["random_state"] is generator
    assert (answer(fitted(kind(random_state=generator, **settings))) != first).any()
    np.testing.assert_array_equal(answer(fitted(kind(random_state=np.random.default_rng(4), **settings))), first)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_clone_pickle_and_file_keep_the_generator_where_it_is(name, tmp_path):
    kind, settings = getattr(kernsift, name), ESTIMATORS[name]
    model = fitted(kind(random_state=np.random.default_rng(4), **settings))
    model.save(tmp_path / "model.npz")
    copies = [clone(model), pickle.loads(pickle.dumps(model)), kernsift.load(tmp_path / "model.npz")]
    before = answer(model)
    for again in copies[1:]:
        np.testing.assert_array_equal(answer(again), before)
    after = answer(fitted(model))
    for again in copies:
        assert again.random_state is not model.random_state
        np.testing.assert_array_equal(answer(fitted(again)), after)


def test_functions_take_a_generator():
    generator = np.random.default_rng(4)
    moves = (X[:-1], np.arange(N - 1) % 2, Y[:-1], X[1:], np.arange(1, N) % 20 == 0)
    model = kernsift.LSSVMRegressor(gamma=1.0, alpha=1.0).fit(X[:100], Y[:100])
    calls = {
        "learn_gamma": lambda g: kernsift.learn_gamma(X, Y, n_rows=100, m=20, max_iter=1, random_state=g).gamma,
        "evaluate_policy": lambda g: (
            kernsift.evaluate_policy(
                moves, lambda S: np.ones(len(S), int), gamma=1.0, max_basis=6, interval="bootstrap", random_state=g
            ).std
        ),
        "sample_y": lambda g: model.sample_y(X[:5], random_state=g),
    }
    assert set(calls) > FUNCTIONS
    for name, call in calls.items():
        assert np.any(np.not_equal(call(generator), call(generator))), name
        np.testing.assert_array_equal(call(np.random.default_rng(4)), call(np.random.default_rng(4)), err_msg=name)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox])
def test_any_bit_generator_serves_and_is_moved_on(bits):
    generator = np.random.Generator(bits(7))
    drawn = [draw_seed(generator) for _ in range(20)]
    assert len(set(drawn)) == 20
    assert all(0 <= seed < 2**31 - 1 for seed in drawn)
    after = np.random.Generator(bits(7))
    assert generator.random() != after.random()
    before = generator.bit_generator.state
    assert 0 <= random_numbers(generator).random_sample() < 1
    assert str(generator.bit_generator.state) != str(before)


def test_a_file_holds_the_generator_of_default_rng_alone(tmp_path):
    model = kernsift.SubsetLSSVMRegressor(random_state=np.random.Generator(np.random.Philox(7)), max_basis=5)
    model.fit(X[:50], Y[:50])
    with pytest.raises(TypeError, match="a value of type Generator"):
        model.save(tmp_path / "model.npz")


@pytest.mark.parametrize("value", ["seed", 1.5, np.random.PCG64(7)])
def test_what_cannot_draw_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"'random_state' parameter.*Generator"):
        kernsift.SubsetLSSVMRegressor(random_state=value).fit(X[:50], Y[:50])
