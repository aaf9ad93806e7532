"""The oracles against each other and against still more literal statements of the same definitions.

Nothing of the package is imported.  Tolerances: long double has about 19 digits here (`EXTENDED`); where a
test works in plain double, or compares with something that does, the tolerance says so.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from oracles import (
    ADMITTED,
    BOUNCED,
    EXTENDED,
    IGNORED,
    REFUSED,
    REJECTED_NOVELTY,
    REJECTED_USEFULNESS,
    SWAPPED,
    TIE,
    Array,
    BatchModel,
    PaperModel,
    Solution,
    cholesky,
    engel_krls,
    householder_qr,
    kernel_function,
    kernel_matrix,
    minimise,
    rkhs_error,
    rounded,
    solve_lower,
    solve_upper,
)

LD = np.longdouble
RBF = kernel_function("rbf", gamma=0.7)


def off(value: Any, truth: Any) -> float:
    """Largest error relative to the largest entry (absolute where the truth is all zero)."""
    value, truth = np.asarray(value), np.asarray(truth)
    assert value.shape == truth.shape
    if truth.size == 0:
        return 0.0
    return float(abs(value - truth).max() / (abs(truth).max() or 1))


def digits(extended: float, double: float) -> float:
    """A tolerance for machines with and without a wide long double."""
    return extended if EXTENDED else double


def make_stream(n: int, d: int = 2, c: int = 1, seed: int = 0, weighted: bool = False) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    Y = np.stack([np.sin((1 + o) * X[:, 0]) + 0.5 * np.cos(X[:, -1] - o) for o in range(c)], axis=1)
    Y = Y + 0.1 * rng.standard_normal((n, c))
    v = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    return X, Y, v


def random_log(
    X: Array, kernel: Any, novelty_tol: float, cap: int, seed: int = 0, v: Array | None = None
) -> tuple[Array, Array]:
    """A decision log with every outcome: novelty decides, the victim at the cap is drawn."""
    rng = np.random.default_rng(seed)
    outcome, victim = np.full(len(X), REJECTED_NOVELTY, np.uint8), np.full(len(X), -1, np.int64)
    members: list[int] = []
    for i in range(len(X)):
        if v is not None and v[i] == 0:
            outcome[i] = IGNORED
            continue
        K, k = kernel(X[members], X[members]), kernel(X[members], X[i : i + 1])[:, 0]
        w = solve_lower(cholesky(K), k)
        prior = kernel(X[i : i + 1], X[i : i + 1])[0, 0]
        if not prior - w @ w > novelty_tol * prior:
            continue
        draw = rng.random()
        if draw < 0.2:
            outcome[i] = REJECTED_USEFULNESS
        elif len(members) < cap:
            outcome[i] = ADMITTED
            members.append(i)
        elif draw < 0.4:
            outcome[i] = BOUNCED
        else:
            outcome[i], victim[i] = SWAPPED, members[rng.integers(len(members))]
            members.remove(int(victim[i]))
            members.append(i)
    return outcome, victim


# ---- kernels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"])
@pytest.mark.parametrize("gamma", [0.3, (0.2, 1.1, 0.0)])
def test_kernel_matrix_entry_by_entry(name: str, gamma: Any) -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    K = kernel_matrix(name, X, Y, gamma=gamma, degree=3, coef0=0.5)
    g = [gamma] * 3 if isinstance(gamma, float) else list(gamma)
    for i, x in enumerate(X.tolist()):
        for j, z in enumerate(Y.tolist()):
            r2 = math.fsum(gj * (a - b) ** 2 for gj, a, b in zip(g, x, z, strict=True))
            r1 = math.fsum(gj * abs(a - b) for gj, a, b in zip(g, x, z, strict=True))
            dot = math.fsum(gj * a * b for gj, a, b in zip(g, x, z, strict=True))
            s3, s5 = math.sqrt(3 * r2), math.sqrt(5 * r2)
            truth = {
                "rbf": math.exp(-r2),
                "laplacian": math.exp(-r1),
                "matern32": (1 + s3) * math.exp(-s3),
                "matern52": (1 + s5 + s5 * s5 / 3) * math.exp(-s5),
                "polynomial": (dot + 0.5) ** 3,
                "linear": math.fsum(a * b for a, b in zip(x, z, strict=True)),
            }[name]
            assert K[i, j] == pytest.approx(truth, rel=1e-13, abs=1e-14)


def test_kernel_matrix_far_away_and_far_from_the_origin() -> None:
    """Explicit differences: exactly 0 far apart, and a common shift of 2^20 changes nothing."""
    X = np.array([[0.0, 1.0], [0.5, -1.0]])
    assert kernel_matrix("rbf", X, X + 1e3, gamma=1.0).max() == 0
    shifted = kernel_matrix("rbf", X + 2.0**20, X + 2.0**20, gamma=0.9)
    assert (shifted == kernel_matrix("rbf", X, X, gamma=0.9)).all()


def test_kernel_matrix_unknown() -> None:
    with pytest.raises(ValueError, match="sigmoid"):
        kernel_matrix("sigmoid", np.zeros((1, 1)), np.zeros((1, 1)))


# ---- linear algebra and the minimiser ----------------------------------------------------------------------


def test_dense_parts() -> None:
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((7, 5)).astype(LD), rng.standard_normal((7, 2)).astype(LD)
    K = A.T @ A
    L = cholesky(K)
    assert off(L @ L.T, K) < 1e-15
    assert off(L @ solve_lower(L, B[:5]), B[:5]) < 1e-15
    assert off(L.T @ solve_upper(L.T, B[:5]), B[:5]) < 1e-15
    R, order, top, rest = householder_qr(A, B)
    assert off(R.T @ R, K[np.ix_(order, order)]) < 1e-15  # A'A = R'R
    assert off(R.T @ top, (A.T @ B)[order]) < 1e-14  # A'B = R'Q'B
    assert off((top**2).sum(axis=0) + (rest**2).sum(axis=0), (B**2).sum(axis=0)) < 1e-15
    assert (np.tril(R, -1) == 0).all()
    with pytest.raises(np.linalg.LinAlgError, match="pivot 5"):
        cholesky(np.block([[K, K[:, :1]], [K[:1], K[:1, :1]]]) - np.diag([0.0] * 5 + [1e-6]))
    with pytest.raises(np.linalg.LinAlgError, match="rank 1 of 2"):
        householder_qr(np.outer(np.ones(4), [1.0, 0.0]), np.ones((4, 1)))


@pytest.mark.parametrize("b", [0, 1])
def test_minimise_is_lstsq(b: int) -> None:
    rng = np.random.default_rng(3)
    Z, Y, v, alpha = rng.standard_normal((30, 6)), rng.standard_normal((30, 2)), rng.uniform(0.1, 2, 30), 0.3
    U = np.ones((30, b))
    best = minimise(Z, U, Y, v, alpha)
    root, D = np.sqrt(v)[:, None], np.diag([0.0] * b + [1.0] * 6)
    B = np.vstack([root * np.hstack([U, Z]), np.sqrt(alpha) * D[b:]])
    T = np.vstack([root * Y, np.zeros((6, 2))])
    solution, cost, _, _ = np.linalg.lstsq(B, T)
    M = B.T @ B
    assert off(np.vstack([best.bias, best.theta]), solution) < 1e-13
    assert off(best.cost, cost) < 1e-13
    assert off(best.C, np.linalg.inv(M)) < 1e-13
    assert best.log_det == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-13)
    hat = root * np.hstack([U, Z]) @ np.linalg.inv(M) @ (root * np.hstack([U, Z])).T
    assert best.dof == pytest.approx(np.trace(hat), rel=1e-12)
    assert off(best.rss, (v[:, None] * (Y - np.hstack([U, Z]) @ solution) ** 2).sum(axis=0)) < 1e-12


def test_minimise_keeps_light_rows_beside_heavy_ones() -> None:
    """In double, weights 1 and 2^70: the light rows alone fix one direction of theta.  LAPACK's unsorted
    QR has nothing left of them."""
    rng = np.random.default_rng(1)
    Z = rng.integers(-8, 9, (8, 3)).astype(float)
    Z[5:, 0], Z[5:, 2] = 0, -2 * Z[5:, 1]  # heavy rows: one direction, the first column empty
    Y = np.append(rng.integers(-8, 9, 5).astype(float), Z[5:] @ [1.0, 2.0, 3.0])
    v, alpha = np.array([1.0] * 5 + [2.0**70] * 3), 0.25
    exact = [[Fraction(x) for x in row] for row in Z.tolist()]

    def total(values: Any) -> Fraction:
        return sum(values, Fraction(0))

    weights, targets = [Fraction(x) for x in v.tolist()], [Fraction(x) for x in Y.tolist()]
    M = [
        [
            total(w * z[p] * z[q] for w, z in zip(weights, exact, strict=True)) + Fraction(alpha) * (p == q)
            for q in range(3)
        ]
        for p in range(3)
    ]
    rhs = [total(w * z[p] * y for w, z, y in zip(weights, exact, targets, strict=True)) for p in range(3)]
    theta = np.array([float(x) for x in rational_solve(M, rhs)])
    got = minimise(Z, np.zeros((8, 0)), Y[:, None], v, alpha).theta[:, 0]
    # Rounding leaves the heavy rows parallel up to 2^35 * 24 eps = 2e-4, which weighs 3e-8 beside light rows of 30.
    assert off(got, theta) < 1e-9
    root = np.sqrt(v)[:, None]
    Q, R = np.linalg.qr(np.vstack([root * Z, np.sqrt(alpha) * np.eye(3)]))
    lapack = np.linalg.solve(R, Q.T @ np.append(root[:, 0] * Y, np.zeros(3)))
    assert off(lapack, theta) > 1e-8


def test_solution_against_rational_arithmetic() -> None:
    """Nothing is lost where double would be: nearby points, alpha = 1e-8, solved exactly in fractions."""
    X = [Fraction(i, 64) for i in (0, 1, 2, 40, 41, 64, 5, 33, 50, 60)]
    Y = [Fraction((7 * i * i + 3 * i) % 11 - 5, 4) for i in range(10)]
    V = [Fraction(1 + i % 3) for i in range(10)]
    alpha, m = Fraction(1, 2**27), 4  # 2^-27 = 7.5e-9 is exact in binary

    def k(x: Fraction, z: Fraction) -> Fraction:
        return (x * z + 1) ** 3

    basis, rows = X[:m], X[m:]
    K = [[k(a, z) for z in basis] for a in basis]
    K_inverse = rational_inverse(K)

    def project(x: Fraction, members: int) -> list[Fraction]:
        """K~ row of an early member: exact on those before it and itself, approximated on the later ones."""
        row = [k(x, z) for z in basis[:members]]
        for j in range(members, m):
            a = rational_solve([r[:j] for r in K[:j]], [K[j][i] for i in range(j)])
            row.append(sum((p * q for p, q in zip(row, a, strict=True)), Fraction(0)))
        return row

    design = [project(basis[i], i + 1) for i in range(m)] + [[k(x, z) for z in basis] for x in rows]
    full = [[Fraction(1), *row] for row in design]
    P = [
        [
            sum((V[i] * full[i][p] * full[i][q] for i in range(10)), Fraction(0))
            + (alpha * K[p - 1][q - 1] if p and q else Fraction(0))
            for q in range(m + 1)
        ]
        for p in range(m + 1)
    ]
    rhs = [sum((V[i] * full[i][p] * Y[i] for i in range(10)), Fraction(0)) for p in range(m + 1)]
    beta = rational_solve(P, rhs)
    cost = sum((V[i] * Y[i] ** 2 for i in range(10)), Fraction(0)) - sum(
        (p * q for p, q in zip(beta, rhs, strict=True)), Fraction(0)
    )
    P_inverse = rational_inverse(P)
    assert max(abs(float(x)) for row in K_inverse for x in row) > 1e7  # the case is hard: K^-1, and
    assert max(abs(float(x)) for x in beta) > 1e3  # the coefficients

    kernel = kernel_function("polynomial", gamma=1.0, degree=3, coef0=1.0)
    outcome = np.array([ADMITTED] * m + [REJECTED_NOVELTY] * 6, np.uint8)
    model = BatchModel(kernel, float(alpha))
    model.learn(
        np.array([[float(x)] for x in X]),
        np.array([float(y) for y in Y]),
        np.array([float(v) for v in V]),
        outcome,
        np.full(10, -1),
    )
    got, tolerance = model.solve(), digits(1e-10, 1e-6)  # 19 digits less cond(K) = 1e8, or 16 less it
    assert off(got.beta[:, 0], as_long_double(beta[1:])) < tolerance
    # the bias is one coordinate beside theta, which is 1e5 times larger
    assert abs(got.bias - as_long_double(beta[:1]))[0] < tolerance * abs(got.theta).max()
    assert off(got.cost, as_long_double([cost])) < tolerance
    assert off(got.inverse_P, as_long_double([row[1:] for row in P_inverse[1:]])) < tolerance
    at = Fraction(3, 8)
    f = beta[0] + sum((b * k(at, z) for b, z in zip(beta[1:], basis, strict=True)), Fraction(0))
    assert off(got.predict(np.array([[0.375]]))[0], as_long_double([f])) < tolerance


def as_long_double(values: Any) -> Array:
    return np.array([as_long_double(x) if isinstance(x, list) else LD(x.numerator) / LD(x.denominator) for x in values])


def rational_solve(M: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan without rounding."""
    n, A = len(M), [[*row, y] for row, y in zip(M, b, strict=True)]
    for j in range(n):
        pivot = next(i for i in range(j, n) if A[i][j] != 0)
        A[j], A[pivot] = A[pivot], A[j]
        A[j] = [x / A[j][j] for x in A[j]]
        for i in range(n):
            if i != j:
                A[i] = [x - A[i][j] * z for x, z in zip(A[i], A[j], strict=True)]
    return [row[n] for row in A]


