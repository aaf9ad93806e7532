"""
How sure is it?
===============

``predict(X, return_std=True)`` of a regressor with a ridge returns the standard deviation of a new
observation too.  Two parts make it up: noise, which no model can predict, and ignorance, which
grows away from the data.  Whether it is right can be counted.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor
from scipy.stats import norm

NOISE = 0.2
rng = np.random.default_rng(7)


def curve(X):
    return np.sin(2 * X[:, 0]) + 0.2 * X[:, 0]


X = np.concatenate([rng.uniform(-3, -0.5, (300, 1)), rng.uniform(1.5, 3, (200, 1))])
rng.shuffle(X)
y = curve(X) + NOISE * rng.standard_normal(len(X))

# %%
# No row lies between -0.5 and 1.5.  The prediction crosses the gap as it likes, and the band says
# so.

model = OnlineLSSVMRegressor(gamma=2.0, alpha=0.05).fit(X, y)
grid = np.linspace(-4.5, 4.5, 400)[:, None]
mean, std = model.predict(grid, return_std=True)
print(f"noise estimated at {np.sqrt(model.noise_variance_):.3f}; it is {NOISE}")

_, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
low, high = mean - 2 * std, mean + 2 * std
ax.fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, label="two standard deviations")
ax.plot(X[:, 0], y, ".", color="0.55", markersize=3, label="data")
ax.plot(grid[:, 0], curve(grid), "k--", linewidth=1, label="curve")
ax.plot(grid[:, 0], mean, color="C0", linewidth=2, label="prediction")
ax.set(xlabel="x", ylabel="y", ylim=(-3, 3))
ax.legend(loc="upper left", fontsize="small", ncols=2)
plt.show()

known = (np.abs(grid[:, 0] + 1.75) < 1) | (np.abs(grid[:, 0] - 2.25) < 0.5)
gap = np.abs(grid[:, 0] - 0.5) < 0.25
print(f"standard deviation where there are rows {std[known].mean():.2f},", end=" ")
print(f"in the middle of the gap {std[gap].mean():.2f}")
assert abs(std[known].mean() - NOISE) < 0.05
assert std[gap].min() > 2 * std[known].mean()
assert (np.abs(mean - curve(grid)) < 2 * std)[gap].all()

# %%
# Calibration: of the intervals said to hold 80 % of new observations, how many do?  On a stream
# every row can be asked before it is learned.  Here three features, three thousand rows, and each
# interval given by :meth:`kernsift.OnlineLSSVMRegressor.prequential` before its row was seen.

X = rng.uniform(-1, 1, (3000, 3))
y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + NOISE * rng.standard_normal(len(X))
stream = OnlineLSSVMRegressor(gamma=0.5, alpha=0.03).prequential(X, y, return_std=True)
said = np.linspace(0.05, 0.99, 40)


def held(rows, std):
    half = norm.ppf(0.5 + said / 2)[:, None] * std[rows]
    return (np.abs(stream.error[rows]) < half).mean(axis=1)


warm = slice(500, None)
ours = held(warm, stream.std)
for level in (0.8, 0.95):
    print(f"of the {level:.0%} intervals {np.interp(level, said, ours):.1%} held")
assert np.abs(ours - said).max() < 0.04

# %%
# The first hundred rows are the test of ignorance: a standard deviation of noise alone would
# promise too much there.

early = slice(20, 120)
honest, naive = held(early, stream.std), held(early, np.full(len(X), NOISE))
with_ignorance, without = np.interp(0.8, said, honest), np.interp(0.8, said, naive)
print(f"of the early 80% intervals {with_ignorance:.0%} held,", end=" ")
print(f"with the noise alone {without:.0%}")
assert abs(with_ignorance - 0.8) < abs(without - 0.8) / 2

_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
ax.plot(said, ours, "C0-", linewidth=2, label="after 500 rows")
ax.plot(said, honest, "C0--", label="rows 20 to 120")
ax.plot(said, naive, "C1:", linewidth=2, label="rows 20 to 120, noise alone")
ax.set(
    xlabel="part of the observations an interval is said to hold",
    ylabel="part it held",
    xlim=(0, 1),
    ylim=(0, 1),
)
ax.legend()
plt.show()
