"""gamma="learn" on a stream: its first rows are kept until there are enough to learn the widths from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..widths.learn_gamma import learned_width

Array = NDArray[np.float64]

# Rows that `update` and `prequential` keep before they begin a stream with gamma="scale" or "median", whose widths come
# from these rows.  (A first `partial_fit` takes them from its block.)
FIRST_ROWS = 100


def until_known(weight: Array, needed: Any) -> int | None:
    """Rows until so many of positive weight have come, or None."""
    counts = np.cumsum(weight > 0)
    return int(np.searchsorted(counts, needed)) + 1 if len(counts) and counts[-1] >= needed else None


def warm_up(
    online: Any, X: Array, targets: Array, weight: Array, restart: bool, whole: bool
) -> tuple[Array, Array, Array, bool, Any, int]:
    """Rows of a stream whose widths are not known yet: which to learn, whether afresh, and with what gamma.

    Until ``learn_rows`` rows are there a model with gamma="scale" answers, and they are kept in ``_warm_up``.  Then, or
    when these are the `whole`, the widths are learned from them and the stream begins again, with them.  The last
    number says how many of the rows to be learned came earlier.  The rows of a call end where the widths are due.
    """
    rows, before = (X, targets, weight), 0
    if not restart:
        kept = online._warm_up
        rows = (np.vstack([kept[0], X]), np.vstack([kept[1], targets]), np.concatenate([kept[2], weight]))
        before = len(kept[0])
    if whole or np.count_nonzero(rows[2] > 0) >= online.learn_rows:
        online.__dict__.pop("_warm_up", None)
        return *rows, True, learned_width(online, *rows), before
    online._warm_up = tuple(np.array(part) for part in rows)
    return X, targets, weight, restart, "scale" if restart else None, 0
