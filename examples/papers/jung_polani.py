"""The online LS-SVM of Jung & Polani (2006): growing, pruning and variance over kernsift.blocks.

(14) and (18) are those of the errata in the documentation.
"""

from __future__ import annotations

import numpy as np
from kernsift import OnlineLSSVMRegressor
from kernsift.blocks import Kernel, SymmetricInverse

rng = np.random.default_rng(3)
X = rng.uniform(-3, 3, (400, 2))
y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(400)
alpha, tol1, tol2, m_max = 0.1, 1e-2, 1e-4, 30

K = Kernel("rbf", gamma=0.5)
K_inv, P_inv, beta, xi = SymmetricInverse(), SymmetricInverse(), np.zeros(0), 0.0
D, rows = X[:0], []  # the dictionary and its row numbers
for t, (x, target) in enumerate(zip(X, y, strict=True)):
    k = K(x, D)
    a, g = K_inv.apply(k), P_inv.apply(k)  # (4)
    delta = 1.0 - k @ a  # (3), k(x, x) = 1
    Delta, rho = 1.0 + k @ g, target - k @ beta
    P_inv.update(k)  # (9)
    beta, xi = beta + rho / Delta * g, xi + rho**2 / Delta  # (11)
    w_b = a + delta / Delta * g  # (14), g before the row
    Delta_b = delta * (delta / Delta + alpha)  # (14)
    kappa = rho / (delta + alpha * Delta)  # (15)
    if delta <= tol1 or delta * kappa**2 * Delta_b <= tol2 * np.var(y[: t + 1]):  # the end of section 3.2
        continue
    P_inv.border(w_b, Delta_b)  # (12)
    K_inv.border(a, delta)  # (12)
    beta, xi = np.append(beta - kappa * w_b, kappa), xi - kappa**2 * Delta_b  # (15), (16)
    D, rows = np.vstack([D, x]), [*rows, t]
    if len(rows) > m_max:
        scores = beta**2 / P_inv.diagonal()  # (19)
        i = int(np.flatnonzero(scores <= scores.min() * (1 + 1e-9))[0])  # the oldest of equal ones
        u = P_inv.to_dense()[i]
        beta, xi = np.delete(beta - beta[i] / u[i] * u, i), xi + scores[i]  # (18), (19)
        P_inv.delete(i)  # (17)
        K_inv.delete(i)
        D, rows = np.delete(D, i, 0), [*rows[:i], *rows[i + 1 :]]

k = K(X, D)
mean = k @ beta
distance = 1.0 - np.einsum("ij,ij->i", k, K_inv.apply(k))
std = np.sqrt(xi / len(X) * (P_inv.quadratic(k) + distance / alpha + 1.0))  # their slides: augmented by the new row

model = OnlineLSSVMRegressor(
    gamma=0.5, alpha=alpha, novelty_tol=tol1, usefulness_tol=tol2, max_basis=m_max, fit_intercept=False,
    admission="product", swap_until=None, exact_rows=0, forgetting=1.0, linear=False, noise="constant",
).fit(X, y)  # fmt: skip
expected, expected_std = model.predict(X, return_std=True)
assert rows == model.basis_indices_.tolist()
assert np.abs(mean - expected).max() <= 1e-10
assert np.abs(std - expected_std).max() <= 1e-10
print(f"{len(rows)} of {len(X)} rows, standard deviations {std.min():.3f} to {std.max():.3f}, as the estimator's")
