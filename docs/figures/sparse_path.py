"""Pruning a dense LS-SVM: leave-one-out error against kernels left, two methods."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE, plain, rmse
from kernsift import LSSVMRegressor, SparseLSSVMRegressor

rng = np.random.default_rng(7)
X = rng.uniform(-10, 10, (250, 1))
y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(250)
X_new = np.linspace(-10, 10, 1000)[:, None]
truth = np.sinc(X_new[:, 0] / np.pi)
figure, axes = plt.subplots(figsize=(6, 3.3))
for method, colour, style in (("isls", BLUE, "-"), ("sls", ORANGE, "--")):
    model = SparseLSSVMRegressor(method=method, gamma=0.1, alpha=0.1, max_basis=None).fit(X, y)
    sizes = [int(m) for m in model.path_["n_basis"] if m <= 120]
    errors = [rmse(model.at_size(m).predict(X_new), truth) for m in sizes]
    axes.loglog(sizes, errors, style, color=colour, label=f'method="{method}"')
dense = LSSVMRegressor(gamma=0.1, alpha=0.1).fit(X, y)
axes.axhline(
    rmse(dense.predict(X_new), truth), color=GREY, linewidth=0.9, linestyle=":", label="a kernel on all 250 rows"
)
plain(axes.xaxis, [1, 2, 5, 10, 20, 50, 100])
axes.set(xlabel="kernels kept", ylabel="error (RMSE to the truth)")
axes.legend(fontsize=8)