def rational_inverse(M: list[list[Fraction]]) -> list[list[Fraction]]:
    n = len(M)
    columns = [rational_solve(M, [Fraction(int(i == j)) for i in range(n)]) for j in range(n)]
    return [[columns[j][i] for j in range(n)] for i in range(n)]


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


# ---- PaperModel --------------------------------------------------------------------------------------------


def closed_forms(state: Solution, x: Array, y: Array, v: float) -> dict[str, Any]:
    """(1.3), (1.5), (1.7) for one row, from a solved state; the bias is a coordinate of C and theta."""
    m, b = len(state.indices), len(state.C) - len(state.indices)
    x, y = np.asarray(x, LD)[None], np.asarray(y, LD)
    k, k_star = state.kernel(state.basis.reshape(m, x.shape[1]), x)[:, 0], state.kernel(x, x)[0, 0]
    w = solve_lower(state.L, k)
    delta = k_star - w @ w
    w_b = np.append(np.ones(b, LD), w)
    theta = np.vstack([state.bias[None][:b], state.theta])
    h = state.C @ w_b
    Delta, rho = 1 / LD(v) + w_b @ h, y - w_b @ theta
    alpha = state.alpha
    den = delta + alpha * Delta
    kappa = rho / den
    use = (delta * rho**2 / (Delta * den)).sum()  # (1.5)
    g, a = solve_upper(state.L.T, h[b:]), solve_upper(state.L.T, w)
    d = np.diag(state.inverse_P)
    slope, Delta_b = a + delta / Delta * g, delta * den / Delta
    beta = state.beta + np.outer(alpha * g - a, kappa)
    d = d - g**2 / Delta + slope**2 / Delta_b
    scores = np.append((beta**2).sum(axis=1) / d, use)  # (1.7)
    return {"delta": delta, "Delta": Delta, "rho": rho, "use": use, "scores": scores}


