"""How rows reach the core of an online estimator: the first ones, blocks, one row at a time, predict-then-learn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from ..base.arrays import Array
from ..base.kernel import make_kernel, wants_learning
from ..base.reports import CallbackSupport, in_blocks, stopped
from ..base.targets import Rows
from ..base.threads import n_threads
from ..base.validation import check_one_row, check_rows, check_some_weight, forget, one_row, transaction
from ..widths.learn_gamma import learned_width
from .core_model import OUTCOMES
from .parameters import ENGINES, OnlineParameters
from .ridge import choose_if_due, until_choices

# Rows that `update` and `prequential` keep before they begin a stream with gamma="scale" or "median", whose widths come
# from these rows.  (A first `partial_fit` takes them from its block.)
FIRST_ROWS = 100


class Prequential(NamedTuple):
    """What ``prequential`` returns, row by row."""

    y_pred: NDArray[Any]
    error: Array
    n_basis: NDArray[np.int64]
    std: Array | None


def until_known(weight: Array, needed: int) -> int | None:
    """Number of rows up to the `needed`-th of positive weight, or None."""
    counts = np.cumsum(weight > 0)
    return int(np.searchsorted(counts, needed)) + 1 if len(counts) and counts[-1] >= needed else None


def check_delay(delay: Any) -> None:
    """Refuse a delay that is no number of rows."""
    if not isinstance(delay, (int, np.integer)) or delay < 0:
        raise ValueError(f"delay must be a whole number of rows, 0 or more; got {delay!r}")


class Learning(CallbackSupport, OnlineParameters):
    """Learning checked rows; regressors and classifiers say what a target is (`_checked`).

    A stream passes through up to three states.  Without a core, `update` and `prequential` keep its rows in `_waiting`
    until a width can be taken from them.  With gamma="learn", a model with gamma="scale" then learns rows and keeps
    them in `_warm_up`, until ``learn_rows`` of them are there and the stream begins again with learned widths.
    """

    _waiting: tuple[Array, ...] | None = None
    _warm_up: tuple[Array, ...] | None = None
    _former = ("learned_gamma_", "_warm_up", "_waiting", "_calibration")
    _exact_apriori = False  # whether the predictions made before each row was learned must be exact

    def _calibrate(self, apriori: Array, rows: Rows) -> None:
        """Learn from predictions made before their rows were learned; the classifier does."""

    def _kept(self) -> Rows | None:
        """Rows of a stream that has not begun."""
        return None if self._waiting is None else Rows(*self._waiting)

    # --- whole blocks ---

    def _next(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> Rows:
        """Checked rows with which the stream begins or goes on."""
        if self._core is not None:
            self._check_unchanged_params()
        return self._checked(X, y, sample_weight, *classes, begin=self._core is None and self._waiting is None)

    def _go_on(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> None:
        rows = self._next(X, y, sample_weight, *classes)
        if self._core is not None:
            self._learn(rows, restart=False)
        else:
            rows = rows.after(self._kept())
            check_some_weight(rows.weight)
            self._restart(rows)

    def _begin(self, rows: Rows, whole: bool = False, gamma: Any = None) -> Any:
        """Make the core for a stream that begins with these rows, and ends with them where they are the `whole`."""
        gamma = self.gamma if gamma is None else gamma
        kernel = make_kernel(self, gamma, rows.X, rows.weight, self.random_state)
        core = ENGINES[self.engine](kernel, rows.targets.shape[1], **self._settings(kernel, rows, whole))
        how = ("n_jobs", "verbose")  # these change how rows are learned, not what
        self._begun_with = {name: value for name, value in self.get_params(deep=False).items() if name not in how}
        return core

    def _learn(self, rows: Rows, *, restart: bool) -> None:
        """Send checked rows to the core: first those up to which learned widths become known, then the rest."""
        due = self._until_widths(rows.weight, restart)
        n = len(rows.X)
        if due is None or due == n:
            self._learn_part(rows, restart, False, before=0, total=n)
        elif self._learn_part(rows.part(slice(due)), restart, False, before=0, total=n):
            self._learn_part(rows.part(slice(due, n)), False, False, before=due, total=n)

    def _fit_rows(self, rows: Rows) -> None:
        if not rows.weight.any():
            check_some_weight(rows.weight)
        self._learn_part(rows, True, True, before=0, total=len(rows.X))

    def _restart(self, rows: Rows) -> None:
        """Learn rows from the beginning, as `partial_fit` does."""
        forget(self, *self._former)
        self._learn(rows, restart=True)

    def _until_widths(self, weight: Array, restart: bool) -> int | None:
        """Rows of a block until widths are learned; None if they are learned already or not by this block."""
        if not wants_learning(self.gamma) or not (restart or self._warm_up is not None):
            return None
        kept = 0 if restart or self._warm_up is None else Rows(*self._warm_up).n_weighted
        return until_known(weight, self.learn_rows - kept)

    def _learn_part(self, rows: Rows, restart: bool, whole: bool, before: int, total: int) -> bool:
        """Learn rows; return whether all of them were learned, which a callback can prevent."""
        gamma: Any = None
        kept = 0
        if wants_learning(self.gamma) and (restart or self._warm_up is not None):
            # a model with gamma="scale" until the widths are learned, from the rows so far, with which it begins again
            so_far = rows if restart or self._warm_up is None else rows.after(Rows(*self._warm_up))
            if whole or so_far.n_weighted >= self.learn_rows:
                forget(self, "_warm_up", "_calibration")
                kept, rows, restart = len(so_far.X) - len(rows.X), so_far, True
                gamma = learned_width(self, *rows)
            else:
                self._warm_up = tuple(np.array(part) for part in so_far)
                gamma = "scale" if restart else None
        core = self._begin(rows, whole, gamma) if restart else self._fitted()
        check_rows(core.kernel, rows.X)
        self._core = core
        seen = core.rows_seen
        try:
            threads = n_threads(self.n_jobs)
            for part, due in self._between_choices(in_blocks(self, rows.X, rows.targets, core), core):
                block = rows.part(part)
                self._calibrate(core.learn(*block, self._exact_apriori, threads)[0], block)
                if due:
                    core.choose_ridge()
        except BaseException as error:
            try:
                done = core.rows_seen - seen
            except RuntimeError:  # the error came in the middle of a block, and the core refuses to be read
                raise error from None
            # of rows kept from earlier calls, learned again with widths of their own, the caller has given some before
            noted = stopped(error, before + max(done - kept, 0), total)
            if noted is error:
                raise
            raise noted from error
        if whole and self.max_basis is not None and self.oversample > 1:
            core.prune(int(self.max_basis))
        if whole and self.alpha == "gcv":
            core.choose_ridge()
        return bool(core.rows_seen - seen == len(rows.X))

    def _between_choices(self, blocks: Iterable[slice], core: Any) -> Iterator[tuple[slice, bool]]:
        """Rows to learn in one go, and whether the ridge is due after them."""
        for rows in blocks:
            if self.alpha == "gcv":
                yield from until_choices(rows, core.rows_seen)
            else:
                yield rows, False

    def _needs_ridge(self, what: str) -> None:
        if self.alpha_ == 0:
            raise ValueError(f"{what} needs alpha > 0: without a ridge there is no prior; set alpha and fit again")

    # --- predict, then learn ---

    def _rows_to_begin(self) -> int:
        """Rows of positive weight from which `update` and `prequential` begin a stream: those that give the widths."""
        if not isinstance(self.gamma, str):
            return 1
        return min(FIRST_ROWS, self.learn_rows) if wants_learning(self.gamma) else FIRST_ROWS

    def _begin_with(self, rows: Rows) -> int | None:
        """Learn the first of rows that come one by one and return their number, or keep all and return None."""
        self._check_beyond_the_papers()
        kept = self._kept()
        first = until_known(rows.weight, self._rows_to_begin() - (0 if kept is None else kept.n_weighted))
        rows = rows.part(slice(first)).after(kept)
        if first is None:
            self._waiting = tuple(rows)
            return None
        self._restart(rows)
        return first

    def _predict_then_learn(
        self, rows: Rows, delay: int, return_std: bool
    ) -> tuple[Array, Array | None, NDArray[np.int64]]:
        """Predict each row, then learn the one `delay` before it; NaN where there is no model to predict with yet."""
        n, delay = len(rows.X), min(int(delay), len(rows.X))
        # a window forgets a row before it predicts the new one, and the result must be that of `predict`
        blocks = delay == 0 and not return_std and self.window is None
        mean, n_basis = np.full(rows.targets.shape, np.nan), np.zeros(n, dtype=np.int64)
        variance = np.full(rows.targets.shape, np.nan) if return_std else None
        members: Array = np.empty((0, 0))  # what each memory predicts, where it is learned from later
        learned, step = 0, 0  # step i predicts row i and learns row i - delay
        if self._core is None and self._rows_to_begin() == 1 and self._waiting is None:
            one = Rows(rows.X[:1], rows.targets[:1], np.ones(1))
            self._core = self._begin(one)  # nothing to wait for: it begins empty
        if self._core is None:
            first = self._begin_with(rows)
            if first is None:
                return mean, variance, n_basis
            learned, step = first, first + delay
        while learned < n:
            core = self._fitted()
            check_rows(core.kernel, rows.X[learned:])
            until = self._until_widths(rows.weight[learned:], restart=False)
            end = n if until is None else learned + until
            for part, due in self._between_choices([slice(learned, end)], core):
                last, block = part.stop + delay, rows.part(part)
                if blocks:
                    before = core.n_basis
                    mean[part], outcome, _ = core.learn(*block, True)
                    grown = np.cumsum(outcome == OUTCOMES.index("admitted"))
                    n_basis[part] = before + np.concatenate([[0], grown[:-1]])
                else:
                    if delay and not len(members):
                        members = np.full((n, rows.targets.shape[1] * len(core.memories[0])), np.nan)
                    found = core.prequential(*rows, delay, return_std, step, last, members)
                    now = slice(step, min(last, n))
                    mean[now], n_basis[now] = found[0][now], found[2][now]
                    if variance is not None:
                        variance[now] = found[1][now]
                self._calibrate(mean[part], block)
                step = last
                if due:
                    core.choose_ridge()
            if self._warm_up is not None:
                kept = rows.part(slice(learned, end)).after(Rows(*self._warm_up))
                self._warm_up = tuple(kept)
                if until is not None:
                    self._restart(kept)
            learned = end
        return mean, variance, n_basis

    # --- one row ---

    def _arrive(self, x: Any, y: Any, sample_weight: float) -> bool:
        """One row where the stream has not begun or its widths are not known; whether a model has learned it."""
        with transaction(self) as new:
            if new._core is None and new._waiting is None:
                new._validate_params()
            rows = new._next(np.reshape(x, (1, -1)), y, [sample_weight])
            if new._core is None:
                return new._begin_with(rows) is not None
            new._learn(rows, restart=False)
            return True

    def _scores_of_one(self, x: Array) -> Array:
        core = self._core or self._ready()
        try:
            return core.predict_one(x)
        except TypeError:  # not a contiguous row of float64
            return self._scores_of_one(one_row(x))
        except ValueError:
            check_one_row(self, x)
            raise

    def _learn_one(self, core: Any, x: Any, target: float | Array, sample_weight: float) -> None:
        try:
            core.update(x, target, sample_weight)
        except TypeError:  # not a contiguous row of float64
            core.update(one_row(x), target, float(sample_weight))
        if self.alpha == "gcv":
            choose_if_due(core)

    def _ready(self) -> Any:
        """The core, for one row to be predicted."""
        kept = self._kept()
        if self._core is None and kept is not None:
            raise NotFittedError(
                f"this {type(self).__name__} has {kept.n_weighted} of the {self._rows_to_begin()} rows from which "
                f"gamma={self.gamma!r} is taken and predicts nothing before: give gamma as a number to begin at once"
            )
        return self._fitted()
