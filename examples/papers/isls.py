"""The improved sparse LS-SVM (ISLS, Cawley & Talbot 2002): remove kernels, keep all rows, over kernsift.blocks.

Removing a kernel is a deletion from the inverse of H = [K_S 1]ᵀ[K_S 1] + μ [K_SS 0; 0 0].
"""

from __future__ import annotations

import numpy as np
from kernsift import SparseLSSVMRegressor
from kernsift.blocks import Kernel, SymmetricInverse

rng = np.random.default_rng(2)
X = rng.uniform(-5, 5, (150, 2))
y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(150)
mu = 0.5  # l / (2γ)

K = Kernel("rbf", gamma=2.0)
K_SS, n = K(X, X), len(X)
design = np.column_stack([K_SS, np.ones(n)])
H = design.T @ design  # section 2: the normal equations of (3)
H[:n, :n] += mu * K_SS
H_inv = SymmetricInverse(H)
beta, kept, path = H_inv.apply(design.T @ y), list(range(n)), {}  # the bias is the last entry
while len(kept) > 10:
    i = int(np.abs(beta[:-1]).argmin())  # the smallest coefficient
    u = H_inv.to_dense()[i]
    beta = np.delete(beta - beta[i] / u[i] * u, i)
    H_inv.delete(i)
    kept = [*kept[:i], *kept[i + 1 :]]
    path[len(kept)] = kept, beta

model = SparseLSSVMRegressor(method="isls", pruning="coefficient", gamma=2.0, alpha=mu, max_basis=10).fit(X, y)
for size in (100, 50, 20, 10):
    kept, beta = path[size]
    small = model.at_size(size)
    assert kept == sorted(small.basis_indices_.tolist())
    assert np.abs(K.expand(X, X[kept], beta[:-1]) + beta[-1] - small.predict(X)).max() <= 1e-10
print(f"the path from {n} kernels to 10, as the estimator's")
