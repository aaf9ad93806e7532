"""Checks shared by the estimators.  scikit-learn's private helpers are named here and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import RealNotInt as RealNotInt
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils.validation import check_array as _check_array
from sklearn.utils.validation import check_is_fitted as check_is_fitted
from sklearn.utils.validation import validate_data as _validate_data

from .._core import LARGEST, SMALLEST
from .arrays import Array
from .columns import Columns
from .kinds import is_number as is_number
from .kinds import refuse_dates, refuse_texts
from .kinds import types_of as types_of
from .objects import Objects, RowKernel
from .reports import has_learned
from .tables import in_memory, with_targets
from .words import did_you_mean as did_you_mean
from .words import in_our_words

E = TypeVar("E")
# What many parameters may be.
COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
F = TypeVar("F", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[F], F]:
    """scikit-learn's, which has no types."""
    decorate: Callable[[F], F] = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return decorate


class CheckedParameters(BaseEstimator):
    """Parameters checked by scikit-learn's constraints and by rules these cannot express."""

    def _validate_params(self) -> None:
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                raise ValueError(f"{name} is a number beyond the range of a double: give a smaller one")
        try:
            super()._validate_params()
        except ValueError as error:
            hint = ""
            for name, value in self.get_params(deep=False).items():
                options = [c.options for c in self._parameter_constraints.get(name, ()) if isinstance(c, StrOptions)]
                if isinstance(value, str) and options and f"'{name}' parameter" in str(error):
                    hint = did_you_mean(value, sorted(set().union(*options)))
            raise type(error)(f"{in_our_words(str(error))}{hint}") from None
        alpha: Any = getattr(self, "alpha", None)
        if not isinstance(alpha, Real):
            return
        if alpha != 0 and not SMALLEST <= float(alpha) <= LARGEST:
            raise ValueError(
                f"alpha={alpha!r} is beyond the arithmetic: give a ridge from {SMALLEST:g} to {LARGEST:g} "
                "(1e-8 to 10 times the number of rows has any effect where k(x, x) is about 1)"
            )


def check_array(array: Any, **options: Any) -> NDArray[Any]:
    """scikit-learn's, with columns named in errors."""
    what = options.get("input_name", "X")
    if not isinstance(array, np.ndarray):
        array = in_memory(array)
    refuse_dates(array, what)
    try:
        return _check_array(array, **options)
    except (OverflowError, ValueError, TypeError) as error:
        _explain(error, array, what)
        raise


#: How rows are given to the core.
ROWS: dict[str, Any] = {"dtype": np.float64, "order": "C"}


