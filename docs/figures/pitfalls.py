"""Four ways to spoil a good model: features on unlike scales, a wrong width, sorted rows, repeated rows."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE, plain, rmse
from kernsift import OnlineLSSVMRegressor, SubsetLSSVMRegressor
from kernsift.datasets import waves

X, y = waves(3000, random_state=7)
X_new, y_new = waves(3000, random_state=8, noise=0)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3.1))

gammas = np.logspace(-3, 3, 13)
for stretch, colour, style, label in (
    (1.0, BLUE, "o-", "both of standard deviation 1.7"),
    (30.0, ORANGE, "s--", "one of them × 30"),
):
    scale = np.array([1.0, stretch])
    errors = [
        rmse(
            SubsetLSSVMRegressor(gamma=g, max_basis=100, random_state=0).fit(X * scale, y).predict(X_new * scale), y_new
        )
        for g in gammas
    ]
    left.loglog(gammas, errors, style, color=colour, label=label)
left.set(xlabel="gamma", ylabel="error (RMSE to the truth)", title="width and scaling", ylim=(0.05, 4))
plain(left.yaxis, [0.05, 0.1, 0.3, 1])
left.legend(fontsize=7, loc="upper center")

order = np.argsort(X[:, 0])
for rows, colour, style, label in ((slice(None), BLUE, "-", "shuffled"), (order, ORANGE, "--", "sorted by a feature")):
    model, errors, seen = OnlineLSSVMRegressor(gamma=0.5, max_basis=60), [], []
    for start in range(0, 3000, 150):
        model.partial_fit(X[rows][start : start + 150], y[rows][start : start + 150])
        seen.append(start + 150)
        errors.append(rmse(model.predict(X_new), y_new))
    middle.semilogy(seen, errors, style, color=colour, label=label)
middle.set(xlabel="rows seen", title="order of the rows, 60 kernels", ylim=(0.05, 2))
plain(middle.yaxis, [0.1, 0.3, 1])
middle.legend(fontsize=8)

rng = np.random.default_rng(9)
copies = [1, 3, 10, 30, 100]
same = [
    SubsetLSSVMRegressor(gamma=0.5, max_basis=100, random_state=0).fit(np.repeat(X[:300], c, 0), np.repeat(y[:300], c))
    for c in copies
]
right.semilogx(copies, [m.noise_variance_ for m in same], "o-", color=BLUE, label="noise variance found")
right.axhline(0.09, color=GREY, linewidth=0.8, label="true noise variance")
plain(right.xaxis, copies)
right.set(xlabel="copies of each of 300 rows", title="repeated rows", ylim=(0, 0.12))
right.legend(fontsize=8, loc="lower left")
