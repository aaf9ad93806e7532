"""Classes that come late on a stream: as if they had been known from the beginning and had had no rows."""

from __future__ import annotations

import copy
import pickle

import kernsift
import numpy as np
import oracles
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift import OnlineLSSVMClassifier, export
from oracles.memories import Memories
from support.streams import through_a_file

SETTINGS = {
    "one memory": {"gamma": 0.5, "forgetting": 1.0, "linear": False},
    "linear": {"gamma": 0.5, "forgetting": 1.0, "linear": True},
    "memories": {"gamma": 0.5},
    "no constant": {"gamma": 0.5, "fit_intercept": False},
    "recent rows": {"gamma": 0.5, "exact_rows": 30},
    "window": {"gamma": 0.5, "window": 60},
    "literal": {"gamma": 0.5, "engine": "inverse"},
    "ridge": {"gamma": 0.5, "alpha": "gcv"},
    "standard": {"gamma": "standard"},
    "widths": {"learn_rows": 150},
}


def stream(rng, n=600):
    """Rows of two classes, and from the middle on of four."""
    X = rng.uniform(-2, 2, (n, 2))
    y = np.array(["m", "t"])[(X[:, 0] + 0.2 * rng.standard_normal(n) > 0).astype(int)]
    late = np.arange(n) > n // 2
    y[late & (X[:, 1] > 1.2)] = "z"
    y[late & (X[:, 1] < -1.4)] = "a"
    return X, y


@pytest.mark.parametrize("verb", ["partial_fit", "update", "prequential"])
@pytest.mark.parametrize("how", SETTINGS)
def test_a_late_class_is_one_without_rows(how, verb, rng):
    """The definition: bit for bit the model that was given all names in the first call."""
    X, y = stream(rng)
    told, late = (OnlineLSSVMClassifier(max_basis=25, **SETTINGS[how]) for _ in range(2))
    told.partial_fit(X[:40], y[:40], classes=["a", "m", "t", "z"])
    late.partial_fit(X[:40], y[:40])
    np.testing.assert_array_equal(late.classes_, ["m", "t"])
    for model in (told, late):
        if verb == "update":
            for x, label in zip(X[40:], y[40:], strict=True):
                model.update(x, label)
        else:
            getattr(model, verb)(X[40:], y[40:])
    np.testing.assert_array_equal(late.classes_, ["a", "m", "t", "z"])
    np.testing.assert_array_equal(late.basis_indices_, told.basis_indices_)
    for read in ("predict", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(late, read)(X), getattr(told, read)(X))
    assert late.predict_one(X[0]) == told.predict_one(X[0])
    np.testing.assert_array_equal(late.predict_proba_one(X[0]), told.predict_proba_one(X[0]))
    assert late.temperature_ == told.temperature_
    assert {"a", "z"} <= set(late.predict(X))


