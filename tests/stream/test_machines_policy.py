"""A state machine over `KernelLSTD`: transitions by any verbs, always the solution of the dense definition."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import oracles
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone
from support.machines import BLOCKS, COPIES, SEEDS, TOLERANCE, of_profile


class PolicyMachine(RuleBasedStateMachine):
    """`model` gets blocks of transitions; `rows`, fed one by one, tells the oracle what joined and what left."""

    @initialize(data=st.data(), seed=SEEDS)
    def begin(self, data, seed):
        self.rng = np.random.default_rng(seed)
        residual = data.draw(st.booleans(), "brm")
        decay = 0.0 if residual else data.draw(st.sampled_from([0.0, 0.7]), "trace_decay")
        self.model = kernsift.KernelLSTD(
            gamma=1.0,
            discount=0.9,
            trace_decay=decay,
            criterion="brm" if residual else "lstd",
            max_basis=data.draw(st.sampled_from([None, 1, 6]), "max_basis"),
            admission=data.draw(st.sampled_from(["novelty", "product"]), "admission"),
            novelty_tol=0.1,
        )
        self.rows = clone(self.model)
        kernel = oracles.kernel_function("rbf", 1.0, dtype=np.float64)
        self.dense = oracles.BatchLSTD(kernel, self.model.alpha, 0.9, decay, residual)
        none = np.zeros((0, 2))
        self.seen = oracles.Transitions(none, np.zeros(0), none, np.zeros(0, bool), np.zeros(0, bool))

    def draw(self, n):
        S = self.rng.uniform(-2, 2, (n, 2))
        S_next = S + 0.3 * self.rng.normal(size=(n, 2))
        ends, starts = self.rng.uniform(size=(2, n)) < 0.15
        return S, np.sin(S[:, 0]), S_next, ends, starts

    @rule(n=BLOCKS)
    def learn(self, n):
        S, r, S_next, ends, starts = parts = self.draw(n)
        self.model.partial_fit(S, r, S_next, terminal=ends, start=starts)
        old = self.seen
        new = zip((old.S, old.r, old.S_next, old.terminal, old.start), parts, strict=True)
        self.seen = oracles.Transitions(*(np.concatenate(pair) for pair in new))
        for t in range(len(old.r), len(old.r) + n):
            i = slice(t - len(old.r), t - len(old.r) + 1)
            if not self.rows.__sklearn_is_fitted__():
                self.rows._core = self.rows._begin(S[i])
            outcome, victim, learned = self.rows._core.learn(S[i], r[i], S_next[i], ends[i], starts[i])
            self.dense.step(self.seen, t, outcome[0], victim[0], learned[0])

    @precondition(lambda self: self.model.__sklearn_is_fitted__())
    @rule(how=st.sampled_from(sorted(COPIES)))
    def copy(self, how):
        self.model, left_behind = COPIES[how](self.model), self.model
        S, r, S_next, ends, starts = self.draw(3)
        left_behind.partial_fit(S, r, S_next, terminal=ends, start=starts)

    @precondition(lambda self: self.model.__sklearn_is_fitted__())
    @rule(bad=st.sampled_from(["NaN", "columns", "lengths", "flags"]))
    def refuse(self, bad):
        S, r, S_next, ends, starts = self.draw(5)
        if bad == "NaN":
            S_next[4, 0] = np.nan
        elif bad == "columns":
            S = S[:, :1]
        elif bad == "lengths":
            r = r[:4]
        else:
            ends = ends + 2  # 0 and 1 are flags too
        before = pickle.dumps(self.model)
        with pytest.raises(ValueError):  # noqa: PT011 - which text is tests/stream/test_lstd.py's
            self.model.partial_fit(S, r, S_next, terminal=ends, start=starts)
        assert pickle.dumps(self.model) == before

    @invariant()
    def is_the_fixed_point(self):
        if not hasattr(self, "model") or not self.model.__sklearn_is_fitted__():
            return
        identifiers = 2 * self.model.basis_indices_ + self.model.basis_is_next_
        assert identifiers.tolist() == self.dense.identifiers
        at = self.rng.uniform(-2, 2, (4, 2))
        w, P = self.dense.solve(self.seen)
        truth = self.dense.kernel(at, self.dense.elements(self.seen)) @ w
        # P is not symmetric and its condition is not bounded by the ridge
        condition = np.linalg.cond(P) if len(w) else 1.0
        error = np.abs(self.model.predict(at) - truth).max()
        assert error <= TOLERANCE * max(1.0, np.abs(w).max(initial=0)) * max(1.0, 1e-5 * condition)


TestPolicy = PolicyMachine.TestCase
TestPolicy.settings = of_profile(stateful_step_count=12)
