"""One test per erratum of the paper 000 (`JP`: Jung & Polani); `test_errata_slides.py` has those of 001, their slides.

Each shows the printed form wrong and the corrected one right, in numbers, against a direct solution of
the least squares problem (8).  Where the erratum is one of notation, the corrected statement is what is
tested, and the test says so.  These are statements about the papers, without the package; the last section then
compares what the package computes with the same corrected values.

Everything is in long double where the machine has it.  The printed formulas are evaluated as they stand,
with explicit inverses and their cancellations (Delta_b is the difference of numbers 1e4 times larger):
that leaves about 1e-11 there and 1e-8 in plain double.
"""

from __future__ import annotations

from typing import Any

import kernsift
import numpy as np
import pytest
from oracles import EXTENDED, Array
from support.growing_step import EXACT, KERNEL, Candidate, Pruned, basis_of, candidates, inverse, off, stream
from support.state import inverse_P as inverse_P_of
from support.streams import PLAIN

# ---- 000-1: Delta_b in (14) --------------------------------------------------------------------------------


def test_JP_14_printed_delta_b_is_wrong(light: list[Candidate]) -> None:
    """000-1.  Delta_b is a Schur complement of a positive definite matrix; the printed one is mostly
    negative."""
    printed = np.array([c.printed_Delta_b() for c in light])
    truth = np.array([c.Delta_b for c in light])
    assert len(light) > 40
    assert (truth > 0).all()
    assert (printed < 0).mean() > 0.5
    assert np.median(abs(printed - truth) / truth) > 5


def test_JP_14_printed_delta_b_is_wrong_at_a_large_ridge() -> None:
    """000-1 at alpha = 1: positive, and tens of percent off."""
    heavy = candidates(1.0)
    wrong = np.array([abs(c.printed_Delta_b() - c.Delta_b) / c.Delta_b for c in heavy])
    assert np.median(wrong) > 0.1
    assert max(off(c.corrected_Delta_b(), c.Delta_b) for c in heavy) < EXACT


def test_JP_13_is_the_least_squares_problem(grown: Candidate) -> None:
    """(13) taken literally is what `Candidate` solves; its Delta_b cancels from q'q, hence the tolerance."""
    c = grown
    b = c.design.T @ c.q + c.alpha * c.k
    w_b = c.P_inverse @ b
    assert off(w_b, c.w_b) < 1e-6
    assert off(c.q @ c.q + c.alpha * c.k_star - b @ w_b, c.Delta_b) < (1e-6 if EXTENDED else 1e-2)


def test_JP_14_corrected_delta_b_is_the_schur_complement(light: list[Candidate]) -> None:
    """000-1.  With delta/Delta in place of delta, (14) is (13)."""
    for c in light:
        assert off(c.corrected_Delta_b(), c.Delta_b) < EXACT


def test_JPs_grow_delta_b(light: list[Candidate]) -> None:
    """000-1.  What the slides print, delta^2/Delta + lambda delta, is (13)."""
    for c in light:
        assert off(c.slides_Delta_b(), c.Delta_b) < EXACT


def test_JP_14_derivation_uses_one_over_Delta(grown: Candidate) -> None:
    """000-1.  The step of the derivation the printed form misses: 1 - k'P_t^-1 k = 1/Delta."""
    c = grown
    after = 1 - c.k @ c.P_inverse @ c.k
    assert off(after, 1 / c.Delta) < EXACT
    assert off(c.delta**2 * after + c.alpha * c.delta, c.Delta_b) < EXACT


def test_JP_14_w_b_is_right(light: list[Candidate]) -> None:
    """000-1.  The other half of (14), w_b = a + (delta/Delta) P_{t-1}^-1 k, holds as printed."""
    for c in light:
        assert off(c.a + c.delta / c.Delta * (c.P_before_inverse @ c.k), c.w_b) < EXACT


