"""Which rows a choice is judged on: at random, the last ones, given ones, or groups of rows that stay together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.canonical import canonical_rows
from ..base.targets import Rows
from ..base.validation import did_you_mean

WAYS = ("random", "time")
# Fewer rows than this are cut into five parts, each held out once; of more a fifth is held out.
FEW_ROWS, PARTS = 2500, 5
# A choice needs this many rows.
TOO_FEW = 10

Indices = NDArray[np.intp]


class Split(NamedTuple):
    """Rows to learn from and rows to judge on."""

    train: Indices
    test: Indices


def splits(validation: Any, rows: Rows, seed: int, scale_free: bool) -> list[Split]:
    """Return the splits of rows of positive weight that a ``validation`` parameter describes.

    At random, rows that repeat are in one part, and the order of the rows has no effect.
    """
    used = np.flatnonzero(rows.weight > 0)
    if isinstance(validation, str):
        if validation not in WAYS:
            hint = did_you_mean(validation, WAYS)
            raise ValueError(f"validation={validation!r} must be one of {list(WAYS)}, pairs or groups{hint}")
        if validation == "time":
            first = len(used) - max(len(used) // PARTS, 1)
            return _checked([Split(used[:first], used[first:])])
        distinct = canonical_rows(rows.X, rows.weight, seed, scale_free)
        return _checked(_parts(distinct.used, distinct.group, len(distinct.which)))
    given = _groups(validation, len(rows.X))
    if given is not None:
        names = np.unique(given[used], return_inverse=True)[1]
        if names.max(initial=0) == 0:
            raise ValueError("validation holds one group only: give at least two, or 'random' or 'time'")
        order = np.random.default_rng(seed).permutation(names.max() + 1)
        return _checked(_parts(used, order[names], len(used)))
    return _checked(_pairs(validation, rows.weight))


def _parts(used: Indices, group: NDArray[np.intp], n: int) -> list[Split]:
    """Every fifth group held out, five times if the rows are few."""
    part = group % min(PARTS, int(group.max()) + 1)
    count = int(part.max()) + 1 if n < FEW_ROWS else 1
    return [Split(used[part != k], used[part == k]) for k in range(count)]


def _groups(validation: Any, n: int) -> NDArray[Any] | None:
    """One label a row, if that is what was given."""
    try:
        labels = np.asarray(validation)
    except ValueError:  # pairs of different lengths
        return None
    if labels.ndim != 1 or (labels.dtype.kind == "O" and any(np.ndim(label) for label in labels)):
        return None
    if len(labels) != n:
        raise ValueError(f"validation has {len(labels)} entries and X has {n} rows: give the group of each row")
    return labels


def _pairs(validation: Any, weight: NDArray[np.float64]) -> list[Split]:
    """Pairs of row numbers, of rows of positive weight."""
    try:
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in validation]
    except (TypeError, ValueError):
        raise ValueError(
            "validation must be 'random', 'time', pairs (rows to learn from, rows to judge on) or one group a row"
        ) from None
    found = []
    for k, pair in enumerate(pairs):
        for name, which in zip(("first", "second"), pair, strict=True):
            if which.ndim != 1 or which.dtype.kind not in "iu":
                raise ValueError(f"validation[{k}] holds {which.dtype} of shape {which.shape}: give row numbers")
            if which.size and (which.min() < 0 or which.max() >= len(weight)):
                bad = which[(which < 0) | (which >= len(weight))][0]
                raise ValueError(
                    f"validation[{k}] holds row {bad} in its {name} part but X has rows 0 to {len(weight) - 1}"
                )
        if np.intersect1d(*pair).size:
            raise ValueError(f"validation[{k}] has row {np.intersect1d(*pair)[0]} in both parts: keep them apart")
        train, test = (np.unique(which) for which in pair)
        found.append(Split(train[weight[train] > 0], test[weight[test] > 0]))
    if not found:
        raise ValueError("validation is empty: give at least one pair of row numbers, or 'random' or 'time'")
    return found


def _checked(found: list[Split]) -> list[Split]:
    for split in found:
        if len(split.train) < 2 or not len(split.test):
            raise ValueError(
                f"validation leaves {len(split.train)} rows to learn from and {len(split.test)} to judge on: give more "
                "rows, or name the kernel instead of 'auto'"
            )
    return found
