"""
Width and ridge by leave-one-out
================================

Leaving out a row of a least-squares model needs no second fit: the error has a closed form.  One
eigen-decomposition a width serves all ridges, so :func:`kernsift.tune` looks at whole surfaces
in the time a grid search takes for a few points.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMRegressor, tune
from sklearn.model_selection import GridSearchCV

NOISE = 0.5
rng = np.random.default_rng(7)


def truth(X):
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3])


X = rng.standard_normal((800, 5))
y = truth(X) + NOISE * rng.standard_normal(len(X))
X_new = rng.standard_normal((3000, 5))
gammas, alphas = np.logspace(-2.5, 0.75, 14), np.logspace(-4, 3, 15)

# %%
# Fourteen widths, fifteen ridges: 210 pairs.

begin = time.process_time()
found = tune(
    SubsetLSSVMRegressor(max_basis=100, random_state=0), X, y, gammas=gammas, alphas=alphas
)
took = time.process_time() - begin
loo = np.sqrt(-found.cv_results_["mean_test_score"]).reshape(len(gammas), len(alphas))
best = found.best_params_
print(f"{loo.size} pairs in {took:.2f} s of CPU time:", end=" ")
print(f"gamma {best['gamma']:.3g}, alpha {best['alpha']:.3g}")

# %%
# Whether the criterion points the right way can be seen here, where the truth is known: the same
# surface for new rows, by fitting every pair.


def distance(gamma, alpha, basis):
    model = SubsetLSSVMRegressor(basis=basis, gamma=gamma, alpha=alpha).fit(X, y)
    return np.sqrt(np.mean((model.predict(X_new) - truth(X_new)) ** 2) + NOISE**2)


real = np.empty_like(loo)
for i, gamma in enumerate(gammas):
    basis = (
        SubsetLSSVMRegressor(max_basis=100, gamma=gamma, random_state=0).fit(X, y).basis_indices_
    )
    real[i] = [distance(gamma, alpha, basis) for alpha in alphas]

chosen = np.unravel_index(loo.argmin(), loo.shape)
print(f"error on new rows: {real[chosen]:.4f} at the chosen pair,", end=" ")
print(f"{real.min():.4f} at the best; the noise is {NOISE}")
assert np.isclose(gammas[chosen[0]], best["gamma"])
assert real[chosen] < 1.05 * real.min()

_, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
levels = np.geomspace(0.98 * min(loo.min(), real.min()), 1.2, 14)
for ax, values, title in zip(
    axes, (loo, real), ("leave-one-out error", "error on new rows"), strict=True
):
    filled = ax.contourf(gammas, alphas, np.minimum(values, 1.2).T, levels=levels, cmap="viridis_r")
    ax.plot(
        best["gamma"],
        best["alpha"],
        "*",
        color="C1",
        markeredgecolor="k",
        markersize=15,
        label="chosen",
    )
    ax.set(xscale="log", yscale="log", xlabel="gamma", title=title)
where = np.unravel_index(real.argmin(), real.shape)
axes[1].plot(
    gammas[where[0]],
    alphas[where[1]],
    "o",
    color="w",
    markeredgecolor="k",
    markersize=8,
    label="best",
)
axes[0].set_ylabel("alpha")
axes[1].legend(loc="lower right")
plt.colorbar(filled, ax=axes, label="RMSE", ticks=[0.55, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2])
plt.show()

# %%
# The same search by five-fold cross-validation, on every third width and ridge.

begin = time.process_time()
some = {"gamma": gammas[::3], "alpha": alphas[::3]}
search = GridSearchCV(
    SubsetLSSVMRegressor(max_basis=100, random_state=0), some, scoring="neg_mean_squared_error"
)
search.fit(X, y)
slow = time.process_time() - begin
pairs = len(search.cv_results_["params"])
each = (slow / pairs) / (took / loo.size)
print(f"{pairs} pairs in {slow:.2f} s, {each:.0f} times as long for each")
assert each > 4
assert took < slow
