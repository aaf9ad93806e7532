"""A change and the memory: running error of single memories and of the default, and against the memory."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREEN, GREY, ORANGE, plain
from kernsift import OnlineLSSVMRegressor

rng = np.random.default_rng(7)
n = 4000
X = rng.uniform(-3, 3, (n, 1))
phase = np.where(np.arange(n) < n // 2, 0.0, 1.5)
y = np.sin(2 * X[:, 0] + phase) + 0.2 * rng.standard_normal(n)
slow = np.sin(2 * X[:, 0] + 3 * np.arange(n) / n) + 0.2 * rng.standard_normal(n)


def errors(y, **settings):
    model = OnlineLSSVMRegressor(gamma=1.0, max_basis=40, **settings)
    model.partial_fit(X[:50], y[:50])
    return model.prequential(X[50:], y[50:]).error.ravel()


figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.3), width_ratios=[1.5, 1])
shown = {
    "forgetting=1.0": ({"forgetting": 1.0}, GREY, ":"),
    "forgetting=0.99": ({"forgetting": 0.99}, ORANGE, "--"),
    "default": ({}, BLUE, "-"),
}
for name, (settings, colour, style) in shown.items():
    square = np.convolve(errors(y, **settings) ** 2, np.full(150, 1 / 150), "valid")
    left.semilogy(np.arange(len(square)) + 200, np.sqrt(square), style, color=colour, label=name)
left.axhline(0.2, color="0.8", linewidth=0.8, zorder=0)
left.set(xlabel="row (the change is at 2000; grey line: noise)", ylabel="RMSE of the last 150 rows")
plain(left.yaxis, [0.2, 0.4, 0.8])
left.legend(fontsize=8)
memory = np.array([30, 60, 120, 250, 500, 1000, 2000, 4000])
for target, colour, style, label in ((y, BLUE, "o-", "one jump"), (slow, GREEN, "^-.", "slow drift")):
    found = [np.sqrt(np.mean(errors(target, forgetting=1 - 1 / m)[500:] ** 2)) for m in memory]
    right.semilogx(memory, found, style, color=colour, label=label)
    right.axhline(np.sqrt(np.mean(errors(target)[500:] ** 2)), color=colour, linestyle="--", linewidth=0.8)
right.axhline(0.2, color="0.8", linewidth=0.8, zorder=0)
plain(right.xaxis, [30, 120, 500, 2000])
right.set(xlabel="1 / (1 − forgetting)", ylabel="RMSE (dashed: default)")
right.legend(fontsize=8)
