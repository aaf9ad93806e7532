"""How fast the function changes along each feature, from learned widths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Array
from ..base.axes import Display, pyplot
from ..base.columns import coordinate_names
from ..base.kernel import parameters
from ..base.validation import check_is_fitted
from ..base.warp import Warp


@parameters
class WidthsDisplay(Display):
    """Relevance of the features: each one's part of the squared distance under the learned widths.

    It says how fast the function changes along a feature, not how much of the target depends on it: a straight line
    needs a wide kernel and ranks low, and of two copies of a feature each shows a part.

    Parameters
    ----------
    relevance : ndarray of shape (n_features,)
    names : list of str
    switched_off : ndarray of int
        Features drawn in grey.
    warp : Warp, optional
        Learned curves of the features, for :meth:`plot_curves`.

    Attributes
    ----------
    ax_, figure_, bars_
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import SubsetLSSVMRegressor
    >>> from kernsift.display import WidthsDisplay
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = SubsetLSSVMRegressor(gamma="learn", max_basis=20, random_state=0).fit(X, np.sin(3 * X[:, 0]))
    >>> display = WidthsDisplay.from_estimator(model)
    >>> display = display.plot(most=2, color="tab:blue")  # again, another way
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][-1]  # the most relevant is on top
    'x0'
    >>> from kernsift import Warp
    >>> metric = Warp([[0, 1, 10], [0, 1]], [[2, 1], [0.5]])
    >>> (ax,) = WidthsDisplay(relevance=[0.9, 0.1], names=["a", "b"], warp=metric).plot_curves(most=1)
    >>> ax.get_xlabel()
    'a'
    """

    relevance: Array
    names: Sequence[str]
    switched_off: Sequence[int] | NDArray[np.intp] = ()
    warp: Warp | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, most: int | None = 20, ax: Any = None, **bars: Any) -> Self:
        """Draw the relevance of a fitted estimator with gamma="learn" or "warp", or of what ``learn_gamma`` answered.

        Parameters
        ----------
        estimator : estimator or Bunch
        most : int or None, default=20
            Features to draw, the most relevant first; None for all.
        ax, **bars
            As in `plot`.
        """
        found = estimator
        if not isinstance(estimator, dict):
            check_is_fitted(estimator)
            found = getattr(estimator, "learned_gamma_", None)
            if found is None:
                raise ValueError(f"{type(estimator).__name__} has no learned widths: fit it with gamma='learn'")
        relevance = found["relevance"]
        names = coordinate_names(estimator, len(relevance))
        warp = found["gamma"] if isinstance(found["gamma"], Warp) else None
        display = cls(
            relevance=relevance,
            names=[f"x{name}" if isinstance(name, int) else str(name) for name in names],
            switched_off=found["switched_off"],
            warp=warp,
        )
        return display.plot(most=most, ax=ax, **bars)

    def plot(self, *, most: int | None = 20, ax: Any = None, **bars: Any) -> Self:
        """Draw.

        Parameters
        ----------
        most : int or None, default=20
        ax : matplotlib Axes, optional
        **bars : dict
            Passed to ``Axes.barh``.
        """
        order = np.argsort(-self.relevance, kind="stable")[: len(self.relevance) if most is None else most][::-1]
        if ax is None:
            _, ax = pyplot().subplots(figsize=(5.0, 0.6 + 0.22 * len(order)), layout="constrained")
        colours = ["lightgrey" if j in self.switched_off else "C0" for j in order]
        self.bars_ = ax.barh([self.names[j] for j in order], self.relevance[order], **{"color": colours, **bars})
        ax.set_xlabel("part of the squared distance")
        return self._drawn(ax)

    def plot_curves(self, *, most: int = 6, axes: Any = None, **line: Any) -> Any:
        """Draw the curves w_j of a warp, those of the most relevant features: where they are steep, rows are far apart.

        Parameters
        ----------
        most : int, default=6
        axes : sequence of matplotlib Axes, optional
            At most as many features are drawn.
        **line : dict
            Passed to ``Axes.plot``.

        Returns
        -------
        ndarray of matplotlib Axes
        """
        if self.warp is None:
            raise ValueError("there are no curves, but one width per feature: fit with gamma='warp'")
        order = np.argsort(-np.asarray(self.relevance), kind="stable")[:most]
        if axes is None:
            wide = min(len(order), 3)
            high = -(-len(order) // wide)
            _, axes = pyplot().subplots(
                high, wide, figsize=(2.6 * wide, 2.0 * high), layout="constrained", squeeze=False
            )
            for ax in axes.ravel()[len(order) :]:
                ax.set_axis_off()
        axes = np.ravel(axes)
        for ax, j in zip(axes, order, strict=False):
            ax.plot(*self.warp.curve(j), **{"marker": ".", **line})
            ax.set_xlabel(self.names[j])
            ax.set_ylabel("w")
        return axes
