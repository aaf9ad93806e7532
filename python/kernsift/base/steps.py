"""What steps of a pipeline do to the columns of a table, as plain data that is part of a model.

Every step that can be part of one makes each of its outputs from one column of its input.  So does any number of them
one after another, and :class:`Steps` holds for each coordinate of the model its column and the operations on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.plain import record
from .arrays import Array
from .columns import columns_in
from .validation import in_order

# Operations and their numbers of arguments.  "less", "over", "times" and "plus" are arithmetic with one number.
_OPERATIONS = {"less": 1, "over": 1, "times": 1, "plus": 1, "clip": 2, "fill": 2, "missing": 1, "code": 4, "at": 1}
_READS_NUMBERS = ("less", "over", "times", "plus", "clip")

Operation = tuple[Any, ...]


@record("Coordinate")
@dataclass(frozen=True)
class Coordinate:
    """One coordinate of a model: a column of the table, and the operations that are done to it."""

    column: int
    name: str
    operations: tuple[Operation, ...] = ()

    def __post_init__(self) -> None:
        for name, *arguments in self.operations:
            if len(arguments) != _OPERATIONS.get(name, -1):
                raise ValueError(f"no operation on a column: {name!r} of {len(arguments)} arguments")

    def then(self, *operations: Operation) -> Coordinate:
        """The same with further operations."""
        return Coordinate(self.column, self.name, (*self.operations, *operations))

    @property
    def affine(self) -> tuple[float, float] | None:
        """Slope and constant where the coordinate is an affine function of the column, or None."""
        slope, constant = 1.0, 0.0
        for name, *arguments in self.operations:
            if name not in ("less", "over", "times", "plus"):
                return None
            by = float(arguments[0])
            if name in ("times", "over"):
                slope, constant = (slope * by, constant * by) if name == "times" else (slope / by, constant / by)
            else:
                constant += by if name == "plus" else -by
        return slope, constant

    @property
    def not_affine(self) -> str:
        """What the first operation that is not affine does, for errors."""
        first = next(name for name, *_ in self.operations if name not in ("less", "over", "times", "plus"))
        return {
            "clip": "is cut to a range",
            "fill": "has its missing values filled in",
            "missing": "becomes a flag of missing values",
            "code": "holds categories",
        }[first]


@record("Steps")
@dataclass(frozen=True)
class Steps:
    """What the steps of a pipeline do: ``columns_`` of a folded model.

    Attributes
    ----------
    names : tuple
        Names of the columns of the table, or their numbers.
    columns : tuple of Coordinate
        One a coordinate.
    coordinates : list of str
        Names of the coordinates.
    owner : ndarray
        Number of the coordinate of each coordinate: each has its own width.
    """

    names: tuple[Any, ...]
    columns: tuple[Coordinate, ...]

    @cached_property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return [c.name for c in self.columns]

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Number of the coordinate of each coordinate."""
        return np.arange(len(self.columns))

    def by_column(self, parts: Any) -> Array:
        """Return the sums of parts of coordinates, one a coordinate: the parts themselves."""
        return np.asarray(parts, dtype=np.float64)

    def encode(self, X: Any) -> Array:
        """Return the coordinates of the rows of a table, (n_samples, n_coordinates)."""
        table = columns_in(X)
        if table is None or len(table) != len(self.names):
            raise ValueError(f"X must be a table of the {len(self.names)} columns of fit")
        done: dict[tuple[int, tuple[Operation, ...]], NDArray[Any]] = {}
        out = np.empty((len(table[0][1]), len(self.columns)))
        for k, coordinate in enumerate(self.columns):
            j = coordinate.column
            out[:, k] = _numbers(self._done(done, table, j, coordinate.operations), self.names[j])
        return out

    def row(self, estimator: Any, x: Any) -> Array:
        """The coordinates of a single row, whatever it comes in."""
        return self.encode(np.array([list(in_order(estimator, x))], dtype=object))[0]

    def _done(self, done: Any, table: Any, j: int, operations: tuple[Operation, ...]) -> NDArray[Any]:
        """A column after some operations; what coordinates have in common is done once."""
        if (j, operations) not in done:
            if operations:
                before = self._done(done, table, j, operations[:-1])
                done[j, operations] = operate(operations[-1], before, self.names[j])
            else:
                done[j, operations] = _values(table[j][1])
        return done[j, operations]

    def affine(self) -> tuple[NDArray[np.intp], Array, Array] | None:
        """Column, slope and constant of each coordinate, where each is an affine function of a column of its own."""
        found = [c.affine for c in self.columns]
        places = np.array([c.column for c in self.columns], dtype=np.intp)
        if None in found or len(np.unique(places)) < len(places):
            return None
        slopes, constants = np.array(found, dtype=np.float64).T
        return places, slopes, constants

    @cached_property
    def texts(self) -> set[int]:
        """Numbers of the columns that hold texts."""
        return {
            coordinate.column
            for coordinate in self.columns
            for kind, *how in coordinate.operations
            if any(isinstance(v, str) for v in (how[0] if kind == "code" else how if kind == "fill" else ()))
        }

    def described(self) -> str:
        """The first column that is no affine function, for errors."""
        other = next((c for c in self.columns if c.affine is None), None)
        if other is None:
            return "a column stands behind several coordinates of this model"
        return f"column {self.names[other.column]!r} {other.not_affine} by a step before this model"

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self.names, "columns": self.columns}


# --- one column ---


def plain(value: Any) -> Any:
    """A value as plain data; None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is None or value != value else value


def _values(column: Any) -> NDArray[Any]:
    """A column as numbers, NaN where they are missing, or as objects, None where they are missing."""
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    return np.fromiter(map(plain, values.tolist()), dtype=object, count=len(values))


def _numbers(values: NDArray[Any], name: Any) -> Array:
    """Values as numbers, where operations or the model need them."""
    if values.dtype != object:
        return values
    out = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        try:
            out[row] = np.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} of X holds {value!r:.40} in row {row}, which is no number") from None
    return out


def operate(operation: Operation, values: NDArray[Any], name: Any) -> NDArray[Any]:
    """Do an operation to the values of a column."""
    kind, *how = operation
    if kind in _READS_NUMBERS:
        values = _numbers(values, name)
    match kind:
        case "less":
            return values - how[0]
        case "over":
            return values / how[0]
        case "times":
            return values * how[0]
        case "plus":
            return values + how[0]
        case "clip":
            return np.clip(values, *how)
        case "missing":
            return _is(values, how[0]).astype(np.float64)
        case "fill":
            filled = values.copy()
            if isinstance(how[1], str):
                filled = filled.astype(object)
            filled[_is(values, how[0])] = 0.0 if how[1] is None else how[1]
            return filled
        case "at":
            return (values == how[0]).astype(np.float64)
    levels, codes, unknown, step = how
    table = dict(zip(levels, codes, strict=True))
    out = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        value = plain(value)
        code = table.get(value, unknown)
        if code is None:
            raise ValueError(
                f"column {name!r} of X holds {value!r:.40} in row {row}, a category that step {step!r} did not meet "
                "when it was fitted: leave the row out, or fit the step with handle_unknown='ignore' or "
                "'use_encoded_value'"
            )
        out[row] = code
    return out


def _is(values: NDArray[Any], mark: Any) -> NDArray[np.bool_]:
    """Where values are those that stand for missing ones (None: NaN or None)."""
    if mark is None:
        return np.isnan(values) if values.dtype != object else np.array([v is None for v in values], dtype=bool)
    return np.asarray(values == mark)
