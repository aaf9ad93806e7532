"""One test per erratum of the slides of Jung & Polani (`JPs`), as in `test_errata.py`."""

from __future__ import annotations

import numpy as np
from support.growing_step import EXACT, KERNEL, Candidate, Pruned, basis_of, inverse, inverse_P, off, stream


def test_JPs_prune_printed_vector_is_wrong(pruned: Pruned) -> None:
    """001-1.  [P^-1(1:m-1, m); -1] as in (17): the matrix is not [[P^-1, 0], [0, 0]]."""
    P_inverse, _, _ = pruned.without(pruned.m - 1)
    full = pruned.state.grown_P_inverse
    left = np.zeros_like(full)
    left[:-1, :-1] = P_inverse
    column = full[:, -1].copy()
    printed = column.copy()
    printed[-1] = -1
    assert off(full - np.outer(printed, printed) / full[-1, -1], left) > 0.01
    assert off(full - np.outer(column, column) / full[-1, -1], left) < EXACT


def test_JPs_design_extension(grown: Candidate) -> None:
    """001-3.  The extension of the design on the slides is right: its column is q of (13)."""
    c = grown
    extended = np.block([[c.design_before, (c.design_before @ c.a)[:, None]], [c.k[None], np.full((1, 1), c.k_star)]])
    assert off(extended, c.grown) < EXACT


def test_JPs_augmented_variance(grown: Candidate) -> None:
    """001-4 (formula missing on the slides).  Augment the design by the query x itself, column K~ a(x):
    the variance of the enlarged subset of regressors at x is alpha k'P^-1 k + delta(x); without
    augmentation delta is missing."""
    c, (X, _) = grown, stream(20, seed=5)
    basis = basis_of(c)
    for x in X:
        k = KERNEL(basis, x[None])[:, 0]
        a = inverse(c.grown_K) @ k
        delta = 1 - k @ a
        design = np.hstack([c.grown, (c.grown @ a)[:, None]])
        K = np.block([[c.grown_K, k[:, None]], [k[None], np.ones((1, 1), k.dtype)]])
        k_all = np.append(k, 1)
        batch = c.alpha * k_all @ inverse_P(design, K, c.alpha) @ k_all
        plain = c.alpha * k @ c.grown_P_inverse @ k
        assert off(plain + delta, batch) < EXACT
    far = np.full((1, 2), 50.0, dtype=k.dtype)
    k = KERNEL(basis, far)[:, 0]
    assert c.alpha * k @ c.grown_P_inverse @ k < 1e-10  # far away the plain variance vanishes; the prior is 1
    assert off(1 - k @ inverse(c.grown_K) @ k, 1) < 1e-10


def test_JPs_augmented_variance_with_the_latest_row_exact(grown: Candidate) -> None:
    """001-4, as the slides' design extension has it: the column of the query is K~_{t-1} a(x) and k(x_t,
    x) in the latest row (x_t took a normal step).  With eps = k(x_t, x) - k_t'a, h_t = P_t^-1 k_t, s_t =
    k_t'h_t, e_t = y_t - k_t'beta, Delta* = alpha delta + eps^2 (1 - s_t), r = delta - eps k'h_t: mean =
    k'beta + eps e_t r/Delta*, variance = alpha (k'P_t^-1 k + r^2/Delta*)."""
    c, (X, _) = grown, stream(20, seed=6)
    basis, latest = basis_of(c)[:-1], basis_of(c)[-1:]
    for x in X:
        k, k_latest = KERNEL(basis, x[None])[:, 0], KERNEL(latest, x[None])[0, 0]
        a = inverse(c.K) @ k
        delta, eps = 1 - k @ a, k_latest - c.k @ a
        column = np.append(c.design_before @ a, k_latest)
        design = np.hstack([c.design, column[:, None]])
        K = np.block([[c.K, k[:, None]], [k[None], np.ones((1, 1), k.dtype)]])
        P_inverse = inverse_P(design, K, c.alpha)
        k_all = np.append(k, 1)
        batch_mean = k_all @ P_inverse @ design.T @ c.y
        batch_variance = c.alpha * k_all @ P_inverse @ k_all

        h = c.P_inverse @ c.k
        Delta_star = c.alpha * delta + eps**2 * (1 - c.k @ h)
        r = delta - eps * (k @ h)
        mean = k @ c.beta + eps * (c.y[-1] - c.k @ c.beta) * r / Delta_star
        variance = c.alpha * (k @ c.P_inverse @ k + r**2 / Delta_star)
        assert abs(mean - batch_mean) < EXACT
        assert off(variance, batch_variance) < EXACT
