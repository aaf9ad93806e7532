"""Order-recursive orthogonal least squares with a ridge by generalised cross-validation (Andelić et al. 2006).

The row of the largest residual joins; columns after the best score are popped again.
"""

from __future__ import annotations

import numpy as np
from kernsift import OROLSRegressor
from kernsift.blocks import Kernel, PseudoInverse

rng = np.random.default_rng(5)
X = rng.uniform(-3, 3, (300, 1))
y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(300)
n, patience = len(X), 10

K = Kernel("rbf", gamma=1.0)
columns = PseudoInverse(n, n_unpenalised=1)  # the bias carries no penalty
columns.append(np.ones(n))  # K₁ = 1
chosen, ridge, best = [], 0.0, (columns.gcv(y), 0, 0.0)
while len(chosen) - best[1] < patience:
    residual = np.abs(columns.residual(y, ridge=ridge))  # (25)
    residual[chosen] = -1.0
    chosen.append(int(residual.argmax()))
    columns.append(K(X, X[chosen[-1]]))  # (10), (17)-(20)
    low = 1e-6 * columns.decomposition().h[1:].max()
    ridge = max(ridge, low)
    for _ in range(50):
        before, ridge = ridge, max(columns.reestimate(y, ridge=ridge), low)  # (29)-(31)
        if abs(ridge - before) <= 1e-6 * ridge:
            break
    score = columns.gcv(y, ridge=ridge)  # (27)
    if score < best[0] * (1 - 1e-4):
        best = score, len(chosen), ridge
while columns.size > 1 + best[1]:
    columns.pop()
rows, coef = chosen[: best[1]], columns.solve(y, ridge=best[2])  # (26)

model = OROLSRegressor(gamma=1.0, patience=patience).fit(X, y)
assert rows == model.basis_indices_.tolist()
assert np.abs(coef[0] + K.expand(X, X[rows], coef[1:]) - model.predict(X)).max() <= 1e-10
print(f"{len(rows)} of {n} rows, ridge {best[2]:.2g}, as the estimator's")
