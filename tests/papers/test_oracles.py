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
    REJECTED_NOVELTY,
    Array,
    BatchModel,
    cholesky,
    householder_qr,
    kernel_function,
    kernel_matrix,
    minimise,
    solve_lower,
    solve_upper,
)
from support.long_double import LD, digits, off

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
