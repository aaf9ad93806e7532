"""Tables for the command line: CSV by the standard library, Parquet by pyarrow; columns by name."""

from __future__ import annotations

import csv
import os
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Array
from ..base.words import did_you_mean


class TableError(ValueError):
    """What is wrong with a table, and where."""


@dataclass
class Table:
    """Columns by name: numbers, or texts where a column holds other things."""

    columns: dict[str, NDArray[Any]]
    source: str

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def column(self, name: str) -> NDArray[Any]:
        """The column of that name."""
        if name not in self.columns:
            hint = did_you_mean(name, list(self.columns))
            raise TableError(f"{self.source} has no column {name!r}{hint}: it has {', '.join(self.columns)}")
        return self.columns[name]

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts."""
        return self.column(name).dtype.kind in "OU"

    def rows(self, names: Sequence[str], texts: Container[str]) -> NDArray[Any]:
        """Columns side by side, some of texts: NaN where a number is missing, None where a text is."""
        out = np.empty((len(self), len(names)), dtype=object)
        for j, name in enumerate(names):
            values = self.column(name)
            if name not in texts:
                out[:, j] = self._numbers(name, "it was numeric in fit: give numbers, or leave the row out").tolist()
                continue
            out[:, j] = [None if value is None or value == "" else str(value) for value in values.tolist()]
        return out if any(name in texts for name in names) else out.astype(np.float64)

    def _numbers(self, name: str, otherwise: str) -> Array:
        """A column as numbers, NaN where they are missing."""
        values = self.column(name)
        if values.dtype.kind not in "fiub":
            raise TableError(f"column {name!r} of {self.source} holds {values[0]!r} and is not numeric: {otherwise}")
        return values.astype(np.float64)

    def matrix(self, names: Iterable[str]) -> Array:
        """Columns side by side, as finite numbers."""
        parts = []
        for name in names:
            values = self._numbers(name, "leave it out with --features, encode it, or use --model table")
            bad = np.flatnonzero(~np.isfinite(values))
            if len(bad):
                raise TableError(f"column {name!r} of {self.source} is empty or not finite in row {bad[0] + 1}")
            parts.append(values)
        return np.column_stack(parts) if parts else np.empty((len(self), 0))


def read(path: str | os.PathLike[str], delimiter: str = ",", texts: Container[str] = ()) -> Table:
    """Read a table; the ending tells how.  Columns among the `texts` stay texts where all cells are numbers."""
    path = Path(path)
    return _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path, delimiter, texts)


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise TableError(f"{path}: Parquet needs pyarrow: pip install 'kernsift[arrow]'") from None
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:  # a damaged file is either
        raise TableError(f"{path} cannot be read as Parquet: {error}") from error
    return Table({name: table.column(name).to_numpy() for name in table.column_names}, str(path))


def _csv(path: Path, delimiter: str, texts: Container[str]) -> Table:
    with open(path, newline="", encoding="utf-8-sig") as file:
        names, rows = csv_rows(file, str(path), delimiter)
        cells = list(rows)
    if not cells:
        raise TableError(f"{path} has a header and no rows")
    columns = zip(*cells, strict=True)
    found = {name: _values(column, name in texts) for name, column in zip(names, columns, strict=True)}
    return Table(found, str(path))


def csv_rows(file: Iterable[str], source: str, delimiter: str = ",") -> tuple[list[str], Iterator[list[str]]]:
    """The names of the first line, and the rows after it, each as long as the header."""
    reader = csv.reader(file, delimiter=delimiter)
    lines = _lines(reader, source)
    names = [name.strip() for name in next(lines, [])]
    if not names:
        raise TableError(f"{source} is empty: the first line must name the columns")
    if all(_is_number(name) for name in names):
        raise TableError(f"the first line of {source} holds numbers: it must name the columns")
    if len(set(names)) != len(names):
        raise TableError(f"{source} names a column twice: {', '.join(names)}")

    def rows() -> Iterator[list[str]]:
        for row in lines:
            if not row:
                continue  # a blank line
            if len(row) != len(names):
                raise TableError(f"line {reader.line_num} of {source} has {len(row)} cells, the header {len(names)}")
            yield row

    return names, rows()


def _lines(reader: Any, source: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:  # a cell of more than 131072 characters, a lone carriage return
        raise TableError(f"line {reader.line_num} of {source} is no CSV: {error}") from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _values(cells: tuple[str, ...], texts: bool) -> NDArray[Any]:
    """Numbers, with NaN for empty cells; texts if a cell is neither, or the column is one of `texts`."""
    if texts:
        return np.array([cell.strip() for cell in cells])
    try:
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    except ValueError:
        return np.array([cell.strip() for cell in cells])
