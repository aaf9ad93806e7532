"""Columns of every kind as coordinates of a kernel: what they are is learned with the first rows, and kept."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..io.plain import record
from .arrays import Array
from .memory import check_memory
from .words import did_you_mean

# A level has a coordinate of its own, or missing values have, if it stands in as many rows and in one of as many:
# with five parts in turn each part holds one, and of the 300 landmarks that widths are learned on it has three.
LEVEL_ROWS, LEVEL_PART = 5, 100

_TYPES = (
    (str, "category"),
    ((bool, int, float, Decimal), "number"),
    ((datetime.timedelta, datetime.time), "duration"),
    (datetime.date, "date"),
)
_PLURAL = {"category": "categories", "number": "numbers", "date": "dates", "duration": "durations"}


@record("Column")
@dataclass(frozen=True)
class Column:
    """A column and its coordinates."""

    name: Any  # or the number of the column
    kind: str  # "number", "date", "duration", "category"; "nothing" where all values are missing
    fill: float = 0.0  # in place of missing numbers: their median
    flagged: bool = False  # whether a coordinate says that the number is missing
    origin: float = 0.0  # the first date, in days since 1970
    periods: tuple[float, ...] = ()
    levels: tuple[Any, ...] = ()  # those with a coordinate of their own; None are missing values
    others: bool = False  # whether the other levels have one together

    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        name = str(self.name)
        if self.kind == "category":
            own = [f"{name} is missing" if level is None else f"{name}={level}" for level in self.levels]
            return own + [f"{name}: others"] * self.others
        own = [] if self.kind == "nothing" or (self.kind == "number" and self.periods) else [name]
        own += [f"{name}: {wave} of {period:g}" for period in self.periods for wave in ("sine", "cosine")]
        return own + [f"{name} is missing"] * self.flagged

    def encode(self, values: Any) -> NDArray[Any]:
        """Return the coordinates of a column's values, (n, coordinates)."""
        if self.kind == "nothing":
            return np.empty((len(values), 0))
        if self.kind == "category":
            return self._levels(_read(self.name, values, True)[1])
        kind, numbers = _read(self.name, values, False)
        if kind not in (self.kind, "nothing"):
            raise ValueError(
                f"column {self.name!r} of X holds {_PLURAL[kind]} and held {_PLURAL[self.kind]} in fit: convert it"
            )
        missing = np.isnan(numbers)
        parts = [] if self.kind == "number" and self.periods else [np.where(missing, self.fill, numbers - self.origin)]
        for period in self.periods:
            angle = np.where(missing, 0.0, np.remainder(numbers, period)) * (2 * np.pi / period)
            parts += [np.where(missing, 0.0, wave(angle)) for wave in (np.sin, np.cos)]
        return np.column_stack([*parts, *([missing] if self.flagged else [])])

    def _levels(self, values: Sequence[Any]) -> Array:
        """One coordinate a level is 1; of a level without one that of the others, or all are negative.

        The latter is as far from each level as levels are from one another: w_k the width of level k, of m, squared
        distances are w_k (1 + 2/√m) plus the mean of the widths.
        """
        m, code = len(self.levels), _Codes(self)
        out = np.zeros((len(values), m + self.others))
        where = np.fromiter(map(code.__getitem__, values), dtype=np.intp, count=len(values))
        if not self.others and m:
            out[where == m] = -1.0 / np.sqrt(m)
        known = np.flatnonzero(where < m + self.others)
        out[known, where[known]] = 1.0
        return out


class _Codes(dict[Any, int]):
    """The places of levels, by the values as they stand in a table."""

    def __init__(self, column: Column) -> None:
        self._column, self._place = column, {level: k for k, level in enumerate(column.levels)}

    def __missing__(self, value: Any) -> int:
        level, levels = _plain(value), self._column.levels
        place = self._place.get(level, len(levels))
        kinds = {isinstance(known, str) for known in levels if known is not None}
        if level is not None and kinds and isinstance(level, str) not in kinds:
            name, held = self._column.name, next(known for known in levels if known is not None)
            raise ValueError(f"column {name!r} of X holds {level!r} and held {held!r} in fit: convert it to that type")
        self[value] = place
        return place


