"""Tables that are streamed, lazy or on disk, as tables in memory; targets by the name of their column."""

from __future__ import annotations

from typing import Any

import numpy as np

from .optional import optional
from .words import did_you_mean


def in_memory(X: Any) -> Any:
    """Return a table that can be read by columns of one that is lazy, a stream or a batch; anything else as it is."""
    if isinstance(X, (np.ndarray, list, tuple, dict)):
        return X
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # polars, lazy
        return X.collect()
    if hasattr(X, "scanner") and hasattr(X, "to_table"):  # a dataset of pyarrow
        return X.to_table()
    is_stream = hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__")
    is_batch = hasattr(X, "__arrow_c_array__") and hasattr(X, "num_columns")  # whose names scikit-learn does not see
    return optional("pyarrow", "a stream of Arrow", "arrow").table(X) if is_stream or is_batch else X


def with_targets(X: Any, y: Any) -> tuple[Any, Any]:
    """Return rows and targets in memory, where y may be the name of a column of X."""
    X = in_memory(X)
    if not isinstance(y, str) or y == "no_validation":
        return X, in_memory(y)
    import narwhals

    frame = narwhals.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, narwhals.DataFrame):
        raise ValueError(f"y={y!r} names a column and X has no columns with names: give a table, or y as an array")
    if y not in frame.columns:
        raise ValueError(f"X has no column {y!r}{did_you_mean(y, frame.columns)}: it has {', '.join(frame.columns)}")
    return frame.drop(y).to_native(), frame[y].to_native()
