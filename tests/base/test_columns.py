"""Columns of every kind: what they become, by the literal oracle, and that every verb takes them."""

from __future__ import annotations

import datetime
import pickle
import warnings
from functools import partial

import kernsift
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from kernsift.blocks import Kernel
from oracles import columns as oracle
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

# scikit-learn before 1.9 sees the names of pandas only, and cannot cut tables of pyarrow
RECENT = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
LIBRARIES = ["pandas", "polars", "pyarrow"]
KINDS = {"size": "number", "ready": "number", "colour": "category", "when": "date", "took": "duration"}
COLOURS = ["red", "green", "blue", "teal"]

Regressor = partial(kernsift.SubsetLSSVMRegressor, gamma="standard", max_basis=20, random_state=0)
MODELS = [
    Regressor(),
    kernsift.SubsetLSSVMClassifier(gamma="standard", max_basis=20, random_state=0),
    kernsift.LSSVMRegressor(gamma="standard"),
    kernsift.LSSVMClassifier(gamma="learn", random_state=0),
    kernsift.SparseLSSVMRegressor(gamma="standard", max_start=60, random_state=0),
    kernsift.OROLSRegressor(gamma="standard", max_basis=20),
    kernsift.OROLSClassifier(gamma="standard", max_basis=20),
    kernsift.KernelRegressor(settings={"gamma": "standard", "max_basis": 20}, random_state=0),
    kernsift.KernelClassifier(settings={"gamma": "standard", "max_basis": 20}, random_state=0),
]


def table(n=120, seed=7, missing=0.1):
    """Columns of Python's values by name, and targets."""
    rng = np.random.default_rng(seed)
    start = datetime.datetime(2024, 2, 27, 6)
    columns = {
        "size": rng.normal(5, 2, n).tolist(),
        "ready": (rng.random(n) > 0.5).tolist(),
        "colour": rng.choice(COLOURS, n, p=[0.4, 0.3, 0.28, 0.02]).tolist(),
        "when": [start + datetime.timedelta(minutes=int(k)) for k in rng.integers(0, 60 * 24 * 30, n)],
        "took": [datetime.timedelta(seconds=int(k)) for k in rng.integers(0, 9000, n)],
    }
    y = np.array(columns["size"]) * np.array(columns["ready"]) + [3.0 * COLOURS.index(c) for c in columns["colour"]]
    for values in columns.values():
        for row in np.flatnonzero(rng.random(n) < missing):
            values[row] = None
    return columns, y


def frame_of(library, columns):
    module = pytest.importorskip(library, reason=f"needs {library}")
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def array_of(columns, names=("size", "ready", "colour")):
    out = np.empty((len(columns["size"]), len(names)), dtype=object)
    for j, name in enumerate(names):
        out[:, j] = columns[name]
    return out


def target_of(model, y):
    return (
        np.where(y > np.median(y), "high", "low")
        if hasattr(model, "decision_function") or "Classifier" in type(model).__name__
        else y
    )


def literal(fitted, columns, periods=None):
    names = list(fitted)
    where = {names.index(name): given for name, given in (periods or {}).items()}
    return oracle.encode(
        [KINDS[name] for name in names], [fitted[name] for name in names], [columns[name] for name in names], where
    )


# --- what the columns become -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("missing", [0.0, 0.02, 0.2])
def test_a_frame_is_encoded_as_defined(library, missing):
    columns, y = table(missing=missing)
    later, _ = table(40, seed=11, missing=0.3)
    later["colour"][:3] = ["violet", "teal", None]
    periods = {"when": (7.0, 1.0), "size": (12.0,)}
    model = Regressor(periods=periods).fit(frame_of(library, columns), y)
    for rows in (columns, later):
        # dates are doubles: 2e4 days have 4e-12 in the last place, and angles of them six times that
        np.testing.assert_allclose(
            model.columns_.encode(frame_of(library, rows)), literal(columns, rows, periods), rtol=0, atol=1e-10
        )
    assert model.n_features_in_ == 5
    if library == "pandas" or RECENT:
        assert model.feature_names_in_.tolist() == list(columns)
    assert model.basis_vectors_.shape[1] == len(model.columns_.coordinates) == len(model.columns_.owner)
    assert [column.kind for column in model.columns_.columns] == [KINDS[name] for name in columns]


