"""A copy of an online estimator to learn rows in blocks while it is watched, and displays of what is seen."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import Array
from ..base.axes import Display
from ..base.kernel import parameters
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


@parameters
class StreamDisplay(Display):
    """A display of an online estimator, read again and again while it learns."""

    estimator_name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        block: int | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Let a copy of an online estimator learn rows in blocks, read what is shown after each, and draw.

        Parameters
        ----------
        estimator, X, y
            As in :meth:`PrequentialDisplay.from_estimator`.
        block : int, optional
            Rows between two readings; a two-hundredth of the stream by default.
        name : str, optional
            For the title; the class name by default.
        ax, **kwargs
            As in `plot`.
        """
        seen = cls._read(Watched(estimator, X, y, cls.__name__), block)
        display = cls(**seen, estimator_name=type(estimator).__name__ if name is None else name)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def _read(cls, stream: Watched, block: int | None) -> dict[str, Any]:
        """What the constructor takes, read while the stream is learned."""
        raise NotImplementedError

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw."""
        raise NotImplementedError

    def _titled(self, ax: Any, name: str | None, **legend: Any) -> Self:
        title = self.estimator_name if name is None else name
        if title:
            ax.set_title(title)
        ax.legend(**legend)
        return self._drawn(ax)


def running_mean(values: Array, window: int) -> Array:
    """Mean of the last `window` values, of all so far where there are fewer."""
    if not isinstance(window, (int, np.integer)) or window < 1:
        raise ValueError(f"window={window!r} must be a whole number of rows, 1 or more")
    # sums of each window by themselves: a difference of cumulative sums would round a small error beside a large one
    padded = np.concatenate([np.zeros(window - 1), values])
    sums = np.lib.stride_tricks.sliding_window_view(padded, window).sum(axis=1)
    return sums / np.minimum(np.arange(1, len(values) + 1), window)
