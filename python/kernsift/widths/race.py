"""Choosing a kernel: candidates judged by the error of the final model on rows held out, the worst dropped early.

A candidate is a kernel and the way its widths come about.  Rung 0, where there are rows to spare: short searches for
widths and small models, on a part of the rows.  Then each split of the rows (`splits`): widths learned without the rows
held out, which say only where the search stops, and the model as it will be.  The best kernel with learned widths is
tried warped too, from these widths on.  The winner is fitted to all rows.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.canonical import canonical_rows, canonical_table, draw_seed
from ..base.groups import On, Product, Sum
from ..base.kernel import KERNELS as KNOWN
from ..base.kernel import TABLE, ChosenKernel, LearningParameters, is_scale_free, parameter, parameters, wants_learning
from ..base.targets import Rows
from ..base.threads import n_threads
from ..base.types import KernelSetting, Validation
from ..base.validation import check_some_weight, forget
from ..base.warp import Warp
from .learn_gamma import N_LANDMARKS, N_ROWS, learn
from .search import MAX_ITER, Aside
from .splits import FEW_ROWS, TOO_FEW, WAYS, Split, splits

#: Kernels of kernel="auto"; ties go to the first.
KERNELS = ("rbf", "laplacian", "matern32")
# Rung 0: rows and landmarks the widths are learned on, iterations; kernels and rows of the model.
SHORT_ROWS, SHORT_LANDMARKS, SHORT_STEPS, SHORT_BASIS, SHORT_FIT = 2000, 150, 8, 300, 4000
# Rows the widths are learned on where they are to be compared; those of the winner are learned again.
LEARN_ROWS = 3000
# Rows held out that the search for widths looks at.
WATCHED = 2500
# A candidate is dropped if its error is larger than the best by a part, WORSE, and by SURE standard errors of the
# difference. REMAIN of them are left after rung 0 at most.
WORSE, SURE, REMAIN = 0.03, 2.0, 2
# A larger model must lower the mean squared error by this part.
WORTH = 0.02
# Errors of neighbours are alike if their correlation is above ALIKE, and CERTAIN standard errors from none.
ALIKE, CERTAIN = 0.1, 5.0


@dataclass(frozen=True)
class Candidate:
    """A kernel, and its gamma: a number, an array or the name of a way to find it."""

    kernel: str
    gamma: Any


class Sizes(NamedTuple):
    """Numbers of kernels and the sums of squared errors of models of these sizes, on rows held out."""

    n_basis: NDArray[np.int64]  # ascending
    error: Array

    def enough(self) -> int:
        """The size from which larger ones gain too little."""
        best = 0
        for k, error in enumerate(self.error):
            best = k if error < (1 - WORTH) * self.error[best] else best
        return int(self.n_basis[best])


@dataclass
class Entry:
    """A candidate and what is known of it."""

    candidate: Candidate
    losses: list[Array] = field(default_factory=list)  # of rows held out, one array a split
    squares: list[Array] = field(default_factory=list)  # squared errors of the same rows, for losses that are equal
    signed: list[Array] = field(default_factory=list)  # errors of the first output
    found: list[ChosenKernel] = field(default_factory=list)  # what the model of each split was made with
    sizes: list[Sizes] = field(default_factory=list)  # of each split, if the model can have several
    weight: list[Array] = field(default_factory=list)
    seconds: float = 0.0
    stage: str = "not tried"
    aside: Aside = field(default_factory=Aside)
    ends: list[Array] = field(default_factory=list)  # of the searches for widths, one a split
    learned: dict[str, Any] | None = None  # of the last split

    def score(self) -> tuple[float, float]:
        """Mean loss, then mean squared error."""
        v = np.concatenate(self.weight)
        return float(v @ np.concatenate(self.losses) / v.sum()), float(v @ np.concatenate(self.squares) / v.sum())

    def standard_error(self, other: Entry | None = None) -> float:
        """Standard error of the mean loss, or of its difference from another's on the same rows.

        A row of weight two is two rows, as everywhere.
        """
        v, loss = np.concatenate(self.weight), np.concatenate(self.losses)
        if other is not None:
            loss = loss - np.concatenate(other.losses)
        off = loss - v @ loss / v.sum()
        return float(np.sqrt(v @ off**2) / v.sum())

    def gain_over(self, other: Entry) -> tuple[float, float]:
        """By how much the mean loss is lower than another's, on the splits that both have, and its standard error."""
        n = len(self.losses)
        part = replace(other, losses=other.losses[:n], squares=other.squares[:n], weight=other.weight[:n])
        return part.score()[0] - self.score()[0], self.standard_error(part)

    def like(self, other: Entry) -> None:
        """Note what is known of another on the next split, which finds the same model."""
        k = len(self.losses)
        for name in ("losses", "squares", "signed", "found", "sizes", "weight"):
            getattr(self, name).extend(getattr(other, name)[k : k + 1])
        self.learned = other.learned

    def again(self) -> None:
        """Forget the errors of small models."""
        self.losses, self.squares, self.signed, self.weight = [], [], [], []
        self.found, self.sizes, self.ends = [], [], []


