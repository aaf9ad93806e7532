"""
A stream that drifts
====================

Half-way through a stream the same inputs come to mean something else.  A model that
weighs all rows alike averages the old meaning with the new; ``forgetting`` lets a row
count a little less with each one after it.  Beside them runs what scikit-learn alone
offers for streams: random Fourier features and a linear model by gradient steps.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDRegressor

ROWS, CHANGE, NOISE, KERNELS = 6000, 3000, 0.1, 60
rng = np.random.default_rng(7)
X = rng.uniform(-2, 2, (ROWS, 2))
phase = np.where(np.arange(ROWS) < CHANGE, 0.0, 2.0)
y = np.sin(2 * X[:, 0] + phase) * np.cos(1.5 * X[:, 1]) + NOISE * rng.standard_normal(
    ROWS
)

# %%
# :meth:`kernsift.OnlineLSSVMRegressor.prequential` predicts each row and then learns
# it: the error a user of the stream would have seen.

remembers = OnlineLSSVMRegressor(gamma=0.5, max_basis=KERNELS)
forgets = OnlineLSSVMRegressor(gamma=0.5, max_basis=KERNELS, forgetting=0.997)
errors = {
    "kernsift, all rows alike": remembers.prequential(X, y).error,
    "kernsift, forgetting=0.997": forgets.prequential(X, y).error,
}

# %%
# The rival gets as many random features as we have kernels, the same width, and the
# step with which it comes out best on this very stream: more than anybody could know
# beforehand.


def random_features(step, block=10):
    Z = RBFSampler(gamma=0.5, n_components=KERNELS, random_state=0).fit_transform(X)
    model = SGDRegressor(
        alpha=1e-6, learning_rate="constant", eta0=step, random_state=0
    )
    model.partial_fit(Z[:block], y[:block])
    error = np.array(y)
    for first in range(block, ROWS, block):
        rows = slice(first, first + block)
        error[rows] = y[rows] - model.predict(Z[rows])
        model.partial_fit(Z[rows], y[rows])
    return error


errors["RBFSampler + SGDRegressor"] = min(
    (random_features(step) for step in (0.1, 0.3, 1.0)),
    key=lambda error: np.mean(error**2),
)


# %%
# Before the change both of ours are near the noise.  After it the one that forgets
# finds back to it within some hundred rows.  Forgetting is not free: with about 1/(1 -
# 0.997) = 333 rows in mind instead of all, it is a little worse while nothing changes.


def rmse(error, first, last):
    return np.sqrt(np.mean(error[first:last] ** 2))


print(f"the noise is {NOISE}")
print(f"{'RMSE':<28}{'before':>8}{'just after':>12}{'at the end':>12}")
for name, error in errors.items():
    spans = (
        rmse(error, CHANGE - 1000, CHANGE),
        rmse(error, CHANGE, CHANGE + 500),
        rmse(error, ROWS - 1000, ROWS),
    )
    print(f"{name:<28}{spans[0]:>8.3f}{spans[1]:>12.3f}{spans[2]:>12.3f}")

alike, fading, sgd = errors.values()
assert (
    rmse(alike, CHANGE - 1000, CHANGE)
    <= rmse(fading, CHANGE - 1000, CHANGE)
    < 1.25 * NOISE
)
assert rmse(fading, CHANGE - 1000, CHANGE) < rmse(sgd, CHANGE - 1000, CHANGE)
assert (
    rmse(fading, ROWS - 1000, ROWS)
    < 1.25 * NOISE
    < rmse(sgd, ROWS - 1000, ROWS)
    < rmse(alike, ROWS - 1000, ROWS)
)

WINDOW = 200
_, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for (name, error), style in zip(errors.items(), ("C0--", "C0-", "C1-"), strict=True):
    running = np.sqrt(np.convolve(error**2, np.full(WINDOW, 1 / WINDOW), mode="valid"))
    ax.semilogy(np.arange(WINDOW, ROWS + 1), running, style, label=name)
ax.axhline(NOISE, color="0.5", linewidth=0.8, linestyle=":", label="the noise")
ax.axvline(CHANGE, color="0.5", linewidth=0.8)
ax.text(CHANGE - 60, 0.85, "the world changes", ha="right", color="0.3")
ax.set(
    xlabel="row",
    ylabel=f"RMSE of the last {WINDOW} rows",
    xlim=(0, ROWS),
    ylim=(0.08, 1.1),
)
ax.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
ax.minorticks_off()
ax.legend(loc="upper left", bbox_to_anchor=(0.03, 0.92), fontsize="small")
plt.show()
