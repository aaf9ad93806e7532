"""A bank of memories on one dictionary, dense and literal: beliefs about the function's values at the kernels' centres.

Each memory is a Gaussian process that forgets: what is known of f at the centres of the dictionary, f ~ N(g, G) in
units of the noise, and of the coefficients of the leading coordinates, which are independent of f beforehand.  With
each row that is learned

    the row is observed with noise 1/v,   then  (g, G) <- (sqrt(r) g, r G + (1 - r) prior)

r being the memory's factor and the prior K/alpha (I/alpha for leading coordinates).  A kernel that joins has the value
k'K^-1 f plus a part of variance delta/alpha that nothing is known of; one that leaves takes along the condition that
its coefficient, (K^-1 f)_i, is zero.  The first memory decides on the dictionary; the last while rows lie
farther from it than they used to.  The core works in an orthonormal basis with lazy scalars; nothing is shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .kernels import KernelFunction
from .linear import cholesky, solve_lower, solve_upper

if TYPE_CHECKING:
    from .input_noise import InputNoise

Array = np.ndarray
RATE, MOST = 0.99, 9.0  # of the weights: how much the past counts, and the most that one error can say
FARTHEST = 14.0  # the most that one of their logarithms lies below the largest
LEAST_EXCESS = 0.1  # of the novelty of rows


def _solve(K: Array, B: Array) -> Array:
    """K^-1 B, in the arithmetic of K: numpy's own has none but double."""
    if K.dtype == np.float64:
        return np.linalg.solve(K, B)
    L = cholesky(K)
    return solve_upper(L.T, solve_lower(L, B))


class Memory:
    """One belief: mean (state, outputs) and covariance of [leading; values at the centres], cost and rows counted."""

    def __init__(self, factor: float, leading: int, n_outputs: int, alpha: float) -> None:
        self.factor, self.alpha, self.leading = factor, alpha, leading
        dtype = np.asarray(alpha).dtype
        self.mean = np.zeros((leading, n_outputs), dtype)
        self.cov = np.eye(leading, dtype=dtype) / alpha
        self.cost = np.zeros(n_outputs, dtype)
        self.counted = 0.0

    def observe(self, h: Array, y: Array, v: float) -> None:
        """Y = h'state + noise of variance 1/v."""
        gain = self.cov @ h
        variance = 1.0 / v + h @ gain
        error = y - h @ self.mean
        self.mean = self.mean + np.outer(gain, error) / variance
        self.cov = self.cov - np.outer(gain, gain) / variance
        self.cost = self.factor * self.cost + error**2 / variance
        self.counted = self.factor * self.counted + 1.0

    def fade(self, prior: Array) -> None:
        self.mean = np.sqrt(self.factor) * self.mean
        self.cov = self.factor * self.cov + (1.0 - self.factor) * prior

    def join(self, a: Array, delta: float) -> None:
        """A centre whose value is a'f plus an independent part of variance delta / alpha."""
        h = np.concatenate([np.zeros(self.leading), a])
        column = self.cov @ h
        self.cov = np.block([[self.cov, column[:, None]], [column[None], h @ column + delta / self.alpha]])
        self.mean = np.vstack([self.mean, h @ self.mean])

    def leave(self, i: int, functional: Array) -> None:
        """Kernel i leaves: its coefficient, `functional` of the values, is zero from now on."""
        h = np.concatenate([np.zeros(self.leading), functional])
        column = self.cov @ h
        variance, value = h @ column, h @ self.mean
        self.mean = self.mean - np.outer(column, value) / variance
        self.cov = self.cov - np.outer(column, column) / variance
        self.cost = self.cost + value**2 / variance
        self.mean = np.delete(self.mean, self.leading + i, axis=0)
        self.cov = np.delete(np.delete(self.cov, self.leading + i, axis=0), self.leading + i, axis=1)

    @property
    def noise(self) -> Array:
        return self.cost / max(self.counted, 1.0)


class Weights:
    """How much each memory counts, by the errors it made before it learned their rows."""

    def __init__(self, members: int, n_outputs: int) -> None:
        self.logarithms, self.squares, self.counted = np.zeros(members), np.zeros((members, n_outputs)), 0.0

    def learn(self, errors: Array, v: float) -> None:
        squares = v * errors**2
        if self.counted > 0:
            s2 = np.maximum(self.squares / self.counted, 1e-100)
            surprise = np.log(s2) + np.minimum(squares / s2, MOST)
            self.logarithms = RATE * self.logarithms - 0.5 * surprise.sum(axis=1)
        else:
            self.logarithms = RATE * self.logarithms
        self.logarithms = np.maximum(self.logarithms - self.logarithms.max(), -FARTHEST)
        self.squares = RATE * self.squares + squares
        self.counted = RATE * self.counted + 1.0

    @property
    def values(self) -> Array:
        weights = np.exp(self.logarithms)
        return weights / weights.sum()