@pytest.mark.parametrize("admission", ["product", "two-part", "per-sample", "novelty"])
@pytest.mark.parametrize(("max_basis", "bias", "c"), [(0, True, 1), (6, False, 1), (6, True, 2)])
def test_paper_model_decides_as_the_closed_forms(admission: str, max_basis: int, bias: bool, c: int) -> None:
    """At every row: delta, the usefulness as the difference of two solved costs against (1.5), the scores
    as solved cost increases against (1.7) and, for the state grown, (1.6); then the decision itself from
    the closed forms."""
    n, alpha, tol1 = 60, 0.1, 2e-2
    tol2 = 1e-4 if admission == "per-sample" else 5e-3
    X, Y, v = make_stream(n, c=c, weighted=True, seed=8)
    v[10] = 0
    model = PaperModel(
        RBF,
        alpha,
        novelty_tol=tol1,
        usefulness_tol=tol2,
        admission=admission,
        max_basis=max_basis,
        fit_intercept=bias,
        n_outputs=c,
    )
    apriori, outcome, victim = model.learn(X, Y, v)
    batch = BatchModel(RBF, alpha, fit_intercept=bias, n_outputs=c)
    batch.learn(X[:0], Y[:0], None, outcome[:0], victim[:0])
    kept = []
    for i in range(n):
        state, record = batch.solve(), model.records[i]
        assert off(state.predict(X[i : i + 1]), apriori[i : i + 1]) < digits(1e-13, 1e-9)
        if v[i] > 0:
            kept.append(i)
            mean = np.average(Y[kept], axis=0, weights=v[kept])
            variance = np.average((Y[kept] - mean) ** 2, axis=0, weights=v[kept]).sum()
            assert float(record.variance) == pytest.approx(variance, rel=1e-12, abs=1e-15)
        if v[i] > 0 and (state.t > 0 or not bias):
            form = closed_forms(state, X[i], Y[i], v[i])
            tolerance = digits(1e-11, 1e-6)
            assert abs(record.delta - form["delta"]) < digits(1e-14, 1e-11)
            if not np.isnan(record.use):
                assert float(record.use) == pytest.approx(float(form["use"]), rel=tolerance)
                # a difference of two costs has their rounding
                cost = float(state.cost.sum() + (Y[i] ** 2).sum() * v[i])
                assert abs(record.use_by_costs - form["use"]) < digits(1e-15, 1e-12) * cost
            if record.scores is not None:
                assert off(record.scores, form["scores"]) < tolerance
                assert float(record.scores[-1]) == pytest.approx(float(record.use), rel=tolerance)
            t = len(kept)
            value = {"product": form["delta"] * form["use"], "two-part": form["use"]}.get(
                admission, form["delta"] * form["use"] / t
            )
            if not form["delta"] > tol1:
                expected, gone = REJECTED_NOVELTY, -1
            elif admission != "novelty" and not value > tol2 * variance:
                expected, gone = REJECTED_USEFULNESS, -1
            elif not max_basis or len(state.indices) < max_basis:
                expected, gone = ADMITTED, -1
            else:
                scores = form["scores"]
                weakest = int(np.flatnonzero(scores <= scores.min() * (1 + TIE))[0])
                bounced = weakest == max_basis
                expected, gone = (BOUNCED, -1) if bounced else (SWAPPED, int(state.indices[weakest]))
            assert record.margin > 1e-9  # no decision here hangs on rounding
            assert (outcome[i], victim[i]) == (expected, gone), i
        batch.learn(X[i : i + 1], Y[i : i + 1], v[i : i + 1], outcome[i : i + 1], victim[i : i + 1])
        if record.outcome == SWAPPED:
            # (1.6) on the grown state, before anything was deleted
            grown = BatchModel(RBF, alpha, fit_intercept=bias, n_outputs=c)
            grown.learn(X[:i], Y[:i], v[:i], outcome[:i], victim[:i])
            grown.learn(X[i : i + 1], Y[i : i + 1], v[i : i + 1], np.array([ADMITTED]), np.array([-1]))
            full = grown.solve()
            scores = (full.beta**2).sum(axis=1) / np.diag(full.inverse_P)
            assert off(record.scores, scores) < digits(1e-11, 1e-6)
            assert float(batch.solve().cost.sum() - full.cost.sum()) == pytest.approx(
                float(scores.min()), rel=digits(1e-9, 1e-4)
            )
    assert batch.indices == model.indices
    assert (outcome[10], victim[10]) == (IGNORED, -1)
    if max_basis:
        assert {ADMITTED, SWAPPED} <= set(outcome.tolist())
    assert off(model.design, batch.design) < digits(1e-14, 1e-10)


