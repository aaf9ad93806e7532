"""The rows of a fit in canonical form: independent of their order and of how repetitions are written.

Rows stand in the order of a key that depends on the values and a seed alone; rows that repeat are one row with their
weights added.  Everything computed from this form has the same bits for permuted rows, and for one row of weight two
as for that row twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import _core
from .arrays import Array
from .kernel import SCALE_FREE
from .memory import ROW_VECTORS, check_memory
from .validation import check_some_weight


@dataclass(frozen=True)
class Canonical:
    """Distinct rows of positive weight, in the order of their keys."""

    which: NDArray[np.int64]  # a row of X for each, the first that is equal
    weight: Array  # weights of the equal rows, added
    group: NDArray[np.int64]  # for each used row of X its place here
    used: NDArray[np.int64]  # rows of X of positive weight

    def mean(self, weight: Array, targets: Array) -> Array:
        """Weighted mean of the targets of equal rows."""
        v = weight[self.used]
        sums = [np.bincount(self.group, weights=v * t) for t in targets[self.used].T]
        return np.ascontiguousarray(np.stack(sums, axis=1) / self.weight[:, None])


@dataclass(frozen=True)
class Table:
    """Rows and targets of a fit in canonical form: rows equal in both are one."""

    X: Array
    targets: Array
    weight: Array
    rows: NDArray[np.int64]  # the first row of the caller's table for each
    group: NDArray[np.int64]  # for each of the caller's rows its place here, -1 for weight zero
    begins: NDArray[np.bool_]  # where X differs from the row before
    given: Array  # the caller's X
    n_weighted: int  # the caller's rows of positive weight
    seed: int
    scale_free: bool = False  # whether the random order is that of columns multiplied by anything
    log_weights: float = 0.0  # sum of log weight over the caller's rows of positive weight

    @cached_property
    def distinct(self) -> Canonical:
        """Distinct rows of X, whatever their targets, in the random order of the seed."""
        which = np.flatnonzero(self.begins)
        order = np.argsort(_keys(self.X, self.seed, self.scale_free)[which], kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        weight = np.add.reduceat(self.weight, which)
        return Canonical(which[order], weight[order], place[np.cumsum(self.begins) - 1], np.arange(len(self.X)))

    def as_canonical(self) -> Canonical:
        """The distinct rows in the random order, as numbers of the caller's rows of positive weight."""
        rows, used = self.distinct, np.flatnonzero(self.group >= 0)
        first = np.minimum.reduceat(self.rows, np.flatnonzero(self.begins))
        place = np.cumsum(self.begins) - 1
        return Canonical(first[place[rows.which]], rows.weight, rows.group[self.group[used]], used)

    def indices(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first of the caller's rows that are equal, whatever their targets; -1 stays."""
        first = np.minimum.reduceat(self.rows, np.flatnonzero(self.begins))[np.cumsum(self.begins) - 1]
        return np.where(places < 0, -1, first[places])


def sum_of_logs(weight: Array) -> float:
    """Sum of the logarithms of positive weights, the same in any order."""
    return math.fsum(np.log(weight[(weight > 0) & (weight != 1)]).tolist())


def draw_seed(random_state: Any) -> int:
    """Draw the seed of a fit."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def canonical_rows(X: Array, weight: Array, seed: int, scale_free: bool = False) -> Canonical:
    """Return the distinct rows in canonical order, without a copy of X."""
    if scale_free:
        return canonical_table(X, np.zeros((len(X), 1)), weight, seed, scale_free=True).as_canonical()
    used = np.flatnonzero(weight > 0)
    order, begins, _ = _in_order(X, None, weight, used, seed)
    starts = np.flatnonzero(begins)
    group = np.empty(len(used), dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    rows = used[order]
    return Canonical(np.minimum.reduceat(rows, starts), np.add.reduceat(weight[rows], starts), group, used)


def canonical_table(
    X: Array, targets: Array, weight: Array, seed: int = 0, *, scale_free: bool = False, gamma: Any = None
) -> Table:
    """Return rows and targets in canonical form; the seed is that of random choices among them, not of their order.

    Both are free of the scales of the columns where that is requested, or where gamma is.
    """
    scale_free = scale_free or (isinstance(gamma, str) and gamma in SCALE_FREE)
    used = np.flatnonzero(weight > 0)
    if not len(used):
        check_some_weight(weight)
    (n, d), outputs = X.shape, targets.shape[1]
    order, begins, pairs = _in_order(X, targets, weight, used, 0, scale_free)
    check_memory(n * (d + outputs + ROW_VECTORS), f"{n} rows in canonical order", "fit on a subset of the rows")
    starts = np.flatnonzero(pairs)
    ordered = used[order]
    rows = np.minimum.reduceat(ordered, starts)
    group = np.full(n, -1, dtype=np.int64)
    group[ordered] = np.cumsum(pairs) - 1
    total = np.add.reduceat(weight[ordered], starts)
    logs = sum_of_logs(weight)
    return Table(X[rows], targets[rows], total, rows, group, begins[starts], X, len(used), seed, scale_free, logs)


def _keys(X: Array, seed: int, scale_free: bool) -> NDArray[np.uint64]:
    """Keys of rows: of their values and a seed.

    Where they are to be free of scale, values are taken in units of their column's range and rounded to single
    precision, which removes the rounding of a change of units.
    """
    if not scale_free:
        return _core.row_keys(X, seed)
    low, high = X.min(axis=0), X.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = ((X - low) / np.where(high > low, high - low, 1.0)).astype(np.float32)
    return _core.row_keys(rounded.astype(np.float64), seed)


def _in_order(
    X: Array, targets: Array | None, weight: Array, used: NDArray[np.int64], seed: int, scale_free: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the used rows in order, where a new row begins, and where a new pair of row and targets begins.

    Within a pair the weights ascend, so that their sum has the same bits in any order of the rows.
    """

    def keys_of(values: Array) -> NDArray[np.uint64]:
        keys = _core.row_keys(values, seed)
        return keys if len(used) == len(keys) else keys[used]

    def new(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return np.concatenate([[True], keys[1:] != keys[:-1]])

    keys = keys_of(X)
    places = _keys(X if len(used) == len(X) else X[used], seed, True) if scale_free else keys
    order = np.lexsort((keys, places)) if scale_free else np.argsort(keys, kind="stable")
    begins = new(keys[order])
    if begins.all():  # nothing repeats
        return order, begins, begins
    labels = np.zeros_like(keys) if targets is None else keys_of(targets)
    order = np.lexsort((weight[used], labels, keys, places))
    begins = new(keys[order])
    return order, begins, begins | new(labels[order])