class Memories:
    """Memories on one dictionary and their weights; which rows became kernels and left is told from outside."""

    def __init__(
        self,
        kernel: KernelFunction,
        alpha: float,
        factors: list[float],
        n_features: int,
        n_outputs: int,
        *,
        fit_intercept: bool = True,
        scale: list[float] | None = None,
        centre: Array | None = None,
        level: bool = True,
        noise: InputNoise | None = None,
        weigh: bool = False,
    ) -> None:
        """`noise`: what is believed of log s², if it depends on x; `weigh`: the mean is learned with weights 1/s²."""
        self.noise, self.weigh, self.second_pass = noise, weigh, False
        dtype = kernel(np.zeros((1, n_features)), np.zeros((1, n_features))).dtype.type
        self.kernel, self.alpha = kernel, dtype(alpha)
        self.scale, self.centre, self.constant = np.asarray(scale or []), centre, fit_intercept
        leading = int(fit_intercept) + len(self.scale)
        self.memories = [Memory(dtype(factor), leading, n_outputs, self.alpha) for factor in factors]
        self.basis, self.ids, self.seen = np.zeros((0, n_features)), [], 0
        self.level = None if level and fit_intercept else np.zeros(n_outputs)
        self.exact_rows, self.window = 0, None  # it has neither
        self.Y, self.weight = np.zeros((0, n_outputs)), np.zeros(0)
        self._weigh_nothing()

    def _weigh_nothing(self) -> None:
        self.mixture = Weights(len(self.memories), self.Y.shape[1])
        self.novelties, self.recent, self.moved = [], 0.0, False

    # --- what happens to it ---

    def _observation(self, x: Array, first: int | None = None) -> Array:
        """[leading coordinates; a], of which the prediction is the product with a state; of so many kernels or all."""
        parts = []
        if self.constant:
            parts.append([1.0])
        if len(self.scale):
            parts.append(self.scale * (x - self.centre))
        basis = self.basis[:first]
        if len(basis):
            parts.append(_solve(self.kernel(basis, basis), self.kernel(basis, x[None]))[:, 0])
        return np.concatenate(parts) if parts else np.zeros(0)

    def _distance(self, x: Array, first: int | None = None) -> float:
        k_self, basis = self.kernel(x[None], x[None])[0, 0], self.basis[:first]
        if not len(basis):
            return k_self
        k = self.kernel(basis, x[None])[:, 0]
        return k_self - k @ _solve(self.kernel(basis, basis), k)

    def of_noise(self, x: Array) -> Array:
        """The same for what is believed of log s²."""
        return self._observation(x, self._noise_kernels)

    @property
    def _noise_kernels(self) -> int:
        return len(self.noise.belief.mean) - self.noise.belief.leading

    def _join_noise(self) -> None:
        """As many of the kernels as are to span log s²: the next of them join."""
        while self._noise_kernels < self.noise.kernels_of(len(self.ids)):
            c = self._noise_kernels
            a = self._observation(self.basis[c], c)[self.noise.belief.leading :]
            self.noise.belief.join(a, self._distance(self.basis[c], c))

    def learn(
        self,
        x: Array,
        y: Array,
        v: float,
        admitted: bool,
        evicted: int | None = None,
        _: bool = False,
        predicted: Array | None = None,
        said: tuple[Array, Array] | None = None,
    ) -> None:
        """One row; `predicted`: by each memory when the row came, if its target came later.

        `said`: mean and variance with constant noise then.
        """
        number = self.seen
        self.seen += 1
        if not v > 0:
            assert not admitted
            return
        if self.level is None:
            self.level = np.array(y, dtype=np.float64)
        given = v
        if self.weigh:
            v = v * self.noise.weight(self.of_noise(x))
        self.Y, self.weight = np.vstack([self.Y, y]), np.append(self.weight, v)
        size = self.kernel(x[None], x[None])[0, 0]
        novelty = max(self._distance(x), 0.0) / size if size > 0 else 0.0
        measured, h = y - self.level, self._observation(x)
        errors = np.array([measured - h @ each.mean for each in self.memories])
        delta = max(self._distance(x), 0.0)
        if self.noise is not None:
            error, variance = self.weights @ errors, self._base(h, delta, given)
            if said is not None:
                error, variance = y - said[0], said[1]
            if not self.second_pass:
                prior = self._prior(self._noise_kernels) * self.alpha
                self.noise.learn(self.of_noise(x), error, variance, prior)
        if predicted is not None:
            errors = y - predicted
        if admitted:
            for each in self.memories:
                each.join(h[each.leading :], delta)
            self.basis, self.ids = np.vstack([self.basis, x]), [*self.ids, number]
            if self.noise is not None:
                self._join_noise()
            h = np.concatenate([h[: self.memories[0].leading], np.eye(len(self.ids))[-1]])
        for each in self.memories:
            each.observe(h, measured, v)
        if evicted is not None:
            self.drop(evicted)
        for each in self.memories:
            each.fade(self._prior())
        self.mixture.learn(errors, v)
        self._look_where_inputs_are(novelty)

    def _look_where_inputs_are(self, novelty: float) -> None:
        self.novelties.append(novelty)
        self.recent = RATE * self.recent + (1 - RATE) * novelty
        ever = float(np.mean(self.novelties))
        self.moved = self.recent > ever + (0.5 if self.moved else 1.0) * max(ever, LEAST_EXCESS)

    def drop(self, number: int) -> None:
        i = self.ids.index(number)
        functional = _solve(self.kernel(self.basis, self.basis), np.eye(len(self.ids))[i])
        for each in self.memories:
            each.leave(i, functional)
        if self.noise is not None:
            self._leave_noise(i)
        self.basis, self.ids = np.delete(self.basis, i, axis=0), [*self.ids[:i], *self.ids[i + 1 :]]

    def _leave_noise(self, i: int) -> None:
        """The kernel leaves; the next joins log s² in its place, or the last leaves where there is one too many."""
        belief, before, now = self.noise.belief, self._noise_kernels, self.noise.kernels_of(len(self.ids) - 1)
        if i < before and now == before:
            a = self._observation(self.basis[before], before)[belief.leading :]
            belief.join(a, self._distance(self.basis[before], before))
        if now < self._noise_kernels:
            leaves = i if i < before else before - 1
            basis = self.basis[: self._noise_kernels]
            belief.leave(leaves, _solve(self.kernel(basis, basis), np.eye(len(basis))[leaves]))

    def prune(self, gone: list[int], _: bool = False) -> None:
        """Kernels of these row numbers leave."""
        for number in gone:
            self.drop(number)

    def refit(self, X: Array, Y: Array, v: Array) -> None:
        """Other rows instead of those so far, on the present kernels."""
        seen = self.seen
        self._weigh_nothing()
        for each in self.memories:
            each.cov = self._prior()
            each.mean = np.zeros((len(each.cov), Y.shape[1]))
            each.cost, each.counted = np.zeros(Y.shape[1]), 0.0
        self.second_pass = True
        for x, y, weight in zip(X, Y, v, strict=True):
            self.learn(x, y, weight, False)
        self.seen, self.second_pass = seen, False

    def _prior(self, first: int | None = None) -> Array:
        leading, basis = self.memories[0].leading, self.basis[:first]
        m = len(basis)
        prior = np.zeros((leading + m, leading + m), type(self.alpha))
        prior[:leading, :leading] = np.eye(leading)
        if m:
            prior[leading:, leading:] = self.kernel(basis, basis)
        return prior / self.alpha

    # --- what it answers ---

    @property
    def weights(self) -> Array:
        return self.mixture.values

    @property
    def leader(self) -> Memory:
        return self.memories[int(np.argmax(self.weights))]

    def cost(self) -> Array:
        return self.leader.cost

    def std(self, X: Array) -> Array:
        return np.sqrt(self.variance(X))

    def rises(self) -> Array:
        """What the cost of the memory that decides, over all outputs, rises by when one kernel leaves."""
        decides = self.memories[-1 if self.moved else 0]
        functionals = _solve(self.kernel(self.basis, self.basis), np.eye(len(self.ids)))
        mean, cov = decides.mean[decides.leading :], decides.cov[decides.leading :, decides.leading :]
        return np.array([((f @ mean) ** 2).sum() / (f @ cov @ f) for f in functionals])

    def predictions(self, X: Array) -> Array:
        """Of each memory, (memories, n, outputs)."""
        level = np.zeros(1) if self.level is None else self.level
        return np.array([[level + self._observation(x) @ each.mean for x in X] for each in self.memories])

    def predict(self, X: Array) -> Array:
        return np.tensordot(self.weights, self.predictions(X), axes=1)

    def variance(self, X: Array) -> Array:
        """Of a new observation: the mean of the memories' variances and the variance of their means."""
        each = self.predictions(X)
        total = np.tensordot(self.weights, (each - self.predict(X)) ** 2, axes=1)
        for weight, memory in zip(self.weights, self.memories, strict=True):
            for i, x in enumerate(X):
                h = self._observation(x)
                relative = 1.0 + h @ memory.cov @ h + max(self._distance(x), 0.0) / self.alpha
                total[i] = total[i] + weight * relative * memory.noise
        if self.noise is not None:
            how = "input" if self.weigh else "auto"
            total = total * np.array([self.noise.factors(self.of_noise(x), how) for x in X])
        return total

    def _base(self, h: Array, delta: float, v: float) -> Array:
        """Variance of an observation of weight v at h, at distance delta, of a model of constant noise."""
        means = np.array([h @ memory.mean for memory in self.memories])
        total = self.weights @ (means - self.weights @ means) ** 2
        for weight, memory in zip(self.weights, self.memories, strict=True):
            total = total + weight * (1.0 / v + h @ memory.cov @ h + delta / self.alpha) * memory.noise
        return total