def candidates(model: Any) -> list[Candidate]:
    """What kernel="auto" chooses among; a kernel that is named is alone."""
    if model.kernel != "auto":
        return [Candidate(model.kernel, model.gamma)]
    moves = bool(getattr(model, "polish", 0))  # centres, which needs a gradient
    return [Candidate(kernel, model.gamma) for kernel in KERNELS if TABLE[kernel]["smooth"] or not moves]


@dataclass
class Found:
    """The outcome of a race."""

    chosen: ChosenKernel
    search: list[dict[str, Any]]
    notes: list[str]


def race(model: Any, rows: Rows, until: float | None = None) -> Found:
    """Choose among the candidates of a model, until a moment of `time.perf_counter` if one is given."""
    check_some_weight(rows.weight)
    entries = [Entry(c) for c in candidates(model)]
    distinct = len(canonical_rows(rows.X, rows.weight, 0).which)  # repetitions count once, however they are written
    if distinct < TOO_FEW:
        first = entries[0].candidate.kernel
        note = f"{distinct} rows are too few to compare kernels on: {first!r} was taken, the first of them"
        return Found(ChosenKernel(first), [], [note] * (len(entries) > 1))
    this = _Race(model, rows, until)
    left = this.short(entries) if distinct >= FEW_ROWS and len(entries) > 1 else entries
    this.full(left)
    best = this.best(entries)
    warped = this.warped(best)
    if warped is not None:
        entries.append(warped)
        gain, error = warped.gain_over(best)
        best = warped if this.complete(warped) and gain > error else best
    chosen = this.widths_of_all(best)
    if best.sizes:
        chosen = this.size(best, chosen)
    if isinstance(model.validation, str) and model.validation == "random":
        this.notes += this.order(best)
    return Found(chosen, this.listed(entries, best), this.notes)


