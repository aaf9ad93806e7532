"""LSTD(λ) with a kernel (Jung & Polani's slides), on a walk along a line, over kernsift.blocks.

P = ZᵀH + αK is not symmetric: its inverse U grows by two different borders.
"""

from __future__ import annotations

import numpy as np
from kernsift import KernelLSTD
from kernsift.blocks import Kernel, SymmetricInverse, UnsymmetricInverse

rng = np.random.default_rng(4)
steps = rng.normal(0, 0.3, (600, 1))
S = np.clip(np.cumsum(np.sign(rng.standard_normal((600, 1))) * np.abs(steps), axis=0) % 6 - 3, -3, 3)
S_next = np.clip(S + rng.normal(0.2, 0.3, (600, 1)), -3, 3)
r = -(S[:, 0] ** 2)
start = np.arange(600) % 50 == 0
alpha, discount, decay, nu = 0.1, 0.9, 0.5, 1e-2

K = Kernel("rbf", gamma=1.0)
K_inv, U, w, z = SymmetricInverse(), UnsymmetricInverse(), np.zeros(0), np.zeros(0)
D = S[:0]
for s, reward, s_next, begins in zip(S, r, S_next, start, strict=True):
    k = K(s, D)
    h = k - discount * K(s_next, D)
    z = k if begins else discount * decay * z + k  # the eligibility trace
    Uz, rho = U.apply(z), reward - h @ w
    w = w + rho / (1 + h @ Uz) * Uz  # normal step
    U.update(z, h)
    for x in (s, s_next):
        k_x, k_here = K(x, D), float(K(x, s))
        a = K_inv.apply(k_x)
        delta = 1.0 - k_x @ a
        if delta <= nu:
            continue
        Uz, hU = U.apply(z), U.apply(h, transpose=True)  # after the row: those before it, over Δ
        delta_p = k_here - discount * float(K(x, s_next)) - a @ h
        delta_q = k_here - a @ K(s, D)
        Delta_b = delta_q * delta_p * (1 - h @ Uz) + alpha * delta
        kappa = delta_q * (reward - h @ w) / Delta_b
        w_b, v_b = a + delta_p * Uz, a + delta_q * hU
        U.border(w_b, v_b, Delta_b)  # growing step
        K_inv.border(a, delta)
        w = np.append(w - kappa * w_b, kappa)
        z = np.append(z, a @ z + delta_q)
        h = np.append(h, k_here - discount * float(K(x, s_next)))
        D = np.vstack([D, x])

model = KernelLSTD(
    gamma=1.0, alpha=alpha, discount=discount, trace_decay=decay, novelty_tol=nu, admission="novelty", max_basis=None
)
model.partial_fit(S, r, S_next, start=start)
assert np.array_equal(D, model.basis_vectors_)
assert np.abs(K.expand(S, D, w) - model.predict(S)).max() <= 1e-10 * np.abs(model.predict(S)).max()
print(f"{len(D)} kernels, values {K.expand(S, D, w).min():.1f} to {K.expand(S, D, w).max():.1f}, as the estimator's")
