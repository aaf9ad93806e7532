"""The width of a stream's intervals from the errors and standard deviations said before each row, literally."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
NORMAL = (0.6744897501960817, 1.2815515655446004, 1.6448536269514722, 1.959963984540054, 2.5758293035489004)
MEMORY, STEP, MOST, ROUNDING = 0.99, 0.03, 25.0, 1e-24


def widths(errors: Array, std: Array) -> Array:
    """Standard deviations to either side before each row and after the last, (rows + 1, levels)."""
    squares, counted = [1.0], [1.0]  # as if one error had been as large as predicted
    bounds = [np.array(NORMAL)]
    out = [np.array(NORMAL)]
    for error, deviation in zip(errors, std, strict=True):
        scale = np.sqrt(squares[-1] / counted[-1])
        bound = bounds[-1]
        if deviation**2 > ROUNDING * error**2:
            score = abs(error) / deviation / scale
            hit = score <= bound
            bound = bound * np.exp(STEP * (np.array(LEVELS) - hit))
            squares.append(MEMORY * squares[-1] + min(score**2, MOST) * scale**2)
            counted.append(MEMORY * counted[-1] + 1.0)
        bounds.append(bound)
        out.append(np.sqrt(squares[-1] / counted[-1]) * bound)
    return np.array(out)
