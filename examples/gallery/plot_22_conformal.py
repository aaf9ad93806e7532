"""
Judge intervals by others' measures
===================================

MAPIE and crepes make intervals for any scikit-learn regressor, ours among them.  On average over
new rows all hold what they promise.  The harder question is whether they hold *everywhere*: the
worst slab is the set of rows between two parallel planes, a fifth of all rows or more, in which
the fewest are inside.  It is searched on one half of the new rows and judged on the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from crepes import WrapRegressor
from kernsift import SubsetLSSVMRegressor
from mapie.regression import CrossConformalRegressor


def rows(n, rng):
    X = rng.uniform(-1, 1, (n, 2))
    noise = np.exp(1.5 * X[:, 1] - 1.5) * rng.standard_normal(n)
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + noise


rng = np.random.default_rng(7)
X, y = rows(800, rng)
X_new, y_new = rows(8000, rng)
model = SubsetLSSVMRegressor(gamma=0.5, max_basis=60, random_state=0)

# %%
# Four ways to intervals of 90 %, around the same predictions.

mapie = CrossConformalRegressor(model, confidence_level=0.9, cv=10, random_state=0)
mapie.fit_conformalize(X, y)
crepes = WrapRegressor(model)
crepes.fit(X[:600], y[:600])
crepes.calibrate(X[600:], y[600:])
found = {
    "MAPIE, jackknife+": mapie.predict_interval(X_new)[1][:, :, 0].T,
    "crepes, 200 rows held out": crepes.predict_int(X_new, confidence=0.9).T,
    'ours, noise="constant"': model.set_params(noise="constant").fit(X, y).predict_interval(X_new),
    'ours, noise="auto"': model.set_params(noise="auto").fit(X, y).predict_interval(X_new),
}


# %%
# Directions are drawn at random; cuts are tenths of the rows along each.


def worst_slab(X, inside, directions=100):
    rng = np.random.default_rng(0)
    half = rng.random(len(X)) < 0.5
    worst, chosen = 1.0, np.ones(len(X), dtype=bool)
    for direction in rng.standard_normal((directions, X.shape[1])):
        along = X @ direction
        cuts = np.quantile(along, np.linspace(0, 1, 11))
        for i in range(9):
            for j in range(i + 2, 11):
                slab = (along >= cuts[i]) & (along <= cuts[j])
                if inside[slab & half].mean() < worst:
                    worst, chosen = inside[slab & half].mean(), slab
    return inside[chosen & ~half].mean()


slabs, widths = {}, {}
print(f"{'':28} inside  worst slab  mean width")
for name, (lower, upper) in found.items():
    inside = (lower <= y_new) & (y_new <= upper)
    slabs[name], widths[name] = worst_slab(X_new, inside), np.mean(upper - lower)
    print(f"{name:28} {inside.mean():6.3f}  {slabs[name]:10.3f}  {widths[name]:10.3f}")
*others, ours = slabs
assert slabs[ours] > 0.85 > max(slabs[name] for name in others)
assert widths[ours] < min(widths[name] for name in others)

# %%
# The model sees for itself that its noise depends on the input, and makes intervals narrow where
# it may.

tenth = np.digitize(X_new[:, 1], np.linspace(-0.8, 0.8, 9))
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
for name, (lower, upper) in found.items():
    inside = (lower <= y_new) & (y_new <= upper)
    style = "-" if "auto" in name else "--"
    left.plot([inside[tenth == t].mean() for t in range(10)], style, label=name)
    right.plot([np.mean((upper - lower)[tenth == t]) for t in range(10)], style, label=name)
left.axhline(0.9, color="0.6", linewidth=0.8)
left.set(xlabel="tenth of the second column", ylabel="new rows inside")
right.set(xlabel="tenth of the second column", ylabel="mean width")
right.legend(fontsize=7)
figure.tight_layout()
plt.show()
