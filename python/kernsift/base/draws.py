"""Random numbers: `random_state` as everything here that draws takes it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def random_numbers(random_state: Any) -> np.random.RandomState:
    """Return what draws; scikit-learn's rules, and a Generator, whose own bits are drawn, so that it goes on."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    drawing: np.random.RandomState = check_random_state(random_state)
    return drawing
