"""One row in any container: the same bits as a contiguous row of float64; what does not fit is named."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor

NAMES = ["temp", "wind", "rain"]
MODELS = [
    OnlineLSSVMRegressor(max_basis=10),
    OnlineLSSVMRegressor(gamma=0.5, max_basis=10),
    OnlineLSSVMClassifier(max_basis=10),
    KRLSRegressor(gamma=0.5, max_basis=10, alpha=0.1),
]
each = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.gamma}")


def rows(n=40):
    draw = np.random.default_rng(11)
    X = draw.integers(-8, 9, (n, 3)) / 4.0  # exact in float32
    return X, X[:, 0] + X[:, 1] > 0.5


def series(x):
    pandas = pytest.importorskip("pandas")
    return pandas.Series(x[[2, 0, 1]], index=[NAMES[j] for j in (2, 0, 1)])


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "float32": lambda x: x.astype(np.float32),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "objects": lambda x: x.astype(object),
    "dictionary": lambda x: {name: x[NAMES.index(name)] for name in reversed(NAMES)},
    "series": series,
}


def begun(model, X, y):
    fresh = pickle.loads(pickle.dumps(model))
    for x, target in zip(X[:20], y[:20], strict=True):
        fresh.update(dict(zip(NAMES, x, strict=True)), target)
    return fresh


def verbs(model):
    names = ("predict_one", "predict_interval_one", "predict_proba_one", "predict_set_one")
    return [getattr(model, name) for name in names if hasattr(model, name)]


@each
@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container_gives_the_same_bits(model, kind):
    X, y = rows()
    y = y if "Classifier" in type(model).__name__ else y * 1.0
    one, other = begun(model, X, y), begun(model, X, y)
    assert one.feature_names_in_.tolist() == NAMES
    for x, target in zip(X[20:], y[20:], strict=True):
        for mine, theirs in zip(verbs(one), verbs(other), strict=True):
            np.testing.assert_array_equal(mine(x), theirs(CONTAINERS[kind](x)))
        one.update(x, target)
        other.update(CONTAINERS[kind](x), target)
    np.testing.assert_array_equal(one.predict_one(X[0]), other.predict_one(X[0]))


@each
def test_a_dictionary_begins_a_stream_as_its_row_does(model):
    X, y = rows()
    y = y if "Classifier" in type(model).__name__ else y * 1.0
    plain = pickle.loads(pickle.dumps(model))
    for x, target in zip(X[:20], y[:20], strict=True):
        plain.update(x, target)
    np.testing.assert_array_equal(begun(model, X, y).predict_one(X[30]), plain.predict_one(X[30]))
    with pytest.raises(ValueError, match="dictionary and this model has no names of features"):
        plain.predict_one(dict(zip(NAMES, X[0], strict=True)))


@each
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"temp": 1.0, "wind": 2.0}, "has no 'rain'.*temp, wind, rain"),
        ({"temp": 1.0, "wind": 2.0, "rain": 0.0, "win": 1.0}, r"holds 'win'.*did you mean 'wind'"),
        ({"temp": 1.0, "wind": "much", "rain": 0.0}, "row of numbers"),
        ({"temp": 1.0, "wind": None, "rain": 0.0}, "'wind' of x is nan|row of numbers"),
        ([1.0, 2.0], "3"),
        ("abc", "row of numbers"),
        ([[1.0, 2.0, 3.0]], r"shape \(1, 3\)"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_learned(model, row, message):
    X, y = rows()
    y = y if "Classifier" in type(model).__name__ else y * 1.0
    fitted = begun(model, X, y)
    before = pickle.dumps(fitted)
    for call in (*verbs(fitted), lambda x: fitted.update(x, y[0])):
        with pytest.raises(ValueError, match=message):
            call(row)
    assert pickle.dumps(fitted) == before
