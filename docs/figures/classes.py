"""Probabilities against what comes, and where a set names two classes."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE
from kernsift import SubsetLSSVMClassifier
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_moons

X, y = make_moons(600, noise=0.35, random_state=0)
X_new, y_new = make_moons(20000, noise=0.35, random_state=1)
model = SubsetLSSVMClassifier(gamma=1.0, random_state=0).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1))
p = model.predict_proba(X_new)[:, 1]
tenth = np.minimum((10 * p).astype(int), 9)
left.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
left.plot([p[tenth == t].mean() for t in range(10)], [y_new[tenth == t].mean() for t in range(10)], "o-", color=BLUE)
left.set(xlabel="predict_proba", ylabel="part of the class among new rows")
a, b = np.meshgrid(np.linspace(-2, 3, 200), np.linspace(-1.7, 2.2, 160))
sets = model.predict_set(np.column_stack([a.ravel(), b.ravel()]), coverage=0.95)
right.pcolormesh(a, b, (sets[:, 1] + sets.sum(axis=1) - 1).reshape(a.shape), cmap=ListedColormap(["w", "0.92", "0.75"]))
for label, color in ((0, BLUE), (1, ORANGE)):
    right.plot(*X[y == label].T, ".", color=color, markersize=3)
right.set(title="dark: predict_set names both")
