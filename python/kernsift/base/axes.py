"""Where a display draws: matplotlib is imported here, when something is drawn."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """Import pyplot, or say which extra brings it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install 'kernsift[plot]'") from error
    return plt


def axes_or_new(ax: Any) -> Any:
    """Return `ax`, or the axes of a new figure."""
    plt = pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax
