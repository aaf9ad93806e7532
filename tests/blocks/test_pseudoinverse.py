"""The pseudoinverse of columns that come and go, against dense least squares."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift.blocks import PseudoInverse
from oracles import column_ridge


class PseudoInverseMachine(RuleBasedStateMachine):
    @initialize(
        seed=st.integers(0, 2**32 - 1), n=st.sampled_from([9, 256, 300]), weighted=st.booleans(), free=st.integers(0, 1)
    )
    def begin(self, seed, n, weighted, free):
        self.rng = np.random.default_rng(seed)
        self.v = self.rng.uniform(0.5, 2, n) if weighted else np.ones(n)
        self.free = free
        self.part = PseudoInverse(n, weights=self.v if weighted else None, n_unpenalised=free)
        self.K = np.zeros((n, 0))
        self.Y = self.rng.standard_normal((n, 2))

    @precondition(lambda self: self.K.shape[1] < 7)
    @rule(near=st.booleans())
    def append(self, near):
        k = self.rng.standard_normal(len(self.Y))
        if near and self.K.shape[1]:  # 1e-3 from the span: its second orthogonalisation counts
            k = self.K @ self.rng.standard_normal(self.K.shape[1]) + 1e-3 * k
        assert self.part.append(k)
        self.K = np.column_stack([self.K, k])

    @precondition(lambda self: self.K.shape[1] < 7 and len(self.Y) > 9)
    @rule(near=st.integers(0, 9), pops=st.integers(0, 2))
    def append_ten_unseen(self, near, pops):
        """Of which one is near the span of the others; nothing asks for Q meanwhile."""
        for j in range(10):
            self.append(near=j == near)
        for _ in range(pops):
            self.pop()

    @precondition(lambda self: self.K.shape[1] > 0)
    @rule()
    def pop(self):
        self.part.pop()
        self.K = self.K[:, :-1]

    @precondition(lambda self: self.K.shape[1] > 0)
    @rule()
    def a_dependent_column_is_refused(self):
        before = self.part.decomposition()
        refused = self.part.n_refused
        assert not self.part.append(self.K @ self.rng.standard_normal(self.K.shape[1]))
        assert self.part.n_refused == refused + 1
        for a, b in zip(before, self.part.decomposition(), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)

    @rule()
    def bad_input_changes_nothing(self):
        n = len(self.Y)
        before = [a.copy() for a in self.part.decomposition()]
        for bad in (
            lambda: self.part.append(np.ones(n + 1)),
            lambda: self.part.append(np.full(n, np.nan)),
            lambda: self.part.solve(np.ones(n - 1)),
            lambda: self.part.solve(np.ones(n), ridge=-1.0),
            lambda: self.part.error_reductions(np.ones((n + 1, 2)), self.Y),
        ):
            with pytest.raises(ValueError, match=r"length|NaN|rows|negative"):
                bad()
        for a, b in zip(before, self.part.decomposition(), strict=True):
            np.testing.assert_array_equal(a, b)

    @rule(way=st.sampled_from(["pickle", "copy"]))
    def go_on_as_another(self, way):
        before = self.part.decomposition()
        self.part = pickle.loads(pickle.dumps(self.part)) if way == "pickle" else self.part.copy()
        for a, b in zip(before, self.part.decomposition(), strict=True):
            np.testing.assert_array_equal(a, b)

    @invariant()
    def is_least_squares(self):
        if not hasattr(self, "part"):
            return
        m = self.K.shape[1]
        assert self.part.size == m
        if m == 0:
            return
        root = np.sqrt(self.v)[:, None]
        values = np.linalg.svd(root * self.K, compute_uv=False)
        condition = values[0] / values[-1]
        reach = np.linalg.norm(root * self.Y) / values[-1]  # of coefficients, where nothing cancels
        Q, h, U = self.part.decomposition()
        scale = np.sqrt(h)
        G = (Q / scale).T @ (Q / scale)
        assert abs(G - np.eye(m)).max() < 1e-13  # whatever the condition
        np.testing.assert_allclose(Q @ U, root * self.K, atol=1e-12 * abs(self.K).max())
        np.testing.assert_array_equal(np.diag(U), np.ones(m))
        for ridge in (0.0, 0.7):
            a, gcv = column_ridge(self.K, self.Y, self.v, ridge, self.free)
            tolerance = 1e-14 * condition**2 * (abs(a).max() + reach)
            ours = self.part.solve(self.Y, ridge=ridge)
            assert abs(ours - a).max() < tolerance
            np.testing.assert_allclose(self.part.solve(self.Y[:, 0], ridge=ridge), ours[:, 0], atol=tolerance)
            np.testing.assert_allclose(
                self.part.residual(self.Y, ridge=ridge), self.Y - self.K @ a, atol=1e-14 * condition * 10
            )
            if m < len(self.Y) - 1:
                assert self.part.gcv(self.Y, ridge=ridge) == pytest.approx(gcv, rel=1e-13 * condition + 1e-11)
        np.testing.assert_allclose(self.part.to_dense() @ self.Y, self.part.solve(self.Y), atol=tolerance)

    @invariant()
    def reductions_are_those_of_appending(self):
        if not hasattr(self, "part") or self.K.shape[1] > 6:
            return
        candidates = self.rng.standard_normal((len(self.Y), 2))
        if self.K.shape[1]:
            candidates = np.column_stack([candidates, self.K @ np.ones(self.K.shape[1])])
        found = self.part.error_reductions(candidates, self.Y)

        def rss(K):
            root = np.sqrt(self.v)[:, None]
            a = np.linalg.lstsq(root * K, root * self.Y, rcond=None)[0] if K.shape[1] else np.zeros((0, 2))
            return float(((root * (self.Y - K @ a)) ** 2).sum())

        for i in range(2):
            gain = rss(self.K) - rss(np.column_stack([self.K, candidates[:, i]]))
            assert found[i] == pytest.approx(gain, rel=1e-8, abs=1e-9)
        if self.K.shape[1]:
            assert found[2] == 0.0


TestPseudoInverse = PseudoInverseMachine.TestCase
TestPseudoInverse.settings = settings(stateful_step_count=20, deadline=None)


def test_the_best_ridge_is_the_lowest_of_a_grid(rng):
    columns = PseudoInverse(60, n_unpenalised=1)
    assert columns.append(np.ones(60))
    for column in rng.standard_normal((25, 60)):
        assert columns.append(column)
    y = rng.standard_normal(60)
    best = columns.gcv(y, ridge=columns.best_ridge(y))
    h = columns.decomposition().h.max()
    grid = [columns.gcv(y, ridge=t) for t in h * np.geomspace(1e-6, 1e8, 300)]
    assert best <= min(grid) * (1 + 1e-6)


def test_OROLS_10_columns_that_wait_are_orthogonal_to_all_before(rng):
    K = rng.standard_normal((500, 21))
    columns = PseudoInverse(500)
    assert all(columns.append(k) for k in K.T)
    Q, h, U = columns.decomposition()
    for j in range(21):
        q = K[:, j] - K[:, :j] @ np.linalg.lstsq(K[:, :j], K[:, j], rcond=None)[0]
        np.testing.assert_allclose(Q[:, j], q, atol=1e-13)
    np.testing.assert_allclose(Q @ U, K, atol=1e-13)
    np.testing.assert_allclose(h, np.einsum("ij,ij->j", Q, Q), rtol=1e-14)


def test_popping_nothing_is_an_error():
    with pytest.raises(ValueError, match="no column to pop"):
        PseudoInverse(3).pop()
    for bad in ({"n_rows": 0}, {"n_rows": 2, "weights": [1.0, 0.0]}, {"n_rows": 2, "rank_tol": 2.0}):
        with pytest.raises(ValueError, match=r"n_rows|weights|rank_tol"):
            PseudoInverse(**bad)
