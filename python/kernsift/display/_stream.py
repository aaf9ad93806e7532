"""A copy of an online estimator to learn rows in blocks while it is watched."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import Array
from ..base.validation import check_array
from ..stream.online_model import OnlineModel


def copy_of_stream(estimator: Any, what: str) -> Any:
    """Return a copy of an online estimator."""
    if not isinstance(estimator, OnlineModel):
        raise TypeError(
            f"{what} watches a stream and needs an OnlineLSSVMRegressor, OnlineLSSVMClassifier or KRLSRegressor, "
            f"got {type(estimator).__name__}"
        )
    return copy.deepcopy(estimator)


class Watched:
    """A copy that goes on from where the estimator is; the estimator itself stays as it is.

    One not fitted begins with the first row; its classes come from all labels.
    """

    def __init__(self, estimator: Any, X: ArrayLike, y: ArrayLike, what: str) -> None:
        self.model: Any = copy_of_stream(estimator, what)
        self.X, self.y = X, np.asarray(y)
        self.begun = estimator.__sklearn_is_fitted__()
        self._first: dict[str, Any] = {}
        rows = check_array(X, dtype=np.float64)
        self.n_rows = len(rows)
        if len(self.y) != self.n_rows:
            raise ValueError(f"y has {len(self.y)} rows but X has {self.n_rows}")
        if not self.begun and hasattr(self.model, "decision_function"):
            self._first["classes"] = np.unique(self.y)

    def parts(self, block: int | None) -> Iterator[slice]:
        """Row numbers of one block after another, each a two-hundredth of the stream where no size is given."""
        block = max(self.n_rows // 200, 1) if block is None else block
        if not isinstance(block, (int, np.integer)) or block < 1:
            raise ValueError(f"block={block!r} must be a whole number of rows, 1 or more")
        for first in range(0, self.n_rows, block):
            yield slice(first, min(first + block, self.n_rows))

    def take(self, part: slice) -> Any:
        """Rows of X as given: names of columns stay."""
        return self.X.iloc[part] if hasattr(self.X, "iloc") else np.asarray(self.X)[part]

    def learn(self, part: slice) -> None:
        self.model.partial_fit(self.take(part), self.y[part], **self._first)
        self._first = {}

    @property
    def n_basis(self) -> int:
        return self.model.n_basis_ if self.model.__sklearn_is_fitted__() else 0


def running_mean(values: Array, window: int) -> Array:
    """Mean of the last `window` values, of all so far where there are fewer."""
    if not isinstance(window, (int, np.integer)) or window < 1:
        raise ValueError(f"window={window!r} must be a whole number of rows, 1 or more")
    # sums of each window by themselves: a difference of cumulative sums would round a small error beside a large one
    padded = np.concatenate([np.zeros(window - 1), values])
    sums = np.lib.stride_tricks.sliding_window_view(padded, window).sum(axis=1)
    return sums / np.minimum(np.arange(1, len(values) + 1), window)
