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

NOISE, SIZE = 0.03, 20
GAMMAS = [0.1, 1.0, 10.0, 100.0]
rng = np.random.default_rng(7)


def signal(x):
    """A slow wave with a short burst on it."""
    return np.sin(0.8 * x) + 0.8 * np.exp(-(((x - 6) / 0.6) ** 2)) * np.sin(12 * x)


x = np.sort(rng.uniform(0, 10, 400))
y = signal(x) + NOISE * rng.standard_normal(len(x))
X, grid = x[:, None], np.linspace(0, 10, 1000)

# %%
# Twenty kernels: of one width after the other, then of all four in one dictionary.

settings = {f"gamma={g:g}": {"gamma": g} for g in GAMMAS} | {"all four": {"gammas": GAMMAS}}


def fit(name, size):
    model = OROLSRegressor(**settings[name], selection="error-reduction", max_basis=size, stop=None)
    return model.fit(X, y)


def error(model):
    return np.sqrt(np.mean((model.predict(grid[:, None]) - signal(grid)) ** 2))


for name in settings:
    print(f"{name:<10} {SIZE} kernels, distance to the signal {error(fit(name, SIZE)):.3f}")
one = min((fit(f"gamma={g:g}", SIZE) for g in GAMMAS), key=error)
several = fit("all four", SIZE)
assert error(several) < error(one) / 2

# %%
# ``basis_gammas_`` tells where which width was taken.

_, (above, below) = plt.subplots(
    2, 1, figsize=(7.5, 4.5), sharex=True, height_ratios=[2, 1], layout="constrained"
)
above.plot(x, y, ".", color="0.65", markersize=3, label="data")
above.plot(grid, one.predict(grid[:, None]), "C1--", linewidth=1, label="the best single width")
above.plot(grid, several.predict(grid[:, None]), "C0-", linewidth=1.5, label="all four widths")
above.set(ylabel="y", ylim=(-2.1, 1.9), title=f"{SIZE} kernels each")
above.legend(loc="upper right", ncols=3, fontsize="small")
widths = np.asarray(several.basis_gammas_).reshape(several.n_basis_, -1)[:, 0]
below.semilogy(
    several.basis_vectors_[:, 0], widths, "o", color="C0", markeredgecolor="k", markersize=6
)
below.set(xlabel="x", ylabel="gamma", ylim=(0.04, 250))
below.set_yticks(GAMMAS, [f"{g:g}" for g in GAMMAS])
below.minorticks_off()
below.grid(axis="y", alpha=0.3)
plt.show()

narrow = several.basis_vectors_[widths == max(GAMMAS), 0]
inside = np.mean(np.abs(narrow - 6) < 1.5)
print(f"of the {len(narrow)} narrowest {inside:.0%} lie within 1.5 of the burst's middle")
assert inside > 0.6

# %%
# That is for few kernels.  With twice as many one width will do, if it is the right one, and does
# better: the more candidates there are to choose from, the more noise the choice fits.

sizes = [5, 10, 15, 20, 25, 30, 40, 50, 60]
_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
curves = {name: np.array([error(fit(name, size)) for size in sizes]) for name in settings}
for (name, values), style in zip(
    curves.items(), ("C1:", "C1-.", "C1--", "C1-", "C0-o"), strict=True
):
    ax.semilogy(sizes, values, style, label=name)
ax.set(xlabel="kernels", ylabel="distance to the signal")
ax.set_yticks([0.01, 0.03, 0.1, 0.3], ["0.01", "0.03", "0.1", "0.3"])
ax.minorticks_off()
ax.legend(fontsize="small", ncols=2)
plt.show()
best_of_one = np.min([values for name, values in curves.items() if name != "all four"], axis=0)
few, many = sizes.index(SIZE), sizes.index(2 * SIZE)
assert curves["all four"][few] < best_of_one[few] / 2
assert curves["all four"][many] > best_of_one[many]