def validate_data(estimator: BaseEstimator, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """scikit-learn's, with columns named in errors, and encoded where there are others than numbers.

    Tables may be lazy or streams, and y the name of a column.
    """
    alone = y is None or (isinstance(y, str) and y == "no_validation")
    if not (isinstance(X, np.ndarray) and (alone or isinstance(y, (np.ndarray, list)))):
        X, y = with_targets(X, y)
    reset, numbers = options.get("reset", True), isinstance(X, np.ndarray) and X.dtype.kind in "fiub"
    if reset:
        estimator.__dict__.pop("columns_", None)
        estimator.__dict__.pop("_encodes", None)
        kernel = getattr(estimator, "kernel", "")
        if not isinstance(kernel, str) or kernel == "precomputed":
            rows = _learn_objects(estimator, X)
            return _validate_data(at_this_moment(estimator), rows, y, **options)
    columns: Any = getattr(estimator, "columns_", None)
    if isinstance(columns, Objects):
        if isinstance(columns.kernel, RowKernel):
            X = _rows_of_numbers(estimator, X, reset=False)
        return _validate_data(at_this_moment(estimator), columns.encode(X), y, **{**options, "reset": True})
    if reset and hasattr(estimator, "categorical_features"):
        told = not isinstance(estimator.categorical_features, str) or estimator.periods is not None
        if told or estimator._takes_missing or not numbers:
            columns = _learn_columns(estimator, X, told)
    if columns is None and not numbers:
        refuse_dates(X, "X")
    if options.get("y_numeric") and not (isinstance(y, np.ndarray) and y.dtype.kind in "fiub"):
        refuse_dates(y, "y")
    fills = not reset and isinstance(y, str) and getattr(estimator, "_takes_missing", False)
    try:
        if columns is not None:  # names and number are those of the user's columns
            _validate_data(estimator, X, reset=reset, skip_check_array=True)
            estimator, X, options = at_this_moment(estimator), columns.encode(X), {**options, "reset": True}
        if fills:
            rows = _validate_data(estimator, X, y, **options, ensure_all_finite="allow-nan")
            return _filled(rows, estimator) if np.isnan(rows).any() else rows
        return _validate_data(estimator, X, y, **options)
    except (OverflowError, ValueError, TypeError) as error:
        if "must be in the same order" in str(error):
            pairs = zip((name for name, _ in types_of(X)), estimator.feature_names_in_, strict=False)
            here, there = next((pair for pair in pairs if pair[0] != pair[1]), ("?", "?"))
            raise ValueError(
                f"{error}Column {here!r} stands where {there!r} stood: give X[list(model.feature_names_in_)]."
            ) from None
        if "unseen at fit time" in str(error):
            learned = list(estimator.feature_names_in_)
            unknown = next(name for name, _ in types_of(X) if name not in learned)
            if hint := did_you_mean(str(unknown), learned):
                raise ValueError(f"{error}Column {unknown!r} of X is no feature of this model{hint}.") from None
        if "unique column names" in str(error):
            raise ValueError(f"X has columns of the same name: rename them. {error}") from None
        if "inconsistent numbers of samples" in str(error):
            raise ValueError(f"{error}: X has {len(X)} rows and y {len(y)}") from None
        if columns is None:
            _explain(error, X, "X")
        if options.get("y_numeric"):
            refuse_texts(y, "y", error)
        if "NaN" in str(error) or "infinity" in str(error):
            raise type(error)(f"{error}\n{_first_not_finite(X, y)}") from None
        raise


def _learn_objects(estimator: Any, X: Any) -> Array:
    """Coordinates of objects, by those among them that span the others, which an estimator then keeps."""
    most: Any = getattr(estimator, "max_basis", None)
    basis: Any = getattr(estimator, "basis", None)
    limited = hasattr(estimator, "basis") and isinstance(most, Integral)  # subset models; the dense ones need all
    chosen = basis if isinstance(basis, (list, tuple, np.ndarray)) and np.ndim(basis) == 1 and len(basis) else None
    forget(estimator, "feature_names_in_")
    kernel = estimator.kernel
    if isinstance(kernel, RowKernel):
        X = _rows_of_numbers(estimator, X, reset=True)
        kernel = kernel.fitted_to(X, list(getattr(estimator, "feature_names_in_", range(X.shape[1]))))
    estimator.columns_, rows = Objects.learn(kernel, X, int(most) if limited else None, chosen)
    estimator.n_features_in_ = np.shape(X)[1] if isinstance(X, np.ndarray) and X.ndim == 2 else 1
    estimator._encodes = True
    return rows


def _rows_of_numbers(estimator: Any, X: Any, reset: bool) -> Array:
    """Rows for a kernel of columns, whose names and number are noted or compared."""
    rows = check_array(X, **ROWS)
    _validate_data(
        estimator,
        X if hasattr(X, "columns") or hasattr(X, "column_names") else rows,
        reset=reset,
        skip_check_array=True,
    )
    return rows


def _learn_columns(estimator: Any, X: Any, told: bool) -> Columns | None:
    """How the columns of X become numbers, which an estimator then keeps; None where they are numbers."""
    if not told and not hasattr(X, "columns"):  # an array, whose numbers may be missing
        if not estimator._takes_missing:
            return None
        try:
            X = np.asarray(X)
            X = np.asarray(X, dtype=np.float64) if X.dtype.kind in ("f", "O") else X
        except (TypeError, ValueError, OverflowError):
            return None  # which scikit-learn refuses
        if X.dtype.kind != "f" or not np.isnan(X).any():
            return None
    elif not told and not estimator._takes_missing and all(is_number(dtype) for _, dtype in types_of(X)):
        return None
    given = estimator.categorical_features
    columns = Columns.learn(
        X, () if isinstance(given, str) else given, estimator.periods or {}, estimator._takes_missing
    )
    if columns is not None:
        estimator.columns_ = columns
    return columns


def _filled(rows: NDArray[Any], model: Any) -> NDArray[Any]:
    """Rows of a model of numbers, with the mean of its kernels' centres where a number is missing."""
    return np.where(np.isnan(rows), model.basis_vectors_.mean(axis=0), rows).astype(rows.dtype)


def _explain(error: Exception, X: Any, what: str) -> None:
    """Raise an error in our words if the cause was a value that numpy cannot convert to double."""
    if isinstance(error, OverflowError):  # a Python integer of more than 308 digits
        raise ValueError(f"the data hold a number beyond the range of a double: {error}") from error
    refuse_texts(X, what, error)


def at_this_moment(estimator: E) -> E:
    """Return a copy with the present attributes, which stay consistent while another thread replaces them."""
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    return twin


@contextmanager
def transaction(estimator: E, *without: str) -> Iterator[E]:
    """Give a copy to work on, whose attributes become the estimator's in one step at the end.

    The copy begins without the attributes named.  If the block raises, the estimator stays as it was, unless rows
    learned before the error are kept (`has_learned`).
    """
    twin = object.__new__(type(estimator))
    twin.__dict__.update(estimator.__dict__)
    for name in without:
        twin.__dict__.pop(name, None)
    try:
        yield twin
    except BaseException as error:
        if has_learned(error):
            estimator.__dict__ = twin.__dict__
        raise
    estimator.__dict__ = twin.__dict__


def take_over(estimator: E, other: E) -> None:
    """Give an estimator all attributes of another, in one step."""
    estimator.__dict__ = other.__dict__


def forget(estimator: Any, *names: str) -> None:
    """Remove attributes of a former fit."""
    for name in names:
        estimator.__dict__.pop(name, None)


def is_empty_block(X: ArrayLike) -> bool:
    """Whether X is a block of no rows (which learning skips)."""
    shape = getattr(X, "shape", None)
    return len(shape) == 2 and shape[0] == 0 if shape is not None else isinstance(X, (list, tuple)) and not X


def _first_not_finite(X: Any, y: Any) -> str:
    """Say where the first NaN or infinity is."""
    for what, values in (("X", X), ("y", y)):
        try:
            bad = np.argwhere(~np.isfinite(np.asarray(values, dtype=np.float64)))
        except (TypeError, ValueError, OverflowError):
            continue
        if bad.size:  # none of a single number, which has no row
            names = [name for name, _ in types_of(X)] if what == "X" else []
            where = [repr(names[j]) if names else str(j) for j in bad[0, 1:]]
            return f"The first such value is in row {bad[0, 0]}" + ", column ".join(["", *where]) + f" of {what}."
    return ""


def ridge_grid(alphas: ArrayLike) -> Array:
    """Return ridges to choose from, ascending and each once, refusing what `alpha` itself may not be."""
    grid = np.unique(np.asarray(alphas, dtype=np.float64).ravel())
    if not grid.size or not ((grid >= SMALLEST) & (grid <= LARGEST)).all():
        raise ValueError(
            f"alphas must be finite and positive and at least one, from {SMALLEST:g} to {LARGEST:g}, got {alphas!r}"
        )
    return grid


def check_weights(sample_weight: ArrayLike | None, X: NDArray[Any]) -> Array:
    """Return weights as float64, one a row, finite and not negative.  (All zero is refused by `check_some_weight`.)"""
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


def check_products(weight: Array, given: Array, what: str) -> Array:
    """Return weights that are products; refuse those beyond the arithmetic, or lost below it."""
    bad = (weight > LARGEST) | ((weight > 0) & (weight < SMALLEST))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{what} is {weight[row]:.3g} in row {row}, of sample_weight {given[row]:.3g}: give weights whose products "
            f"are 0, or from {SMALLEST:g} to {LARGEST:g}"
        )
    return weight


