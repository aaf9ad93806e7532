"""The river adapters: river's own checks, and features and classes that come late as if they had always been there."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest

pytest.importorskip("river", reason="needs river: pip install 'kernsift[river]'")
pd = pytest.importorskip("pandas", reason="needs pandas")

from kernsift.forecast import KernelForecaster as PlainForecaster  # noqa: E402
from kernsift.forecast.river import KernelForecaster  # noqa: E402
from kernsift.river import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor  # noqa: E402
from river import (  # noqa: E402
    checks,
    compat,
    conf,
    datasets,
    evaluate,
    linear_model,
    metrics,
    preprocessing,
    time_series,
)
from support.streams import PLAIN  # noqa: E402

# Memory grows with the square of the kernels up to max_basis: 200 is reached in the first half of the checks' rows.
MODELS = [
    OnlineLSSVMRegressor(max_basis=200),
    OnlineLSSVMRegressor(max_basis=10, exact_rows=5, kernel="matern32"),
    OnlineLSSVMClassifier(),
    OnlineLSSVMClassifier(max_basis=10, forgetting=0.99, fit_intercept=False),
    KRLSRegressor(max_basis=200),
    KRLSRegressor(max_basis=10, on_full="prune", alpha=0.1, forgetting=0.99),
    KernelForecaster(),
]
CHECKS = [(model, check) for model in MODELS for check in checks.yield_checks(model)]


@pytest.mark.filterwarnings("ignore")  # the checks provoke warnings of river's own
@pytest.mark.parametrize(("model", "check"), CHECKS, ids=lambda value: getattr(value, "__name__", type(value).__name__))
def test_river_checks(model, check):
    assert not model._unit_test_skips()
    check(model.clone())


def rows(n=120, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 2]


def as_dict(row, names="abc"):
    return dict(zip(names, row.tolist(), strict=True))


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf, "red"])
def test_a_row_that_is_not_finite_has_no_prediction(bad):
    X, y = rows(30)
    regressor, classifier = OnlineLSSVMRegressor(), OnlineLSSVMClassifier()
    for x, target in zip(X, y, strict=True):
        regressor.learn_one(as_dict(x), target)
        classifier.learn_one(as_dict(x), bool(target > 0))
    before = pickle.dumps((regressor, classifier))
    row = {"a": 0.5, "b": bad, "c": 1.0}
    for predict in (regressor.predict_one, classifier.predict_one, classifier.predict_proba_one):
        with pytest.raises(ValueError, match=f"feature 'b' is {bad!r}: give finite numbers"):
            predict(row)
        predict({"a": 0.5, "c": 1.0})
    assert pickle.dumps((regressor, classifier)) == before


PARAMETERS = [
    {"kernel": "rbf"},
    {"kernel": "laplacian"},
    {"kernel": "matern52", "exact_rows": 15, "max_basis": 12},
    {"kernel": "polynomial", "degree": 2},
    {"kernel": "linear", "fit_intercept": False},
    {"kernel": "rbf", "max_basis": 8, "forgetting": 0.98, "fit_intercept": False},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_rows_are_learned_as_the_estimator_learns_them(parameters):
    X, y = rows()
    model = OnlineLSSVMRegressor(gamma=0.5, **parameters)
    expected = kernsift.OnlineLSSVMRegressor(gamma=0.5, **parameters)
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        model.learn_one(as_dict(x), target)
        expected.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.n_basis == expected.n_basis_ >= 3
    predicted = [model.predict_one(as_dict(x)) for x in X]
    # the same rows one by one: nothing but the last bits of a fused product may differ
    np.testing.assert_allclose(predicted, [expected.predict_one(x) for x in X], rtol=0, atol=1e-10)


KRLS = [{}, {"alpha": 0.1, "max_basis": 8, "on_full": "prune"}, {"novelty_tol": 0.3, "alpha": 1.0, "forgetting": 0.99}]


@pytest.mark.parametrize("parameters", KRLS)
def test_krls_learns_rows_as_the_estimator_does(parameters):
    X, y = rows()
    model, expected = KRLSRegressor(gamma=0.5, **parameters), kernsift.KRLSRegressor(gamma=0.5, **parameters)
    for x, target in zip(X, y, strict=True):
        model.learn_one(as_dict(x), target)
        expected.update(x, target)
    assert model.n_basis == expected.n_basis_ >= 3
    assert [model.predict_one(as_dict(x)) for x in X] == [expected.predict_one(x) for x in X]
    model.learn_one({**as_dict(X[0]), "late": 2.0}, 1.0)
    assert model.features == ["a", "b", "c", "late"]
    if not model.alpha:
        with pytest.raises(ValueError, match="alpha > 0"):
            model.predict_one(as_dict(X[0]), with_interval=True)


@pytest.mark.parametrize("linear", [False, "auto"])
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_feature_that_comes_late_was_zero_before(parameters, linear):
    X, y = rows()
    X[:50, 1] = X[50::7, 1] = 0.0  # absent at first, and missing now and then later
    always, late = (OnlineLSSVMRegressor(gamma=0.5, linear=linear, **parameters) for _ in range(2))
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        row = as_dict(x)
        # how many features the first row has is the scale of a linear part
        always.learn_one(row if i or not linear else {"a": row["a"], "c": row["c"]}, target)
        late.learn_one({name: value for name, value in row.items() if value != 0.0}, target)
    assert late.n_basis == always.n_basis > 2
    for x in X:
        # the order of the features differs, and with it the last bits of the sums
        assert late.predict_one(as_dict(x)) == pytest.approx(always.predict_one(as_dict(x)), rel=0, abs=1e-9)
    assert sorted(late.features) == ["a", "b", "c"]
    assert late.predict_one({"a": 1.0, "c": 0.5, "b": 0.0}) == pytest.approx(late.predict_one({"c": 0.5, "a": 1.0}))


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_class_that_comes_late_was_there_before(parameters):
    X, _ = rows(150)
    y = np.array(["left", "right", "far"])[np.where(X[:, 1] > 0.9, 2, (X[:, 0] > 0).astype(int))]
    y[:60] = np.where(y[:60] == "far", "left", y[:60])
    late = OnlineLSSVMClassifier(gamma=0.5, **parameters)
    known = OnlineLSSVMClassifier(gamma=0.5, **parameters)
    late.learn_one(as_dict(X[0]), y[0])
    known.learn_one(as_dict(X[0]), y[0])
    known._targets(["right", "far"])
    for x, label in zip(X[1:], y[1:], strict=True):
        late.learn_one(as_dict(x), label)
        known.learn_one(as_dict(x), label)
    assert sorted(late.classes) == ["far", "left", "right"]
    assert late.n_basis == known.n_basis
    for x in X[:40]:
        mine = late._core.predict_one(late._values(as_dict(x)))[[late.classes.index(c) for c in known.classes]]
        np.testing.assert_allclose(mine, known._core.predict_one(known._values(as_dict(x))), rtol=0, atol=1e-10)


def test_two_classes_decide_as_the_estimator_does():
    X, y = rows(200)
    labels = y > 0
    model = OnlineLSSVMClassifier(gamma=0.5, **PLAIN)  # a constant with a ridge tells 0 and 1 from -1 and 1
    expected = kernsift.OnlineLSSVMClassifier(gamma=0.5, **PLAIN)
    for i, x in enumerate(X):
        model.learn_one(as_dict(x), labels[i])
        expected.partial_fit(X[i : i + 1], labels[i : i + 1], classes=[False, True])
    # targets 0 and 1 with a constant are those of -1 and 1; two columns decide as one: only rounding is between
    np.testing.assert_allclose(
        [2 * model._core.predict_one(x)[model.classes.index(True)] - 1 for x in X],
        expected.decision_function(X),
        atol=1e-9,
    )
    probabilities = np.array([[model.predict_proba_one(as_dict(x))[c] for c in (False, True)] for x in X])
    assert np.abs(probabilities - expected.predict_proba(X)).max() < 0.05  # the first rows tell the temperature less


def test_bad_rows_change_nothing_and_say_what():
    X, y = rows(30)
    model, classifier = OnlineLSSVMRegressor(kernel="linear"), OnlineLSSVMClassifier()
    for x, target in zip(X, y, strict=True):
        model.learn_one(as_dict(x), target)
        classifier.learn_one(as_dict(x), target > 0)
    for learner, target in ((model, 1.0), (classifier, "new")):
        before = pickle.dumps(learner)
        for x in ({"a": "red"}, {"a": float("nan"), "b": 1.0, "c": 2.0}, {"z": None}, {"y": float("inf")}):
            with pytest.raises(ValueError, match=f"feature '{next(iter(x))}' is"):
                learner.learn_one(x, target)
        with pytest.raises(ValueError, match="w is -1"):
            learner.learn_one(as_dict(X[0]), target, w=-1)
        for bad in (None, float("nan")):
            with pytest.raises((ValueError, TypeError)):
                learner.learn_one({**as_dict(X[0]), "fresh": 1.0}, bad)
        frame = pd.DataFrame(X, columns=list("abc"))
        with pytest.raises(ValueError, match="one target for each of the 30 rows"):
            learner.learn_many(frame, pd.Series(y[:7] > 0))
        with pytest.raises(ValueError, match="feature 'd' holds NaN"):
            learner.learn_many(frame.assign(d=np.nan), pd.Series(y > 0))
        with pytest.raises(ValueError, match="feature 'd' holds values that are no numbers"):
            learner.learn_many(frame.assign(d="red"), pd.Series(y > 0))
        learner.learn_many(frame[:0], pd.Series(y[:0]))
        assert pickle.dumps(learner) == before
    with pytest.raises(ValueError, match="overflows"):
        model.learn_one({"a": 1e200, "b": 0.0, "c": 0.0}, 1.0)
    with pytest.raises(ValueError, match="no features"):
        OnlineLSSVMClassifier().learn_one({}, "up")
    with pytest.raises(ValueError, match="'alpha' parameter"):
        OnlineLSSVMRegressor(alpha=-1).learn_one({"a": 1.0}, 1.0)


def test_adapters_are_saved_and_resume(tmp_path):
    X, y = rows(80)
    for model, targets in ((OnlineLSSVMRegressor(max_basis=9), y), (OnlineLSSVMClassifier(), np.sign(y).astype(int))):
        model.save(tmp_path / "empty.npz")
        assert kernsift.load(tmp_path / "empty.npz").predict_one({"a": 1.0}) in (0.0, None)
        for x, target in zip(X[:40], targets[:40], strict=True):
            model.learn_one(as_dict(x), target)
        model.save(tmp_path / "m.npz")
        again = kernsift.load(tmp_path / "m.npz")
        assert type(again) is type(model)
        for x, target in zip(X[40:], targets[40:], strict=True):
            for each in (model, again):
                each.learn_one({**as_dict(x), "late": 1.0}, target)
            assert again.predict_one(as_dict(x)) == model.predict_one(as_dict(x))
        for each, path in ((model, tmp_path / "a.npz"), (again, tmp_path / "b.npz")):
            each.save(path)
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
        assert model._raw_memory_usage > sum(v.nbytes for v in model._core.state().values())


def test_intervals_are_those_of_the_estimator_and_of_rivers_kind():
    X, y = rows(400)
    ours = OnlineLSSVMRegressor(gamma=0.5, max_basis=30, forgetting=0.99)
    unbounded = ours.predict_one({"a": 1.0}, with_interval=True)
    assert isinstance(unbounded, conf.Interval)
    assert 1e300 in unbounded
    plain = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=30, forgetting=0.99)
    inside = []
    for x, target in zip(X, y.tolist(), strict=True):
        row = dict(zip("abc", x.tolist(), strict=True))
        if plain.__sklearn_is_fitted__():
            found = ours.predict_one(row, with_interval=True, coverage=0.8)
            np.testing.assert_allclose((found.lower, found.upper), plain.predict_interval_one(x, 0.8), rtol=1e-9)
            inside.append(target in found)
        ours.learn_one(row, target)
        plain.update(x, target)
    assert abs(np.mean(inside) - 0.8) < 4 * np.sqrt(0.8 * 0.2 / len(inside))
    with pytest.raises(ValueError, match="coverage"):
        ours.predict_one(row, with_interval=True, coverage=1)


def test_sets_of_labels_are_those_of_the_estimator():
    X, y = rows(300)
    labels = np.where(y > 0.5, "high", np.where(y < -0.3, "low", "middle"))
    ours = OnlineLSSVMClassifier(gamma=0.5, max_basis=30)
    plain = kernsift.OnlineLSSVMClassifier(gamma=0.5, max_basis=30)
    assert ours.predict_set_one({"a": 1.0}) == set()
    for x, label in zip(X, labels, strict=True):
        row = dict(zip("abc", x.tolist(), strict=True))
        if plain.__sklearn_is_fitted__():
            expected = set(plain.classes_[plain.predict_set_one(x, 0.95)].tolist())
            assert ours.predict_set_one(row, 0.95) == expected
        ours.learn_one(row, label)
        plain.update(x, label)


def test_polars_frames_are_taken_too():
    pl = pytest.importorskip("polars", reason="needs polars")
    X, y = rows(60)
    model, expected = OnlineLSSVMRegressor(gamma=0.5), OnlineLSSVMRegressor(gamma=0.5)
    frame = pd.DataFrame(X, columns=list("abc"))
    model.learn_many(pl.DataFrame(X, schema=list("abc")), pl.Series(y))
    expected.learn_many(frame, pd.Series(y))
    answer = model.predict_many(pl.DataFrame(X, schema=list("abc")))
    assert isinstance(answer, pl.Series)
    np.testing.assert_array_equal(answer.to_numpy(), expected.predict_many(frame).to_numpy())


def test_a_model_of_river_stands_in_a_pipeline():
    model = preprocessing.StandardScaler() | OnlineLSSVMRegressor(max_basis=100)
    error = evaluate.progressive_val_score(datasets.TrumpApproval().take(400), model, metrics.MAE()).get()
    linear = preprocessing.StandardScaler() | linear_model.LinearRegression()
    rival = evaluate.progressive_val_score(datasets.TrumpApproval().take(400), linear, metrics.MAE()).get()
    assert error < 0.5 * rival


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_converted_estimators_work_too():
    def stream():
        return datasets.Phishing().take(150)

    converted = compat.convert_sklearn_to_river(kernsift.OnlineLSSVMClassifier(gamma=0.1), classes=[False, True])
    native = OnlineLSSVMClassifier(gamma=0.1)
    scores = [evaluate.progressive_val_score(stream(), m, metrics.Accuracy()).get() for m in (converted, native)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)  # the same decisions but for the first row's
    assert scores[0] > 0.8

    regressor = compat.convert_sklearn_to_river(kernsift.OnlineLSSVMRegressor(gamma=0.1))
    X, y = rows(80)
    for x, target in zip(X, y, strict=True):
        regressor.predict_one(as_dict(x))
        regressor.learn_one(as_dict(x), target)
    expected = kernsift.OnlineLSSVMRegressor(gamma=0.1).partial_fit(X, y)
    assert regressor.predict_one(as_dict(X[3])) == pytest.approx(expected.predict(X[3:4])[0], abs=1e-9)


def test_last_targets_as_features(rng):
    X, y = rng.standard_normal((200, 2)), np.cumsum(rng.standard_normal(200))
    model, plain = OnlineLSSVMRegressor(max_basis=30, target_lags=2), OnlineLSSVMRegressor(max_basis=30)
    last = [0.0, 0.0]
    for i, (row, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(zip("ab", row, strict=True))
        wide = {**x, "target-1": last[0], "target-2": last[1]}
        assert model.predict_one(x) == plain.predict_one(wide)
        model.learn_one(x, target)
        plain.learn_one(wide, target)
        last = [target, last[0] if i else target]
    with pytest.raises(ValueError, match="target_lags"):
        model.predict_many(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.raises(ValueError, match="target_lags"):
        OnlineLSSVMRegressor(target_lags=-1)


def test_snarimax_forecasts_with_it():
    year = np.array([112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118.0])
    series = np.tile(year, 12) * np.repeat(1 + 0.1 * np.arange(12), 12)
    model = time_series.SNARIMAX(p=12, d=1, q=0, m=12, regressor=OnlineLSSVMRegressor(max_basis=100))
    for value in series[:-12]:
        model.learn_one(float(value))
    # the same months of the year before are off by a tenth of the level, 12
    assert np.abs(np.array(model.forecast(12)) - series[-12:]).mean() < 12
    fresh = OnlineLSSVMRegressor()
    fresh.learn_one({}, 1.0)
    assert fresh.predict_one({}) == 0.0


def test_the_forecaster_is_ours_one_value_at_a_time(rng):
    y = np.sin(np.arange(200) / 4) + 0.1 * rng.standard_normal(200)
    y[60] = np.nan
    model, plain = KernelForecaster(lags=8), PlainForecaster(lags=8, strategy="recursive").fit(y[:1])
    assert KernelForecaster().forecast(2) == [0.0, 0.0]
    for i, value in enumerate(y):
        model.learn_one(value)
        if i:
            plain.update(value)
        if i == 5:
            assert model.forecast(3) == [y[5]] * 3
    assert model.forecast(3) == plain.predict([1, 2, 3]).tolist()


def test_the_forecaster_takes_features_that_are_numbers(rng):
    wave, model = rng.standard_normal(150), KernelForecaster(lags=1, difference=False)
    for i, value in enumerate(wave[:140]):
        model.learn_one(3 * value, {"wave": value, "when": np.datetime64("2026-01-01") + i})
    ahead = [{"wave": value} for value in wave[140:]]
    assert np.abs(np.array(model.forecast(10, ahead)) - 3 * wave[140:]).max() < 0.5
    with pytest.raises(ValueError, match="xs must hold the features"):
        model.forecast(10)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="no feature 'wave'"):
        model.learn_one(1.0, {"wage": 1.0})
    with pytest.raises(ValueError, match="infinity"):
        model.learn_one(np.inf, {"wave": 1.0})
    assert pickle.dumps(model) == before


def test_rivers_evaluation_takes_the_forecaster():
    found = evaluate.evaluate(datasets.AirlinePassengers(), KernelForecaster(lags=13), metrics.MAE(), horizon=12)
    errors = np.array([metric.get() for metric in found.metrics])
    # over all rows, the first year too; the same month a year before is off by about 32
    assert len(errors) == 12
    assert (errors < 40).all()
