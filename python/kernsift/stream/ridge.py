"""alpha="gcv" on a stream: the ridge chosen again from the state, at the size and number of rows it has come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core

# The ridge a stream begins with, the default of `alpha`, and the rows after which it is first chosen; then as often as
# their number has doubled.
FIRST_RIDGE = 0.1
FIRST_CHOICE = 256


def next_choice(seen: int) -> int:
    """Rows after which the ridge is chosen next."""
    return max(FIRST_CHOICE, 1 << seen.bit_length())  # 256, 512, ...: the power of two above what is seen


def until_choices(rows: slice, seen: int) -> Iterator[tuple[slice, bool]]:
    """`rows`, of a stream that had seen `seen` before their first, cut where a ridge is due; and whether it is there.

    The places depend on the number of rows alone, so that the sizes of blocks change nothing.
    """
    first = rows.start
    while first < rows.stop:
        due = next_choice(seen)
        last = min(rows.stop, first + due - seen)
        seen += last - first
        yield slice(first, last), seen == due
        first = last


def choose_if_due(core: Any) -> None:
    """Choose the ridge again if the row just learned is one after which it is due."""
    seen = core.rows_seen
    if seen >= FIRST_CHOICE and seen & (seen - 1) == 0:
        choose_ridge(core)


def choose_ridge(core: Any) -> None:
    """Give the core the ridge of the smallest GCV, summed over outputs, of the least-squares problem in its state.

    A ridge beside which the present one leaves nothing of the rows is not taken; the stream goes on with its own.
    """
    if not core.n_basis:
        return
    state = core.state()
    best = _core.best_ridge(
        **{name: state[name] for name in ("information", "inverse", "theta")},  # one of the first two is empty
        cost=core.cost,
        alpha=core.alpha,
        weight=float(np.ravel(state["target_weight"])[0]),
        count=core.rows_learned,
        with_bias=len(state["theta"]) > core.n_basis,
    )
    del state  # several matrices as large
    if np.isfinite(best):  # else weights are so far apart that rounding is all there is to choose by
        core.change_ridge(best)
