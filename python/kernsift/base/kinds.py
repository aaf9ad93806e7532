"""Types of a table's columns, and the refusal of dates and texts where only numbers can be."""

from __future__ import annotations

import re
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
    for name, dtype in types_of(X):
        if str(dtype).lower().startswith(_DATES):
            raise ValueError(f"column {name!r} of {what} holds dates or durations ({dtype}): {_INSTEAD}")


def refuse_texts(X: Any, what: str, error: Exception) -> None:
    """Name the first column with a value that is no number, where a check of the table failed for one."""
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OSU":
        return
    for name, values in _columns(X):
        place = what if name is None else f"column {name!r} of {what}"
        for row, value in enumerate(values):
            try:
                if value is not None:
                    float(value)
            except (TypeError, ValueError) as why:
                where = (
                    f"{place} holds {value!r:.40}" + (f" in row {row}" if np.ndim(X) else "") + ", which is no number"
                )
                if isinstance(why, TypeError):  # a dictionary, say; of this scikit-learn wants the type and the words
                    raise TypeError(f"{where}: {why}") from error
                raise ValueError(f"{where}{_way(what, name)}") from error


def _way(what: str, name: Any) -> str:
    """What to do about a text among numbers."""
    if name is not None:
        way = f"OneHotEncoder, or categorical_features=[{name!r}] where the estimator has it"
        return f": encode it ({way}) or leave the column out"
    return ": give numbers, or a classifier for labels" if what == "y" else ": give numbers"


_INSTEAD = "give numbers, such as the hours since a moment of your choice, or leave it out"


def types_of(X: Any) -> Iterator[tuple[Any, Any]]:
    """Names and types of a data frame's columns."""
    if hasattr(X, "collect_schema"):  # polars, lazy too
        yield from X.collect_schema().items()
        return
    dtypes = getattr(X, "dtypes", None)  # pandas
    if dtypes is None and hasattr(X, "schema"):
        dtypes = getattr(X.schema, "types", None)  # pyarrow
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if dtypes is not None and names is not None:
        yield from zip(names, dtypes, strict=False)


def is_number(dtype: Any) -> bool:
    """Whether a data frame's type is one of numbers or booleans."""
    return re.fullmatch(r"(u?int|float|double|halffloat|bool|boolean)\d*(\[pyarrow\])?", str(dtype).lower()) is not None


def _columns(X: Any) -> Iterator[tuple[Any, Any]]:
    """Names (or numbers) and values of the columns that need not be numbers; without a name what has no columns."""
    frame = list(types_of(X))
    for name, dtype in frame:
        if not is_number(dtype):
            column = X[name] if hasattr(X, "__getitem__") else ()
            yield name, column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    if frame:
        return
    values = np.asarray(X, dtype=object)
    if values.ndim == 2:
        yield from ((j, values[:, j].tolist()) for j in range(values.shape[1]))
    elif values.ndim < 2:  # rows of different lengths are scikit-learn's to refuse
        yield None, [value if isinstance(value, (str, bytes)) else None for value in values.ravel().tolist()]
