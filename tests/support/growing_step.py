"""One example at its growing step, and a model pruned, everything by definition: what the errata are tested on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from oracles import EXTENDED, Array, cholesky, kernel_function, minimise, solve_lower, solve_upper

EXACT = 1e-9 if EXTENDED else 1e-6
KERNEL = kernel_function("rbf", gamma=0.5)
NOISE = 0.1


def inverse(S: Array) -> Array:
    """S^-1 of a symmetric positive definite S (m, m), by Cholesky."""
    L = cholesky(S)
    return solve_upper(L.T, solve_lower(L, np.eye(len(S), dtype=S.dtype)))


def inverse_P(design: Array, K: Array, alpha: float) -> Array:
    """(K~'K~ + alpha K)^-1 (m, m) for K~ = design (t, m): by QR in the basis where K is the identity."""
    L = cholesky(K)
    nothing = np.zeros((len(design), 0), design.dtype)
    C = minimise(solve_lower(L, design.T).T, nothing, nothing, np.ones(len(design), design.dtype), alpha).C
    half = solve_upper(L.T, np.eye(len(K), dtype=K.dtype))
    return half @ C @ half.T


def off(value: Array, truth: Array) -> float:
    """Largest error relative to the largest entry."""
    return float(np.max(abs(np.asarray(value) - truth)) / np.max(abs(np.asarray(truth))))


@dataclass
class Candidate:
    """One example at its growing step, everything by definition.

    The example is row t: K~_{t-1,m} (t-1, m) is the design before it, K~_{tm} (t, m) after its normal step.
    """

    alpha: float
    design_before: Array  # K~_{t-1,m}
    K: Array  # (m, m)
    k: Array  # (m,)
    k_star: float
    y: Array  # (t,)

    def __post_init__(self) -> None:
        self.design = np.vstack([self.design_before, self.k])  # K~_{tm}
        self.a = inverse(self.K) @ self.k  # [JP 4]
        self.delta = self.k_star - self.k @ self.a  # [JP 3]
        self.P_before_inverse = self.inverse_P(self.design_before)
        self.P_inverse = self.inverse_P(self.design)
        self.beta_before = self.P_before_inverse @ self.design_before.T @ self.y[:-1]
        self.beta = self.P_inverse @ self.design.T @ self.y
        self.Delta = 1 + self.k @ self.P_before_inverse @ self.k  # [JP 11]
        self.rho = self.y[-1] - self.k @ self.beta_before
        # [JP 13], which (14) abbreviates, as the least squares problem it is (the formula itself cancels):
        # Delta_b = min over w of |q - K~ w|^2 + alpha |k(x, .) - sum_i w_i k(x~_i, .)|^2, w_b its minimiser
        self.q = np.append(self.design_before @ self.a, self.k_star)
        L, t = cholesky(self.K), len(self.y)
        Z, w = solve_lower(L, self.design.T).T, solve_lower(L, self.k)
        nothing, ones = np.zeros((t, 0), Z.dtype), np.ones(t, Z.dtype)
        best = minimise(Z, nothing, (self.q - Z @ w)[:, None], ones, self.alpha)
        self.w_b = solve_upper(L.T, w + best.theta[:, 0])
        self.Delta_b = best.cost[0] + self.alpha * self.delta
        # The grown problem, solved directly
        m = len(self.k)
        self.grown = np.hstack([self.design, self.q[:, None]])
        self.grown_K = np.block([[self.K, self.k[:, None]], [self.k[None], np.full((1, 1), self.k_star)]])
        self.grown_P_inverse = inverse_P(self.grown, self.grown_K, self.alpha)
        self.grown_beta = self.grown_P_inverse @ self.grown.T @ self.y
        assert self.grown_beta.shape == (m + 1,)

    def inverse_P(self, design: Array) -> Array:
        return inverse_P(design, self.K, self.alpha)

    def cost(self, design: Array, K: Array, beta: Array) -> float:
        """J(beta) of (8)."""
        residual = self.y - design @ beta
        return residual @ residual + self.alpha * beta @ K @ beta

    def usefulness(self) -> float:
        """Minimal cost after the normal step minus minimal cost after growing."""
        return self.cost(self.design, self.K, self.beta) - self.cost(self.grown, self.grown_K, self.grown_beta)

    def printed_Delta_b(self) -> float:
        """[JP 14] as it stands in the paper (the right w_b in it)."""
        return (
            self.k_star**2
            + self.delta * (2 * self.delta - 2 * self.k_star + self.alpha)
            - self.delta**2 * (self.k @ self.P_before_inverse @ self.k)
            - (self.w_b @ self.k) ** 2
        )

    def corrected_Delta_b(self) -> float:
        """[JP 14] with delta/Delta wherever delta does not stand beside the ridge."""
        ratio = self.delta / self.Delta
        return (
            self.k_star**2
            + self.alpha * self.delta
            - 2 * ratio * (self.k_star - self.delta)
            - ratio**2 * (self.k @ self.P_before_inverse @ self.k)
            - (self.w_b @ self.k) ** 2
        )

    def slides_Delta_b(self) -> float:
        """[JPs grow]."""
        return self.delta**2 / self.Delta + self.alpha * self.delta


def stream(n: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.5, 2.5, (n, 2))
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + NOISE * rng.standard_normal(n)
    return X.astype(np.longdouble), y.astype(np.longdouble)


def candidates(alpha: float, n: int = 250, novelty_tol: float = 1e-2, seed: int = 0) -> list[Candidate]:
    """Every novel example of a stream (after the first), at its own growing step."""
    X, y = stream(n, seed)
    basis, design, found = X[:1], KERNEL(X[:1], X[:1]), []
    for t in range(1, n):
        K, k = KERNEL(basis, basis), KERNEL(basis, X[t : t + 1])[:, 0]
        a = inverse(K) @ k
        if 1 - k @ a > novelty_tol:
            found.append(Candidate(alpha, design, K, k, np.longdouble(1), y[: t + 1]))
            design = np.vstack([np.hstack([design, (design @ a)[:, None]]), np.append(k, 1)])
            basis = np.vstack([basis, X[t]])
        else:
            design = np.vstack([design, k])
    return found


@dataclass
class Pruned:
    """A state (m kernels) and, for every i, the same problem without element i solved directly."""

    state: Candidate

    @property
    def m(self) -> int:
        return len(self.state.grown_K)

    def without(self, i: int) -> tuple[Array, Array, float]:
        """P^-1 (m-1, m-1), beta (m-1,), cost of (8) without column i."""
        c, keep = self.state, [j for j in range(self.m) if j != i]
        design, K = c.grown[:, keep], c.grown_K[np.ix_(keep, keep)]
        P_inverse = inverse_P(design, K, c.alpha)
        beta = P_inverse @ design.T @ c.y
        return P_inverse, beta, c.cost(design, K, beta)


def basis_of(c: Candidate) -> Array:
    """The dictionary (m+1, d) behind a candidate of the default stream, the candidate last."""
    X, _ = stream(250)
    basis = X[:1]
    for t in range(1, len(c.y)):
        k = KERNEL(basis, X[t : t + 1])[:, 0]
        if 1 - k @ inverse(KERNEL(basis, basis)) @ k > 1e-2:
            basis = np.vstack([basis, X[t]])
    assert off(KERNEL(basis, basis), c.grown_K) == 0
    return basis
