"""Estimators whose fitted model is a C++ core that goes on learning: storing it, and reading what every core has."""

from __future__ import annotations

from typing import Any

from ..base.arrays import Array
from ..base.expansion import Expansion
from ..base.validation import check_unchanged
from ..base.warp import Warp, widths_of
from ..io.core_state import pack, unpack

# What became of a row, in the order of the core's counters.
OUTCOMES = (
    "rejected_novelty",
    "rejected_usefulness",
    "admitted",
    "swapped",
    "bounced",
    "refused",
    "ignored",
    "frozen",
)
ADMISSIONS = ("product", "two-part", "per-sample", "novelty")


class CoreModel(Expansion):
    """Holds the core and the parameters it began with."""

    _core: Any = None
    _begun_with: dict[str, Any]
    _in_single = True

    def _model(self) -> Any:
        return self._core

    def _check_unchanged_params(self) -> None:
        """A stream keeps the parameters it began with: widths and ridge are in its state."""
        again = "call fit" if hasattr(self, "fit") else "take a clone"
        check_unchanged(self, self._begun_with, "this stream began", again)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_told", None)
        for name in ("_core", "_challenger"):
            if state.get(name) is not None:
                state[name] = pack(state[name])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        cores = {name: unpack(state[name]) for name in ("_core", "_challenger") if state.get(name) is not None}
        super().__setstate__({**state, **cores})

    @property
    def n_samples_seen_(self) -> int:
        """Rows seen, those of weight zero included."""
        return self._fitted().rows_seen

    @property
    def alpha_(self) -> float:
        """The ridge in use."""
        self._fitted()
        return float(self._begun_with["alpha"])

    @property
    def gamma_(self) -> Array | Warp:
        """Width in use, one per feature, or the warp."""
        return widths_of(self._fitted().kernel)

    def _counted(self) -> dict[str, int]:
        """Counts of rows by what became of them; ``admitted`` counts those that evicted another too."""
        counts = dict(zip(OUTCOMES, self._fitted().counters.tolist(), strict=True))
        evicted = counts.pop("swapped")
        return {**counts, "admitted": counts["admitted"] + evicted, "evicted": evicted}