@record("Columns")
@dataclass(frozen=True)
class Columns:
    """The columns of a table and their coordinates: what ``columns_`` of a fitted model is.

    Attributes
    ----------
    columns : tuple
        ``name``, ``kind`` and ``levels`` of each.
    coordinates : list of str
        Names of the coordinates.
    owner : ndarray
        Number of the column of each coordinate.
    """

    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, X: Any, categories: Any, periods: Mapping[Any, Any], missing: bool) -> Self | None:
        """Learn what the columns are; None for a table of numbers alone, without missing values where `missing`."""
        table = columns_in(X)
        if table is None or not len(table) or not len(table[0][1]):
            return None
        names = [name for name, _ in table]
        chosen, waves = _named(categories, names), _periods(periods, names)
        learned = [_learn(name, values, j in chosen, waves.get(j, ())) for j, (name, values) in enumerate(table)]
        plain = all(column.kind in ("number", "nothing") and not column.periods for column, _ in learned)
        if plain and not (missing and any(gaps for _, gaps in learned)):
            return None
        found = cls(tuple(column for column, _ in learned))
        if not found.coordinates:
            raise ValueError(
                f"X has no column to learn from: each is missing (NaN) in all {len(table[0][1])} rows, or holds levels "
                f"of fewer than {_enough(len(table[0][1]))} rows only; leave these out"
            )
        return found

    @cached_property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return [name for column in self.columns for name in column.coordinates()]

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Number of the column of each coordinate."""
        return np.repeat(np.arange(len(self.columns)), [len(column.coordinates()) for column in self.columns])

    def encode(self, X: Any) -> Array:
        """Return the coordinates of the rows of a table, (n_samples, n_coordinates)."""
        table = columns_in(X)
        if table is None or len(table) != len(self.columns):
            raise ValueError(f"X must be a table of the {len(self.columns)} columns of fit")
        for column, (name, _) in zip(self.columns, table, strict=True):
            if isinstance(name, str) and isinstance(column.name, str) and name != column.name:
                raise ValueError(
                    f"column {name!r} of X stands where {column.name!r} stood in fit: give them in that order"
                )
        n, wide = len(table[0][1]), len(self.coordinates)
        check_memory(
            n * wide, f"{n} rows of {wide} coordinates", "give fewer rows, or leave out columns of many levels"
        )
        out, first = np.empty((n, wide)), 0
        for column, (_, values) in zip(self.columns, table, strict=True):
            part = column.encode(values)
            out[:, first : first + part.shape[1]] = part
            first += part.shape[1]
        return out

    def by_column(self, parts: ArrayLike) -> Array:
        """Return the sums of parts of coordinates, one a column."""
        return np.bincount(self.owner, np.asarray(parts, dtype=np.float64), len(self.columns)).astype(np.float64)

    def described(self) -> str:
        """The first column that is no plain number, for errors."""
        column = next((c for c in self.columns if c.kind != "number" or c.periods or c.flagged), self.columns[0])
        return f"column {column.name!r} ({column.kind if not column.flagged else 'missing values'})"

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns}


def coordinate_names(model: Any, n: int) -> list[Any]:
    """Names of the n coordinates of a model: those of its columns where these are numbers, or their places."""
    columns: Columns | None = getattr(model, "columns_", None)
    if columns is not None:
        return columns.coordinates
    return list(getattr(model, "feature_names_in_", range(n)))


def _enough(n: int) -> int:
    """Rows of n from which a level has its own coordinate."""
    return max(LEVEL_ROWS, -(-n // LEVEL_PART))


def _learn(name: Any, values: Any, is_category: bool, periods: tuple[float, ...]) -> tuple[Column, bool]:
    """What a column is, and whether values are missing."""
    kind, read = _read(name, values, is_category)
    if kind == "category":
        if periods:
            raise ValueError(f"periods names column {name!r}, which holds categories: leave it out there")
        counts: Counter[Any] = Counter()
        for value, count in Counter(read).items():
            counts[_plain(value)] += count
        if set(counts) == {None}:
            return Column(name, "nothing"), True
        levels = sorted(
            (level for level, count in counts.items() if count >= _enough(len(read))),
            key=lambda level: (level is None, isinstance(level, str), level),
        )
        rest = len(read) - sum(counts[level] for level in levels)
        others = bool(levels) and rest >= _enough(len(read))
        return Column(name, kind, levels=tuple(levels), others=others), None in counts
    gaps = np.isnan(read)
    known = read[~gaps]
    if not len(known):
        return Column(name, "nothing"), bool(gaps.any())
    origin = float(known.min()) if kind == "date" else 0.0
    middle = float(np.partition(known, (len(known) - 1) // 2)[(len(known) - 1) // 2])
    flagged = int(gaps.sum()) >= _enough(len(read))
    return Column(name, kind, middle - origin, flagged, origin, periods), bool(gaps.any())


def columns_in(X: Any) -> list[tuple[Any, Any]] | None:
    """Names (or numbers) and values of the columns of a table; None for anything else."""
    if isinstance(X, (list, tuple)):
        X = np.array(X, dtype=object)
    if isinstance(X, np.ndarray):
        return [(j, X[:, j]) for j in range(X.shape[1])] if X.ndim == 2 else None
    import narwhals  # some time to import, and numbers do not need it

    try:
        frame = narwhals.from_native(X, eager_only=True, pass_through=True)
    except narwhals.exceptions.DuplicateError as error:
        raise ValueError(f"X has columns of the same name: rename them. {error}") from None
    if not isinstance(frame, narwhals.DataFrame):
        return None
    names = [name if isinstance(name, (str, int)) else str(name) for name in frame.columns]
    return list(zip(names, frame.iter_columns(), strict=True))


def _read(name: Any, values: Any, is_category: bool) -> tuple[str, Any]:
    """The kind of a column, and its values: doubles with NaN (dates and durations in days), of categories a list."""
    if is_category:
        levels = values.to_list() if hasattr(values, "to_list") else values.tolist()
        try:
            hash(tuple(levels))
        except TypeError:  # lists, say
            levels = [value if value is None else str(value) for value in levels]
        return "category", levels
    if not isinstance(values, np.ndarray):
        import narwhals

        dtype = values.dtype
        if isinstance(dtype, (narwhals.Categorical, narwhals.Enum)):
            return "category", values.to_list()
        if isinstance(dtype, narwhals.String) and values.null_count() < len(values):
            return "category", values.to_list()
        if dtype.is_numeric() or isinstance(dtype, narwhals.Boolean):
            values = values.cast(narwhals.Float64).to_numpy()
        elif dtype.is_temporal() and not isinstance(dtype, narwhals.Time):
            values = values.to_numpy()
        else:
            return _objects(name, values.to_list(), True)
    kind = values.dtype.kind
    if kind in "mM":
        return "duration" if kind == "m" else "date", _days(values)
    if kind not in "fiub":
        return _objects(name, values.tolist(), False)
    numbers = values.astype(np.float64)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise ValueError(
            f"column {name!r} of X is {numbers[row]} (infinity) in row {row}: give finite numbers, or NaN where the "
            "value is missing"
        )
    return "number", numbers


def _objects(name: Any, values: list[Any], of_frame: bool) -> tuple[str, Any]:
    """The same of Python's objects, which are all of one kind or missing."""
    kind = "nothing"
    for row, value in enumerate(values):
        if _plain(value) is None:
            continue
        value = value.item() if isinstance(value, np.generic) else value
        own = next((kind for types, kind in _TYPES if isinstance(value, types)), "")
        if not own or (own == "category" and not of_frame):
            raise ValueError(
                f"column {name!r} of X holds {value!r:.40} in row {row}, which is no number: convert it, name "
                "the column in categorical_features, or leave it out"
            )
        if own != kind != "nothing":
            raise ValueError(
                f"column {name!r} of X holds {_PLURAL[own]} and {_PLURAL[kind]}, such as {value!r:.40} in row {row}: "
                "convert it, or name it in categorical_features"
            )
        kind = own
    if kind == "category":
        return kind, values
    known = [None if _plain(value) is None else value for value in values]
    if kind in ("number", "nothing"):
        try:
            numbers = np.array([np.nan if value is None else float(value) for value in known], dtype=np.float64)
        except OverflowError as error:
            raise ValueError(f"column {name!r} of X holds a number beyond the range of a double: {error}") from None
        return _read(name, numbers, False) if kind == "number" else (kind, numbers)
    return kind, _days(np.array([_moment(v) for v in known], dtype="m8[us]" if kind == "duration" else "M8[us]"))


