"""Predictive standard deviation where there are no rows, and how often new rows are inside intervals."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE
from kernsift import OnlineLSSVMRegressor, SubsetLSSVMRegressor
from kernsift.datasets import waves
from scipy.stats import norm

rng = np.random.default_rng(7)
X = np.concatenate([rng.uniform(-6, -1, 150), rng.uniform(2, 6, 150)])[:, None]
rng.shuffle(X)
y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
grid = np.linspace(-9, 9, 400)[:, None]
mean, std = OnlineLSSVMRegressor(gamma=0.5, alpha=0.05).fit(X, y).predict(grid, return_std=True)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1), width_ratios=[1.6, 1])
left.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.2, label="± 2 std")
left.plot(X[:, 0], y, ".", color="0.6", markersize=3)
left.plot(grid[:, 0], np.sin(grid[:, 0]), color=ORANGE, linestyle="--", linewidth=1, label="truth")
left.plot(grid[:, 0], mean, color=BLUE, label="prediction")
left.set(xlabel="x")
left.legend(fontsize=8, loc="upper right")

X, y = waves(2000, random_state=7)
X_new, y_new = waves(5000, random_state=8)
y += 0.1 * rng.standard_t(2, 2000)  # heavy tails
y_new += 0.1 * rng.standard_t(2, 5000)
wanted = np.linspace(0.1, 0.98, 12)
right.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
model = SubsetLSSVMRegressor(gamma=0.5, alpha=0.1, max_basis=150, random_state=0).fit(X, y)
bounds = [model.predict_interval(X_new, p) for p in wanted]
inside = [np.mean((lower <= y_new) & (y_new <= upper)) for lower, upper in bounds]
right.plot(wanted, inside, "o-", color=BLUE, markersize=4, label="predict_interval")
mean, std = model.predict(X_new, return_std=True)
inside = [np.mean(np.abs(y_new - mean) < norm.ppf(0.5 + p / 2) * std) for p in wanted]
right.plot(wanted, inside, "s--", color=ORANGE, markersize=4, label="normal, of the std")
right.set(xlabel="coverage", ylabel="new rows inside")
right.legend(fontsize=8)
