"""The online model: for given decisions (BatchModel), and deciding by definition (PaperModel)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import NOTHING, RESOLUTION, TIE, Array, KernelFunction, Outcome
from .linear import Solution, cholesky, householder_qr, minimise, solve_lower, solve_upper


class BatchModel:
    """The model (1.1) for a stream and its decision log, the design rebuilt row by row from the definitions.

    Row i of K~ holds the inner products of the stored approximation of phi(x_i) with the dictionary:
    exact when the row is processed.  A new element x* appends the column K~ a*, a* = K^-1 k(x*) (exact for
    its own row); deleting an element deletes its column.

    representation
        "coefficients" (default) stores the approximations themselves, A (t, m) with K~ = A K  [JP 6]: a new
        element appends a zero ("sets to zero those entries"), and deleting element j projects it on the
        others.  Then Z = K~ L^-T = A L exactly, zero where it must be zero, which keeps the digits at small
        alpha.
        "design" stores K~ itself, to the letter of the sentence above; same model, fewer digits.
    compress
        Replace the rows seen by the triangular factor of sqrt(V) [1 Z Y] whenever they are many: both
        updates of the design are right-multiplications, so (1.1) does not change.  For a checkpoint after
        every event.

    Weight-0 rows are not part of the design; row numbers count them.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        alpha: float,
        *,
        fit_intercept: bool = True,
        n_outputs: int = 1,
        dtype: Any = np.longdouble,
        representation: str = "coefficients",
        compress: bool = False,
    ) -> None:
        if representation not in ("coefficients", "design"):
            raise ValueError(f"representation={representation!r}")
        self.kernel, self.alpha, self.fit_intercept = kernel, alpha, fit_intercept
        self.dtype, self.representation, self.compress = np.dtype(dtype), representation, compress
        self.n_seen = self.t = 0
        self.sum_weight = self.sum_log_weight = self.dtype.type(0)
        self.indices: list[int] = []
        self.basis = np.zeros((0, 0), self.dtype)
        self.K = np.zeros((0, 0), self.dtype)
        self.L = self.K
        self._size = 0  # rows stored: t, or fewer once compressed
        self._rows = np.zeros((64, 8), self.dtype)  # A or K~
        self._unit = np.zeros((64, 1), self.dtype)  # the constant column
        self._targets = np.zeros((64, n_outputs), self.dtype)
        self._weights = np.zeros(64, self.dtype)

    # -- the stream

    def learn(self, X: Array, Y: Array, v: Array | None, outcome: Array, victim: Array) -> BatchModel:
        """Replay rows X (n, d), Y (n, c) or (n,), v (n,) or None with the log outcome (n,), victim (n,)."""
        for _ in self._walk(X, Y, v, outcome, victim, ()):
            pass
        return self

    def replay(
        self,
        X: Array,
        Y: Array,
        v: Array | None,
        outcome: Array,
        victim: Array,
        at: Iterable[int] | None = None,
    ) -> Iterator[tuple[int, Solution]]:
        """As `learn`, yielding (i, solution) after each row i of `at`; None: after every change of the
        dictionary and after the last row.  i counts from the start of this call."""
        if at is None:
            changed = np.isin(outcome, (Outcome.ADMITTED, Outcome.SWAPPED))
            at = [*np.flatnonzero(changed), len(X) - 1]
        for i in self._walk(X, Y, v, outcome, victim, at):
            yield i, self.solve()

    def _walk(
        self, X: Array, Y: Array, v: Array | None, outcome: Array, victim: Array, at: Iterable[int]
    ) -> Iterator[int]:
        X = np.asarray(X, self.dtype)
        Y = np.asarray(Y, self.dtype).reshape(len(X), self._targets.shape[1])
        v = np.ones(len(X), self.dtype) if v is None else np.asarray(v, self.dtype)
        if self.n_seen == 0:
            self.basis = np.zeros((0, X.shape[1]), self.dtype)
        stops: set[int] = {int(i) for i in at}
        pending: list[int] = []
        for i in range(len(X)):
            if outcome[i] != Outcome.IGNORED:
                if not v[i] > 0:
                    raise ValueError(f"row {i}: weight {v[i]}, outcome {outcome[i]}")
                if outcome[i] in (Outcome.ADMITTED, Outcome.SWAPPED):
                    self._append(X[pending], Y[pending], v[pending])
                    pending = []
                    self._grow(X[i], Y[i], v[i])
                    if outcome[i] == Outcome.SWAPPED:
                        self._delete(int(victim[i]))
                else:
                    pending.append(i)
            self.n_seen += 1
            if i in stops or len(pending) >= 256 or i == len(X) - 1:
                self._append(X[pending], Y[pending], v[pending])
                pending = []
            if i in stops:
                yield i

    # -- the design

    @property
    def coefficients(self) -> Array:
        """A (t, m): the stored approximation of phi(x_i) is sum_j A_ij phi(x~_j)  [JP 4, JP 6]."""
        rows = self._rows[: self._size, : len(self.indices)]
        if self.representation == "coefficients":
            return rows
        return solve_upper(self.L.T, solve_lower(self.L, rows.T)).T

    @property
    def design(self) -> Array:
        """K~ (t, m) of (1.1)."""
        rows = self._rows[: self._size, : len(self.indices)]
        return rows @ self.K if self.representation == "coefficients" else rows

    @property
    def orthonormal_design(self) -> Array:
        """Z = K~ L^-T (t, m)."""
        rows = self._rows[: self._size, : len(self.indices)]
        return rows @ self.L if self.representation == "coefficients" else solve_lower(self.L, rows.T).T

    def _set_dictionary(self, basis: Array, indices: list[int]) -> None:
        self.basis, self.indices = basis, indices
        self.K = np.asarray(self.kernel(basis, basis), self.dtype)
        self.L = cholesky(self.K)

    def _reserve(self, rows: int, columns: int) -> None:
        more = max(0, self._size + rows - len(self._rows))
        if more or columns > self._rows.shape[1]:
            more = max(more, len(self._rows)) if more else 0
            wider = max(0, 2 * columns - self._rows.shape[1])
            self._rows = np.pad(self._rows, ((0, more), (0, wider)))
            self._unit = np.pad(self._unit, ((0, more), (0, 0)))
            self._targets = np.pad(self._targets, ((0, more), (0, 0)))
            self._weights = np.pad(self._weights, (0, more))

    def _store(self, rows: Array, Y: Array, v: Array) -> None:
        new, m = slice(self._size, self._size + len(rows)), rows.shape[1]
        self._reserve(len(rows), m)
        self._rows[new, :m], self._unit[new], self._targets[new], self._weights[new] = rows, 1, Y, v
        self._size += len(rows)
        self.t += len(rows)
        self.sum_weight += v.sum()
        self.sum_log_weight += np.log(v).sum()

    def _append(self, X: Array, Y: Array, v: Array) -> None:
        """Rows with exact kernels k(x_i) (p, m)."""
        if len(X) == 0:
            return
        k = np.asarray(self.kernel(self.basis, X), self.dtype)
        if self.representation == "coefficients":
            k = solve_upper(self.L.T, solve_lower(self.L, k))
        self._store(k.T, Y, v)
        if self.compress and self._size > 2 * (len(self.indices) + self._targets.shape[1]) + 16:
            self._compress()

    def _grow(self, x: Array, y: Array, v: Any) -> None:
        """The column K~ a* for the earlier rows, then the row of x itself, exact on the larger dictionary."""
        m = len(self.indices)
        self._reserve(1, m + 1)
        earlier = self._rows[: self._size, :m]
        if self.representation == "coefficients":
            self._rows[: self._size, m] = 0
        else:
            k = np.asarray(self.kernel(self.basis, x[None]), self.dtype)[:, 0]
            self._rows[: self._size, m] = earlier @ solve_upper(self.L.T, solve_lower(self.L, k))
        self._set_dictionary(np.vstack([self.basis, x]), [*self.indices, self.n_seen])
        own = np.eye(m + 1, dtype=self.dtype)[m] if self.representation == "coefficients" else self.K[m]
        self._store(own[None], y[None], np.array([v]))

    def _delete(self, row: int) -> None:
        """Delete the element that came with this row number: its column of K~ goes."""
        j, m = self.indices.index(row), len(self.indices)
        keep = [i for i in range(m) if i != j]
        gone, k = self._rows[: self._size, j].copy(), self.K[keep, j]
        self._rows[: self._size, j : m - 1] = self._rows[: self._size, j + 1 : m].copy()
        self._set_dictionary(self.basis[keep], [self.indices[i] for i in keep])
        if self.representation == "coefficients":
            share = solve_upper(self.L.T, solve_lower(self.L, k))
            self._rows[: self._size, : m - 1] += np.multiply.outer(gone, share)

    def _compress(self) -> None:
        """sqrt(V) [1 Z Y] = Q [R; 0]: keep R's rows, with weight one."""
        m, size = len(self.indices), self._size
        whole = np.hstack([self._unit[:size], self.orthonormal_design, self._targets[:size]])
        whole = np.sqrt(self._weights[:size])[:, None] * whole
        R, order, _, _ = householder_qr(whole, whole[:, :0])
        rows = np.zeros_like(R)
        rows[:, order] = R
        Z, self._size = rows[:, 1 : 1 + m], len(rows)
        self._unit[: self._size], self._targets[: self._size] = rows[:, :1], rows[:, 1 + m :]
        self._weights[: self._size] = 1
        back = solve_upper(self.L.T, Z.T).T if self.representation == "coefficients" else Z @ self.L.T
        self._rows[: self._size, :m] = back

    # -- the state

    def solve(self) -> Solution:
        """The minimiser of (1.1) now, and what follows from it."""
        b = 1 if self.fit_intercept and self.t > 0 else 0
        m, n = len(self.indices), self.t - b
        Y, v = self._targets[: self._size], self._weights[: self._size]
        best = minimise(self.orthonormal_design, self._unit[: self._size, :b], Y, v, self.alpha)
        half = solve_upper(self.L.T, np.eye(m, dtype=self.dtype))  # L^-T
        alpha = self.dtype.type(self.alpha)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = best.cost / (alpha * n)
            evidence = -0.5 * (
                best.cost / (alpha * scale)
                + n * np.log(scale)
                + (n - m) * np.log(alpha)
                + best.log_det
                + n * np.log(2 * np.pi * self.dtype.type(1))
                - self.sum_log_weight
            )
            return Solution(
                kernel=self.kernel,
                alpha=alpha,
                t=self.t,
                n=n,
                indices=np.array(self.indices, dtype=np.int64),
                basis=self.basis,
                K=self.K,
                L=self.L,
                theta=best.theta,
                beta=half @ best.theta,
                bias=best.bias.sum(axis=0),
                C=best.C,
                inverse_P=half @ best.C[b:, b:] @ half.T,
                cost=best.cost,
                rss=best.rss,
                dof=best.dof,
                gcv=self.t * best.rss / (self.t - best.dof) ** 2,
                log_det=best.log_det,
                noise_variance=best.cost / n,
                signal_scale=scale,
                log_evidence=evidence,
            )