@pytest.mark.parametrize("how", SETTINGS)
def test_columns_of_zeros_change_nothing_in_the_core(how, rng):
    """The core with all columns from its first row on; other sums over the outputs round otherwise."""
    X, y = stream(rng, 300)
    targets = (y[:, None] == np.array(["t", "m", "z", "a"])).astype(float)
    model = OnlineLSSVMClassifier(max_basis=25, **SETTINGS[how]).partial_fit(X[:1], ["t"])
    core = model._core
    whole = type(core)(core.kernel, **core.settings | {"n_outputs": 4})
    one = np.ones(300)
    whole.learn(X[:1], targets[:1], one[:1])
    for i in range(1, 300):
        known = int(np.flatnonzero(targets[: i + 1].any(axis=0)).max()) + 1
        if known > core.n_outputs:
            core = core.add_outputs(known - core.n_outputs)
        core.learn(X[i : i + 1], np.ascontiguousarray(targets[i : i + 1, : core.n_outputs]), one[:1])
        whole.learn(X[i : i + 1], targets[i : i + 1], one[:1])
    np.testing.assert_array_equal(core.indices, whole.indices)
    np.testing.assert_allclose(core.predict(X), whole.predict(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("how", ["one memory", "memories", "widths"])
def test_blocks_are_rows(how, rng):
    X, y = stream(rng)
    blocks, rows = (OnlineLSSVMClassifier(max_basis=25, **SETTINGS[how]) for _ in range(2))
    blocks.partial_fit(X, y)
    predicted = [None]
    rows.update(X[0], y[0])
    for x, label in zip(X[1:], y[1:], strict=True):
        predicted.append(rows.predict_one(x))
        rows.update(x, label)
    np.testing.assert_array_equal(blocks.basis_indices_, rows.basis_indices_)
    np.testing.assert_allclose(blocks.decision_function(X), rows.decision_function(X), rtol=0, atol=1e-8)
    assert blocks.temperature_ == pytest.approx(rows.temperature_, rel=1e-8)
    # and nobody knows of a class before it has come
    result = OnlineLSSVMClassifier(max_basis=25, **SETTINGS[how]).prequential(X, y)
    np.testing.assert_array_equal(result.y_pred[1:], predicted[1:])
    np.testing.assert_array_equal(result.error, result.y_pred != y)


@pytest.mark.parametrize("delay", [0, 7])
def test_no_class_is_predicted_before_its_first_row_was_learned(delay, rng):
    X, y = stream(rng)
    y_pred = OnlineLSSVMClassifier(gamma=0.5).prequential(X, y, delay=delay).y_pred
    for label in "az":
        first = int(np.flatnonzero(y == label)[0])
        assert label not in y_pred[delay + 1 : first + delay + 1]  # before that nothing is known
        assert label in y_pred[first + delay + 1 :]


def test_scores_are_those_of_plus_and_minus_one(rng):
    """On one dictionary the scores are the least-squares solution of the memory, on targets of -1 and 1."""
    X, y = stream(rng, 120)
    labels = ["a", "m", "t", "z"]
    model = OnlineLSSVMClassifier(gamma=0.5, forgetting=0.97, linear=False, admission="novelty", novelty_tol=0.3)
    kernel = oracles.kernel_function("rbf", 0.5, dtype=np.float64)
    dense = Memories(kernel, 0.1, [0.97], 2, 4, level=False, fit_intercept=True)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        before = model.basis_indices_.tolist() if i else []
        model.update(x, label)
        joined = i in model.basis_indices_ and i not in before
        dense.learn(x, np.where(np.array(labels) == label, 1.0, -1.0), 1.0, joined, None, True)
    # six digits to spare: the condition of this dictionary is below 1e4
    np.testing.assert_allclose(model.decision_function(X), dense.predict(X), rtol=0, atol=1e-8)


def test_one_class_is_a_model(rng):
    X = rng.standard_normal((20, 2))
    model = OnlineLSSVMClassifier(gamma=0.5)
    model.update(X[0], 5)
    np.testing.assert_array_equal(model.classes_, [5])
    assert model.predict_one(X[1]) == 5
    np.testing.assert_array_equal(model.predict(X), np.full(20, 5))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((20, 1)))
    np.testing.assert_array_equal(model.predict_proba_one(X[0]), [1.0])
    with pytest.raises(ValueError, match="one class"):
        export.to_c(model)
    model.update(X[1], 3)
    np.testing.assert_array_equal(model.classes_, [3, 5])
    assert model.decision_function(X).shape == (20,)


def test_what_is_closed_or_of_another_kind_is_refused_and_changes_nothing(rng):
    X, y = (part[:40] for part in stream(rng, 90))
    for model, label, match in (
        (OnlineLSSVMClassifier(gamma=0.5).partial_fit(X, y, classes=["m", "t"]), "z", "classes="),
        (OnlineLSSVMClassifier(gamma=0.5).partial_fit(X, y), 3, "one kind"),
    ):
        before = pickle.dumps(model)
        for learn in (
            lambda m, c: m.update(X[0], c),
            lambda m, c: m.partial_fit(X[:2], np.array([c, c])),
            lambda m, c: m.prequential(X[:2], np.array([c, c])),
            lambda m, c: m.refit(X[:2], np.array([c, c])),
        ):
            with pytest.raises(ValueError, match="labels"):
                learn(model, label)
        with pytest.raises(ValueError, match=match):
            model.update(X[0], label)
        assert pickle.dumps(model) == before


def test_rows_of_weight_zero_bring_no_class(rng):
    X, y = (part[:40] for part in stream(rng, 90))
    model = OnlineLSSVMClassifier(gamma=0.5).partial_fit(X, y)
    model.partial_fit(X[:2], ["new", "m"], sample_weight=[0.0, 1.0])
    model.update(X[0], "new", 0.0)
    np.testing.assert_array_equal(model.classes_, ["m", "t"])


def test_a_trial_of_widths_goes_on(rng):
    """A class that comes while two models compete is given to both."""
    X, y = stream(rng, 900)
    model = OnlineLSSVMClassifier(max_basis=25)
    while model._challenger is None:
        i = 0 if model._core is None else model.n_samples_seen_
        model.update(X[i], "m" if X[i, 0] < 0 else "t")
    trial = model._course.trial
    model.update(X[0], "new")
    assert model._challenger is not None
    assert model._challenger.n_outputs == model._core.n_outputs == 3
    assert len(model._course.trial.unit) == 3
    assert model._course.trial.rows >= trial.rows
    model.partial_fit(X[:300], y[:300])


def test_exports_and_attributes(rng):
    X, y = stream(rng)
    model = OnlineLSSVMClassifier(gamma=0.5, max_basis=25, linear=False).partial_fit(X, y)
    scores = kernsift.base.kernel.Kernel("rbf", model.gamma_, 3, 1.0, X[0]).matrix(X, model.basis_vectors_)
    expected = scores @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-10)
    assert model.cost_.shape == model.noise_variance_.shape == model.gcv_.shape == (4,)
    assert all(np.shape(expert["error"]) == (4,) for expert in model.experts_)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    described = export._model.describe(model)
    np.testing.assert_allclose(described.scores(X), model.decision_function(X), rtol=0, atol=1e-10)
    assert "a" in export.to_c(model)
    model.prune(10)
    refitted = model.refit(X, y)
    assert refitted.n_basis_ == 10


