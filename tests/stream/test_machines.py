"""State machines over the estimators: any interleaving of calls, after each the answer of the dense definition.

A hundred examples a machine by default; ``pytest tests/stream/test_machines*.py --hypothesis-profile nightly`` runs
thousands.
"""

from __future__ import annotations

import pickle

import numpy as np
import oracles
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor
from oracles.dense_stream import DenseStream
from oracles.input_noise import InputNoise
from oracles.memories import Memories
from sklearn.base import clone
from support.machines import BLOCKS, COPIES, GAMMA, SEEDS, TOLERANCE, of_profile


class OnlineMachine(RuleBasedStateMachine):
    """`model` gets blocks; `rows` is the same model fed row by row, and tells the oracle who came and who left."""

    outputs = st.integers(1, 2)

    @initialize(data=st.data(), seed=SEEDS)
    def begin(self, data, seed):
        self.rng, self.d = np.random.default_rng(seed), data.draw(st.integers(1, 3), "d")
        self.n_outputs = data.draw(self.outputs, "outputs")
        self.centre = self.rng.normal(size=self.d)
        self.new_model(data)
        self.rows = clone(self.model)
        self.dense = None

    def new_model(self, data):
        kernel = data.draw(st.sampled_from(sorted(GAMMA)), "kernel")
        common = {
            "kernel": kernel,
            "gamma": GAMMA[kernel],
            "alpha": data.draw(st.sampled_from([1e-2, 0.1, 3.0]), "alpha"),
            "novelty_tol": data.draw(st.sampled_from([1e-2, 0.1, 0.4]), "novelty_tol"),
            "max_basis": data.draw(st.sampled_from([None, 1, 3, 8]), "max_basis"),
        }
        kinds = ["plain", "memories", "exact", "window", "inverse", "krls"]
        kind = data.draw(st.sampled_from(kinds), "kind")
        if kind == "krls":
            on_full = data.draw(st.sampled_from(["stop", "drop-oldest", "prune"]), "on_full")
            self.model = KRLSRegressor(**common, on_full=on_full)
            return
        common["fit_intercept"] = data.draw(st.booleans(), "fit_intercept")
        common["admission"] = data.draw(st.sampled_from(["product", "two-part", "per-sample", "novelty"]), "admission")
        beyond = {"exact_rows": 0, "swap_until": None, "forgetting": 1.0, "linear": False, "noise": "constant"}
        if kind == "memories":
            beyond["forgetting"] = data.draw(st.sampled_from([1.0, 0.9, [0.99, 0.5], [1.0, 0.999, 0.9]]), "forgetting")
            # a single memory that does not fade has the oracle of the machine only with a linear part
            beyond["linear"] = beyond["forgetting"] == 1.0 or data.draw(st.booleans(), "linear")
            # quiet rows of a memory that forgets nothing are summed up: their errors are not those of rows one by one
            noises = ["constant", "input"] if beyond["forgetting"] == 1.0 else ["constant", "auto", "input"]
            beyond["noise"] = data.draw(st.sampled_from(noises), "noise")
        if kind == "exact":
            beyond["exact_rows"] = data.draw(st.sampled_from([1, 5, 40]), "exact_rows")
        if kind in ("memories", "exact") and common["max_basis"]:
            beyond["swap_until"] = data.draw(st.sampled_from([None, 20]), "swap_until")
        if kind == "window":
            beyond = {"window": data.draw(st.sampled_from([2, 15, 60]), "window"), "linear": False, "noise": "constant"}
        if common["max_basis"]:
            beyond["hysteresis"] = data.draw(st.sampled_from([1.0, 0.3]), "hysteresis")
            beyond["oversample"] = data.draw(st.sampled_from([1, 2]), "oversample")
        if kind == "inverse":
            beyond["engine"] = "inverse"
        self.model = OnlineLSSVMRegressor(**common, **beyond)

    # --- rows ---

    def draw(self, n, weights=True):
        """Rows, some of them again, of targets that move with the stream; a fifth of the weights is not one."""
        X = self.centre + self.rng.normal(size=(n, self.d))
        if n and self.dense is not None and len(self.dense.ids) and self.rng.uniform() < 0.3:
            X[self.rng.integers(n)] = self.dense.basis[self.rng.integers(len(self.dense.ids))]
        Y = np.column_stack([np.sin(2 * X[:, 0]) + i * X[:, -1] for i in range(self.n_outputs)]) + 1.0
        Y += 0.1 * self.rng.normal(size=Y.shape)
        v = self.rng.choice([0.0, 0.3, 1.0, 3.0], n, p=[0.05, 0.1, 0.8, 0.05]) if weights else np.ones(n)
        if n and self.dense is None:
            v[0] = 1.0  # a stream does not begin with weights of zero alone
        return X, Y, v

    def given(self, Y):
        """Targets as the estimator takes them."""
        return Y[:, 0] if self.n_outputs == 1 else Y

    def targets(self, Y):
        """And as the oracle does."""
        return Y

    def answer(self, X):
        return self.model.predict(X).reshape(len(X), -1)

    def cost(self):
        return np.atleast_1d(self.model.cost_)

    def feed(self, model, X, Y, v):
        model.partial_fit(X, self.given(Y), sample_weight=v)

    def start_oracle(self, first):
        get = self.model.get_params().get
        outputs = self.targets(np.zeros((1, self.n_outputs))).shape[1]
        kernel = oracles.kernel_function(self.model.kernel, GAMMA[self.model.kernel], dtype=np.float64)
        window, common = get("window"), {"fit_intercept": get("fit_intercept", False)}
        if self.model.linear or np.ravel(self.model.forgetting).tolist() not in ([1.0], ["auto"]):
            leading = int(common["fit_intercept"]) + (self.d if self.model.linear else 0)
            self.dense = Memories(
                kernel,
                self.model.alpha,
                np.ravel(self.model.forgetting).tolist(),
                self.d,
                outputs,
                scale=[1 / np.sqrt(self.d + 1)] * self.d if self.model.linear else [],
                centre=np.zeros(self.d) if self.model.kernel in ("polynomial", "linear") else first,
                level=not hasattr(self.model, "classes_"),
                noise=None if get("noise", "constant") == "constant" else InputNoise(leading, outputs),
                weigh=get("noise") == "input",
                **common,
            )
        else:
            ring = 0 if window else get("exact_rows", 0)
            self.dense = DenseStream(
                kernel, self.model.alpha, self.d, outputs, exact_rows=ring, window=window, **common
            )
        self.cap = None if self.model.max_basis is None else self.model.max_basis * get("oversample", 1)
        self.learned = 0  # rows of positive weight since the stream or its second pass began

    def keeps_ring(self):
        swap_until = self.model.get_params().get("swap_until")
        full = self.cap is not None and len(self.dense.ids) >= self.cap
        return self.dense.exact_rows > 0 and not (full and swap_until is not None and self.learned >= swap_until)

    def follow(self, X, Y, v, **told):
        """The rows one by one, and the oracle after them, which is also `told` what was predicted when they came."""
        if self.dense is None:
            self.start_oracle(X[0])
        for x, y, weight in zip(X, Y, v, strict=True):
            before, keeps = list(self.dense.ids), self.keeps_ring()
            self.feed(self.rows, x[None], y[None], np.array([weight]))
            after = self.rows.basis_indices_.tolist()
            admitted = self.dense.seen in after
            evicted = [i for i in before if i not in after]
            assert len(evicted) <= 1
            self.dense.learn(x, self.targets(y[None])[0], weight, admitted, *(evicted or [None]), keeps, **told)
            self.learned += weight > 0
            assert after == self.dense.ids

    # --- what may happen ---

    @rule(n=BLOCKS, weights=st.booleans())
    def learn(self, n, weights):
        X, Y, v = self.draw(n, weights)
        if n == 0 and self.dense is None:
            self.model.partial_fit(X, self.given(Y))
            assert not self.model.__sklearn_is_fitted__()
            return
        self.feed(self.model, X, Y, v)
        self.follow(X, Y, v)

    @rule(n=st.integers(1, 70))
    def fit(self, n):
        self.dense = None
        X, Y, v = self.draw(n)
        self.model.fit(X, self.given(Y), sample_weight=v)
        self.rows = clone(self.model)
        self.follow(X, Y, v)
        if self.model.get_params().get("oversample", 1) > 1 and self.model.max_basis is not None:
            self.prune_to(self.model.max_basis, self.rows)

    @precondition(lambda self: self.dense is not None)
    @rule(n=st.integers(1, 9))
    def prune(self, n):
        self.model.prune(n)
        self.prune_to(n, self.rows)

    def prune_to(self, n, model):
        """One by one: each time a kernel leaves whose leaving costs least."""
        while model.n_basis_ > n:
            keeps, before, rises = self.keeps_ring(), list(self.dense.ids), self.dense.rises()
            model.prune(len(before) - 1)
            (gone,) = set(before) - set(model.basis_indices_.tolist())
            # differences of two costs, each at most the squares of the targets
            squares = float(self.dense.weight @ (self.dense.Y**2).sum(axis=1))
            assert rises[before.index(gone)] <= rises.min() * (1 + 1e-6) + 1e-10 * squares
            self.dense.prune([gone], keeps)
        if len(self.dense.ids) <= n:
            keeps = self.keeps_ring()
            model.prune(n)
            self.dense.prune([], keeps)

    @precondition(lambda self: self.dense is not None and self.dense.window is None and self.dense.alpha > 0)
    @rule(n=st.integers(1, 60))
    def refit(self, n):
        if self.model.engine == "inverse":
            return
        X, Y, v = self.draw(n)
        v[0] = 1.0
        for model in (self.model, self.rows):
            model.refit(X, self.given(Y), sample_weight=v)
        self.dense.refit(X, self.targets(Y), v)
        self.learned = int((v > 0).sum())

    @precondition(lambda self: self.dense is not None)
    @rule(how=st.sampled_from(sorted(COPIES)))
    def copy(self, how):
        self.model, left_behind = COPIES[how](self.model), self.model
        # nothing is shared with what it was copied from
        X, Y, v = self.draw(3, weights=False)
        self.feed(left_behind, X, Y, v)

    @rule()
    def clone(self):
        fresh = clone(self.model)
        assert not fresh.__sklearn_is_fitted__()
        assert repr(fresh) == repr(self.model)

    @precondition(lambda self: self.dense is not None)
    @rule(name=st.sampled_from(["forgetting", "alpha", "max_basis", "gamma", "novelty_tol"]))
    def change_what_may_not_change(self, name):
        """Widths, ridge and forgetting are in the state: another value is refused until it is taken back."""
        X, Y, v = self.draw(2)
        begun = self.model.get_params()[name]
        before = pickle.dumps(self.model)
        self.model.set_params(**{name: 0.77 if name != "max_basis" else 77})
        with pytest.raises(ValueError, match=name):
            self.feed(self.model, X, Y, v)
        self.model.set_params(**{name: begun})
        assert pickle.dumps(self.model) == before

    @rule(n_jobs=st.sampled_from([None, 1, 2]))
    def change_what_may(self, n_jobs):
        self.model.set_params(n_jobs=n_jobs)

    @precondition(lambda self: self.dense is not None)
    @rule(bad=st.sampled_from(["NaN", "inf", "columns", "lengths", "weight", "flat", "text"]), late=st.booleans())
    def refuse(self, bad, late):
        X, Y, v = self.draw(5, weights=False)
        place = 4 if late else 0
        if bad in ("NaN", "inf"):
            X[place, 0] = np.nan if bad == "NaN" else np.inf
        elif bad == "columns":
            X = np.hstack([X, X])
        elif bad == "lengths":
            Y = Y[1:]
        elif bad == "weight":
            v[place] = -1.0
        elif bad == "flat":
            X = X[:, 0]
        else:
            X = X.astype(object)
            X[place, 0] = "a"
        before = pickle.dumps(self.model)
        with pytest.raises(ValueError):  # noqa: PT011 - which text is tests/base/test_inputs.py's
            self.feed(self.model, X, Y, v)
        assert pickle.dumps(self.model) == before

    @precondition(lambda self: self.dense is not None)
    @rule(n=st.integers(0, 20), delay=st.sampled_from([0, 1, 7]))
    def predict_then_learn(self, n, delay):
        if n == 0:
            return
        X, Y, v = self.draw(n)
        got = self.model.prequential(X, self.given(Y), sample_weight=v, delay=delay).y_pred.reshape(n, -1)
        told = [{} for _ in range(n)]  # what memories with late targets are weighed by
        for i in range(n + delay):  # row i is predicted when all before row i - delay were learned
            if i < n:
                self.agree(got[i], self.dense.predict(X[i : i + 1])[0])
                if delay and isinstance(self.dense, Memories):
                    told[i] = {"predicted": self.dense.predictions(X[i : i + 1])[:, 0]}
            if i >= delay:
                done = slice(i - delay, i - delay + 1)
                self.follow(X[done], Y[done], v[done], **told[i - delay])

    @precondition(lambda self: self.dense is not None)
    @rule(n=st.integers(1, 9))
    def row_by_row(self, n):
        X, Y, v = self.draw(n)
        one = Y if self.given(Y).ndim == 2 else self.given(Y)
        for i in range(n):
            self.agree(self.model.predict_one(X[i]), self.dense.predict(X[i : i + 1])[0])
            self.model.update(X[i], one[i], v[i])
            self.follow(X[i : i + 1], Y[i : i + 1], v[i : i + 1])

    def agree(self, predicted, scores):
        np.testing.assert_allclose(np.ravel(predicted), scores, atol=self.tolerance())

    # --- and what must be true after it ---

    def tolerance(self):
        return TOLERANCE * max(1.0, float(np.abs(self.dense.Y).max(initial=1.0)))

    @invariant()
    def answers_by_definition(self):
        if getattr(self, "dense", None) is None:
            return
        X = np.vstack([self.centre + self.rng.normal(size=(3, self.d)), self.dense.basis[-2:]])
        assert self.model.basis_indices_.tolist() == self.dense.ids
        np.testing.assert_array_equal(self.model.basis_vectors_, self.dense.basis)
        assert self.model.n_samples_seen_ == self.dense.seen
        np.testing.assert_allclose(self.answer(X), self.dense.predict(X), atol=self.tolerance())
        np.testing.assert_allclose(
            self.cost(),
            self.dense.cost(),
            rtol=1e-7,
            atol=TOLERANCE * (1 + self.dense.weight.sum()),
        )
        if not hasattr(self.model, "classes_"):
            std = self.model.predict(X, return_std=True)[1].reshape(len(X), -1)
            np.testing.assert_allclose(std, self.dense.std(X), rtol=1e-5, atol=1e-4)
        sound = self.model.health()
        assert sound["problems"] in ([], [f"{self.model.n_basis_} kernels and max_basis={self.model.max_basis}"])


