"""The noise variance of a forward selection, which must count that the kernels were chosen by the targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..subset.state import GCV_TOLL

Array = NDArray[np.float64]

# Rows held out in so many parts, where there are few rows or the model spends more than so much of their freedom.
_PARTS, _FEW_ROWS, _HEAVY = 5, 200, 0.25


def design_of(kernels: list[_core.Kernel], X: Array, vectors: Array, widths: NDArray[Any], bias: int) -> Array:
    """[1 k(X, vectors)], each vector with the kernel of its width; the constant only with a bias."""
    design = np.ones((len(X), bias + len(vectors)))
    for g, kernel in enumerate(kernels):
        mine = np.flatnonzero(widths == g)
        if mine.size:
            design[:, bias + mine] = kernel.matrix(X, np.ascontiguousarray(vectors[mine]))
    return design


def noise_variance(
    found: dict[str, Any],
    kernels: list[_core.Kernel],
    rows: tuple[Array, Array, Array],
    allowed: NDArray[np.int64],
    bias: int,
    again: Callable[[tuple[Array, Array, Array], NDArray[np.int64], float], dict[str, Any]],
) -> Array:
    """Noise variance of each output.

    The least of many candidates fits the noise too: the residuals over the freedom left are far too small where rows
    are few. There the selection is made again without a fifth of the rows at a time, and the squared errors of that
    fifth count, each in units of its predicted variance. Elsewhere a degree of freedom counts as it does when GCV
    chooses a ridge: rows rss / (rows - 1.4 spent)².
    """
    n, spent = found["rows"], found["rows"] - found["trace"]
    if len(rows[0]) > 2 and (len(rows[0]) <= _FEW_ROWS or spent > _HEAVY * n):
        held_out = _held_out(n / rows[2].sum(), kernels, rows, allowed, bias, again)
        if held_out is not None:
            return held_out / n
    left = max(n - GCV_TOLL * spent, 0.5 * found["trace"], np.finfo(float).eps * n)
    return np.asarray(n * found["rss"] / left**2)


def _held_out(
    unit: float,  # rows that a weight of one stands for
    kernels: list[_core.Kernel],
    rows: tuple[Array, Array, Array],
    allowed: NDArray[np.int64],
    bias: int,
    again: Callable[[tuple[Array, Array, Array], NDArray[np.int64], float], dict[str, Any]],
) -> Array | None:
    X, Y, v = rows
    n = len(X)
    sums, part = np.zeros(Y.shape[1]), np.arange(n) % min(_PARTS, n)  # rows in canonical order: a random part
    for held in range(part.max() + 1):
        kept, out = np.flatnonzero(part != held), np.flatnonzero(part == held)
        candidates = np.searchsorted(kept, allowed[part[allowed] != held])
        if not len(candidates):
            return None
        found = again((X[kept], Y[kept], v[kept]), candidates, unit * v[kept].sum())
        m = found["n_basis"]
        design = design_of(kernels, X[out], X[kept[found["chosen"][:m]]], found["width"][:m], bias)
        weights = np.vstack([found["intercept"][None, :], found["coef"]]) if bias else found["coef"]
        variance = 1.0 + ((design @ found["spread"]) ** 2).sum(axis=1)
        sums += (v[out] / variance) @ (Y[out] - design @ weights) ** 2
    return sums