def test_JP_14_printed_delta_b_rejects_useful_candidates(light: list[Candidate]) -> None:
    """000-1.  Inside the admission rule delta kappa^2 Delta_b > TOL2 a negative Delta_b never passes."""
    useful = [c for c in light if c.delta * c.usefulness() > 1e-4]
    refused = 0
    for c in useful:
        printed = c.printed_Delta_b()
        kappa = c.delta * c.rho / (c.Delta * printed)
        refused += not c.delta * kappa**2 * printed > 1e-4
    assert len(useful) > 20
    assert refused > len(useful) / 3


# ---- 000-2: kappa ------------------------------------------------------------------------------------------


def test_JP_15_kappa(light: list[Candidate]) -> None:
    """000-2.  kappa as printed is right with the right Delta_b, wrong with the printed one, and
    simplifies."""
    far = 0
    for c in light:
        truth = c.y @ (c.q - c.design @ c.w_b) / c.Delta_b  # the definition below (15)
        numerator = -c.delta * (c.k @ c.beta_before) / c.Delta + (c.k_star - c.k @ c.w_b) * c.y[-1]
        # y - k'beta cancels in the numerator: the error is against the terms, not against their sum
        scale = abs(c.delta * (c.k @ c.beta_before) / c.Delta) / c.Delta_b + abs(truth)
        for kappa in (
            numerator / c.Delta_b,
            c.delta * c.rho / (c.Delta * c.Delta_b),
            c.rho / (c.delta + c.alpha * c.Delta),
            c.grown_beta[-1],
        ):
            assert abs(kappa - truth) < EXACT * scale
        far += abs(numerator / c.printed_Delta_b() - truth) > 0.5 * abs(truth)
    assert far > len(light) / 2


def test_JP_15_coefficients_after_growing(grown: Candidate) -> None:
    """(15) with that kappa is the minimiser of the grown problem."""
    c = grown
    kappa = c.rho / (c.delta + c.alpha * c.Delta)
    assert off(np.append(c.beta, 0) + kappa * np.append(-c.w_b, 1), c.grown_beta) < EXACT


def test_JP_16_usefulness(light: list[Candidate]) -> None:
    """000-2.  kappa^2 Delta_b = delta rho^2/(Delta (delta + alpha Delta)): the difference of the minimal
    costs."""
    for c in light:
        kappa = c.rho / (c.delta + c.alpha * c.Delta)
        use = c.delta * c.rho**2 / (c.Delta * (c.delta + c.alpha * c.Delta))
        # the difference of two costs has their rounding
        assert abs(use - c.usefulness()) < EXACT * c.cost(c.design, c.K, c.beta)
        assert off(kappa**2 * c.Delta_b, use) < EXACT


def test_JPs_usefulness(light: list[Candidate]) -> None:
    """001-3.  The slides' delta^2 rho^2/(Delta_b Delta^2) is right as printed."""
    for c in light:
        slides = c.delta**2 * c.rho**2 / (c.Delta_b * c.Delta**2)
        assert off(slides, c.delta * c.rho**2 / (c.Delta * (c.delta + c.alpha * c.Delta))) < EXACT


# ---- 000-3 .. 000-6: the pruning step ----------------------------------------------------------------------


def test_JP_17_printed_pruning_vector_is_wrong(pruned: Pruned) -> None:
    """000-3.  [u; -1][u; -1]'/u* leaves a last row and column that should vanish; [u; u*] does not."""
    P_inverse, _, _ = pruned.without(pruned.m - 1)
    full = pruned.state.grown_P_inverse
    u, u_star = full[:-1, -1], full[-1, -1]
    printed = full - np.outer(np.append(u, -1), np.append(u, -1)) / u_star
    corrected = full - np.outer(np.append(u, u_star), np.append(u, u_star)) / u_star

    assert off(printed[:-1, :-1], P_inverse) < EXACT  # the block the paper keeps is right
    assert abs(printed[-1]).max() > 0.1 * abs(full[-1]).max()  # what it says is zero is not
    assert abs(corrected[-1]).max() < EXACT * abs(full).max()
    assert abs(corrected[:, -1]).max() < EXACT * abs(full).max()
    assert off(corrected[:-1, :-1], P_inverse) < EXACT


