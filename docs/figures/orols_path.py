"""The path of a forward selection: training error, GCV and the error on new rows."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE, rmse
from kernsift import OROLSRegressor

rng = np.random.default_rng(7)
X = rng.uniform(-10, 10, (200, 1))
y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(200)
X_new = np.linspace(-10, 10, 2000)[:, None]
truth = np.sinc(X_new[:, 0] / np.pi)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1))
full = OROLSRegressor(gamma=0.1, stop=None, max_basis=40, max_condition=1e7).fit(X, y)
stopped = OROLSRegressor(gamma=0.1).fit(X, y)
steps = np.arange(len(full.gcv_path_))
left.semilogy(steps, full.error_path_, color=GREY, linestyle=":", label="mean squared training error")
left.semilogy(steps, full.gcv_path_, color=BLUE, label="GCV")
sizes = range(1, full.n_basis_ + 1)
new = [rmse(OROLSRegressor(gamma=0.1, stop=None, max_basis=m).fit(X, y).predict(X_new), truth) ** 2 for m in sizes]
left.semilogy(sizes, new, color=ORANGE, linestyle="--", label="squared error to the truth")
left.axvline(stopped.n_basis_, color="0.6", linewidth=0.8)
left.set(xlabel="kernels", title=f"stop='gcv' keeps {stopped.n_basis_}")
left.legend(fontsize=8)
right.plot(X[:, 0], y, ".", color="0.7", markersize=3)
right.plot(X_new[:, 0], stopped.predict(X_new), color=BLUE)
right.plot(stopped.basis_vectors_[:, 0], np.full(stopped.n_basis_, -0.55), "^", color=ORANGE, label="kernels chosen")
right.set(xlabel="x", title="the model", ylim=(-0.65, 1.35))
right.legend(fontsize=8)