@dataclass
class Decision:
    """What `PaperModel` found at one row.

    delta is the squared RKHS distance of x to the span; use the decrease of the minimal cost by growing
    (nan when not looked at); use_by_costs the same as a plain difference of two costs; scores (m+1,) the
    increases of the cost when one element of the grown dictionary is deleted, the candidate last (None
    below the cap); margin the smallest relative distance of any comparison made from falling the other
    way.
    """

    row: int
    outcome: int
    victim: int
    prior: Any
    delta: Any
    use: Any
    use_by_costs: Any
    scores: Array | None
    variance: Any
    margin: float


class PaperModel:
    """Online LS-SVM in the slowest way: every decision from fresh solutions of (1.1), K~ as it is defined.

    Same parameters as the estimator; `max_basis=0` is no cap.  `records` holds a `Decision` a row.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        alpha: float,
        *,
        novelty_tol: float = 1e-2,
        usefulness_tol: float = 1e-4,
        admission: str = "product",
        max_basis: int = 0,
        hysteresis: float = 1.0,
        fit_intercept: bool = True,
        n_outputs: int = 1,
        dtype: Any = np.longdouble,
    ) -> None:
        if admission not in ("product", "two-part", "per-sample", "novelty"):
            raise ValueError(f"admission={admission!r}")
        self.kernel, self.alpha, self.admission = kernel, alpha, admission
        self.novelty_tol, self.usefulness_tol, self.max_basis = novelty_tol, usefulness_tol, max_basis
        self.hysteresis, self.fit_intercept, self.dtype = hysteresis, fit_intercept, np.dtype(dtype)
        self.n_seen = 0
        self.indices: list[int] = []
        self.basis = np.zeros((0, 0), self.dtype)
        self.design = np.zeros((0, 0), self.dtype)  # K~ (t, m)
        self.targets = np.zeros((0, n_outputs), self.dtype)
        self.weights = np.zeros(0, self.dtype)
        self.records: list[Decision] = []

    # -- direct solutions

    def fit(self, design: Array, basis: Array, Y: Array, v: Array) -> tuple[Array, Array, Array]:
        """beta (m, c), bias (c,), cost (c,) minimising (1.1) for K~ = design (t, m)."""
        K = np.asarray(self.kernel(basis, basis), self.dtype)
        L = cholesky(K)
        unit = np.ones((len(Y), 1 if self.fit_intercept and len(Y) else 0), self.dtype)
        best = minimise(solve_lower(L, design.T).T, unit, Y, v, self.alpha)
        return solve_upper(L.T, best.theta), best.bias.sum(axis=0), best.cost

    def cost_increase(
        self, design: Array, basis: Array, v: Array, beta: Array, bias: Array, worse: Array, worse_bias: Array
    ) -> Any:
        """J(worse) - J(beta), summed over outputs, for beta the minimiser of J: by Pythagoras

            sum_i v_i |db + k~_i'dbeta|^2 + alpha dbeta'K dbeta,

        which does not cancel.  Shapes as in `fit`."""
        step, K = worse - beta, np.asarray(self.kernel(basis, basis), self.dtype)
        along = worse_bias - bias + design @ step
        return (v[:, None] * along**2).sum() + self.alpha * (step * (K @ step)).sum()

    def predict(self, X: Array) -> Array:
        """b + k(x)'beta (p, c), solved afresh."""
        X = np.asarray(X, self.dtype)
        if self.n_seen == 0:
            return np.zeros((len(X), self.targets.shape[1]), self.dtype)
        beta, bias, _ = self.fit(self.design, self.basis, self.targets, self.weights)
        return bias + np.asarray(self.kernel(X, self.basis), self.dtype) @ beta

    # -- one row

    def decide(self, x: Array, y: Array, v: Any) -> Decision:
        """What to do with x (d,), y (c,), v > 0; the model stays as it is."""
        x, y, v = np.asarray(x, self.dtype)[None], np.asarray(y, self.dtype)[None], self.dtype.type(v)
        basis = self.basis if self.n_seen else np.zeros((0, x.shape[1]), self.dtype)
        m, row = len(self.indices), self.n_seen
        Y, weights = np.vstack([self.targets, y]), np.append(self.weights, v)
        mean = (weights[:, None] * Y).sum(axis=0) / weights.sum()
        variance = (weights[:, None] * (Y - mean) ** 2).sum() / weights.sum()

        K = np.asarray(self.kernel(basis, basis), self.dtype)
        k = np.asarray(self.kernel(basis, x), self.dtype)  # (m, 1)
        prior = np.asarray(self.kernel(x, x), self.dtype)[0, 0]
        L = cholesky(K)
        a = solve_upper(L.T, solve_lower(L, k))  # a* = K^-1 k  [JP 4]
        delta = prior - (k.T @ a)[0, 0]  # [JP 3]
        nothing = self.dtype.type(np.nan)
        found = Decision(row, Outcome.REJECTED_NOVELTY, -1, prior, delta, nothing, nothing, None, variance, np.inf)

        def exceeds(value: Any, threshold: Any) -> bool:
            found.margin = min(found.margin, float(abs(value - threshold) / max(abs(threshold), abs(value), 1e-300)))
            return bool(value > threshold)

        if self.fit_intercept and len(Y) == 1:
            # The constant takes the first row whole: there is no cost left for a kernel to lower, and its
            # column would be that of the constant.  Whatever the rule, the row does not join.
            found.outcome, found.use = Outcome.REJECTED_USEFULNESS, self.dtype.type(0)
            return found
        novel = exceeds(delta, self.novelty_tol * prior)
        squares = (a[:, 0] ** 2 * np.diag(K)).sum()
        unresolved = RESOLUTION * prior * (prior + squares)
        if not novel and delta**2 <= unresolved:
            return found

        # The two designs of this row: after a normal step, and grown by x (column K~ a, own row exact).
        normal = np.vstack([self.design, k.T])
        grown_basis = np.vstack([basis, x])
        grown = np.vstack([np.hstack([self.design, self.design @ a]), np.append(k[:, 0], prior)])
        if delta > 1e-12 * prior:  # nearer, and the usefulness is rounding
            beta_n, bias_n, cost_n = self.fit(normal, basis, Y, weights)
            beta_g, bias_g, cost_g = self.fit(grown, grown_basis, Y, weights)
            padded = np.vstack([beta_n, np.zeros((1, Y.shape[1]), self.dtype)])
            found.use = self.cost_increase(grown, grown_basis, weights, beta_g, bias_g, padded, bias_n)
            found.use_by_costs = cost_n.sum() - cost_g.sum()
            if found.use < 1e-26 * (weights[:, None] * Y**2).sum():
                found.use = self.dtype.type(0)  # the square of a rounding error is not a usefulness
        if not novel:
            return found

        t = len(weights)
        if self.admission == "novelty":
            admitted = True
        elif self.admission == "two-part":
            admitted = exceeds(found.use, self.usefulness_tol * variance)
        elif self.admission == "product":
            admitted = exceeds(delta * found.use, self.usefulness_tol * variance)
        else:
            admitted = exceeds(delta * found.use / t, self.usefulness_tol * variance)
        if not admitted:
            found.outcome = Outcome.REJECTED_USEFULNESS
            return found
        if not exceeds(delta**2, unresolved):
            found.outcome = Outcome.REFUSED
            return found
        if self.max_basis == 0 or m < self.max_basis:
            found.outcome = Outcome.ADMITTED
            return found

        # At the cap: grow, then delete the element whose loss costs least.
        scores = np.zeros(m + 1, self.dtype)
        for i in range(m + 1):
            keep = [j for j in range(m + 1) if j != i]
            beta_i, bias_i, _ = self.fit(grown[:, keep], grown_basis[keep], Y, weights)
            padded = np.zeros((m + 1, Y.shape[1]), self.dtype)
            padded[keep] = beta_i
            scores[i] = self.cost_increase(grown, grown_basis, weights, beta_g, bias_g, padded, bias_i)
        scores[m] *= self.hysteresis
        nothing = NOTHING * (weights[:, None] * Y**2).sum()
        tied = np.flatnonzero(scores <= max(scores.min() * (1 + TIE), nothing))
        others = np.delete(scores, tied)
        if len(others):
            found.margin = min(found.margin, float(1 - scores.min() / others.min()))
        found.scores = scores
        if tied[0] == m:
            found.outcome = Outcome.BOUNCED
        else:
            found.outcome, found.victim = Outcome.SWAPPED, self.indices[tied[0]]
        return found

    def learn_one(self, x: Array, y: Array, v: Any = 1.0) -> Decision:
        """Decide, then change the design accordingly."""
        x, y = np.asarray(x, self.dtype), np.asarray(y, self.dtype).reshape(-1)
        if self.n_seen == 0:
            self.basis = np.zeros((0, len(x)), self.dtype)
        if v == 0:
            nothing = self.dtype.type(np.nan)
            found = Decision(
                self.n_seen, Outcome.IGNORED, -1, nothing, nothing, nothing, nothing, None, nothing, np.inf
            )
        else:
            found = self.decide(x, y, v)
            k = np.asarray(self.kernel(x[None], self.basis), self.dtype)  # (1, m)
            if found.outcome in (Outcome.ADMITTED, Outcome.SWAPPED):
                L = cholesky(np.asarray(self.kernel(self.basis, self.basis), self.dtype))
                a = solve_upper(L.T, solve_lower(L, k.T))
                earlier = np.hstack([self.design, self.design @ a])
                self.design = np.vstack([earlier, np.append(k[0], found.prior)])
                self.basis = np.vstack([self.basis, x])
                self.indices.append(self.n_seen)
                if found.outcome == Outcome.SWAPPED:
                    gone = self.indices.index(found.victim)
                    self.design = np.delete(self.design, gone, axis=1)
                    self.basis = np.delete(self.basis, gone, axis=0)
                    del self.indices[gone]
            else:
                self.design = np.vstack([self.design, k])
            self.targets = np.vstack([self.targets, y])
            self.weights = np.append(self.weights, self.dtype.type(v))
        self.n_seen += 1
        self.records.append(found)
        return found

    def learn(self, X: Array, Y: Array, v: Array | None = None) -> tuple[Array, Array, Array]:
        """Rows X (n, d), Y (n, c) or (n,), v (n,): the core's (apriori (n, c), outcome (n,), victim (n,))."""
        Y = np.asarray(Y, self.dtype).reshape(len(X), self.targets.shape[1])
        v = np.ones(len(X)) if v is None else v
        apriori = np.zeros(Y.shape, self.dtype)
        outcome, victim = np.zeros(len(X), np.uint8), np.full(len(X), -1, np.int64)
        for i in range(len(X)):
            apriori[i] = self.predict(np.asarray(X)[i : i + 1])[0]
            found = self.learn_one(X[i], Y[i], v[i])
            outcome[i], victim[i] = found.outcome, found.victim
        return apriori, outcome, victim


def trial(model, challenger, y, variance):
    """How many standard errors the mean difference of squared errors is from 0, for a model and its challenger."""
    gains = [((a - t) ** 2 - (b - t) ** 2) / variance for a, b, t in zip(model, challenger, y, strict=True)]
    mean = sum(gains) / len(gains)
    spread = sum((g - mean) ** 2 for g in gains) / len(gains)
    return mean / (spread / len(gains)) ** 0.5
