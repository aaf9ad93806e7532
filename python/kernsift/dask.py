"""Subset-of-regressors models over `Dask <https://dask.org>`_ collections: ``pip install 'kernsift[dask]'``.

The basis is chosen on a sample, every partition is summed on it where it lies, the sums are merged as a tree, and the
small system is solved here.  The sums add exactly, so that the model is that of one process on all rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from . import _core
from .base.arrays import Array
from .base.optional import optional
from .base.pipeline import in_two, joined, named
from .base.validation import take_over
from .io.record_batches import BatchColumns, numbers_of
from .subset.base import SubsetBase
from .subset.state import SubsetState

try:
    import dask
    import dask.array
except ImportError as error:
    raise ImportError("kernsift.dask needs dask: pip install 'kernsift[dask]'") from error

__all__ = ["fit"]

Rows = tuple[Array, NDArray[Any], Array | None]
# Rows that are arrays at a time, if nothing else is said.
SPLIT_ROWS = 100_000


def fit(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    sample: int | tuple[ArrayLike, ArrayLike] = 20_000,
    classes: ArrayLike | None = None,
    split_every: int = 8,
    split_rows: int = SPLIT_ROWS,
) -> Any:
    """Fit a subset estimator to rows that lie in partitions, on whatever scheduler Dask is set to.

    Parameters
    ----------
    estimator : SubsetLSSVMRegressor or SubsetLSSVMClassifier, or Pipeline that ends in one
        Fitted in place, and returned.  ``alpha="loo"`` needs all rows in one place and is refused.  The steps of a
        pipeline are fitted to the sample; every partition passes them where it lies.
    X : dask array, dask DataFrame, or path(s) of Parquet files
    y : dask array or series, or name (list of names) of the target column of X
    sample_weight : dask array or series, or name of a column, optional
    sample : int or (X, y), default=20_000
        Rows the basis is chosen on: a number of rows of all partitions, or these arrays.  The draw does not depend on
        how the rows are partitioned.
    classes : array-like, optional
        Labels of a classifier; found by a look at all rows if not given.
    split_every : int, default=8
        Sums merged by one task.
    split_rows : int, default=100_000
        Rows of a partition that a worker has as arrays at a time.  Parquet is read in such pieces: a task takes whole
        row groups, which hold at least this many rows together, and a worker needs memory for one of them and a piece.

    Returns
    -------
    estimator
        Fitted, with ``feature_names_in_`` where X has names.

    Notes
    -----
    The rows are read twice, for the sample and for the sums; ``X.persist()`` keeps them in the workers' memory, and
    ``sample=(X0, y0)`` (with ``classes``) does without the first reading.  Partitions of half a second's work or more
    make good use of the workers.  A partition that is lost with its worker is summed again by Dask, with the same
    result.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from kernsift import SubsetLSSVMRegressor
    >>> from kernsift.dask import fit
    >>> X = np.random.default_rng(7).uniform(-3, 3, (4000, 1))
    >>> y = np.sinc(X[:, 0])
    >>> parts = da.from_array(X, chunks=(500, 1)), da.from_array(y, chunks=500)
    >>> model = fit(SubsetLSSVMRegressor(max_basis=30, random_state=0), *parts)
    >>> bool(np.abs(model.predict(X) - y).max() < 0.01)
    True
    """
    front, model = in_two(estimator)  # the old model stays until the new one is whole
    if not isinstance(model, SubsetBase):
        raise TypeError(
            f"kernsift.dask.fit takes a SubsetLSSVMRegressor or SubsetLSSVMClassifier, whose sums add exactly, and got "
            f"a {type(model).__name__}"
        )
    if split_every < 2:
        raise ValueError(f"split_every={split_every!r} merges nothing: give 2 or more")
    if split_rows < 1:
        raise ValueError(f"split_rows={split_rows!r} leaves no rows: give 1 or more")
    names, parts = _partitions(X, y, sample_weight, int(split_rows))
    Xs, ys, weight, found = _sample(parts, sample, is_classifier(model) and classes is None, split_every)
    if front is not None:
        front.fit(named(Xs, names), ys)
        Xs = front.transform(named(Xs, names))
    if is_classifier(model):
        model.select_basis(Xs, ys, classes=found if classes is None else classes, sample_weight=weight)
    else:
        model.select_basis(Xs, ys, sample_weight=weight)
    shared = dask.delayed(model, pure=False)
    add_up = dask.delayed(_add_up, pure=False)
    before = dask.delayed(front, pure=False) if front is not None else None
    states = [dask.delayed(_accumulate, pure=False)(shared, part, before, names) for part in parts]
    model.merge(_tree(states, add_up, split_every).compute())
    if names is not None and front is None:
        model.feature_names_in_ = np.array(names, dtype=object)
    take_over(estimator, joined(front, estimator, model))
    return estimator


# --- partitions ---


def _partitions(X: Any, y: Any, weight: Any, split_rows: int) -> tuple[list[str] | None, list[Any]]:
    """Names of the features, and the partitions, some of them delayed."""
    if isinstance(X, (str, os.PathLike)) or (
        isinstance(X, (list, tuple)) and X and all(isinstance(p, (str, os.PathLike)) for p in X)
    ):
        return _of_parquet([X] if isinstance(X, (str, os.PathLike)) else list(X), y, weight, split_rows)
    if hasattr(X, "columns"):
        return _of_frame(X, y, weight, split_rows)
    if not isinstance(X, dask.array.Array):
        raise TypeError(f"X must be a dask array or DataFrame or paths of Parquet files, got a {type(X).__name__}")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions: give rows and features")
    for name, values in (("y", y), ("sample_weight", weight)):
        if isinstance(values, str):
            raise TypeError(f"{name}={values!r} names a column and X is an array: give a dask array")
    X = X.rechunk({1: -1})
    n = X.numblocks[0]
    weights = None if weight is None else _blocks(weight, X, "sample_weight", n)
    return None, _zip([_blocks(X, X, "X", n), _blocks(y, X, "y", n), weights], None, 0, split_rows)


def _of_parquet(paths: list[Any], y: Any, weight: Any, split_rows: int) -> tuple[list[str], list[Any]]:
    by_name = isinstance(y, (str, list)) and (weight is None or isinstance(weight, str))
    columns = BatchColumns(y, weight)
    found: list[Any] = []
    for path in map(os.fspath, paths):
        system, name = optional("fsspec.core", "Parquet", "dask").url_to_fs(path)
        files = sorted(system.find(name)) if system.isdir(name) else sorted(system.glob(name))
        inside = [str(file)[len(name) :] for file in files]
        if any("=" in part for part in inside) or not by_name:
            return _of_frame(_read_parquet(paths), y, weight, split_rows)  # columns in the names of folders
        local = "file" in np.atleast_1d(system.protocol)
        for file in files:
            if os.path.basename(file)[:1] in "._":  # marks beside the rows
                continue
            where = file if local else system.unstrip_protocol(file)
            with _opened(where) as parquet:
                if columns.names is None:
                    columns.split(parquet.schema_arrow.empty_table())
                found += _tasks(where, parquet, columns, split_rows)
    if columns.names is None:
        raise FileNotFoundError(f"no Parquet file matches {', '.join(map(repr, map(os.fspath, paths)))}")
    if not columns.names:
        raise ValueError("X has no features beside the target")
    return columns.names, found


def _tasks(where: str, parquet: Any, columns: BatchColumns, split_rows: int) -> Iterator[Stored]:
    """Row groups of a file, as many together as have the rows of a piece."""
    together, rows = [], 0
    for group in range(parquet.metadata.num_row_groups):
        together.append(group)
        rows += parquet.metadata.row_group(group).num_rows
        if rows >= split_rows or group + 1 == parquet.metadata.num_row_groups:
            yield Stored(where, tuple(together), columns, split_rows)
            together, rows = [], 0


@contextmanager
def _opened(where: str) -> Iterator[Any]:
    parquet = optional("pyarrow.parquet", "Parquet", "dask,arrow")
    with (
        optional("fsspec", "Parquet", "dask").open(where) if "://" in where else nullcontext(where) as file,
        parquet.ParquetFile(file) as opened,
    ):
        yield opened


def _read_parquet(paths: list[Any]) -> Any:
    import dask.dataframe

    return dask.dataframe.read_parquet([os.fspath(path) for path in paths] if len(paths) > 1 else os.fspath(paths[0]))


def _of_frame(X: Any, y: Any, weight: Any, split_rows: int) -> tuple[list[str], list[Any]]:
    given = {name: values for name, values in (("y", y), ("sample_weight", weight)) if isinstance(values, (str, list))}
    targets = [n for values in given.values() for n in ([values] if isinstance(values, str) else values)]
    unknown = [n for n in targets if n not in X.columns]
    if unknown:
        raise ValueError(f"X has no column {unknown[0]!r}: it has {', '.join(map(str, X.columns))}")
    features = [n for n in X.columns if n not in targets]
    if not features:
        raise ValueError("X has no features beside the target")
    given_apart = [v for v in (y, weight) if v is not None and not isinstance(v, (str, list))]
    whole = _delayed(X)
    if any(hasattr(v, "to_delayed") and len(np.ravel(_delayed(v))) != len(whole) for v in given_apart):
        # Dask may read several row groups of a Parquet file as one partition, the more the fewer columns are taken
        whole = _delayed(X, as_cut=True)
    sides: list[list[Any] | None] = []
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is None:
            sides.append(None)
        elif name in given:
            sides.append([_column(part, values) for part in whole])
        else:
            sides.append(_blocks(values, X, name, len(whole)))
    return features, _zip([whole, *sides], features, len(targets), split_rows)


def _delayed(values: Any, as_cut: bool = False) -> list[Any]:
    """The delayed partitions of a collection; `as_cut`: as many as it has before Dask reads some as one."""
    return list(np.ravel(values.to_delayed(optimize_graph=not as_cut)))


@dask.delayed
def _column(part: Any, name: Any) -> Any:
    missing = [n for n in ([name] if isinstance(name, str) else name) if n not in part.columns]
    if missing:
        raise ValueError(f"a partition has no column {missing[0]!r}: it has {', '.join(map(str, part.columns))}")
    return part[name]


def _blocks(values: Any, X: Any, name: str, expected: int) -> list[Any]:
    """The delayed partitions of an array or series, cut as the `expected` ones of X."""
    if not hasattr(values, "to_delayed"):
        raise TypeError(f"{name} must be a dask collection like X, got a {type(values).__name__}")
    if isinstance(values, dask.array.Array) and isinstance(X, dask.array.Array) and values is not X:
        known = not np.isnan(values.chunks[0]).any() and not np.isnan(X.chunks[0]).any()
        if known and values.shape[0] != X.shape[0]:
            raise ValueError(f"{name} has {values.shape[0]} rows and X has {X.shape[0]}")
        values = values.rechunk({0: X.chunks[0], **({1: -1} if values.ndim == 2 else {})}) if known else values
    blocks = _delayed(values)
    if len(blocks) != expected:
        blocks = _delayed(values, as_cut=True)
    if len(blocks) != expected:
        raise ValueError(f"{name} has {len(blocks)} partitions and X has {expected}: repartition one like the other")
    return blocks


def _zip(columns: Sequence[list[Any] | None], features: list[str] | None, n_other: int, split_rows: int) -> list[Any]:
    make = dask.delayed(Held, pure=False)
    X, y, weight = columns
    assert X is not None
    assert y is not None
    return [
        make(number, X[number], y[number], None if weight is None else weight[number], features, n_other, split_rows)
        for number in range(len(X))
    ]


class Held:
    """A partition in a worker's memory."""

    def __init__(
        self, number: int, X: Any, y: Any, weight: Any, features: list[str] | None, n_other: int, split_rows: int
    ) -> None:
        self._where, self._given, self._features, self._split_rows = f"partition {number}", X, features, split_rows
        if features is not None:
            names = list(map(str, X.columns))
            missing = [n for n in features if n not in X.columns]
            if missing or len(names) != len(features) + n_other:
                known = ", ".join(map(str, features))
                raise ValueError(f"{self._where} has columns {', '.join(names)} and X as a whole {known}")
        self._y = np.asarray(y)
        self._weight = None if weight is None else numbers_of(weight, f"sample_weight of {self._where}")
        for name, values in (("y", self._y), ("sample_weight", self._weight)):
            if values is not None and len(values) != len(X):
                raise ValueError(f"{self._where}: X has {len(X)} rows and {name} has {len(values)}")

    def pieces(self) -> Iterator[Rows]:
        """The rows as arrays, ``split_rows`` of them at a time."""
        for first in range(0, len(self._given), self._split_rows):
            some = slice(first, first + self._split_rows)
            if self._features is None:
                X = numbers_of(self._given[some], self._where)
            else:
                part = self._given.iloc[some]
                columns = (numbers_of(part[n], f"column {n!r} of {self._where}") for n in self._features)
                X = np.column_stack(list(columns))
            yield np.ascontiguousarray(X), self._y[some], None if self._weight is None else self._weight[some]