class ClassifierMachine(OnlineMachine):
    """Labels for targets: three classes, or two, a column of 0 and 1 each, whichever had rows already."""

    outputs = st.just(1)

    def new_model(self, data):
        super().new_model(data)
        kept = OnlineLSSVMClassifier().get_params()
        self.model = OnlineLSSVMClassifier(**{k: v for k, v in self.model.get_params().items() if k in kept})
        if self.model.exact_rows == "auto" and self.model.window is None:
            self.model.set_params(exact_rows=0, swap_until=None, linear=False, forgetting=1.0)
        self.labels = np.array(["a", "b", "c"][: data.draw(st.integers(2, 3), "classes")])

    def code(self, Y):
        return np.clip(np.floor(Y[:, 0]), 0, len(self.labels) - 1).astype(int)

    def given(self, Y):
        return self.labels[self.code(Y)]

    def targets(self, Y):
        return (self.code(Y)[:, None] == np.arange(len(self.labels))).astype(float)

    def feed(self, model, X, Y, v):
        model.partial_fit(X, self.given(Y), classes=self.labels, sample_weight=v)

    @rule(n=st.integers(1, 70))
    def fit(self, n):
        """`fit` finds the classes itself: from rows that have them all."""
        self.dense = None
        X, Y, v = self.draw(n + len(self.labels))
        Y[: len(self.labels), 0] = np.arange(len(self.labels)) + 0.5
        v[: len(self.labels)] = 1.0
        self.model.fit(X, self.given(Y), sample_weight=v)
        self.rows = clone(self.model)
        self.follow(X, Y, v)
        if self.model.oversample > 1 and self.model.max_basis is not None:
            self.prune_to(self.model.max_basis, self.rows)

    def agree(self, predicted, scores):
        if np.ptp(np.sort(scores)[-2:]) > 2 * self.tolerance():
            assert np.ravel(predicted)[0] == self.labels[scores.argmax()]

    def answer(self, X):
        model = self.model._model()
        columns = model.of_classes(model._core.predict(X))
        scores = 2 * columns - columns.sum(axis=1, keepdims=True)  # those of targets of -1 and 1
        scores = scores[:, 1] if len(self.labels) == 2 else scores
        np.testing.assert_allclose(self.model.decision_function(X), scores, rtol=0, atol=1e-12)
        np.testing.assert_allclose(self.model.predict_proba(X).sum(axis=1), 1)
        return columns

    def cost(self):
        model = self.model._model()
        return model.of_classes(model._core.cost)


