"""State machines over the two inverses: the matrix is kept beside its inverse, and inverted afresh after each step."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift.blocks import SymmetricInverse, UnsymmetricInverse
from oracles import dense_inverse

SEEDS = st.integers(0, 2**32 - 1)
PLACES = st.floats(0, 1, exclude_max=True)
EPS = np.finfo(float).eps


def random_spd(rng, n):
    A = rng.standard_normal((n, n + 2))
    return A @ A.T / (n + 2) + 0.3 * np.eye(n)


def bordered(B, b, c, d):
    return np.block([[B, b[:, None]], [c[None], np.array([[d]])]])


def without(B, i):
    return np.delete(np.delete(B, i, 0), i, 1)


class Machine(RuleBasedStateMachine):
    """What both have: the invariants, copies, and bad input."""

    largest = largest_inverse = 0.0

    @rule(way=st.sampled_from(["pickle", "copy"]))
    def go_on_as_another(self, way):
        state = self.part.to_dense(), self.part.log_det(), self.part.n_refused
        self.part = pickle.loads(pickle.dumps(self.part)) if way == "pickle" else self.part.copy()
        assert np.array_equal(self.part.to_dense(), state[0])
        assert (self.part.log_det(), self.part.n_refused) == state[1:]

    def unchanged_by(self, change):
        before = self.part.to_dense(), self.part.log_det(), self.part.n_refused
        with pytest.raises(ValueError, match=r"length|numbers|square|finite|range|NaN|rows"):
            change()
        assert np.array_equal(self.part.to_dense(), before[0])
        assert (self.part.log_det(), self.part.n_refused) == before[1:]

    def refused(self, change):
        before = self.part.to_dense(), self.part.log_det(), self.part.n_refused
        assert not change()
        assert np.array_equal(self.part.to_dense(), before[0])
        assert (self.part.log_det(), self.part.n_refused) == (before[1], before[2] + 1)

    @invariant()
    def is_the_inverse(self):
        if not hasattr(self, "part"):
            return
        inverse, log_det, _ = dense_inverse(self.B)
        inverse = inverse.astype(float)
        n = len(self.B)
        # A step rounds the inverse by E, |E| = eps |B^-1|: as a change of B it is B E B, which later steps keep, and
        # which comes back as B^-1 (B E B) B^-1 when B is another. 10 times, for up to 40 steps.
        self.largest = max(self.largest, np.linalg.norm(self.B, 2))
        self.largest_inverse = max(self.largest_inverse, np.linalg.norm(inverse, 2))
        tolerance = 10 * EPS * (self.largest * self.largest_inverse) ** 2
        size = abs(inverse).max()
        dense = self.part.to_dense()
        assert abs(dense - inverse).max() < tolerance * size
        assert abs(self.part.log_det() - log_det) < tolerance * n
        np.testing.assert_array_equal(self.part.diagonal(), np.diag(dense))
        rows = self.rng.standard_normal((3, n))
        np.testing.assert_allclose(self.part.apply(rows), rows @ dense.T, atol=1e-12 * size)
        np.testing.assert_allclose(self.part.apply(rows[0]), dense @ rows[0], atol=1e-12 * size)
        assert self.part.size == n
        assert self.part.condition() == pytest.approx(np.linalg.cond(self.B), rel=10 * tolerance)


class SymmetricInverseMachine(Machine):
    @initialize(seed=SEEDS, n=st.integers(1, 6))
    def begin(self, seed, n):
        self.rng = np.random.default_rng(seed)
        self.B = random_spd(self.rng, n)
        self.part = SymmetricInverse(self.B)
        self.rows = []

    @rule(weight=st.floats(0.1, 4))
    def test_JP_9_update(self, weight):
        x = self.rng.standard_normal(len(self.B))
        assert self.part.update(x, weight)
        self.B = self.B + weight * np.outer(x, x)
        self.rows.append((x, weight))

    @precondition(lambda self: self.rows)
    @rule(where=PLACES)
    def test_JP_9_take_back(self, where):
        x, weight = self.rows.pop(int(where * len(self.rows)))
        assert self.part.update(x, -weight)
        self.B = self.B - weight * np.outer(x, x)

    @rule(n=st.integers(0, 5), back=st.booleans())
    def update_block(self, n, back):
        X, weights = self.rng.standard_normal((n, len(self.B))), self.rng.uniform(0, 2, n)
        new = list(zip(X, weights, strict=True))
        if back and self.rows:  # rows that came and rows that go
            x, weight = self.rows.pop()
            X, weights = np.vstack([x, X]), np.append(-weight, weights)
        assert self.part.update_block(X, weights)
        self.B = self.B + X.T @ (weights[:, None] * X)
        self.rows += new

    @precondition(lambda self: len(self.B) < 12)
    @rule(known=st.booleans())
    def test_JP_10_grow(self, known):
        # b in the range of B by modest coefficients: a random b can make B as ill-conditioned as one likes
        w = 0.3 * self.rng.standard_normal(len(self.B)) / np.sqrt(len(self.B))
        b = self.B @ w
        schur = self.rng.uniform(0.5, 2.0)
        assert self.part.border(w, schur) if known else self.part.grow(b, b @ w + schur)
        self.B, self.rows = bordered(self.B, b, b, b @ w + schur), []

    @precondition(lambda self: len(self.B) > 1)
    @rule(where=PLACES)
    def test_JP_17_delete(self, where):
        i = int(where * len(self.B))
        assert self.part.delete(i if where < 0.5 else i - len(self.B))
        self.B = without(self.B, i)
        self.rows = [(np.delete(x, i), weight) for x, weight in self.rows]

    @rule()
    def changes_that_break_it_are_refused(self):
        n = len(self.B)
        x = self.rng.standard_normal(n)
        most = 1 / float(x @ np.linalg.solve(self.B, x))
        self.refused(lambda: self.part.update(x, -2 * most))
        self.refused(lambda: self.part.update_block(np.vstack([x, x]), [1.0, -4 * most - 1.0]))
        self.refused(lambda: self.part.grow(self.B[0], self.B[0, 0] - 0.1))
        self.refused(lambda: self.part.border(x, -1.0))
        self.refused(lambda: self.part.update(np.full(n, 1e200), 1.0))
        # singular but for rounding, which grows with what happened: in a matrix of which nothing was lost
        B = random_spd(self.rng, n)
        self.part, kept = SymmetricInverse(B), self.part
        self.refused(lambda: self.part.grow(B[0], float(B[0, 0])))
        self.part = kept

    @rule()
    def bad_input_changes_nothing(self):
        n = len(self.B)
        self.unchanged_by(lambda: self.part.update(np.ones(n + 1)))
        self.unchanged_by(lambda: self.part.update(np.full(n, np.nan)))
        self.unchanged_by(lambda: self.part.update(np.ones(n), np.inf))
        self.unchanged_by(lambda: self.part.update_block(np.full((2, n), np.inf)))
        self.unchanged_by(lambda: self.part.update_block(np.ones((2, n)), [1.0]))
        self.unchanged_by(lambda: self.part.grow(np.ones(n), np.nan))
        self.unchanged_by(lambda: self.part.delete(n))
        self.unchanged_by(lambda: self.part.delete(-n - 1))
        self.unchanged_by(lambda: self.part.apply(np.ones((2, n + 1))))

    @invariant()
    def is_exactly_symmetric(self):
        if hasattr(self, "part"):
            dense = self.part.to_dense()
            np.testing.assert_array_equal(dense, dense.T)
            x = self.rng.standard_normal((2, len(dense)))
            expected = np.einsum("ij,jk,ik->i", x, dense, x)
            np.testing.assert_allclose(self.part.quadratic(x), expected, rtol=1e-11)
            assert self.part.quadratic(x[0]) == pytest.approx(expected[0], rel=1e-11)


class UnsymmetricInverseMachine(Machine):
    @initialize(seed=SEEDS, n=st.integers(1, 6))
    def begin(self, seed, n):
        self.rng = np.random.default_rng(seed)
        A = 0.3 * self.rng.standard_normal((n, n))
        self.B = random_spd(self.rng, n) + A - A.T  # positive definite symmetric part: well conditioned
        self.part = UnsymmetricInverse(self.B)

    def bearable(self, B):
        return np.linalg.cond(B) < 1e5

    @rule(weight=st.floats(-2, 2))
    def test_LSTD_normal_update(self, weight):
        u = self.rng.standard_normal(len(self.B))
        v = u + 0.3 * self.rng.standard_normal(len(self.B))
        B = self.B + weight * np.outer(u, v)
        if self.bearable(B):
            assert self.part.update(u, v, weight)
            self.B = B

    @rule(n=st.integers(0, 5))
    def update_block(self, n):
        U, V = self.rng.standard_normal((2, n, len(self.B)))
        weights = self.rng.uniform(-1, 1, n)
        B = self.B + U.T @ (weights[:, None] * V)
        if self.bearable(B):
            assert self.part.update_block(U, V, weights)
            self.B = B

    @precondition(lambda self: len(self.B) < 12)
    @rule(known=st.booleans())
    def test_LSTD_grow(self, known):
        b, c = 0.3 * self.rng.standard_normal((2, len(self.B)))
        u, v = np.linalg.solve(self.B, b), np.linalg.solve(self.B.T, c)
        schur = self.rng.uniform(0.5, 2.0)
        B = bordered(self.B, b, c, c @ u + schur)
        if self.bearable(B):
            assert self.part.border(u, v, schur) if known else self.part.grow(b, c, c @ u + schur)
            self.B = B

    @precondition(lambda self: len(self.B) > 1)
    @rule(where=PLACES)
    def test_LSTD_prune_delete(self, where):
        i = int(where * len(self.B))
        B = without(self.B, i)
        if self.bearable(B):
            assert self.part.delete(i)
            self.B = B

    @rule()
    def changes_that_break_it_are_refused(self):
        n = len(self.B)
        u = self.rng.standard_normal(n)
        self.refused(lambda: self.part.border(u, u, 0.0))
        self.refused(lambda: self.part.update(np.full(n, 1e200), np.full(n, 1e200)))
        # singular but for rounding, which grows with the condition: in a matrix of which nothing was lost
        B = np.eye(n) + 0.1 * np.outer(u, u[::-1]) / (u @ u)
        self.part, kept = UnsymmetricInverse(B), self.part
        x = np.linalg.solve(B, u)
        self.refused(lambda: self.part.update(u, x, -1 / float(x @ x)))
        self.refused(lambda: self.part.grow(B[:, 0], B[0], float(B[0, 0])))
        self.part = kept

    @rule()
    def bad_input_changes_nothing(self):
        n = len(self.B)
        one, long = np.ones(n), np.ones(n + 1)
        self.unchanged_by(lambda: self.part.update(one, long))
        self.unchanged_by(lambda: self.part.update(np.full(n, np.nan), one))
        self.unchanged_by(lambda: self.part.update_block(np.ones((2, n)), np.ones((3, n))))
        self.unchanged_by(lambda: self.part.grow(one, one, np.inf))
        self.unchanged_by(lambda: self.part.delete(n))

    @invariant()
    def both_sides_and_the_sign(self):
        if hasattr(self, "part"):
            dense = self.part.to_dense()
            x, z = self.rng.standard_normal((2, 2, len(dense)))
            size = abs(dense).max()
            np.testing.assert_allclose(self.part.apply(x, transpose=True), x @ dense, atol=1e-12 * size)
            expected = np.einsum("ij,jk,ik->i", x, dense, z)
            np.testing.assert_allclose(self.part.quadratic(x, z), expected, atol=1e-11 * size)
            assert self.part.sign() == dense_inverse(self.B)[2]


TestSymmetricInverse = SymmetricInverseMachine.TestCase
TestSymmetricInverse.settings = settings(stateful_step_count=40, deadline=None)
TestUnsymmetricInverse = UnsymmetricInverseMachine.TestCase
TestUnsymmetricInverse.settings = settings(stateful_step_count=40, deadline=None)


def test_inverses_are_what_the_equations_say(rng):
    """[JP 9], [JP 10] and [JP 17] once each, in the open."""
    B = random_spd(rng, 5)
    b = rng.standard_normal(5)
    part = SymmetricInverse(B)
    assert part.update(b)
    np.testing.assert_allclose(part.to_dense(), np.linalg.inv(B + np.outer(b, b)), atol=1e-12)
    assert part.delete(2)
    kept = [0, 1, 3, 4]
    np.testing.assert_allclose(part.to_dense(), np.linalg.inv((B + np.outer(b, b))[np.ix_(kept, kept)]), atol=1e-12)


def test_a_matrix_to_begin_with_is_square_and_definite():
    with pytest.raises(ValueError, match=r"A must be square; got shape \(2, 3\)"):
        SymmetricInverse(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not positive definite to working precision; add a ridge"):
        SymmetricInverse(np.ones((2, 2)))
    with pytest.raises(ValueError, match="not invertible"):
        UnsymmetricInverse(np.ones((2, 2)))
    with pytest.raises(ValueError, match="ridge must be positive"):
        SymmetricInverse(ridge=0.0, size=3)
    with pytest.raises(ValueError, match="size must not be negative"):
        UnsymmetricInverse(size=-1)


def test_only_the_lower_triangle_is_read(rng):
    B = random_spd(rng, 4)
    spoiled = np.tril(B) + np.triu(np.full((4, 4), 7.0), 1)
    np.testing.assert_array_equal(SymmetricInverse(spoiled).to_dense(), SymmetricInverse(B).to_dense())


@pytest.mark.parametrize("form", ["float32", "fortran", "strided", "list", "integers"])
def test_other_forms_of_numbers_are_converted(rng, form):
    X = rng.integers(-3, 4, (6, 4)).astype(float)
    given = {
        "float32": X.astype(np.float32),
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "list": X.tolist(),
        "integers": X.astype(int),
    }[form]
    one, other = (SymmetricInverse(ridge=1.0, size=4) for _ in range(2))
    assert one.update_block(X)
    assert other.update_block(given)
    np.testing.assert_array_equal(one.to_dense(), other.to_dense())
    with pytest.raises(ValueError, match="X must be an array of real numbers"):
        one.update_block(np.array([["a"] * 4]))
    with pytest.raises(ValueError, match="X must be an array of real numbers"):
        one.update_block(X.astype(complex))


def test_blocks_longer_than_a_run(rng):
    B = random_spd(rng, 30)
    X, weights = rng.standard_normal((200, 30)), rng.uniform(0.1, 1, 200)
    part = SymmetricInverse(B)
    assert part.update_block(X, weights)
    expected = np.linalg.inv(B + X.T @ (weights[:, None] * X))
    np.testing.assert_allclose(part.to_dense(), expected, atol=1e-13)
    assert part.update_block(X, -weights)
    np.testing.assert_allclose(part.to_dense(), np.linalg.inv(B), rtol=1e-9, atol=1e-10)
    before = part.to_dense()
    assert not part.update_block(X, -weights)
    np.testing.assert_array_equal(part.to_dense(), before)
