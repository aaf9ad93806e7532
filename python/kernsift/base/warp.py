"""A metric of monotone curves, one a feature, in the place of widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core import Kernel
from ..io.plain import record
from .arrays import Array
from .validation import check_array


@record("Warp")
@dataclass(frozen=True, eq=False)
class Warp:
    """Monotone, piecewise linear functions w_j of the features: distances are taken between w(x), not between x.

    Give one as ``gamma``, wherever one width per feature may stand, to a kernel of a distance.  :func:`learn_gamma`
    with ``warp=True`` and ``gamma="warp"`` learn it.

    Parameters
    ----------
    knots : sequence of n_features sequences
        Increasing values of each feature.  A feature of one knot is switched off.
    slopes : sequence of n_features sequences
        How much w_j rises from each knot to the next: positive, one fewer than knots.  w_j is 0 up to the first knot
        and constant from the last: beyond the knots no row is further away.

    Attributes
    ----------
    knots, slopes : ndarray of shape (n_features, b + 1) and (n_features, b)
        b is the largest number of slopes; behind the last of a feature with fewer stands NaN.

    Examples
    --------
    >>> from kernsift import SubsetLSSVMRegressor, Warp
    >>> metric = Warp(knots=[[0, 1, 10], [0, 1]], slopes=[[2, 1], [0.5]])
    >>> metric.transform([[0.5, 0.5], [20.0, 1.0]]).tolist()
    [[1.0, 0.25], [3.0, 0.5]]
    >>> metric.inverse_transform([[1.0, 0.25]]).tolist()
    [[0.5, 0.5]]
    >>> knots, w = metric.curve(0)
    >>> w.tolist()
    [0.0, 2.0, 3.0]
    >>> SubsetLSSVMRegressor(gamma=metric).get_params()["gamma"] == metric
    True
    """

    knots: Any
    slopes: Any

    def __post_init__(self) -> None:
        knots, slopes = _padded(self.knots, "knots"), _padded(self.slopes, "slopes")
        if len(knots) != len(slopes):
            raise ValueError(f"Warp has knots of {len(knots)} features and slopes of {len(slopes)}: give both of each")
        wide = max(knots.shape[1] - 1, slopes.shape[1])
        knots, slopes = (_widened(part, k) for part, k in ((knots, wide + 1), (slopes, wide)))
        # the core checks the rest, and names the feature
        Kernel("rbf", np.ones(len(knots)), 1, 0.0, np.zeros(len(knots)), (knots, slopes))
        for name, part in (("knots", knots), ("slopes", slopes)):
            part.flags.writeable = False
            object.__setattr__(self, name, part)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.knots)

    def curve(self, feature: int) -> tuple[Array, Array]:
        """Return the knots of a feature and w there."""
        rises = self.slopes[feature][np.isfinite(self.slopes[feature])]
        return self.knots[feature][: len(rises) + 1], np.append(0.0, np.cumsum(rises))

    def transform(self, X: ArrayLike) -> Array:
        """Return w(X), (n_samples, n_features): a kernel with this metric is one with unit widths on it."""
        rows = check_array(X, dtype=np.float64)
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X has {rows.shape[1]} features and the warp {self.n_features}")
        return np.column_stack([np.interp(rows[:, j], *self.curve(j)) for j in range(self.n_features)])

    def inverse_transform(self, W: ArrayLike) -> Array:
        """Return rows with w(X) = W, between the knots."""
        rows = check_array(W, dtype=np.float64)
        curves = [self.curve(j)[::-1] for j in range(self.n_features)]
        return np.column_stack([np.interp(rows[:, j], *curve) for j, curve in enumerate(curves)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Warp):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs, equal_nan=True)
            for mine, theirs in ((self.knots, other.knots), (self.slopes, other.slopes))
        )

    def __hash__(self) -> int:
        return hash((self.knots.tobytes(), self.slopes.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Warp, (self.knots, self.slopes)

    def __repr__(self) -> str:
        return f"Warp({self.n_features} features, {int(np.isfinite(self.slopes).sum())} slopes)"


def widths_of(kernel: Kernel) -> Any:
    """The metric of a kernel: its widths, or its warp."""
    return kernel.gamma if kernel.warp is None else Warp(*kernel.warp)


def _padded(rows: Any, name: str) -> Array:
    """Rows of any lengths as an array, NaN behind the shorter ones."""
    if not isinstance(rows, (Sequence, np.ndarray)) or isinstance(rows, str) or not len(rows):
        raise ValueError(f"Warp: {name} needs one sequence of numbers a feature, got {rows!r}")
    try:
        parts = [np.asarray(row, dtype=np.float64) for row in rows]
    except (TypeError, ValueError):
        raise ValueError(f"Warp: {name} needs one sequence of numbers a feature") from None
    if any(part.ndim != 1 for part in parts):
        raise ValueError(f"Warp: {name} needs one sequence of numbers a feature")
    out = np.full((len(parts), max(map(len, parts))), np.nan)
    for row, part in zip(out, parts, strict=True):
        row[: len(part)] = part
    return out


def _widened(part: Array, width: int) -> Array:
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=np.nan)