class _Race:
    """The rows of a race, and what there is to say of it."""

    def __init__(self, model: Any, rows: Rows, until: float | None) -> None:
        self.model, self.rows, self.until = model, rows, until
        self.seed, self.free = draw_seed(model.random_state), is_scale_free(model.gamma)
        self.splits = splits(model.validation, rows, self.seed, self.free)
        mean = np.average(rows.targets, axis=0, weights=rows.weight)
        variance = np.average((rows.targets - mean) ** 2, axis=0, weights=rows.weight)
        self.classes = hasattr(model, "classes_")
        one = self.classes or len(variance) == 1
        self.unit = np.ones_like(variance) if one else np.where(variance > 0, variance, 1.0)  # outputs count alike
        self.notes: list[str] = []

    def part(self, which: Any) -> Rows:
        return self.rows.at(which)

    def late(self) -> bool:
        return self.until is not None and time.perf_counter() > self.until

    def short(self, entries: list[Entry]) -> list[Entry]:
        """Small models of some of the rows; return the candidates that may still win, the best first."""
        split, trial = self.splits[0], copy.copy(self.model)
        train = self.part(split.train)
        order = split.train[canonical_rows(train.X, train.weight, self.seed, self.free).which]
        some, few = (self.part(np.sort(order[:most])) for most in (SHORT_FIT, SHORT_ROWS))
        most = getattr(trial, "max_basis", None)
        if most == "auto" or isinstance(most, int):
            trial.max_basis = SHORT_BASIS if most == "auto" else min(most, SHORT_BASIS)
        self.each(entries, "short", lambda e: self.judge(e, trial, some, few, split, SHORT_LANDMARKS, SHORT_STEPS))
        return drop(entries)[:REMAIN]

    def full(self, left: list[Entry]) -> None:
        """The model as it will be, on each split, as long as a candidate is not clearly worse."""
        for k, split in enumerate(self.splits):
            train = self.part(split.train)

            def judge(e: Entry, train: Rows = train, split: Split = split) -> None:
                if e.stage == "short":
                    e.again()
                self.judge(e, self.model, train, train, split)

            if self.late() and left[0].losses:
                return
            self.each(left, "full", judge)
            left = drop([e for e in left if len(e.losses) == k + 1 and e.stage == "full"])

    def warped(self, plain: Entry) -> Entry | None:
        """A candidate with learned widths, warped from these on, as long as it errs less; None where there is none."""
        model, whole = self.model, len(plain.ends) == len(self.splits) and not getattr(self.model, "polish", 0)
        if model.kernel != "auto" or plain.candidate.gamma != "learn" or not whole or self.late():
            return None
        entry = Entry(Candidate(plain.candidate.kernel, "warp"), aside=replace(plain.aside))
        for split, end in zip(self.splits, plain.ends, strict=True):
            if entry.losses and (self.late() or not entry.gain_over(plain)[0] > 0):
                break
            train = self.part(split.train)
            entry.aside.found = end

            def judge(e: Entry, train: Rows = train, split: Split = split) -> None:
                self.judge(e, model, train, train, split, steps=SHORT_STEPS, plain=plain)

            self.each([entry], "full", judge)
        return entry

    def each(self, entries: list[Entry], stage: str, judge: Callable[[Entry], None]) -> None:
        for k, e in enumerate(entries):
            if k and self.late():
                names = ", ".join(repr(f.candidate.kernel) for f in entries[k:])
                self.notes.append(f"time_budget ended before {names} could be tried ({stage}): give more seconds")
                break
            begin = time.perf_counter()
            judge(e)
            e.stage = stage
            e.seconds += time.perf_counter() - begin

    def judge(
        self,
        e: Entry,
        model: Any,
        train: Rows,
        tuned: Rows,
        split: Split,
        m: int = N_LANDMARKS,
        steps: int = MAX_ITER,
        plain: Entry | None = None,
    ) -> None:
        """Fit a candidate to rows and note its errors on the rows held out, where it is another than the plain one."""
        test = self.part(split.test)
        learned = None
        if wants_learning(e.candidate.gamma):
            e.aside = replace(e.aside, X=test.X[:WATCHED], Y=test.targets[:WATCHED], weight=test.weight[:WATCHED])
            learned = self.learn(e, tuned, m, steps)
            e.ends.append(e.aside.end)
            if plain is not None and not isinstance(learned["gamma"], Warp):  # no curve is better than these widths
                e.like(plain)
                return
        trial = self.fitted(model, ChosenKernel(e.candidate.kernel, learned), train)
        e.found.append(trial._chosen)
        if model is self.model and (sizes := model._sizes_on(trial, test)) is not None:
            e.sizes.append(sizes)
        scores = trial._fitted().predict(test.X)
        error = test.targets - scores
        squares = (error**2 / self.unit).sum(axis=1)
        wrong = model._codes_of(scores) != model._codes_of(test.targets) if self.classes else squares
        for values, new in zip(
            (e.losses, e.squares, e.signed, e.weight),
            (np.asarray(wrong, dtype=np.float64), squares, error[:, 0], test.weight),
            strict=True,
        ):
            values.append(new)
        e.learned = learned

    def fitted(self, model: Any, chosen: ChosenKernel, train: Rows) -> Any:
        """A copy of the model, fitted to some rows as it will be fitted to all."""
        trial = copy.copy(model)
        trial._chosen = chosen
        if hasattr(trial, "keep_path"):
            trial.keep_path = trial.keep_sums = True
        for name, plain in (("loss", "squared"), ("n_models", 1)):
            if hasattr(trial, name):
                setattr(trial, name, plain)
        if hasattr(trial, "size"):
            trial.size = "max"  # the size is chosen on the rows held out
        trial._fit_rows(train)
        return trial

    def size(self, e: Entry, chosen: ChosenKernel) -> ChosenKernel:
        """The errors of each size, and for max_basis="auto" larger ones as long as they pay."""
        alike = len({tuple(s.n_basis.tolist()) for s in e.sizes}) == 1
        if not alike or len(e.sizes) < len(self.splits) or (len(self.splits) > 1 and self.model.max_basis != "auto"):
            return chosen
        total = sum(float(self.rows.weight[split.test].sum()) for split in self.splits)
        known = Sizes(e.sizes[0].n_basis, np.sum([s.error for s in e.sizes], axis=0) / total)
        errors: dict[int, float] = dict(zip(*(part.tolist() for part in known), strict=True))
        most = None
        if self.model.max_basis == "auto":
            most = known.enough()
            begin = time.perf_counter()
            while most == max(errors) and 2 * most <= self.largest() and not self.late():
                errors[2 * most] = self.error_of(e, 2 * most) / total
                if not errors[2 * most] < (1 - WORTH) * errors[most]:
                    break
                most *= 2
            e.seconds += time.perf_counter() - begin
        found = {"n_basis": np.array(list(errors)), "error": np.array(list(errors.values()))}
        return replace(chosen, sizes=found, most=most)

    def largest(self) -> int:
        """Kernels at most: the limit, and no more than rows."""
        return int(min(self.model.max_basis_limit, *(len(split.train) for split in self.splits)))

    def error_of(self, e: Entry, n: int) -> float:
        """The sum of squared errors, on rows held out, of models of n kernels."""
        error = 0.0
        for split, chosen in zip(self.splits, e.found, strict=True):
            train, test = self.part(split.train), self.part(split.test)
            trial = self.fitted(self.model, replace(chosen, most=n), train)
            error += float(test.weight @ ((test.targets - trial._fitted().predict(test.X)) ** 2).sum(axis=1))
        return error

    def learn(self, e: Entry, rows: Rows, m: int, steps: int, n_rows: int = LEARN_ROWS) -> dict[str, Any]:
        table = canonical_table(*rows, self.seed, scale_free=True)
        how = {"n_rows": n_rows, "m": m, "max_iter": steps, "aside": e.aside, "warp": e.candidate.gamma == "warp"}
        how["threads"] = n_threads(getattr(self.model, "n_jobs", None))
        return dict(learn(table, e.candidate.kernel, bool(self.model.fit_intercept), **how))

    def complete(self, e: Entry) -> bool:
        """Whether it was judged on all rows held out, as it will be."""
        return e.stage == "full" and len(e.losses) == len(self.splits)

    def best(self, entries: list[Entry]) -> Entry:
        judged = [e for e in entries if self.complete(e)]
        return min(judged or [e for e in entries if e.losses], key=Entry.score)

    def widths_of_all(self, e: Entry) -> ChosenKernel:
        """The candidate, with widths of all rows, where one search has seen how far to go."""
        if len(self.splits) > 1 or e.learned is None or self.late():
            learned = None if len(self.splits) > 1 else e.learned
            return ChosenKernel(e.candidate.kernel, learned, warp=e.candidate.gamma == "warp")
        begin = time.perf_counter()
        e.aside = replace(e.aside, X=None, found=None)
        learned = self.learn(e, self.rows, N_LANDMARKS, MAX_ITER, N_ROWS)
        e.seconds += time.perf_counter() - begin
        return ChosenKernel(e.candidate.kernel, learned)

    def order(self, e: Entry) -> list[str]:
        """What to say if the errors of rows that stand near each other are alike."""
        where = np.concatenate([split.test for split in self.splits[: len(e.signed)]])
        error = np.concatenate(e.signed)[np.argsort(where, kind="stable")]
        error = error - error.mean()
        total = float(error @ error)
        alike = float(error[1:] @ error[:-1]) / total if total > 0 else 0.0
        if alike <= max(ALIKE, CERTAIN / np.sqrt(len(error))):
            return []
        return [
            f"the rows look ordered: errors of neighbouring rows have a correlation of {alike:.2f}, so that rows held "
            "out at random are easier than rows to come; if the order is that of time, use validation='time', and if "
            "neighbours belong together, give validation the group of each row"
        ]

    def listed(self, entries: list[Entry], best: Entry) -> list[dict[str, Any]]:
        """The table `search_`: what was tried, in the order of the outcome."""
        rank = {"full": 0, "short": 1, "not tried": 2}
        ordered = sorted(entries, key=lambda e: (rank[e.stage], e.score() if e.losses else (np.inf, np.inf)))
        ordered.sort(key=lambda e: e is not best)
        return [self.line(e, e is best) for e in ordered]

    def line(self, e: Entry, chosen: bool) -> dict[str, Any]:
        error, deviation = np.nan, np.nan
        if e.losses:
            error, deviation = e.score()[0], e.standard_error()
            if not self.classes:
                error = float(np.sqrt(error))
                deviation = deviation / (2 * error) if error > 0 else 0.0
        how = e.candidate.gamma
        return {
            "kernel": e.candidate.kernel,
            "gamma": how if isinstance(how, str) else "given",
            "error": float(error),
            "standard_error": float(deviation),
            "seconds": e.seconds,
            "stage": e.stage,
            "splits": len(e.losses),
            "chosen": chosen,
        }


