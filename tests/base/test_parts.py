"""State machines over the parts, each step against a dense recomputation."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift import _core

SEEDS = st.integers(0, 2**32 - 1)


def random_spd(rng, n):
    A = rng.standard_normal((n, n + 2))
    return A @ A.T / (n + 2) + 0.3 * np.eye(n)


class SymmetricInverseMachine(RuleBasedStateMachine):
    """B itself is kept beside its inverse; every verb of the part is the matching change of B."""

    @initialize(seed=SEEDS, n=st.integers(1, 6))
    def begin(self, seed, n):
        self.rng = np.random.default_rng(seed)
        self.B = random_spd(self.rng, n)
        self.part = _core.SymmetricInverse(np.linalg.inv(self.B))

    @rule(later=st.booleans())
    def test_JP_9_add_outer(self, later):
        b = self.rng.standard_normal(len(self.B))
        u = self.part.apply(b)
        change = self.part.owe_outer if later else self.part.add_outer
        change(u, -1.0 / (1.0 + b @ u))
        self.B = self.B + np.outer(b, b)

    @precondition(lambda self: len(self.B) < 12)
    @rule()
    def test_JP_10_border(self):
        # b in the range of B by modest coefficients: a random b can make B as ill-conditioned as one likes
        b = self.B @ (0.3 * self.rng.standard_normal(len(self.B)) / np.sqrt(len(self.B)))
        w = self.part.apply(b)
        corner = b @ w + self.rng.uniform(0.5, 2.0)
        self.part.border(w, corner - b @ w)
        self.B = np.block([[self.B, b[:, None]], [b[None], np.array([[corner]])]])

    @precondition(lambda self: len(self.B) > 1)
    @rule(where=st.floats(0, 1, exclude_max=True))
    def test_JP_17_remove(self, where):
        i = int(where * len(self.B))
        self.part.remove(i)
        self.B = np.delete(np.delete(self.B, i, 0), i, 1)

    @rule()
    def append_given_entries(self):
        """Any symmetric matrix can be continued; taken back at once so that B stays its inverse."""
        before = self.part.dense()
        column, corner = self.rng.standard_normal(len(self.B)), 3.0
        self.part.append(column, corner)
        expected = np.block([[before, column[:, None]], [column[None], np.array([[corner]])]])
        np.testing.assert_array_equal(self.part.dense(), expected)
        self.part = _core.SymmetricInverse(before)

    @invariant()
    def is_the_inverse_and_exactly_symmetric(self):
        if not hasattr(self, "part"):
            return
        dense = self.part.dense()
        np.testing.assert_array_equal(dense, dense.T)
        # each of up to 40 steps loses about the condition of B in units of the last place, and an ill-conditioned
        # moment is not forgotten: 100 x condition^1 for the inverse's entries, once more for the product with B
        self.worst = max(getattr(self, "worst", 1.0), np.linalg.cond(self.B))
        residual = abs(dense @ self.B - np.eye(len(self.B))).max()
        assert residual < 100 * np.finfo(float).eps * self.worst**2


class SpanMachine(RuleBasedStateMachine):
    """Elements are vectors in a feature space of dimension 14; K is their Gram matrix."""

    @initialize(seed=SEEDS)
    def begin(self, seed):
        self.rng = np.random.default_rng(seed)
        self.elements = self.rng.standard_normal((1, 14))
        self.part = _core.Span(np.linalg.cholesky(self.elements @ self.elements.T))
        m = 1
        self.theta = self.rng.standard_normal((m, 2))
        self.S = random_spd(self.rng, m)

    @precondition(lambda self: len(self.elements) < 10)
    @rule()
    def append(self):
        phi = self.rng.standard_normal(14)
        w = self.part.coordinates(self.elements @ phi)
        self.part.append(w, float(np.sqrt(phi @ phi - w @ w)))
        self.elements = np.vstack([self.elements, phi])
        self.theta = self.rng.standard_normal((len(self.elements), 2))
        self.S = random_spd(self.rng, len(self.elements))

    @precondition(lambda self: len(self.elements) > 1)
    @rule(where=st.floats(0, 1, exclude_max=True))
    def remove(self, where):
        i = int(where * len(self.elements))
        Q = np.linalg.solve(self.part.factor(), self.elements)  # orthonormal basis, as vectors
        vectors = self.theta.T @ Q
        quadratic = Q.T @ self.S @ Q
        companion = _core.SymmetricInverse(self.S)
        theta = self.part.remove(i, np.ascontiguousarray(self.theta), companion)
        self.elements = np.delete(self.elements, i, 0)
        Q_new = np.linalg.solve(self.part.factor(), self.elements)
        # the last rotated coordinate is along the direction that left: orthogonal to the new span, inside the old
        last = Q[:, :].T @ np.linalg.solve(Q @ Q.T, Q @ vectors.T) - Q_new.T @ theta[:-1]
        np.testing.assert_allclose(Q_new @ last, 0, atol=1e-11)
        np.testing.assert_allclose(np.linalg.norm(last, axis=0), abs(theta[-1]), atol=1e-11)
        # the congruence: the same quadratic form, seen from the new basis
        np.testing.assert_allclose(Q_new @ quadratic @ Q_new.T, companion.dense()[:-1, :-1], atol=1e-10)
        self.theta, self.S = np.ascontiguousarray(theta[:-1]), random_spd(self.rng, len(self.elements))

    @invariant()
    def factor_is_the_cholesky_factor(self):
        if not hasattr(self, "part"):
            return
        K = self.elements @ self.elements.T
        L = self.part.factor()
        assert (np.diag(L) > 0).all()
        assert (np.triu(L, 1) == 0).all()
        np.testing.assert_allclose(L @ L.T, K, atol=1e-12 * abs(K).max())  # orthogonal steps only
        k = K[:, 0].copy()
        np.testing.assert_allclose(self.part.coordinates(k), L[0], atol=1e-10)
        unit = self.part.coefficients(np.ascontiguousarray(L[0]))
        np.testing.assert_allclose(K @ unit, k, atol=1e-9)


TestSymmetricInverse = SymmetricInverseMachine.TestCase
TestSymmetricInverse.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestSpan = SpanMachine.TestCase
TestSpan.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_parts_are_what_the_equations_say(rng):
    """[JP 9], [JP 10] and [JP 17] once each, in the open."""
    B = random_spd(rng, 5)
    b = rng.standard_normal(5)
    part = _core.SymmetricInverse(np.linalg.inv(B))
    u = part.apply(b)
    part.add_outer(u, -1.0 / (1.0 + b @ u))
    np.testing.assert_allclose(part.dense(), np.linalg.inv(B + np.outer(b, b)), atol=1e-12)
    part.remove(2)
    kept = [0, 1, 3, 4]
    np.testing.assert_allclose(part.dense(), np.linalg.inv((B + np.outer(b, b))[np.ix_(kept, kept)]), atol=1e-12)


class UnsymmetricInverseMachine(RuleBasedStateMachine):
    """B beside its inverse, as for the symmetric part; the chain of rotations comes from a span."""

    @initialize(seed=SEEDS, n=st.integers(1, 6))
    def begin(self, seed, n):
        self.rng = np.random.default_rng(seed)
        # positive definite symmetric part: stays well conditioned
        self.B = random_spd(self.rng, n) + self.skew(n)
        self.part = _core.UnsymmetricInverse(np.linalg.inv(self.B))

    def skew(self, n):
        A = 0.3 * self.rng.standard_normal((n, n))
        return A - A.T

    @rule()
    def test_LSTD_normal_add_outer(self):
        n = len(self.B)
        b = self.rng.standard_normal(n)
        c = b + 0.3 * self.rng.standard_normal(n)
        u, v = self.part.apply(b), self.part.apply(c, True)
        if abs(1.0 + c @ u) < 0.2:
            return
        self.part.add_outer(u, v, -1.0 / (1.0 + c @ u))
        self.B = self.B + np.outer(b, c)

    @precondition(lambda self: len(self.B) < 12)
    @rule()
    def test_LSTD_grow_border(self):
        n = len(self.B)
        b, c = 0.3 * self.rng.standard_normal((2, n))
        u, v = self.part.apply(b), self.part.apply(c, True)
        corner = c @ u + self.rng.uniform(0.5, 2.0)
        self.part.border(u, v, corner - c @ u)
        self.B = np.block([[self.B, b[:, None]], [c[None], np.array([[corner]])]])

    @precondition(lambda self: len(self.B) > 1)
    @rule(where=st.floats(0, 1, exclude_max=True))
    def test_LSTD_prune_remove(self, where):
        i = int(where * len(self.B))
        if abs(self.part.dense()[i, i]) < 0.05:
            return
        self.part.remove(i)
        self.B = np.delete(np.delete(self.B, i, 0), i, 1)

    @precondition(lambda self: len(self.B) > 1)
    @rule(where=st.floats(0, 1, exclude_max=True))
    def rotate(self, where):
        """G'B^-1G with the G that the same chain makes of the identity."""
        n = len(self.B)
        span = _core.Span(np.linalg.cholesky(random_spd(self.rng, n)))
        before = self.part.dense()
        G_transposed = span.remove_beside(int(where * n), np.eye(n), self.part)
        np.testing.assert_allclose(G_transposed @ G_transposed.T, np.eye(n), atol=1e-13)
        np.testing.assert_allclose(self.part.dense(), G_transposed @ before @ G_transposed.T, atol=1e-11)
        self.B = G_transposed @ self.B @ G_transposed.T

    @invariant()
    def is_the_inverse(self):
        if hasattr(self, "part"):
            condition = np.linalg.cond(self.B)
            assert abs(self.part.dense() @ self.B - np.eye(len(self.B))).max() < 1e-9 * max(1.0, condition)


TestUnsymmetricInverse = UnsymmetricInverseMachine.TestCase
TestUnsymmetricInverse.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
