"""Checks shared by the estimators.  scikit-learn's private helpers are named here and nowhere else."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_array as _check_array
from sklearn.utils.validation import check_is_fitted
from sklearn.utils.validation import validate_data as _validate_data

from .._core import LARGEST, SMALLEST
from .refusals import refuse_dates, refuse_texts
from .reports import has_learned

__all__ = [
    "Interval",
    "RealNotInt",
    "StrOptions",
    "as_targets",
    "at_this_moment",
    "check_array",
    "check_is_fitted",
    "check_one_row",
    "check_ridge",
    "check_rows",
    "check_unchanged",
    "check_weights",
    "checked_block",
    "did_you_mean",
    "fit_context",
    "is_empty_block",
    "one_row",
    "replaced_at_once",
    "ridge_grid",
    "unchanged_on_error",
    "validate_data",
]

fit_context = _fit_context


def _as_value_errors(check: Callable[..., Any], place: int) -> Callable[..., Any]:
    """What numpy cannot make a double of, said in the way of every other refusal; the data are argument `place`."""

    @wraps(check)
    def checked(*args: Any, **kwargs: Any) -> Any:
        what = kwargs.get("input_name", "X") or "X"
        refuse_dates(args[place], what)
        if kwargs.get("y_numeric"):
            refuse_dates(args[place + 1], "y")
        try:
            return check(*args, **kwargs)
        except OverflowError as error:  # a Python integer of more than 308 digits
            raise ValueError(f"the data hold a number beyond the range of a double: {error}") from error
        except (ValueError, TypeError) as error:
            refuse_texts(args[place], what, error)
            raise

    return checked


check_array = _as_value_errors(_check_array, 0)
validate_data = _as_value_errors(_validate_data, 1)


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Put every attribute back if the block raises, so that bad input leaves the model as it was."""
    saved = dict(estimator.__dict__)
    try:
        yield
    except BaseException as error:
        if has_learned(error):
            raise  # the rows before it stay learned
        now = estimator.__dict__
        now.update(saved)  # never without what a thread that predicts meanwhile looks for
        for name in now.keys() - saved.keys():
            del now[name]
        raise


def at_this_moment(estimator: Any) -> Any:
    """Return the estimator with its attributes of now: they stay together while another thread replaces them."""
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    return twin


@contextmanager
def replaced_at_once(estimator: Any) -> Iterator[Any]:
    """Give a twin to work on, whose attributes become the estimator's in one step at the end, or never if it raises."""
    twin = at_this_moment(estimator)
    yield twin
    estimator.__dict__ = twin.__dict__


def is_empty_block(X: ArrayLike) -> bool:
    """Whether X is a block of no rows (which learning skips)."""
    shape = getattr(X, "shape", None)
    return len(shape) == 2 and shape[0] == 0 if shape is not None else isinstance(X, (list, tuple)) and not X


