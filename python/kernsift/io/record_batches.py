"""Columns of data frames and Arrow record batches as arrays, for ``fit_batches`` and the Dask adapter."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..base.arrays import Array
from ..base.validation import is_number, types_of

# Rows read at a time from a Parquet file.
_BATCH = 65536


def numbers_of(values: Any, where: str) -> Array:
    """Return numbers as float64, or say that they are none."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)  # an object array of numbers
            if np.asarray(values).dtype.kind in "USMm":
                raise ValueError
        except (TypeError, ValueError):
            dtype = getattr(values, "dtype", array.dtype)
            raise ValueError(f"{where} has dtype {dtype}: encode it as numbers first") from None
    return array.astype(np.float64, copy=False)


class BatchColumns:
    """Splits record batches into features, target and weight, and holds later ones to the columns of the first."""

    def __init__(self, target: str | list[str] | None, weight: str | None) -> None:
        self.target, self.weight = target, weight
        self.names: list[str] | None = None

    def split(self, batch: Any) -> tuple[Any, ...]:
        """Return (X, y) or (X, y, weight); tuples pass as they are."""
        if isinstance(batch, (tuple, list)):
            return tuple(batch)
        names = getattr(batch, "column_names", None)  # pyarrow's batches and tables
        if names is None:
            names = getattr(batch, "columns", None)  # frames of pandas and polars
        if names is None:
            raise TypeError(f"a batch is a tuple (X, y) or a table with named columns, got a {type(batch).__name__}")
        names = [str(name) for name in names]
        if self.target is None:
            raise ValueError("batches with named columns need target=, the name of the target's column")
        targets = [self.target] if isinstance(self.target, str) else list(self.target)
        others = [*targets, *([] if self.weight is None else [self.weight])]
        missing = [name for name in others if name not in names]
        if missing:
            raise ValueError(f"a batch has no column {missing[0]!r}: it has {', '.join(names)}")
        features = [name for name in names if name not in others]
        if self.names is None:
            self.names = features
        elif sorted(features) != sorted(self.names):
            raise ValueError(f"a batch has features {', '.join(features)} and the first had {', '.join(self.names)}")
        if all(is_number(dtype) for name, dtype in types_of(batch) if name in self.names):
            X: Any = np.column_stack([numbers_of(_column(batch, name), f"column {name!r}") for name in self.names])
        else:
            X = _table(batch, self.names)
        y = [np.asarray(_column(batch, name)) for name in targets]
        both = X, y[0] if isinstance(self.target, str) else np.column_stack(y)
        return both if self.weight is None else (*both, numbers_of(_column(batch, self.weight), "the weight"))


def _table(batch: Any, names: list[str]) -> Any:
    """Some columns as a table, to be encoded."""
    if not hasattr(batch, "column"):
        return batch[names]
    rows = batch.select(names)
    if hasattr(rows, "combine_chunks"):
        return rows
    import pyarrow

    return pyarrow.Table.from_batches([rows])


def _column(batch: Any, name: str) -> Any:
    column = batch[name] if not hasattr(batch, "column") else batch.column(name)
    if hasattr(column, "null_count") and not callable(column.null_count) and column.null_count:
        raise ValueError(f"column {name!r} has {column.null_count} nulls in a batch: fill them in or drop the rows")
    if hasattr(column, "combine_chunks"):  # of a pyarrow table
        return column.to_numpy()
    return column.to_numpy(zero_copy_only=False) if hasattr(column, "to_pylist") else column


def batches_of(batches: Any) -> tuple[Iterable[Any], int]:
    """Return the iterable of batches and how many rows it will bring (0: unknown); a path is read as Parquet."""
    if not isinstance(batches, (str, os.PathLike)):
        return batches, 0
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("a path is read as Parquet, which needs pyarrow: pip install 'kernsift[arrow]'") from error

    def read() -> Iterator[Any]:
        with parquet.ParquetFile(batches) as file:
            for group in range(file.num_row_groups):  # of several at once pyarrow keeps all it has read
                yield from file.iter_batches(_BATCH, row_groups=[group])

    with parquet.ParquetFile(batches) as file:
        return read(), file.metadata.num_rows
