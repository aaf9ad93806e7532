"""Curves drawn from a model, and intervals of a stream that jumps."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE
from kernsift import LSSVMRegressor, OnlineLSSVMRegressor

rng = np.random.default_rng(7)
X = np.concatenate([rng.uniform(-4, -1, 15), rng.uniform(1.5, 4, 15)])[:, None]
y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(30)
grid = np.linspace(-4.5, 4.5, 200)[:, None]
model = LSSVMRegressor(gamma=0.7, alpha=0.02).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1))
left.plot(grid[:, 0], model.sample_y(grid, 6, random_state=0, noise=False), color=BLUE, linewidth=0.8, alpha=0.7)
left.plot(X[:, 0], y, ".", color="0.3", markersize=5)
left.set(xlabel="x", title="six curves that fit the rows")

n = 3000
X = rng.uniform(-2, 2, (n, 2))
noise = np.where(np.arange(n) < n // 2, 0.1, 0.4)
y = np.sin(2 * X[:, 0] + (np.arange(n) > 2 * n // 3)) + noise * rng.standard_normal(n)
said = OnlineLSSVMRegressor(random_state=0).prequential(X, y, coverage=0.9)
inside = (said.lower <= y) & (y <= said.upper)
lately = np.convolve(inside, np.ones(300) / 300, mode="valid")
right.axhline(0.9, color=GREY, linewidth=0.8)
right.plot(np.arange(300, n + 1), lately, color=BLUE, label="inside, of the last 300")
right.axvline(n // 2, color=ORANGE, linestyle="--", linewidth=1, label="more noise, then a jump")
right.axvline(2 * n // 3, color=ORANGE, linestyle="--", linewidth=1)
right.set(xlabel="row", ylim=(0.7, 1.0), title="a stream, nominal 90 %")
right.legend(fontsize=8, loc="lower left")
