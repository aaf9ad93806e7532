"""Learned widths: which features count, and the error as useless ones join."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE, rmse
from kernsift import SubsetLSSVMRegressor
from sklearn.datasets import make_friedman1

useless = [0, 5, 15, 30]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1))
errors = {"scale": [], "learn": []}
for extra in useless:
    X, y = make_friedman1(1500, n_features=5 + extra, noise=1.0, random_state=7)
    X_new, y_new = make_friedman1(2000, n_features=5 + extra, noise=0.0, random_state=8)
    for gamma, found in errors.items():
        model = SubsetLSSVMRegressor(gamma=gamma, max_basis=150, random_state=0).fit(X, y)
        found.append(rmse(model.predict(X_new), y_new))
relevance = model.learned_gamma_["relevance"]
left.bar(np.arange(1, 13), relevance[:12], color=[BLUE] * 5 + [GREY] * 7)
left.set(
    xlabel="feature (the first five matter)", ylabel="relevance", xticks=range(1, 13), title="35 features, 12 shown"
)
right.plot(useless, errors["scale"], "s--", color=ORANGE, label='gamma="scale"')
right.plot(useless, errors["learn"], "o-", color=BLUE, label='gamma="learn"')
right.set(xlabel="useless features", ylabel="error (RMSE to the truth)", ylim=(0, None))
right.legend(fontsize=8)
