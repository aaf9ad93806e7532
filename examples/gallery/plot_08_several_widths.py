"""
Several kernels at once
=======================

A signal may need wide kernels in one place and narrow ones in another.  With ``gammas=[...]``
:class:`kernsift.OROLSRegressor` chooses each kernel's centre and width together, out of all rows
and all widths.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OROLSRegressor

NOISE = 0.03
GAMMAS = [0.1, 1.0, 10.0, 100.0]
rng = np.random.default_rng(7)


def signal(x):
    """A slow wave with a short burst on it."""
    return np.sin(0.8 * x) + 0.8 * np.exp(-(((x - 6) / 0.6) ** 2)) * np.sin(12 * x)


x = np.sort(rng.uniform(0, 10, 400))
y = signal(x) + NOISE * rng.standard_normal(len(x))
X, grid = x[:, None], np.linspace(0, 10, 1000)

# %%
# One width after the other, then all four in one dictionary.

models = {f"gamma={g:g}": OROLSRegressor(gamma=g, max_basis=100).fit(X, y) for g in GAMMAS}
models["all four"] = OROLSRegressor(gammas=GAMMAS, max_basis=100).fit(X, y)


def error(model):
    return np.sqrt(np.mean((model.predict(grid[:, None]) - signal(grid)) ** 2))


for name, model in models.items():
    size = model.n_basis_
    print(f"{name:<12}{size:>3} kernels, distance to the signal {error(model):.4f}")
several = models.pop("all four")
assert all(error(several) < error(model) for model in models.values())
best = min(models.values(), key=error)
assert several.n_basis_ < best.n_basis_ / 2

# %%
# ``basis_gammas_`` tells where which width was taken.

_, (above, below) = plt.subplots(
    2, 1, figsize=(7.5, 4.5), sharex=True, height_ratios=[2, 1], layout="constrained"
)
above.plot(x, y, ".", color="0.65", markersize=3, label="data")
above.plot(
    grid,
    several.predict(grid[:, None]),
    color="C0",
    linewidth=1.5,
    label=f"prediction, {several.n_basis_} kernels",
)
above.set(ylabel="y", ylim=(-2.1, 1.7))
above.legend(loc="upper right", ncols=2, fontsize="small")
widths = np.asarray(several.basis_gammas_).reshape(several.n_basis_, -1)[:, 0]
below.semilogy(
    several.basis_vectors_[:, 0], widths, "o", color="C1", markeredgecolor="k", markersize=6
)
below.set(xlabel="x", ylabel="gamma", ylim=(0.04, 250))
below.set_yticks(GAMMAS, [f"{g:g}" for g in GAMMAS])
below.minorticks_off()
below.grid(axis="y", alpha=0.3)
plt.show()

# %%
# The narrowest lie in the burst and hardly anywhere else.

narrow = several.basis_vectors_[widths == 100, 0]
inside = np.mean(np.abs(narrow - 6) < 1.5)
print(f"of the {len(narrow)} narrowest {inside:.0%} lie within 1.5 of the burst's middle")
assert inside > 0.8