def test_JP_17_w_b_has_the_other_sign(pruned: Pruned) -> None:
    """000-3.  Read back from P^-1, w_b = -u/u*, not u/u*; Delta_b = 1/u* as printed."""
    c, full = pruned.state, pruned.state.grown_P_inverse
    u, u_star = full[:-1, -1], full[-1, -1]
    assert off(-u / u_star, c.w_b) < EXACT
    assert off(u / u_star, c.w_b) > 1
    assert off(1 / u_star, c.Delta_b) < EXACT


def test_JP_18_printed_coefficients_are_wrong(pruned: Pruned) -> None:
    """000-4.  beta + (b*/u*)[u; -1] is not the minimiser without the last kernel; beta - (b*/u*)[u; u*]
    is."""
    _, beta, _ = pruned.without(pruned.m - 1)
    c = pruned.state
    u, u_star, b_star = c.grown_P_inverse[:-1, -1], c.grown_P_inverse[-1, -1], c.grown_beta[-1]
    printed = c.grown_beta + b_star / u_star * np.append(u, -1)
    corrected = c.grown_beta - b_star / u_star * np.append(u, u_star)
    # the printed sign moves the coefficients as far in the wrong direction
    move = abs(c.grown_beta[:-1] - beta).max()
    assert abs(printed[:-1] - beta).max() > 1.9 * move > 1e-3
    assert abs(printed[-1]) > 1e-3 * abs(b_star)
    assert off(corrected[:-1], beta) < EXACT
    assert abs(corrected[-1]) < EXACT * abs(beta).max()


def test_JP_19_score_is_the_increase_of_the_cost(pruned: Pruned) -> None:
    """000-5.  (19) and eps_i = beta_i^2/P^-1_ii are right as printed, for every i."""
    c = pruned.state
    full = c.cost(c.grown, c.grown_K, c.grown_beta)
    scores = c.grown_beta**2 / np.diag(c.grown_P_inverse)
    for i in range(pruned.m):
        _, _, cost = pruned.without(i)
        # the difference of two costs has their rounding
        assert abs(cost - full - scores[i]) < EXACT * cost


def test_JP_17_deleting_any_element_needs_no_swap(pruned: Pruned) -> None:
    """000-3, 000-4 for arbitrary i: column i of P^-1 in the place of the last, then drop i."""
    c = pruned.state
    for i in range(0, pruned.m, 7):
        P_inverse, beta, _ = pruned.without(i)
        u = c.grown_P_inverse[:, i]
        keep = np.arange(pruned.m) != i
        assert off((c.grown_P_inverse - np.outer(u, u) / u[i])[np.ix_(keep, keep)], P_inverse) < EXACT
        assert off((c.grown_beta - u * c.grown_beta[i] / u[i])[keep], beta) < EXACT


def test_JP_pruning_needs_a_downdate_of_the_inverse_kernel_matrix(pruned: Pruned) -> None:
    """000-6.  Section 3.3 swaps and truncates K_mm; what is stored is K_mm^-1, where that is wrong."""
    K = pruned.state.grown_K
    stored = inverse(K)
    i, m = pruned.m // 2, pruned.m
    order = np.arange(m)
    order[[i, m - 1]] = order[[m - 1, i]]  # swap i and m
    swapped_K, swapped = K[np.ix_(order, order)], stored[np.ix_(order, order)]
    truth = inverse(swapped_K[:-1, :-1])
    assert off(swapped[:-1, :-1], truth) > 0.1  # swapped and truncated
    v = swapped[:, -1]
    assert off((swapped - np.outer(v, v) / v[-1])[:-1, :-1], truth) < EXACT


# ---- 000-7 .. 000-11 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["JP", "JPs"])
def test_JP_14_time_index(light: list[Candidate], source: str) -> None:
    """000-7, 001-2.  The growing step of an example follows its own normal step: beside k_{t+1},
    "P_{t-1}^-1" is the matrix just before that normal step.  Neither the matrix after it nor the one a row
    earlier gives (13)."""
    late = light[len(light) // 2 :]
    wrong_after, wrong_earlier = [], []
    for c in late:

        def step(P_inverse: Array, c: Candidate = c) -> tuple[Array, float]:
            Delta = 1 + c.k @ P_inverse @ c.k
            w_b = c.a + c.delta / Delta * (P_inverse @ c.k)
            ratio = c.delta / Delta
            if source == "JPs":
                return w_b, c.delta * ratio + c.alpha * c.delta
            return w_b, (
                c.k_star**2
                + c.alpha * c.delta
                - 2 * ratio * (c.k_star - c.delta)
                - ratio**2 * (c.k @ P_inverse @ c.k)
                - (w_b @ c.k) ** 2
            )

        w_b, Delta_b = step(c.P_before_inverse)
        assert off(w_b, c.w_b) < EXACT
        assert off(Delta_b, c.Delta_b) < EXACT
        wrong_after.append(off(step(c.P_inverse)[1], c.Delta_b))
        wrong_earlier.append(off(step(c.inverse_P(c.design_before[:-1]))[1], c.Delta_b))
    assert np.median(wrong_after) > 0.1
    assert np.max(wrong_earlier) > 1e-3 > EXACT


def test_JP_6_sizes(grown: Candidate) -> None:
    """000-8 (notation; the corrected statements).  K~ K_mm^-1 K~' approximates K and a_i is a column; as
    printed, K_tm' K_mm^-1 K_tm, the sizes do not fit."""
    c = grown
    t, m = c.design.shape
    assert t != m
    with pytest.raises(ValueError, match="matmul"):
        c.design.T @ inverse(c.K) @ c.design
    # the subset itself is reproduced exactly by the corrected order
    assert off(c.K @ inverse(c.K) @ c.K.T, c.K) < EXACT
    # rows a_i' = (K_mm^-1 k_m(x_i))' give K_tm = A K_mm
    A = (inverse(c.K) @ c.design.T).T
    assert A.shape == (t, m)
    assert off(A @ c.K, c.design) < EXACT


def test_JP_12_multiplies_a_column(grown: Candidate) -> None:
    """000-8 (notation).  q' = [(K~_{t-1,m} a)', k*], and (15) follows from (12) times the column [K~'y;
    q'y]."""
    c = grown
    assert c.q.shape == (len(c.design),)
    with pytest.raises(ValueError, match="matmul"):
        c.design_before.T @ c.a  # as printed
    w = np.append(-c.w_b, 1)
    padded = np.zeros_like(c.grown_P_inverse)
    padded[:-1, :-1] = c.P_inverse
    updated = padded + np.outer(w, w) / c.Delta_b  # (12)
    assert off(updated, c.grown_P_inverse) < EXACT
    column = np.append(c.design.T @ c.y, c.q @ c.y)
    assert off(updated @ column, c.grown_beta) < EXACT


def test_JP_admission_is_announced_in_two_parts_and_given_as_one() -> None:
    """000-9.  delta kappa^2 Delta_b > TOL2 (the paper) and delta > TOL1, kappa^2 Delta_b > TOL2
    (announced, and the slides') are different rules: each takes candidates the other leaves."""
    TOL1, TOL2 = 1e-2, 1e-4  # the paper's
    unit = 5  # of y: TOL2 is absolute, the usefulness has the unit of y^2
    measured = [(c.delta, unit**2 * c.usefulness()) for c in candidates(1e-2, n=150, novelty_tol=2e-3)]
    paper = {i for i, (delta, use) in enumerate(measured) if delta * use > TOL2}
    announced = {i for i, (delta, use) in enumerate(measured) if delta > TOL1 and use > TOL2}
    assert paper - announced
    assert announced - paper


def dictionary_size(X: Array, y: Array, gamma: float, alpha: float, rule: str) -> int:
    """Kernels admitted by a rule with TOL1 = 1e-2, TOL2 = 1e-4 (absolute): (11), (12), (14) as corrected."""
    basis, K_inverse, P_inverse, beta = X[:0], np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        k = np.exp(-gamma * ((basis - x) ** 2).sum(axis=1))
        a, g = K_inverse @ k, P_inverse @ k
        delta, Delta, rho = 1 - k @ a, 1 + k @ g, target - k @ beta
        use = delta * rho**2 / (Delta * (delta + alpha * Delta))
        P_inverse = P_inverse - np.outer(g, g) / Delta
        beta = beta + g * rho / Delta
        value = {"paper": delta * use, "slides": use, "per sample": delta * use / t}[rule]
        if delta > 1e-2 and value > 1e-4:
            m = len(basis)
            w, z = np.append(-a - delta / Delta * g, 1.0), np.append(-a, 1.0)
            P_inverse = np.pad(P_inverse, (0, 1)) + np.outer(w, w) / (delta**2 / Delta + alpha * delta)
            K_inverse = np.pad(K_inverse, (0, 1)) + np.outer(z, z) / delta
            beta = np.append(beta, 0.0) + rho / (delta + alpha * Delta) * w
            basis = np.vstack([basis, x])
            assert len(basis) == m + 1
    return len(basis)


def test_JP_admission_literal_rules_do_not_give_table_1() -> None:
    """000-9.  Sinc of table 1 (paper: 11.06 kernels; KRLS 14.36): with the absolute TOL2 = 1e-4 both
    printed rules take about as many as KRLS; dividing the usefulness by t takes fewer."""
    sizes: dict[str, list[int]] = {"paper": [], "slides": [], "per sample": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-10, 10, 1000)
        y = np.sinc(x / np.pi) + 0.2 * rng.standard_normal(1000)
        X = ((x - x.mean()) / x.std())[:, None]
        for rule, found in sizes.items():
            found.append(dictionary_size(X, y, gamma=4.2, alpha=0.1, rule=rule))
    assert np.mean(sizes["paper"]) > 12.5
    assert np.mean(sizes["slides"]) > 12.5
    assert np.mean(sizes["per sample"]) < 11.5


def test_JP_14_is_cheap_only_with_a_and_g(grown: Candidate) -> None:
    """000-10 (a statement of cost; the corrected one).  "w_b, Delta_b in O(m)" needs a = K^-1 k and g =
    P_{t-1}^-1 k of the same step, O(m^2) each; from the two vectors and k alone the rest is O(m)."""

    def from_vectors(a: Array, g: Array, k: Array, k_star: float, alpha: float) -> tuple[Array, float]:
        delta, Delta = k_star - k @ a, 1 + k @ g
        return a + delta / Delta * g, delta**2 / Delta + alpha * delta

    c = grown
    w_b, Delta_b = from_vectors(c.a, c.P_before_inverse @ c.k, c.k, c.k_star, c.alpha)
    assert off(w_b, c.w_b) < EXACT
    assert off(Delta_b, c.Delta_b) < EXACT


def test_JP_8_empty_start() -> None:
    """000-11 (missing in the paper).  The formulas with empty sums start the model: delta = k*, Delta = 1,
    rho = y, so beta_1 = y/(k* + alpha), P^-1 = 1/(k*(k* + alpha)) and xi = alpha y^2/(k* + alpha); a
    rejected first example leaves xi = y^2 and a zero row."""
    alpha, k_star, y = 0.3, 1.7, np.array([0.8, -0.4])
    delta, Delta, rho = k_star, 1.0, y[0]
    kappa = rho / (delta + alpha * Delta)
    Delta_b = delta**2 / Delta + alpha * delta

    P = k_star**2 + alpha * k_star  # (8) for one row, one column
    beta = k_star * y[0] / P
    cost = (y[0] - k_star * beta) ** 2 + alpha * k_star * beta**2
    assert kappa == pytest.approx(beta, rel=1e-14)
    assert 1 / Delta_b == pytest.approx(1 / P, rel=1e-14)
    assert y[0] ** 2 - kappa**2 * Delta_b == pytest.approx(cost, rel=1e-13)
    assert alpha * y[0] ** 2 / (k_star + alpha) == pytest.approx(cost, rel=1e-13)

    # first rejected (xi = y_0^2), second admitted: K~ = [0; k*]
    design, K = np.array([[0.0], [k_star]]), np.array([[k_star]])
    beta_2 = np.linalg.solve(design.T @ design + alpha * K, design.T @ y)[0]
    cost_2 = ((y - design[:, 0] * beta_2) ** 2).sum() + alpha * k_star * beta_2**2
    assert y[1] / (k_star + alpha) == pytest.approx(beta_2, rel=1e-14)
    assert y[0] ** 2 + alpha * y[1] ** 2 / (k_star + alpha) == pytest.approx(cost_2, rel=1e-13)


# ---- the package, on the same streams ----------------------------------------------------------------------

ENGINES = ("inverse", "orthonormal")
# Rounding, 2e-16, times the condition of P^-1, up to 1.4e8 here, times a small number of steps.
IN_DOUBLE = 1e-7


def learned(engine: str, rows: int, novelty_tol: float = 1e-2) -> Any:
    """The package's model of the rows of `stream`: no constant, every novel row a kernel."""
    X, y = (part[:rows].astype(np.float64) for part in stream(250))
    model = kernsift.OnlineLSSVMRegressor(
        gamma=0.5, alpha=1e-2, novelty_tol=novelty_tol, admission="novelty", fit_intercept=False, max_basis=None,
        exact_rows=0, engine=engine, **PLAIN,
    )  # fmt: skip
    return model.partial_fit(X, y)


@pytest.mark.parametrize("engine", ENGINES)
def test_JP_14_and_JP_15_the_package_grows_by_the_corrected_form(grown: Candidate, engine: str) -> None:
    """000-1 and 000-2: P^-1, the coefficients and the cost after the growing step of the last candidate."""
    c = grown
    core = learned(engine, len(c.y))._core
    assert core.n_basis == len(c.grown_beta)
    assert off(inverse_P_of(core), c.grown_P_inverse) < IN_DOUBLE
    assert off(core.coef[:, 0], c.grown_beta) < IN_DOUBLE
    assert off(core.cost, c.cost(c.grown, c.grown_K, c.grown_beta)) < IN_DOUBLE
    w = np.append(-c.w_b, 1)
    printed = np.pad(c.P_inverse, (0, 1)) + np.outer(w, w) / c.printed_Delta_b()
    assert off(inverse_P_of(core), printed) > 1e-2


@pytest.mark.parametrize("engine", ENGINES)
def test_JP_17_JP_18_and_JP_19_the_package_prunes_by_the_corrected_form(pruned: Pruned, engine: str) -> None:
    """000-3 to 000-5: which kernel is removed, and P^-1, the coefficients and the cost without it."""
    c = pruned.state
    core = learned(engine, len(c.y), novelty_tol=0.1)._core
    weakest = int(np.argmin(c.grown_beta**2 / np.diag(c.grown_P_inverse)))
    before = core.indices
    core.prune(pruned.m - 1)
    P_inverse, beta, cost = pruned.without(weakest)
    assert core.indices.tolist() == np.delete(before, weakest).tolist()
    assert off(inverse_P_of(core), P_inverse) < IN_DOUBLE
    assert off(core.coef[:, 0], beta) < IN_DOUBLE
    assert off(core.cost, cost) < IN_DOUBLE


@pytest.mark.parametrize("engine", ENGINES)
def test_JPs_augmented_variance_of_the_package(grown: Candidate, engine: str) -> None:
    """001-4: w'Cw and delta, of which the augmented variance is alpha w'Cw + delta."""
    c, (X, _) = grown, stream(20, seed=5)
    basis = basis_of(c)
    core = learned(engine, len(c.y))._core
    variance = core.variance(np.ascontiguousarray(X, dtype=np.float64))[:, 0]
    augmented = core.alpha * (variance / core.noise_variance - 1)
    for i, x in enumerate(X):
        k = KERNEL(basis, x[None])[:, 0]
        a = inverse(c.grown_K) @ k
        # the terms of delta, which cancel, are as large as k(x, x) = 1
        assert abs(augmented[i] - (core.alpha * k @ c.grown_P_inverse @ k + 1 - k @ a)) < IN_DOUBLE
