"""Streams that change, and the beliefs of a bank of memories about them."""

from __future__ import annotations

import numpy as np
import oracles
from oracles.memories import Memories
from support.streams import KERNELS, stream

# C is off by eps times the prior, 1/alpha = 10 at most here, and a dictionary of novelty 0.05 has a condition of 1e4 at
# most: 1e-16 * 10 * 1e4 in double, in the core and in the oracle, and a margin of a hundred.
SAME = 1e-9


def moving(n, seed=0, outputs=1, weights=True, d=2):
    """Rows that wander and a function that changes: kernels join and leave for ever."""
    rng = np.random.default_rng(seed)
    X, Y, v = stream(n, rng, d=d, outputs=outputs, weights=weights)
    X[:, 0] += 3 * np.sin(np.arange(n) / 150)
    Y += np.cos(X[:, :1] + np.arange(n)[:, None] / 200)
    return X, Y, v


def oracle_of(model, X, log, Y, v, name="rbf"):
    """The beliefs after the rows, who joined and left being those of the log."""
    settings = model.settings
    truth = Memories(
        oracles.kernel_function(name, KERNELS[name], dtype=np.float64),
        settings["alpha"],
        list(settings["forgetting"]),
        X.shape[1],
        Y.shape[1],
        fit_intercept=settings["fit_intercept"],
        scale=list(settings["linear"]),
        centre=model.kernel.centre if hasattr(model.kernel, "centre") else np.zeros(X.shape[1]),
        level=settings["level"],
    )
    assert len(log[1]) == len(X)
    for x, y, weight, outcome, victim in zip(X, Y, v, log[1], log[2], strict=True):
        swapped = outcome == oracles.SWAPPED
        truth.learn(x, y, weight, swapped or outcome == oracles.ADMITTED, int(victim) if swapped else None)
    return truth


def learned(model, X, Y, v, block):
    parts = [model.learn(X[i : i + block], Y[i : i + block], v[i : i + block]) for i in range(0, len(X), block)]
    return [np.concatenate(part) for part in zip(*(p[:3] for p in parts), strict=True)]


def assert_equal_beliefs(model, truth, at, same=SAME):
    size = 1.0 + np.abs(truth.predict(at)).max()
    assert model.indices.tolist() == truth.ids
    np.testing.assert_allclose(model.predict(at), truth.predict(at), atol=same * size)
    np.testing.assert_allclose(model.variance(at), truth.variance(at), rtol=10 * same)
    np.testing.assert_allclose(model.memories[1], truth.weights, atol=same)
    np.testing.assert_allclose(model.cost, truth.cost(), rtol=10 * same)
