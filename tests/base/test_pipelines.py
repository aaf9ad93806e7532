"""Pipelines as one estimator: folded, saved, tuned, over Dask; scikit-learn's own pipeline is the reference."""

from __future__ import annotations

import pickle
import warnings

import kernsift
import numpy as np
import pytest
from kernsift import fold
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from support.scalers import SCALERS

rng = np.random.default_rng(20262)
X = rng.normal(size=(160, 3)) * [1.0, 100.0, 0.01] + [5.0, 1000.0, 0.0]
Y = np.sin(X[:, 0]) + X[:, 1] / 100
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
WILD = np.vstack([X[:20], 1e6 * X[:5], np.zeros((1, 3))])
HOLES = np.where(rng.random((40, 3)) < 0.3, np.nan, X[:40])

STEPS = {
    **SCALERS,
    "no mean": StandardScaler(with_mean=False),
    "no scale": make_pipeline(StandardScaler(with_std=False), MaxAbsScaler()),
    "clipped": MinMaxScaler(clip=True),
    "largest": MaxAbsScaler(),
    "two": make_pipeline(MinMaxScaler(), "passthrough", RobustScaler(unit_variance=True)),
    "varying": make_pipeline(VarianceThreshold(0.5), StandardScaler()),
    "same": make_pipeline(FunctionTransformer(), StandardScaler()),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler()),
    "flagged": make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()),
    "a mask": ColumnTransformer([("s", StandardScaler(), np.array([True, False, True]))], remainder=MinMaxScaler()),
    "a slice": ColumnTransformer([("s", RobustScaler(), slice(1, 3)), ("d", "drop", [0])]),
}
MODELS = {
    "subset": kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0),
    "subset classes": kernsift.SubsetLSSVMClassifier(max_basis=20, random_state=0),
    "dense": kernsift.LSSVMRegressor(gamma="standard"),
    "pruned": kernsift.SparseLSSVMRegressor(max_basis=10, random_state=0),
    "orols": kernsift.OROLSRegressor(max_basis=10),
    "stream": kernsift.OnlineLSSVMRegressor(max_basis=20),
    "stream classes": kernsift.OnlineLSSVMClassifier(max_basis=20),
    "krls": kernsift.KRLSRegressor(alpha=0.1, max_basis=20),
    "selector": kernsift.FeatureVectorSelector(n_components=10, random_state=0),
    "front": kernsift.KernelRegressor(random_state=0, settings={"kernel": "rbf", "gamma": "scale", "max_basis": 20}),
}


def targets(model):
    return LABELS if is_classifier(model) else Y


def said(model, rows):
    for verb in ("predict_proba", "predict", "transform"):
        if hasattr(model, verb):
            return getattr(model, verb)(rows)
    raise AssertionError(model)


def frozen(model):
    return pickle.dumps(model)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", MODELS)
def test_a_folded_pipeline_predicts_to_the_same_bits(steps, name):
    model = clone(MODELS[name])
    learned = HOLES if steps in ("imputed", "flagged") else X
    pipeline = make_pipeline(clone(STEPS[steps]), model).fit(learned, targets(model)[: len(learned)])
    folded = fold(pipeline)
    assert type(folded) is type(model)
    assert folded.n_features_in_ == 3
    rows = HOLES if steps in ("imputed", "flagged") else WILD
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(said(folded, rows), said(pipeline, rows))


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_pipeline_is_one_estimator(name, tmp_path):
    pipeline = make_pipeline(StandardScaler(), clone(MODELS[name])).fit(X, targets(MODELS[name]))
    for what in ("all", *(("predict",) if name in ("subset", "dense", "front") else ())):
        kernsift.save(pipeline, tmp_path / "model.npz", what)
        again = kernsift.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(said(again, WILD), said(pipeline, WILD))


def test_an_estimator_is_folded_to_itself_and_saved(tmp_path):
    model = kernsift.LSSVMRegressor(gamma="standard").fit(X, Y)
    assert fold(model) is model
    kernsift.save(model, tmp_path / "model.npz")
    np.testing.assert_array_equal(kernsift.load(tmp_path / "model.npz").predict(X), model.predict(X))


