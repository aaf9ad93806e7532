"""
Rows as dicts: river
====================

`river <https://riverml.xyz>`_ learns from dicts, one at a time, and does not mind a sensor that
begins to report late.  Neither does :class:`kernsift.river.OnlineLSSVMRegressor`: a feature that
comes for the first time enters as if it had been 0 until then.

Needs ``pip install 'kernsift[river]'``; without it the same numbers come from the estimator itself,
and the example says so.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor

try:
    import kernsift.river
    from river import linear_model, preprocessing
except ImportError:
    preprocessing = None
    print("river is not installed: the estimator is used, with no linear model beside")

ROWS, LATE, NOISE = 3000, 1500, 0.1
rng = np.random.default_rng(7)
heat, flow, valve = rng.uniform(-1, 1, (3, ROWS))
y = np.sin(3 * heat) + flow * valve + NOISE * rng.standard_normal(ROWS)


def reading(i):
    """The row's dict: the valve is not reported before row 1500."""
    row = {"heat": heat[i], "flow": flow[i]}
    return row | {"valve": valve[i]} if i >= LATE else row


# %%
# Predict, then learn, row by row.

# The scale of a linear part would be that of the first row, which has two features.
settings = {"gamma": 0.5, "max_basis": 80, "linear": False}


def race(model):
    error = np.empty(ROWS)
    for i in range(ROWS):
        error[i] = y[i] - model.predict_one(reading(i))
        model.learn_one(reading(i), y[i])
    return error


X = np.column_stack([heat, flow, np.where(np.arange(ROWS) >= LATE, valve, 0.0)])
with_zeros = OnlineLSSVMRegressor(**settings).prequential(X, y).error
if preprocessing is None:
    errors = {"kernsift": with_zeros}
else:
    model = kernsift.river.OnlineLSSVMRegressor(**settings)
    errors = {
        "kernsift.river": race(model),
        "river's linear regression": race(
            preprocessing.StandardScaler() | linear_model.LinearRegression()
        ),
    }
ours = next(iter(errors.values()))
# the one row that is predicted while nobody has heard of the valve is left out
apart = np.abs(np.delete(ours - with_zeros, LATE)).max()
print(f"a valve that comes late and one that was 0 before: errors differ by at most {apart:.0e}")
assert apart < 1e-8

# %%
# Without the valve the product is noise to any model; with it the error comes near the noise of the
# readings.

WINDOW = 150
_, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for (name, error), style in zip(errors.items(), ("C0-", "C1--"), strict=False):
    running = np.sqrt(np.convolve(error**2, np.full(WINDOW, 1 / WINDOW), mode="valid"))
    ax.plot(np.arange(WINDOW, ROWS + 1), running, style, label=name)
blind = np.sqrt(NOISE**2 + 1 / 9)  # flow times valve has variance 1/9
ax.axhline(blind, color="0.5", linewidth=0.8, linestyle="-.", label="the best without the valve")
ax.axhline(NOISE, color="0.5", linewidth=0.8, linestyle=":", label="the noise")
ax.axvline(LATE, color="0.5", linewidth=0.8)
ax.text(LATE + 40, 0.62, "the valve begins to report", color="0.3")
ax.set(xlabel="row", ylabel=f"RMSE of the last {WINDOW} rows", ylim=(0, 0.85), xlim=(0, ROWS))
ax.legend(loc="upper right", ncols=2, fontsize="small")
plt.show()


def rmse(error, first, last):
    return np.sqrt(np.mean(error[first:last] ** 2))


before, after = rmse(ours, LATE - 500, LATE), rmse(ours, ROWS - 500, ROWS)
print(f"RMSE before {before:.3f} (the best possible {blind:.3f}),", end=" ")
print(f"at the end {after:.3f} (the noise {NOISE})")
assert before < 1.15 * blind
assert after < 1.4 * NOISE