def check_some_weight(weight: Array) -> None:
    """Refuse weights that are all zero."""
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")


def as_targets(y: NDArray[Any]) -> Array:
    """Return targets as a C-ordered (n, outputs) array of float64, refusing NaN and values whose squares overflow."""
    try:
        targets = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
    except (TypeError, ValueError) as error:
        refuse_texts(y, "y", error)
        raise
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


def in_order(estimator: Any, x: Any) -> Any:
    """Return the values of a row with names (a dictionary, a series) in the order of the features."""
    if not hasattr(x, "keys"):
        return x
    given, names = list(x.keys()), getattr(estimator, "feature_names_in_", None)
    if names is None or not all(isinstance(name, str) for name in given):
        if isinstance(x, Mapping):
            raise ValueError(
                "x is a dictionary and this model has no names of features: give a row of numbers, or begin with a "
                "data frame or a dictionary"
            )
        return x  # a series with the numbers of its places
    missing = next((name for name in names if name not in x), None)
    unknown = next((name for name in given if name not in names), None)
    if missing is not None or unknown is not None:
        what = f"has no {str(missing)!r}" if unknown is None else f"holds {unknown!r}, no feature of this model"
        hint = did_you_mean(unknown, list(names)) if unknown is not None else ""
        raise ValueError(f"x {what}{hint}: it needs {', '.join(names)}")
    return [x[name] for name in names]


