"""
A pruning path, with noise that changes
=======================================

:class:`kernsift.SparseLSSVMRegressor` begins with a kernel on every row and deletes one after
another.  In "isls" the row of a deleted kernel goes on counting as data; in the older "sls" it is
thrown away with its kernel.  The data imitate the well-known motorcycle helmet experiment: quiet at
first, then a blow, then noise that grows and dies down.  They are made here, the original not being
ours to copy.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SparseLSSVMRegressor
from kernsift.display import PruningPathDisplay

rng = np.random.default_rng(7)


def blow(t):
    """A head's acceleration in g, t milliseconds after the start."""
    return -110 * np.exp(-(((t - 21) / 5.5) ** 2)) + 55 * np.exp(-(((t - 34) / 6) ** 2))


def scatter(t):
    return 2 + 22 * np.exp(-(((t - 30) / 12) ** 2))


def readings(n):
    t = np.sort(rng.uniform(2, 58, n))
    return t[:, None] / 10, blow(t) + scatter(t) * rng.standard_normal(n)


X, y = readings(133)
X_new, y_new = readings(4000)

# %%
# The first fit chooses width and ridge by leave-one-out error in closed form; the second walks the
# older path with the same two.

grid = {"gammas": np.logspace(-2, 1, 11), "alphas": np.logspace(-4, 1, 16)}
isls = SparseLSSVMRegressor(
    kernel="matern52", gamma="loo", alpha="loo", **grid, max_basis=None, tol=0.01
).fit(X, y)
chosen = {"gamma": float(isls.gamma_[0]), "alpha": isls.alpha_}
sls = SparseLSSVMRegressor(kernel="matern52", method="sls", **chosen, max_basis=None).fit(X, y)
print("chosen: " + ", ".join(f"{name} {value:.3g}" for name, value in chosen.items()))
print(f"tol=0.01 keeps {isls.n_basis_} of {len(X)} kernels")

# %%
# ``at_size`` hands out the model of any size on the path, without another fit.

t = np.linspace(0.2, 5.8, 300)[:, None]
_, axes = plt.subplots(1, 3, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, size in zip(axes, (40, isls.n_basis_, 3), strict=True):
    model = isls.at_size(size)
    ax.plot(10 * X[:, 0], y, ".", color="0.65", markersize=4)
    ax.plot(10 * t[:, 0], model.predict(t), color="C0", linewidth=2)
    at = model.basis_vectors_
    ax.plot(10 * at[:, 0], model.predict(at), "o", color="C1", markeredgecolor="k", markersize=5)
    ax.set(title=f"{size} kernels", xlabel="milliseconds")
axes[0].set_ylabel("acceleration (g)")
plt.show()

# %%
# :class:`kernsift.display.PruningPathDisplay` draws an error against the size: here that of new
# rows.  With "isls" it stays where it was until very few kernels are left.

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
paths = {
    "isls": PruningPathDisplay.from_estimator(
        isls, X_new, y_new, name="isls: rows stay", ax=ax, color="C0"
    ),
    "sls": PruningPathDisplay.from_estimator(
        sls, X_new, y_new, name="sls: rows go", ax=ax, color="C1", linestyle="--"
    ),
}
ax.axhline(
    np.sqrt(np.mean((y_new - blow(10 * X_new[:, 0])) ** 2)),
    color="0.5",
    linestyle=":",
    label="the noise alone",
)
ax.set(xscale="log", yscale="log", ylabel="RMSE on new rows (g)")
ax.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
ax.set_yticks([10, 30, 100, 300], ["10", "30", "100", "300"])
ax.minorticks_off()
ax.legend()
plt.show()


def error(method, size):
    path = paths[method]  # the recorded size nearest to it
    return path.values[np.abs(path.n_basis - size).argmin()]


for size in (133, 40, isls.n_basis_, 5, 3):
    ours, theirs = error("isls", size), error("sls", size)
    print(f"{size:>4} kernels: isls {ours:6.2f}   sls {theirs:6.2f}")
assert isls.n_basis_ < 20
assert error("isls", isls.n_basis_) < 1.05 * error("isls", len(X))
assert error("sls", isls.n_basis_) > 1.2 * error("isls", isls.n_basis_)

# %%
# The noise depends on the time, and the rows left out show it: the standard deviation follows.
# With ``noise="constant"`` it is the same at all times, too large before the blow and too small
# after it.

quiet, loud = 10 * X_new[:, 0] < 10, np.abs(10 * X_new[:, 0] - 30) < 6
shares = {}
for noise in ("auto", "constant"):
    mean, std = isls.set_params(noise=noise).fit(X, y).predict(X_new, return_std=True)
    inside = np.abs(mean - y_new) < 2 * std
    shares[noise] = inside[quiet].mean(), inside[loud].mean()
    print(f"{noise:>8}: within two standard deviations:", end=" ")
    print(f"{shares[noise][0]:.1%} before 10 ms, {shares[noise][1]:.1%} about 30 ms")
assert min(shares["auto"]) > 0.9
assert shares["constant"][0] > 0.99
assert shares["constant"][1] < 0.8
