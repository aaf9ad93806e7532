"""How rows reach the core of an online estimator: in blocks, to the places where a ridge or widths are due."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.reports import CallbackSupport, in_blocks, stopped
from ..base.threads import n_threads
from ..base.validation import check_rows
from ..widths.learn_gamma import wants_learning
from .first_rows import FIRST_ROWS, until_known, warm_up
from .fitted_core import FittedCore
from .ridge import choose_ridge, until_choices


class OnlineLearning(CallbackSupport, FittedCore):
    """Learning checked rows; the subclasses hold the parameters and make the core (`_begin`)."""

    gamma: Any
    alpha: Any
    max_basis: int | None
    oversample: int
    learn_rows: int
    n_jobs: int | None

    def _begin(
        self,
        X: NDArray[np.float64],
        weight: NDArray[np.float64],
        n_outputs: int,
        whole: bool = False,
        gamma: Any = None,
    ) -> Any:
        raise NotImplementedError

    # --- the first rows ---

    def _rows_to_begin(self) -> int:
        """Rows of positive weight from which `update` and `prequential` begin a stream: those that give the widths."""
        if not isinstance(self.gamma, str):
            return 1
        return min(FIRST_ROWS, self.learn_rows) if wants_learning(self.gamma) else FIRST_ROWS

    def _with_waiting(
        self, X: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The rows that wait for a stream to begin, and these."""
        kept = self.__dict__.get("_waiting")
        if kept is None:
            return X, targets, weight
        return np.vstack([kept[0], X]), np.vstack([kept[1], targets]), np.concatenate([kept[2], weight])

    def _learn(
        self,
        X: NDArray[np.float64],
        targets: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        restart: bool,
        whole: bool,
    ) -> None:
        """Send checked rows to the core."""
        if restart:
            for name in ("learned_gamma_", "_warm_up", "_waiting"):
                self.__dict__.pop(name, None)
        # rows up to those with which learned widths are known, and the rest
        due = None if whole else self._until_widths(weight, restart)
        cut = len(X) if due is None else due
        n = len(X)
        first = X[:cut], targets[:cut], weight[:cut]
        if self._learn_part(*first, restart=restart, whole=whole, before=0, total=n) and cut < n:
            self._learn_part(X[cut:], targets[cut:], weight[cut:], restart=False, whole=False, before=cut, total=n)

    def _until_widths(self, weight: NDArray[np.float64], restart: bool) -> int | None:
        """Rows of a block until widths are learned; None if they are learned already or not by this block."""
        if not wants_learning(self.gamma) or not (restart or "_warm_up" in self.__dict__):
            return None
        kept = 0 if restart else np.count_nonzero(self._warm_up[2] > 0)
        return until_known(weight, self.learn_rows - kept)

    def _learn_part(
        self,
        X: NDArray[np.float64],
        targets: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        restart: bool,
        whole: bool,
        before: int,
        total: int,
    ) -> bool:
        """Learn rows; whether all of them, which a callback can prevent."""
        gamma, buffered = None, 0
        if wants_learning(self.gamma) and (restart or "_warm_up" in self.__dict__):
            X, targets, weight, restart, gamma, buffered = warm_up(self, X, targets, weight, restart, whole)
        core = self._begin(X, weight, targets.shape[1], whole, gamma) if restart else self._fitted()
        check_rows(core.kernel, X)
        self._core = core
        seen = core.rows_seen
        try:
            blocks = in_blocks(self, X, targets, core)
            threads = n_threads(self.n_jobs)
            for rows, due in self._between_choices(blocks, core):
                apriori = core.learn(X[rows], targets[rows], weight[rows], self._exact_apriori, threads)[0]
                self._calibrate(apriori, targets[rows], weight[rows])
                if due:
                    choose_ridge(core)
        except BaseException as error:
            try:
                done = core.rows_seen - seen
            except RuntimeError:  # the error came in the middle of a block, and the core refuses to be read
                raise error from None
            # of rows kept from earlier calls, learned again with widths of their own, the caller has given some before
            told = stopped(error, before + max(done - buffered, 0), total)
            if told is error:
                raise
            raise told from error
        if whole and self.max_basis is not None and self.oversample > 1:
            core.prune(int(self.max_basis))
        if whole and self.alpha == "gcv":
            choose_ridge(core)
        return bool(core.rows_seen - seen == len(X))

    _exact_apriori = False  # whether the predictions made before each row was learned must be exact

    def _calibrate(
        self, apriori: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> None:
        """Learn from predictions made before their rows were learned; the classifier does."""

    def _between_choices(self, blocks: Iterable[slice], core: Any) -> Iterator[tuple[slice, bool]]:
        """Rows to learn in one go, and whether the ridge is due after them."""
        for rows in blocks:
            if self.alpha == "gcv":
                yield from until_choices(rows, core.rows_seen)
            else:
                yield rows, False
