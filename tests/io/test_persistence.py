"""Models survive every usual way of being stored, resume exactly, and never name the CPU level."""

from __future__ import annotations

import os
import pickle
import pickletools
import subprocess
import sys

import kernsift
import numpy as np
import pytest
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor, _core
from soak import crashing
from support.storing import ROUND_TRIPS


def regression(rng, n=400):
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1]


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "joblib"])
def test_a_stream_of_any_kind_goes_on_to_the_last_bit(way):
    """Of any number of outputs, kernel, window, forgetting: whatever can be set, drawn."""
    first = 1 + 50 * ["pickle", "deepcopy", "joblib"].index(way)
    for seed in range(first, first + 50):
        stream = crashing.Stream(seed)
        model, cut = stream.begin(), crashing.BLOCK * int(np.random.default_rng(seed).integers(1, 20))
        for row in range(0, cut, crashing.BLOCK):
            stream.learn(model, row, row + crashing.BLOCK)
        restored = ROUND_TRIPS[way](model)
        for row in range(cut, len(stream.X), crashing.BLOCK):
            for each in (model, restored):
                stream.learn(each, row, row + crashing.BLOCK)
        expected, found = model._core.state(), restored._core.state()
        differ = [name for name in expected if expected[name].tobytes() != found[name].tobytes()]
        assert not differ, f"seed {seed}, {stream.kind}, {stream.outputs} outputs: {differ}"


@pytest.mark.parametrize("engine", ["orthonormal", "inverse"])
@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_a_regressor_resumes_exactly(way, engine, rng):
    X, y = regression(rng)
    model = OnlineLSSVMRegressor(engine=engine, gamma=0.5, max_basis=12).fit(X[:200], y[:200])
    restored = ROUND_TRIPS[way](model)
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    assert restored.audit_ == model.audit_
    model.partial_fit(X[200:], y[200:])
    assert restored.n_samples_seen_ == 200  # nothing is shared, not even by a shallow copy
    restored.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    np.testing.assert_array_equal(restored.basis_indices_, model.basis_indices_)
    for name, value in model._core.state().items():
        np.testing.assert_array_equal(restored._core.state()[name], value)


@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_a_classifier_resumes_exactly(way, rng):
    X = rng.standard_normal((300, 2))
    y = np.array(["far", "left", "right"])[np.where((X**2).sum(axis=1) > 3, 0, np.where(X[:, 0] > 0, 2, 1))]
    model = OnlineLSSVMClassifier(max_basis=20).fit(X[:150], y[:150])
    restored = ROUND_TRIPS[way](model)
    np.testing.assert_array_equal(restored.partial_fit(X[150:], y[150:]).predict_proba(X),
                                  model.partial_fit(X[150:], y[150:]).predict_proba(X))  # fmt: skip


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_bound_classes_survive_every_protocol(protocol, rng):
    """A pybind11 class with only py::pickle aborts the interpreter at protocol 1 and in skops."""
    X, y = regression(rng, 60)
    kernel = _core.Kernel("rbf", np.array([0.5, 0.5]), 3, 1.0, np.zeros(2))
    model = _core.OnlineLSSVM(kernel, 1, alpha=0.1)
    model.learn(X, np.ascontiguousarray(y[:, None]), np.ones(60))
    again = pickle.loads(pickle.dumps(model, protocol))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel, protocol)).matrix(X, X), kernel.matrix(X, X))


CONTINUE = """
import pickle, sys, numpy as np, kernsift
model, X, y = pickle.load(sys.stdin.buffer)
model.partial_fit(X, y)
sys.stdout.buffer.write(pickle.dumps((kernsift.build_config()["cpu_level"], model.basis_indices_, model.predict(X))))
"""


