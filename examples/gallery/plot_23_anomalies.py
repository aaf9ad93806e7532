"""
Find anomalies on a stream
==========================

A large error may mean a broken sensor, or an operating point that the model has not seen yet.  The
predictive standard deviation tells them apart: it is large where there were no rows.  Errors in
units of it find planted faults with few false alarms; a threshold on the error itself raises an
alarm whenever the machine does something new.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import OnlineLSSVMRegressor

ROWS, FIRST, FAULTS, NOISE = 4000, 200, 80, 0.1
rng = np.random.default_rng(7)
load = rng.uniform(0, 20, 80)[np.arange(ROWS) // 50]  # every 50 rows the machine changes its load
X = np.column_stack([load + 0.2 * rng.standard_normal(ROWS), rng.uniform(-1, 1, ROWS)])
y = 2 * np.sin(X[:, 0]) + X[:, 1] ** 2 + NOISE * rng.standard_normal(ROWS)
faulty = np.zeros(ROWS, dtype=bool)
faulty[rng.choice(np.arange(FIRST, ROWS), FAULTS, replace=False)] = True
y[faulty] += rng.choice([-1, 1], FAULTS) * rng.uniform(0.7, 1.2, FAULTS)  # 7 to 12 times the noise

# %%
# Each row is predicted with its standard deviation, and learned unless there is an alarm: a fault
# is no row to learn from.  Where the load is new the standard deviation is large, so there is no
# alarm and the rows are learned.

LIMIT = 4.5
model = OnlineLSSVMRegressor(gamma=0.5, max_basis=150, forgetting=1.0, linear=False)
model.partial_fit(X[:FIRST], y[:FIRST])
error, std, known = np.empty(ROWS - FIRST), np.empty(ROWS - FIRST), faulty[FIRST:]
for i in range(ROWS - FIRST):
    x, target = X[FIRST + i], y[FIRST + i]
    mean, deviation = model.predict(x[None], return_std=True)
    error[i], std[i] = abs(target - mean[0]), deviation[0]
    if error[i] <= LIMIT * std[i]:
        model.update(x, target)

# %%
# The limit needs no labels.  The simple thresholds judge the errors of the same model, and the
# second is the best that hindsight finds, which a stream does not offer.


def judge(alarm):
    """Precision, recall, and their harmonic mean."""
    hits = np.sum(alarm & known)
    precision, recall = hits / max(alarm.sum(), 1), hits / FAULTS
    return precision, recall, 2 * hits / (alarm.sum() + FAULTS)


best = max(error[known], key=lambda threshold: judge(error >= threshold)[2])
alarms = {
    f"error above {5 * NOISE:g}, five times the noise": error > 5 * NOISE,
    f"error above {best:.2f}, the best in hindsight": error >= best,
    f"error above {LIMIT} standard deviations": error > LIMIT * std,
}
print(f"{'alarm':42} precision  recall")
for name, alarm in alarms.items():
    precision, recall, _ = judge(alarm)
    print(f"{name:42} {precision:9.2f}  {recall:6.2f}")
noise, hindsight, ours = (judge(alarm) for alarm in alarms.values())
assert min(ours[:2]) > 0.95
assert noise[0] < 0.9
assert ours[2] > hindsight[2]

# %%
# Rows at a load that is new have large errors and large standard deviations: they lie on the right.
# The sloped line leaves them alone, and no level line can.

_, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
ax.loglog(std[~known], error[~known], "C0.", markersize=3, label="rows")
ax.loglog(std[known], error[known], "C1o", markersize=5, label="faults")
ends = np.array([0.9 * std.min(), 1.1 * std.max()])
ax.loglog(ends, LIMIT * ends, "C3", linewidth=2, label=f"{LIMIT} standard deviations")
ax.axhline(best, color="0.4", linestyle="--", label="the best threshold in hindsight")
ax.set_xticks([0.15, 0.2, 0.3, 0.4], ["0.15", "0.2", "0.3", "0.4"])
ax.set_yticks([0.1, 1.0], ["0.1", "1"])
ax.minorticks_off()
ax.set(xlabel="standard deviation before the row", ylabel="error", xlim=ends, ylim=(0.02, 4))
ax.legend(fontsize="small", loc="lower right", framealpha=1)
plt.show()