def one_row(estimator: Any, x: Any) -> Array:
    """Return a row of numbers of any kind as the core takes it."""
    x = in_order(estimator, x)
    try:
        row = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"x must be a row of numbers, one for each feature; got {x!r:.60}") from None
    if row.ndim != 1 or np.ndim(x) != 1:
        raise ValueError(f"x has shape {np.shape(x)}: give one row, of shape (n_features,)")
    return row


def check_one_row(estimator: Any, x: Array) -> None:
    """Say what is wrong with a row: its shape, or the first feature that is NaN or infinite."""
    expected = getattr(estimator, "n_features_in_", None)
    if x.shape != (expected,):
        raise ValueError(f"x has shape {x.shape}, expected {(expected,)}: one number for each feature")
    if not (finite := np.isfinite(x)).all():
        j = int(np.argmin(finite))
        names = getattr(estimator, "feature_names_in_", None)
        which = j if names is None or len(names) != len(x) else repr(str(names[j]))
        raise ValueError(f"feature {which} of x is {x[j]}: give finite numbers")


def one_target(y: Any, what: str = "y") -> Array:
    """Return the targets, or the weight, of a single row as numbers."""
    try:
        return np.atleast_1d(np.asarray(y, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} must be a number, got {y!r:.60}") from None


def check_one_target(y: Any, weight: Array) -> None:
    """Say what is wrong with the target or the weight of a row: NaN, infinite, negative."""
    if not np.isfinite(y).all():
        raise ValueError(f"y is {np.ravel(y).tolist()}: give finite numbers, or do not learn the row")
    if weight.size != 1 or not 0 <= weight.item() < np.inf:
        raise ValueError(f"sample_weight is {', '.join(map(str, weight.ravel()))}: give 0 or a positive number")


def check_rows(kernel: Any, X: Array, linear: Sequence[float] = ()) -> None:
    """Refuse rows whose kernel with themselves, or linear part of these scales, has a square that may overflow."""
    if linear:
        with np.errstate(over="ignore"):
            bad = ~(np.square(X * linear).sum(axis=1) <= LARGEST)
        if bad.any():
            raise ValueError(
                f"X is too large in row {int(np.argmax(bad))} for a linear part beside the kernels: the square of its "
                f"size is beyond {LARGEST:g} and overflows; rescale X or set linear=False"
            )
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
