"""Feature vector selection (Baudat & Anouar), and among random candidates (EFVS, Cawley & Talbot 2002).

The gain of a row is read off the kernel of the residuals, a Schur complement, so that no inverse is formed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from kernsift import FeatureVectorSelector
from kernsift.blocks import Kernel, KernelSpan, feature_vectors
from numpy.typing import NDArray


def splitmix64(seed: int = 0) -> Callable[[int], int]:
    """Numbers below n from the generator of Steele, Lea and Flood (2014), as the core draws them."""
    state, mask = seed, (1 << 64) - 1

    def below(n: int) -> int:
        nonlocal state
        state = z = (state + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 32) * n >> 32

    return below


def select(K: Kernel, X: NDArray[np.float64], n: int, rho: int | None, nu: int | None) -> list[int]:
    """n rows; in each step rho candidates R are judged on nu rows T, None for all."""
    span, pool, random, chosen = KernelSpan(K), list(range(len(X))), splitmix64(), []

    def draw(count: int | None) -> list[int]:
        for t in range(min(count or 0, len(pool))):
            j = t + random(len(pool) - t)
            pool[t], pool[j] = pool[j], pool[t]
        return pool[:count]

    for _ in range(n):
        R, T = draw(rho), draw(nu) if nu else list(range(len(X)))
        W_R, W_T = span.coordinates(X[R]), span.coordinates(X[T])
        E = K(X[R], X[T]) - W_R @ W_T.T  # kernel of the residuals
        own = K.diagonal(X[R]) - (W_R**2).sum(axis=1)
        gain = (E**2 / K.diagonal(X[T])).mean(axis=1) / own  # J(S + r) - J(S): section 1.2, equation 1
        chosen.append(R[int(gain.argmax())])
        span.append(X[chosen[-1]])
        pool.remove(chosen[-1])
    return chosen


if __name__ == "__main__":
    X = np.random.default_rng(1).standard_normal((300, 2))
    kernel = Kernel("rbf", gamma=0.5)

    model = FeatureVectorSelector(n_components=15, gamma=0.5, n_candidates=None, n_eval=None).fit(X)
    chosen = select(kernel, X, 15, None, None)
    assert chosen == model.basis_indices_.tolist()
    span = KernelSpan(kernel)
    for row in chosen:
        span.append(X[row])
    assert np.abs(span.coordinates(X) - model.transform(X)).max() <= 1e-10

    fast, _ = feature_vectors(X, kernel, 15, n_candidates=59, n_eval=59, candidate_tol=0.0)
    assert select(kernel, X, 15, 59, 59) == fast.tolist()
    print("15 of 300 rows, as the estimator's, and among 59 random candidates as the core's")
