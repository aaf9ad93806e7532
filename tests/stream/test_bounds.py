"""Predictions of streams with linear="auto" stay near the targets seen, wherever a row lies."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor
from kernsift.export import to_c, to_onnx
from support.c_programs import PLAIN, build, compiled

HOW = {"gamma": [0.5, 0.5], "max_basis": 30, "error_forecast": False}


def rows(n=400, outputs=1, seed=3):
    """Rows of two features, some of which are far from the others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = np.column_stack([X[:, 0] + np.sin(2 * X[:, 1]), X[:, 1] ** 2])[:, :outputs]
    y = y + 0.1 * rng.standard_normal(y.shape)
    X[150::100, 0] *= 1e4
    return X, y[:, 0] if outputs == 1 else y


def bounded(predictions, y, weight):
    """The definition: by half the range of the targets before each row."""
    out, Y = predictions.copy(), y.reshape(len(y), -1)
    for i, row in enumerate(out.reshape(len(y), -1)):
        seen = Y[:i][weight[:i] > 0]
        if len(seen):
            low, high = seen.min(axis=0), seen.max(axis=0)
            row[:] = np.clip(row, low - (high - low) / 2, high + (high - low) / 2)
    return out


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("forgetting", ["auto", 1.0, 0.99])
def test_predictions_are_those_without_bounds_cut_to_them(outputs, forgetting):
    X, y = rows(outputs=outputs)
    weight = np.where(np.arange(len(X)) % 7 == 3, 0.0, 1.0)
    ours, free = (OnlineLSSVMRegressor(linear=linear, forgetting=forgetting, **HOW) for linear in ("auto", True))
    found = ours.prequential(X, y, sample_weight=weight).y_pred
    said = free.prequential(X, y, sample_weight=weight).y_pred
    np.testing.assert_array_equal(found, bounded(said, y, weight))
    assert np.abs(said).max() > 10 * np.abs(y).max()  # there was something to cut
    wild = X[::10] * 50
    low, high = y[weight > 0].min(axis=0), y[weight > 0].max(axis=0)
    expected = np.clip(free.predict(wild), low - (high - low) / 2, high + (high - low) / 2)
    np.testing.assert_array_equal(ours.predict(wild), expected)
    for copy in (ours, pickle.loads(pickle.dumps(ours))):
        np.testing.assert_allclose([copy.predict_one(x) for x in wild], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(copy.predict(wild), expected)


def test_one_row_at_a_time_and_late_targets_are_bounded_alike():
    X, y = rows()
    blocks, single = OnlineLSSVMRegressor(**HOW), OnlineLSSVMRegressor(**HOW)
    found = blocks.prequential(X, y).y_pred
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        if i:
            assert single.predict_one(x) == pytest.approx(found[i], rel=1e-9, abs=1e-9)
        single.update(x, target)
    late = OnlineLSSVMRegressor(**HOW).prequential(X, y, delay=5).y_pred
    known = bounded(np.full(len(y), np.inf), y, np.ones(len(y)))  # the upper bound, of the targets before each row
    assert (late[6:] <= known[1:-5]).all()


def test_a_stream_that_learns_widths_forgets_no_bound():
    X, y = rows(1500)
    y[5] = 40.0  # seen once, and not by the challengers
    model = OnlineLSSVMRegressor(max_basis=30, learn_rows=200)
    model.prequential(X, y)
    assert model._course.before > 5  # the present model began later
    np.testing.assert_allclose(model._core.target_range, [[y.min()], [y.max()]])


def test_a_few_wild_rows_do_not_ruin_a_stream():
    X, y = rows(2000)
    error = OnlineLSSVMRegressor(max_basis=100).prequential(X, y).error
    # unbounded, the errors of the wild rows are thousands
    assert np.sqrt(np.mean(error[200:] ** 2)) < y.std()


def test_what_is_given_and_classes_have_no_bounds():
    X, y = rows()
    for model in (
        OnlineLSSVMRegressor(linear=True, **HOW).partial_fit(X, y),
        OnlineLSSVMRegressor(linear=False, **HOW).partial_fit(X, y),
        OnlineLSSVMRegressor(**HOW).fit(X, y),
        OnlineLSSVMClassifier(**HOW).partial_fit(X, y > 0),
    ):
        assert len(model._core.bounds) == 0


@pytest.mark.parametrize("outputs", [1, 2])
def test_onnx_has_the_bounds(outputs):
    pytest.importorskip("onnx", reason="onnx is not installed")
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    X, y = rows(outputs=outputs)
    model = OnlineLSSVMRegressor(**HOW).partial_fit(X, y)
    graph = to_onnx(model, dtype="float64").SerializeToString()
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    found = session.run(["variable"], {"X": 50 * X})[0]
    expected = model.predict(50 * X).reshape(found.shape)
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


@compiled
@pytest.mark.parametrize("outputs", [1, 2])
def test_c_has_the_bounds(outputs, tmp_path):
    X, y = rows(outputs=outputs)
    model = OnlineLSSVMRegressor(**HOW).partial_fit(X, y)
    found = build(tmp_path, to_c(model, dtype="float64"), PLAIN.replace("ANSWER", ""), "float64")(50 * X)
    expected = model.predict(50 * X).reshape(found.shape)
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


def test_files_keep_the_bounds(tmp_path):
    X, y = rows()
    model = OnlineLSSVMRegressor(**HOW).partial_fit(X, y)
    model.save(tmp_path / "m.npz")
    again = kernsift.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.predict(50 * X), model.predict(50 * X))
    for each in (model, again):
        each.update(X[0], 99.0)
    np.testing.assert_array_equal(again.predict(50 * X), model.predict(50 * X))
