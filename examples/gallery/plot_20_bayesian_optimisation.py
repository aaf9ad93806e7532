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


def outcome(X):
    """One hill with a ripple on it, in as many settings as X has columns."""
    far = ((X - 0.7) ** 2).mean(axis=1)
    return np.exp(-far / 0.05) + 0.3 * np.cos(9 * X[:, 0])


def search(seed, places, trials, gamma, first=4):
    """Settings tried, what came of them, and the models on the way."""
    rng = np.random.default_rng(seed)
    X = rng.permutation(places(rng))[:first]
    y = outcome(X) + NOISE * rng.standard_normal(first)
    models = []
    while len(X) < trials:
        model = LSSVMRegressor(kernel="matern52", gamma=gamma, alpha=0.02).fit(X, y)
        models.append(model)
        candidates = places(rng)
        drawn = model.sample_y(candidates, random_state=len(X), noise=False)[:, 0]
        X = np.vstack([X, candidates[[drawn.argmax()]]])
        y = np.append(y, outcome(X[-1:]) + NOISE * rng.standard_normal())
    return X, y, models


# %%
# One search.  After four trials the model knows little and its curves differ; after twenty all of
# them have their top at the same place.

X, y, models = search(3, lambda rng: grid, 25, gamma=40.0)
_, axes = plt.subplots(1, 3, figsize=(8, 2.9), sharey=True, layout="constrained")
for ax, n in zip(axes, (4, 10, 24), strict=True):
    model = models[n - 4]
    mean, std = model.predict(grid, return_std=True)
    curves = model.sample_y(grid, 8, random_state=0, noise=False)
    ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="C0", alpha=0.15)
    ax.plot(grid, curves, color="C0", linewidth=0.7, alpha=0.7)
    ax.plot(grid[:, 0], outcome(grid), "k--", linewidth=1)
    ax.plot(X[:n, 0], y[:n], "o", color="C3", markersize=4)
    ax.set(title=f"{n} trials", xlabel="setting", ylim=(-2, 2.5))
axes[0].set_ylabel("outcome")
plt.show()


def tops(model):
    """Where fifty drawn curves are highest."""
    return grid[model.sample_y(grid, 50, 0, noise=False).argmax(axis=0), 0]


spread = [np.std(tops(model)) for model in (models[0], models[-1])]
print(f"the tops of 50 curves spread by {spread[0]:.2f} after 4 trials,", end=" ")
print(f"by {spread[1]:.3f} after 24")
assert spread[1] < spread[0] / 3

# %%
# Against trials at random, with four settings instead of one, where there is more room to miss the
# hill: how far the best trial falls short of the best there is, in the mean of ten searches.

SETTINGS, TRIALS = 4, 40
fine = np.random.default_rng(0).uniform(size=(200_000, SETTINGS))
best = outcome(fine).max()


def draw(rng):
    return rng.uniform(size=(300, SETTINGS))


def shortfall(X):
    return np.maximum(best - np.maximum.accumulate(outcome(X)), 0)


found = {
    "at random": [
        np.random.default_rng(seed).uniform(size=(TRIALS, SETTINGS)) for seed in range(10)
    ],
    "where a drawn curve is highest": [
        search(seed, draw, TRIALS, gamma=2.0)[0] for seed in range(10)
    ],
}
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
last = {}
for (name, runs), color in zip(found.items(), ("0.5", "C0"), strict=True):
    mean = np.mean([shortfall(X) for X in runs], axis=0)
    ax.plot(np.arange(1, TRIALS + 1), mean, color=color, linewidth=2, label=name)
    last[name] = mean[-1]
    print(f"{name}: {mean[-1]:.2f} short of {best:.2f} after {TRIALS} trials")
ax.set(xlabel="trials", ylabel="short of the best outcome", ylim=(0, None))
ax.legend()
plt.show()
assert last["where a drawn curve is highest"] < last["at random"] / 2
