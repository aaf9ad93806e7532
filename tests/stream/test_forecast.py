"""The forecaster is streams on lags: against rows made by hand, with gaps, labels, exogenous columns and intervals."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import OnlineLSSVMRegressor
from kernsift.forecast import KernelForecaster
from sklearn.base import clone

rng = np.random.default_rng(31)
T = np.arange(420)
Y = np.sin(2 * np.pi * T / 24) + 0.5 * np.sin(2 * np.pi * T / 7) + 0.05 * rng.standard_normal(len(T))
LAGS = [0, 1, 2, 23]
EACH = [{"strategy": "direct"}, {"strategy": "recursive"}, {"strategy": "direct", "difference": True}]
SEVERAL = [{"strategy": "direct", "difference": "auto"}, {"strategy": "recursive", "difference": "auto"}]


def small(**how):
    how = {"strategy": "direct", "difference": False, **how}
    return KernelForecaster(lags=LAGS, horizons=3, estimator=OnlineLSSVMRegressor(gamma=0.5, max_basis=40), **how)


def rows_by_hand(y, h, difference=False):
    """Row of each present t: y[t - lag], less y[t] where asked; and its target y[t + h]."""
    rows, targets = [], []
    for t in range(max(LAGS), len(y) - h):
        lags = [lag for lag in LAGS if lag > 0 or not difference]
        base = y[t] if difference else 0.0
        rows.append([y[t - lag] - base for lag in lags])
        targets.append(y[t + h] - base)
    return np.array(rows), np.array(targets)


@pytest.mark.parametrize("difference", [False, True])
def test_direct_is_a_stream_on_rows_for_each_horizon(difference):
    model = small(difference=difference).fit(Y[:300])
    said = model.predict()
    for k, h in enumerate([1, 2, 3]):
        X, y = rows_by_hand(Y[:300], h, difference)
        stream = OnlineLSSVMRegressor(gamma=0.5, max_basis=40, error_forecast=False).partial_fit(X, y)
        base = Y[299] if difference else 0.0
        present = [Y[299 - lag] - base for lag in LAGS if lag > 0 or not difference]
        np.testing.assert_allclose(said[k], stream.predict([present])[0] + base, rtol=1e-10)
        lower, upper = model.predict_interval([h], coverage=0.8)
        expected = np.array(stream.predict_interval([present], coverage=0.8))[:, 0] + base
        np.testing.assert_allclose([lower[0], upper[0]], expected, rtol=1e-8)


def test_recursive_takes_its_own_forecasts():
    model = small(strategy="recursive").fit(Y[:300])
    X, y = rows_by_hand(Y[:300], 1)
    stream = OnlineLSSVMRegressor(gamma=0.5, max_basis=40, error_forecast=False).partial_fit(X, y)
    past, expected = list(Y[:300]), []
    for _ in range(5):
        expected.append(stream.predict([[past[-1 - lag] for lag in LAGS]])[0])
        past.append(expected[-1])
    np.testing.assert_allclose(model.predict([1, 2, 3, 4, 5]), expected, rtol=1e-7)


@pytest.mark.parametrize("how", EACH + SEVERAL, ids=str)
def test_updates_are_the_fit_of_the_whole(how):
    whole = small(**how).fit(Y)
    parts = small(**how).fit(Y[:250]).update(Y[250:300])
    for value in Y[300:]:
        parts.update(value)
    np.testing.assert_allclose(parts.predict(), whole.predict(), rtol=1e-7)
    assert parts.n_seen_ == whole.n_seen_ == len(Y)


@pytest.mark.parametrize("how", SEVERAL, ids=str)
def test_missing_values_of_several(how):
    gaps = Y.copy()
    gaps[[100, 101, 250, 419]] = np.nan
    model = small(**how).fit(gaps)
    again = small(**how).fit(gaps[:200]).update(gaps[200:])
    np.testing.assert_allclose(again.predict(), model.predict(), rtol=1e-7)
    assert np.abs(model.predict() - small(**how).fit(Y).predict()).max() < 0.2


def test_the_default_averages_streams_by_their_errors_one_step_ahead():
    """By hand: four streams, their errors before each value was learned, weights by a power of their mean squares."""
    y = Y[:200]
    model = KernelForecaster(lags=LAGS, horizons=3).fit(y[:60]).update(y[60:])
    means, forecasts = [], []
    for difference in (False, True):
        lags = [lag for lag in LAGS if lag > 0 or not difference]
        for alpha in ("auto", 10.0):
            stream, loss, counted = OnlineLSSVMRegressor(alpha=alpha, error_forecast=False), 0.0, 0.0
            for t in range(max(LAGS), len(y) - 1):
                base = y[t] if difference else 0.0
                x = np.array([y[t - lag] - base for lag in lags])
                if stream.__sklearn_is_fitted__():
                    error = y[t + 1] - base - stream.predict_one(x)
                    loss, counted = 0.98 * loss + error**2, 0.98 * counted + 1
                stream.update(x, y[t + 1] - base)
            means.append(loss / counted)
            past = list(y)
            for _ in range(3):
                base = past[-1] if difference else 0.0
                past.append(stream.predict_one(np.array([past[-1 - lag] - base for lag in lags])) + base)
            forecasts.append(past[-3:])
    weights = (min(means) / np.array(means)) ** 12
    weights /= weights.sum()
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-6)
    np.testing.assert_allclose(model.predict(), weights @ np.array(forecasts), rtol=1e-7)
    assert weights.max() < 0.999


def test_auto_is_direct_with_exogenous_columns():
    x = np.cos(T)[:, None]
    with_columns = KernelForecaster(lags=3, horizons=2).fit(Y, x)
    assert [len(member.models_) for member in with_columns.members_] == [2] * 4
    assert [len(member.models_) for member in KernelForecaster(lags=3, horizons=2).fit(Y).members_] == [1] * 4
    lower, upper = with_columns.predict_interval(X=np.zeros((2, 1)))
    assert (lower < upper).all()


def test_an_error_leaves_all_members_as_they_were():
    model = KernelForecaster(lags=3).fit(Y[:100])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="its square overflows"):
        model.update([0.5, 1e200])
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("how", EACH, ids=str)
def test_missing_values_are_no_targets_and_forecasts_stand_in(how):
    gaps = Y.copy()
    gaps[[100, 101, 250, 419]] = np.nan
    model = small(**how).fit(gaps)
    learned = {h: model.models_[k].n_samples_seen_ for k, h in enumerate(model._ahead)}
    assert learned == {h: len(Y) - max(LAGS) - h - 4 for h in model._ahead}
    again = small(**how).fit(gaps[:200]).update(gaps[200:])
    np.testing.assert_allclose(again.predict(), model.predict(), rtol=1e-7)
    assert np.abs(model.predict() - small(**how).fit(Y).predict()).max() < 0.2


@pytest.mark.parametrize("how", EACH[:2] + SEVERAL, ids=str)
def test_intervals_contain_what_they_say(how):
    model, inside = small(**how).fit(Y[:250]), []
    for t in range(250, len(Y) - 3):
        lower, upper = model.predict_interval(coverage=0.8)
        inside.append((lower <= Y[t : t + 3]) & (Y[t : t + 3] <= upper))
        model.update(Y[t])
    # 3 x 167 dependent intervals: four standard errors of 167 independent ones are 0.12
    assert abs(np.mean(inside) - 0.8) < 0.12


@pytest.mark.parametrize("strategy", ["direct", "recursive"])
def test_exogenous_columns_stand_at_the_moment_of_the_target(strategy):
    x = rng.standard_normal((len(T), 1))
    y = np.zeros(len(T))
    for t in range(1, len(T)):
        y[t] = 0.5 * y[t - 1] + x[t, 0]
    model = KernelForecaster(lags=1, horizons=2, strategy=strategy).fit(y[:400], x[:400])
    first = 0.5 * y[399] + x[400, 0]
    np.testing.assert_allclose(model.predict(1, x[400:401]), [first], atol=0.15)
    # a row for two steps ahead has the columns of that moment, and not of the one between
    between = x[400, 0] if strategy == "recursive" else 0.0
    second = 0.25 * y[399] + 0.5 * between + x[401, 0]
    np.testing.assert_allclose(model.predict(X=x[400:402]), [first, second], atol=0.4)
    model.update(y[400], x[400])
    with pytest.raises(ValueError, match=r"learned 1 exogenous columns: give X of the next steps"):
        model.predict()
    with pytest.raises(ValueError, match="has 1 rows and the forecast is 2 steps ahead"):
        model.predict(X=x[401:402])
    with pytest.raises(ValueError, match="X has 3 exogenous columns"):
        model.predict(1, np.zeros((1, 3)))


@pytest.mark.parametrize("kind", ["timestamps", "periods"])
def test_labels_go_on_with_their_step(kind):
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2026-01-01", periods=len(Y), freq="h")
    index = index.to_period() if kind == "periods" else index
    series = pandas.Series(Y, index=index)
    model = small().fit(series[:300])
    said = model.predict()
    assert said.index.equals(index[300:303]) or list(said.index) == list(index[300:303])
    np.testing.assert_array_equal(said.to_numpy(), small().fit(Y[:300]).predict())
    model.update(series[300:310])
    assert list(model.predict([2]).index) == [index[311]]
    # steps that are left out are missing values
    model.update(series[314:315])
    gaps = Y[:315].copy()
    gaps[310:314] = np.nan
    np.testing.assert_allclose(model.predict().to_numpy(), small().fit(gaps).predict(), rtol=1e-7)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"y has the label 2026-01-13.*next after 2026-01-14 02:00.* 2026-01-14 03:00"):
        model.update(series[300:301])
    assert pickle.dumps(model) == before


def test_a_future_moment_that_x_lacks_is_named():
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2026-01-01", periods=len(Y), freq="D")
    x = pandas.DataFrame({"wind": rng.standard_normal(len(Y)), "rain": 0.0}, index=index)
    model = KernelForecaster(lags=2, horizons=2).fit(pandas.Series(Y, index=index)[:300], x[:300])
    assert len(model.predict(X=x)) == 2
    with pytest.raises(ValueError, match=f"no row for {index[301]!s}, 2 steps ahead"):
        model.predict(X=x[:301])
    with pytest.raises(ValueError, match=r"column 'win'.*did you mean 'wind'"):
        model.predict(X=x.rename(columns={"wind": "win"}))
    irregular = pandas.Series(Y[:5], index=index[[0, 1, 3, 8, 20]])
    with pytest.raises(ValueError, match="no regular step: give freq="):
        KernelForecaster(lags=1).fit(irregular)
    assert KernelForecaster(lags=1, freq="D").fit(irregular).n_seen_ == 21


@pytest.mark.parametrize("how", EACH + SEVERAL, ids=str)
def test_stored_and_resumed(how, tmp_path):
    model = small(**how).fit(Y[:300])
    model.save(tmp_path / "model.npz")
    for again in (kernsift.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        again.update(Y[300:320])
        np.testing.assert_array_equal(again.predict(), pickle.loads(pickle.dumps(model)).update(Y[300:320]).predict())
    assert not hasattr(clone(model), "models_")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"lags": 0}, "lags=0"),
        ({"lags": [0], "difference": True}, "difference=True"),
        ({"horizons": 0}, "horizons=0"),
        ({"horizons": [1, -2]}, "horizons"),
        ({"strategy": "recursiv"}, "did you mean 'recursive'"),
    ],
)
def test_bad_parameters_are_named(how, message):
    with pytest.raises(ValueError, match=message):
        KernelForecaster(**how).fit(Y)


def test_bad_calls_are_named_and_learn_nothing():
    model = small().fit(Y[:300])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"horizons=7 was not learned: the forecaster has \[1, 2, 3\]"):
        model.predict(7)
    with pytest.raises(ValueError, match="infinity"):
        model.update([1.0, np.inf])
    with pytest.raises(ValueError, match="y has shape"):
        model.update(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="needs 27 values, and 5 have come"):
        small().fit(Y[:5]).predict([3])
    with pytest.raises(Exception, match="not fitted"):
        small().predict()
    with pytest.raises(ValueError, match="forecasts 3 steps ahead have met"):
        small(strategy="recursive").fit(Y[:30]).predict_interval([3])
    assert pickle.dumps(model) == before


def test_a_single_missing_value_is_taken():
    y = np.sin(np.arange(60.0))
    one, several = (KernelForecaster(lags=4).fit(y) for _ in range(2))
    one.update(np.nan).update(0.5)
    several.update([np.nan, 0.5])
    assert one.predict() == several.predict()
    assert one.n_seen_ == 62
