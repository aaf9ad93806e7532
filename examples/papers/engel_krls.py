"""Kernel recursive least squares (Engel, Mannor & Meir 2004, figure 1) over kernsift.blocks.

The inverse of the dictionary's kernel matrix grows by a border, P = (AᵀA)⁻¹ by a one and by rows.
"""

from __future__ import annotations

import numpy as np
from kernsift import KRLSRegressor
from kernsift.blocks import Kernel, SymmetricInverse
from numpy.typing import NDArray

Array = NDArray[np.float64]


def krls(K: Kernel, X: Array, y: Array, nu: float) -> tuple[list[int], Array]:
    """The dictionary, as row numbers, and the coefficients of its kernels."""
    k11 = float(K(X[0], X[0]))
    K_inv, P = SymmetricInverse([[k11]]), SymmetricInverse(ridge=1.0, size=1)
    chosen, D, coef = [0], X[:1], y[:1] / k11
    for t in range(1, len(X)):
        k = K(X[t], D)  # k̃ₜ₋₁(xₜ)
        a = K_inv.apply(k)  # ãₜ = K̃⁻¹k̃
        delta = k11 - k @ a  # ALD test: δₜ = kₜₜ - k̃ᵀa
        error = y[t] - k @ coef
        if delta > nu:
            K_inv.border(a, delta)  # K̃ₜ⁻¹ = [δK̃⁻¹ + aaᵀ, -a; -aᵀ, 1] / δ
            P.grow(np.zeros(len(D)), 1.0)  # Pₜ = [P, 0; 0, 1]
            coef = np.append(coef - a * (error / delta), error / delta)  # α̃ₜ
            chosen, D = [*chosen, t], X[[*chosen, t]]
        else:
            P.update(a)  # Pₜ = P - qaᵀP
            coef += K_inv.apply(P.apply(a)) * error  # α̃ₜ = α̃ + K̃⁻¹q error, q = Pa / (1 + aᵀPa) = Pₜa
    return chosen, coef


if __name__ == "__main__":
    rng = np.random.default_rng(7)
    X = rng.uniform(-10, 10, (1000, 1))
    y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(1000)
    kernel = Kernel("rbf", gamma=0.1)
    chosen, coef = krls(kernel, X, y, nu=1e-3)

    model = KRLSRegressor(gamma=0.1, novelty_tol=1e-3).fit(X, y)
    assert chosen == model.basis_indices_.tolist()
    assert np.abs(kernel.expand(X, X[chosen], coef) - model.predict(X)).max() <= 1e-10
    print(f"{len(chosen)} kernels for {len(X)} rows, as the estimator's")
