"""Error against the number of kernels for some selectors."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREEN, GREY, ORANGE, PURPLE, plain, rmse
from kernsift import SubsetLSSVMRegressor

rng = np.random.default_rng(7)


def bumps(n):
    """Most rows where the function is flat, few where it moves."""
    X = rng.normal(size=(n, 2)) * np.where(rng.random(n) < 0.15, 3.0, 0.7)[:, None]
    return X, np.sin(np.linalg.norm(X, axis=1) * 2.5) * (np.linalg.norm(X, axis=1) > 1)


X, clean = bumps(4000)
y = clean + 0.1 * rng.standard_normal(4000)
X_new, y_new = bumps(4000)
sizes = [20, 40, 80, 160, 320]
styles = {
    "random": (GREY, "v:"),
    "kmeans": (GREEN, "^-."),
    "efvs": (PURPLE, "D--"),
    "online": (ORANGE, "s--"),
    "pruned": (BLUE, "o-"),
}
figure, axes = plt.subplots(figsize=(6, 3.4))
for name, (colour, style) in styles.items():
    errors = [
        np.mean(
            [
                rmse(
                    SubsetLSSVMRegressor(basis=name, gamma=0.7, max_basis=m, random_state=s).fit(X, y).predict(X_new),
                    y_new,
                )
                for s in (3, 5, 8)
            ]
        )
        for m in sizes
    ]
    axes.loglog(sizes, errors, style, color=colour, label=f'basis="{name}"')
plain(axes.xaxis, sizes)
plain(axes.yaxis, [0.15, 0.2, 0.3])
axes.set(xlabel="kernels (max_basis)", ylabel="error (RMSE to the truth)")
axes.legend(fontsize=8)
