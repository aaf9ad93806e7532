"""Kernels and spans of rows, against dense kernel matrices."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift import _core
from kernsift.blocks import Kernel, KernelSpan
from oracles import cholesky, kernel_function, solve_lower

EPS = np.finfo(float).eps
KERNELS = tuple(_core.kernel_table())
STATIONARY = tuple(name for name, facts in _core.kernel_table().items() if facts["slope"])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("threads", [1, 3])
def test_values_are_those_of_the_definition(rng, name, threads):
    X, Z = rng.standard_normal((300, 3)), rng.standard_normal((17, 3))
    kernel = Kernel(name, gamma=0.3, degree=2, coef0=0.5)
    expected = kernel_function(name, 0.3, 2, 0.5)(X, Z)
    K = kernel(X, Z, threads=threads)
    np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(kernel(X[5], Z), K[5])
    np.testing.assert_array_equal(kernel(X, Z[2]), K[:, 2])
    assert kernel(X[5], Z[2]) == K[5, 2]
    np.testing.assert_allclose(kernel.diagonal(X), [kernel(x, x) for x in X], rtol=1e-15)
    coef = rng.standard_normal((17, 2))
    np.testing.assert_allclose(kernel.expand(X, Z, coef, threads=threads), K @ coef, atol=1e-12)
    np.testing.assert_allclose(kernel.expand(X, Z, coef[:, 0]), K @ coef[:, 0], atol=1e-12)


@pytest.mark.parametrize("name", STATIONARY)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_gradient_is_that_of_differences(rng, name, threads):
    X, Z, G = rng.standard_normal((150, 3)), rng.standard_normal((11, 3)), rng.standard_normal((150, 11))
    gamma = np.array([0.3, 0.7, 1.1])
    gradient = Kernel(name, gamma=gamma).gradient(X, Z, G, threads=threads)
    for j in range(3):
        step = 1e-5 * np.eye(3)[j]
        up, down = ((G * Kernel(name, gamma=gamma + s)(X, Z)).sum() for s in (step, -step))
        # central differences: truncation 1e-10, rounding 1e-16 / 1e-5 of sums of 1650 terms
        assert gradient[j] == pytest.approx((up - down) / 2e-5, abs=1e-7)
    np.testing.assert_array_equal(gradient, Kernel(name, gamma=gamma).gradient(X, Z, G))


def test_without_a_gradient_there_is_an_error(rng):
    X = rng.standard_normal((2, 2))
    for name in set(KERNELS) - set(STATIONARY):
        with pytest.raises(ValueError, match="needs a stationary kernel"):
            Kernel(name).gradient(X, X, np.ones((2, 2)))


def test_single_precision_comes_back_as_it_came(rng):
    X, Z, coef = rng.standard_normal((50, 3)), rng.standard_normal((7, 3)), rng.standard_normal(7)
    kernel = Kernel("rbf", gamma=0.4)
    single = X.astype(np.float32)
    for given, double in (
        (kernel(single, Z), kernel(X, Z)),
        (kernel.expand(single, Z, coef), kernel.expand(X, Z, coef)),
    ):
        assert given.dtype == np.float32
        assert double.dtype == np.float64
        np.testing.assert_allclose(given, double, atol=1e-5)  # some 50 roundings of single precision


def test_rows_far_from_the_centre_are_as_accurate(rng):
    X = rng.standard_normal((40, 2))
    near, far = Kernel("rbf", gamma=0.5), Kernel("rbf", gamma=0.5, centre=[1e6, 1e6])
    K = near(X, X)
    # the rows themselves are rounded by 1e6 eps
    np.testing.assert_allclose(near(X + 1e6, X + 1e6), K, atol=1e-9)
    np.testing.assert_allclose(far(X + 1e6, X + 1e6), K, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Kernel("gauss"), "gauss"),
        (lambda: Kernel("rbf", gamma=-1.0), "gamma"),
        (lambda: Kernel("rbf", gamma=np.nan), "gamma"),
        (lambda: Kernel("polynomial", degree=0), "degree"),
        (lambda: Kernel("rbf", gamma=[1.0, 1.0])([[1.0]], [[1.0]]), "rows have 1 features and gamma has 2 widths"),
        (lambda: Kernel("rbf", centre=[0.0])([[1.0, 2.0]], [[1.0, 2.0]]), "centre has 1"),
        (lambda: Kernel("rbf")([[1.0, 2.0]], [[1.0]]), r"Z must have rows of 2 numbers; got shape \(1, 1\)"),
        (lambda: Kernel("rbf")([[1.0, np.nan]], [[1.0, 1.0]]), "X has NaN or infinity in row 0, column 1"),
        (lambda: Kernel("rbf").expand([[1.0]], [[1.0]], [1.0, 2.0]), "coef must have 1 rows"),
        (lambda: Kernel("rbf").gradient([[1.0]], [[1.0]], [[1.0, 2.0]]), "weights must have 1 rows"),
        (lambda: KernelSpan("rbf"), "kernel must be a kernsift.blocks.Kernel"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_kernel_is_rebuilt_from_its_parameters():
    for kernel in (Kernel("polynomial", gamma=[1.0, 2.0], degree=2), Kernel("rbf", gamma=0.5, centre=[1.0])):
        again = pickle.loads(pickle.dumps(kernel))
        assert repr(again) == repr(kernel)
        assert repr(eval(repr(kernel), {"Kernel": Kernel})) == repr(kernel)


class SpanMachine(RuleBasedStateMachine):
    """The rows are kept, and their kernel matrix is factored afresh after each step."""

    @initialize(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(STATIONARY))
    def begin(self, seed, name):
        self.rng = np.random.default_rng(seed)
        self.kernel = Kernel(name, gamma=0.5, centre=[0.0, 0.0])  # that of the span too: the same values
        self.part, self.rows, self.deleted = KernelSpan(self.kernel), np.zeros((0, 2)), False

    @precondition(lambda self: len(self.rows) < 12)
    @rule()
    def append(self):
        x = self.rng.uniform(-3, 3, 2)
        distance, bound = self.part.novelty(x)
        if distance > 1e-2:
            assert self.part.append(x)
            self.rows = np.vstack([self.rows, x])
            assert bound < 1e-10

    @precondition(lambda self: len(self.rows) > 0)
    @rule(where=st.floats(0, 1, exclude_max=True))
    def delete(self, where):
        i = int(where * len(self.rows))
        self.part.delete(i)
        self.rows = np.delete(self.rows, i, 0)

    @precondition(lambda self: len(self.rows) > 0)
    @rule()
    def a_row_that_is_there_is_refused(self):
        before, refused = self.part.to_cholesky(), self.part.n_refused
        assert not self.part.append(self.rows[-1])
        np.testing.assert_array_equal(self.part.to_cholesky(), before)
        assert self.part.n_refused == refused + 1

    @rule()
    def bad_input_changes_nothing(self):
        before = self.part.to_cholesky()
        for bad in (lambda: self.part.append([np.nan, 1.0]), lambda: self.part.delete(len(self.rows))):
            with pytest.raises(ValueError, match=r"NaN|range"):
                bad()
        if len(self.rows):
            for bad in (self.part.append, self.part.novelty, self.part.coordinates):
                with pytest.raises(ValueError, match="rows must have 2 numbers; got 3"):
                    bad([1.0, 2.0, 3.0])
            with pytest.raises(ValueError, match="W must have rows"):
                self.part.coefficients(np.ones(len(self.rows) + 1))
        np.testing.assert_array_equal(self.part.to_cholesky(), before)

    @rule(way=st.sampled_from(["pickle", "copy"]))
    def go_on_as_another(self, way):
        before = self.part.to_cholesky()
        self.part = pickle.loads(pickle.dumps(self.part)) if way == "pickle" else self.part.copy()
        np.testing.assert_array_equal(self.part.to_cholesky(), before)
        np.testing.assert_array_equal(self.part.vectors.reshape(-1, 2), self.rows)

    @invariant()
    def the_factor_and_what_follows_from_it(self):
        if not hasattr(self, "part"):
            return
        m = len(self.rows)
        assert self.part.size == m
        if m == 0:
            return
        np.testing.assert_array_equal(self.part.vectors, self.rows)
        K, L = self.kernel(self.rows, self.rows), self.part.to_cholesky()
        np.testing.assert_array_equal(np.triu(L, 1), 0 * L)
        assert (np.diag(L) > 0).all()
        np.testing.assert_allclose(L @ L.T, K, atol=1e-13)  # orthogonal steps only
        X = np.vstack([self.rng.uniform(-3, 3, (4, 2)), self.rows[:1]])
        k = self.kernel(X, self.rows)
        W = self.part.coordinates(X)
        condition = np.linalg.cond(K)
        np.testing.assert_allclose(W, np.linalg.solve(L, k.T).T, atol=10 * EPS * condition)
        a = self.part.coefficients(W)
        np.testing.assert_allclose(a @ K, k, atol=100 * EPS * condition)
        distance, bound = self.part.novelty(X)
        K, k = K.astype(np.longdouble), k.astype(np.longdouble)
        exact = 1 - (solve_lower(cholesky(K), k.T) ** 2).sum(axis=0)
        assert (abs(distance - exact) <= bound).all()
        assert (distance >= 0).all()
        assert distance[-1] <= bound[-1]
        one = self.part.novelty(X[0])
        np.testing.assert_allclose(one, (distance[0], bound[0]), rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(self.part.coordinates(X[0]), W[0], atol=10 * EPS * condition)


TestSpan = SpanMachine.TestCase
TestSpan.settings = settings(stateful_step_count=40, deadline=None)


def test_an_empty_span():
    span = KernelSpan(Kernel("rbf"))
    assert span.vectors.shape == (0, 0)
    assert span.novelty([1.0]) == (1.0, 2 * EPS)
    assert span.coordinates([[1.0]]).shape == (1, 0)
    assert pickle.loads(pickle.dumps(span)).size == 0
    assert span.append([1.0])


def test_the_bound_holds_where_rows_are_nearly_dependent():
    """Rows of a line, ever closer: the distance in long double is within the bound of the one returned."""
    X = np.linspace(0, 1, 12)[:, None]
    span = KernelSpan(Kernel("rbf", gamma=1.0))
    for x in X:
        span.append(x)
    Z = np.linspace(0.04, 0.96, 9)[:, None]
    distance, bound = span.novelty(Z)
    K = kernel_function("rbf", 1.0, 3, 1.0)
    V = span.vectors.astype(np.longdouble)
    if np.finfo(np.longdouble).eps == EPS:
        pytest.skip("no longer double here")
    w = solve_lower(cholesky(K(V, V)), K(V, Z.astype(np.longdouble)))
    exact = 1 - (w * w).sum(axis=0)
    assert (abs(distance - exact) <= bound + 1e-16).all()
    assert bound.max() > 10 * EPS
