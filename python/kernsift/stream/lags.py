"""A time series as rows of its own past."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.validation import check_array


def lag_embed(
    series: ArrayLike, lags: int | Iterable[int], horizon: int = 1, *, target: int | None = None
) -> tuple[Array, Array]:
    """Rows of past values, each with the value some steps ahead.

    Row i of X holds, for t = i + max(lags), the values x[t - lag] of every column and lag; its target is
    x[t + horizon], so that lag 0 is the present.

    Parameters
    ----------
    series : array-like of shape (n,) or (n, n_columns)
        Values in the order of time; the columns are series that run together.
    lags : int or iterable of ints
        So many recent values, 0, 1, ..., lags - 1; or these lags (0 is the present).
    horizon : int, default=1
        Steps ahead.
    target : int, optional
        Column to predict; by default all of them.

    Returns
    -------
    X : ndarray of shape (n - max(lags) - horizon, n_columns * n_lags)
        The newest first: all columns at the first lag, then all at the second, ...
    y : ndarray of shape (n_rows,), or (n_rows, n_columns) for several columns

    Notes
    -----
    The rows of the last ``horizon`` moments have no target yet; :func:`lag_embed` leaves them out.  To predict after
    the end, take the same lags of the series' end: ``series[-1 - np.arange(lags)]`` for a number of lags and
    ``series[-1 - np.array(lags)]`` for a list.  In ``prequential``, the target of
    a row is known ``horizon`` rows later: give ``delay=horizon - 1`` for the errors of a forecaster.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import lag_embed
    >>> X, y = lag_embed(np.arange(6.0), 3)
    >>> X.tolist(), y.tolist()
    ([[2.0, 1.0, 0.0], [3.0, 2.0, 1.0], [4.0, 3.0, 2.0]], [3.0, 4.0, 5.0])
    >>> X, y = lag_embed(np.column_stack([np.arange(5.0), 9 - np.arange(5.0)]), [0, 2], horizon=2, target=0)
    >>> X.tolist(), y.tolist()
    ([[2.0, 7.0, 0.0, 9.0]], [4.0])

    The row after the end, whose target is not known yet:

    >>> series, lags = np.arange(6.0), 3
    >>> series[-1 - np.arange(lags)].tolist()
    [5.0, 4.0, 3.0]

    A forecaster that learns as it goes:

    >>> from kernsift import OnlineLSSVMRegressor
    >>> t = np.arange(900) / 10
    >>> X, y = lag_embed(np.sin(t) * np.sin(0.7 * t), 4)
    >>> errors = OnlineLSSVMRegressor(gamma=0.5, alpha=1e-4).prequential(X, y).error
    >>> bool(np.abs(errors[-200:]).max() < 0.1)
    True
    """
    values = check_array(series, dtype=np.float64, ensure_2d=False, input_name="series")
    if values.ndim > 2:
        raise ValueError(f"series has {values.ndim} dimensions: give values (n,) or columns (n, n_columns)")
    columns = values.reshape(len(values), -1)
    back = checked_lags(lags)
    if not isinstance(horizon, Integral) or isinstance(horizon, bool) or horizon < 1:
        raise ValueError(f"horizon must be a whole number of steps, 1 or more; got {horizon!r}")
    if target is not None and not -columns.shape[1] <= target < columns.shape[1]:
        raise ValueError(f"target={target!r} is no column of a series with {columns.shape[1]} columns")
    longest = int(back.max())
    n_rows = len(columns) - longest - int(horizon)
    if n_rows < 1:
        raise ValueError(
            f"series has {len(columns)} values: lags up to {longest} and horizon {horizon} need {longest + horizon + 1}"
        )
    # row i stands at time longest + i
    X = np.concatenate([columns[longest - lag : longest - lag + n_rows] for lag in back.tolist()], axis=1)
    ahead: NDArray[Any] = columns[longest + int(horizon) :]
    if target is not None or values.ndim == 1:
        ahead = ahead[:, 0 if target is None else target]
    return np.ascontiguousarray(X), np.ascontiguousarray(ahead)


def checked_lags(lags: int | Iterable[int]) -> NDArray[np.int64]:
    """Lags as numbers of steps, those of a number being 0 to one less."""
    if isinstance(lags, Integral) and not isinstance(lags, bool):
        if lags < 1:
            raise ValueError(f"lags={lags!r} keeps no value: give 1 or more, or a list of lags")
        return np.arange(int(lags))
    given = np.asarray(list(lags) if isinstance(lags, Iterable) else lags)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu" or given.min() < 0:
        raise ValueError(f"lags must be a number of values or a list of whole numbers from 0; got {lags!r}")
    return given.astype(np.int64)
