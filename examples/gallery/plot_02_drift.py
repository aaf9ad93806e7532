"""
A stream that drifts
====================

Half-way through a stream the same inputs come to mean something else.  A model that weighs all rows
alike averages the old meaning with the new; the default has memories of several lengths, which
compete.  Beside them runs what scikit-learn alone offers for streams: random Fourier features and a
linear model by gradient steps.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor
from kernsift.datasets import phase_jump
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDRegressor

ROWS, CHANGE, NOISE, KERNELS = 6000, 3000, 0.1, 60
X, y = phase_jump(ROWS, noise=NOISE, random_state=7)

# %%
# :meth:`kernsift.OnlineLSSVMRegressor.prequential` predicts each row and then learns it: the error
# a user of the stream would have seen.

remembers = OnlineLSSVMRegressor(gamma=0.5, max_basis=KERNELS, forgetting=1.0)
forgets = OnlineLSSVMRegressor(gamma=0.5, max_basis=KERNELS)
errors = {
    "kernsift, all rows alike": remembers.prequential(X, y).error,
    "kernsift": forgets.prequential(X, y).error,
}

# %%
# The rival gets as many random features as we have kernels, the same width, and the step with which
# it comes out best on this very stream: more than anybody could know beforehand.


def random_features(step, block=10):
    Z = RBFSampler(gamma=0.5, n_components=KERNELS, random_state=0).fit_transform(X)
    model = SGDRegressor(alpha=1e-6, learning_rate="constant", eta0=step, random_state=0)
    model.partial_fit(Z[:block], y[:block])
    error = np.array(y)
    for first in range(block, ROWS, block):
        rows = slice(first, first + block)
        error[rows] = y[rows] - model.predict(Z[rows])
        model.partial_fit(Z[rows], y[rows])
    return error


errors["RBFSampler + SGDRegressor"] = min(
    (random_features(step) for step in (0.1, 0.3, 1.0)), key=lambda error: np.mean(error**2)
)


# %%
# Before the change both of ours are near the noise: while nothing changes, the longest memory has
# the weight.  After it the short ones take over, and the longer ones follow as they fill with rows
# of the new world.

print(f"the noise is {NOISE}")
spans = {
    "before": slice(CHANGE - 1000, CHANGE),
    "just after": slice(CHANGE, CHANGE + 500),
    "later": slice(CHANGE + 1500, CHANGE + 2000),
    "at the end": slice(ROWS - 1000, ROWS),
}
rmse = {
    when: [np.sqrt(np.mean(error[rows] ** 2)) for error in errors.values()]
    for when, rows in spans.items()
}
print(f"{'RMSE':<28}" + "".join(f"{when:>12}" for when in rmse))
for i, name in enumerate(errors):
    print(f"{name:<28}" + "".join(f"{each[i]:>12.3f}" for each in rmse.values()))

alike, fading, sgd = rmse["before"]
assert fading < 1.02 * alike < 1.25 * NOISE
assert fading < sgd
assert rmse["later"][1] < 1.25 * NOISE
alike, fading, sgd = rmse["at the end"]
assert fading < 1.25 * NOISE < sgd < alike

WINDOW = 200
_, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for (name, error), style in zip(errors.items(), ("C0--", "C0-", "C1-"), strict=True):
    running = np.sqrt(np.convolve(error**2, np.full(WINDOW, 1 / WINDOW), mode="valid"))
    ax.semilogy(np.arange(WINDOW, ROWS + 1), running, style, label=name)
ax.axhline(NOISE, color="0.5", linewidth=0.8, linestyle=":", label="the noise")
ax.axvline(CHANGE, color="0.5", linewidth=0.8)
ax.text(CHANGE + 60, 0.9, "the world changes", color="0.3")
ax.set(xlabel="row", ylabel=f"RMSE of the last {WINDOW} rows", xlim=(0, ROWS), ylim=(0.08, 1.1))
ax.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
ax.minorticks_off()
ax.legend(loc="upper left", fontsize="small")
plt.show()
