"""The moments of a series: the labels of pandas, or plain numbers of steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from ..io.plain import record


@record("Clock")
@dataclass(frozen=True)
class Clock:
    """The last moment of a series with labels, and the step to the next."""

    last: str
    step: str  # as pandas writes frequencies
    periods: bool  # whether labels are periods, and not timestamps

    @classmethod
    def of(cls, index: Any, freq: str | None) -> Self | None:
        """The clock of an index of timestamps or periods; None of any other."""
        if type(index).__name__ not in ("DatetimeIndex", "PeriodIndex"):
            return None
        import pandas

        periods = isinstance(index, pandas.PeriodIndex)
        step = freq or index.freqstr or (None if periods or len(index) < 3 else pandas.infer_freq(index))
        if step is None:
            raise ValueError("the index of y has no regular step: give freq=, such as freq='h', or y.asfreq(...)")
        return cls(str(index[-1]), str(step), periods)

    def at(self, steps: int) -> Any:
        """The label of a later step, counted from the last one."""
        import pandas

        if self.periods:
            return pandas.Period(self.last, freq=self.step) + steps
        return pandas.Timestamp(self.last) + steps * pandas.tseries.frequencies.to_offset(self.step)

    def future(self, steps: list[int]) -> Any:
        """The labels of later steps, counted from the last one, as an index."""
        import pandas

        labels = [self.at(h) for h in steps]
        return pandas.PeriodIndex(labels) if self.periods else pandas.DatetimeIndex(labels)

    def places(self, index: Any) -> list[int]:
        """How many steps after the last each label of an index is."""
        found: list[int] = []
        steps = 0
        for label in index:
            while (moment := self.at(steps)) < label:
                steps += 1
            if moment != label or steps < 1:
                raise ValueError(
                    f"y has the label {label!s}, and the next after {self.last} in steps of {self.step} is "
                    f"{self.at(len(found) + 1)!s}: give values in the order of time, each once"
                )
            found.append(steps)
            steps += 1
        return found

    def moved(self, steps: int) -> Clock:
        """The clock when further steps have passed."""
        return replace(self, last=str(self.at(steps)))
