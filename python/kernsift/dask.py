"""Subset-of-regressors models over `Dask <https://dask.org>`_ collections: ``pip install 'kernsift[dask]'``.

The basis is chosen on a sample, every partition is summed on it where it lies, the sums are merged as a tree, and the
small system is solved here.  The sums add exactly, so that the model is that of one process on all rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from . import _core
from .base.arrays import Array
from .base.pipeline import in_two, joined, named
from .base.validation import take_over
from .io.record_batches import numbers_of
from .subset.base import SubsetBase
from .subset.state import SubsetState

try:
    import dask
    import dask.array
except ImportError as error:
    raise ImportError("kernsift.dask needs dask: pip install 'kernsift[dask]'") from error

__all__ = ["fit"]

Rows = tuple[Array, NDArray[Any], Array | None]


def fit(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    sample: int | tuple[ArrayLike, ArrayLike] = 20_000,
    classes: ArrayLike | None = None,
    split_every: int = 8,
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
    names, parts = _partitions(X, y, sample_weight)
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


def _partitions(X: Any, y: Any, weight: Any) -> tuple[list[str] | None, list[Any]]:
    """Names of the features, and for each partition a delayed (X, y, weight)."""
    if isinstance(X, (str, os.PathLike)) or (
        isinstance(X, (list, tuple)) and X and all(isinstance(p, (str, os.PathLike)) for p in X)
    ):
        X = _parquet(X)
    if hasattr(X, "columns"):
        return _of_frame(X, y, weight)
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
    return None, _zip([_blocks(X, X, "X", n), _blocks(y, X, "y", n), weights], None, 0)


def _parquet(paths: Any) -> Any:
    try:
        import dask.dataframe
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError("Parquet needs dask's data frames: pip install 'kernsift[dask,arrow]'") from error
    return dask.dataframe.read_parquet([os.fspath(p) for p in paths] if isinstance(paths, (list, tuple)) else paths)


def _of_frame(X: Any, y: Any, weight: Any) -> tuple[list[str], list[Any]]:
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
    return features, _zip([whole, *sides], features, len(targets))


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


def _zip(columns: Sequence[list[Any] | None], features: list[str] | None, n_other: int) -> list[Any]:
    make = dask.delayed(_part, pure=False)
    X, y, weight = columns
    assert X is not None
    assert y is not None
    return [
        make(number, X[number], y[number], None if weight is None else weight[number], features, n_other)
        for number in range(len(X))
    ]


def _part(number: int, X: Any, y: Any, weight: Any, features: list[str] | None, n_other: int) -> Rows:
    """A partition as arrays, or what is wrong with it."""
    where = f"partition {number}"
    if features is not None:
        names = list(map(str, X.columns))
        missing = [n for n in features if n not in X.columns]
        if missing or len(names) != len(features) + n_other:
            raise ValueError(f"{where} has columns {', '.join(names)} and X as a whole {', '.join(map(str, features))}")
        X = np.column_stack([numbers_of(X[n], f"column {n!r} of {where}") for n in features])
    rows = numbers_of(X, where)
    targets = np.asarray(y)
    weights = None if weight is None else numbers_of(weight, f"sample_weight of {where}")
    for name, values in (("y", targets), ("sample_weight", weights)):
        if values is not None and len(values) != len(rows):
            raise ValueError(f"{where}: X has {len(rows)} rows and {name} has {len(values)}")
    return np.ascontiguousarray(rows), targets, weights


# --- tasks ---


def _tree(values: list[Any], merge: Any, split_every: int) -> Any:
    while len(values) > 1:
        values = [merge(values[i : i + split_every]) for i in range(0, len(values), split_every)]
    return values[0]


def _accumulate(model: SubsetBase, part: Rows, front: Any, names: list[str] | None) -> SubsetState | None:
    X, y, weight = part
    if not len(X):
        return None
    return model.accumulate(X if front is None else front.transform(named(X, names)), y, weight)


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


def _draw(part: Rows, count: int, want_classes: bool) -> Drawn:
    """The rows of positive weight with the smallest keys, which depend on the row alone."""
    X, y, weight = part
    weight = np.ones(len(X)) if weight is None else weight
    if (weight > 0).sum() < len(X):
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    keys = _core.row_keys(np.ascontiguousarray(X), 0)
    return _smallest(keys, X, y, weight, np.unique(y) if want_classes else None, count)


def _smallest(keys: Any, X: Any, y: Any, weight: Any, found: Any, count: int) -> Drawn:
    kept = np.argsort(keys, kind="stable")[:count]
    return keys[kept], X[kept], y[kept], weight[kept], found


def _join(drawn: list[Drawn], count: int) -> Drawn:
    keys, X, y, weight = (np.concatenate([d[i] for d in drawn]) for i in range(4))
    labels = [d[4] for d in drawn if d[4] is not None]
    return _smallest(keys, X, y, weight, np.unique(np.concatenate(labels)) if labels else None, count)
