"""``lag_embed``: against its definition, value by value; and the example it is for."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from kernsift import lag_embed

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plot_mackey_glass.py"


def literal(series, lags, horizon):
    """x[t - lag] for each column, t from the longest lag on, and x[t + horizon]."""
    columns = np.asarray(series, float).reshape(len(series), -1)
    X, y = [], []
    for t in range(max(lags), len(columns) - horizon):
        X.append([columns[t - lag, c] for lag in lags for c in range(columns.shape[1])])
        y.append(columns[t + horizon])
    return np.array(X), np.array(y)


@pytest.mark.parametrize("columns", [None, 1, 3])
@pytest.mark.parametrize("lags", [1, 4, [0], [0, 2, 5], [3], [5, 0, 2]])
@pytest.mark.parametrize("horizon", [1, 3])
def test_rows_are_those_of_the_definition(columns, lags, horizon, rng):
    series = rng.normal(size=20 if columns is None else (20, columns))
    X, y = lag_embed(series, lags, horizon)
    expected_X, expected_y = literal(series, range(lags) if isinstance(lags, int) else lags, horizon)
    np.testing.assert_array_equal(X, expected_X)
    np.testing.assert_array_equal(y, expected_y[:, 0] if columns is None else expected_y)
    assert X.flags.c_contiguous
    assert not np.shares_memory(X, series)
    if columns:
        for target in (0, -1):
            np.testing.assert_array_equal(lag_embed(series, lags, horizon, target=target)[1], expected_y[:, target])


@pytest.mark.parametrize(
    ("series", "lags", "horizon", "options", "said"),
    [
        (np.zeros(5), 5, 1, {}, "series has 5 values: lags up to 4 and horizon 1 need 6"),
        (np.zeros(5), 0, 1, {}, "lags=0"),
        (np.zeros(5), [], 1, {}, "lags must be"),
        (np.zeros(5), [-1], 1, {}, "lags must be"),
        (np.zeros(5), [0.5], 1, {}, "lags must be"),
        (np.zeros(5), True, 1, {}, "lags must be"),
        (np.zeros(5), 2, 0, {}, "horizon"),
        (np.zeros(5), 2, 1.5, {}, "horizon"),
        (np.zeros((5, 2, 2)), 2, 1, {}, "dim"),
        (np.zeros((5, 2)), 2, 1, {"target": 2}, "target=2 is no column"),
        ([0.0, np.nan, 1.0, 2.0], 2, 1, {}, "series contains NaN"),
        (["a", "b", "c"], 1, 1, {}, "series holds 'a' in row 0"),
    ],
)
def test_mistakes_are_named(series, lags, horizon, options, said):
    with pytest.raises(ValueError, match=said):
        lag_embed(series, lags, horizon, **options)


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="examples are not beside these tests")
def test_the_example_beats_linear_recursive_least_squares(rng):
    spec = importlib.util.spec_from_file_location("plot_mackey_glass", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    # the rival is recursive least squares: it ends at the direct solution
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    rows = np.column_stack([np.ones(49), X[:49]])
    direct = np.linalg.solve(rows.T @ rows + 1e-3 * np.eye(4), rows.T @ y[:49])
    # with a delay of one, the last row but one is not known yet
    assert example.linear_rls(X, y, 1)[-1] != pytest.approx(np.r_[1, X[-1]] @ direct, rel=1e-9)
    assert example.linear_rls(X, y, 0)[-1] == pytest.approx(np.r_[1, X[-1]] @ direct, rel=1e-9)
    ours, linear = (np.sqrt(np.mean(e[1000:] ** 2)) for e in example.forecast(2000).values())
    assert ours < linear / 3
    assert ours > 0.01  # the noise of a value: nothing forecasts better honestly
