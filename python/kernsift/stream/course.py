"""How a running stream comes to its widths: from its first rows, then from challengers that must predict better.

A stream begins with its first row.  After 4, 8, ..., 128 rows it begins again from them, with the widths that the rows
so far give.  Where widths are learned, a challenger is made from the last rows whenever half as many have come as the
memories look back, with widths of its own; after drift from the rows since then, and more often.  It learns the same
rows as the model and takes its place when its predictions were better.  When its trial has ended, steps from the model
are raced on the kept rows: all widths doubled or halved, a third of the ridge or three times it.  Each form begins with
the first of the rows and predicts each before it learns it; a form that was better becomes the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ..base.arrays import Array
from ..base.targets import Rows
from ..base.validation import check_rows
from ..io.plain import record
from ..widths.brief import learn_briefly
from .ridge import FIRST_CHOICE, choose_if_due, next_choice

# Rows learned after which a stream begins again; the last give gamma="scale", "standard" and "median".
BEGINNINGS = (4, 8, 16, 32, 64, 128)
# Rows between two looks at the memories and at a trial.
LOOK = 64
# What the past keeps with each row in the means of the memories and of the squared errors.
STEADY, STEADY_ERROR = 0.99, 0.998
# Widths are learned from this many rows at least. Between two challengers lies a part of the rows since the last drift,
# up to a number that bounds what learning costs a row.
FEWEST, PART, MOST = 200, 0.1, 2000
# The mean difference of the squared errors is clear when it is two standard errors from 0. A trial ends then, and at
# the latest after a quarter of the mean memory in rows.
DECIDED, LONGEST = 2.0, 0.25
# Steps from the model: factors of gamma and of the ridge, which stays within bounds. They are raced on the last RACED
# of the kept rows and taken if their errors on the later half of these are clearly less.
STEPS = (((2.0, 1.0), (0.5, 1.0)), ((1.0, 1 / 3), (1.0, 3.0)))
RACED = 1000
RIDGES = (1e-3, 10.0)
# Drift is noted where the mean memory falls to half of what it was, or the mean squared error of the last hundred rows
# rises fourfold. The last thousand notes are kept.
FALL, RISE, MOST_NOTED = 2.0, 4.0, 1000
# Rows in which a change shows: it is noted once.
SETTLING = 4 * LOOK


def until_known(weight: Array, needed: int) -> int | None:
    """Number of rows up to the `needed`-th of positive weight, or None."""
    counts = np.cumsum(weight > 0)
    return int(np.searchsorted(counts, needed)) + 1 if len(counts) and counts[-1] >= needed else None


def clearly_less(squares: Array, others: Array) -> bool:
    """Whether the mean of the first is less by `DECIDED` standard errors of the difference."""
    if not np.isfinite(squares).all():
        return False
    gain = others - squares
    return bool(gain.mean() > DECIDED * gain.std() / np.sqrt(len(gain)))


@record("StreamTrial")
@dataclass(frozen=True)
class Trial:
    """Squared errors of the model less those of its challenger, over the rows that both predicted."""

    before: int  # as of the challenger's CourseState
    found: dict[str, Any]  # how its widths were learned; empty if the model's never were
    unit: Array  # variances of the outputs
    calibration: Any = None  # of a classifier
    step: bool = False  # whether the challenger is the result of a race of steps
    rows: int = 0
    total: float = 0.0
    squares: float = 0.0

    def judged(self, model: Array, challenger: Array, rows: Rows) -> Trial:
        """The same with further rows, from what either predicted of them."""
        known = np.isfinite(model).all(axis=1) & np.isfinite(challenger).all(axis=1) & (rows.weight > 0)
        Y = rows.targets[known]
        gain = (((model[known] - Y) ** 2 - (challenger[known] - Y) ** 2) / self.unit).sum(axis=1)
        return replace(
            self,
            rows=self.rows + len(gain),
            total=self.total + float(gain.sum()),
            squares=self.squares + float((gain**2).sum()),
        )

    def score(self) -> float:
        """How many standard errors the mean difference is from 0."""
        mean = self.total / self.rows
        variance = max(self.squares / self.rows - mean * mean, 0.0)  # mean**2 would raise where it overflows
        error = np.sqrt(variance / self.rows)
        return float(mean / error) if error > 0 else float(np.sign(mean))


@record("StreamCourse")
@dataclass(frozen=True)
class CourseState:
    """Where a stream stands.  Rows are those of positive weight, from the stream's beginning."""

    before: int = 0  # rows before the first that the present core learned
    due: int = BEGINNINGS[0]  # rows after which to look next
    memory: float = 0.0  # logarithm of the mean memory
    error: float = 0.0  # of the mean square of the last errors
    learned: int = 0  # rows after which widths were learned last
    changed: int = 0  # rows after which drift was noted last, 0 for never
    began: int = 0  # rows after which a challenger became the model
    alike: bool = False  # whether the next challenger has one width for all features, in units of their deviations
    trial: Trial | None = None
    drift: tuple[int, ...] = field(default=())


