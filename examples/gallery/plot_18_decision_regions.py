"""
Four classifiers, three problems
================================

The same rows, four families of this package and the support vector classifier beside them: what
they decide, and where they put their kernels.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import LSSVMClassifier, OnlineLSSVMClassifier, OROLSClassifier, SparseLSSVMClassifier
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

COLOURS = ListedColormap(["#0072b2", "#e69f00", "#009e73", "#cc79a7"])  # Okabe and Ito's
WHITE = {"facecolor": "w", "edgecolor": "none", "alpha": 0.8, "pad": 1}
problems = {
    "moons": make_moons(1200, noise=0.25, random_state=7),
    "circles": make_circles(1200, noise=0.15, factor=0.5, random_state=7),
    "blobs": make_blobs(1200, centers=4, cluster_std=1.6, random_state=3),
}
models = {
    "SVC": SVC(gamma=1.0),
    "LSSVM": LSSVMClassifier(gamma=1.0, alpha="loo"),
    "Online": OnlineLSSVMClassifier(gamma=1.0, max_basis=25),
    "OROLS": OROLSClassifier(gamma=1.0, basis="shared", max_basis=25),
    "Sparse (isls)": SparseLSSVMClassifier(gamma=1.0, alpha="loo", max_basis=25),
}

# %%
# Four hundred rows to learn, eight hundred to judge.  In the corner stand the error and the number
# of kernels.

figure, axes = plt.subplots(len(problems), len(models), figsize=(8, 5.4), layout="constrained")
errors, kernels = np.empty(axes.shape), np.empty(axes.shape, int)
for i, (problem, (X, y)) in enumerate(problems.items()):
    X = StandardScaler().fit_transform(X)
    across = np.linspace(-2.6, 2.6, 100)
    grid = np.column_stack([g.ravel() for g in np.meshgrid(across, across)])
    for j, (name, model) in enumerate(models.items()):
        model.fit(X[:400], y[:400])
        centres = model.support_vectors_ if name == "SVC" else model.basis_vectors_
        errors[i, j], kernels[i, j] = (np.mean(model.predict(X[400:]) != y[400:]), len(centres))
        ax = axes[i, j]
        levels = np.arange(y.max() + 2) - 0.5
        ax.contourf(
            across,
            across,
            model.predict(grid).reshape(100, 100),
            levels=levels,
            cmap=COLOURS,
            vmin=0,
            vmax=3,
            alpha=0.35,
        )
        ax.scatter(*X[:400].T, c=y[:400], s=3, cmap=COLOURS, vmin=0, vmax=3)
        if name != "LSSVM":  # there every row is one
            ax.plot(*centres.T, "o", color="w", markeredgecolor="k", markersize=4)
        ax.text(
            0.97,
            0.03,
            f"{errors[i, j]:.1%}, {kernels[i, j]}",
            transform=ax.transAxes,
            ha="right",
            fontsize=8,
        ).set_bbox(WHITE)
        ax.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), xticks=[], yticks=[])
        if i == 0:
            ax.set_title(name, fontsize=10)
    axes[i, 0].set_ylabel(problem)
plt.show()

# %%
# With a fraction of the kernels the sparse models err as rarely as the others, to within what 800
# rows can tell.

print(f"{'mean of the three':<16}{'error':>8}{'kernels':>9}")
for name, error, size in zip(models, errors.mean(axis=0), kernels.mean(axis=0), strict=True):
    print(f"{name:<16}{error:>8.1%}{size:>9.0f}")
assert (kernels[:, 2:] <= 25).all()
assert (kernels[:, :2] > 50).all()
assert np.ptp(errors.mean(axis=0)) < 0.01