def table(library="pandas"):
    frame = pytest.importorskip(library)
    draw = np.random.default_rng(3)
    columns = {name: X[:, j].copy() for j, name in enumerate("abc")}
    columns["a"][::9] = np.nan
    columns["kind"] = draw.choice(["elm", "oak", "yew", "ash"], len(X), p=[0.4, 0.4, 0.17, 0.03])
    columns["place"] = draw.integers(0, 3, len(X))
    columns["unused"] = np.ones(len(X))
    return frame.DataFrame(columns)


def encoder(**how):
    return OneHotEncoder(sparse_output=False, **how)


ENCODERS = {
    "ignore": encoder(handle_unknown="ignore"),
    "first": encoder(drop="first"),
    "two": encoder(drop="if_binary"),
    "rare": encoder(min_frequency=10, handle_unknown="infrequent_if_exist"),
    "known": encoder(categories=[["yew", "oak", "elm", "ash"], [0, 1, 2, 3]]),
    "numbers": OrdinalEncoder(),
    "other": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


def mixed(kind, **model):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("n", numbers, ["c", "a"]), ("k", ENCODERS[kind], ["kind", "place"])])
    return make_pipeline(columns, kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0, **model))


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_by_name(kind, library, tmp_path):
    rows = table(library)
    pipeline = mixed(kind).fit(rows, Y)
    kernsift.save(pipeline, tmp_path / "model.npz")
    folded = kernsift.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(folded.predict(rows), pipeline.predict(rows))
    assert folded.feature_names_in_.tolist() == ["a", "b", "c", "kind", "place", "unused"]
    assert len(folded.columns_.coordinates) == folded.basis_vectors_.shape[1]


@pytest.mark.parametrize("kind", ["ignore", "rare", "other"])
def test_categories_never_seen(kind):
    rows = table()
    pipeline = mixed(kind).fit(rows, Y)
    rows.loc[:5, "kind"] = "fir"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        np.testing.assert_array_equal(fold(pipeline).predict(rows), pipeline.predict(rows))


@pytest.mark.parametrize("kind", ["first", "numbers"])
def test_a_category_that_is_an_error_is_named(kind):
    rows = table()
    folded = fold(mixed(kind).fit(rows, Y))
    rows.loc[7, "kind"] = "fir"
    with pytest.raises(ValueError, match=r"column 'kind' of X holds 'fir' in row 7, a category that step .*handle_unk"):
        folded.predict(rows)


def test_reordered_and_missing_columns_are_named():
    folded = fold(mixed("ignore").fit(table(), Y))
    with pytest.raises(ValueError, match="'b' stands where 'a' stood"):
        folded.predict(table()[["b", "a", "c", "kind", "place", "unused"]])
    with pytest.raises(ValueError, match="unused"):
        folded.predict(table().drop(columns="unused"))
    rows = table().astype({"c": object})
    rows.loc[3, "c"] = "much"
    with pytest.raises(ValueError, match="column 'c' of X holds 'much' in row 3"):
        folded.predict(rows)


@pytest.mark.parametrize("name", ["stream", "krls", "stream classes"])
def test_a_folded_stream_goes_on_with_rows_as_they_come(name):
    model = MODELS[name]
    y = targets(model)
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X[:100], y[:100])
    folded, behind = fold(pipeline), pickle.loads(pickle.dumps(pipeline[-1]))
    scale = pipeline[0]
    before = frozen(pipeline)
    folded = pickle.loads(pickle.dumps(folded))
    folded.partial_fit(X[100:150], y[100:150])
    behind.partial_fit(scale.transform(X[100:150]), y[100:150])
    for x, target in zip(X[150:], y[150:], strict=True):
        z = scale.transform(x[None])[0]
        assert folded.predict_one(x) == behind.predict_one(z)
        folded.update(list(x), target)
        behind.update(z, target)
    np.testing.assert_array_equal(folded.predict(X), behind.predict(scale.transform(X)))
    assert frozen(pipeline) == before


