"""Kernel LSTD(λ): explicit inverses, and the batch solution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .kernels import RESOLUTION, TIE, Array, Outcome


@dataclass
class Transitions:
    """S, S_next (n, d), r, terminal, start (n,)."""

    S: Array
    r: Array
    S_next: Array
    terminal: Array
    start: Array

    def states(self, identifier: int) -> Array:
        """The state with identifier 2t (s of transition t) or 2t + 1 (its s'), (1, d)."""
        t, which = divmod(int(identifier), 2)
        return (self.S_next if which else self.S)[t : t + 1]


class ExplicitLSTD:
    """The recursion word for word, on K^-1, U = P^-1, w and z, with decisions of its own.

    A transition is learned by a normal step; a state that joins borders what comes out of it, with w_b and v_b made
    of the Uz, hU and residual from before that step, which is taken back to find them.
    """

    def __init__(
        self, kernel, alpha, discount, decay, *, novelty_tol, usefulness_tol, admission, max_basis=0, residual=False
    ):
        self.kernel, self.alpha, self.discount, self.decay = kernel, alpha, discount, decay
        self.novelty_tol, self.usefulness_tol, self.admission = novelty_tol, usefulness_tol, admission
        self.max_basis, self.residual = max_basis, residual
        self.identifiers: list[int] = []
        self.K_inverse, self.U = np.zeros((0, 0)), np.zeros((0, 0))
        self.w, self.trace = np.zeros(0), np.zeros(0)
        self.fresh, self.rewards = True, []

    def learn(self, data: Transitions, t: int) -> tuple[list[int], list[int]]:
        self.data, self.t = data, t
        self.s, self.s_next, self.r = data.S[t : t + 1], data.S_next[t : t + 1], data.r[t]
        self.g = 0.0 if data.terminal[t] else self.discount
        D = self.elements()
        k = self.kernel(D, self.s)[:, 0]
        self.h = k - self.g * self.kernel(D, self.s_next)[:, 0]
        if data.start[t] or self.fresh:
            self.trace = np.zeros(len(D))
        self.trace = self.discount * self.decay * self.trace + k
        self.fresh = bool(data.terminal[t])
        self.rewards.append(self.r)
        self.normal()
        outcomes, victims = [Outcome.IGNORED, Outcome.IGNORED], [-1, -1]
        for which in (0, 1):
            if which == 0 or not data.terminal[t]:
                outcomes[which], victims[which] = self.consider(which)
        return outcomes, victims

    def elements(self) -> Array:
        if not self.identifiers:
            return self.data.S[:0]
        return np.concatenate([self.data.states(i) for i in self.identifiers])

    @property
    def z(self) -> Array:
        return self.h if self.residual else self.trace

    def normal(self) -> None:
        Uz, hU = self.U @ self.z, self.h @ self.U
        Delta = 1 + self.h @ Uz
        self.w = self.w + (self.r - self.h @ self.w) / Delta * Uz
        self.U = self.U - np.outer(Uz, hU) / Delta

    def take_back(self) -> None:
        Uz, hU = self.U @ self.z, self.h @ self.U
        left = 1 - self.h @ Uz
        self.w = self.w - (self.r - self.h @ self.w) / left * Uz
        self.U = self.U + np.outer(Uz, hU) / left

    def consider(self, which: int) -> tuple[int, int]:
        x = self.s_next if which else self.s
        D = self.elements()
        k_x, k_self = self.kernel(D, x)[:, 0], self.kernel(x, x)[0, 0]
        a = self.K_inverse @ k_x
        delta = k_self - k_x @ a
        if not delta > self.novelty_tol * k_self:
            return Outcome.REJECTED_NOVELTY, -1
        after = self.U, self.w
        self.take_back()
        Uz, hU = self.U @ self.z, self.h @ self.U
        Delta, rho = 1 + self.h @ Uz, self.r - self.h @ self.w
        self.U, self.w = after
        k_here, k_there = self.kernel(x, self.s)[0, 0], self.kernel(x, self.s_next)[0, 0]
        k = self.kernel(D, self.s)[:, 0]
        delta_p = (k_here - self.g * k_there) - a @ self.h
        delta_q = delta_p if self.residual else k_here - a @ k
        Delta_b = delta_q * delta_p / Delta + self.alpha * delta
        kappa = delta_q * rho / (Delta * Delta_b)
        use = kappa**2 * abs(Delta_b)
        tol2 = self.usefulness_tol * np.mean(np.square(self.rewards))
        rules = {
            "novelty": True,
            "product": delta * use > tol2,
            "two-part": use > tol2,
            "per-sample": delta * use > tol2 * (self.t + 1),
        }
        if not rules[self.admission]:
            return Outcome.REJECTED_USEFULNESS, -1
        if not delta**2 > RESOLUTION * k_self * (k_self + (a**2 * np.diag(self.kernel(D, D))).sum()):
            return Outcome.REFUSED, -1
        w_b, v_b = a + delta_p / Delta * Uz, a + delta_q / Delta * hU
        old = self.identifiers, self.K_inverse, self.h, self.trace
        m = len(a)
        self.U = np.pad(self.U, (0, 1)) + np.outer(np.append(-w_b, 1), np.append(-v_b, 1)) / Delta_b
        self.w = np.append(self.w, 0) + kappa * np.append(-w_b, 1)
        self.K_inverse = np.pad(self.K_inverse, (0, 1)) + np.outer(np.append(-a, 1), np.append(-a, 1)) / delta
        self.identifiers = [*self.identifiers, 2 * self.t + which]
        self.h = np.append(self.h, k_here - self.g * k_there)
        self.trace = np.append(self.trace, a @ self.trace + (k_here - a @ k))
        if self.max_basis == 0 or m < self.max_basis:
            return Outcome.ADMITTED, -1
        scores = self.w**2 / abs(np.diag(self.U))
        scores[m] = use
        victim = int(np.flatnonzero(scores <= scores.min() * (1 + TIE))[0])
        if victim == m:
            self.identifiers, self.K_inverse, self.h, self.trace = old
            self.U, self.w = after
            return Outcome.BOUNCED, -1
        evicted = self.identifiers[victim]
        self.prune(victim)
        return Outcome.SWAPPED, evicted

    def prune(self, i: int) -> None:
        kept = [j for j in range(len(self.w)) if j != i]
        self.w = (self.w - self.w[i] / self.U[i, i] * self.U[:, i])[kept]
        self.U = (self.U - np.outer(self.U[:, i], self.U[i]) / self.U[i, i])[np.ix_(kept, kept)]
        V = self.K_inverse
        self.K_inverse = (V - np.outer(V[:, i], V[i]) / V[i, i])[np.ix_(kept, kept)]
        self.h, self.trace = self.h[kept], self.trace[kept]
        self.identifiers = [self.identifiers[j] for j in kept]


class BatchLSTD:
    """The fixed point (Z'H + alpha K) w = Z'r of an explicit Z and H, rebuilt by the log of what joined and left."""

    def __init__(self, kernel, alpha, discount, decay, residual=False):
        self.kernel, self.alpha, self.discount, self.decay, self.residual = kernel, alpha, discount, decay, residual
        self.identifiers: list[int] = []
        self.Z, self.H, self.r = np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0)
        self.trace, self.fresh = np.zeros(0), True

    def elements(self, data: Transitions) -> Array:
        return np.concatenate([data.S[:0], *[data.states(i) for i in self.identifiers]])

    def step(self, data: Transitions, t: int, outcomes: Iterable[int], victims: Iterable[int], learned: bool = True):
        s, s_next = data.S[t : t + 1], data.S_next[t : t + 1]
        g = 0.0 if data.terminal[t] else self.discount
        D = self.elements(data)
        k, k_next = self.kernel(D, s)[:, 0], self.kernel(D, s_next)[:, 0]
        if data.start[t] or self.fresh:
            self.trace = np.zeros(len(D))
        self.trace = self.discount * self.decay * self.trace + k
        self.fresh = bool(data.terminal[t])
        if not learned:
            return self
        h = k - g * k_next
        self.Z = np.vstack([self.Z, h if self.residual else self.trace])
        self.H = np.vstack([self.H, h])
        self.r = np.append(self.r, data.r[t])
        for which, (outcome, victim) in enumerate(zip(outcomes, victims, strict=True)):
            if outcome not in (Outcome.ADMITTED, Outcome.SWAPPED):
                continue
            x, D = data.states(2 * t + which), self.elements(data)
            a = np.linalg.solve(self.kernel(D, D), self.kernel(D, x)[:, 0]) if len(D) else np.zeros(0)
            here, there = self.kernel(x, s)[0, 0], self.kernel(x, s_next)[0, 0]
            h_column, z_column = self.H @ a, self.Z @ a
            h_column[-1] = here - g * there
            own = here - a @ self.kernel(D, s)[:, 0]  # what the projection misses of k(x*, s)
            z_column[-1] = h_column[-1] if self.residual else a @ self.trace + own
            self.trace = np.append(self.trace, a @ self.trace + own)
            self.Z, self.H = np.column_stack([self.Z, z_column]), np.column_stack([self.H, h_column])
            self.identifiers.append(2 * t + which)
            if outcome == Outcome.SWAPPED:
                i = self.identifiers.index(victim)
                del self.identifiers[i]
                self.Z, self.H = np.delete(self.Z, i, 1), np.delete(self.H, i, 1)
                self.trace = np.delete(self.trace, i)
        return self

    def solve(self, data: Transitions) -> tuple[Array, Array]:
        """w and P."""
        D = self.elements(data)
        P = self.Z.T @ self.H + self.alpha * self.kernel(D, D)
        return np.linalg.solve(P, self.Z.T @ self.r) if len(D) else np.zeros(0), P