class Stored:
    """Row groups of a Parquet file, read where they are learned."""

    def __init__(self, where: str, groups: tuple[int, ...], columns: BatchColumns, split_rows: int) -> None:
        self._where, self._groups, self._columns, self._split_rows = where, groups, columns, split_rows

    def pieces(self) -> Iterator[Rows]:
        """The rows as arrays, ``split_rows`` of them at a time."""
        with _opened(self._where) as file:
            for group in self._groups:  # of several at once pyarrow keeps all it has read
                for batch in file.iter_batches(self._split_rows, row_groups=[group]):
                    try:
                        X, y, *weight = self._columns.split(batch)
                        if not isinstance(X, np.ndarray):
                            names = self._columns.names or ()
                            X = np.column_stack([numbers_of(batch.column(n), f"column {n!r}") for n in names])
                    except ValueError as error:
                        raise ValueError(f"{self._where}: {error}") from None
                    yield np.ascontiguousarray(X), y, weight[0] if weight else None


# --- tasks ---


def _tree(values: list[Any], merge: Any, split_every: int) -> Any:
    while len(values) > 1:
        values = [merge(values[i : i + split_every]) for i in range(0, len(values), split_every)]
    return values[0]


def _accumulate(model: SubsetBase, part: Held | Stored, front: Any, names: list[str] | None) -> SubsetState | None:
    total = None
    for X, y, weight in part.pieces():
        sums = model.accumulate(X if front is None else front.transform(named(X, names)), y, weight)
        total = sums if total is None else total.merge(sums)
    return total


