"""Sets of classes on streams: against their recursion, however rows come, and what part of the rows they contain."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import OnlineLSSVMClassifier
from oracles.set_coverage import LEVELS, bounds

# gamma is given, so that no challenger takes the model's place
SETTINGS = {"gamma": 0.7, "max_basis": 20}


def stream(n, seed=0, classes=3, drift="turn"):
    """Overlapping classes on a circle, which turns, jumps, gets noisier or loses a class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    time = np.arange(n) / n
    if drift == "unlike sizes":
        labels = np.where(rng.random(n) < 0.3 + 0.6 * time, 0, labels)
    angle = {"turn": 2 * time, "jump": 2.0 * (time > 0.5)}.get(drift, 0.0) + 2 * np.pi * labels / classes
    noise = 0.4 + 0.8 * time if drift == "noise" else 0.7
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + np.asarray(noise).reshape(-1, 1) * rng.standard_normal((n, 2))
    return X, labels


def told(model, X, labels, delay=0):
    """Probabilities of the own classes said before each row was learned, one at a time."""
    own = []
    for x, label in zip(X, labels, strict=True):
        own.append(model.predict_proba_one(x)[np.searchsorted(model.classes_, label)])
        model.update(x, label)
    return np.array(own)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_BEYOND_B14_sets_follow_the_probabilities_said_before(classes):
    X, labels = stream(400, classes=classes)
    model = OnlineLSSVMClassifier(**SETTINGS).partial_fit(X[:60], labels[:60])
    start = np.array(model._calibration[3:])
    fresh = bounds([])[0]
    model._calibration = (*model._calibration[:3], 1.0, 1.0, *fresh)
    assert len(start) == 2 + len(LEVELS)
    own = told(model, X[60:], labels[60:])
    expected = bounds(own)[-1]
    np.testing.assert_allclose(model._calibration[5:], expected, rtol=1e-9)
    probabilities = model.predict_proba(X)
    for level, coverage in enumerate(LEVELS):
        sets = probabilities >= 1 / (1 + np.exp(np.max(expected[: level + 1])))
        sets[np.arange(len(sets)), probabilities.argmax(axis=1)] = True
        np.testing.assert_array_equal(model.predict_set(X, coverage), sets)
        np.testing.assert_array_equal(model.predict_set_one(X[7], coverage), sets[7])


@pytest.mark.parametrize("classes", [2, 3])
def test_sets_of_prequential_are_those_before_each_row(classes):
    X, labels = stream(300, seed=1, classes=classes)
    rows = OnlineLSSVMClassifier(**SETTINGS).partial_fit(X[:80], labels[:80])
    blocks, plain = pickle.loads(pickle.dumps(rows)), pickle.loads(pickle.dumps(rows))
    found = blocks.prequential(X[80:], labels[80:], coverage=0.9)
    np.testing.assert_array_equal(found.y_pred, plain.prequential(X[80:], labels[80:]).y_pred)
    expected = []
    for x, label in zip(X[80:], labels[80:], strict=True):
        expected.append(rows.predict_set_one(x))
        rows.update(x, label)
    np.testing.assert_array_equal(found.sets, expected)


@pytest.mark.parametrize("delay", [0, 9, 70])
def test_a_set_knows_no_label_that_is_late(delay):
    X, labels = stream(400, seed=1)
    kept = 250
    other = np.where(np.arange(400) < kept, labels, (labels + 1) % 3)
    one, two = (
        OnlineLSSVMClassifier(**SETTINGS).prequential(X, y, classes=[0, 1, 2], coverage=0.9, delay=delay)
        for y in (labels, other)
    )
    np.testing.assert_array_equal(one.sets[: kept + delay + 1], two.sets[: kept + delay + 1])
    assert (one.sets[kept + delay + 1 :] != two.sets[kept + delay + 1 :]).any()


@pytest.mark.parametrize("delay", [0, 40])
@pytest.mark.parametrize("drift", ["turn", "jump", "noise", "unlike sizes"])
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_sets_contain_the_class_as_often_as_they_say(drift, delay, coverage):
    n = 4000
    X, labels = stream(n, seed=3, classes=4, drift=drift)
    found = OnlineLSSVMClassifier(max_basis=40).prequential(X, labels, coverage=coverage, delay=delay)
    hits = found.sets[np.arange(n), labels][200:]
    sizes = found.sets[200:].sum(axis=1)
    # four standard deviations of a binomial count and, after a jump, the rows whose labels are late
    spread = np.sqrt(coverage * (1 - coverage))
    late = delay if drift == "jump" else 0
    wrong = found.error[200:].mean()
    most = max(coverage, 1 - wrong)  # a set holds the most probable class
    assert hits.mean() > coverage - 4 * spread / np.sqrt(len(hits)) - late / len(hits)
    assert hits.mean() < most + 4 * spread / np.sqrt(len(hits))
    for quarter in np.array_split(hits, 4):
        assert quarter.mean() > coverage - 4 * spread / np.sqrt(len(quarter)) - late / len(quarter)
    assert 1 <= sizes.mean() < 4
    assert sizes.min() >= 1


def test_a_class_is_in_no_set_before_it_has_come():
    X, labels = stream(300, classes=3)
    labels = np.where((np.arange(300) < 150) & (labels == 2), 0, labels)
    first = int(np.flatnonzero(labels == 2)[0])
    found = OnlineLSSVMClassifier(**SETTINGS).prequential(X, labels, coverage=0.99)
    assert not found.sets[: first + 1, 2].any()
    assert found.sets[first + 50 :, 2].any()
    assert not found.sets[0].any()  # nothing had come
    named = OnlineLSSVMClassifier(**SETTINGS).prequential(X, labels, classes=[0, 1, 2], coverage=0.99)
    assert named.sets[:first, 2].any()


def test_sets_are_kept_by_copies_and_files_and_restarted_for_old_ones(tmp_path):
    X, labels = stream(300)
    model = OnlineLSSVMClassifier(**SETTINGS).partial_fit(X, labels)
    model.save(tmp_path / "model.npz")
    for twin in (kernsift.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.predict_set(X), model.predict_set(X))
    old = pickle.loads(pickle.dumps(model))
    old._calibration = old._calibration[:3]  # of an older version
    probabilities = old.predict_proba(X)
    sets = probabilities >= 0.1
    sets[np.arange(300), probabilities.argmax(axis=1)] = True
    np.testing.assert_array_equal(old.predict_set(X, 0.9), sets)
    assert len(old.partial_fit(X, labels)._calibration) == len(model._calibration)


def test_blocks_and_rows_have_the_same_sets():
    X, labels = stream(400)
    rows, blocks = OnlineLSSVMClassifier(**SETTINGS), OnlineLSSVMClassifier(**SETTINGS)
    for x, label in zip(X, labels, strict=True):
        rows.update(x, label)
    for first in range(0, 400, 130):
        blocks.partial_fit(X[first : first + 130], labels[first : first + 130])
    np.testing.assert_allclose(rows._calibration, blocks._calibration, rtol=1e-6)


def test_bad_coverage_leaves_the_model_as_it_was():
    X, labels = stream(60)
    model = OnlineLSSVMClassifier(**SETTINGS).partial_fit(X, labels)
    before = pickle.dumps(model)
    for coverage in (0, 1, "most"):
        for call in (
            lambda c: model.predict_set(X, c),
            lambda c: model.predict_set_one(X[0], c),
            lambda c: model.prequential(X, labels, coverage=c),
        ):
            with pytest.raises(ValueError, match="coverage"):
                call(coverage)
    assert pickle.dumps(model) == before