class Course:
    """The steps of a stream's course; estimators and river's adapters make the cores."""

    alpha: Any
    _core: Any
    _challenger: Any = None
    _course: CourseState | None = None
    _calibration: Any = None
    _told: Callable[[int], Any] | None = None  # of drift
    _exact_apriori = False  # whether the predictions made before each row was learned must be exact

    # --- said by the subclasses ---

    def _begin(
        self,
        rows: Rows,
        *,
        gamma: Any = None,
        ridge: float | None = None,
        memory: float | None = None,
        first_row: int = 0,
    ) -> Any:
        """A core for a stream that begins with these rows; of its own widths, ridge and one memory where given."""
        raise NotImplementedError

    def _learns_widths(self) -> bool:
        """Whether challengers are made."""
        raise NotImplementedError

    def _widths_from(self, rows: Rows) -> Bunch | None:
        """Widths learned from rows, for a challenger."""
        assert self._course is not None
        settings = self._core.settings
        return learn_briefly(rows, self._core.kernel.name, settings["fit_intercept"], self._course.alike)

    def _calibrated(self, calibration: Any, apriori: Array, rows: Rows) -> Any:
        """What predictions made before their rows were learned have taught: of a classifier, its temperature."""
        return calibration

    # --- learning ---

    def _rows_learned(self) -> int:
        assert self._course is not None
        return self._course.before + self._core.rows_learned

    def _stretches(self, rows: slice, weight: Array) -> Iterator[slice]:
        """Rows to learn in one go: up to where a ridge is chosen or the course of the widths looked at.

        The places depend on the number of rows alone, so that the sizes of blocks change nothing.
        """
        first = rows.start
        while first < rows.stop:
            last = rows.stop
            if self.alpha == "gcv":
                last = min(last, first + next_choice(self._core.rows_seen) - self._core.rows_seen)
            if self._course is not None:
                known = until_known(weight[first:last], self._course.due - self._rows_learned())
                last = last if known is None else first + known
            yield slice(first, last)
            self._choose_ridge_if_due()
            self._look()
            first = last

    def _choose_ridge_if_due(self) -> None:
        if self.alpha == "gcv":
            choose_if_due(self._core)
            if self._challenger is not None:
                choose_if_due(self._challenger)

    def _learn_stretch(self, rows: Rows, *, exact: bool = False, threads: int = 1) -> tuple[Array, NDArray[np.uint8]]:
        """Learn rows between two looks; what was predicted of them, and what became of them."""
        trial = self._challenger is not None
        apriori, outcome, _ = self._core.learn(*rows, exact or trial or self._exact_apriori, threads)
        others = self._challenger.learn(*rows, True, threads)[0] if trial else None
        self._after(apriori, others, rows)
        return apriori, outcome

    def _learn_row(self, x: Array, target: float | Array, weight: float) -> None:
        """Learn one row of a stream."""
        challenger, apriori, other = self._challenger, None, None
        if self._exact_apriori or challenger is not None:
            apriori = self._core.predict_one(x)
            other = None if challenger is None else challenger.predict_one(x)
        learned = self._core.update(x, target, weight)
        if apriori is not None:
            row = Rows(x[None, :], np.reshape(target, (1, -1)), np.array([weight], dtype=np.float64))
            if challenger is not None:
                self._admit_to_trial(row.X)
                if self._challenger is None:
                    other = None
                else:
                    challenger.update(x, target, weight)
            self._after(apriori[None, :], None if other is None else other[None, :], row)
        self._choose_ridge_if_due()
        if self._course is not None and self._course.before + learned >= self._course.due:
            self._look()

    def _after(self, apriori: Array, others: Array | None, rows: Rows) -> None:
        """Learn from predictions made before rows were learned, by the model and by its challenger."""
        self._calibration = self._calibrated(self._calibration, apriori, rows)
        if others is None:
            return
        assert self._course is not None
        assert self._course.trial is not None
        trial = self._course.trial.judged(apriori, others, rows)
        trial = replace(trial, calibration=self._calibrated(trial.calibration, others, rows))
        self._course = replace(self._course, trial=trial)

    def _admit_to_trial(self, X: Array) -> None:
        """End a trial whose challenger cannot learn these rows: they overflow where they do not for the model."""
        if self._challenger is None:
            return
        try:
            check_rows(self._challenger.kernel, X, self._challenger.settings["linear"])
        except ValueError:
            self._end_trial()

    def _end_trial(self) -> None:
        self._challenger = None
        if self._course is not None:
            self._course = replace(self._course, trial=None)

    # --- looking ---

    def _look(self) -> None:
        """Do what is due at this row: begin again, end a trial, or make a challenger."""
        course = self._course
        if course is None or self._rows_learned() < course.due:
            return
        n = self._rows_learned()
        if n <= BEGINNINGS[-1]:
            self._begin_again()
        if n >= BEGINNINGS[-1]:
            if not self._learns_widths():
                self._course = None
                return
            self._remember(n)
            if self._challenger is not None:
                self._decide(n)
            elif n - max(self._course.learned, self._course.changed) >= self._between(n):  # type: ignore[union-attr]
                self._challenge(n)
        due = next((rows for rows in BEGINNINGS if rows > n), (n // LOOK + 1) * LOOK)
        self._course = replace(self._course, due=due)  # type: ignore[type-var]

    def _kept_rows(self) -> Rows:
        return Rows(*(np.ascontiguousarray(part) for part in self._core.kept))

    def _begun_with_rows(
        self, rows: Rows, calibration: Any, gamma: Any = None, ridge: float | None = None
    ) -> tuple[Any, Any]:
        """A core that has learned the kept rows, and its calibration."""
        core = self._begin(rows, gamma=gamma, ridge=ridge, first_row=self._core.rows_seen - len(rows.X))
        check_rows(core.kernel, rows.X, core.settings["linear"])
        core.see_targets(self._core.target_range)
        apriori = core.learn(*rows, calibration is not None)[0]
        if self.alpha == "gcv" and core.rows_seen >= FIRST_CHOICE:
            core.choose_ridge()
        return core, self._calibrated(calibration, apriori, rows)

    def _begin_again(self) -> None:
        """Replace the model by one with the widths that the rows so far give."""
        rows = self._kept_rows()
        try:
            core, calibration = self._begun_with_rows(rows, type(self)._calibration)
        except ValueError:  # these rows overflow in units of their own: the model stays as it is
            return
        before = self._rows_learned() - rows.n_weighted
        self._core, self._calibration = core, calibration
        self._course = replace(self._course, before=before)  # type: ignore[type-var]

    def _remember(self, n: int) -> None:
        """Follow how far the memories look back and how well they predict; note where either gets worse."""
        assert self._course is not None
        kept, weights, errors = self._core.memories
        settings = self._core.settings
        longest = min(n, settings["exact_rows"]) if settings["window"] else n
        rows = [min(longest, 1.0 / (1.0 - memory)) if memory < 1 else longest for memory in kept]
        memory = float(weights @ np.log(rows))
        error = float(np.log(max((errors**2).sum(axis=0) @ weights, np.finfo(float).tiny)))  # 0 of a single memory
        course = self._course
        # of a stream that begins, and while a change shows, what is now is the measure
        settling = n <= BEGINNINGS[-1] or (course.changed > 0 and n - course.changed < SETTLING)
        # a difference between two models is no drift
        worse = memory < course.memory - np.log(FALL) or error > course.error + np.log(RISE)
        if worse and not settling and n - course.began >= SETTLING:
            settling = True
            drift = (*course.drift, self._core.rows_seen)[-MOST_NOTED:]
            self._end_trial()  # the challenger was made of rows before the change
            course = replace(self._course, drift=drift, changed=n, alike=False)
            if self._told is not None:
                self._told(drift[-1])
        if not settling:
            memory = course.memory + (1 - STEADY**LOOK) * (memory - course.memory)
            error = course.error + (1 - STEADY_ERROR**LOOK) * (error - course.error)
        self._course = replace(course, memory=memory, error=error)

    def _between(self, n: int) -> float:
        """Rows from one challenger to the next."""
        assert self._course is not None
        since = n - self._course.changed
        look_back = float(np.exp(self._course.memory))
        return max(2 * LOOK, min(PART * since, MOST), 0.5 * min(look_back, since))

    def _challenge(self, n: int) -> None:
        """Make a challenger from the kept rows, with widths learned from the last of them.

        After drift it learns the rows since then alone: from those before it would take over what has changed.
        """
        assert self._course is not None
        self._course = replace(self._course, learned=n)
        kept, known = self._rows_since_drift(n)
        last = min(self._core.settings["kept_rows"] // 2, max(FEWEST, int(np.exp(self._course.memory))))
        try:
            found = self._widths_from(kept.at(known[-last:]))
        except ValueError:  # widths beyond the range of a double
            return
        if found is not None:
            same = {name: value for name, value in found.items() if name != "seconds"}  # the same on any machine
            self._begin_trial(n, kept, found["gamma"], self._core.alpha, found=same)

    def _rows_since_drift(self, n: int) -> tuple[Rows, NDArray[np.intp]]:
        """The kept rows since drift was noted, and which of them have weight."""
        assert self._course is not None
        kept = self._kept_rows()
        known = np.flatnonzero(kept.weight > 0)
        since = n - self._course.changed + LOOK  # a change shows some rows later
        if self._course.changed == 0 or since >= len(known):
            return kept, known
        first = known[-since]
        return kept.at(slice(first, None)), known[-since:] - first

    def _improve(self, n: int) -> None:
        """Go steps from the model while the kept rows would have been predicted better; begin again with the last."""
        assert self._course is not None
        kept, known = self._rows_since_drift(n)
        if len(known) < 2 * LOOK:
            return
        rows = kept.at(known[-RACED:])
        at = self._core.kernel.gamma, self._core.alpha
        least = self._squares(rows, *at)
        for pair in STEPS[: 2 if self.alpha == "auto" else 1]:
            for scale, factor in pair:
                before = at
                while True:
                    to = scale * at[0], float(np.clip(factor * at[1], *RIDGES)) if factor != 1.0 else at[1]
                    squares = self._squares(rows, *to)
                    if not clearly_less(squares, least):
                        break
                    at, least = to, squares
                if at is not before:
                    break
        if at[1] == self._core.alpha and np.array_equal(at[0], self._core.kernel.gamma):
            return
        found = {**self.learned_gamma_, "gamma": at[0]} if hasattr(self, "learned_gamma_") else {}
        self._begin_trial(n, kept, *at, found=found, step=True)
        if self._course.trial is not None and len(known) >= n - self._course.changed:
            self._take_over(n)  # the race was of all rows: a trial of a few says less

    def _squares(self, rows: Rows, gamma: Any, ridge: float) -> Array:
        """Squared errors of the later half of the rows, predicted in turn by a model of the heaviest memory alone."""
        memories, weights, _ = self._core.memories
        later, unit = len(rows.X) // 2, rows.targets.var(axis=0)
        try:
            core = self._begin(rows, gamma=gamma, ridge=ridge, memory=memories[int(np.argmax(weights))])
            check_rows(core.kernel, rows.X, core.settings["linear"])
        except ValueError:  # rows that overflow with these widths
            return np.full(len(rows.X) - later, np.inf)
        error = core.learn(*rows, True)[0][later:] - rows.targets[later:]
        return np.nan_to_num(error**2 / np.where(unit > 0, unit, 1.0), nan=np.inf).sum(axis=1)

    def _begin_trial(self, n: int, kept: Rows, gamma: Any, ridge: float, **of_trial: Any) -> None:
        """Let a challenger learn the kept rows, and then every row beside the model."""
        assert self._course is not None
        try:
            core, calibration = self._begun_with_rows(kept, type(self)._calibration, gamma, ridge)
        except ValueError:  # rows that overflow with these widths
            return
        unit = np.average((kept.targets - kept.targets.mean(axis=0)) ** 2, axis=0, weights=kept.weight)
        trial = Trial(n - kept.n_weighted, unit=np.where(unit > 0, unit, 1.0), calibration=calibration, **of_trial)
        self._challenger, self._course = core, replace(self._course, trial=trial)

    def _decide(self, n: int) -> None:
        """End a trial that has shown which of the two predicts better, or that has lasted long enough."""
        assert self._course is not None
        assert self._course.trial is not None
        trial = self._course.trial
        if trial.rows < LOOK // 2:  # of a stream with late targets the first were not predicted
            return
        score = trial.score()
        if abs(score) < DECIDED and trial.rows < LONGEST * np.exp(self._course.memory):
            return
        if score > 0:
            self._take_over(n)
        else:
            self._end_trial()
            if not trial.step:
                self._course = replace(self._course, alike=not self._course.alike)
        if not trial.step and self._course.learned >= self._course.changed:  # after drift learned widths come first
            self._improve(n)

    def _take_over(self, n: int) -> None:
        """Let the challenger be the model."""
        assert self._course is not None
        assert self._course.trial is not None
        trial = self._course.trial
        self._core, self._calibration = self._challenger, trial.calibration
        self._course = replace(self._course, before=trial.before, began=n)
        if trial.found:
            self.learned_gamma_ = trial.found
        self._end_trial()
