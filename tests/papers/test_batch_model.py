"""`BatchModel` against a still more literal statement: the design, the recursion, and what follows from a state.

Nothing of the package is imported.  Tolerances are those of `test_oracles.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles import (
    ADMITTED,
    BOUNCED,
    REJECTED_USEFULNESS,
    SWAPPED,
    Array,
    BatchModel,
    Solution,
    kernel_function,
    rkhs_error,
    rounded,
)
from support.long_double import LD, RBF, digits, make_stream, off, random_log

# ---- the design --------------------------------------------------------------------------------------------


def test_design_in_an_explicit_feature_space() -> None:
    """(1.1) with phi written out (linear kernel, phi(x) = x in R^9): the stored approximation of a row is
    a vector, its projection on the dictionary's span when it is processed, projected again when an
    element is deleted, left alone when one is added; K~ holds its inner products with the dictionary."""
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((60, 9)), rng.standard_normal(60)
    kernel = kernel_function("linear")
    outcome, victim = random_log(X, kernel, 1e-2, cap=5)
    assert {REJECTED_USEFULNESS, ADMITTED, SWAPPED, BOUNCED} <= set(outcome.tolist())
    model = BatchModel(kernel, 0.1)
    letter = BatchModel(kernel, 0.1, representation="design")

    stored, members = np.zeros((0, 9)), []
    for i in range(60):
        if outcome[i] in (ADMITTED, SWAPPED):
            members.append(i)
        stored = np.vstack([stored, project_on(X[i : i + 1], X[members])])
        if outcome[i] == SWAPPED:
            members.remove(int(victim[i]))
            stored = project_on(stored, X[members])
        for each in (model, letter):
            each.learn(X[i : i + 1], Y[i : i + 1], None, outcome[i : i + 1], victim[i : i + 1])
            assert each.indices == members
            if members:
                # the reference is in double, from lstsq
                assert off(each.design, stored @ X[members].T) < 1e-11
    assert off(model.coefficients, letter.coefficients) < digits(1e-15, 1e-11)
    assert off(model.orthonormal_design, letter.orthonormal_design) < digits(1e-15, 1e-11)


def project_on(rows: Array, basis: Array) -> Array:
    """Orthogonal projection of rows (t, d) on the span of basis (m, d)."""
    if len(basis) == 0:
        return np.zeros_like(rows)
    return (basis.T @ np.linalg.lstsq(basis.T, rows.T)[0]).T


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_representations_and_compression_are_one_model(fit_intercept: bool) -> None:
    X, Y, v = make_stream(300, c=2, weighted=True)
    v[[3, 50]] = 0
    outcome, victim = random_log(X, RBF, 1e-3, cap=14, v=v)
    assert (outcome == SWAPPED).sum() > 50
    settings: dict[str, Any] = {"fit_intercept": fit_intercept, "n_outputs": 2}
    solutions = [
        BatchModel(RBF, 1e-3, **settings, **more).learn(X, Y, v, outcome, victim).solve()
        for more in (
            {},
            {"representation": "design"},
            {"compress": True},
            {"compress": True, "representation": "design"},
        )
    ]
    new = make_stream(20, seed=9)[0]
    first = solutions[0]
    assert first.t == 298
    for other in solutions[1:]:
        assert (other.indices == first.indices).all()
        for name in (
            "beta",
            "bias",
            "cost",
            "rss",
            "inverse_P",
            "C",
            "gcv",
            "log_evidence",
            "noise_variance",
        ):
            assert off(getattr(other, name), getattr(first, name)) < digits(1e-13, 1e-9), name
        assert off(other.log_det, first.log_det) < 1e-13
        assert off(other.dof, first.dof) < digits(1e-13, 1e-9)
        assert off(other.predict(new), first.predict(new)) < digits(1e-13, 1e-9)


def test_replay_yields_the_state_after_each_event() -> None:
    X, Y, v = make_stream(80, weighted=True)
    outcome, victim = random_log(X, RBF, 1e-2, cap=8)
    whole = BatchModel(RBF, 0.01)
    seen = []
    for i, got in whole.replay(X, Y, v, outcome, victim):
        seen.append(i)
        prefix = BatchModel(RBF, 0.01).learn(X[: i + 1], Y[: i + 1], v[: i + 1], outcome[: i + 1], victim[: i + 1])
        fresh = prefix.solve()
        assert got.t == fresh.t == i + 1
        assert (got.indices == fresh.indices).all()
        assert off(got.beta, fresh.beta) < digits(1e-15, 1e-11)
    assert seen == sorted({*np.flatnonzero(np.isin(outcome, (ADMITTED, SWAPPED))).tolist(), 79})
    chosen = [i for i, _ in BatchModel(RBF, 0.01).replay(X, Y, v, outcome, victim, at=[7, 40])]
    assert chosen == [7, 40]


def test_before_any_row_and_without_kernels() -> None:
    for fit_intercept in (True, False):
        model = BatchModel(RBF, 0.1, fit_intercept=fit_intercept)
        X, Y = np.array([[1.0], [2.0], [4.0]]), np.array([2.0, 3.0, 7.0])
        model.learn(X[:0], Y[:0], None, np.zeros(0), np.zeros(0))
        empty = model.solve()
        assert (empty.t, empty.cost[0], empty.bias[0]) == (0, 0, 0)
        assert empty.beta.shape == (0, 1)
        model.learn(X, Y, np.array([1.0, 1.0, 2.0]), np.full(3, REJECTED_USEFULNESS), np.full(3, -1))
        got = model.solve()
        if fit_intercept:  # the weighted mean and its sum of squares
            assert got.bias == pytest.approx(19 / 4)
            assert got.cost == pytest.approx(4 + 9 + 2 * 49 - 19**2 / 4)
            assert (got.n, got.t) == (2, 3)
        else:
            assert got.bias == 0
            assert got.cost == pytest.approx(4 + 9 + 2 * 49)
        assert got.inverse_P.shape == (0, 0)
        assert got.predict(X) == pytest.approx(np.full((3, 1), float(got.bias[0])))


def test_log_must_fit_the_weights() -> None:
    with pytest.raises(ValueError, match="row 0"):
        BatchModel(RBF, 0.1).learn(np.ones((1, 1)), np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1))


# ---- BatchModel against the recursion in beta --------------------------------------------------------------


class Recursion:
    """The papers' O(m^2) recursion {K^-1, P^-1, beta, xi} with the equations as corrected, and log|P|,
    log|K| beside it; the bias is a coordinate 0 of P^-1 and beta that no new column touches."""

    def __init__(self, kernel: Any, alpha: float, bias: bool, d: int, c: int) -> None:
        self.kernel, self.alpha, self.b = kernel, alpha, int(bias)
        self.basis, self.members = np.zeros((0, d), LD), []
        self.K_inverse, self.P_inverse = np.zeros((0, 0), LD), np.zeros((0, 0), LD)
        self.beta, self.xi = np.zeros((0, c), LD), np.zeros(c, LD)
        self.log_P, self.log_K, self.started = LD(0), LD(0), not bias

    def learn(self, row: int, x: Array, y: Array, v: float, outcome: int, victim: int) -> None:
        x, y, v = x.astype(LD), y.astype(LD), LD(v)
        if not self.started:  # one row, a free constant: y = b exactly
            assert outcome not in (ADMITTED, SWAPPED)
            self.P_inverse, self.beta, self.log_P = np.full((1, 1), 1 / v, LD), y[None].copy(), np.log(v)
            self.started = True
            return
        k = self.kernel(self.basis, x[None])[:, 0]
        a, k_star = self.K_inverse @ k, self.kernel(x[None], x[None])[0, 0]
        ones = np.ones(self.b, LD)
        k_b, a_b = np.append(ones, k), np.append(0 * ones, a)  # beside the constant column
        delta = k_star - k @ a
        g = self.P_inverse @ k_b
        Delta, rho = 1 / v + k_b @ g, y - k_b @ self.beta
        self.P_inverse = self.P_inverse - np.outer(g, g) / Delta  # [JP 11]
        self.beta = self.beta + np.outer(g, rho) / Delta
        self.xi = self.xi + rho**2 / Delta
        self.log_P += np.log(v * Delta)
        if outcome in (ADMITTED, SWAPPED):
            w = np.append(-a_b - delta / Delta * g, 1)  # [JP 14]
            Delta_b = delta**2 / Delta + self.alpha * delta  # [JPs grow]
            kappa = rho / (delta + self.alpha * Delta)
            self.P_inverse = np.pad(self.P_inverse, (0, 1)) + np.outer(w, w) / Delta_b  # [JP 12]
            self.beta = np.pad(self.beta, ((0, 1), (0, 0))) + np.outer(w, kappa)  # [JP 15]
            self.xi = self.xi - kappa**2 * Delta_b  # [JP 16]
            z = np.append(-a, 1)
            self.K_inverse = np.pad(self.K_inverse, (0, 1)) + np.outer(z, z) / delta  # [JP 10]
            self.basis, self.members = np.vstack([self.basis, x]), [*self.members, row]
            self.log_P, self.log_K = self.log_P + np.log(Delta_b), self.log_K + np.log(delta)
        if outcome == SWAPPED:
            i = self.members.index(victim)
            p, u, z = self.b + i, self.P_inverse[:, self.b + i], self.K_inverse[:, i]
            self.log_P, self.log_K = self.log_P + np.log(u[p]), self.log_K + np.log(z[i])
            self.xi = self.xi + self.beta[p] ** 2 / u[p]  # [JP 19]
            self.beta = np.delete(self.beta - np.outer(u, self.beta[p]) / u[p], p, axis=0)  # [JP 18]
            self.P_inverse = without(self.P_inverse - np.outer(u, u) / u[p], p)  # [JP 17]
            self.K_inverse = without(self.K_inverse - np.outer(z, z) / z[i], i)
            self.basis = np.delete(self.basis, i, axis=0)
            del self.members[i]


def without(A: Array, i: int) -> Array:
    return np.delete(np.delete(A, i, axis=0), i, axis=1)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"])
@pytest.mark.parametrize("bias", [True, False])
def test_batch_model_is_the_recursion(name: str, bias: bool) -> None:
    """Every step, weights, two outputs, growing and pruning.  Tolerance: the recursion in the inverses loses
    cond(K) cond(P); in long double that leaves 1e-9 here."""
    d = 12 if name == "linear" else 3  # the linear kernel has rank d only
    X, Y, v = make_stream(120, d=d, c=2, weighted=True, seed=5)
    kernel = kernel_function(name, gamma=0.4)
    cap = 9 if name != "linear" else 7
    outcome, victim = random_log(X, kernel, 1e-2, cap=cap, seed=6)
    outcome[0] = REJECTED_USEFULNESS if bias else outcome[0]
    outcome, victim = consistent(outcome, victim)
    assert (outcome == SWAPPED).sum() >= 10
    recursion = Recursion(kernel, 0.05, bias, d, 2)
    model = BatchModel(kernel, 0.05, fit_intercept=bias, n_outputs=2)
    tolerance, b = digits(1e-9, 1e-5), int(bias)
    for i in range(120):
        recursion.learn(i, X[i], Y[i], v[i], outcome[i], int(victim[i]))
        model.learn(X[i : i + 1], Y[i : i + 1], v[i : i + 1], outcome[i : i + 1], victim[i : i + 1])
        if outcome[i] not in (ADMITTED, SWAPPED) and i < 119:
            continue
        got = model.solve()
        assert got.indices.tolist() == recursion.members
        assert off(got.beta, recursion.beta[b:]) < tolerance
        assert off(got.inverse_P, recursion.P_inverse[b:, b:]) < tolerance
        assert abs(got.cost - recursion.xi).max() < tolerance * max(float(got.cost.max()), 1e-3)
        assert got.log_det == pytest.approx(recursion.log_P - recursion.log_K, rel=tolerance, abs=tolerance)
        if bias:
            assert off(got.bias, recursion.beta[0]) < tolerance


def consistent(outcome: Array, victim: Array) -> tuple[Array, Array]:
    """After an edit of the log: a swap whose victim never joined is an admission."""
    members: set[int] = set()
    outcome, victim = outcome.copy(), victim.copy()
    for i, what in enumerate(outcome):
        if what == SWAPPED and int(victim[i]) not in members:
            outcome[i], victim[i] = ADMITTED, -1
        if outcome[i] == SWAPPED:
            members.remove(int(victim[i]))
        if outcome[i] in (ADMITTED, SWAPPED):
            members.add(i)
    return outcome, victim


# ---- what follows from a state -----------------------------------------------------------------------------


def dense_state(bias: bool, weighted: bool, seed: int = 7) -> tuple[BatchModel, Solution, Array, Array, Array]:
    X, Y, v = make_stream(60, weighted=weighted, seed=seed)
    outcome, victim = random_log(X, RBF, 5e-2, cap=7, seed=seed)
    model = BatchModel(RBF, 0.2, fit_intercept=bias).learn(X, Y, v, outcome, victim)
    return model, model.solve(), model.design.astype(float), Y[:, 0], v


@pytest.mark.parametrize("bias", [True, False])
def test_cost_rss_dof_gcv_by_definition(bias: bool) -> None:
    """(1.2) and (1.8): xi = J(beta), rss = xi - alpha|theta|^2, dof the trace of the hat matrix."""
    _, got, design, y, v = dense_state(bias, weighted=True)
    K = got.K.astype(float)
    U = np.hstack([np.ones((60, int(bias))), design])
    M = U.T @ (v[:, None] * U)
    M[int(bias) :, int(bias) :] += 0.2 * K
    beta = np.linalg.solve(M, U.T @ (v * y))
    residual = y - U @ beta
    rss = (v * residual**2).sum()
    cost = rss + 0.2 * beta[int(bias) :] @ K @ beta[int(bias) :]
    dof = np.trace(np.linalg.solve(M, U.T @ (v[:, None] * U)))
    assert off(got.beta[:, 0], beta[int(bias) :]) < 1e-10  # numpy's solve, double
    assert got.cost[0] == pytest.approx(cost, rel=1e-11)
    assert got.rss[0] == pytest.approx(rss, rel=1e-11)
    assert got.rss[0] == pytest.approx(got.cost[0] - got.alpha * (got.theta**2).sum(), rel=1e-14)
    assert got.dof == pytest.approx(dof, rel=1e-11)
    b, m = int(bias), len(got.indices)
    assert got.dof == pytest.approx(b + m - got.alpha * np.trace(got.C[b:, b:]), rel=1e-14)
    assert got.gcv[0] == pytest.approx(60 * rss / (60 - dof) ** 2, rel=1e-11)
    assert got.noise_variance[0] == pytest.approx(cost / (60 - b), rel=1e-11)
    # the bias eliminated: the inverse of the Schur complement of its coordinate
    inner = M[b:, b:] - (np.outer(M[b:, 0], M[0, b:]) / M[0, 0] if bias else 0)
    assert off(got.inverse_P, np.linalg.inv(inner)) < 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_log_evidence_is_the_normal_density(weighted: bool) -> None:
    """(1.8) without a bias: y ~ N(0, s2 (K~ K^-1 K~' + alpha V^-1)); s2 = xi/(alpha t) is its best scale."""
    _, got, design, y, v = dense_state(False, weighted)
    prior = design @ np.linalg.solve(got.K.astype(float), design.T) + 0.2 * np.diag(1 / v)

    def density(scale: float) -> float:
        return log_normal(y, scale * prior)

    s2 = float(got.signal_scale[0])
    assert got.log_evidence[0] == pytest.approx(density(s2), rel=1e-10)
    assert density(s2) > max(density(0.98 * s2), density(1.02 * s2))
    assert got.noise_variance[0] == pytest.approx(0.2 * s2, rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_log_evidence_with_a_flat_prior_on_the_bias(weighted: bool) -> None:
    """With n = t - 1: the integral of N(y; b 1, S) over b.  Twice: as the limit of b ~ N(0, tau^2) without
    its factor 1/sqrt(2 pi tau^2), and as the density of the contrasts that do not see b, times
    1/sqrt(t)."""
    _, got, design, y, v = dense_state(True, weighted)
    s2, t = float(got.signal_scale[0]), 60
    S = s2 * (design @ np.linalg.solve(got.K.astype(float), design.T) + 0.2 * np.diag(1 / v))

    contrasts = np.linalg.svd(np.ones((1, t)))[2][1:]  # orthonormal rows, orthogonal to 1
    restricted = log_normal(contrasts @ y, contrasts @ S @ contrasts.T) - 0.5 * np.log(t)
    assert got.log_evidence[0] == pytest.approx(restricted, rel=1e-10)

    tau2 = 1e8  # the limit is reached to 1/tau2, the cancellation costs tau2 times the rounding
    wide = log_normal(y, S + tau2 * np.ones((t, t))) + 0.5 * np.log(2 * np.pi * tau2)
    assert got.log_evidence[0] == pytest.approx(wide, rel=1e-6)

    def density(scale: float) -> float:
        return log_normal(contrasts @ y, scale / s2 * contrasts @ S @ contrasts.T)

    assert density(s2) > max(density(0.98 * s2), density(1.02 * s2))


def log_normal(y: Array, S: Array) -> float:
    """log N(y; 0, S)."""
    return float(-0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(S)[1] + len(y) * np.log(2 * np.pi)))


@pytest.mark.parametrize("bias", [True, False])
def test_variance_is_the_conditional_of_the_gaussian_process(bias: bool) -> None:
    """(1.9), augmented: f(x) = b + w'theta + e, e ~ N(0, delta) independent of the rows, conditioned on
    the rows.  The flat prior of b is taken by its limit, as prior variance 1e7."""
    model, got, _, _, v = dense_state(bias, weighted=True)
    X = make_stream(15, seed=3)[0]
    w, Z = got.coordinates(X).astype(float), model.orthonormal_design.astype(float)
    inside, delta = got.variance(X)
    tau2 = 1e7 * int(bias)
    joint = Z @ Z.T + tau2 + 0.2 * np.diag(1 / v)
    cross = Z @ w + tau2
    prior = (w**2).sum(axis=0) + delta.astype(float) + tau2
    conditional = prior - (cross * np.linalg.solve(joint, cross)).sum(axis=0)
    # 1e7 in double leaves 1e-9 against entries of order 1, beside 1e-7 for the limit
    assert off(0.2 * inside + delta, conditional) < (1e-6 if bias else 1e-10)
    assert off(delta, 1 - (w**2).sum(axis=0)) < 1e-12
    assert off(got.std(X)[:, 0] ** 2, got.signal_scale[0] * (conditional + 0.2)) < (1e-6 if bias else 1e-10)
    _, at_basis = got.variance(got.basis)
    assert at_basis.min() >= 0
    assert at_basis.max() < 1e-12


def test_prediction_is_the_kernel_expansion() -> None:
    _, got, _, _, _ = dense_state(True, weighted=True)
    X = make_stream(15, seed=3)[0]
    assert off(got.predict(X), got.bias + RBF(X, got.basis) @ got.beta) < digits(1e-14, 1e-10)
    assert rkhs_error(got.beta, got.beta, got.K) == 0
    assert rkhs_error(2 * got.beta, got.beta, got.K) == pytest.approx(1, rel=1e-14)
    assert off(rounded(RBF)(X, X), RBF(X, X)) <= 2.0**-53