def test_paper_model_first_row_with_and_without_bias() -> None:
    """Without a bias the first useful row joins (var = 0); with one the constant has already fitted it."""
    X, Y = np.array([[0.0], [3.0]]), np.array([1.0, -1.0])
    assert PaperModel(RBF, 0.1, fit_intercept=False).learn(X, Y)[1].tolist() == [ADMITTED, ADMITTED]
    assert PaperModel(RBF, 0.1).learn(X, Y)[1].tolist() == [REJECTED_USEFULNESS, ADMITTED]
    unsupervised = PaperModel(RBF, 0.1, admission="novelty")
    assert unsupervised.learn(X, Y)[1].tolist() == [REJECTED_USEFULNESS, ADMITTED]
    zero = PaperModel(RBF, 0.1, fit_intercept=False).learn(X, np.zeros(2))[1]
    assert zero.tolist() == [REJECTED_USEFULNESS, REJECTED_USEFULNESS]
    constant = PaperModel(RBF, 0.1).learn(np.linspace(0, 9, 10)[:, None], np.full(10, 0.1))[1]
    assert set(constant.tolist()) == {REJECTED_USEFULNESS}


def test_paper_model_per_sample_counts_rows_of_positive_weight_and_this_one() -> None:
    """Isolated points, no bias: use = y^2/(1 + alpha), delta = 1, var = 1.  At t = 2 the rule compares
    use/2."""
    X, Y, v = np.array([[0.0], [5e2], [1e3]]), np.array([1.0, 9.0, -1.0]), np.array([1.0, 0.0, 1.0])
    use = 1 / 1.1
    for share, last in ((0.45, ADMITTED), (0.55, REJECTED_USEFULNESS)):
        model = PaperModel(RBF, 0.1, usefulness_tol=share * use, admission="per-sample", fit_intercept=False)
        assert model.learn(X, Y, v)[1].tolist() == [ADMITTED, IGNORED, last]


