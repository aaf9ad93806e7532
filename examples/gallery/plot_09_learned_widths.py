"""
One width for each feature
==========================

A kernel with one width treats all features alike, and each feature that says nothing blurs those
that do.  ``gamma="learn"`` finds a width for each by the gradient of the leave-one-out error
(:func:`kernsift.learn_gamma`), and switches off what is not needed.
:class:`kernsift.display.WidthsDisplay` shows what it found.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMRegressor
from kernsift.display import WidthsDisplay

NOISE = 0.3
NAMES = ["fast", "line", "product a", "product b", *(f"nothing {i}" for i in range(1, 9))]
rng = np.random.default_rng(7)


def draw(n):
    X = rng.uniform(-1, 1, (n, len(NAMES)))
    truth = np.sin(5 * X[:, 0]) + 1.5 * X[:, 1] + 2 * X[:, 2] * X[:, 3]
    return X, truth, truth + NOISE * rng.standard_normal(n)


X, _, y = draw(1500)
X_new, truth, _ = draw(2000)

# %%
# The same hundred kernels, once with the best single width, once with one width a feature.

best_of_one = min(
    (
        SubsetLSSVMRegressor(max_basis=100, gamma=g, random_state=0).fit(X, y)
        for g in (0.02, 0.05, 0.1, 0.2, 0.5)
    ),
    key=lambda model: np.mean((model.predict(X_new) - truth) ** 2),
)
learned = SubsetLSSVMRegressor(max_basis=100, gamma="learn", random_state=0).fit(X, y)


def error(model):
    return np.sqrt(np.mean((model.predict(X_new) - truth) ** 2))


print(f"distance to the truth: {error(best_of_one):.3f} with the best of five widths,")
print(f"{error(learned):.3f} with a learned one for each feature; the noise is {NOISE}")
assert error(learned) < error(best_of_one) / 2

# %%
# Relevance is a feature's part of the squared distance between two rows: how fast the function
# changes *along* it.  The straight line moves y more than the products do, but needs only a wide
# kernel, and ranks below them.  Here all that say nothing are switched off; with other rows one of
# the eight may keep a small part, for leave-one-out is an estimate too.

found = learned.learned_gamma_
order = np.argsort(-found["relevance"])
for j in order[:5]:
    print(f"{NAMES[j]:<10}{found['relevance'][j]:.3f}")
assert order[0] == 0
assert set(order[:4].tolist()) == {0, 1, 2, 3}
assert order[3] == 1
assert np.var(1.5 * X[:, 1]) > np.var(2 * X[:, 2] * X[:, 3])
assert set(found["switched_off"].tolist()) == set(range(4, len(NAMES)))

_, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
WidthsDisplay(relevance=found["relevance"], names=NAMES, switched_off=found["switched_off"]).plot(
    ax=left
)
left.set(xscale="log", title="relevance (grey: switched off)")
for model, style, label in ((best_of_one, "C1.", "one width"), (learned, "C0.", "a width each")):
    right.plot(
        truth[:500],
        model.predict(X_new[:500]),
        style,
        markersize=3,
        alpha=0.7,
        label=f"{label}: {error(model):.2f}",
    )
right.plot([-3, 3], [-3, 3], "k", linewidth=0.8)
right.set(xlabel="truth", ylabel="prediction", title="500 new rows, and the RMSE", aspect="equal")
right.legend(markerscale=3)
plt.show()
