"""What else follows a stream that drifts: filters, and models fitted again on a window, each tuned in hindsight.

Columns and targets are in standard deviations of the whole stream, known to the rivals beforehand; random features have
the width that is best for the stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from .measures import Array

FEATURES = 200
# Rows between two fits on a window, and before the first prediction.
EVERY, FIRST = 100, 20

Settings = dict[str, Any]


def rls(W: Array, y: Array, forgetting: float, ridge: float = 0.1) -> Array:
    """Predictions of recursive least squares with exponential forgetting."""
    C, theta, out = np.eye(W.shape[1]) / ridge, np.zeros(W.shape[1]), np.empty(len(y))
    for i, w in enumerate(W):
        out[i] = w @ theta
        Cw = C @ w
        gain = Cw / (forgetting + w @ Cw)
        theta += gain * (y[i] - out[i])
        C -= np.outer(gain, Cw)
        C /= forgetting
        if not i % 500:
            C = 0.5 * (C + C.T)
            size = np.trace(C) / len(C)
            if size > 1e6:  # what no row excites grows without end
                C *= 1e6 / size
    return out


def nlms(W: Array, y: Array, step: float) -> Array:
    theta, out = np.zeros(W.shape[1]), np.empty(len(y))
    for i, w in enumerate(W):
        out[i] = w @ theta
        theta += step * (y[i] - out[i]) * w / (w @ w + 1e-8)
    return out


def waves(X: Array, gamma: float) -> Array:
    """Random Fourier features of the gaussian kernel exp(-gamma |x - z|²)."""
    rng = np.random.default_rng(0)
    frequencies = np.sqrt(2 * gamma) * rng.standard_normal((X.shape[1], FEATURES))
    return np.sqrt(2 / FEATURES) * np.cos(X @ frequencies + rng.uniform(0, 2 * np.pi, FEATURES))


def on_window(make: Callable[[], Any], X: Array, y: Array, window: int) -> Array:
    """Predictions of a model that is fitted again on the last rows every now and then."""
    out = np.zeros(len(y))
    for begin in [FIRST, *range(EVERY, len(y), EVERY)]:
        end = EVERY if begin == FIRST else min(begin + EVERY, len(y))
        since = max(0, begin - window)
        model = make().fit(X[since:begin], y[since:begin])
        out[begin:end] = model.predict(X[begin:end])
    return out


def with_one(X: Array) -> Array:
    return np.column_stack([np.ones(len(X)), X])


def kernel_ridge(X: Array, y: Array, window: int, gamma: float, alpha: float) -> Array:
    from sklearn.kernel_ridge import KernelRidge

    return on_window(lambda: KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha), X, y, window)


def lightgbm(X: Array, y: Array, window: int, leaves: int) -> Array:
    from lightgbm import LGBMRegressor

    return on_window(lambda: LGBMRegressor(num_leaves=leaves, min_child_samples=5, n_jobs=1, verbose=-1), X, y, window)


def grid(**values: tuple[Any, ...]) -> list[Settings]:
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


FORGETTING = (1.0, 0.999, 0.998, 0.995, 0.99, 0.98)
WIDTHS = (0.1, 0.3, 1.0, 3.0)  # over the number of columns
RIVALS: dict[str, tuple[Callable[..., Array], list[Settings]]] = {
    "linear RLS": (lambda X, y, forgetting: rls(with_one(X), y, forgetting), grid(forgetting=FORGETTING)),
    "RFF-NLMS": (
        lambda X, y, width, step: nlms(waves(X, width / X.shape[1]), y, step),
        grid(width=WIDTHS, step=(0.1, 0.3, 1.0)),
    ),
    "RFF-RLS": (
        lambda X, y, width, forgetting: rls(waves(X, width / X.shape[1]), y, forgetting),
        grid(width=WIDTHS, forgetting=FORGETTING),
    ),
    "KernelRidge, window": (
        lambda X, y, window, width, alpha: kernel_ridge(X, y, window, width / X.shape[1], alpha),
        grid(window=(250, 1000), width=WIDTHS, alpha=(0.01, 0.1)),
    ),
    "LightGBM, window": (lightgbm, grid(window=(500, 2000), leaves=(7, 31))),
}


def tuned(name: str, X: Array, y: Array) -> tuple[float, float, Array]:
    """A rival at its best settings: error in standard deviations of y, microseconds a row, and the predictions."""
    shift, unit = y.mean(), y.std()
    Z, t = (X - X.mean(axis=0)) / X.std(axis=0), (y - shift) / unit
    predict, settings = RIVALS[name]
    found = []
    for chosen in settings:
        begin = time.process_time()
        predicted = predict(Z, t, **chosen)
        spent = time.process_time() - begin
        error = float(np.sqrt(np.mean((t - predicted) ** 2)))
        found.append((error if np.isfinite(error) else np.inf, 1e6 * spent / len(y), shift + unit * predicted))
    return min(found, key=lambda run: run[0])