def test_paper_model_ties_fall_to_the_oldest() -> None:
    """Isolated points of equal |y| tie exactly: the oldest goes, not the newcomer; a weaker newcomer
    bounces."""
    X = np.array([[0.0], [1e3], [2e3], [3e3], [4e3]])
    Y = np.array([1.0, -1.0, 1.0, 2.0, 0.5])
    model = PaperModel(RBF, 0.1, max_basis=2, fit_intercept=False)
    _, outcome, victim = model.learn(X, Y)
    assert outcome.tolist() == [ADMITTED, ADMITTED, SWAPPED, SWAPPED, BOUNCED]
    assert victim.tolist() == [-1, -1, 0, 1, -1]
    assert model.indices == [2, 3]
    assert model.records[2].margin == np.inf or model.records[2].margin > 0.1


def test_paper_model_refuses_near_duplicates() -> None:
    """Where delta^2 <= 1e-14 (1 + |a|^2) nothing is admitted: counted as refused where the user's thresholds would have
    let it pass."""
    gap = 2e-6  # delta = 2 gamma gap^2 = 5.6e-12, with a = (1, 0)
    X = np.array([[0.0], [1.0], [gap], [0.0]])
    Y = np.array([1.0, -1.0, 3.0, -2.0])
    for admission in ("product", "novelty"):
        strict = PaperModel(RBF, 0.1, novelty_tol=1e-12, usefulness_tol=0.0, admission=admission, fit_intercept=False)
        assert strict.learn(X, Y)[1].tolist() == [ADMITTED, ADMITTED, REFUSED, REJECTED_NOVELTY]
        loose = PaperModel(RBF, 0.1, novelty_tol=1e-2, admission=admission, fit_intercept=False)
        assert loose.learn(X, Y)[1].tolist() == [ADMITTED, ADMITTED, REJECTED_NOVELTY, REJECTED_NOVELTY]


