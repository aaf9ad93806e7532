"""The forecaster in sktime, and the estimators in skforecast and sktime, where these are installed."""

from __future__ import annotations

import numpy as np
import pytest
from kernsift import KernelRegressor, OnlineLSSVMRegressor, SubsetLSSVMRegressor
from kernsift import forecast as own
from kernsift.datasets import air_passengers

pandas = pytest.importorskip("pandas", reason="needs pandas")
pytestmark = pytest.mark.filterwarnings("ignore")  # those libraries have warnings of their own
ESTIMATORS = [
    SubsetLSSVMRegressor(random_state=0),
    OnlineLSSVMRegressor(),
    KernelRegressor(random_state=0, settings={"kernel": "rbf"}),
]
MONTHS = pandas.period_range("1949-01", periods=144, freq="M")
Y = pandas.Series(air_passengers(), index=MONTHS)


@pytest.fixture
def adapter():
    pytest.importorskip("sktime", reason="needs sktime")
    from kernsift.forecast import sktime

    return sktime.KernelForecaster


@pytest.mark.parametrize(
    "index", [MONTHS, MONTHS.to_timestamp(), pandas.RangeIndex(144)], ids=lambda i: type(i).__name__
)
def test_the_forecaster_is_one_of_sktimes(adapter, index):
    y = pandas.Series(Y.to_numpy(), index=index)
    model = adapter(lags=13).fit(y[:120], fh=[1, 3])
    plain = own.KernelForecaster(lags=13, horizons=[1, 3]).fit(Y.to_numpy()[:120])
    said = model.predict()
    assert said.index.tolist() == y.index[[120, 122]].tolist()
    np.testing.assert_array_equal(said, plain.predict())
    model.update(y[120:130])
    plain.update(Y.to_numpy()[120:130])
    np.testing.assert_array_equal(model.predict(), plain.predict())
    bounds = model.predict_interval(coverage=[0.8])
    for side, expected in zip(("lower", "upper"), plain.predict_interval(coverage=0.8), strict=True):
        np.testing.assert_array_equal(bounds.xs(side, axis=1, level=-1).to_numpy()[:, 0], expected)


def test_exogenous_columns_come_by_their_moments(adapter):
    x = pandas.DataFrame({"wave": np.sin(np.arange(144.0))}, index=MONTHS)
    y = Y * 0 + np.roll(x["wave"], 0) * 3
    model = adapter(lags=2).fit(y[:100], X=x[:100], fh=[1, 2])
    assert np.abs(model.predict(X=x[100:102]) - y[100:102]).max() < 0.3


def test_sktimes_splitters_and_metrics_take_it(adapter):
    from sktime.forecasting.model_evaluation import evaluate
    from sktime.split import ExpandingWindowSplitter

    found = evaluate(adapter(lags=13), ExpandingWindowSplitter([1, 2], 120, 6), Y, strategy="update")
    assert found["test_MeanAbsolutePercentageError"].mean() < 0.08


@pytest.mark.slow
def test_sktimes_own_checks(adapter):
    from sktime.utils.estimator_checks import check_estimator

    found = check_estimator(adapter, raise_exceptions=False, verbose=False)
    assert {name: error for name, error in found.items() if error != "PASSED"} == {}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_estimators_in_sktimes_reduction(estimator):
    compose = pytest.importorskip("sktime.forecasting.compose", reason="needs sktime")
    # a year adds a tenth: what the rows do not show
    model = compose.make_reduction(estimator, window_length=13, strategy="recursive").fit(Y[:-3], fh=[1, 2, 3])
    assert (np.abs(model.predict() / Y[-3:] - 1) < 0.15).all()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("kind", ["recursive.ForecasterRecursive", "direct.ForecasterDirect"])
def test_estimators_in_skforecast(estimator, kind):
    module, _, name = kind.rpartition(".")
    library = pytest.importorskip(f"skforecast.{module}", reason="needs skforecast")
    y = pandas.Series(Y.to_numpy()[:-3], index=pandas.date_range("1949-01", periods=141, freq="MS"))
    model = getattr(library, name)(estimator=estimator, lags=13, **({"steps": 3} if "Direct" in name else {}))
    model.fit(y)
    assert (np.abs(model.predict(steps=3).to_numpy() / Y.to_numpy()[-3:] - 1) < 0.15).all()
