"""
The value of a policy
=====================

A car too weak for the hill rocks back and forth in its valley until it is fast enough.  How many
steps will it take from here?  :class:`kernsift.KernelLSTD` learns that from single transitions
(state, reward, next state), with no model of the car, and puts its kernels where the car goes.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import KernelLSTD

GOAL, DISCOUNT = 0.5, 0.99
rng = np.random.default_rng(7)


def step(S):
    """Push the way the car is moving; gravity does the rest."""
    x, v = S.T
    v = np.clip(v + 0.001 * np.where(v >= 0, 1, -1) - 0.0025 * np.cos(3 * x), -0.07, 0.07)
    x = x + v
    v = np.where(x < -1.2, 0.0, v)  # a wall on the left
    return np.column_stack([np.clip(x, -1.2, None), v])


def steps_to_goal(S):
    """Drive from every state until all have arrived."""
    count, going = np.zeros(len(S)), np.ones(len(S), bool)
    while going.any():
        count[going] += 1
        S = np.where(going[:, None], step(S), S)
        going &= S[:, 0] < GOAL
    return count


# %%
# Three hundred cars set out from random places.  Each step costs 1; the goal ends the drive.

states, after = [], []
cars = rng.uniform([-1.2, -0.07], [GOAL, 0.07], (300, 2))
while len(cars):
    states.append(cars)
    cars = step(cars)
    after.append(cars)
    cars = cars[cars[:, 0] < GOAL]
S, S_next = np.concatenate(states), np.concatenate(after)
terminal = S_next[:, 0] >= GOAL
print(f"{len(S)} transitions")

# %%
# Position and velocity have very different scales, so each gets its own width.  The order of the
# transitions plays no part: with ``trace_decay=0``, the default, each speaks for itself.

model = KernelLSTD(gamma=[50.0, 4000.0], alpha=1e-2, discount=DISCOUNT, max_basis=400)
model.partial_fit(S, np.full(len(S), -1.0), S_next, terminal=terminal)
print(f"{model.n_basis_} kernels")

# %%
# The truth is known here: n steps at a cost of 1, discounted, are worth -(1 - gⁿ)/(1 - g).  It has
# a cliff, where the car just fails to make the hill and has to swing once more; smooth kernels
# round it off, and most of the error is there.

x, v = np.linspace(-1.2, GOAL - 0.005, 90), np.linspace(-0.07, 0.07, 80)
grid = np.column_stack([g.ravel() for g in np.meshgrid(x, v)])
truth = -(1 - DISCOUNT ** steps_to_goal(grid)) / (1 - DISCOUNT)
learned = model.predict(grid)
error = np.sqrt(np.mean((learned - truth) ** 2))
explained = 1 - error**2 / truth.var()
print(f"RMSE {error:.2f}, R² {explained:.3f};", end=" ")
print(f"the values go from {truth.min():.0f} to {truth.max():.0f}")
assert explained > 0.93
slope = np.abs(np.gradient(truth.reshape(len(v), len(x)), axis=0)).ravel()
steep = slope > np.quantile(slope, 0.8)
share = np.sum((learned - truth)[steep] ** 2) / np.sum((learned - truth) ** 2)
print(f"the steepest fifth of the picture holds {share:.0%} of the squared error")
assert share > 0.5

_, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
levels = np.linspace(-70, 0, 15)
for ax, values, title in zip(
    axes, (truth, learned), ("true value", "learned from transitions"), strict=True
):
    shown = np.clip(values, -70, 0).reshape(len(v), len(x))
    filled = ax.contourf(x, v, shown, levels=levels, cmap="viridis")
    ax.set(
        xlabel="position",
        title=title,
        xlim=(-1.2, GOAL - 0.005),
        ylim=(-0.07, 0.07),
        xticks=[-1, -0.5, 0],
    )
axes[0].set_ylabel("velocity")
axes[1].plot(
    *model.basis_vectors_.T,
    "o",
    color="w",
    markeredgecolor="k",
    markersize=3,
    label=f"{model.n_basis_} kernels",
)
axes[1].legend(loc="upper right", fontsize="small")
drive = [np.array([[-0.5, 0.0]])]
while drive[-1][0, 0] < GOAL:
    drive.append(step(drive[-1]))
axes[0].plot(*np.concatenate(drive).T, color="w", linewidth=1.5)
axes[0].plot(
    -0.5, 0, "o", color="C1", markeredgecolor="w", label=f"a drive of {len(drive) - 1} steps"
)
axes[0].legend(loc="upper right", fontsize="small")
plt.colorbar(filled, ax=axes, label="value: discounted steps, negative")
plt.show()
