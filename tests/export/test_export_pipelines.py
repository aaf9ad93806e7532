"""Exports of pipelines say what the pipelines say: scalers in the kernels, other steps in the graph of ONNX."""

from __future__ import annotations

import warnings

import kernsift
import numpy as np
import pytest
from kernsift.export import to_c, to_libsvm, to_onnx
from kernsift.export._model import describe
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from support.c_programs import PLAIN, build, compiled
from support.export_cases import KERNELS, NEW, THREE, X, Y, error

SCALE, SHIFT = np.array([1.0, 300.0, 0.01]), np.array([7.0, -2000.0, 0.5])
RAW, RAW_NEW = X * SCALE + SHIFT, NEW * SCALE + SHIFT
WILD = np.vstack([RAW_NEW, 1e3 * RAW_NEW[:10], np.zeros((2, 3))])
# kernels nearly orthogonal to each other: no digits are lost to large coefficients that cancel
NARROW = [1.0, 0.7, 2.0]
SCALERS = {
    "standard": StandardScaler(),
    "range": MinMaxScaler((-2, 2)),
    "robust": RobustScaler(),
    "some": ColumnTransformer([("s", StandardScaler(), [2, 0])]),
}


def pipeline(steps, kernel="rbf", y=Y, rows=RAW, **how):
    family = kernsift.SubsetLSSVMRegressor if y is Y else kernsift.SubsetLSSVMClassifier
    model = family(kernel=kernel, max_basis=20, random_state=0, alpha=1.0, **how)
    return make_pipeline(clone(steps), model).fit(rows, y)


def tolerance(made):
    """1e-12, but for the polynomial kernel, whose large coefficients cancel, what rounding explains."""
    if made[-1].kernel != "polynomial":
        return 1e-12
    return describe(made[-1], "ONNX").rounding(made[:-1].transform(WILD), "float64")


def run(model, feed):
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed), strict=True))


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k != "polynomial"])
@pytest.mark.parametrize("scaler", SCALERS)
def test_scalers_are_part_of_the_kernels(kernel, scaler):
    made = pipeline(SCALERS[scaler], kernel, gamma=NARROW[: 2 if scaler == "some" else 3])
    model = describe(made, "C")
    assert model.n_features == 3
    assert error(model.scores(WILD)[:, 0], made.predict(WILD)) < 1e-12


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_onnx_of_scalers(kernel, scaler):
    pytest.importorskip("onnx", reason="onnx is not installed")
    made = pipeline(SCALERS[scaler], kernel, gamma=NARROW[: 2 if scaler == "some" else 3])
    model = to_onnx(made, dtype="float64")
    found = run(model, {"X": WILD})["variable"]
    assert error(found[:, 0], made.predict(WILD)) < tolerance(made)
    assert run(model, {"X": WILD[:0]})["variable"].shape == (0, 1)


@compiled
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_c_of_a_scaler(kernel, tmp_path):
    made = pipeline(StandardScaler(), kernel)
    call = build(tmp_path, to_c(made, dtype="float64"), PLAIN.replace("ANSWER", ""), "float64")
    assert error(call(WILD)[:, 0], made.predict(WILD)) < 1e-12


@compiled
def test_c_learns_on_with_the_scale_of_the_pipeline(tmp_path):
    model = kernsift.OnlineLSSVMRegressor(max_basis=20, gamma=0.3, swap_until=50, exact_rows=0)
    made = make_pipeline(StandardScaler(), model).fit(RAW, Y)
    header = to_c(made, dtype="float64", learn=True)
    main = """  REAL x[MODEL_FEATURES + 1];
  model_state s;
  model_begin(&s);
  while (row(x, MODEL_FEATURES + 1)) {
    show((REAL[]){model_predict(&s, x)}, 1);
    model_learn(&s, x, x[MODEL_FEATURES], 1.0);
    printf("\\n");
  }
  return 0;"""
    targets = np.cos(NEW[:, 0])
    found = build(tmp_path, header, main, "float64")(np.column_stack([RAW_NEW, targets]))
    expected = kernsift.fold(made).prequential(RAW_NEW, targets).y_pred
    assert error(found[:, 0], expected) < 1e-9


def test_libsvm_of_a_scaler_that_leaves_one_width():
    equal = StandardScaler().fit(X)
    made = pipeline(MaxAbsScaler(), rows=X / np.abs(X).max(axis=0))
    text = to_libsvm(made)
    assert text.splitlines()[1] == "kernel_type rbf"
    with pytest.raises(ValueError, match="gamma differs between the features"):
        to_libsvm(pipeline(equal))


def test_a_warp_behind_a_scaler():
    warp = kernsift.Warp(knots=[[-1, 0, 1], [-1, 1], [-2, 2]], slopes=[[1, 0.5], [1], [2]])
    made = pipeline(StandardScaler(), gamma=warp)
    assert error(describe(made, "C").scores(WILD)[:, 0], made.predict(WILD)) < 1e-12


def test_the_polynomial_kernel_of_shifted_columns_has_no_c_but_that_of_scaled_ones():
    with pytest.raises(ValueError, match=r"polynomial kernel of shifted columns.*with_mean=False"):
        to_c(pipeline(StandardScaler(), "polynomial"))
    made = pipeline(MaxAbsScaler(), "polynomial")
    assert error(describe(made, "C").scores(WILD)[:, 0], made.predict(WILD)) < tolerance(made)


# --- other steps in ONNX


