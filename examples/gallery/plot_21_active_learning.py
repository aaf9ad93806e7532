"""
Ask for the labels that teach most
==================================

Rows are plenty and targets cost: an expert, a simulation, a laboratory.  Active learning
requests the target of the row where the model is least sure, learns it, and looks again.  A row
that is learned makes its whole neighbourhood sure, so that the next question goes elsewhere.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import LSSVMRegressor

NOISE = 0.1


def curve(X):
    return np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1])


def pool(rng, n=600):
    """Rows of which three quarters lie in one corner: at random, most questions would go there."""
    X = rng.uniform(-2, 2, (n, 2))
    crowd = rng.random(n) < 0.75
    X[crowd] = [1.2, 1.2] + 0.35 * rng.standard_normal((crowd.sum(), 2))
    return np.clip(X, -2, 2)


def learn(seed, actively, questions=80, first=10):
    """Rows requested, and the error on a grid after each question."""
    rng = np.random.default_rng(seed)
    X = pool(rng)
    y = curve(X) + NOISE * rng.standard_normal(len(X))
    asked = rng.choice(len(X), first, replace=False).tolist()
    errors = []
    while True:
        model = LSSVMRegressor(gamma=1.0, alpha=0.02).fit(X[asked], y[asked])
        errors.append(np.sqrt(np.mean((model.predict(everywhere) - curve(everywhere)) ** 2)))
        if len(asked) == questions:
            return X, asked, np.array(errors)
        rest = np.setdiff1d(np.arange(len(X)), asked)
        std = model.predict(X[rest], return_std=True)[1]
        asked.append(int(rest[std.argmax()] if actively else rng.choice(rest)))


axis = np.linspace(-2, 2, 30)
everywhere = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)

# %%
# Where the questions go.

_, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, actively, title in zip(axes, (False, True), ("at random", "least sure"), strict=True):
    X, asked, _ = learn(0, actively)
    ax.scatter(*X.T, s=4, color="0.75", label="rows")
    ax.scatter(*X[asked].T, s=16, color="C3", label="requested")
    ax.set(title=title, xlabel="first feature", aspect="equal")
    crowded = np.linalg.norm(X[asked] - 1.2, axis=1) < 0.8
    print(f"{title}: {crowded.mean():.0%} of the questions in the crowded corner")
    assert crowded.mean() < 0.3 if actively else crowded.mean() > 0.6
axes[0].set_ylabel("second feature")
axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
plt.show()

# %%
# What they teach: the error everywhere, in the mean of ten pools.

questions = np.arange(10, 81)
found = {
    name: np.mean([learn(s, name == "least sure")[2] for s in range(10)], axis=0)
    for name in ("at random", "least sure")
}
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for (name, error), color in zip(found.items(), ("0.5", "C0"), strict=True):
    ax.plot(questions, error, color=color, linewidth=2, label=name)
ax.set(xlabel="targets requested", ylabel="RMSE everywhere", yscale="log")
ax.legend()
plt.show()

needed = int(questions[np.flatnonzero(found["least sure"] < found["at random"][-1])[0]])
print(f"{needed} questions where the model is least sure teach as much as 80 at random")
assert needed <= 50
