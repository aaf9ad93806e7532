"""What the errors of the last rows tell of the next: everything from the lists of all rows at every step.

A row is predicted from what is known when it comes and learned when its target does, `delay` rows
later. Constants are those of the definition in cpp/core/stream/error_forecast.hpp.
"""

from __future__ import annotations

import numpy as np

from .kernels import Array

KEPT, MEMORY, MEAN_KEPT, RIDGE, OUTLIER, LEAST_GAIN, DOUBT = 0.998, 500, 0.95, 5.0, 5.0, 0.01, 4.0


def discounted(values: list, kept: float) -> Array:
    """Sum of kept^(rows since) times each value."""
    return sum((kept ** (len(values) - 1 - i) * value for i, value in enumerate(values)), 0.0 * values[0])


def running_mean(values: list[float]) -> float:
    """A mean that is ordinary up to MEMORY rows, and then forgets by one part in MEMORY."""
    mean = 0.0
    for i, value in enumerate(values):
        mean += (value - mean) / min(i + 1, MEMORY)
    return mean


def in_part(size: float, most: float) -> float:
    """Weight of a square of that size."""
    return (most / size) ** 2 if size > most else 1.0


def corrected_predictions(predicted: Array, targets: Array, weight: Array, delay: int = 0) -> Array:
    """The predictions (n, outputs) of a stream with the errors foretold, from those without."""
    each = [foretold_errors(p, y, weight, delay) for p, y in zip(predicted.T, targets.T, strict=True)]
    gains = sum(gain for _, gain in each)
    return predicted + np.column_stack([error for error, _ in each]) / (1 + np.exp(DOUBT - gains))[:, None]


def foretold_errors(predicted: Array, targets: Array, weight: Array, delay: int) -> tuple[Array, Array]:
    """Of one output: the error foretold for each row, and what the trust in it is made of, when it is predicted."""
    errors, gaps, signs, foretold, learned = [], [], [], [], []
    said: dict[int, tuple[Array, float]] = {}
    out, gains = np.zeros(len(predicted)), np.zeros(len(predicted))
    for step in range(len(predicted) + delay):
        if step < len(predicted):
            z, coefficients = np.zeros(3), np.zeros(3)
            if learned:
                cut = [np.sqrt(running_mean([e**2 for e in errors[: i + 1]])) * OUTLIER for i in range(len(errors))]
                last = [float(np.clip(e, -c, c)) for e, c in zip(errors, cut, strict=True)]
                gap = OUTLIER * np.sqrt(running_mean([g**2 for g in gaps]))
                z = np.array([last[-1], (1 - MEAN_KEPT) * discounted(last, MEAN_KEPT),
                              np.clip(targets[learned[-1]] - predicted[step], -gap, gap)])  # fmt: skip
                coefficients, gains[step] = fitted(errors, signs, foretold)
            out[step] = float(coefficients @ z)
            said[step] = z, out[step]
        row = step - delay
        if row < 0 or not weight[row] > 0:
            continue
        z, error = said[row]
        if not learned:  # of the first row nothing was known: it has no error
            said[row] = z, error = np.zeros(3), 0.0
            predicted = predicted.copy()
            predicted[row] = targets[row]
        gaps.append(targets[learned[-1]] - predicted[row] if learned else 0.0)
        errors.append(targets[row] - predicted[row])
        signs.append(z)
        foretold.append(error)
        learned.append(row)
    return out, gains


def fitted(errors: list[float], signs: list[Array], foretold: list[float]) -> tuple[Array, float]:
    """Coefficients of the signs, and the gain in log likelihood by what they foretold."""
    ordinary, squares, products, plain, corrected = [], [], [], [], []
    for error, z, said in zip(errors, signs, foretold, strict=True):
        scale = running_mean([e**2 for e in ordinary])
        most = OUTLIER * np.sqrt(scale) if scale > 0 else np.inf
        part = in_part(max(abs(error), float(np.abs(z).max())), most)
        squares.append(part * np.outer(z, z))
        products.append(part * error * z)
        part = in_part(max(abs(error), abs(error - said)), most)
        plain.append(part * error**2)
        corrected.append(part * (error - said) ** 2)
        ordinary.append(float(np.clip(error, -most, most)))
    scale = running_mean([e**2 for e in ordinary])
    if not scale > 0 or not discounted(plain, KEPT) > 0:
        return np.zeros(3), 0.0
    coefficients = np.linalg.solve(discounted(squares, KEPT) + RIDGE * scale * np.eye(3), discounted(products, KEPT))
    gain = (1 - LEAST_GAIN) * discounted(plain, KEPT) / discounted(corrected, KEPT)
    return coefficients, min(len(errors), MEMORY) / 2 * float(np.log(gain))
