"""Whether the state of an online model is still what the mathematics says it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Rounding a factor or inverse may gather before it counts as broken, relative to the largest entry.
_FACTOR_TOL = 1e-8
_INVERSE_TOL = 1e-2
_BOUND = 1 + 1e-6


def health(core: Any, alpha: float, max_basis: int | None) -> dict[str, Any]:
    """Look at the arrays of a core; see :meth:`OnlineModel.health`."""
    state: dict[str, Array] = core.state()
    m = len(state["basis"])  # of one moment with the rest, whatever another thread learns
    K = core.kernel.matrix(state["basis"], state["basis"]) if m else np.zeros((0, 0))
    explicit = "kernel_inverse" in state
    problems = [f"{name} holds NaN or infinity" for name, values in state.items() if not np.isfinite(values).all()]
    facts: dict[str, Any] = {"sound": False, "problems": problems}
    if not problems:
        facts["kernel_condition"] = _condition(K)
        facts["kernel_error"] = _kernel_error(state, K, explicit)
        if facts["kernel_error"] > (_INVERSE_TOL if explicit else _FACTOR_TOL):
            what = "kernel_inverse is not the inverse" if explicit else "factor is not the factor"
            problems.append(f"{what} of the kernel matrix: off by {facts['kernel_error']:.1e}")
        if (error := _distance_error(state, K, explicit)) > 1:
            problems.append(
                "the kernels are dependent up to rounding: the squared distance of a row to their span may be off by "
                f"{error:.1e} k(x, x)"
            )
        facts["inverse_condition"] = _look_at_inverse(state["inverse"], K, alpha, explicit, problems)
        if (state["cost"] < 0).any():
            problems.append(f"the cost is negative: {state['cost'].min():.3g}")
    if max_basis is not None and m > max_basis:
        problems.append(f"{m} kernels and max_basis={max_basis}")
    counted, seen = int(state["counters"].sum()), int(state["rows_seen"].item())
    if counted != seen:
        problems.append(f"{seen} rows seen and {counted} counted")
    facts["sound"] = not problems
    return facts


def _condition(A: Array) -> float:
    return float(np.linalg.cond(A)) if A.size else 1.0


def _kernel_error(state: dict[str, Array], K: Array, explicit: bool) -> float:
    if not K.size:
        return 0.0
    if explicit:
        return float(np.abs(state["kernel_inverse"] @ K - np.eye(len(K))).max())
    L = state["factor"]
    return float(np.abs(L @ L.T - K).max() / np.abs(K).max())


def _distance_error(state: dict[str, Array], K: Array, explicit: bool) -> float:
    """Bound of what rounding adds to the squared distance of a row: eps sum_i K_ii (K^-1)_ii, relative to k(x, x)."""
    inverse = state["kernel_inverse"] if explicit else np.linalg.inv(state["factor"])
    squares = np.diag(inverse) if explicit else (inverse**2).sum(axis=0)
    return float(np.finfo(np.float64).eps * (np.diag(K) * squares).sum())


def _look_at_inverse(C: Array, K: Array, alpha: float, explicit: bool, problems: list[str]) -> float:
    """[MATH 8.2] C is symmetric, positive definite, and by the ridge no larger than 1/alpha along a kernel."""
    if not C.size:
        return 1.0
    if np.abs(C - C.T).max() > _FACTOR_TOL * np.abs(C).max():
        problems.append("inverse is not symmetric")
    values = np.linalg.eigvalsh((C + C.T) / 2)
    if values[0] <= 0:
        problems.append(f"inverse is not positive definite: its smallest eigenvalue is {values[0]:.1e}")
    along_kernels = np.diag(C)[len(C) - len(K) :]  # the constant, if there is one, comes first and has no ridge
    if not explicit and alpha > 0 and along_kernels.size and along_kernels.max() * alpha > _BOUND:
        problems.append(f"inverse exceeds what the ridge allows: {along_kernels.max():.3g} > 1/alpha = {1 / alpha:.3g}")
    return float(values[-1] / values[0]) if values[0] > 0 else float("inf")