def test_an_array_is_encoded_as_defined():
    columns, y = table()
    names = ("size", "ready", "colour")
    fitted = {name: columns[name] for name in names}
    for which in ([2], [-1], [False, False, True], np.array([2])):
        model = Regressor(categorical_features=which).fit(array_of(columns), y)
        np.testing.assert_array_equal(model.columns_.encode(array_of(columns)), literal(fitted, fitted))
    # codes are numbers that name levels
    codes = np.array([[COLOURS.index(c), k] for k, c in enumerate(table(missing=0.0)[0]["colour"])], dtype=float)
    model = Regressor(categorical_features=[0]).fit(codes, y)
    expected = oracle.encode(["category", "number"], codes.T.tolist(), codes.T.tolist())
    np.testing.assert_array_equal(model.columns_.encode(codes), expected)
    np.testing.assert_array_equal(model.columns_.encode(codes.astype(object)), expected)
    np.testing.assert_array_equal(model.columns_.encode(codes.tolist()), expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_model_is_that_of_the_coordinates(model):
    """To the bit, in every family: the encoding is all there is."""
    columns, y = table()
    later, _ = table(30, seed=3, missing=0.3)
    names = ("size", "ready", "colour")
    fitted, rows = ({name: part[name] for name in names} for part in (columns, later))
    way = {"categorical_features": [2]}
    told = clone(model)
    told.set_params(**({"settings": {**model.settings, **way}} if hasattr(model, "settings") else way))
    target = target_of(model, y)
    told.fit(array_of(columns), target)
    plain = clone(model).fit(literal(fitted, fitted), target)
    np.testing.assert_array_equal(told.predict(array_of(later)), plain.predict(literal(fitted, rows)))
    assert told.score(array_of(columns), target) == plain.score(literal(fitted, fitted), target)
    if hasattr(model, "settings"):
        assert told.columns_ == told.model_.columns_
    assert told.n_features_in_ == 3


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_of_numbers_takes_the_way_of_an_array(library, rng):
    X = rng.standard_normal((80, 3))
    y = np.sin(X[:, 0])
    for model in MODELS:
        target = target_of(model, y)
        frame = frame_of(library, dict(zip("abc", X.T.tolist(), strict=True)))
        given, plain = clone(model).fit(frame, target), clone(model).fit(X, target)
        assert not hasattr(given, "columns_")
        np.testing.assert_array_equal(given.predict(frame), plain.predict(X))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32", "matern52"])
def test_an_unseen_level_is_as_far_as_levels_are_and_predicted_toward_the_prior(kernel, rng):
    n = 300
    colour = rng.choice(["a", "b", "c"], n)
    X = np.empty((n, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.uniform(-1, 1, n), colour
    y = np.array([{"a": -4.0, "b": 5.0, "c": 9.0}[c] for c in colour]) + X[:, 0].astype(float)
    model = kernsift.LSSVMRegressor(kernel=kernel, gamma="standard", alpha=0.01, categorical_features=[1]).fit(X, y)
    rows = np.array([[0.0, level] for level in ("a", "b", "c", "unseen")], dtype=object)
    encoded = model.columns_.encode(rows)
    K = Kernel(kernel, gamma=model.gamma_)(encoded, encoded)
    among = K[:3, :3][~np.eye(3, dtype=bool)].max()
    assert K[3, :3].max() <= among + 1e-12  # rounding of two sums of widths
    assert K[3, :3].min() > 0.2 * among  # and not out of sight
    mean, std = model.predict(rows, return_std=True)
    # the prior is the constant: between the levels, and less sure than of any of them
    assert mean[:3].min() < mean[3] < mean[:3].max()
    assert abs(mean[3] - model.intercept_) < 0.5 * abs(mean[:3] - model.intercept_).max()
    assert std[3] > 2 * std[:3].max()


def test_rare_levels_are_together_and_unseen_ones_with_them(rng):
    n = 1000
    names = np.array([f"city {k}" for k in range(40)])
    city = np.concatenate([np.repeat(["Rome", "Oslo"], 450), rng.choice(names, 100)])
    X = city[:, None].astype(object)
    model = Regressor(categorical_features=[0]).fit(X, (city == "Rome") + rng.standard_normal(n))
    assert model.columns_.coordinates == ["0=Oslo", "0=Rome", "0: others"]
    assert len(np.unique(model.predict([["city 3"], ["city 4"], ["nowhere"]]))) == 1


def test_missing_values_are_a_coordinate_of_their_own(rng):
    n = 400
    X = rng.standard_normal((n, 2))
    y = np.where(rng.random(n) < 0.3, 6.0, X[:, 0])
    X[y == 6.0, 0] = np.nan  # that it is missing says it all
    model = kernsift.KernelRegressor(random_state=0).fit(X, y)
    assert model.columns_.coordinates == ["0", "0 is missing", "1"]
    assert model.score(X, y) > 0.95
    # column 1 had none: the median stands in
    middle = np.sort(X[:, 1])[(n - 1) // 2]
    np.testing.assert_array_equal(model.predict([[0.5, np.nan]]), model.predict([[0.5, middle]]))
    row = int(np.argmax(np.isnan(X[:, 0])))
    with pytest.raises(ValueError, match=rf"NaN[\s\S]*The first such value is in row {row}, column 0 of X\."):
        kernsift.SubsetLSSVMRegressor().fit(
            X, y
        )  # of numbers alone nothing is filled in unless the front door is asked


def test_a_model_of_numbers_predicts_with_missing_ones(rng):
    X = rng.standard_normal((200, 3))
    model = kernsift.KernelRegressor(random_state=0, settings={"gamma": "standard", "max_basis": 20}).fit(X, X[:, 0])
    assert not hasattr(model, "columns_")
    rows = X[:4].copy()
    rows[0, 1] = rows[2, 2] = np.nan
    filled = np.where(np.isnan(rows), model.basis_vectors_.mean(axis=0), rows)
    np.testing.assert_array_equal(model.predict(rows), model.predict(filled))
    for part, expected in zip(
        model.predict(rows, return_std=True), model.predict(filled, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(part, expected)
    before = pickle.dumps(model)
    for wrong in (lambda: model.partial_fit(rows, rows[:, 0]), lambda: model.predict(np.full((1, 3), np.inf))):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            wrong()
    assert pickle.dumps(model) == before
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_a_period_makes_the_ends_meet(rng):
    hour = rng.uniform(0, 24, 300)
    model = kernsift.LSSVMRegressor(gamma="standard", periods={0: 24}).fit(hour[:, None], np.cos(hour / 24 * 2 * np.pi))
    assert model.columns_.coordinates == ["0: sine of 24", "0: cosine of 24"]
    # sines of an angle and of the same a turn later differ in the last places, and the coefficients are up to 10
    np.testing.assert_allclose(model.predict([[0.5], [23.9]]), model.predict([[24.5], [-0.1]]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_widths_are_of_columns_or_of_coordinates(kernel):
    columns, y = table()
    model = kernsift.LSSVMRegressor(kernel=kernel, gamma=[0.1, 0.2, 0.3], categorical_features=[2]).fit(
        array_of(columns), y
    )
    widths = np.array([0.1, 0.2, 0.3])[model.columns_.owner]
    np.testing.assert_array_equal(model.gamma_, widths)
    again = clone(model).set_params(gamma=widths).fit(array_of(columns), y)
    np.testing.assert_array_equal(again.gamma_, widths)
    grid = [[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]]
    chosen = clone(model).set_params(gamma="loo", gammas=grid).fit(array_of(columns), y)
    np.testing.assert_array_equal(chosen.loo_grid_["gamma"], np.array(grid)[:, model.columns_.owner])
    with pytest.raises(ValueError, match="gamma has shape"):
        clone(model).set_params(gamma=[0.1, 0.2]).fit(array_of(columns), y)


# --- every verb ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_models_are_stored_and_copied(model, tmp_path):
    columns, y = table()
    X = array_of(columns)
    way = {"categorical_features": [2]}
    model = clone(model)
    model.set_params(**({"settings": {**model.settings, **way}} if hasattr(model, "settings") else way))
    model.fit(X, target_of(model, y))
    path = tmp_path / "model.npz"
    model.save(path)
    copies = [kernsift.load(path), pickle.loads(pickle.dumps(model))]
    model.save(path, what="predict")
    copies.append(kernsift.load(path))
    for again in copies:
        assert again.columns_ == model.columns_
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_rows_come_in_parts():
    columns, y = table()
    X = array_of(columns)
    way = {"alpha": 0.1, "categorical_features": [2]}
    parts = Regressor(**way).select_basis(X, y)
    states = [parts.accumulate(X[i::3], y[i::3]) for i in range(3)]
    whole = Regressor(**way).select_basis(X, y).partial_fit(X, y)
    # sums in another order, on a system of condition up to 1e6
    np.testing.assert_allclose(parts.merge(*states).predict(X), whole.predict(X), rtol=0, atol=1e-8)
    front = kernsift.KernelRegressor(settings={"gamma": "standard", "max_basis": 20, **way}, random_state=0)
    front.partial_fit(X, y).partial_fit(np.array([[None, True, "violet"]], dtype=object), [1.0])
    assert front.n_samples_seen_ == 121
    other = Regressor(**way).fit(array_of({**columns, "colour": ["x", "y"] * 60}), y)
    before = pickle.dumps(whole)
    with pytest.raises(ValueError, match=r"the other model has learned other columns|summed on another basis"):
        whole.merge(other)
    assert pickle.dumps(whole) == before


@pytest.mark.parametrize("library", [*LIBRARIES, "record batches"])
def test_batches_with_names_are_tables(library):
    columns, y = table()
    whole = frame_of("pyarrow" if library == "record batches" else library, {**columns, "y": y.tolist()})
    if library == "record batches":
        parts = [part for half in (whole[:60], whole[60:]) for part in half.to_batches()]
    else:
        parts = [whole[:60], whole[60:]]
    model = Regressor(alpha=0.1).fit_batches(parts, target="y")
    X = frame_of("pyarrow" if library == "record batches" else library, columns)
    same = Regressor(alpha=0.1).select_basis(X, y).partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    assert model.columns_ == same.columns_
    assert model.feature_names_in_.tolist() == list(columns)
    if library == "pandas" or RECENT:
        np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=0, atol=1e-9)  # sums in another order


@pytest.mark.parametrize("kind", ["dates", "pairs", "numbers"])
def test_names_of_all_types_are_saved(kind, tmp_path):
    pd = pytest.importorskip("pandas", reason="needs pandas")
    columns, y = table()
    frame = pd.DataFrame({"size": columns["size"], "colour": columns["colour"]})
    frame.columns = {
        "dates": pd.to_datetime(["2026-01-01", "2026-01-02"]),
        "pairs": pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]),
        "numbers": [3, 7],
    }[kind]
    model = Regressor().fit(frame, y)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(kernsift.load(tmp_path / "model.npz").predict(frame), model.predict(frame))


def test_a_fit_forgets_the_columns_of_the_former():
    columns, y = table()
    model = Regressor(categorical_features=[2]).fit(array_of(columns), y)
    model.set_params(categorical_features="from_dtype").fit(np.column_stack([y, y**2]), y)
    assert not hasattr(model, "columns_")
    assert model.n_features_in_ == 2
    assert model.predict([[1.0, 1.0]]).shape == (1,)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_in_searches_and_pipelines(library):
    columns, y = table(200, missing=0.05)
    frame = frame_of(library, columns)
    model = Regressor()
    if library == "pyarrow" and not RECENT:
        return
    assert cross_val_score(model, frame, y, cv=3).mean() > 0.5
    search = GridSearchCV(model, {"kernel": ["rbf", "laplacian"]}, cv=2).fit(frame, y)
    assert search.best_estimator_.columns_.columns[2].levels[:3] == ("blue", "green", "red")
    if library != "pandas":
        return
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    by_hand = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), (SimpleImputer(), ["size"]), sparse_threshold=0
    )
    pipeline = make_pipeline(by_hand, Regressor()).fit(frame, y)
    assert not hasattr(pipeline[-1], "columns_")
    assert pipeline.score(frame, y) > 0.3


def test_the_report_and_the_display_speak_of_columns():
    pytest.importorskip("matplotlib").use("agg")
    from kernsift.display import WidthsDisplay

    columns, y = table(300)
    columns["size"][4] = 1e9
    settings = {"max_basis": 20, "categorical_features": [2]}
    model = kernsift.KernelRegressor(settings=settings, random_state=0, validation="time").fit(array_of(columns), y)
    parts = model.columns_.by_column(model.learned_gamma_["relevance"])
    assert parts.sum() == pytest.approx(1.0)
    line = next(line for line in model.report().splitlines() if line.startswith("relevance"))
    for j in np.flatnonzero(parts > 0):
        assert f"{j} {100 * parts[j]:.0f} %" in line
    assert model.tails_ == [0]
    assert "warning: values far from the others in 0" in model.report()
    assert f"{8 * model.n_basis_ * (len(model.columns_.coordinates) + 1) / 1000:.3g} kB" in model.report()
    assert WidthsDisplay.from_estimator(model).names == model.columns_.coordinates


def test_exports_name_the_column_and_the_way_out():
    columns, y = table()
    X = array_of(columns)
    model = Regressor(categorical_features=[2]).fit(X, y)
    for export in ("to_c", "to_libsvm"):
        with pytest.raises(ValueError, match=r"column 0 \(missing values\) is encoded .* model.columns_.encode\(X\)"):
            getattr(kernsift.export, export)(model, *(["x"] if export == "to_libsvm" else []))
    rows = model.columns_.encode(X)
    assert "predict" in kernsift.export.to_c(Regressor().fit(rows, y))


# --- bad input -------------------------------------------------------------------------------------------------------


def test_columns_that_say_nothing_are_left_out_or_refused(rng):
    n = 60
    y = rng.standard_normal(n)
    X = np.empty((n, 5), dtype=object)
    X[:, 0], X[:, 1], X[:, 2], X[:, 3] = None, "only", 7.0, rng.standard_normal(n)
    X[:, 4] = [f"id {k}" for k in range(n)]
    model = Regressor(categorical_features=[1, 4]).fit(X, y)
    assert model.columns_.coordinates == ["1=only", "2", "3"]
    assert np.isfinite(model.predict(X)).all()
    X[:, 0], X[:, 1] = 3.0, "another"
    assert np.isfinite(model.predict(X)).all()
    for nothing, way in ((X[:, [4]], [0]), (np.full((n, 2), np.nan), "from_dtype")):
        front = kernsift.KernelRegressor(settings={"categorical_features": way})
        with pytest.raises(ValueError, match=r"X has no column to learn from: each is missing \(NaN\) in all 60 rows"):
            front.fit(nothing, y)
        assert not hasattr(front, "model_")


def test_more_than_ten_thousand_levels(rng):
    n = 24_000
    X = np.empty((n, 2), dtype=object)
    X[:, 0] = np.concatenate([rng.permutation(12_000), rng.choice(3, 12_000) + 50_000]).tolist()
    X[:, 1] = rng.standard_normal(n)
    y = X[:, 1].astype(float) + (X[:, 0] == 50_001)
    model = kernsift.SubsetLSSVMRegressor(gamma="standard", max_basis=10, random_state=0, categorical_features=[0]).fit(
        X, y
    )
    assert model.columns_.coordinates == ["0=50000", "0=50001", "0=50002", "0: others", "1"]
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("library", LIBRARIES)
def test_another_table_at_prediction_is_named(library):
    columns, y = table()
    model = Regressor().fit(frame_of(library, columns), y)
    before = pickle.dumps(model)
    n = len(y)
    changed = {
        "convert it to that type": {"colour": [1.5] * n},
        "column 'size' of X holds categories and held numbers in fit": {"size": ["1"] * n},
        "column 'when' of X holds numbers and held dates in fit": {"when": [3] * n},
        "column 'took' of X holds dates and held durations in fit": {"took": columns["when"]},
        r"column 'size' of X is inf \(infinity\) in row 0: give finite numbers": {"size": [np.inf] * n},
        r"column 'size' of X holds categories": {"size": [True, "a"] * (n // 2)},
    }
    for said, new in changed.items():
        if library != "pandas" and new.get("size", [""])[0] is True:
            continue  # such a column cannot be made there
        with pytest.raises(ValueError, match=said):
            model.predict(frame_of(library, {**columns, **new}))
    without = {name: values for name, values in columns.items() if name != "took"}
    with pytest.raises(ValueError, match=r"missing:\n- took|expecting 5 features"):
        model.predict(frame_of(library, without))
    if library == "pandas":
        with pytest.raises(
            ValueError, match=r"same order[\s\S]*Column 'took' stands where 'size' stood: give X\[list\(model"
        ):
            model.predict(frame_of(library, dict(reversed(columns.items()))))
    with pytest.raises(ValueError, match="column 'took' of X stands where 'size' stood in fit"):
        model.columns_.encode(frame_of(library, dict(reversed(columns.items()))))
    with pytest.raises(ValueError, match="X must be a table of the 5 columns of fit"):
        model.columns_.encode(frame_of(library, without))
    assert pickle.dumps(model) == before
    # another type of the same kind, and columns without a value, are taken
    same = {"ready": [None if v is None else float(v) for v in columns["ready"]]}
    expected = model.predict(frame_of(library, columns))
    np.testing.assert_array_equal(model.predict(frame_of(library, {**columns, **same})), expected)
    nothing = {name: [None] * n for name in columns}
    assert np.ptp(model.predict(frame_of(library, nothing))) == 0.0


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_that_are_none_are_named(library):
    columns, y = table()
    X = {"size": [v or 0.0 for v in columns["size"]], "wide": [1.0, np.inf, np.nan] * 40}
    for model in (kernsift.SubsetLSSVMRegressor(), kernsift.OnlineLSSVMRegressor()):
        with pytest.raises(ValueError, match=r"in row 1, column 'wide' of X\."):
            model.fit(frame_of(library, X), y)
        y_bad = np.where(np.arange(len(y)) == 5, np.inf, y)
        with pytest.raises(ValueError, match=r"in row 5 of y\."):
            model.fit(frame_of(library, {"size": X["size"]}), y_bad)


@pytest.mark.parametrize("library", LIBRARIES)
def test_bad_columns_in_fit_are_named(library):
    columns, y = table()
    frame = frame_of(library, columns)
    n = len(y)
    cases = [
        (
            {"categorical_features": ["color"]},
            frame,
            r"categorical_features names 'color', which is no column of X \(did you mean 'colour'\?\): it has",
        ),
        ({"categorical_features": [7]}, frame, "categorical_features names 7"),
        ({"categorical_features": [True]}, frame, "a mask of 1 columns and X has 5"),
        ({"periods": {"colour": 2}}, frame, "periods names column 'colour', which holds categories"),
        ({"periods": {"when": 0}}, frame, r"periods\['when'\] is 0: give a positive number"),
        ({"periods": {"day": 7}}, frame, "periods names 'day'"),
        ({}, frame_of(library, {**columns, "size": [np.inf] * n}), r"column 'size' of X is inf \(infinity\) in row 0"),
    ]
    if library == "pandas":
        cases += [
            (
                {},
                frame.assign(size=["a", 3] * (n // 2)),
                "column 'size' of X holds numbers and categories, such as 3 in",
            ),
            ({}, frame.set_axis([*"aabcd"], axis=1), "X has columns of the same name: rename them"),
            ({}, frame.assign(size=[{}] * n), r"column 'size' of X holds \{\} in row 0, which is no number"),
            ({}, frame.assign(size=[10**400, None] * (n // 2)), "column 'size' of X holds a number beyond the range"),
        ]
    model = Regressor().fit(frame, y)
    for way, X, said in cases:
        model.set_params(categorical_features="from_dtype", periods=None)
        model.set_params(**way)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=said):
            model.fit(X, y)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("library", LIBRARIES)
def test_dates_of_all_types_and_ranges(library):
    start = datetime.date(1, 1, 1)
    far = [start, datetime.date(9999, 12, 31), None, datetime.date(2020, 2, 29)] * 10
    columns = {"day": far, "at": [datetime.time(6), None, datetime.time(18), datetime.time(0)] * 10}
    frame = frame_of(library, columns)
    model = kernsift.LSSVMRegressor(gamma="standard").fit(frame, np.arange(40.0))
    encoded = model.columns_.encode(frame)
    assert [column.kind for column in model.columns_.columns] == ["date", "duration"]
    assert encoded[:4, 0].tolist() == [0.0, 3652058.0, 737483.0, 737483.0]
    assert encoded[:4, 2].tolist() == [0.25, 0.25, 0.75, 0.0]
    zone = datetime.timezone(datetime.timedelta(hours=2))
    here = [datetime.datetime(2024, 1, 1, 2, tzinfo=zone), datetime.datetime(2024, 1, 2, 2, tzinfo=zone)] * 10
    there = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)] * 10
    model = kernsift.LSSVMRegressor(gamma="standard").fit(frame_of(library, {"t": here}), np.arange(20.0))
    np.testing.assert_array_equal(model.columns_.encode(frame_of(library, {"t": there}))[:2, 0], [0.0, 1.0])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_stream_names_the_column_and_takes_numbers(library):
    columns, y = table(missing=0.0)
    numbers = {name: columns[name] for name in ("size", "ready")}
    stream = kernsift.OnlineLSSVMRegressor(gamma=0.5).fit(frame_of(library, numbers), y)
    before = pickle.dumps(stream)
    for name, said in (
        ("colour", "no number: encode it"),
        ("when", "dates or durations"),
        ("took", "dates or durations"),
    ):
        for verb in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=f"column 'ready' of X holds .*{said}"):
                getattr(stream, verb)(frame_of(library, {"size": columns["size"], "ready": columns[name]}), y)
    assert pickle.dumps(stream) == before


# --- any table -------------------------------------------------------------------------------------------------------

VALUES = {
    "number": st.one_of(st.integers(-5, 5).map(float), st.booleans()),
    "category": st.sampled_from(["a", "b", "c", ""]),
    "code": st.integers(0, 3),
    "date": st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    "duration": st.timedeltas(datetime.timedelta(0), datetime.timedelta(days=90)),
}


@st.composite
def tables(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    n = draw(st.integers(12, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(2):  # to fit, and to predict
        X = np.empty((n, len(kinds)), dtype=object)
        for j, kind in enumerate(kinds):
            pool = draw(st.lists(VALUES[kind], min_size=1, max_size=6))
            X[:, j] = [pool[k] for k in rng.integers(0, len(pool), n)]
            X[rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])), j] = None
        parts.append(X)
    return kinds, *parts, rng.standard_normal(n), rng.permutation(n)


@hypothesis_settings(max_examples=60, deadline=None)
@given(tables())
def test_any_kind_order_and_pattern_fits_predicts_saves_and_resumes(tmp_path_factory, drawn):
    kinds, X, rows, y, order = drawn
    way = [j for j, kind in enumerate(kinds) if kind in ("category", "code")]
    kinds = ["category" if kind == "code" else kind for kind in kinds]
    expected = oracle.encode(kinds, X.T.tolist(), X.T.tolist())
    settings = {"gamma": "standard", "max_basis": 10, "alpha": 0.1, "kernel": "rbf", "categorical_features": way}
    model = kernsift.KernelRegressor(settings=settings, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if not expected.shape[1]:
            with pytest.raises(ValueError, match="X has no column to learn from"):
                model.fit(X, y)
            return
        model.fit(X, y)
        shuffled = clone(model).fit(X[order], y[order])
    if hasattr(model, "columns_"):
        # dates of up to 3e6 days since 1970 are doubles
        np.testing.assert_allclose(model.columns_.encode(X), expected, rtol=0, atol=1e-8)
        assert shuffled.columns_ == model.columns_
    before = model.predict(rows)
    assert np.isfinite(before).all()
    # the sums of an int seed do not depend on the order of the rows, but for the rounding of the encoding's own: none
    np.testing.assert_allclose(shuffled.predict(rows), before, rtol=0, atol=1e-9)
    path = tmp_path_factory.mktemp("model") / "model.npz"
    model.save(path)
    again = kernsift.load(path)
    np.testing.assert_array_equal(again.predict(rows), before)
    if hasattr(model, "columns_"):
        np.testing.assert_array_equal(again.partial_fit(rows, y).predict(X), model.partial_fit(rows, y).predict(X))
