"""Recursive least squares against the minimiser of its rows, solved afresh in long double."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift.blocks import RecursiveLeastSquares
from oracles import RidgeRows, dense_inverse
from sklearn.utils.estimator_checks import parametrize_with_checks


class LeastSquaresMachine(RuleBasedStateMachine):
    @initialize(
        seed=st.integers(0, 2**32 - 1),
        d=st.integers(0, 4),
        c=st.integers(1, 2),
        fit_intercept=st.booleans(),
        alpha=st.sampled_from([1e-3, 1.0, 50.0]),
        far=st.sampled_from([0.0, 100.0]),
    )
    def begin(self, seed, d, c, fit_intercept, alpha, far):
        self.rng = np.random.default_rng(seed)
        self.far = far if fit_intercept else 0.0
        self.part = RecursiveLeastSquares(alpha=alpha, fit_intercept=fit_intercept)
        self.oracle = RidgeRows(d, c, alpha, fit_intercept)
        self.n_begun, self.largest, self.largest_inverse = d, 0.0, 0.0
        self.learn_block(2)

    def rows(self, n):
        X = self.rng.standard_normal((n, self.oracle.X.shape[1]))
        X[:, : self.n_begun] += self.far  # features that grew were 0 until then
        return X, self.rng.standard_normal((n, self.oracle.Y.shape[1])), self.rng.uniform(0.2, 3, n)

    @rule()
    def learn_row(self):
        X, Y, v = self.rows(1)
        assert self.part.update(X[0], Y[0], float(v[0]))
        self.oracle.add(X, Y, v)

    @rule(n=st.integers(0, 6))
    def learn_block(self, n):
        X, Y, v = self.rows(n)
        assert self.part.update_block(X, Y, v) == 0
        self.oracle.add(X, Y, v)

    @precondition(lambda self: len(self.oracle.X) > 2)
    @rule(where=st.floats(0, 1, exclude_max=True), block=st.booleans())
    def take_back(self, where, block):
        i = int(where * len(self.oracle.X))
        x, y, v = self.oracle.X[i], self.oracle.Y[i], float(self.oracle.v[i])
        if block:
            assert self.part.update_block(x[None], y[None], [-v]) == 0
        else:
            assert self.part.update(x, y, -v)
        self.oracle.take_back(i)

    @precondition(lambda self: self.oracle.X.shape[1] < 7)
    @rule(count=st.integers(1, 2))
    def grow(self, count):
        self.part.grow(count)
        self.oracle.grow(count)

    @precondition(lambda self: self.oracle.X.shape[1] > 0)
    @rule(where=st.floats(0, 1, exclude_max=True))
    def delete(self, where):
        i = int(where * self.oracle.X.shape[1])
        self.part.delete(i)
        self.oracle.delete(i)
        self.n_begun -= i < self.n_begun

    @rule(way=st.sampled_from(["pickle", "copy"]))
    def go_on_as_another(self, way):
        before = self.part._core.state()
        self.part = pickle.loads(pickle.dumps(self.part)) if way == "pickle" else self.part.copy()
        after = self.part._core.state()
        for name, value in before.items():
            np.testing.assert_array_equal(value, after[name])

    @rule()
    def bad_input_changes_nothing(self):
        d, c = self.oracle.X.shape[1], self.oracle.Y.shape[1]
        before = self.part._core.state()
        for bad in (
            lambda: self.part.update(np.ones(d + 1), np.ones(c)),
            lambda: self.part.update(np.full(d, np.nan) if d else np.ones(1), np.ones(c)),
            lambda: self.part.update(np.ones(d), np.full(c, np.nan)),
            lambda: self.part.update(np.ones(d), np.ones(c + 1)),
            lambda: self.part.update(np.ones(d), np.ones(c), np.nan),
            lambda: self.part.update_block(np.ones((2, d)), np.ones((3, c))),
            lambda: self.part.update_block(np.ones((2, d)), np.ones((2, c)), [1.0]),
            lambda: self.part.delete(d),
            lambda: self.part.grow(0),
        ):
            with pytest.raises(ValueError, match=r"length|NaN|numbers|rows|weight|range|at least|finite"):
                bad()
        for name, value in self.part._core.state().items():
            np.testing.assert_array_equal(value, before[name])

    @invariant()
    def is_the_minimiser(self):
        if not hasattr(self, "part"):
            return
        best, oracle = self.oracle.solve(), self.oracle
        assert self.part.n_samples_seen_ == len(oracle.X)
        b = len(best.bias)
        C = best.C.astype(float)
        # A step rounds C by E, |E| = eps |C|: as a change of C^-1 it is C^-1 E C^-1, which later steps keep, and which
        # comes back as C (C^-1 E C^-1) C when C is another. 10 times, for 25 steps; rows about the model's origin.
        X = oracle.X - oracle.X[:1] if b else oracle.X
        Z = np.hstack([np.ones((len(X), b)), X]) * np.sqrt(oracle.v)[:, None]
        size = max(1.0, np.linalg.norm(C, 2))
        self.largest = max(self.largest, np.linalg.norm(Z, 2) ** 2 + oracle.alpha)
        self.largest_inverse = max(self.largest_inverse, size)
        tolerance = 10 * np.finfo(float).eps * (self.largest * self.largest_inverse) ** 2 * size
        np.testing.assert_allclose(self.part.coef_, best.theta.astype(float), atol=tolerance)
        intercept = best.bias.sum(axis=0).astype(float)
        np.testing.assert_allclose(self.part.intercept_, intercept, atol=tolerance * (1 + self.far))
        np.testing.assert_allclose(self.part.covariance_, C[b:, b:], atol=tolerance)
        np.testing.assert_allclose(self.part.cost_, best.cost.astype(float), atol=tolerance)
        assert self.part.dof() == pytest.approx(float(best.dof), abs=tolerance)
        scores = (best.theta**2).sum(axis=1) / np.diag(best.C)[b:]
        np.testing.assert_allclose(self.part.deletion_scores(), scores.astype(float), atol=10 * tolerance)
        X, _, _ = self.rows(3)
        mean = intercept + X @ best.theta.astype(float)
        np.testing.assert_allclose(self.part._core.predict(X), mean, atol=tolerance * (1 + self.far))
        np.testing.assert_allclose(self.part.predict_one(X[0]), mean[0], atol=tolerance * (1 + self.far))
        n = len(oracle.X)
        if n - best.dof > 0.5:  # a score is a quotient by the freedom left
            gcv = n * best.rss / (n - best.dof) ** 2
            np.testing.assert_allclose(self.part.gcv(), gcv.astype(float), rtol=1e-6, atol=100 * n * tolerance)
        if n > b + 1 and min(best.cost) > 1e-3:
            np.testing.assert_allclose(
                self.part.evidence(), oracle.log_evidence(best).astype(float), rtol=1e-6, atol=1e-6
            )
        if X.shape[1]:
            _, std = self.part.predict(X, return_std=True)
            w = np.hstack([np.ones((3, b)), X])
            noise = best.cost / (n - b) if n > b else best.cost
            expected = np.sqrt(np.multiply.outer(1 + np.einsum("ij,jk,ik->i", w, C, w), noise.astype(float)))
            np.testing.assert_allclose(std, expected, atol=1e-6)


TestLeastSquares = LeastSquaresMachine.TestCase
TestLeastSquares.settings = settings(stateful_step_count=25, deadline=None)


@parametrize_with_checks([RecursiveLeastSquares(), RecursiveLeastSquares(fit_intercept=False)])
def test_manners_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_row_that_was_never_learned_cannot_be_taken_back(rng):
    model = RecursiveLeastSquares().fit(rng.standard_normal((5, 2)), rng.standard_normal(5))
    before = model._core.state()
    assert not model.update([100.0, 0.0], 0.0, -1.0)
    assert model.n_refused_ == 1
    for name, value in model._core.state().items():
        np.testing.assert_array_equal(value, before[name])
    fresh = RecursiveLeastSquares()
    assert not fresh.update([1.0], 1.0, -1.0)


def test_before_the_first_row():
    with pytest.raises(ValueError, match="rows have 2 features and n_features=3"):
        RecursiveLeastSquares(n_features=3).update([1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match="alpha"):
        RecursiveLeastSquares(alpha=0.0).update([1.0], 1.0)
    with pytest.raises(ValueError, match="has seen no row"):
        RecursiveLeastSquares().predict_one([1.0])


@pytest.mark.slow
def test_a_million_updates_with_growth_and_deletion(rng):
    """The digits that are left after 1e6 rows, at the least ridge promised: 1e-9 of the largest coefficient."""
    alpha, d, n = 1e-8, 12, 1_000_000
    model = RecursiveLeastSquares(alpha=alpha)
    oracle = np.zeros((d + 1, d + 1), np.longdouble)  # [1 x]'[1 x] in long double
    moments, beta = np.zeros(d + 1, np.longdouble), rng.standard_normal(d)
    for first in range(0, n, 1000):
        X = rng.standard_normal((1000, d)) + 3.0
        y = X @ beta + 0.1 * rng.standard_normal(1000)
        if first % 2000:
            model.update_block(X, y)
        else:
            for x, target in zip(X, y.tolist(), strict=True):
                model.update(x, target)
        Z = np.hstack([np.ones((1000, 1)), X]).astype(np.longdouble)
        oracle, moments = oracle + Z.T @ Z, moments + Z.T @ y
        if first % 50_000 == 0:  # a feature goes, and one comes that was 0 until now
            i = int(rng.integers(d))
            model.delete(i)
            model.grow()
            order = [j for j in range(d + 1) if j != i + 1]
            oracle = np.pad(oracle[np.ix_(order, order)], (0, 1))
            moments = np.append(moments[order], 0)
    oracle[np.arange(1, d + 1), np.arange(1, d + 1)] += alpha
    C = dense_inverse(oracle)[0]
    expected = (C @ moments).astype(float)
    size = abs(expected).max()
    assert abs(model.coef_ - expected[1:]).max() < 1e-9 * size
    assert abs(model.intercept_ - expected[0]) < 1e-9 * size
    covariance = C[1:, 1:].astype(float)
    assert abs(model.covariance_ - covariance).max() < 1e-9 * abs(covariance).max()