def candidate_name(line: dict[str, Any]) -> str:
    """A line of `search_` by name."""
    kernel: str = line["kernel"]
    return f"{kernel} warped" if line["gamma"] == "warp" else kernel


def drop(entries: list[Entry]) -> list[Entry]:
    """The candidates that may still win, the best first."""
    judged = sorted((e for e in entries if e.losses), key=Entry.score)
    best, least = judged[0], judged[0].score()[0]

    def near(e: Entry) -> bool:
        behind = e.score()[0] - least
        return behind <= max(WORSE * least, SURE * e.standard_error(best))

    return [best, *(e for e in judged[1:] if near(e))]


@parameters
class RaceParameters(LearningParameters):
    """Those of an estimator that can choose its kernel and takes columns of every kind."""

    kernel: KernelSetting = parameter({*KNOWN, "auto", "precomputed"}, callable, On, Product, Sum, default="rbf")
    validation: Validation = parameter(set(WAYS), "array-like", default="random")
    categorical_features: Literal["from_dtype"] | ArrayLike = parameter(
        {"from_dtype"}, "array-like", default="from_dtype"
    )
    periods: dict[Any, Any] | None = parameter(dict, None, default=None)
    keep: Literal["all", "predict"] = parameter({"all", "predict"}, default="all")


class Racing(RaceParameters):
    """An estimator that can choose its kernel before a fit."""

    search_: list[dict[str, Any]]
    _chosen: ChosenKernel | None = None  # while it is fitted
    _notes: list[str]  # warnings of the race
    _until: ClassVar[float | None] = None
    _to_judge: bool

    def _sizes_on(self, trial: Any, rows: Rows) -> Sizes | None:
        """Errors on rows of smaller models than one on trial, which takes the best size, for those that have any."""
        return None

    def _prepare(self, rows: Rows) -> None:
        forget(self, "_chosen", "search_", "_notes")
        if not self._to_judge and self.kernel != "auto" and getattr(self, "max_basis", None) != "auto":
            return
        found = race(self, rows, self._until)
        self._chosen, self.search_ = found.chosen, found.search
        for note in found.notes:
            warnings.warn(note, UserWarning, stacklevel=4)
        self._notes = found.notes
