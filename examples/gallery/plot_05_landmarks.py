"""
Landmarks that span: EFVS against random rows
=============================================

:class:`sklearn.kernel_approximation.Nystroem` puts its kernels on random rows.  Where rows are
crowded it takes many alike, where they are rare none.  :class:`kernsift.FeatureVectorSelector`
selects the rows that the others represent worst.  It does not use y, and like
Nystroem it is a transformer for a pipeline.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import FeatureVectorSelector
from sklearn.metrics.pairwise import rbf_kernel

GAMMA, MOST = 1.0, 60
rng = np.random.default_rng(7)
angle = rng.uniform(0, 1.5 * np.pi, 300)
spiral = (1 + angle)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
crowd = 0.35 * rng.standard_normal((2700, 2))
X = np.concatenate([crowd, spiral + 0.05 * rng.standard_normal((300, 2))])

# %%
# The measure is the part of a row, as a point in feature space, that lies outside the span of the
# landmarks; averaged over all rows it is the selector's ``path_``.  For random landmarks we compute
# it from its definition.


def outside(landmarks, X=X):
    """Mean squared distance of the rows to the span of the landmarks."""
    K = rbf_kernel(landmarks, gamma=GAMMA) + 1e-10 * np.eye(len(landmarks))
    coordinates = np.linalg.solve(np.linalg.cholesky(K), rbf_kernel(landmarks, X, gamma=GAMMA))
    return np.mean(1 - (coordinates**2).sum(axis=0))


sizes = np.arange(2, MOST + 1, 2)
selectors = [
    FeatureVectorSelector(gamma=GAMMA, n_components=MOST, random_state=seed).fit(X)
    for seed in range(5)
]
chosen = np.array([[outside(s.basis_vectors_[:m]) for m in sizes] for s in selectors])
draws = [np.random.default_rng(seed).permutation(len(X)) for seed in range(20)]
random = np.array([[outside(X[draw[:m]]) for m in sizes] for draw in draws])

# %%
# Thirty landmarks of each kind: the selector's lie along the spiral and thinly over the crowd.

show = 30
_, axes = plt.subplots(1, 3, figsize=(8, 3.6), width_ratios=[1, 1, 1.2], layout="constrained")
picks = {"random": X[draws[0][:show]], "EFVS": selectors[0].basis_vectors_[:show]}
for ax, (name, landmarks), colour in zip(axes, picks.items(), ("C1", "C0"), strict=False):
    ax.plot(*X.T, ".", color="0.8", markersize=2)
    ax.plot(*landmarks.T, "o", color=colour, markeredgecolor="k", markersize=5)
    ax.set(
        title=f"{show} landmarks, {name}", xlabel="feature 0", ylabel="feature 1", aspect="equal"
    )
for errors, name, style in ((random, "random", "C1--"), (chosen, "EFVS", "C0-")):
    axes[2].semilogy(sizes, errors.mean(axis=0), style, label=f"{name}, mean and range")
    axes[2].fill_between(sizes, errors.min(axis=0), errors.max(axis=0), color=style[:2], alpha=0.2)
axes[2].set(xlabel="landmarks", ylabel="part of the rows outside the span")
axes[2].legend(fontsize="small")
plt.show()

# %%
# How many random rows would it take to do as well as twenty of the selector's?

mean_chosen, mean_random = chosen.mean(axis=0), random.mean(axis=0)
target = mean_chosen[sizes == 20][0]
as_good = sizes[np.argmax(mean_random < target)] if (mean_random < target).any() else None
at_20 = mean_random[sizes == 20][0]
print(f"outside the span of 20 landmarks: {target:.4f} chosen, {at_20:.4f} random")
print(f"random rows needed for the same: {as_good or f'more than {MOST}'}")
assert (mean_chosen < mean_random / 2)[sizes >= 30].all()
assert as_good is None or as_good >= 40

# %%
# The gain is large because the rows here are crowded.  Where they fill their space evenly there is
# little to gain:

even = rng.uniform(-3, 3, (2000, 2))
efvs = [
    FeatureVectorSelector(gamma=GAMMA, n_components=20, random_state=s).fit(even) for s in range(5)
]
spanned = np.mean([outside(selector.basis_vectors_, even) for selector in efvs])
drawn = np.mean([outside(even[rng.permutation(len(even))[:20]], even) for _ in range(20)])
print(f"the random rows' part over EFVS': {drawn / spanned:.2f} here,", end=" ")
print(f"{at_20 / target:.2f} on the rows above")
assert drawn / spanned < 1.5 < at_20 / target

# %%
# And what spans the rows best need not predict y best: ``basis="pruned"`` of
# :class:`kernsift.SubsetLSSVMRegressor` looks at y too.
