"""A table for models on a subset."""

from __future__ import annotations

import numpy as np


def table(rng, n=300, d=3, outputs=None):
    X = rng.uniform(-1.5, 1.5, (n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.standard_normal(n)
    return X, y if outputs is None else np.stack([y * (o + 1) + 5 * o + X[:, 0] for o in range(outputs)], axis=1)
