"""`class_weight` of every classifier is exactly the weights of rows that it stands for."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from kernsift import (
    KernelClassifier,
    LSSVMClassifier,
    OnlineLSSVMClassifier,
    OROLSClassifier,
    SparseLSSVMClassifier,
    SubsetLSSVMClassifier,
)
from sklearn.utils.class_weight import compute_sample_weight

CLASSIFIERS = [
    OnlineLSSVMClassifier(gamma=0.5, max_basis=20),
    SubsetLSSVMClassifier(gamma=0.5, max_basis=20, random_state=0),
    LSSVMClassifier(gamma=0.5),
    SparseLSSVMClassifier(gamma=0.5, max_basis=20, random_state=0),
    OROLSClassifier(gamma=0.5, max_basis=20),
    OROLSClassifier(gamma=0.5, max_basis=20, basis="shared"),
    KernelClassifier(random_state=0, settings={"gamma": 0.5, "max_basis": 20, "kernel": "rbf"}),
]
each = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)


def table(rng, classes, n=160):
    X = rng.uniform(-2, 2, (n, 2))
    y = np.asarray(classes)[np.digitize(X[:, 0] + 0.4 * rng.standard_normal(n), [1.0, 1.6][: len(classes) - 1])]
    return X, y, rng.integers(0, 3, n).astype(float)


def copy_of(model, **how):
    return pickle.loads(pickle.dumps(model)).set_params(**how)


@each
@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1, 5]], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_dict_is_the_weights_by_hand(model, classes, weighted, rng):
    X, y, v = table(rng, classes)
    factor = np.where(y == classes[1], 3.5, np.where(y == classes[0], 0.25, 1.0))
    by_hand = copy_of(model).fit(X, y, sample_weight=factor * v if weighted else factor)
    given = copy_of(model, class_weight={classes[1]: 3.5, classes[0]: 0.25})
    given.fit(X, y, sample_weight=v if weighted else None)
    np.testing.assert_array_equal(given.decision_function(X), by_hand.decision_function(X))
    assert np.abs(given.decision_function(X) - copy_of(model).fit(X, y).decision_function(X)).max() > 1e-3


@each
@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1, 5]], ids=str)
def test_balanced_is_the_weights_of_scikit_learn(model, classes, rng):
    X, y, v = table(rng, classes)
    given = copy_of(model, class_weight="balanced").fit(X, y)
    by_hand = copy_of(model).fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    # the same numbers to the last digits of a sum
    np.testing.assert_allclose(given.decision_function(X), by_hand.decision_function(X), rtol=0, atol=1e-6)
    # a row of weight two is two rows
    given = copy_of(model, class_weight="balanced").fit(X, y, sample_weight=v)
    counts = {c: v[y == c].sum() for c in classes}
    factor = np.array([v.sum() / (len(classes) * counts[c]) for c in y.tolist()])
    by_hand = copy_of(model).fit(X, y, sample_weight=v * factor)
    np.testing.assert_allclose(given.decision_function(X), by_hand.decision_function(X), rtol=0, atol=1e-6)


@each
def test_what_cannot_be_a_weight_is_refused(model, rng):
    X, y, _ = table(rng, ["no", "yes"])
    for wrong in ({"no": -1.0}, {"no": np.nan}, {"no": "much"}, {"nope": 2.0, "yes": 1.0}, "even", 3.0):
        with pytest.raises(ValueError, match="class_weight"):
            copy_of(model, class_weight=wrong).fit(X, y)
    with pytest.raises(ValueError, match="class_weight times sample_weight"):
        copy_of(model, class_weight={"no": 1e80}).fit(X, y, sample_weight=np.full(len(y), 1e80))
    with pytest.raises(ValueError, match="at least 2 classes"):
        copy_of(model, class_weight={"no": 0.0}).fit(X, y)


@pytest.mark.parametrize("verb", ["partial_fit", "update", "prequential"])
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_balanced_on_a_stream_goes_by_the_rows_so_far(first, verb, rng):
    X, y, v = table(rng, ["no", "yes", "late"], 200)
    v += 0.5
    y[:120] = np.where(y[:120] == "late", "no", y[:120])
    if first == "fit":
        y[120:] = np.where(y[120:] == "late", "no", y[120:])
    begun = 40
    classes = np.unique(y)
    counts, weight = dict.fromkeys(classes.tolist(), 0.0), v.copy()
    for i, label in enumerate(y.tolist()):
        counts[label] += v[i]
        seen = sum(count > 0 for count in counts.values())
        weight[i] *= sum(counts.values()) / (seen * counts[label])
    if first == "fit":
        known = {c: v[:begun][y[:begun] == c].sum() for c in np.unique(y[:begun]).tolist()}
        weight[:begun] = [
            w * v[:begun].sum() / (len(known) * known[c]) for w, c in zip(v, y[:begun].tolist(), strict=False)
        ]
    plain = OnlineLSSVMClassifier(gamma=0.5, max_basis=20)
    balanced, by_hand = copy_of(plain, class_weight="balanced"), copy_of(plain)
    getattr(balanced, first)(X[:begun], y[:begun], sample_weight=v[:begun])
    getattr(by_hand, first)(X[:begun], y[:begun], sample_weight=weight[:begun])
    for model, weights in ((balanced, v), (by_hand, weight)):
        if verb == "update":
            for x, label, w in zip(X[begun:], y[begun:], weights[begun:], strict=True):
                model.update(x, label, w)
        else:
            getattr(model, verb)(X[begun:], y[begun:], sample_weight=weights[begun:])
    np.testing.assert_array_equal(balanced.basis_indices_, by_hand.basis_indices_)
    # the weights agree to the last digits of a sum
    np.testing.assert_allclose(balanced.decision_function(X), by_hand.decision_function(X), rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="class_weight was 'balanced'"):
        balanced.set_params(class_weight=None).partial_fit(X, y)


@pytest.mark.parametrize("verb", ["partial_fit", "update", "prequential"])
def test_a_dict_on_a_stream(verb, rng):
    X, y, v = table(rng, ["no", "yes"])
    factor = np.where(y == "yes", 3.0, 1.0)
    plain = OnlineLSSVMClassifier(gamma=0.5, max_basis=20)
    given, by_hand = copy_of(plain, class_weight={"yes": 3.0}), copy_of(plain)
    for model, weights in ((given, v), (by_hand, v * factor)):
        if verb == "update":
            for x, label, w in zip(X, y, weights, strict=True):
                if model._core is not None or w > 0:
                    model.update(x, label, w)
        else:
            getattr(model, verb)(X, y, sample_weight=weights)
    np.testing.assert_array_equal(given.decision_function(X), by_hand.decision_function(X))


def test_parts_take_numbers(rng):
    X, y, v = table(rng, ["no", "yes"])
    model = SubsetLSSVMClassifier(gamma=0.5, max_basis=20, random_state=0, class_weight="balanced")
    for call in (
        lambda m: m.partial_fit(X, y, classes=["no", "yes"]),
        lambda m: m.fit_batches([(X, y)]),
        lambda m: m.select_basis(X, y),
        lambda m: copy_of(m).fit(X, y).accumulate(X, y),
        lambda m: copy_of(m).fit(X, y).merge(copy_of(m).fit(X, y)),
        lambda m: KernelClassifier(class_weight="balanced").partial_fit(X, y, classes=["no", "yes"]),
    ):
        with pytest.raises(ValueError, match="class_weight='balanced'"):
            call(model)
    factor = np.where(y == "yes", 3.0, 1.0)
    given = copy_of(model, class_weight={"yes": 3.0})
    by_hand = copy_of(model, class_weight=None)
    batches = [slice(0, 80), slice(80, 160)]
    given.fit_batches((X[b], y[b], v[b]) for b in batches)
    by_hand.fit_batches((X[b], y[b], (v * factor)[b]) for b in batches)
    np.testing.assert_array_equal(given.decision_function(X), by_hand.decision_function(X))