def _add_up(states: list[SubsetState | None]) -> SubsetState | None:
    there = [s for s in states if s is not None]
    return there[0].merge(*there[1:]) if there else None


def _sample(
    parts: list[Any], sample: int | tuple[ArrayLike, ArrayLike], want_classes: bool, split_every: int
) -> tuple[Any, Any, Any, NDArray[Any] | None]:
    """Rows to choose the basis on, their targets and weights, and the labels of all rows."""
    if isinstance(sample, tuple):
        if not want_classes:
            return *sample, None, None
        count = 0
    elif sample < 1:
        raise ValueError(f"sample={sample!r}: the basis needs a row at least")
    else:
        count = int(sample)
    draw, join = dask.delayed(_draw, pure=False), dask.delayed(_join, pure=False)
    drawn = [draw(part, count, want_classes) for part in parts]
    keys, X, y, weight, found = join([_tree(drawn, lambda group: join(group, count), split_every)], count).compute()
    if isinstance(sample, tuple):
        return *sample, None, found
    if not len(keys):
        raise ValueError("X has no rows of positive weight")
    return X, y, weight, found


Drawn = tuple[NDArray[np.uint64], Array, NDArray[Any], Array, NDArray[Any] | None]


def _draw(part: Held | Stored, count: int, want_classes: bool) -> Drawn | None:
    """The rows of positive weight with the smallest keys, which depend on the row alone."""
    drawn: Drawn | None = None
    for X, y, weight in part.pieces():
        weight = np.ones(len(X)) if weight is None else weight
        labels = np.unique(y[weight > 0]) if want_classes else None
        keys = _core.row_keys(X, 0)
        near = (weight > 0) & (
            keys <= (drawn[0][-1] if drawn is not None and len(drawn[0]) == count > 0 else keys.max())
        )
        found = _smallest(keys[near], X[near], y[near], weight[near], labels, count)
        drawn = found if drawn is None else _join([drawn, found], count)
    return drawn


def _smallest(keys: Any, X: Any, y: Any, weight: Any, found: Any, count: int) -> Drawn:
    kept = np.argsort(keys, kind="stable")[:count]
    return keys[kept], X[kept], y[kept], weight[kept], found


def _join(found: list[Drawn | None], count: int) -> Drawn:
    drawn = [one for one in found if one is not None]
    if not drawn:
        raise ValueError("X has no rows")
    keys, X, y, weight = (np.concatenate([d[i] for d in drawn]) for i in range(4))
    labels = [d[4] for d in drawn if d[4] is not None]
    return _smallest(keys, X, y, weight, np.unique(np.concatenate(labels)) if labels else None, count)
