"""State machines over the river adapters: features and classes that come, go and come back, against the definition.

What they promise (:mod:`kernsift.river`): a feature a row does not have counts as 0, one that comes for the first time
was 0 before, and a class that comes late had targets of 0 until then, all exactly as if it had been there from the
beginning.  So the oracle has every feature and every class from the first row on.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import oracles
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracles.dense_stream import DenseStream
from oracles.memories import Memories
from support.machines import TOLERANCE
from support.streams import through_a_file

pytest.importorskip("river", reason="needs river: pip install 'kernsift[river]'")
pd = pytest.importorskip("pandas", reason="needs pandas")

from kernsift.river import OnlineLSSVMClassifier, OnlineLSSVMRegressor  # noqa: E402

NAMES = ["a", "b", 3, ("d", 4), "e"]  # river's names are whatever can be a key
LABELS = ["left", "right", 7]
GAMMA = {"rbf": 0.5, "laplacian": 0.3, "matern32": 0.2, "polynomial": 0.2, "linear": 1.0}


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "save and load": through_a_file,
}


class FeatureMachine(RuleBasedStateMachine):
    """`model` gets rows and frames; `rows`, fed one by one, tells the oracle what joined and what left."""

    kind = OnlineLSSVMRegressor

    @initialize(data=st.data(), seed=st.integers(0, 2**32 - 1))
    def begin(self, data, seed):
        self.rng = np.random.default_rng(seed)
        kernel = data.draw(st.sampled_from(sorted(GAMMA)), "kernel")
        parameters = {
            "kernel": kernel,
            "gamma": data.draw(st.sampled_from([GAMMA[kernel], None]), "gamma"),
            "alpha": data.draw(st.sampled_from([1e-2, 0.1, 3.0]), "alpha"),
            "novelty_tol": data.draw(st.sampled_from([1e-2, 0.1, 0.4]), "novelty_tol"),
            "max_basis": data.draw(st.sampled_from([None, 1, 3, 8]), "max_basis"),
            "fit_intercept": data.draw(st.booleans(), "fit_intercept"),
            "forgetting": data.draw(st.sampled_from([1.0, 0.9, 0.99]), "forgetting"),
            "linear": False,
        }
        if parameters["forgetting"] == 1.0:
            parameters["exact_rows"] = data.draw(st.sampled_from([0, 5, 40]), "exact_rows")
        self.model, self.rows = self.kind(**parameters), self.kind(**parameters)
        self.dense, self.met, self.labels = None, [], []

    # --- rows ---

    def draw_row(self, names):
        """One value a name, now and then 0 as if it were missing."""
        return {name: float(self.rng.choice([self.rng.normal(), 0.0], p=[0.9, 0.1])) for name in names}

    def draw_target(self, x, label):
        return float(np.sin(2 * sum(x.values())) + x.get("a", 0.0) + 0.1 * self.rng.normal())

    def code(self, y):
        """The target as the oracle has it."""
        return np.array([y])

    def place(self, x):
        return np.array([x.get(name, 0.0) for name in NAMES])

    def start_oracle(self, names):
        width = 1.0 / len(names) if self.model.gamma is None else self.model.gamma
        kernel = oracles.kernel_function(self.model.kernel, width, dtype=np.float64)
        outputs = len(self.code(LABELS[0] if self.kind is OnlineLSSVMClassifier else 0.0))
        constant = {"fit_intercept": self.model.fit_intercept}
        if self.model.forgetting < 1:
            factors = [self.model.forgetting]
            level = self.kind is not OnlineLSSVMClassifier
            self.dense = Memories(kernel, self.model.alpha, factors, len(NAMES), outputs, level=level, **constant)
        else:
            ring = self.model.exact_rows
            self.dense = DenseStream(kernel, self.model.alpha, len(NAMES), outputs, exact_rows=ring, **constant)

    def note(self, names, y):
        self.met += [name for name in names if name not in self.met]
        if y not in self.labels:
            self.labels.append(y)

    def follow(self, x, y, w=1.0):
        if self.dense is None:
            self.start_oracle(list(x))
        before = list(self.dense.ids)
        self.rows.learn_one(x, y, w=w)
        self.note(x, y)
        after = self.rows._core.indices.tolist()
        evicted = [i for i in before if i not in after]
        assert len(evicted) <= 1
        self.dense.learn(self.place(x), self.code(y), w, self.dense.seen in after, *(evicted or [None]), True)
        assert after == self.dense.ids

    # --- what may happen ---

    @rule(
        names=st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
        label=st.sampled_from(LABELS),
        w=st.sampled_from([1.0, 1.0, 0.3, 3.0, 0.0]),
    )
    def learn_one(self, names, label, w):
        """Any features in any order: new ones come, known ones are missing."""
        if self.dense is None:
            w = 1.0  # a stream does not begin with a weight of zero
        x = self.draw_row(names)
        y = self.draw_target(x, label)
        self.model.learn_one(x, y, w=w)
        self.follow(x, y, w)

    @precondition(lambda self: self.dense is not None)
    @rule(n=st.integers(1, 12))
    def learn_rows_of_known_features(self, n):
        for _ in range(n):
            x = self.draw_row(self.met)
            y = self.draw_target(x, self.labels[0])
            self.model.learn_one(x, y)
            self.follow(x, y)

    @rule(n=st.integers(0, 80), names=st.lists(st.sampled_from(NAMES), min_size=1, unique=True), data=st.data())
    def learn_many(self, n, names, data):
        """A frame with any columns; 64 rows are learned together in the core."""
        rows = [self.draw_row(names) for _ in range(n)]
        labels = data.draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3), "labels")
        targets = [self.draw_target(x, labels[i % len(labels)]) for i, x in enumerate(rows)]
        columns = {name: [x[name] for x in rows] for name in names}
        frame = pd.DataFrame(columns, columns=pd.Index(names, tupleize_cols=False))
        self.model.learn_many(frame, pd.Series(targets, dtype=object if self.kind is OnlineLSSVMClassifier else float))
        for x, y in zip(rows, targets, strict=True):
            self.follow(x, y)

    @rule(how=st.sampled_from(sorted(COPIES)))
    def copy(self, how):
        self.model, left_behind = COPIES[how](self.model), self.model
        # nothing is shared with what it was copied from, new features least of all
        x = self.draw_row(NAMES)
        left_behind.learn_one(x, self.draw_target(x, LABELS[-1]))

    @rule()
    def clone(self):
        fresh = self.model.clone()
        assert fresh.features == []
        assert fresh.n_basis == 0
        assert fresh._get_params() == self.model._get_params()

    @rule(
        bad=st.sampled_from([float("nan"), float("inf"), "red", None]),
        names=st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
        weight=st.booleans(),
    )
    def refuse(self, bad, names, weight):
        """Nothing of a refused row stays: no feature, no class."""
        x = self.draw_row(names)
        y = self.draw_target(x, LABELS[-1])
        before = pickle.dumps(self.model)
        if weight:
            with pytest.raises(ValueError, match="w is -1"):
                self.model.learn_one(x, y, w=-1.0)
        else:
            x[names[-1]] = bad
            with pytest.raises(ValueError, match="feature"):
                self.model.learn_one(x, y)
        assert pickle.dumps(self.model) == before

    # --- and what must be true after it ---

    def answer(self, x):
        return np.atleast_1d(self.model.predict_one(x))

    @invariant()
    def answers_by_definition(self):
        if getattr(self, "dense", None) is None:
            return
        assert sorted(map(str, self.model.features)) == sorted(map(str, self.met))
        # in the oracle's order of features, zero for those not met
        basis = np.zeros((self.model.n_basis, len(NAMES)))
        basis[:, [NAMES.index(name) for name in self.model.features]] = self.model._core.basis
        np.testing.assert_array_equal(basis, self.dense.basis)
        assert self.model._core.indices.tolist() == self.dense.ids
        atol = TOLERANCE * max(1.0, float(np.abs(self.dense.Y).max(initial=1.0)))
        for names in (self.met, self.met[::-1][:2], [*self.met[:1], "never met"]):
            x = self.draw_row(names)
            known = {name: value for name, value in x.items() if name in self.met}  # others have no say
            np.testing.assert_allclose(self.answer(x), self.dense.predict(self.place(known)[None])[0], atol=atol)


class ClassMachine(FeatureMachine):
    """The same of the classifier, with classes that come late."""

    kind = OnlineLSSVMClassifier

    def draw_target(self, x, label):
        return label

    def code(self, y):
        return np.array([float(label == y) for label in LABELS])

    def answer(self, x):
        """Scores in the oracle's order; a class not met scores what targets of 0 give: 0."""
        assert sorted(map(str, self.model.classes)) == sorted(map(str, self.labels))
        scores = np.zeros(len(LABELS))
        places = [LABELS.index(label) for label in self.model.classes]
        scores[places] = self.model._core.predict_one(self.model._values(x))
        odds = self.model.predict_proba_one(x)
        assert sum(odds.values()) == pytest.approx(1)
        assert odds[self.model.predict_one(x)] == max(odds.values())
        return scores


TestFeatures = FeatureMachine.TestCase
TestFeatures.settings = settings(deadline=None, stateful_step_count=15)
TestClasses = ClassMachine.TestCase
TestClasses.settings = settings(deadline=None, stateful_step_count=15)
