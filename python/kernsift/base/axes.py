"""Displays: pictures of fitted estimators, in scikit-learn's manner.  matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import Any, Self

from .optional import optional


def pyplot() -> Any:
    """Import pyplot."""
    return optional("matplotlib.pyplot", "drawing", "plot")


class Display:
    """What was drawn on; a display's own fields (`base.kernel.parameters`) are what it draws."""

    ax_: Any
    figure_: Any

    def _drawn(self, ax: Any) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


def axes_or_new(ax: Any) -> Any:
    """Return `ax`, or the axes of a new figure."""
    plt = pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax
