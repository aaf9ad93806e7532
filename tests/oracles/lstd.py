"""Kernel LSTD(λ): explicit inverses, and the batch solution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .kernels import RESOLUTION, TIE, Array, KernelFunction, Outcome


@dataclass
class Transitions:
    """S, S_next (n, d), r, terminal, start (n,), and the importance of each transition, ones where there is none."""

    S: Array
    r: Array
    S_next: Array
    terminal: Array
    start: Array
    importance: Array | None = None

    def weight(self, t: int) -> float:
        return 1.0 if self.importance is None else float(self.importance[t])

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
        self,
        kernel,
        alpha,
        discount,
        decay,
        *,
        novelty_tol,
        usefulness_tol,
        admission,
        max_basis=0,
        residual=False,
        forgetting=1.0,
    ):
        self.forgetting, self.weight = forgetting, 1.0
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
        self.weight = data.weight(t)
        self.trace = self.weight * (self.discount * self.decay * self.trace + k)
        self.fresh = bool(data.terminal[t])
        self.rewards.append(self.r)
        f = self.forgetting
        self.U = f * self.U + (1 - f) / self.alpha * self.K_inverse
        self.w = np.sqrt(f) * self.w
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
        return self.weight * self.h if self.residual else self.trace

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
        delta_q = self.weight * (delta_p if self.residual else k_here - a @ k)
        Delta_b = delta_q * delta_p / Delta + self.alpha * delta
        kappa = delta_q * rho / (Delta * Delta_b)
        use = kappa**2 * abs(Delta_b)
        ages = self.forgetting ** np.arange(len(self.rewards))[::-1]
        tol2 = self.usefulness_tol * np.average(np.square(self.rewards), weights=ages)
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
        self.trace = np.append(self.trace, a @ self.trace + self.weight * (k_here - a @ k))
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
        self.environment, self.waiting = 0, dict[int, tuple[Array, bool]]()

    def elements(self, data: Transitions) -> Array:
        return np.concatenate([data.S[:0], *[data.states(i) for i in self.identifiers]])

    def turn_to(self, environment: int) -> None:
        """The transitions to come are of this one, whose trace waited while others ran."""
        self.waiting[self.environment] = self.trace, self.fresh
        self.environment = environment
        self.trace, self.fresh = self.waiting.pop(environment, (np.zeros(len(self.trace)), True))

    def step(self, data: Transitions, t: int, outcomes: Iterable[int], victims: Iterable[int], learned: bool = True):
        s, s_next = data.S[t : t + 1], data.S_next[t : t + 1]
        g = 0.0 if data.terminal[t] else self.discount
        D = self.elements(data)
        k, k_next = self.kernel(D, s)[:, 0], self.kernel(D, s_next)[:, 0]
        if data.start[t] or self.fresh:
            self.trace = np.zeros(len(D))
        weight = data.weight(t)
        self.trace = weight * (self.discount * self.decay * self.trace + k)
        self.fresh = bool(data.terminal[t])
        if not learned:
            return self
        h = k - g * k_next
        self.Z = np.vstack([self.Z, weight * h if self.residual else self.trace])
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
            own = weight * (here - a @ self.kernel(D, s)[:, 0])  # what the projection misses of k(x*, s)
            z_column[-1] = weight * h_column[-1] if self.residual else a @ self.trace + own
            self.trace = np.append(self.trace, a @ self.trace + own)
            self.waiting = {e: (np.append(z, a @ z), fresh) for e, (z, fresh) in self.waiting.items()}
            self.Z, self.H = np.column_stack([self.Z, z_column]), np.column_stack([self.H, h_column])
            self.identifiers.append(2 * t + which)
            if outcome == Outcome.SWAPPED:
                i = self.identifiers.index(victim)
                del self.identifiers[i]
                self.Z, self.H = np.delete(self.Z, i, 1), np.delete(self.H, i, 1)
                self.trace = np.delete(self.trace, i)
                self.waiting = {e: (np.delete(z, i), fresh) for e, (z, fresh) in self.waiting.items()}
        return self

    def solve(self, data: Transitions) -> tuple[Array, Array]:
        """w and P."""
        D = self.elements(data)
        P = self.Z.T @ self.H + self.alpha * self.kernel(D, D)
        return np.linalg.solve(P, self.Z.T @ self.r) if len(D) else np.zeros(0), P

    def covariance(self, data: Transitions) -> Array:
        """Of w - w* in units of the noise, for r = Hw* + noise and the prior w* ~ N(0, K^-1 / alpha)."""
        D = self.elements(data)
        U = np.linalg.inv(self.solve(data)[1])
        return U @ (self.Z.T @ self.Z + self.alpha * self.kernel(D, D)) @ U.T

    def variance(self, data: Transitions, at: Array) -> Array:
        """Of V(at) - V*(at), with what the kernels cannot express."""
        D = self.elements(data)
        k = self.kernel(at, D)
        own = np.diag(self.kernel(at, at)) - np.einsum("ij,ij->i", k, np.linalg.solve(self.kernel(D, D), k.T).T)
        return np.einsum("ij,ij->i", k @ self.covariance(data), k) + own / self.alpha


@dataclass
class DenseTransitions:
    """Z, H and W, with all transitions exact on given elements."""

    Z: Array
    H: Array
    W: Array


def dense_transitions(kernel, elements, data: Transitions, discount, decay, residual=False) -> DenseTransitions:
    k, k_next = kernel(data.S, elements), kernel(data.S_next, elements)
    H = k - discount * np.where(data.terminal, 0.0, 1.0)[:, None] * k_next
    Z, trace, fresh = np.zeros_like(k), np.zeros(len(elements)), True
    for t in range(len(k)):
        trace = np.zeros(len(elements)) if fresh or data.start[t] else trace
        trace = data.weight(t) * (H[t] if residual else discount * decay * trace + k[t])
        Z[t], fresh = trace, bool(data.terminal[t])
    return DenseTransitions(Z, H, k)


def dense_lstd(kernel, elements, data: Transitions, discount, decay, alpha, residual=False) -> Array:
    """The fixed point (Z'H + alpha K) w = Z'r."""
    rows = dense_transitions(kernel, elements, data, discount, decay, residual)
    return np.linalg.solve(rows.Z.T @ rows.H + alpha * kernel(elements, elements), rows.Z.T @ data.r)


def projected_error(kernel, elements, data: Transitions, discount, decay, alpha, w) -> float:
    """Mean square of the temporal differences of w, projected on the kernels in the ridge's metric."""
    rows = dense_transitions(kernel, elements, data, discount, decay)
    left = rows.Z.T @ (data.r - rows.H @ w)
    metric = rows.W.T @ rows.W + alpha * kernel(elements, elements)
    return float(left @ np.linalg.solve(metric, left)) / len(data.r)


def gptd(kernel, data: Transitions, discount, noise, prior, at) -> tuple[Array, Array]:
    """Gaussian-process temporal differences, r = HV + white noise: posterior mean and variance, over all the states."""
    states = np.concatenate([data.S, data.S_next])
    n = len(data.r)
    H = np.hstack([np.eye(n), -discount * np.diag(np.where(data.terminal, 0.0, 1.0))])
    K, k, own = prior * kernel(states, states), prior * kernel(at, states), prior * np.diag(kernel(at, at))
    gain = np.linalg.solve(H @ K @ H.T + noise * np.eye(n), H @ k.T)
    return gain.T @ data.r, own - np.einsum("ij,ji->i", k @ H.T, gain)


class DenseLSPE:
    """LSPE(lambda) word for word, on the Z, H and W of `BatchLSTD`: one step a transition."""

    def __init__(self, kernel, alpha, discount, decay):
        self.differences = BatchLSTD(kernel, alpha, discount, decay)
        self.features = BatchLSTD(kernel, alpha, discount, 0.0)  # its Z are the W
        self.w = np.zeros(0)

    def step(self, data: Transitions, t: int, outcomes, victims) -> Array:
        for part in (self.differences, self.features):
            before = list(part.identifiers)
            part.step(data, t, outcomes, victims)
        kernel, alpha = self.features.kernel, self.features.alpha
        kernel, alpha = self.features.kernel, self.features.alpha
        now = before
        for which, (outcome, victim) in enumerate(zip(outcomes, victims, strict=True)):
            if outcome in (Outcome.ADMITTED, Outcome.SWAPPED):
                now, self.w = [*now, 2 * t + which], np.append(self.w, 0.0)
            if outcome == Outcome.SWAPPED:  # V is projected on what is left
                i = now.index(victim)
                now, gone, self.w = now[:i] + now[i + 1 :], self.w[i], np.delete(self.w, i)
                D = np.concatenate([data.states(j) for j in now])
                self.w = self.w + gone * np.linalg.solve(kernel(D, D), kernel(D, data.states(victim))[:, 0])
        assert now == self.features.identifiers
        D = self.features.elements(data)
        Z, H, W = self.differences.Z, self.differences.H, self.features.Z
        K = kernel(D, D)
        rest = Z.T @ (self.differences.r - H @ self.w) - alpha * K @ self.w
        self.w = self.w + np.linalg.solve(W.T @ W + alpha * K, rest)
        return self.w


def block_kernel(kernel: KernelFunction):
    """Of states with actions, (states, numbers of actions): kernels of different actions are 0."""
    return lambda x, y: kernel(x[0], y[0]) * (x[1][:, None] == y[1][None])


def dense_action_values(
    kernel, elements, states, actions, rewards, after, terminated, chance, discount, alpha
) -> Array:
    """LSTD-Q: coefficients of Q on elements (states, actions), for a policy of these probabilities in `after`."""
    k = block_kernel(kernel)
    Z = k((states, actions), elements)
    expected = sum(
        chance[:, [a]] * k((after, np.full(len(after), a)), elements) for a in range(chance.shape[1])
    )  # of the next state's features
    H = Z - discount * np.where(terminated, 0.0, 1.0)[:, None] * expected
    return np.linalg.solve(Z.T @ H + alpha * k(elements, elements), Z.T @ rewards)


def feedback_of_values(kernel, elements, states, actions, after, terminated, chance, discount, alpha) -> float:
    """What 4,000 regressions of the discounted next values multiply an error of the values by, each, in the end."""
    k = block_kernel(kernel)
    Z, K = k((states, actions), elements), k(elements, elements)
    ahead = sum(chance[:, [a]] * k((after, np.full(len(after), a)), elements) for a in range(chance.shape[1]))
    ahead = discount * np.where(terminated, 0.0, 1.0)[:, None] * ahead
    error, growth = np.random.default_rng(0).normal(size=len(K)), 0.0
    for step in range(4000):
        error = np.linalg.solve(Z.T @ Z + alpha * K, Z.T @ (ahead @ error))
        size = float(np.linalg.norm(error))
        if size == 0.0:
            return 0.0
        growth += np.log(size) if step >= 2000 else 0.0  # complex pairs turn: the mean of many steps
        error /= size
    return float(np.exp(growth / 2000))