def test_decide_leaves_the_model_alone() -> None:
    X, Y, _ = make_stream(20)
    model = PaperModel(RBF, 0.1, max_basis=3)
    model.learn(X, Y)
    before = (model.n_seen, list(model.indices), model.design.copy(), len(model.records))
    model.decide(np.array([5.0, 5.0]), np.array([9.0]), 1.0)
    assert before[:2] == (model.n_seen, model.indices)
    assert (before[2] == model.design).all()
    assert before[3] == len(model.records)


# ---- KRLS-ALD ----------------------------------------------------------------------------------------------


def test_engel_krls_is_least_squares_on_its_dictionary() -> None:
    """[Engel fig. 1] minimises |A K alpha - y|^2 for the rows a_i of its own test: section 2.  In double;
    the figure's recursions lose cond(K) cond(A'A)."""
    X, Y, _ = make_stream(150)
    y, n = Y[:, 0], len(X)
    kernel = kernel_function("rbf", gamma=0.7, dtype=np.float64)
    got = engel_krls(kernel, X, y, nu=1e-2)
    m = len(got.indices)
    assert 10 < m < 80

    # the design by its definition: row i is projected on the dictionary of its time, later columns are zero
    A = np.zeros((n, m))
    for i in range(n):
        members = got.indices[got.indices <= i]
        if i in members:
            A[i, len(members) - 1] = 1
        else:
            A[i, : len(members)] = np.linalg.solve(
                kernel(X[members], X[members]), kernel(X[members], X[i : i + 1])[:, 0]
            )
    K = kernel(X[got.indices], X[got.indices])
    coef = np.linalg.lstsq(A @ K, y)[0]
    new = make_stream(30, seed=2)[0]
    assert off(got.predict(kernel, new, X), kernel(new, X[got.indices]) @ coef) < 1e-8
    assert off(got.coef, coef) < 1e-6
    assert off(got.P, np.linalg.inv(A.T @ A)) < 1e-9
    assert off(got.K_inverse, np.linalg.inv(K)) < 1e-8

    # and the online model with the rule "novelty", alpha = 0: P^-1 = K^-1 P_Engel K^-1
    batch = BatchModel(RBF, 0.0, fit_intercept=False).learn(X, y, None, got.outcome, np.full(n, -1)).solve()
    assert (batch.indices == got.indices).all()
    assert off(got.coef, batch.beta[:, 0]) < 1e-6
    assert off(got.K_inverse @ got.P @ got.K_inverse, batch.inverse_P) < 1e-6


def test_engel_krls_keeps_what_the_novelty_rule_keeps() -> None:
    X, Y, _ = make_stream(40)
    got = engel_krls(RBF, X, Y[:, 0], nu=5e-2, dtype=LD)
    model = PaperModel(RBF, 1e-6, novelty_tol=5e-2, admission="novelty", fit_intercept=False)
    assert (model.learn(X, Y)[1] == got.outcome).all()
