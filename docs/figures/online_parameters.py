"""Error and size of the online model against its three parameters."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, ORANGE, plain, rmse
from kernsift import OnlineLSSVMRegressor
from kernsift.datasets import waves

X, y = waves(4000, random_state=7)
X_new, y_new = waves(4000, random_state=8, noise=0)
figure, panels = plt.subplots(1, 3, figsize=(9, 3.1))
parameters = {
    "max_basis": [10, 20, 40, 80, 160, 320],
    "novelty_tol": np.logspace(-4, -0.3, 7),
    "usefulness_tol": np.logspace(-7, 0, 7),
}
for axes, (name, values) in zip(panels, parameters.items(), strict=True):
    base = {"gamma": 0.5, "max_basis": 400}
    models = (
        [OnlineLSSVMRegressor(**{**base, name: value}).fit(X, y) for value in map(float, values)]
        if (name != "max_basis")
        else [OnlineLSSVMRegressor(**{**base, name: value}).fit(X, y) for value in values]
    )
    axes.loglog(values, [rmse(m.predict(X_new), y_new) for m in models], "o-", color=BLUE)
    axes.set_xlabel(name)
    axes.tick_params(axis="y", labelcolor=BLUE)
    sizes = axes.twinx()
    sizes.loglog(values, [m.n_basis_ for m in models], "s--", color=ORANGE)
    sizes.tick_params(axis="y", labelcolor=ORANGE)
    sizes.spines["right"].set_visible(True)
    sizes.set_ylim(5, 600)
    axes.set_ylim(0.03, 1.5)
    plain(axes.yaxis, [0.03, 0.1, 0.3, 1])
    plain(sizes.yaxis, [5, 20, 80, 320] if name == "usefulness_tol" else [])
    if name == "max_basis":
        plain(axes.xaxis, [10, 40, 160])
        axes.set_ylabel("error (RMSE to the truth)", color=BLUE)
    if name == "usefulness_tol":
        sizes.set_ylabel("kernels", color=ORANGE)
