"""
Find the best setting in few trials
===================================

Each trial of an oven, a drug or a set of hyperparameters costs an afternoon.  Bayesian optimisation
spends them where a model says that the best value may be: where it is predicted to be high, or
where little is known.  :meth:`kernsift.LSSVMRegressor.sample_y` draws whole curves that fit the
trials so far; the place where a drawn curve is highest is the next trial (Thompson sampling).
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import LSSVMRegressor

NOISE = 0.05
grid = np.linspace(0, 1, 200)[:, None]


def outcome(x):
    return np.sin(9 * x) * x + 0.6 * np.exp(-(((x - 0.75) / 0.06) ** 2))


best = outcome(grid[:, 0]).max()


def search(seed, trials=25, first=4):
    """Places tried, what came of them, and the models on the way."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=first)
    y = outcome(x) + NOISE * rng.standard_normal(first)
    models = []
    while len(x) < trials:
        model = LSSVMRegressor(kernel="matern52", gamma=40.0, alpha=0.02).fit(x[:, None], y)
        drawn = model.sample_y(grid, random_state=len(x), noise=False)[:, 0]
        models.append(model)
        x = np.append(x, grid[drawn.argmax(), 0])
        y = np.append(y, outcome(x[-1]) + NOISE * rng.standard_normal())
    return x, y, models


# %%
# One search.  After four trials the model knows little and its curves differ; after twenty all of
# them have their top at the same place.

x, y, models = search(seed=3)
_, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
for ax, n in zip(axes, (4, 10, 24), strict=True):
    model = models[n - 4]
    mean, std = model.predict(grid, return_std=True)
    curves = model.sample_y(grid, 8, random_state=0, noise=False)
    ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="C0", alpha=0.15)
    ax.plot(grid, curves, color="C0", linewidth=0.7, alpha=0.7)
    ax.plot(grid[:, 0], outcome(grid[:, 0]), "k--", linewidth=1)
    ax.plot(x[:n], y[:n], "o", color="C3", markersize=4)
    ax.set(title=f"{n} trials", xlabel="setting", ylim=(-2, 2.5))
axes[0].set_ylabel("outcome")
plt.show()

spread = [
    np.std(grid[m.sample_y(grid, 50, 0, noise=False).argmax(axis=0), 0])
    for m in (models[0], models[-1])
]
print(
    f"the tops of 50 curves spread by {spread[0]:.2f} after 4 trials, by {spread[1]:.3f} after 24"
)
assert spread[1] < spread[0] / 3

# %%
# Against trials at random: how far the best setting tried falls short of the best there is, in the
# mean of thirty searches.


def shortfall(x):
    return best - np.maximum.accumulate(outcome(x))


ours = np.array([shortfall(search(seed)[0]) for seed in range(30)])
random = np.array([shortfall(np.random.default_rng(seed).uniform(size=25)) for seed in range(30)])
trials = np.arange(1, 26)
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(trials, random.mean(axis=0), color="0.5", label="at random")
ax.plot(trials, ours.mean(axis=0), color="C0", linewidth=2, label="where a drawn curve is highest")
ax.set(xlabel="trials", ylabel="short of the best outcome", yscale="log")
ax.legend()
plt.show()

print(
    f"after 25 trials {ours[:, -1].mean():.4f} short of the best; at random {random[:, -1].mean():.4f}"
)
assert ours[:, -1].mean() < random[:, -1].mean() / 2
