"""Long fits in blocks: scikit-learn's callbacks (1.9 and later), lines of progress, and the state after Ctrl-C."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

logger = logging.getLogger("kernsift")

#: Rows between two reports: a multiple of the core's own blocks, so that reports change no bit.
BLOCK = 8192


def _callbacks_exist(_: Any) -> bool:
    return importlib.util.find_spec("sklearn.callback") is not None


class CallbackSupport:
    """scikit-learn's callbacks, experimental there: imported when used, absent before 1.9."""

    @available_if(_callbacks_exist)
    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the callbacks called after every block of a long fit.

        Parameters
        ----------
        *callbacks
            Of ``sklearn.callback``, such as ``ProgressBar()``; none takes them off.
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)


class InterruptedLearning(KeyboardInterrupt):
    """Ctrl-C came between two blocks; the model has learned the rows before it."""


def stopped(error: BaseException, done: int, n: int) -> BaseException:
    """What to raise where learning ended after `done` of n rows, which stay learned: Ctrl-C, a callback, a closed pipe.

    The error itself, with a note of the rows; of Ctrl-C an `InterruptedLearning`.  Nothing is noted where no row was
    learned: the estimator is as it was.
    """
    if done == 0:
        return error
    if isinstance(error, KeyboardInterrupt):
        return InterruptedLearning(f"stopped after {done} of {n} rows: the model has learned them")
    error.add_note(f"kernsift: learning stopped after {done} of {n} rows; the model has learned them")
    error._kernsift_learned = done  # type: ignore[attr-defined]
    return error


def has_learned(error: BaseException) -> bool:
    """Whether the model keeps rows learned before this error."""
    return isinstance(error, InterruptedLearning) or hasattr(error, "_kernsift_learned")


def in_blocks(estimator: Any, X: NDArray[Any], y: NDArray[Any]) -> Iterator[slice]:
    """Yield the rows block by block; call the callbacks, the logger and, if ``verbose``, the terminal after each.

    With nobody to tell there is one block.  A callback that returns True ends the fit.  Where one of them raises, the
    rows before it stay learned (`stopped`).
    """
    n = len(X)
    called = bool(getattr(estimator, "_skl_callbacks", None)) or hasattr(estimator, "_parent_callback_ctx")
    told = bool(getattr(estimator, "verbose", 0)) or logger.isEnabledFor(logging.INFO)
    if not called and not told:
        yield slice(0, n)
        return
    context: Any = None
    if called:
        from sklearn.callback import CallbackSupportMixin

        context = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=-(-n // BLOCK))
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    for first in range(0, n, BLOCK):
        rows = slice(first, min(first + BLOCK, n))
        task = None
        if context is not None:
            task = context.subcontext(task_name="block")
            task.call_on_fit_task_begin(estimator=estimator, X=X[rows], y=y[rows])
        yield rows
        line = f"{type(estimator).__name__}: {rows.stop} of {n} rows, {estimator.n_basis_} kernels"
        logger.info(line)
        if getattr(estimator, "verbose", 0):
            print(line)
        if task is not None:
            # scikit-learn copies the estimator for callbacks that need it, and a copy has its own core: nothing to add
            stop = task.call_on_fit_task_end(estimator=estimator, X=X[rows], y=y[rows], reconstruction_attributes={})
            if stop:
                break
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})
