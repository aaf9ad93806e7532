"""Columns of every kind as coordinates, value by value: the definition, which shares no code with the package.

A column is a list of Python's values, None where one is missing.  What it is follows from the rows of the fit: a level,
or missing numbers together, have a coordinate of their own where they stand in five rows or more and in a hundredth of
the rows or more.
"""

from __future__ import annotations

import datetime
import math

import numpy as np

DAY = datetime.timedelta(days=1)


def enough(n):
    return max(5, math.ceil(n / 100))


def levels(values):
    """Levels with a coordinate of their own, and whether the others have one together."""
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    own = sorted(v for v in counts if v is not None and counts[v] >= enough(len(values)))
    if set(counts) == {None}:
        return [], False
    if counts.get(None, 0) >= enough(len(values)):
        own.append(None)
    rest = sum(count for value, count in counts.items() if value not in own)
    return own, bool(own) and rest >= enough(len(values))


def category(fitted, values):
    own, others = levels(fitted)
    rows = []
    for value in values:
        row = [1.0 if value == level else 0.0 for level in own]
        known = value in own
        if not known and not others:
            row = [-1.0 / math.sqrt(len(own)) for _ in own]
        rows.append(row + ([0.0 if known else 1.0] if others else []))
    return np.array(rows, dtype=float).reshape(len(values), len(own) + others)


def days(value):
    if isinstance(value, datetime.timedelta):
        return value / DAY
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return (value - datetime.datetime(1970, 1, 1)) / DAY


def numbers(kind, fitted, values, periods):
    known = sorted((v if kind == "number" else days(v)) for v in fitted if v is not None)
    if not known:
        return np.empty((len(values), 0))
    first = known[0] if kind == "date" else 0.0
    median = known[(len(known) - 1) // 2]
    flagged = fitted.count(None) >= enough(len(fitted))
    rows = []
    for value in values:
        row = []
        x = None if value is None else (value if kind == "number" else days(value))
        if kind != "number" or not periods:
            row.append((median if x is None else x) - first)
        for period in periods:
            angle = 0.0 if x is None else 2 * math.pi * math.fmod(x, period) / period
            row += [0.0, 0.0] if x is None else [math.sin(angle), math.cos(angle)]
        rows.append(row + ([float(x is None)] if flagged else []))
    return np.array(rows, dtype=float)


def encode(kinds, fitted, values, periods=None):
    """The coordinates of columns of values, learned from columns of values of the same kinds."""
    parts = []
    for j, kind in enumerate(kinds):
        if kind == "category":
            parts.append(category(fitted[j], values[j]))
        else:
            parts.append(numbers(kind, fitted[j], values[j], (periods or {}).get(j, ())))
    return np.hstack(parts)
