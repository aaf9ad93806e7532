"""gamma="learn" on a stream: its first rows are kept until there are enough to learn the widths from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._learn_gamma import learned_width
from ._validation import check_rows

Array = NDArray[np.float64]


def learn_warming_up(online: Any, X: Array, targets: Array, weight: Array, restart: bool, exact_apriori: bool) -> Array:
    """Learn rows of a stream whose widths are not known yet; the predictions made before each was learned.

    Until ``learn_rows`` rows are there a model with gamma="scale" answers, and they are kept in ``_warm_up``.  Then the
    widths are learned from them and the stream begins again, with them, on the widths found.
    """
    rows, before = (X, targets, weight), 0
    if not restart:
        kept = online._warm_up
        rows = (np.vstack([kept[0], X]), np.vstack([kept[1], targets]), np.concatenate([kept[2], weight]))
        before = len(kept[0])
    if np.count_nonzero(rows[2] > 0) >= online.learn_rows:
        return begin_again(online, rows, exact_apriori)[before:]
    core = online._begin(X, weight, targets.shape[1], "scale") if restart else online._fitted()
    check_rows(core.kernel, X)
    online._core = core
    online._warm_up = tuple(np.array(part) for part in rows)
    apriori, _, _ = core.learn(X, targets, weight, exact_apriori)
    return apriori


def end_warm_up(online: Any) -> None:
    """Learn the widths from the rows there are: no more will come."""
    if "_warm_up" in online.__dict__:
        begin_again(online, online._warm_up)


def begin_again(online: Any, rows: tuple[Array, Array, Array], exact_apriori: bool = False) -> Array:
    """Learn the widths from rows and begin the stream with these rows; the predictions made before each."""
    X, targets, weight = rows
    widths = learned_width(online, X, targets, weight)
    core = online._begin(X, weight, targets.shape[1], widths)
    check_rows(core.kernel, X)
    online._core = core
    online.__dict__.pop("_warm_up", None)
    apriori, _, _ = core.learn(X, targets, weight, exact_apriori)
    return apriori