def checked_block(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, reset: bool, **options: Any
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return a learning block as C-ordered float64 rows and checked targets."""
    try:
        return validate_data(estimator, X, y, reset=reset, dtype=np.float64, order="C", **options)
    except ValueError as error:
        row = _first_row_not_finite(X, y) if "NaN" in str(error) or "infinity" in str(error) else None
        if row is None:
            raise
        raise ValueError(f"{error}\nThe first such value is in row {row} of this block; nothing was learnt.") from None


def _first_row_not_finite(X: ArrayLike, y: ArrayLike) -> int | None:
    bad: list[int] = []
    for values in (X, y):
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            continue
        finite = np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1) if numbers.ndim else np.ones(1, bool)
        bad += np.flatnonzero(~finite)[:1].tolist()
    return min(bad, default=None)


def did_you_mean(word: str, words: Sequence[str]) -> str:
    """Return the end of an error: the nearest of the words that would have been right, if one is near."""
    begins = [known for known in words if word and known.startswith(word)]
    near = begins or difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


def check_ridge(alpha: Any) -> None:
    """Refuse a ridge whose products overflow.  (Zero, and what is no number, is for the caller to judge.)"""
    number: Any = alpha if isinstance(alpha, Real) else 0
    if number != 0 and not SMALLEST <= number <= LARGEST:
        raise ValueError(
            f"alpha={alpha!r} is beyond the arithmetic: give a ridge from {SMALLEST:g} to {LARGEST:g} "
            "(1e-8 to 10 times the number of rows has any effect where k(x, x) is about 1)"
        )


def ridge_grid(alphas: ArrayLike) -> NDArray[np.float64]:
    """Return ridges to choose from, ascending and each once, refusing what `alpha` itself may not be."""
    grid = np.unique(np.asarray(alphas, dtype=np.float64).ravel())
    if not grid.size or not ((grid >= SMALLEST) & (grid <= LARGEST)).all():
        raise ValueError(
            f"alphas must be finite and positive and at least one, from {SMALLEST:g} to {LARGEST:g}, got {alphas!r}"
        )
    return grid


def check_weights(sample_weight: ArrayLike | None, X: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights as float64, one a row, finite and not negative.  (All zero is for the caller to judge.)"""
    n = X.shape[0]
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    weight = check_array(sample_weight, dtype=np.float64, ensure_2d=False, order="C", input_name="sample_weight")
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weight.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}: one weight per row of X")
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(f"Negative values in data passed to `sample_weight`: {weight[row]} in row {row}")
    beyond = (weight > LARGEST) | ((weight > 0) & (weight < SMALLEST))
    if beyond.any():
        row = int(np.argmax(beyond))
        raise ValueError(
            f"sample_weight is {weight[row]:.3g} in row {row}: give 0, or a weight from {SMALLEST:g} to {LARGEST:g}"
        )
    return weight


def as_targets(y: NDArray[Any]) -> NDArray[np.float64]:
    """Return targets as a C-ordered (n, outputs) array of float64, refusing NaN and values whose squares overflow."""
    targets = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
    beyond = ~(np.abs(targets).max(axis=1, initial=0.0) <= LARGEST)
    if beyond.any():
        row = int(np.argmax(beyond))
        if not np.isfinite(targets[row]).all():  # None among objects comes as NaN past scikit-learn's look at y
            raise ValueError(f"y is {targets[row].tolist()} in row {row}: give finite numbers, or leave the row out")
        raise ValueError(
            f"y is {np.abs(targets[row]).max():.3g} in row {row}: its square overflows, or may with a weight; "
            f"rescale y to below {LARGEST:g}"
        )
    return targets


def check_unchanged(estimator: BaseEstimator, begun_with: dict[str, Any], when: str, again: str) -> None:
    """Refuse to go on with parameters other than those a fitted state began with."""
    for name, begun in begun_with.items():
        now = getattr(estimator, name)
        if now is not begun and not np.array_equal(now, begun):
            raise ValueError(
                f"{name} was {begun!r} when {when} and is {now!r} now; {again} to start again, or "
                f"set_params({name}={begun!r}) to go on"
            )


def one_row(x: Any) -> NDArray[np.float64]:
    """Return a row of numbers of any kind as the core takes it."""
    try:
        row = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"x must be a row of numbers, one for each feature; got {x!r:.60}") from None
    if row.ndim != 1 or np.ndim(x) != 1:
        raise ValueError(f"x has shape {np.shape(x)}: give one row, of shape (n_features,)")
    return row


def check_one_row(estimator: Any, x: NDArray[np.float64]) -> None:
    """Say what is wrong with a row: its shape, or the first feature that is NaN or infinite."""
    expected = getattr(estimator, "n_features_in_", None)
    if x.shape != (expected,):
        raise ValueError(f"x has shape {x.shape}, expected {(expected,)}: one number for each feature")
    if not (finite := np.isfinite(x)).all():
        j = int(np.argmin(finite))
        names = getattr(estimator, "feature_names_in_", None)
        which = j if names is None or len(names) != len(x) else repr(str(names[j]))
        raise ValueError(f"feature {which} of x is {x[j]}: give finite numbers")


def check_rows(kernel: Any, X: NDArray[np.float64]) -> None:
    """Refuse rows whose kernel with themselves has a square that may overflow."""
    if kernel.stationary:
        return  # k(x, x) is 1
    with np.errstate(over="ignore"):
        bad = ~(kernel.diagonal(X) <= LARGEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"X is too large in row {row} for the {kernel.name} kernel: k(x, x) is beyond {LARGEST:g} and its square "
            "overflows; rescale X or lower gamma, coef0 or degree"
        )
