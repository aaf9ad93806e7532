"""How fast the world of a stream changes: the weights of its memories over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Array
from ..base.axes import axes_or_new
from ..base.kernel import parameters
from ._stream import StreamDisplay, Watched


@parameters
class MemoriesDisplay(StreamDisplay):
    """Weights of the memories that compete, over time: a short memory has the weight where the function changes.

    Parameters
    ----------
    rows : ndarray of shape (n_blocks,)
        Rows seen at each reading.
    weights : ndarray of shape (n_blocks, n_memories)
        Weights of the memories; each row adds up to one.
    memories : list of float
        What each keeps with a row.
    estimator_name : str, optional
        For the title.
    drift : sequence of int, optional
        Rows at which drift was noted; they are marked.

    Attributes
    ----------
    ax_, figure_
        What was drawn on.
    areas_ : list of PolyCollection
        One a memory, the longest at the bottom.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.display import MemoriesDisplay
    >>> X = np.random.default_rng(7).uniform(-3, 3, (2000, 1))
    >>> y = np.sin(X[:, 0]) * np.where(np.arange(2000) < 1000, 1, -1)
    >>> model = OnlineLSSVMRegressor(gamma=1.0, max_basis=10)
    >>> display = MemoriesDisplay.from_estimator(model, X, y, block=50)
    >>> display.memories
    [1.0, 0.9995, 0.998, 0.99]
    >>> before, after = display.weights[19, 0], display.weights[22, 0]  # of the longest
    >>> bool(after < 1e-6 < before)
    True
    """

    rows: NDArray[np.int64]
    weights: Array
    memories: list[float]
    drift: Sequence[int] = ()

    @classmethod
    def _read(cls, stream: Watched, block: int | None) -> dict[str, Any]:
        rows, readings = [], []
        for part in stream.parts(block):
            stream.learn(part)
            rows.append(stream.model.n_samples_seen_)
            readings.append(stream.model.experts_)
        return {
            "rows": np.array(rows),
            "weights": np.array([[each["weight"] for each in experts] for experts in readings]),
            "memories": [each["forgetting"] for each in readings[-1]],
            "drift": stream.model.drift_,
        }

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        name : str, optional
            For the title.
        **kwargs : dict
            For ``ax.stackplot``.
        """
        ax = axes_or_new(ax)
        order = np.argsort(self.memories)[::-1]
        labels = [f"forgetting={self.memories[e]:g}" for e in order]
        # from dark blue, all rows, to light, the last few
        colors = [(light, 0.3 + 0.7 * light, 0.6 + 0.4 * light) for light in np.linspace(0.0, 0.7, len(order)).tolist()]
        style = {"labels": labels, "colors": colors, **kwargs}
        self.areas_ = ax.stackplot(self.rows, self.weights[:, order].T, **style)
        for i, row in enumerate(self.drift):
            ax.axvline(row, color="black", linestyle=":", label=None if i else "drift")
        ax.set(xlabel="row", ylabel="weight", ylim=(0, 1), xlim=(self.rows[0], self.rows[-1]))
        return self._titled(ax, name, loc="lower left", fontsize="small")
