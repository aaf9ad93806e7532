"""
Growing and pruning, seen
=========================

A row becomes a kernel when it is novel, far from what the kernels span, and useful, lowering the
error.  When all places are taken, the kernel that is missed least makes room.  In two dimensions
this can be watched: the function here is flat on the left and wavy on the right, the rows come from
everywhere alike, and the kernels move to where there is something to describe.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor
from kernsift.display import AuditDisplay

rng = np.random.default_rng(7)
X = rng.uniform([-3, -1.5], [3, 1.5], (4000, 2))


def surface(X):
    return np.where(
        X[:, 0] > 0, np.sin(4 * X[:, 0]) * np.cos(2 * X[:, 1]) * np.tanh(2 * X[:, 0]), 0.0
    )


y = surface(X) + 0.1 * rng.standard_normal(len(X))

# %%
# ``basis_indices_`` holds the numbers of the rows that are kernels now.  Read after every twenty
# rows it tells which came and which went, save those that came and went in between.

model = OnlineLSSVMRegressor(gamma=2.0, max_basis=40)
stops = (60, 400, 4000)
seen, snapshots, done = set(), [], 0
for upto in range(20, len(X) + 1, 20):
    model.partial_fit(X[done:upto], y[done:upto])
    done = upto
    seen |= set(model.basis_indices_.tolist())
    if upto in stops:
        kept = model.basis_indices_.copy()
        snapshots.append((upto, kept, np.array(sorted(seen - set(kept.tolist())), dtype=int)))

grid = np.linspace(-3, 3, 120), np.linspace(-1.5, 1.5, 60)
points = np.column_stack([g.ravel() for g in np.meshgrid(*grid)])
_, axes = plt.subplots(3, 1, figsize=(6.5, 8), sharex=True, layout="constrained")
for ax, (upto, kept, gone) in zip(axes, snapshots, strict=True):
    ax.contourf(
        *grid,
        surface(points).reshape(60, 120),
        levels=15,
        cmap="RdBu_r",
        alpha=0.6,
        vmin=-1,
        vmax=1,
    )
    ax.plot(*X[gone].T, "x", color="0.25", markersize=5, label=f"{len(gone)} evicted")
    ax.plot(
        *X[kept].T,
        "o",
        color="#ffd92f",
        markeredgecolor="k",
        markersize=7,
        label=f"{len(kept)} kernels",
    )
    ax.set(ylabel="feature 1", title=f"after {upto} rows", aspect="equal")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
axes[-1].set_xlabel("feature 0")
plt.show()

# %%
# At the beginning the kernels lie as the rows do.  At the end most are on the right, and most of
# those evicted were on the left, admitted when little was known.

right = [float(np.mean(X[kept, 0] > 0)) for _, kept, _ in snapshots]
gone_left = float(np.mean(X[snapshots[-1][2], 0] < 0))
print(
    "kernels on the right: "
    + ", ".join(f"{r:.0%} after {u} rows" for r, (u, _, _) in zip(right, snapshots, strict=True))
)
print(f"of those evicted, {gone_left:.0%} were on the left")
assert abs(right[0] - 0.5) < 0.2
assert right[-1] > 0.6
assert gone_left > 0.5

# %%
# :class:`kernsift.display.AuditDisplay` counts admissions and evictions over time.  Every newcomer
# pays for the rows it has not seen, so it is good that they become rarer.

_, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
display = AuditDisplay.from_estimator(
    OnlineLSSVMRegressor(gamma=2.0, max_basis=40), X, y, ax=ax, counts=("admitted", "evicted")
)
admitted = display.counts["admitted"]
first, second = (admitted[len(admitted) // 2], admitted[-1] - admitted[len(admitted) // 2])
print(f"{first} rows were admitted in the first half, {second} in the second")
assert second < first
plt.show()
