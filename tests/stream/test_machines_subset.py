"""A state machine over the sums of subset models: always the direct solution on all rows."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import oracles
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone
from support.machines import COPIES, GAMMA, SEEDS, TOLERANCE, of_profile


class SubsetMachine(RuleBasedStateMachine):
    """Sums over rows that come in any parts, are merged, kept and resized: always the direct solution on all rows."""

    @initialize(data=st.data(), seed=SEEDS)
    def begin(self, data, seed):
        self.rng, self.d = np.random.default_rng(seed), data.draw(st.integers(1, 3), "d")
        self.n_outputs = data.draw(st.integers(1, 2), "outputs")
        kernel = data.draw(st.sampled_from(sorted(GAMMA)), "kernel")
        basis = data.draw(st.sampled_from(["vectors", "random", "pruned", "efvs"]), "basis")
        self.model = kernsift.SubsetLSSVMRegressor(
            kernel=kernel,
            gamma=GAMMA[kernel],
            alpha=0.1,
            basis=self.rng.normal(size=(7, self.d)) if basis == "vectors" else basis,
            max_basis=data.draw(st.integers(1, 8), "max_basis"),
            fit_intercept=data.draw(st.booleans(), "fit_intercept"),
            random_state=0,
        )
        self.kernel = oracles.kernel_function(kernel, GAMMA[kernel], dtype=np.float64)
        self.forget()

    def forget(self):
        self.X, self.Y, self.v = np.zeros((0, self.d)), np.zeros((0, self.n_outputs)), np.zeros(0)

    def draw(self, n, first=False):
        X = self.rng.normal(size=(n, self.d))
        Y = np.column_stack([np.sin(2 * X[:, 0]) + i * X[:, -1] for i in range(self.n_outputs)]) + 1.0
        v = self.rng.choice([0.0, 0.3, 1.0, 3.0], n, p=[0.05, 0.1, 0.8, 0.05])
        if first:
            v[0] = 1.0
        return X, Y[:, 0] if self.n_outputs == 1 else Y, v

    def note(self, X, y, v):
        self.X, self.v = np.vstack([self.X, X]), np.concatenate([self.v, v])
        self.Y = np.vstack([self.Y, y.reshape(len(X), self.n_outputs)])

    @property
    def begun(self):
        return hasattr(self, "model") and self.model.__sklearn_is_fitted__()

    @rule(n=st.integers(1, 60))
    def fit(self, n):
        rows = self.draw(n, first=True)
        self.model.fit(*rows)
        self.forget()
        self.note(*rows)

    @rule(n=st.integers(0, 60))
    def partial_fit(self, n):
        rows = self.draw(n, first=True) if n else self.draw(0)
        self.model.partial_fit(*rows)
        self.note(*rows)

    @precondition(lambda self: self.begun)
    @rule(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4), seed=SEEDS)
    def merge(self, sizes, seed):
        """Parts summed apart, one of them through a pickle, added in any order; the model unchanged until then."""
        parts = [self.draw(n) for n in sizes]
        before = pickle.dumps(self.model)
        states = [self.model.accumulate(*part) for part in parts]
        assert pickle.dumps(self.model) == before
        states[0] = pickle.loads(pickle.dumps(states[0]))
        order = np.random.default_rng(seed).permutation(len(states))
        self.model.merge(*(states[i] for i in order))
        for part in parts:
            self.note(*part)

    @precondition(lambda self: self.begun)
    @rule(alpha=st.sampled_from([1e-2, 0.1, 3.0]))
    def another_ridge(self, alpha):
        self.model.set_params(alpha=alpha).merge()

    @precondition(lambda self: self.begun and self.model._path is not None)
    @rule(place=st.floats(0, 1))
    def resize(self, place):
        most = len(self.model._path.order)
        n = 1 + int(place * (most - 1))
        self.model.resize(n)
        assert self.model.n_basis_ == n

    @precondition(lambda self: self.begun)
    @rule(how=st.sampled_from(sorted(COPIES)))
    def copy(self, how):
        self.model, left_behind = COPIES[how](self.model), self.model
        left_behind.partial_fit(*self.draw(3, first=True))

    @precondition(lambda self: self.begun)
    @rule(bad=st.sampled_from(["NaN", "columns", "weight", "outputs", "another basis", "kernel"]))
    def refuse(self, bad):
        X, y, v = self.draw(5)
        before, gamma = pickle.dumps(self.model), self.model.gamma
        other = clone(self.model).set_params(basis="random").fit(*self.draw(9, first=True))
        if bad == "NaN":
            X[4, 0] = np.nan
        elif bad == "columns":
            X = np.hstack([X, X])
        elif bad == "weight":
            v[4] = -1.0
        elif bad == "outputs":
            y = np.zeros((5, 3))
        elif bad == "kernel":
            self.model.gamma = 0.77
        call, given = (self.model.merge, (other,)) if bad == "another basis" else (self.model.partial_fit, (X, y, v))
        with pytest.raises(ValueError):  # noqa: PT011 - which text is tests/subset/test_subset.py's
            call(*given)
        self.model.gamma = gamma
        assert pickle.dumps(self.model) == before

    @invariant()
    def is_the_direct_solution(self):
        if not self.begun:
            return
        D, at = self.model.basis_vectors_, self.rng.normal(size=(4, self.d))
        K = self.kernel(D, D)
        fit = oracles.subset_fit(self.kernel(self.X, D), K, self.Y, self.v, self.model.alpha, self.model.fit_intercept)
        error = np.abs(self.model.predict(at).reshape(4, -1) - (self.kernel(at, D) @ fit.beta + fit.bias)).max()
        # Vectors are given as they come, and both whiten sums with their K: those are off by eps cond(K) of their
        # largest eigenvalue (MATH 8.3), at most sum v k(x, x), then divided by what the ridge leaves: at least alpha.
        largest = float(self.v @ np.diag(self.kernel(self.X, self.X)))
        whitened = np.finfo(float).eps * np.linalg.cond(K) * largest / self.model.alpha
        assert error < max(TOLERANCE, whitened) * max(1.0, np.abs(self.Y).max())
        assert self.model.n_samples_seen_ == len(self.X)


TestSubset = SubsetMachine.TestCase
TestSubset.settings = of_profile(stateful_step_count=12)