class FirstRowsMachine(RuleBasedStateMachine):
    """A fresh stream by any verbs: the model of `partial_fit` on the same rows, and every row predicted."""

    @initialize(data=st.data(), seed=SEEDS)
    def begin(self, data, seed):
        self.rng = np.random.default_rng(seed)
        # a delay would weigh several memories, and judge a trial, otherwise
        gamma = data.draw(st.sampled_from(["auto", "scale", "standard", "median", "learn", 0.5]), "gamma")
        self.delays = [0] if gamma in ("auto", "learn") else [0, 2]
        learn_rows = data.draw(st.sampled_from([40, 130]), "learn_rows")
        alpha = data.draw(st.sampled_from([0.1, "gcv"]), "alpha")
        self.model = OnlineLSSVMRegressor(
            gamma=gamma, learn_rows=learn_rows, alpha=alpha, max_basis=15, random_state=0, admission="novelty",
            forgetting=data.draw(st.sampled_from([1.0, 0.99]), "forgetting"),
        )  # fmt: skip
        self.X, self.Y, self.v = np.empty((0, 2)), np.empty(0), np.empty(0)

    def draw(self, n):
        X = self.rng.uniform(-2, 2, (n, 2))
        y = np.sin(2 * X[:, 0]) + 0.1 * self.rng.standard_normal(n)
        v = self.rng.integers(0, 3, n).astype(float)
        if not len(self.v):
            v[0] = 1.0  # a stream begins with a row that counts
        self.X, self.Y, self.v = np.vstack([self.X, X]), np.append(self.Y, y), np.append(self.v, v)
        return X, y, v

    @rule(n=st.integers(1, 40))
    def update(self, n):
        for x, y, v in zip(*self.draw(n), strict=True):
            self.model.update(x, y, v)

    @rule(n=st.integers(1, 120), delay=st.integers(0, 1), return_std=st.booleans())
    def prequential(self, n, delay, return_std):
        X, y, v = self.draw(n)
        result = self.model.prequential(X, y, v, delay=self.delays[min(delay, len(self.delays) - 1)],
                                        return_std=return_std)  # fmt: skip
        assert np.isfinite(result.y_pred).all()

    @rule(n=st.integers(1, 120))
    def partial_fit(self, n):
        self.model.partial_fit(*self.draw(n))

    @rule(how=st.sampled_from(sorted(COPIES)))
    def copy(self, how):
        self.model = COPIES[how](self.model)

    @invariant()
    def is_the_model_of_partial_fit(self):
        if not len(getattr(self, "v", ())):
            return
        reference = clone(self.model).partial_fit(self.X, self.Y, self.v)
        np.testing.assert_array_equal(self.model.gamma_, reference.gamma_)
        np.testing.assert_array_equal(self.model.basis_indices_, reference.basis_indices_)
        assert self.model.n_samples_seen_ == len(self.v)
        assert self.model.alpha_ == pytest.approx(reference.alpha_, rel=1e-6)
        new = np.vstack([self.X[-3:], self.rng.uniform(-2, 2, (3, 2))])
        np.testing.assert_allclose(self.model.predict(new), reference.predict(new), rtol=1e-6, atol=1e-7)


TestFirstRows = FirstRowsMachine.TestCase
TestFirstRows.settings = of_profile(
    stateful_step_count=6, max_examples=settings().max_examples // 3
)  # widths take long
TestOnline = OnlineMachine.TestCase
TestOnline.settings = of_profile(stateful_step_count=20)
TestClassifier = ClassifierMachine.TestCase
TestClassifier.settings = of_profile(stateful_step_count=20)
