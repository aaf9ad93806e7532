"""alpha="gcv" on a stream: the ridge chosen again from the state, at the size and number of rows it has come to."""

from __future__ import annotations

from typing import Any

# The ridge a stream begins with, which alpha="auto" keeps in `fit`, and the rows after which "gcv" first chooses; then
# as often as their number has doubled.
FIRST_RIDGE = 0.1
FIRST_CHOICE = 256


def next_choice(seen: int) -> int:
    """Rows after which the ridge is chosen next."""
    return max(FIRST_CHOICE, 1 << seen.bit_length())  # 256, 512, ...: the power of two above what is seen


def choose_if_due(core: Any) -> None:
    """Choose the ridge again if the row just learned is one after which it is due."""
    seen = core.rows_seen
    if seen >= FIRST_CHOICE and seen & (seen - 1) == 0:
        core.choose_ridge()