def table():
    pandas = pytest.importorskip("pandas")
    draw = np.random.default_rng(3)
    frame = pandas.DataFrame(RAW, columns=list("abc"))
    frame.loc[::9, "a"] = np.nan
    frame["kind"] = draw.choice(["elm", "oak", "yew", "ash"], len(X), p=[0.4, 0.4, 0.17, 0.03])
    frame["place"] = draw.integers(0, 3, len(X))
    frame["unused"] = 1.0
    return frame


def feed(model, frame, dtype="float64"):
    """Inputs of a graph from a table: a column each, or all."""
    if [i.name for i in model.graph.input] == ["X"]:
        return {"X": frame.to_numpy(dtype)}
    texts = {i.name for i in model.graph.input if i.type.tensor_type.elem_type == 8}
    return {
        i.name: np.array([["" if v is None or v != v else v] for v in frame[i.name]], dtype=object).reshape(-1, 1)
        if i.name in texts
        else frame[[i.name]].to_numpy(dtype)
        for i in model.graph.input
    }


ENCODERS = {
    "one-hot": OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    "first": OneHotEncoder(sparse_output=False, drop="first"),
    "rare": OneHotEncoder(sparse_output=False, min_frequency=15, handle_unknown="infrequent_if_exist"),
    "numbers": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("y", [Y, THREE], ids=["regressor", "classifier"])
def test_onnx_of_categories_by_name(encoder, y):
    pytest.importorskip("onnx", reason="onnx is not installed")
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = ColumnTransformer([("n", numbers, ["c", "a"]), ("k", ENCODERS[encoder], ["kind", "place"])])
    frame = table()
    made = pipeline(columns, y=y, rows=frame)
    model = to_onnx(made, dtype="float64")
    assert [i.name for i in model.graph.input] == ["a", "c", "kind", "place"]
    if encoder in ("one-hot", "numbers"):
        frame.loc[3, "kind"] = "fir"
    answers = run(model, feed(model, frame))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        if y is Y:
            assert error(answers["variable"][:, 0], made.predict(frame)) < 1e-12
        else:
            assert error(answers["probabilities"], made.predict_proba(frame)) < 1e-12
            assert (answers["label"] == made.predict(frame)).all()
    single = to_onnx(made)
    rough = run(single, feed(single, table(), "float32"))
    assert (
        error(rough["variable" if y is Y else "scores"], describe(made, "ONNX").scores(made[:-1].transform(table())))
        < 1e-5
    )


def test_onnx_of_filled_and_clipped_numbers():
    pytest.importorskip("onnx", reason="onnx is not installed")
    steps = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler(clip=True))
    made = pipeline(steps, gamma=5.0)
    rows = WILD.copy()
    rows[::3, 1] = np.nan
    model = to_onnx(made, dtype="float64")
    assert error(run(model, {"X": rows})["variable"][:, 0], made.predict(rows)) < 1e-12


def test_onnx_of_missing_texts():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("onnx", reason="onnx is not installed")
    frame = pandas.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "elm", "oak").astype(object)})
    frame.loc[::7, "kind"] = np.nan
    fill = SimpleImputer(strategy="constant", fill_value="oak")
    columns = ColumnTransformer(
        [("k", make_pipeline(fill, OneHotEncoder(sparse_output=False)), ["kind"]), ("x", StandardScaler(), ["x"])]
    )
    made = pipeline(columns, rows=frame)
    model = to_onnx(made, dtype="float64")
    assert error(run(model, feed(model, frame))["variable"][:, 0], made.predict(frame)) < 1e-12


def test_a_category_that_was_an_error_is_nan():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("onnx", reason="onnx is not installed")
    frame = pandas.DataFrame({"kind": np.where(X[:, 1] > 0, "elm", "oak"), "x": X[:, 0]})
    columns = ColumnTransformer([("k", OneHotEncoder(sparse_output=False), ["kind"])], remainder=StandardScaler())
    model = to_onnx(pipeline(columns, rows=frame), dtype="float64")
    frame.loc[5, "kind"] = "fir"
    found = run(model, feed(model, frame))["variable"]
    assert np.flatnonzero(np.isnan(found[:, 0])).tolist() == [5]


def test_steps_that_only_skl2onnx_knows():
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    made = pipeline(make_pipeline(StandardScaler(), PCA(2)))
    found = run(to_onnx(made, dtype="float64"), {"X": RAW_NEW})["variable"]
    assert error(found[:, 0], made.predict(RAW_NEW)) < 1e-9
    with pytest.raises(ValueError, match=r"step 'pipeline: pca' \(PCA\)"):
        to_c(made)


def test_what_c_has_no_step_for_is_named():
    made = pipeline(make_pipeline(SimpleImputer(), StandardScaler()))
    for export in (to_c, to_libsvm):
        with pytest.raises(ValueError, match=r"column 0 has its missing values filled in by a step.*pipeline\[-1\]"):
            export(made)


def test_the_front_door_is_exported():
    settings = {"kernel": "rbf", "gamma": "scale", "max_basis": 20}
    made = make_pipeline(StandardScaler(), kernsift.KernelRegressor(random_state=0, settings=settings)).fit(RAW, Y)
    assert error(describe(made, "C").scores(RAW_NEW)[:, 0], made.predict(RAW_NEW)) < 1e-10
    alone = kernsift.KernelRegressor(random_state=0, settings=settings).fit(X, Y)
    assert error(describe(alone, "C").scores(NEW)[:, 0], alone.predict(NEW)) < 1e-10
