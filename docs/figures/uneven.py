"""Noise that depends on the input: intervals of constant noise and of noise that is seen, and the part inside."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE
from kernsift import SubsetLSSVMRegressor
from kernsift.datasets import uneven_noise

X, y = uneven_noise(400, random_state=7)
X_new, y_new = uneven_noise(20000, random_state=8)
grid = np.linspace(-3, 3, 300)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1), width_ratios=[1.6, 1])
left.plot(X[:, 0], y, ".", color="0.6", markersize=3)
tenth = np.digitize(X_new[:, 0], np.linspace(-3, 3, 11)[1:-1])
for noise, color, style in (("constant", ORANGE, "--"), ("auto", BLUE, "-")):
    model = SubsetLSSVMRegressor(gamma=1.0, noise=noise, random_state=0).fit(X, y)
    for bound in model.predict_interval(grid):
        left.plot(grid[:, 0], bound, style, color=color, linewidth=1.2)
    lower, upper = model.predict_interval(X_new)
    inside = (lower <= y_new) & (y_new <= upper)
    parts = [inside[tenth == t].mean() for t in range(10)]
    right.plot(np.linspace(-2.7, 2.7, 10), parts, "o" + style, color=color, markersize=4, label=f'noise="{noise}"')
left.set(xlabel="x")
right.axhline(0.9, color=GREY, linewidth=0.8)
right.set(xlabel="x", ylabel="new rows inside", ylim=(0.65, 1.02))
right.legend(fontsize=8, loc="lower left")