def test_a_pickle_moves_between_cpu_levels(rng):
    X, y = regression(rng)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=12).fit(X[:200], y[:200])
    data = pickle.dumps(model)
    named = {arg for _, arg, _ in pickletools.genops(data) if isinstance(arg, str)}
    assert not any("_isa" in text or text in kernsift.build_config()["built_levels"] for text in named)
    model.partial_fit(X[200:], y[200:])
    for level in sorted(set(kernsift.build_config()["built_levels"]) & set(kernsift.build_config()["cpu_runs"])):
        out = subprocess.run(
            [sys.executable, "-W", "error", "-c", CONTINUE],
            input=pickle.dumps((pickle.loads(data), X[200:], y[200:])),
            capture_output=True,
            check=True,
            env={**os.environ, "KERNSIFT_ISA": level},
        )
        ran, indices, predicted = pickle.loads(out.stdout)
        assert ran == level
        np.testing.assert_array_equal(indices, model.basis_indices_)
        # levels round differently (fused multiply-add, exp): 200 rows at alpha = 0.1 keep nine digits
        np.testing.assert_allclose(predicted, model.predict(X[200:]), atol=1e-9)


def test_a_foreign_or_damaged_state_is_refused(rng):
    X, y = regression(rng, 60)
    model = OnlineLSSVMRegressor().fit(X, y)
    state = model.__getstate__()
    newer = {**state, "_core": {**state["_core"], "format": 999}}
    with pytest.raises(ValueError, match="format 999"):
        OnlineLSSVMRegressor.__new__(OnlineLSSVMRegressor).__setstate__(newer)
    arrays = state["_core"]["arrays"]
    for name, damage in (("theta", arrays["theta"][:-1]), ("inverse", arrays["inverse"] * np.nan)):
        bad = {**state, "_core": {**state["_core"], "arrays": {**arrays, name: damage}}}
        with pytest.raises(ValueError, match=name):
            OnlineLSSVMRegressor.__new__(OnlineLSSVMRegressor).__setstate__(bad)
    missing = {k: v for k, v in arrays.items() if k != "cost"}
    with pytest.raises(ValueError, match="'cost' is missing"):
        OnlineLSSVMRegressor.__new__(OnlineLSSVMRegressor).__setstate__(
            {**state, "_core": {**state["_core"], "arrays": missing}}
        )


@pytest.mark.parametrize("engine", ["orthonormal", "inverse"])
def test_a_stream_without_kernels_yet_is_stored_too(engine):
    model = OnlineLSSVMRegressor(gamma=1.0, engine=engine).partial_fit([[1.0, 2.0]], [3.0])
    assert model.n_basis_ == 0
    restored = pickle.loads(pickle.dumps(model))
    for each in (model, restored):
        each.partial_fit([[5.0, 2.0], [1.0, 7.0]], [1.0, 2.0])
    np.testing.assert_array_equal(restored.predict([[5.0, 2.0]]), model.predict([[5.0, 2.0]]))
    core = _core.OnlineLSSVM(_core.Kernel("rbf", np.ones(2), 3, 1.0, np.zeros(2)), 1)
    assert pickle.loads(pickle.dumps(core)).n_basis == 0


def test_places_in_the_ring_of_recent_rows_are_checked(rng):
    X, y = regression(rng, 60)
    state = OnlineLSSVMRegressor(exact_rows=10).fit(X, y).__getstate__()
    arrays = state["_core"]["arrays"]
    for name, damage in (
        ("recent_next", np.array([[10.0]])),
        ("recent_next", np.array([[-1.0]])),
        ("recent_coordinates", arrays["recent_coordinates"][1:]),
    ):
        bad = {**state, "_core": {**state["_core"], "arrays": {**arrays, name: damage}}}
        with pytest.raises(ValueError, match=name):
            OnlineLSSVMRegressor.__new__(OnlineLSSVMRegressor).__setstate__(bad)


def test_a_clone_starts_empty(rng):
    from sklearn.base import clone

    X, y = regression(rng)
    model = OnlineLSSVMRegressor(max_basis=7).fit(X, y)
    fresh = clone(model)
    assert "_core" not in fresh.__dict__
    fresh.fit(X[:50], y[:50])
    assert model.n_samples_seen_ == 400
