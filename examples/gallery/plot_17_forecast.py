"""
Forecasting, with a band
========================

A series becomes a table by its own past: :func:`kernsift.lag_embed` puts earlier values into the
columns and a later one into the target.  The online model then forecasts each value before it
comes, says how sure it is, and learns from it when it is there.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor, lag_embed
from kernsift.datasets import electric_load

NOISE, AHEAD, DAY = 0.1, 6, 24
load = electric_load(150, noise=NOISE, random_state=7)

# %%
# The columns: the last three hours, and a day and a week before the value what came then, with the
# hours about it and the one six hours earlier.

lags = [
    0,
    1,
    2,
    *(DAY - AHEAD + k for k in (-1, 0, 1, AHEAD)),
    *(7 * DAY - AHEAD + k for k in (-1, 0, 1, AHEAD)),
]
X, y = lag_embed(load, lags, AHEAD)
print(f"{len(X)} rows of {X.shape[1]} lags, to be forecast {AHEAD} hours ahead")

# %%
# ``delay`` keeps it honest: the value six hours ahead is learned six rows later, when it would be
# known.

model = OnlineLSSVMRegressor(gamma=0.05, alpha=0.1, max_basis=150)
result = model.prequential(X, y, delay=AHEAD - 1, return_std=True)
at = len(load) - len(y) + np.arange(len(y))  # the hour that each row forecasts
rivals = {
    "as a week ago": y - load[at - 7 * DAY],
    "as a day ago": y - load[at - DAY],
    f"kernsift, {model.n_basis_} kernels": result.error,
}

settled = slice(30 * DAY, None)
for name, error in rivals.items():
    print(f"{name:<24} RMSE {np.sqrt(np.mean(error[settled] ** 2)):.3f}")
inside = np.mean(np.abs(result.error[settled]) < 2 * result.std[settled])
print(f"{inside:.1%} of the values within two standard deviations")
week, day_before, ours = (np.sqrt(np.mean(error[settled] ** 2)) for error in rivals.values())
assert ours < 0.75 * min(week, day_before)
assert 0.92 < inside < 0.99

_, (above, below) = plt.subplots(2, 1, figsize=(8, 5.5), layout="constrained")
last = slice(-9 * DAY, None)
day = at[last] / DAY
above.fill_between(
    day,
    result.y_pred[last] - 2 * result.std[last],
    result.y_pred[last] + 2 * result.std[last],
    color="C0",
    alpha=0.25,
    label="two standard deviations",
)
above.plot(day, y[last], "k.", markersize=3, label="load")
above.plot(day, result.y_pred[last], "C0-", linewidth=1.5, label=f"forecast {AHEAD} hours before")
above.set(xlabel="day", ylabel="load", xlim=(day[0], day[-1]), ylim=(None, y[last].max() + 0.9))
above.legend(loc="upper left", ncols=3, fontsize="small")
window = 7 * DAY
for (name, error), style in zip(rivals.items(), ("C1-", "C1:", "C0-"), strict=True):
    running = np.sqrt(np.convolve(error**2, np.full(window, 1 / window), mode="valid"))
    below.plot((at[0] + np.arange(window - 1, len(y))) / DAY, running, style, label=name)
below.set(xlabel="day", ylabel="RMSE of the last week", ylim=(0, None))
below.legend(ncols=3, fontsize="small")
plt.show()
