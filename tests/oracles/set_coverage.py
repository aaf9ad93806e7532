"""The bound of a stream's sets from the probabilities of the own classes said before each row, literally."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])
MEMORY, STEP, MOST = 0.99, 0.03, 20.0


def bounds(own: Array) -> Array:
    """Log odds against a class up to which it is in a set: before each row and after the last, (rows + 1, levels)."""
    squares = counted = 1.0
    bound = np.log(LEVELS / (1 - LEVELS))
    out = [bound]
    for p in own:
        with np.errstate(divide="ignore"):
            z = np.clip(np.log((1 - p) / p), -MOST, MOST)
        bound = bound + STEP * max(1.0, np.sqrt(squares / counted)) * (LEVELS - (z <= bound))
        squares, counted = MEMORY * squares + z**2, MEMORY * counted + 1
        out.append(bound)
    return np.array(out)
