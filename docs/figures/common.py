"""What the figures share: colours that tell apart without red and green, and an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np

BENCH = Path(__file__).resolve().parents[2] / "bench"
BLUE, ORANGE, GREEN, GREY, PURPLE = "#0072B2", "#D55E00", "#009E73", "#777777", "#8A4FBF"


def rmse(a, b):
    return float(np.sqrt(np.mean((np.asarray(a) - np.asarray(b)) ** 2)))


def plain(axis, ticks):
    """Round numbers at these places of a logarithmic axis, and no others."""
    from matplotlib.ticker import NullFormatter, NullLocator

    low, high = axis.get_view_interval()
    ticks = [t for t in ticks if low <= t <= high]
    axis.set_ticks(ticks, [f"{t:g}" for t in ticks])
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
