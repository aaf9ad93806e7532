"""Whether the state of an online model is still what the mathematics says it must be, in words."""

from __future__ import annotations

from typing import Any

# Rounding a factor or inverse may gather before it counts as broken, relative to the largest entry.
_FACTOR_TOL = 1e-8
_INVERSE_TOL = 1e-2
_BOUND = 1 + 1e-6


def health(core: Any, engine: str, alpha: float, max_basis: int | None) -> dict[str, Any]:
    """Say what the numbers of a core's `soundness` mean; see :meth:`OnlineModel.health`."""
    found, m = core.soundness(), core.n_basis
    problems = [f"{name} holds NaN or infinity" for name in found["not_finite"]]
    facts: dict[str, Any] = {"sound": False, "problems": problems}
    if not problems:
        facts["kernel_condition"] = found["kernel_condition"]
        facts["kernel_error"] = found["kernel_error"]
        facts["inverse_condition"] = found["largest"] / found["smallest"] if found["smallest"] > 0 else float("inf")
        problems += _of_kernels(found, engine) + _of_inverse(found, engine, alpha)
        if found["least_cost"] < 0:
            problems.append(f"the cost is negative: {found['least_cost']:.3g}")
    if max_basis is not None and m > max_basis:
        problems.append(f"{m} kernels and max_basis={max_basis}")
    if found["counted"] != found["seen"]:
        problems.append(f"{found['seen']:.0f} rows seen and {found['counted']:.0f} counted")
    facts["sound"] = not problems
    return facts


def _of_kernels(found: dict[str, Any], engine: str) -> list[str]:
    problems = []
    what, tol = ("factor is not the factor", _FACTOR_TOL)
    if engine == "inverse":
        what, tol = "kernel_inverse is not the inverse", _INVERSE_TOL
    if found["kernel_error"] > tol:
        problems.append(f"{what} of the kernel matrix: off by {found['kernel_error']:.1e}")
    if found["distance_error"] > 1:
        problems.append(
            "the kernels are dependent up to rounding: the squared distance of a row to their span may be off by "
            f"{found['distance_error']:.1e} k(x, x)"
        )
    return problems


def _of_inverse(found: dict[str, Any], engine: str, alpha: float) -> list[str]:
    """[MATH 8.2] C is symmetric, positive definite, and by the ridge no larger than 1/alpha along a kernel."""
    problems = []
    if found["asymmetry"] > _FACTOR_TOL:
        problems.append("inverse is not symmetric")
    if found["smallest"] <= 0:
        problems.append(f"inverse is not positive definite: its smallest eigenvalue is {found['smallest']:.1e}")
    if engine != "inverse" and found["largest_along"] * alpha > _BOUND:
        along = found["largest_along"]
        problems.append(f"inverse exceeds what the ridge allows: {along:.3g} > 1/alpha = {1 / alpha:.3g}")
    return problems
