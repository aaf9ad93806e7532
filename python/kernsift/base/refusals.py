"""What a table may not hold, said by the name of the column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# Beginnings of the names that pandas, polars and pyarrow give to types of moments and durations.
_DATES = ("datetime", "timedelta", "timestamp", "date", "time", "duration", "period")


def refuse_dates(X: Any, what: str) -> None:
    """Refuse moments and durations, which would be taken for their number of nanoseconds."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if isinstance(kind, str) and kind in ("m", "M"):
        raise ValueError(f"{what} holds dates or durations ({X.dtype}): {_INSTEAD}")
    for name, dtype in _types(X):
        if str(dtype).lower().startswith(_DATES):
            raise ValueError(f"column {name!r} of {what} holds dates or durations ({dtype}): {_INSTEAD}")


def refuse_texts(X: Any, what: str, error: Exception) -> None:
    """Name the first column with a value that is no number, where a check of the table failed for one."""
    if isinstance(X, np.ndarray) and (X.ndim != 2 or X.dtype.kind not in "OSU"):
        return
    for name, values in _columns(X):
        for row, value in enumerate(values):
            try:
                if value is not None:
                    float(value)
            except (TypeError, ValueError) as why:
                where = f"column {name!r} of {what} holds {value!r:.40} in row {row}, which is no number: "
                if isinstance(why, TypeError):  # a dictionary, say; of this scikit-learn wants the type and the words
                    raise TypeError(f"{where}{why}") from error
                raise ValueError(f"{where}encode it (OneHotEncoder) or leave the column out") from error


_INSTEAD = "give numbers, such as the hours since a moment of your choice, or leave it out"


def _types(X: Any) -> Iterator[tuple[Any, Any]]:
    """Names and types of a data frame's columns."""
    dtypes = getattr(X, "dtypes", None)  # pandas and polars
    if dtypes is None and hasattr(X, "schema"):
        dtypes = getattr(X.schema, "types", None)  # pyarrow
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if dtypes is not None and names is not None:
        yield from zip(names, dtypes, strict=False)


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """Names (or numbers) and values of the columns that need not be numbers."""
    if isinstance(X, np.ndarray):
        yield from ((j, X[:, j].tolist()) for j in range(X.shape[1]))
    for name, dtype in _types(X):
        if not str(dtype).lower().startswith(("float", "double", "int", "uint", "bool", "halffloat")):
            column = X[name] if hasattr(X, "__getitem__") else ()
            yield name, column.to_pylist() if hasattr(column, "to_pylist") else list(column)
