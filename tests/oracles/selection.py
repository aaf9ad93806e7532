"""Forward selection (Andelić et al. 2006): by exhaustive search, and the recursion as printed; side information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .kernels import Array


def orthogonal_columns(K: Array, independent: float = 1e-10) -> tuple[Array, Array]:
    """Q (n, m) orthogonal, not normalised, and U (m, m) unit upper triangular with K = QU.

    By Gram-Schmidt against everything before, three times over, in long double.
    """
    K = np.asarray(K, dtype=np.longdouble)
    Q, U = np.zeros_like(K), np.eye(K.shape[1], dtype=K.dtype)
    for j in range(K.shape[1]):
        q = K[:, j].copy()
        for _ in range(3):
            for i in range(j):
                c = (Q[:, i] @ q) / (Q[:, i] @ Q[:, i])
                U[i, j] += c
                q -= c * Q[:, i]
        assert q @ q > independent * (K[:, j] @ K[:, j]), "dependent columns have no decomposition"
        Q[:, j] = q
    return Q, U


@dataclass
class RidgeFit:
    """Ridge in an orthogonal basis by its definition: the smoother P~ (M, M) is formed."""

    P: Array
    dP: Array  # derivative of P~ with respect to lambda
    rows: float
    trace: float  # of P~, with `rows` for M
    rss: float
    gcv: float
    weights: Array  # alpha~


def ridge_fit(Q: Array, Y: Array, lam: float, free: int, rows: float | None = None) -> RidgeFit:
    """Fit Y (M, c) by Q alpha~ with lam |alpha~|^2 on all but the first `free` columns."""
    M, m = Q.shape
    ridge = np.where(np.arange(m) < free, 0.0, lam)
    inverse = np.linalg.inv(np.asarray(Q.T @ Q + np.diag(ridge), dtype=np.float64))
    P = np.eye(M) - Q @ inverse @ Q.T
    penalised = np.diag((np.arange(m) >= free).astype(float))
    dP = Q @ inverse @ penalised @ inverse @ Q.T
    rows = float(M) if rows is None else rows
    trace = float(np.trace(P)) + rows - M
    rss = float(np.sum((P @ Y) ** 2))
    return RidgeFit(P, dP, rows, trace, rss, rows * rss / trace**2, inverse @ Q.T @ Y)


def reestimated_ridge(
    Q: Array, Y: Array, start: float, free: int, rows: float | None = None, floor: float = 0.0, steps: int = 2000
) -> float:
    """The fixed point of 002 (28)-(30) from `start`, in the matrices of (28)."""
    m = Q.shape[1]
    if m == free:
        return start
    h = np.asarray((Q * Q).sum(axis=0), dtype=np.float64)
    low = floor * h[free:].max()
    lam = max(start, low)
    for _ in range(steps):
        fit = ridge_fit(Q, Y, lam, free, rows)
        # (29) is lam * bend; (30) is lam <- dtrace rss / (trace bend)
        bend = float(np.sum(fit.weights[free:] ** 2 / (lam + h[free:, None])))
        new = max(float(np.trace(fit.dP)) * fit.rss / (fit.trace * bend), low)
        if abs(new - lam) <= 1e-10 * new:
            return new
        lam = new
    return lam


def marginal_score(Q: Array, Y: Array, lam: float, free: int) -> float:
    """exp(-2 log evidence / n) up to a constant, of the normal density of the rows at its best noise variance.

    alpha~ ~ N(0, s/lam I) makes y normal with covariance s(I + Q Q'/lam); the free columns have a flat prior, so the
    density is that of the n = M - free contrasts which they leave alone. Outputs share s.
    """
    M = len(Q)
    contrasts = np.linalg.qr(Q[:, :free], mode="complete")[0][:, free:] if free else np.eye(M)
    penalised = Q[:, free:] / np.sqrt(lam) if Q.shape[1] > free else np.zeros((M, 1))
    S = contrasts.T @ (np.eye(M) + penalised @ penalised.T) @ contrasts
    y, n, c = contrasts.T @ Y, M - free, Y.shape[1]
    variance = float(np.sum(y * np.linalg.solve(S, y))) / (n * c)
    minus_twice = n * c * np.log(variance) + c * np.linalg.slogdet(S)[1]
    return float(n * c * np.exp(minus_twice / (n * c)))


def schwarz_score(Q: Array, Y: Array, lam: float, free: int) -> float:
    """Orr (1996), BIC: (p + (ln p - 1) g)/(p - g) times the mean squared error, g the effective parameters."""
    fit, p = ridge_fit(Q, Y, lam, free), len(Q)
    g = p - fit.trace
    return (p + (np.log(p) - 1) * g) / (p - g) * fit.rss / p


def refitted_score(Q: Array, Y: Array, v: Array, lam: float, free: int) -> float:
    """Sum of v |error|^2 of every row, each predicted by a fit that has one unit of it less, or none of it.

    Q, Y of the weighted rows: row i is sqrt(v_i) times what is predicted.
    """
    root = np.sqrt(v)[:, None]
    ridge = np.diag(np.where(np.arange(Q.shape[1]) < free, 0.0, lam))
    total = 0.0
    for i in range(len(Q)):
        left = np.where(np.arange(len(Q)) == i, np.maximum(v - 1.0, 0.0), v)[:, None]
        D, y = Q / root, Y / root
        weights = np.linalg.solve(D.T @ (left * D) + ridge, D.T @ (left * y))
        total += float(v[i] * np.sum((y[i] - D[i] @ weights) ** 2))
    return total


def splitmix64(seed: int) -> Iterator[int]:
    """The generator of Steele, Lea and Flood (2014)."""
    mask = (1 << 64) - 1
    state = seed & mask
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


@dataclass
class SelectionPath:
    """Candidates in the order chosen; ridge and score with 0, 1, 2, ... of them."""

    chosen: list[int]
    alphas: list[float]
    scores: list[float]
    Q: Array
    U: Array


def exhaustive_selection(
    columns: Array,
    Y: Array,
    v: Array,
    steps: int,
    rule: str = "residual",
    lam: float | None = None,
    fit_intercept: bool = True,
    n_candidates: int | None = None,
    seed: int = 0,
    floor: float = 1e-6,
    only: Iterable[int] | None = None,
) -> SelectionPath:
    """Forward selection by definition: everything from scratch at every step, every candidate orthogonalised.

    columns (M, N): the candidates, candidate i being of row i % M; Y (M, c); v (M,) weights. lam None re-estimates.
    Ties within 1e-9: of residuals, the first 59 rows are compared by error reduction; of reductions, the lowest number.
    """
    M, N = columns.shape
    root = np.sqrt(v)[:, None]
    design, targets = root * columns, root * Y
    free = int(fit_intercept)
    rows = max(float(np.sum(v)), float(M))
    pool = sorted(range(N) if only is None else only)
    random = splitmix64(seed)
    chosen: list[int] = []
    current = 0.0 if lam is None else lam
    alphas, scores = [], []
    while True:
        stack = np.hstack([root] * free + [design[:, [i]] for i in chosen]) if free + len(chosen) else design[:, :0]
        Q, U = orthogonal_columns(stack)
        Q, U = Q.astype(np.float64), U.astype(np.float64)
        if lam is None:
            current = reestimated_ridge(Q, targets, current, free, rows, floor)
        fit = ridge_fit(Q, targets, current, free, rows)
        alphas.append(current)
        scores.append(fit.gcv)
        if len(chosen) == steps:
            return SelectionPath(chosen, alphas, scores, Q, U)

        reduction = {}
        for i in pool:
            k = design[:, i]
            q = k - Q @ np.linalg.lstsq(Q, k, rcond=None)[0] if Q.shape[1] else k
            q = q - Q @ np.linalg.lstsq(Q, q, rcond=None)[0] if Q.shape[1] else q
            if q @ q > 1e-10 * (k @ k):
                reduction[i] = float(np.sum((q @ targets) ** 2) / (current + q @ q))
        pool = [i for i in pool if i in reduction or rule == "residual"]
        while True:
            if rule == "residual":
                size = np.linalg.norm(fit.P @ targets, axis=1) / root[:, 0]
                largest = max(size[i % M] for i in pool)
                tied = sorted({i % M for i in pool if size[i % M] >= largest * (1 - 1e-9)})[:59]
                short = [i for i in pool if i % M in tied]
            elif n_candidates is None:
                short = pool
            else:
                short = list(pool)
                for t in range(min(n_candidates, len(short))):
                    j = t + ((next(random) >> 32) * (len(short) - t) >> 32)
                    short[t], short[j] = short[j], short[t]
                short = short[:n_candidates]
            possible = [i for i in short if i in reduction]
            pool = [i for i in pool if i in reduction or i not in short]
            if possible:
                break
        best = max(reduction[i] for i in possible)
        pick = min(i for i in possible if reduction[i] >= best * (1 - 1e-9))
        pool.remove(pick)
        chosen.append(pick)


@dataclass
class PaperRecursion:
    """Algorithm 1 of 002 without its selection: K†, Q and U kept current column by column, as printed."""

    pseudoinverse: Array
    Q: Array
    U: Array


def paper_recursion(columns: Array) -> PaperRecursion:
    """(10), (12), (17), (19), (20) from the column of ones, in double."""
    M = len(columns)
    K = np.ones((M, 1))
    pinv, Q, U = np.ones((1, M)) / M, np.ones((M, 1)), np.ones((1, 1))
    for k in columns.T:
        q = k - K @ (pinv @ k)  # (10)
        q_pinv = q / (q @ q)  # (12)
        pinv = np.vstack([pinv - np.outer(pinv @ k, q_pinv), q_pinv])  # (17)
        Q = np.column_stack([Q, q])  # (19)
        column = (Q.T @ k) / (Q * Q).sum(axis=0)  # (20)
        U = np.column_stack([np.vstack([U, np.zeros(len(U))]), column])
        K = np.column_stack([K, k])
    return PaperRecursion(pinv, Q, U)


def side_information(
    K: Array, Y: Array, v: Array, m: int, ahead: int, balance: float, fit_intercept: bool = True
) -> list[int]:
    """Cholesky with side information (Bach & Jordan 2005) by definition: the rows chosen, in order.

    Each lowers (1 - balance) trace(VE)/trace(VK) + balance |V^1/2 R|^2/|V^1/2 Y|^2 most: E = K less its projection on
    the chosen rows, R the residual of the weighted regression of Y on their columns. A row is judged by the column that
    the projection of E on the rows ahead gives it: as many as `ahead`, each the furthest from the span of the chosen
    rows and of those ahead before it.
    """
    root = np.sqrt(v)[:, None]

    def projected(E: Array, J: list[int]) -> Array:
        return E[:, J] @ np.linalg.solve(E[np.ix_(J, J)], E[J]) if J else np.zeros_like(E)

    def error(columns: Array) -> float:
        design = root * np.column_stack([np.ones((len(Y), int(fit_intercept))), columns])
        weights = np.linalg.lstsq(design, root * Y, rcond=None)[0] if design.shape[1] else np.zeros((0, Y.shape[1]))
        return float(np.sum((root * Y - design @ weights) ** 2))

    chosen: list[int] = []
    waiting: list[int] = []
    while len(chosen) < m:
        while len(waiting) < ahead:
            left = np.diag(K - projected(K, chosen + waiting))
            furthest = int(left.argmax())
            if not left[furthest] > 1e-8 * K[furthest, furthest]:
                break
            waiting.append(furthest)
        known = projected(K - projected(K, chosen), waiting)
        gains = np.full(len(K), -1.0)
        for i in range(len(K)):
            if i in chosen or not known[i, i] > 1e-8 * K[i, i]:
                continue
            column = known[:, i] / np.sqrt(known[i, i])
            of_kernel = np.sum(v * column**2) / np.sum(v * np.diag(K))
            of_target = (error(K[:, chosen]) - error(np.column_stack([K[:, chosen], column]))) / error(K[:, :0])
            gains[i] = (1 - balance) * of_kernel + balance * of_target
        if gains.max() < 0:
            break
        chosen.append(int(gains.argmax()))
        waiting = [i for i in waiting if i != chosen[-1]]
    return chosen
