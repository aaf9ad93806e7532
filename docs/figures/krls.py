"""Kernel RLS: size against error as the tolerance changes, with and without a ridge."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREEN, ORANGE, plain, rmse
from kernsift import KRLSRegressor, OnlineLSSVMRegressor
from kernsift.datasets import waves

X, y = waves(3000, random_state=7)
X_new, y_new = waves(3000, random_state=8, noise=0)
tols = np.logspace(-4, -0.3, 9)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1))
makers = {
    "KRLSRegressor()": (lambda tol: KRLSRegressor(gamma=0.5, novelty_tol=tol), ORANGE, "s--"),
    "KRLSRegressor(alpha=0.1)": (lambda tol: KRLSRegressor(gamma=0.5, novelty_tol=tol, alpha=0.1), GREEN, "^-."),
    "OnlineLSSVMRegressor()": (lambda tol: OnlineLSSVMRegressor(gamma=0.5, novelty_tol=tol), BLUE, "o-"),
}
for name, (make, colour, style) in makers.items():
    models = [make(float(tol)).fit(X, y) for tol in tols]
    errors = [rmse(m.predict(X_new), y_new) for m in models]
    left.loglog(tols, [m.n_basis_ for m in models], style, color=colour, label=name)
    right.loglog([m.n_basis_ for m in models], errors, style, color=colour)
left.set(xlabel="novelty_tol", ylabel="kernels")
left.legend(fontsize=8)
plain(left.yaxis, [20, 40, 80, 160])
plain(right.xaxis, [20, 40, 80, 160])
plain(right.yaxis, [0.06, 0.1, 0.2, 0.4])
right.set(xlabel="kernels", ylabel="error (RMSE to the truth)")
