"""Columns of data frames and Arrow record batches as arrays, for ``fit_batches`` and the Dask adapter."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from ..base.arrays import Array
from ..base.validation import did_you_mean, is_number, types_of

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

    def __init__(self, target: str | list[str] | None, weight: str | None, features: Any = None) -> None:
        self.target, self.weight, self.features = target, weight, None if features is None else list(features)
        self.names: list[str] | None = None
        self._types: dict[str, Any] = {}  # of the first batch

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
        missing = [name for name in (*others, *(self.features or ())) if name not in names]
        if missing:
            hint = did_you_mean(missing[0], names)
            raise ValueError(f"a batch has no column {missing[0]!r}{hint}: it has {', '.join(names)}")
        others += _index_of(batch)
        features = self.features or [name for name in names if name not in others]
        if self.names is None:
            self.names = features
        elif sorted(features) != sorted(self.names):
            raise ValueError(f"a batch has features {', '.join(features)} and the first had {', '.join(self.names)}")
        types = {str(name): dtype for name, dtype in types_of(batch) if str(name) in self.names}
        self._types = self._types or types
        for name, dtype in types.items():
            first = self._types.get(name, dtype)
            if is_number(dtype) != is_number(first) and str(dtype) not in ("null", "object"):
                raise ValueError(
                    f"column {name!r} has dtype {dtype} in a batch and {first} in the first: convert it to that"
                )
        if all(map(is_number, self._types.values())):
            X: Any = np.column_stack([numbers_of(_column(batch, name), f"column {name!r}") for name in self.names])
        else:
            X = _table(batch, self.names)
        y = [np.asarray(_column(batch, name)) for name in targets]
        both = X, y[0] if isinstance(self.target, str) else np.column_stack(y)
        return both if self.weight is None else (*both, numbers_of(_column(batch, self.weight), "the weight"))


def _index_of(batch: Any) -> list[str]:
    """Columns that hold the index of a frame of pandas, which is no feature."""
    about = getattr(getattr(batch, "schema", None), "pandas_metadata", None) or {}
    return [name for name in about.get("index_columns", ()) if isinstance(name, str)]


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


def take(X: Any, places: Any) -> Any:
    """Some rows of an array or a table."""
    if isinstance(X, (np.ndarray, list, tuple)):
        return np.asarray(X)[places]
    import narwhals

    return narwhals.from_native(X, eager_only=True)[places].to_native()


def one_below_another(parts: list[Any]) -> Any:
    """Arrays or tables as one."""
    if len(parts) == 1 or isinstance(parts[0], np.ndarray):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    import narwhals
    import narwhals.selectors

    frames = [narwhals.from_native(part, eager_only=True) for part in parts]
    if any(frame.schema != frames[0].schema for frame in frames):  # whole numbers in one file, others in the next
        frames = [frame.with_columns(narwhals.selectors.numeric().cast(narwhals.Float64)) for frame in frames]
    return narwhals.concat(frames).to_native()


class Source:
    """Batches of anything; `again` says whether they can be read twice."""

    def __init__(self, given: Any) -> None:
        self._given, self.again, self.n_rows = given, True, 0
        if _is_path(given) or (isinstance(given, (list, tuple)) and given and all(map(_is_path, given))):
            self._read: Callable[[], Iterable[Any]] = _files(given)
            self.n_rows = sum(rows_in(path) for path in _paths(given))
        elif hasattr(given, "collect_batches"):  # a lazy frame of polars
            self._read = lambda: given.collect_batches(chunk_size=_BATCH, maintain_order=True)
        elif hasattr(given, "iloc"):  # of pandas, whose categories Arrow would make its own
            self._read, self.n_rows = (
                (lambda: (given.iloc[i : i + _BATCH] for i in range(0, len(given), _BATCH))),
                len(given),
            )
        elif hasattr(given, "iter_slices"):  # of polars
            self._read, self.n_rows = (lambda: given.iter_slices(_BATCH)), len(given)
        elif hasattr(given, "scanner"):  # a dataset of pyarrow
            self._read = lambda: given.to_batches(batch_size=_BATCH, batch_readahead=1, fragment_readahead=1)
        elif hasattr(given, "to_batches"):  # a table of pyarrow
            self._read, self.n_rows = (lambda: given.to_batches(_BATCH)), len(given)
        elif hasattr(given, "__arrow_c_stream__"):  # what has columns is a table: DuckDB runs its query again
            self._read = lambda: _pyarrow("a stream of Arrow").RecordBatchReader.from_stream(given)
            self.again = hasattr(given, "columns")
        elif isinstance(given, Iterable):
            self._read, self.again = (lambda: given), not isinstance(given, Iterator)
        else:
            raise TypeError(
                f"batches must be an iterable of batches, a table, or paths of Parquet or CSV files, got a "
                f"{type(given).__name__}"
            )

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())


def _is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{what} needs pyarrow: pip install 'kernsift[arrow]'") from error
    return pyarrow


def _paths(given: Any) -> list[str]:
    """Files of a path, a folder, a pattern, or several of these."""
    if not _is_path(given):
        return [path for one in given for path in _paths(one)]
    name = os.fspath(given)
    if folder := os.path.isdir(name):
        name = os.path.join(glob.escape(name), "**", "*")
    elif not glob.has_magic(name) or os.path.exists(name):
        return [name]
    found = [path for path in sorted(glob.glob(name, recursive=True)) if os.path.isfile(path)]
    if folder:  # Spark and Dask write marks beside the rows
        found = [path for path in found if not os.path.basename(path).startswith("_")]
    if not found:
        raise FileNotFoundError(f"no file matches {os.fspath(given)!r}")
    return found


def _is_csv(path: str) -> bool:
    return path.lower().endswith((".csv", ".csv.gz"))


def rows_in(path: str) -> int:
    """Rows of a Parquet file, and 0 of others."""
    if _is_csv(path):
        return 0
    with _pyarrow("a path").parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def _files(given: Any) -> Callable[[], Iterator[Any]]:
    """A reader of Parquet and CSV files, one after another."""
    pyarrow, paths = _pyarrow("a path is read as Parquet or CSV, which"), _paths(given)

    def read() -> Iterator[Any]:
        for path in paths:
            if _is_csv(path):
                yield from pyarrow.dataset.dataset(path, format="csv").to_batches(batch_size=_BATCH, batch_readahead=1)
                continue
            with pyarrow.parquet.ParquetFile(path) as file:
                for group in range(file.num_row_groups):  # of several at once pyarrow keeps all it has read
                    yield from file.iter_batches(_BATCH, row_groups=[group])

    return read


class Reservoir:
    """A random sample of the rows of positive weight in all batches, each with the same chance, of a given size."""

    def __init__(self, most: int, seed: int) -> None:
        self._most, self._draw = most, np.random.default_rng(seed)
        self._parts: list[tuple[Any, ...]] = []  # keys, X, y, and weights where there are any
        self.labels: Any = None
        self.n_rows = 0

    def add(self, X: Any, y: Any, *weight: Any, labels: bool = False) -> None:
        """Look at the rows of a batch."""
        y = np.asarray(y)
        check_consistent_length(X, y, *weight)
        n = len(y)
        weight = tuple(np.ones(n) if v is None else v for v in weight)
        self.n_rows += n
        places = np.arange(n) if not weight else np.flatnonzero(np.asarray(weight[0]) > 0)
        if labels:
            new = np.unique(y[places])
            self.labels = new if self.labels is None else np.union1d(self.labels, new)
        keys = self._draw.random(n)[places]
        if self._parts and len(self._parts[0][0]) == self._most:
            better = keys < self._parts[0][0].max()
            places, keys = places[better], keys[better]
        if not len(places):
            return
        self._parts.append((keys, take(X, places), y[places], *(np.asarray(v)[places] for v in weight)))
        if sum(len(part[0]) for part in self._parts) > 2 * self._most:
            self._parts = [self._kept()]

    def _kept(self) -> tuple[Any, ...]:
        whole = tuple(one_below_another([part[i] for part in self._parts]) for i in range(len(self._parts[0])))
        if len(whole[0]) <= self._most:
            return whole
        kept = np.sort(np.argsort(whole[0], kind="stable")[: self._most])
        return tuple(take(values, kept) for values in whole)

    def rows(self) -> tuple[Any, ...]:
        """X, y and weights of the rows, in the order they came in."""
        return self._kept()[1:] if self._parts else ()
