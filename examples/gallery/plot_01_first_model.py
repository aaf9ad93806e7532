"""
A first model
=============

Two thousand noisy readings of a curve, and a model of a few kernels that has learned it.
:class:`kernsift.OnlineLSSVMRegressor` is a scikit-learn regressor: ``fit``, ``predict``,
``score``.  It reads the rows once, in their order, and keeps the few that say something new.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor
from sklearn.kernel_ridge import KernelRidge

NOISE = 0.15
rng = np.random.default_rng(7)
X = rng.uniform(-4, 4, (2000, 1))


def curve(X):
    return np.sinc(X[:, 0]) + 0.1 * X[:, 0]


y = curve(X) + NOISE * rng.standard_normal(len(X))

# %%
# ``gamma`` is the width of the kernels, exp(-gamma (x-x')²), and ``max_basis`` the most that are
# kept.  Fewer may do: a row that the others already describe is learned, but gets no kernel of its
# own.

model = OnlineLSSVMRegressor(gamma=2.0, max_basis=100).fit(X, y)
X_new = rng.uniform(-4, 4, (2000, 1))
y_new = curve(X_new) + NOISE * rng.standard_normal(len(X_new))
kept, r2 = model.n_basis_, model.score(X_new, y_new)
print(f"{model.n_samples_seen_} rows read, {kept} kernels kept, R² {r2:.3f} on new rows")

# %%
# The readings scatter by 0.15; the model is much closer to the curve behind them.  So is kernel
# ridge regression, which keeps a kernel on every row: it gains next to nothing by it.

grid = np.linspace(-4, 4, 400)[:, None]
mean, std = model.predict(grid, return_std=True)
dense = KernelRidge(kernel="rbf", gamma=2.0, alpha=0.1).fit(X, y).predict(grid)


def distance(predicted):
    return np.sqrt(np.mean((predicted - curve(grid)) ** 2))


for predicted, size in ((mean, model.n_basis_), (dense, len(X))):
    print(f"distance to the curve: {distance(predicted):.4f} with {size:>4} kernels")
assert distance(mean) < NOISE / 4
assert distance(mean) < distance(dense) + NOISE / 20
assert model.n_basis_ < len(X) / 50

# %%
# ``return_std=True`` gives the standard deviation of a new reading.  Two of them to each side
# should hold some 95 % of the readings.

said, deviation = model.predict(X_new, return_std=True)
inside = np.abs(said - y_new) < 2 * deviation
print(f"{inside.mean():.1%} of the new readings lie within two standard deviations")
assert abs(inside.mean() - 0.954) < 0.02

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(X[::4, 0], y[::4], ".", color="0.7", markersize=4, label="readings (every fourth)")
low, high = mean - 2 * std, mean + 2 * std
ax.fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, label="two standard deviations")
ax.plot(grid[:, 0], curve(grid), "k--", linewidth=1, label="the curve behind them")
ax.plot(grid[:, 0], mean, color="C0", linewidth=2, label="prediction")
at = model.basis_vectors_
ax.plot(
    at[:, 0],
    model.predict(at),
    "o",
    color="C1",
    markeredgecolor="k",
    label=f"the {model.n_basis_} kernels",
)
ax.set(xlabel="x", ylabel="y", ylim=(-1.2, 2.1))
ax.legend(loc="upper right", ncols=2, fontsize="small")
plt.show()
