"""How rows reach the core of an online estimator: the first ones, blocks, one row at a time, predict-then-learn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.kernel import make_kernel, wants_learning
from ..base.reports import CallbackSupport, in_blocks, stopped
from ..base.targets import Rows
from ..base.threads import n_threads
from ..base.validation import (
    check_one_row,
    check_one_target,
    check_rows,
    check_some_weight,
    in_order,
    one_row,
    one_target,
    transaction,
)
from ..widths.learn_gamma import learned_width
from .core_model import OUTCOMES
from .course import Course, CourseState
from .parameters import ENGINES, OnlineParameters


class Prequential(NamedTuple):
    """What ``prequential`` returns, row by row."""

    y_pred: NDArray[Any]
    error: Array
    n_basis: NDArray[np.int64]
    std: Array | None
    lower: Array | None = None
    upper: Array | None = None
    sets: NDArray[np.bool_] | None = None


def check_delay(delay: Any) -> None:
    """Refuse a delay that is no number of rows."""
    if not isinstance(delay, (int, np.integer)) or delay < 0:
        raise ValueError(f"delay must be a whole number of rows, 0 or more; got {delay!r}")


class Learning(CallbackSupport, OnlineParameters, Course):
    """Learning checked rows; regressors and classifiers say what a target is (`_checked`)."""

    _former = ("learned_gamma_", "_course", "_challenger", "_calibration", "_lags", "_last_targets")

    # --- how a stream begins ---

    def _next(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> Rows:
        """Checked rows with which the stream begins or goes on."""
        if self._core is not None:
            self._check_unchanged_params()
        return self._checked(X, y, sample_weight, *classes, begin=self._core is None)

    def _begin(
        self,
        rows: Rows,
        *,
        whole: bool = False,
        gamma: Any = None,
        ridge: float | None = None,
        memory: float | None = None,
        first_row: int = 0,
    ) -> Any:
        """Make the core for a stream that begins with these rows, and ends with them where they are the `whole`."""
        gamma = self._first_gamma(whole) if gamma is None else gamma
        kernel = make_kernel(self, gamma, rows.X, rows.weight, self.random_state)
        settings = self._settings(kernel, rows, whole)
        if ridge is not None:
            settings["alpha"] = ridge
        if memory is not None:
            settings |= {"forgetting": [memory], "error_forecast": False}
        core = ENGINES[self.engine](kernel, rows.targets.shape[1], first_row=first_row, **settings)
        how = ("n_jobs", "verbose")  # these change how rows are learned, not what
        self._begun_with = {name: value for name, value in self.get_params(deep=False).items() if name not in how}
        return core

    def _first_gamma(self, whole: bool) -> Any:
        """What the widths are taken by at first."""
        if not isinstance(self.gamma, str) or self.gamma not in ("auto", "learn"):
            return self.gamma
        return "scale" if whole or not self._learns_widths() else "standard"

    def _begin_stream(self, rows: Rows) -> None:
        """Begin a stream with its first row, of which nothing is known yet."""
        if isinstance(self.gamma, str) and self.gamma == "warp":
            raise ValueError("gamma='warp' is for fit: give a stream a Warp that learn_gamma found, or gamma='auto'")
        self._core = self._begin(Rows(rows.X[:1], rows.targets[:1], np.ones(1)))
        self._course = CourseState() if isinstance(self.gamma, str) else None

    # --- whole blocks ---

    def _go_on(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> None:
        rows = self._next(X, y, sample_weight, *classes)
        if self._core is None:
            check_some_weight(rows.weight)
            self._begin_stream(rows)
        self._learn(rows)

    def _fit_rows(self, rows: Rows) -> None:
        if not rows.weight.any():
            check_some_weight(rows.weight)
        gamma = learned_width(self, *rows) if wants_learning(self.gamma) else None
        self._core = self._begin(rows, whole=True, gamma=gamma)
        if self._learn(rows) < len(rows.X):
            return
        if self.max_basis is not None and self.oversample > 1:
            self._core.prune(int(self.max_basis))
        if self.alpha == "gcv":
            self._core.choose_ridge()

    def _learn(self, rows: Rows) -> int:
        """Learn rows and return how many were learned: fewer than there are where a callback ended it."""
        check_rows(self._core.kernel, rows.X, self._core.settings["linear"])
        self._admit_to_trial(rows.X)
        seen, threads = self._core.rows_seen, n_threads(self.n_jobs)
        try:
            for block in in_blocks(self, rows.X, rows.targets):
                for stretch in self._stretches(block, rows.weight):
                    self._learn_stretch(rows.part(stretch), threads=threads)
        except BaseException as error:
            self._end_trial()  # one of the two may have learned more
            try:
                done = self._core.rows_seen - seen
            except RuntimeError:  # the error came in the middle of a block, and the core refuses to be read
                raise error from None
            noted = stopped(error, done, len(rows.X))
            if noted is error:
                raise
            raise noted from error
        return int(self._core.rows_seen - seen)

    def _needs_ridge(self, what: str) -> None:
        if self.alpha_ == 0:
            raise ValueError(f"{what} needs alpha > 0: without a ridge there is no prior; set alpha and fit again")

    # --- predict, then learn ---

    def _predict_then_learn(
        self, rows: Rows, delay: int, return_std: bool = False, quantile: float = 0.0
    ) -> tuple[Array, Array | None, NDArray[np.int64], Array]:
        """Predict each row, then learn the one `delay` before it.

        Returns predictions, their variances, the numbers of kernels, and half the widths of intervals of the coverage
        whose normal ``quantile`` is given.
        """
        n, delay = len(rows.X), min(int(delay), len(rows.X))
        if self._core is None:
            self._check_beyond_the_papers()
            self._begin_stream(rows)
        check_rows(self._core.kernel, rows.X, self._core.settings["linear"])
        self._admit_to_trial(rows.X)
        # a window forgets a row before it predicts the new one, and the result must be that of `predict`
        blocks = delay == 0 and not return_std and not quantile and self.window is None
        mean, n_basis = np.empty(rows.targets.shape), np.zeros(n, dtype=np.int64)
        variance = np.empty(rows.targets.shape) if return_std or quantile else None
        half = np.empty(rows.targets.shape if quantile else (0, 0))
        memory = Arrivals(rows, delay, quantile)
        for part in self._stretches(slice(0, n), rows.weight):
            block = rows.part(part)
            if blocks:
                before = self._core.n_basis
                mean[part], outcome = self._learn_stretch(block, exact=True)
                grown = np.cumsum(outcome == OUTCOMES.index("admitted"))
                n_basis[part] = before + np.concatenate([[0], grown[:-1]])
                continue
            # step i predicts row i and learns row i - delay
            step, last = part.start + (delay if part.start else 0), part.stop + delay
            found = memory.step(self._core, return_std, step, last)
            now = slice(step, min(last, n))
            mean[now], n_basis[now] = found[0][now], found[2][now]
            if variance is not None:
                variance[now] = found[1][now]
            if quantile:
                half[now] = found[3][now]
            others = None
            if self._challenger is not None:
                memory.step(self._challenger, False, step, last)
                others = memory.mean(self._challenger)[part]
            self._after(memory.mean(self._core)[part], others, block)
        return mean, variance, n_basis, half

    # --- one row ---

    def _arrive(self, x: Any, y: Any, sample_weight: float) -> None:
        """The first row of a stream, or the first of a class."""
        names = None
        if self._core is None and isinstance(x, Mapping):
            names = np.array(list(x), dtype=object)
            x = [x[name] for name in names]
        x = np.array([list(in_order(self, x))], dtype=object if self._encodes else None)
        with transaction(self) as new, warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            new._validate_params()
            rows = new._next(x, y, [sample_weight])
            if names is not None and all(isinstance(name, str) for name in names):
                new.feature_names_in_ = names
            if new._core is None:
                new._check_beyond_the_papers()
                new._begin_stream(rows)
            new._learn(rows)

    def _scores_of_one(self, x: Array) -> Array:
        return self._read_one("predict_one", x)

    def _row_of(self, x: Any) -> Array:
        """A row of a folded pipeline, or an object, as the core takes it."""
        return self.columns_.row(self, x)

    def _read_one(self, what: str, x: Array, *how: float) -> Any:
        """What the core says of one row."""
        core = self._core or self._fitted()
        if self._encodes:
            x = self._row_of(x)
        try:
            return getattr(core, what)(x, *how)
        except TypeError:  # not a contiguous row of float64
            return self._read_one(what, one_row(self, x), *how)
        except ValueError:
            if not self._encodes:
                check_one_row(self, x)
            raise

    def _learn_one(self, x: Any, target: float | Array, sample_weight: float) -> None:
        if self._encodes:
            x = self._row_of(x)
        try:
            self._learn_row(x, target, sample_weight)
        except TypeError:  # not a contiguous row of float64
            row = one_row(self, x)
            check_one_row(self, row)
            weight = one_target(sample_weight, "sample_weight")
            check_one_target(target, weight)
            self._learn_row(row, target, weight.item())
        except ValueError:
            if not self._encodes:
                check_one_row(self, x)
            check_one_target(target, one_target(sample_weight, "sample_weight"))
            raise


class Arrivals:
    """What each core predicted when the rows of a call came, and by which of its memories: a target may be late."""

    def __init__(self, rows: Rows, delay: int, quantile: float) -> None:
        self.rows, self.delay, self.quantile = rows, delay, quantile
        self._of: dict[Any, tuple[Array, Array, Array]] = {}

    def _arrays(self, core: Any) -> tuple[Array, Array, Array]:
        if core not in self._of:
            n, outputs = self.rows.targets.shape
            late = n if self.delay else 0
            members = np.full((late, core.member_numbers), np.nan)
            said = np.full((n if self.quantile else 0, 3 * outputs), np.nan)
            self._of[core] = np.full((n, outputs), np.nan), members, said
        return self._of[core]

    def mean(self, core: Any) -> Array:
        """Predictions of a core, NaN for rows that came before it did."""
        return self._arrays(core)[0]

    def step(self, core: Any, return_std: bool, first: int, last: int) -> Any:
        """Let a core predict and learn: step i predicts row i and learns row i - delay."""
        mean, members, said = self._arrays(core)
        found = core.prequential(*self.rows, self.delay, return_std, first, last, members, said, self.quantile)
        now = slice(first, min(last, len(mean)))
        mean[now] = found[0][now]
        return found
