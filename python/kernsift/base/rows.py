"""Checked rows of a table or a stream."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array


class Rows(NamedTuple):
    """Rows to learn, checked."""

    X: Array
    targets: Array  # (n, outputs)
    weight: Array

    def part(self, which: slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[which], self.targets[which], self.weight[which])

    def at(self, which: slice | NDArray[np.intp]) -> Rows:
        """Return some of the rows, in arrays of their own order."""
        return Rows(*(np.ascontiguousarray(part[which]) for part in self))

    def after(self, first: Rows | None) -> Rows:
        """Return these rows after others."""
        return self if first is None else Rows(*(np.concatenate(pair) for pair in zip(first, self, strict=True)))

    @property
    def n_weighted(self) -> int:
        """Rows of positive weight."""
        return int(np.count_nonzero(self.weight > 0))
