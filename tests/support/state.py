"""What the papers name, from the arrays that a stream is saved as."""

from __future__ import annotations

from typing import Any

import numpy as np


def inverse_P(core: Any) -> np.ndarray:
    """P^-1 of the papers' normal equations P = K'VK + alpha K: L^-T C L^-1 in orthonormal coordinates."""
    state, m = core.state(), core.n_basis
    C = state["inverse"][-m:, -m:]
    if "factor" not in state:  # the explicit engine keeps P^-1 itself
        return C
    if "inverse_scale" in state:
        C = state["inverse_scale"].item() * (C + state["inverse_shift"].item() * np.eye(m))
    L_inverse = np.linalg.inv(np.tril(state["factor"]))
    return L_inverse.T @ C @ L_inverse