def _moment(value: Any) -> Any:
    """A date without its zone, a time of day as what has passed of the day."""
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(datetime.date.min, value.replace(tzinfo=None)) - datetime.datetime.min
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def _days(values: NDArray[Any]) -> Array:
    """Dates since 1970, or durations, in days."""
    unit, count = np.datetime_data(values.dtype)
    if unit == "generic" or (unit in ("Y", "M") and values.dtype.kind == "M"):
        values, unit, count = values.astype(f"{values.dtype.kind}8[D]"), "D", 1
    one: Any = np.timedelta64(count, unit)  # type: ignore[call-overload]
    days = values.astype(np.int64) * float(one / np.timedelta64(1, "D"))
    return np.where(np.isnat(values), np.nan, days)


def _plain(value: Any) -> Any:
    """A level as a number or text that every file format has; None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    kind = next((kind for kind in (bool, int, float) if isinstance(value, kind)), str)
    return kind(value)


def _named(columns: Any, names: list[Any]) -> set[int]:
    """Places of the columns in ``categorical_features``: names, numbers or a mask."""
    given = list(np.asarray(columns, dtype=object).ravel())
    if given and all(isinstance(one, (bool, np.bool_)) for one in given):
        if len(given) != len(names):
            raise ValueError(f"categorical_features is a mask of {len(given)} columns and X has {len(names)}")
        return {j for j, one in enumerate(given) if one}
    return {_place("categorical_features", one, names) for one in given}


def _place(parameter: str, one: Any, names: list[Any]) -> int:
    if one in names:
        return names.index(one)
    if isinstance(one, Integral) and -len(names) <= int(one) < len(names):
        return int(one) % len(names)
    raise no_column(parameter, one, names)


def no_column(parameter: str, one: Any, names: Sequence[Any]) -> ValueError:
    """Return the error of a parameter that names a column which X does not have."""
    hint = did_you_mean(str(one), [name for name in names if isinstance(name, str)])
    return ValueError(f"{parameter} names {one!r}, which is no column of X{hint}: it has {', '.join(map(str, names))}")


def _periods(periods: Mapping[Any, Any], names: list[Any]) -> dict[int, tuple[float, ...]]:
    """Periods of the columns, by their places."""
    found = {}
    for one, given in periods.items():
        several = list(given) if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else [given]
        if not several or not all(isinstance(period, Real) and 0 < float(period) < np.inf for period in several):
            raise ValueError(
                f"periods[{one!r}] is {given!r}: give a positive number, or several, in days for dates and durations, "
                "in the column's own unit for numbers"
            )
        found[_place("periods", one, names)] = tuple(float(period) for period in several)
    return found
