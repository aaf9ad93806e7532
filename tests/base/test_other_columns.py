"""Columns that are not those a model began with: a ValueError names them, and nothing is learned."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from kernsift import (
    KernelRegressor,
    KRLSRegressor,
    OnlineLSSVMClassifier,
    OnlineLSSVMRegressor,
    SubsetLSSVMClassifier,
    SubsetLSSVMRegressor,
)
from kernsift.forecast import KernelForecaster
from sklearn.base import clone, is_classifier

pd = pytest.importorskip("pandas", reason="needs pandas")
MODELS = [
    OnlineLSSVMRegressor(max_basis=15),
    OnlineLSSVMClassifier(max_basis=15),
    KRLSRegressor(alpha=0.1, max_basis=15),
    SubsetLSSVMRegressor(max_basis=15, random_state=0),
    SubsetLSSVMClassifier(max_basis=15, random_state=0),
    KernelRegressor(random_state=0, settings={"kernel": "rbf", "gamma": "scale", "max_basis": 15}),
]


def frame(n=80):
    rng = np.random.default_rng(9)
    rows = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    return rows, rows["a"].to_numpy() + 0.0, rng.choice(["oak", "elm"], n)


OTHER = {
    "unknown column": (lambda X: X.rename(columns={"b": "bb"}), r"unseen at fit time:\n- bb\n.*now missing:\n- b"),
    "one more column": (lambda X: X.assign(c=1.0), r"unseen at fit time:\n- c"),
    "a column less": (lambda X: X[["a"]], r"now missing:\n- b"),
    "another order": (lambda X: X[["b", "a"]], "Column 'b' stands where 'a' stood"),
    "texts for numbers": (lambda X: X.assign(b="red"), "column 'b' of X holds 'red' in row 0, which is no number"),
    "dates for numbers": (lambda X: X.assign(b=pd.Timestamp("2026-01-01")), "column 'b' of X holds dates or durations"),
    "an infinity": (lambda X: X.assign(b=np.inf), "row 0, column 'b' of X"),
}
VERBS = ("partial_fit", "refit", "prequential", "accumulate", "predict", "predict_interval", "predict_proba", "score")


@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_other_columns_are_named_at_every_verb(model, other):
    X, y, labels = frame()
    y = labels if is_classifier(model) else y
    change, message = OTHER[other]
    fitted = clone(model).fit(X, y)
    before = pickle.dumps(fitted)
    for verb in VERBS:
        if hasattr(fitted, verb):
            arguments = () if verb.startswith("predict") else (y,)
            with pytest.raises(ValueError, match=f"(?s){message}"):
                getattr(fitted, verb)(change(X), *arguments)
            assert pickle.dumps(fitted) == before, verb


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_other_targets_are_named(model):
    X, y, labels = frame()
    fitted = clone(model).fit(X, labels if is_classifier(model) else y)
    before = pickle.dumps(fitted)
    other = np.where(np.arange(len(X)) == 7, "red", labels)
    texts = [*y[:7].tolist(), "red", *y[8:].tolist()]
    if isinstance(model, OnlineLSSVMClassifier):
        fitted = clone(model).partial_fit(X, labels, classes=["oak", "elm"])
        before = pickle.dumps(fitted)
    message = r"labels \['red'\]" if is_classifier(model) else "y holds 'red' in row 7, which is no number"
    with pytest.raises(ValueError, match=message):
        fitted.partial_fit(X, other if is_classifier(model) else texts)
    assert pickle.dumps(fitted) == before


# --- batches


def batches(change=lambda rows: rows):
    X, y, labels = frame()
    whole = X.assign(kind=labels, y=y)
    return [whole[:40], change(whole[40:])]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.rename(columns={"b": "bb"}), "features a, bb, kind and the first had a, b, kind"),
        (lambda rows: rows.drop(columns="b"), "features a, kind and the first had a, b, kind"),
        (lambda rows: rows.drop(columns="y"), "a batch has no column 'y'"),
        (lambda rows: rows.assign(b="red"), "column 'b' has dtype .* in a batch and .* in the first"),
        (lambda rows: rows.assign(kind=1.0), "column 'kind' has dtype .* in a batch and .* in the first"),
        (lambda rows: rows.assign(y="red"), "y holds 'red' in row 40"),
    ],
    ids=["unknown", "less", "no target", "texts", "numbers", "target"],
)
def test_a_batch_of_other_columns_is_named(library, change, message):
    module = pytest.importorskip(library, reason=f"needs {library}")
    turn = {
        "pandas": lambda rows: rows,
        "polars": lambda rows: module.from_pandas(rows),
        "pyarrow": lambda rows: module.Table.from_pandas(rows, preserve_index=False),
    }[library]
    model = SubsetLSSVMRegressor(max_basis=15, random_state=0).fit_batches(map(turn, batches()), target="y")
    before = pickle.dumps(model)
    for given in (list(map(turn, batches(change))), map(turn, batches(change))):  # read twice, and once
        with pytest.raises(ValueError, match=message):
            model.fit_batches(given, target="y")
        assert pickle.dumps(model) == before


def test_whole_numbers_in_one_batch_and_others_in_the_next_are_numbers():
    """As of two CSV files."""
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    first, second = batches()
    first = first.assign(b=np.arange(40))
    given = [pa.Table.from_pandas(rows, preserve_index=False) for rows in (first, second)]
    model = SubsetLSSVMRegressor(max_basis=15, random_state=0).fit_batches(given, target="y")
    whole = pd.concat([first, second], ignore_index=True)
    expected = SubsetLSSVMRegressor(max_basis=15, random_state=0).fit_batches([whole], target="y")
    rows = whole.drop(columns="y")
    # the same rows in two sums
    np.testing.assert_allclose(model.predict(rows), expected.predict(rows), rtol=0, atol=1e-9)


# --- categories


@pytest.mark.parametrize("change", [{"kind": 1.0}, {"a": "red"}, {"a": pd.Timestamp("2026-01-01")}], ids=str)
def test_another_kind_of_column_is_named_where_columns_are_encoded(change):
    X, y, labels = frame()
    model = SubsetLSSVMRegressor(max_basis=15, random_state=0).fit(X.assign(kind=labels), y)
    before = pickle.dumps(model)
    name = next(iter(change))
    for verb in (model.partial_fit, model.accumulate, model.predict):
        with pytest.raises(ValueError, match=f"column '{name}' of X holds .* and held .* in fit: convert it"):
            verb(X.assign(kind=labels).assign(**change), *(() if verb == model.predict else (y,)))
        assert pickle.dumps(model) == before


# --- time


def test_moments_that_are_missing_are_named():
    index = pd.date_range("2026-01-01", periods=60, freq="h")
    y = pd.Series(np.sin(np.arange(60.0) / 5), index=index)
    X = pd.DataFrame({"wind": np.cos(np.arange(60.0) / 7)}, index=index)
    model = KernelForecaster(lags=4, horizons=3).fit(y[:40], X[:40])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"no row for 2026-01-02 17:00:00, 2 steps ahead"):
        model.predict(X=X.drop(index[41]))
    with pytest.raises(ValueError, match=r"X has no values for the step 2026-01-02 17:00:00"):
        model.update(y.iloc[[40, 42]], X.iloc[[40, 42]])
    with pytest.raises(ValueError, match=r"the label 2026-01-02 15:00:00.* 2026-01-02 16:00:00"):
        model.update(y[39:41], X[39:41])
    with pytest.raises(ValueError, match=r"column 'win'.*did you mean 'wind'"):
        model.update(y[40:41], X[40:41].rename(columns={"wind": "win"}))
    assert pickle.dumps(model) == before
