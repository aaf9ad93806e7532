"""Recursive least squares against the minimiser of its rows, solved afresh in long double."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kernsift.blocks import RecursiveLeastSquares
from oracles import FadingFilter, RidgeRows, dense_inverse
from oracles.memories import Weights
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


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("forgetting", [0.9, 0.995])
def test_forgetting_is_a_filter_that_returns_to_its_prior(rng, forgetting, fit_intercept):
    """Rows and blocks, growth and deletion, against dense equations in long double."""
    d, b = 3, int(fit_intercept)
    make = {"alpha": 0.5, "fit_intercept": fit_intercept, "forgetting": forgetting}
    rows, block = RecursiveLeastSquares(**make), RecursiveLeastSquares(**make)
    oracle = FadingFilter(b + d, 2, 0.5, forgetting)

    def learn(n):
        X, Y, v = rng.standard_normal((n, d)), rng.standard_normal((n, 2)), rng.uniform(0.5, 2, n)
        assert all(rows.update(*row) for row in zip(X, Y, v.tolist(), strict=True))
        assert block.update_block(X, Y, v) == 0
        for x, y, weight in zip(X, Y, v, strict=True):
            oracle.learn(np.append(np.ones(b), x), y, weight)

    def compare():
        for model in (rows, block, pickle.loads(pickle.dumps(rows)), block.copy()):
            # C stays within 1 / alpha = 2: a few hundred roundings of it
            np.testing.assert_allclose(model.coef_, oracle.theta[b:].astype(float), atol=1e-12)
            np.testing.assert_allclose(model.intercept_, oracle.theta[:b].sum(axis=0).astype(float), atol=1e-12)
            np.testing.assert_allclose(model.covariance_, oracle.C[b:, b:].astype(float), atol=1e-12)

    learn(300)
    compare()
    noise = (oracle.cost / oracle.rows).astype(float)
    for model in (rows, block):
        assert model.n_samples_seen_ == 300
        np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-11)
        X = rng.standard_normal((2, d))
        w = np.hstack([np.ones((2, b)), X])
        variance = np.multiply.outer(1 + np.einsum("ij,jk,ik->i", w, oracle.C.astype(float), w), noise)
        np.testing.assert_allclose(model.predict(X, return_std=True)[1], np.sqrt(variance), rtol=1e-10)
        model.grow()
        np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-11)
        model.delete(1)
    oracle.grow()
    oracle.delete(b + 1)
    compare()
    learn(100)
    compare()
    for bad in (lambda: rows.update(np.ones(d), np.ones(2), -1.0), rows.evidence, rows.gcv):
        with pytest.raises(ValueError, match=r"taken back|evidence is of all rows|gcv is of all rows"):
            bad()


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


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_bank_is_its_memories_weighed_by_their_errors(rng, fit_intercept):
    """Rows and blocks, growth and deletion, against filters in long double."""
    d, b, bank = 3, int(fit_intercept), [0.98, 0.96, 0.97]
    make = {"alpha": 0.5, "fit_intercept": fit_intercept, "forgetting": bank}
    rows, block = RecursiveLeastSquares(**make), RecursiveLeastSquares(**make)
    filters, weights = [FadingFilter(b + d, 2, 0.5, each) for each in bank], Weights(3, 2)

    def learn(n):
        X, v = rng.standard_normal((n, d)), rng.uniform(0.5, 2, n)
        Y = np.cos(X[:, :1] + [0.0, 2.0]) + rng.standard_normal((n, 2)) / 3
        assert all(rows.update(*row) for row in zip(X, Y, v.tolist(), strict=True))
        assert block.update_block(X, Y, v) == 0
        for x, y, weight in zip(X, Y, v, strict=True):
            w = np.append(np.ones(b), x)
            weights.learn(np.array([y - w @ each.theta for each in filters], dtype=float), weight)
            for each in filters:
                each.learn(w, y, weight)

    def compare():
        share = weights.values
        assert share.max() < 0.99  # they do compete
        theta = np.tensordot(share, [each.theta for each in filters], axes=1).astype(float)
        heaviest = filters[share.argmax()]
        W = np.hstack([np.ones((5, b)), rng.standard_normal((5, d))]).astype(np.longdouble)
        means = np.array([W @ each.theta for each in filters])
        variances = [np.outer(1 + ((W @ each.C) * W).sum(axis=1), each.cost / each.rows) for each in filters]
        spread = (means - np.tensordot(share, means, axes=1)) ** 2
        variance = np.tensordot(share, variances + spread, axes=1).astype(float)
        for model in (rows, block, pickle.loads(pickle.dumps(rows)), block.copy()):
            # as for one memory, and weights whose logarithms are sums of a hundred effective terms
            np.testing.assert_allclose([each["weight"] for each in model.experts_], share, rtol=1e-10)
            np.testing.assert_allclose(model.coef_, theta[b:], atol=1e-11)
            np.testing.assert_allclose(model.intercept_, theta[:b].sum(axis=0), atol=1e-11)
            np.testing.assert_allclose(model.covariance_, heaviest.C[b:, b:].astype(float), atol=1e-12)
            mean, std = model.predict(W[:, b:].astype(float), return_std=True)
            np.testing.assert_allclose(mean, (W @ theta).astype(float), atol=1e-10)
            np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-9)

    learn(200)
    compare()
    for model in (rows, block):
        model.grow()
    for each in filters:
        each.grow()
    d += 1
    learn(50)
    for model in (rows, block):
        model.delete(1)
    for each in filters:
        each.delete(b + 1)
    d -= 1
    compare()
    learn(100)
    compare()


def test_a_bank_is_as_good_as_its_best_memory(rng):
    X = rng.standard_normal((3000, 3))
    beta = np.where(np.arange(3000)[:, None] < 1500, [1.0, -2.0, 0.5], [1.0, 2.0, 0.5])
    y = (X * beta).sum(axis=1) + 0.1 * rng.standard_normal(3000)
    models = [RecursiveLeastSquares(alpha=1e-3, forgetting=f) for f in (1.0, 0.99, 0.9, [1.0, 0.99, 0.9])]
    errors = np.zeros((3000, 4))
    for t in range(3000):
        errors[t] = [y[t] - model.predict_one(X[t]) if t else 0.0 for model in models]
        for model in models:
            model.update(X[t], y[t])
    for part in (errors[100:1500], errors[1600:]):  # before an effect turns, and when it has turned
        *alone, bank = np.sqrt(np.mean(part**2, axis=0))
        assert bank < 1.03 * min(alone)


@pytest.mark.parametrize("forgetting", [[], [1.0, 0.0], [0.5, 1.5], ["long"], 0.0])
def test_a_bank_that_is_none_is_refused(forgetting):
    with pytest.raises(ValueError, match="forgetting"):
        RecursiveLeastSquares(forgetting=forgetting).update([1.0], 1.0)


def test_files_of_one_memory_are_those_of_before():
    model = RecursiveLeastSquares(forgetting=0.9).fit([[1.0], [2.0]], [1.0, 2.0])
    settings = model._settings()
    settings["begun"] = [1.0, True, 0.9]
    arrays = {name: values for name, values in model._arrays().items() if not name.startswith(("log_w", "error"))}
    again = RecursiveLeastSquares()
    again._restore({**settings, "parameters": model.get_params()}, arrays)
    assert again.predict_one([3.0]) == model.predict_one([3.0])
    assert again.update([1.0], 2.0)


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
