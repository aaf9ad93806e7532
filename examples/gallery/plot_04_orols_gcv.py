"""
How many kernels? Ask GCV
=========================

:class:`kernsift.OROLSRegressor` adds kernels one at a time.  Without a ridge the error on the rows
it has seen only falls, whatever is added; generalised cross-validation (GCV) also counts the
freedom that was spent, has a minimum, and says where to stop.  With ``alpha="gcv"``, the default,
the same score chooses the ridge anew after each kernel, and a kernel too many does little harm.  No
rows have to be held out for either.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OROLSRegressor

NOISE, MOST = 0.2, 60
rng = np.random.default_rng(7)
X = rng.uniform(-10, 10, (150, 1))


def curve(X):
    return 2 * np.sinc(X[:, 0] / np.pi) + 0.3 * np.sin(X[:, 0])


y = curve(X) + NOISE * rng.standard_normal(len(X))
X_new = np.linspace(-10, 10, 500)[:, None]

ridges = {"hardly any ridge": 1e-6, "ridge by GCV": "gcv"}
chosen = {name: OROLSRegressor(gamma=3.0, alpha=alpha).fit(X, y) for name, alpha in ridges.items()}
for name, model in chosen.items():
    print(f"{name}: GCV stops at {model.n_basis_} kernels")

# %%
# To see whether it stops where it should, both are made to go on to sixty (``stop=None``).
# ``gcv_path_`` and ``error_path_`` hold the scores after 0, 1, 2, ... kernels.  The error on new
# rows, which no fit can see, follows from the distance to the curve behind the data.


def new_rows(size, alpha):
    model = OROLSRegressor(gamma=3.0, alpha=alpha, max_basis=size, stop=None).fit(X, y)
    return np.sqrt(np.mean((model.predict(X_new) - curve(X_new)) ** 2) + NOISE**2)


paths = {
    n: OROLSRegressor(gamma=3.0, alpha=a, max_basis=MOST, stop=None).fit(X, y)
    for n, a in ridges.items()
}
errors = {n: np.array([new_rows(m, a) for m in range(1, MOST + 1)]) for n, a in ridges.items()}

_, axes = plt.subplots(1, 3, figsize=(8, 3.6), width_ratios=[1.2, 1, 1], layout="constrained")
model = chosen["ridge by GCV"]
axes[0].plot(X[:, 0], y, ".", color="0.6", markersize=4, label="data")
axes[0].plot(X_new[:, 0], curve(X_new), "k--", linewidth=1, label="curve")
axes[0].plot(X_new[:, 0], model.predict(X_new), color="C0", linewidth=2, label="prediction")
at = model.basis_vectors_
axes[0].plot(
    at[:, 0], model.predict(at), "o", color="C1", markeredgecolor="k", markersize=5, label="kernels"
)
axes[0].set(
    xlabel="x", ylabel="y", title=f"ridge by GCV, {model.n_basis_} kernels", ylim=(-1.2, 3.6)
)
axes[0].legend(fontsize="small", ncols=2)
for ax, (name, path) in zip(axes[1:], paths.items(), strict=True):
    ax.plot(np.sqrt(path.error_path_), "C1--", label="training error")
    ax.plot(np.sqrt(path.gcv_path_), "C0-", label="√GCV")
    ax.plot(np.arange(1, MOST + 1), errors[name], "k:", label="error on new rows")
    ax.axvline(chosen[name].n_basis_, color="0.5", linewidth=0.8, label="stop")
    ax.set(xlabel="kernels", title=name, ylim=(0.1, 0.4))
axes[1].set_ylabel("RMSE")
axes[2].tick_params(labelleft=False)
axes[2].legend(fontsize="small")
plt.show()

# %%
# The numbers behind the picture:

for name in ridges:
    stop, best = errors[name][chosen[name].n_basis_ - 1], errors[name].min()
    print(f"{name:<17} error on new rows: {stop:.3f} at the stop, {best:.3f} at best,", end=" ")
    print(f"{errors[name][-1]:.3f} with {MOST} kernels")
    assert stop < 1.1 * best

bare, ridged = paths.values()
assert (np.diff(bare.error_path_) <= 1e-12).all()  # only falls
assert bare.gcv_path_[-1] > 1.1 * bare.gcv_path_.min()
assert errors["hardly any ridge"][-1] > 1.05 * errors["hardly any ridge"].min()
assert errors["ridge by GCV"][-1] < 1.05 * errors["ridge by GCV"].min()