def test_a_fit_of_a_folded_model_begins_without_the_steps():
    plain = kernsift.LSSVMRegressor(gamma="standard")
    folded = fold(make_pipeline(StandardScaler(), clone(plain)).fit(X, Y))
    again = folded.fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), plain.fit(X, Y).predict(X))
    assert getattr(again, "columns_", None) is None


def twice(values):
    return 2 * values


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        (make_pipeline(PCA(2), kernsift.LSSVMRegressor()), ValueError, r"step 'pca' \(PCA\).*pipeline\[-1\]"),
        (
            make_pipeline(FunctionTransformer(twice), kernsift.LSSVMRegressor(gamma="standard")),
            ValueError,
            "'functiontransformer'.*function of yours",
        ),
        (make_pipeline(StandardScaler(), Ridge()), TypeError, r"step 'ridge' \(Ridge\) ends this pipeline"),
        (
            make_pipeline(ColumnTransformer([("p", PCA(1), [0, 1])]), kernsift.LSSVMRegressor()),
            ValueError,
            "step 'columntransformer: p'",
        ),
    ],
    ids=["pca", "function", "ridge", "within"],
)
def test_what_cannot_be_folded_is_named(steps, error, message, tmp_path):
    pipeline = clone(steps).fit(X, Y)
    for call in (fold, lambda p: kernsift.save(p, tmp_path / "model.npz")):
        with pytest.raises(error, match=message):
            call(pipeline)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_estimator_of_ours_and_what_is_not_fitted():
    with pytest.raises(TypeError, match="got Ridge"):
        fold(Ridge())
    with pytest.raises(Exception, match="not fitted"):
        fold(make_pipeline(StandardScaler(), kernsift.LSSVMRegressor()))


# --- tune


def test_tune_of_a_pipeline_is_tune_of_its_scaled_rows():
    model = kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", model)])
    found = kernsift.tune(pipeline, X, Y, gammas=[0.1, 1.0])
    by_hand = kernsift.tune(model, StandardScaler().fit_transform(X), Y, gammas=[0.1, 1.0])
    assert found.best_params_ == {f"model__{k}": v for k, v in by_hand.best_params_.items()}
    assert found.best_score_ == by_hand.best_score_
    assert set(found.cv_results_) >= {"param_model__gamma", "param_model__alpha", "params"}
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(found.best_estimator_.predict(X), by_hand.best_estimator_.predict(scaled))
    assert clone(pipeline).set_params(**found.best_params_)[-1].alpha == by_hand.best_params_["alpha"]
    assert not hasattr(pipeline[0], "mean_")
    assert kernsift.tune(pipeline, X, Y, gammas=[1.0], refit=False).best_estimator_ is None


# --- dask


def test_dask_passes_partitions_through_the_steps():
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    import kernsift.dask
    import pandas

    frame = table()[["a", "b", "c"]].fillna(5.0)
    steps = ColumnTransformer([("s", StandardScaler(), ["c", "a"])])
    model = kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0, alpha=0.1)
    pipeline = make_pipeline(steps, model)
    fitted = kernsift.dask.fit(pipeline, dask.from_pandas(frame.assign(y=Y), npartitions=3), "y")
    assert fitted is pipeline
    # the sample was all rows: the steps are those of a fit to them, and the sums those of one process
    whole = clone(steps).fit(frame)
    np.testing.assert_allclose(whole.transform(frame), pipeline[0].transform(frame), rtol=1e-12)
    rows = pandas.DataFrame(pipeline[0].transform(frame), columns=["p", "q"])
    alone = kernsift.dask.fit(clone(model), dask.from_pandas(rows.assign(y=Y), npartitions=3), "y")
    np.testing.assert_allclose(pipeline.predict(frame), alone.predict(rows), rtol=1e-9)
    np.testing.assert_array_equal(fold(pipeline).predict(frame), pipeline.predict(frame))