class ClassesMachine(RuleBasedStateMachine):
    """A model that was given all names, and one that meets them; any verb, copy, file or deletion between."""

    @initialize(seed=st.integers(0, 2**32 - 1), how=st.sampled_from(sorted(SETTINGS)), balanced=st.booleans())
    def begin(self, seed, how, balanced):
        self.rng = np.random.default_rng(seed)
        self.how = how
        given = SETTINGS[how] | {"max_basis": 12, "class_weight": "balanced" if balanced else None}
        self.told, self.late = (OnlineLSSVMClassifier(**given) for _ in range(2))
        self.begun = False
        self.learn("partial_fit", [0], 1)

    def learn(self, verb, labels, n):
        X = self.rng.normal(size=(n, 2))
        y = np.array([3, 1, 4, 15])[self.rng.choice(labels, n)]
        first = {} if self.begun else {"classes": [1, 3, 4, 15]}
        if verb == "update":
            for x, label in zip(X, y.tolist(), strict=True):
                self.told.update(x, label)
                self.late.update(x, label)
        else:
            getattr(self.told, verb)(X, y, **first)
            getattr(self.late, verb)(X, y)
        self.begun = True

    @rule(
        verb=st.sampled_from(["partial_fit", "update", "prequential"]),
        labels=st.lists(st.integers(0, 3), min_size=1, unique=True),
        n=st.sampled_from([1, 3, 40, 140]),
    )
    def go_on(self, verb, labels, n):
        self.learn(verb, labels, n)

    @rule(way=st.sampled_from(["pickle", "deepcopy", "file"]))
    def copied(self, way):
        copies = {"pickle": lambda m: pickle.loads(pickle.dumps(m)), "deepcopy": copy.deepcopy, "file": through_a_file}
        self.told, self.late = copies[way](self.told), copies[way](self.late)

    @precondition(lambda self: self.how != "literal" and self.late.n_basis_ > 3)
    @rule()
    def prune(self):
        self.told.prune(3)
        self.late.prune(3)

    @invariant()
    def they_are_one(self):
        if not getattr(self, "begun", False):
            return
        X = np.linspace(-2, 2, 10).reshape(5, 2)
        np.testing.assert_array_equal(self.late.basis_indices_, self.told.basis_indices_)
        code = np.searchsorted(self.told.classes_, self.late.classes_)
        if len(code) > 2:  # of two classes there is one score
            mine, other = self.late.decision_function(X), self.told.decision_function(X)
            np.testing.assert_array_equal(mine, other[:, code])
        assert self.late.temperature_ == self.told.temperature_


TestClassesMachine = ClassesMachine.TestCase
TestClassesMachine.settings = settings(max_examples=15, stateful_step_count=10, deadline=None)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_of_another_type_is_the_same_row(n_classes, rng):
    X = rng.standard_normal((60, 2)).astype(np.float32)
    y = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.5, 0.5])
    model = OnlineLSSVMClassifier(max_basis=10).partial_fit(X, y)
    for row in X[:20]:
        for other in (row, row.astype(object), list(row), np.repeat(row, 2)[::2]):
            assert model.predict_one(other) == model.predict_one(row.astype(np.float64))
            np.testing.assert_array_equal(model.predict_proba_one(other), model.predict_proba_one(row.astype(float)))


def test_any_delay_is_a_delay(rng):
    X = rng.standard_normal((30, 2))
    found = OnlineLSSVMClassifier(max_basis=10).partial_fit(X, X[:, 0] > 0).prequential(X, X[:, 0] > 0, delay=10**30)
    assert len(found.y_pred) == 30
