"""Noise of a stream that depends on the input, literally: one step of scoring a row on a belief about log s²."""

from __future__ import annotations

import numpy as np

from .memories import Memory

Array = np.ndarray
RIDGE, KEPT = 2.0, 0.9995  # of the belief
LEAST, MOST = 1 / 400, 9.0  # of a squared standardised error; the second of what it is over s²
RECENT, RECENT_SCORES = 0.99, 0.998  # what the past keeps in the scales, and in the log densities
OUTLIER = 25.0
ROUNDING = 1e-12


class InputNoise:
    """Errors e of variance s²(x) B, B being what a model of constant noise says of the row."""

    def __init__(self, leading: int, n_outputs: int) -> None:
        self.belief = Memory(KEPT, leading, n_outputs, RIDGE)
        self.seen = [np.zeros(1) for _ in range(n_outputs)]  # levels at the rows after they were learned
        self.before = [np.zeros(0) for _ in range(n_outputs)]  # and before that
        self.scores: list[list[tuple[float, float]]] = [[] for _ in range(n_outputs)]  # e²/B, and the level said before

    @staticmethod
    def kernels_of(kernels: int) -> int:
        """How many of the kernels, the first ones, log s² is a function of: a third, and 20 if there are as many."""
        return max(min(kernels, 20), -(-kernels // 3))

    def level(self, h: Array) -> Array:
        """Log s² of each output at a row of observation h."""
        low, high = (np.array([of(levels) for levels in self.seen]) for of in (np.min, np.max))
        return np.clip(h @ self.belief.mean, low, high)

    def weight(self, h: Array) -> float:
        """1/s² beside what it was lately, of the geometric mean of the outputs, from a third to three."""
        lately = [discounted(levels, RECENT) if len(levels) else 0.0 for levels in self.before]
        return float(np.clip(np.exp(-np.mean(self.level(h) - lately)), 1 / 3, 3))

    def learn(self, h: Array, error: Array, variance: Array, prior: Array) -> None:
        level, targets = self.level(h), h @ self.belief.mean
        known = variance > ROUNDING * error**2
        if not known.any():
            return
        for o in np.flatnonzero(known):
            z2 = error[o] ** 2 / variance[o]
            targets[o] = level[o] + min(max(z2, LEAST) * np.exp(-level[o]), MOST) - 1.0
            self.scores[o].append((z2, level[o]))
            self.before[o] = np.append(self.before[o], level[o])
        self.belief.observe(h, targets, 1.0)
        for o in np.flatnonzero(known):
            self.seen[o] = np.append(self.seen[o], np.clip((h @ self.belief.mean)[o], np.log(LEAST), -np.log(LEAST)))
        self.belief.fade(prior / RIDGE)

    def gain(self, o: int) -> float:
        """Discounted log density of the errors so far with s², less that without: either at its own running scale."""
        total, scales, counted = 0.0, np.ones(2), 1.0  # as if one error had been as large as predicted
        for z2, level in self.scores[o]:
            levels = np.array([0.0, level])
            mean = scales / counted
            ratios = np.minimum(z2 * np.exp(-levels) / mean, OUTLIER)
            densities = -0.5 * (np.log(mean) + levels + ratios)
            total = RECENT_SCORES * total + densities[1] - densities[0]
            scales, counted = RECENT * scales + ratios * mean, RECENT * counted + 1.0
        return total

    def factors(self, h: Array, how: str) -> Array:
        """What variances are multiplied with at h."""
        used = np.array([how == "input" or self.gain(o) > 0 for o in range(len(self.seen))])
        return np.where(used, np.exp(self.level(h)), 1.0)


def discounted(values: Array, kept: float) -> float:
    weights = kept ** np.arange(len(values))[::-1]
    return float(weights @ values / weights.sum())
