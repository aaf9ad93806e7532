"""
How many kernels? Ask GCV
=========================

:class:`kernsift.OROLSRegressor` adds kernels one at a time.  The error on the rows it has seen only
falls, whatever is added; generalised cross-validation (GCV) also counts the freedom that was spent,
has a minimum, and says where to stop.  The ridge is estimated again after each kernel by the same
score.  No rows have to be held out for either.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OROLSRegressor

NOISE = 0.2
rng = np.random.default_rng(7)
X = rng.uniform(-10, 10, (250, 1))


def curve(X):
    return 2 * np.sinc(X[:, 0] / np.pi) + 0.3 * np.sin(X[:, 0])


y = curve(X) + NOISE * rng.standard_normal(len(X))
X_new = np.linspace(-10, 10, 500)[:, None]

model = OROLSRegressor(gamma=0.3, patience=40).fit(X, y)
tried, kept = len(model.selection_path_), model.n_basis_
print(f"{tried} kernels were tried and {kept} kept, alpha {model.alpha_:.2g}")

# %%
# ``gcv_path_``, ``alpha_path_`` and ``error_path_`` hold the three scores after 0, 1, 2, ...
# kernels.  To see whether the minimum of GCV is where it should be, we look at what no fit can: the
# distance to the curve behind the data, at every size.


def truth(size):
    at_size = OROLSRegressor(gamma=0.3, max_basis=size, stop=None).fit(X, y)
    return np.sqrt(np.mean((at_size.predict(X_new) - curve(X_new)) ** 2))


sizes = np.arange(1, len(model.selection_path_) + 1)
distance = np.array([truth(int(size)) for size in sizes])
chosen, best = distance[model.n_basis_ - 1], distance.min()
print("distance to the curve:")
print(f"{chosen:.4f} with the {model.n_basis_} kernels that GCV chose")
print(f"{best:.4f} with the best number, {sizes[distance.argmin()]}")

_, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
left.plot(X[:, 0], y, ".", color="0.6", markersize=4, label="data")
left.plot(X_new[:, 0], curve(X_new), "k--", linewidth=1, label="curve")
left.plot(X_new[:, 0], model.predict(X_new), color="C0", linewidth=2, label="prediction")
at = model.basis_vectors_
left.plot(
    at[:, 0],
    model.predict(at),
    "o",
    color="C1",
    markeredgecolor="k",
    label=f"{model.n_basis_} kernels",
)
left.set(xlabel="x", ylabel="y")
left.legend(fontsize="small")

for values, style, label in (
    (np.sqrt(model.error_path_), "C1--", "training error"),
    (np.sqrt(model.gcv_path_), "C0-", "√GCV"),
):
    right.semilogy(np.arange(len(values)), values, style, label=label)
right.semilogy(sizes, np.hypot(distance, NOISE), "k:", label="error on new rows")
right.axvline(model.n_basis_, color="0.5", linewidth=0.8, label="chosen")
right.set(xlabel="kernels", ylabel="RMSE")
right.set_yticks([0.2, 0.3, 0.5], ["0.2", "0.3", "0.5"])
right.minorticks_off()
right.legend(fontsize="small")
plt.show()

# %%
# The training error goes on falling to the end; GCV does not, and with the ridge it set the error
# on new rows hardly rises beyond the minimum either.

error, gcv = model.error_path_, model.gcv_path_
assert error[-1] < error[model.n_basis_]
assert gcv[-1] > gcv[model.n_basis_] == gcv.min()
assert np.hypot(chosen, NOISE) < 1.02 * np.hypot(best, NOISE)
assert np.hypot(distance[-1], NOISE) < 1.05 * np.hypot(best, NOISE)
