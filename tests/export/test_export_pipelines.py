"""Exports of pipelines say what the pipelines say: scalers in the kernels, other steps in the graph of ONNX."""

from __future__ import annotations

import re
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
    StandardScaler,
)
from support.c_programs import PLAIN, build, compiled
from support.export_cases import KERNELS, NEW, THREE, UNEVEN, X, Y, error
from support.scalers import SCALERS

SCALE, SHIFT = np.array([1.0, 300.0, 0.01]), np.array([7.0, -2000.0, 0.5])
RAW, RAW_NEW = X * SCALE + SHIFT, NEW * SCALE + SHIFT
WILD = np.vstack([RAW_NEW, 1e3 * RAW_NEW[:10], np.zeros((2, 3))])
# kernels nearly orthogonal to each other: no digits are lost to large coefficients that cancel
NARROW = [1.0, 0.7, 2.0]


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


def test_the_polynomial_kernel_of_shifted_columns_is_none_of_their_own_but_that_of_scaled_ones_is():
    with pytest.raises(ValueError, match=r"polynomial kernel of shifted columns.*with_mean=False"):
        to_libsvm(pipeline(StandardScaler(), "polynomial"))
    assert describe(pipeline(StandardScaler(), "polynomial"), "C").steps is not None
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


# --- other steps in C, on columns of numbers


def numbers(missing):
    """Rows of three numbers, one of which numbers a kind, with gaps: NaN, or -1 in their place."""
    draw = np.random.default_rng(3)
    rows = np.column_stack([RAW[:, 0], RAW[:, 1], draw.integers(0, 4, len(RAW)) + 0.1])
    rows[::7, 0] = rows[::11, 2] = missing
    return rows


FILLED = SimpleImputer(strategy="median", add_indicator=True)
CHAINS = {
    "filled": make_pipeline(FILLED, StandardScaler()),
    "clipped": make_pipeline(SimpleImputer(), MinMaxScaler(clip=True)),
    "one-hot": ColumnTransformer(
        [("n", make_pipeline(FILLED, SCALERS["robust"]), [1, 0]), ("k", OneHotEncoder(handle_unknown="ignore"), [2])]
    ),
    "first": ColumnTransformer(
        [("n", SimpleImputer(), [0, 1]), ("k", OneHotEncoder(drop="first", handle_unknown="ignore"), [2])]
    ),
    "numbered": ColumnTransformer(
        [
            ("n", SimpleImputer(), [0, 1]),
            ("k", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=9), [2]),
        ]
    ),
}


@compiled
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("chain", CHAINS)
def test_c_of_other_steps(chain, dtype, tmp_path):
    made = pipeline(CHAINS[chain], rows=numbers(np.nan), gamma="standard")
    rows = numbers(np.nan)[:60] * [1.3, 1.1, 1.0] + [0.1, 3.0, 0.0]
    rows[3, 2] = 8.0  # a category that is not known
    header = to_c(made, dtype=dtype, X=rows)
    stated = float(re.search(r"Largest error against float64: (\S+)", header)[1])  # to two digits
    found = build(tmp_path, header, PLAIN.replace("ANSWER", ""), dtype)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        expected = made.predict(rows)
    off = error(found(rows)[:, 0], expected)
    assert off < 1e-12 if dtype == "float64" else 0.5 * stated < off < 2 * stated < 1e-3
    for j in range(3):
        rows[0] = numbers(np.nan)[1]
        rows[0, j] = np.inf
        assert np.isnan(found(rows[:1])[0, 0])


@compiled
def test_c_of_marked_gaps_and_of_an_error_for_new_categories(tmp_path):
    columns = ColumnTransformer([("n", SimpleImputer(missing_values=-1), [0, 1]), ("k", OneHotEncoder(), [2])])
    made = pipeline(columns, rows=numbers(-1.0), gamma="standard")
    found = build(tmp_path, to_c(made, dtype="float64"), PLAIN.replace("ANSWER", ""), "float64")
    rows = numbers(-1.0)[:40]
    assert error(found(rows)[:, 0], made.predict(rows)) < 1e-12
    rows[3, 2] = 8.0
    with pytest.raises(ValueError, match="unknown categories"):
        made.predict(rows)
    assert np.flatnonzero(np.isnan(found(rows)[:, 0])).tolist() == [3]


@compiled
@pytest.mark.parametrize("several", [False, True], ids=["one", "two"])
def test_c_learns_behind_steps(several, tmp_path):
    y = np.column_stack([Y, X[:, 0] ** 2]) if several else Y
    model = kernsift.OnlineLSSVMRegressor(max_basis=20, gamma=0.3, swap_until=50, forgetting=1.0, linear=False)
    rows = numbers(np.nan)
    made = make_pipeline(clone(CHAINS["filled"]), model).fit(rows, y)
    targets = y[:60] + 0.1
    outputs = targets.reshape(60, -1).shape[1]
    main = f"""  REAL x[MODEL_FEATURES + {outputs}], out[{outputs}];
  model_state s;
  model_begin(&s);
  while (row(x, MODEL_FEATURES + {outputs})) {{
    model_scores(&s, x, out);
    show(out, {outputs});
    model_learn(&s, x, {"x + MODEL_FEATURES" if several else "x[MODEL_FEATURES]"}, 1.0);
    puts("");
  }}
  return 0;"""
    found = build(tmp_path, to_c(made, dtype="float64", learn=True), main, "float64")
    expected = kernsift.fold(made).prequential(rows[:60], targets).y_pred
    assert error(found(np.column_stack([rows[:60], targets])), np.reshape(expected, (60, -1))) < 1e-9


def test_categories_that_single_precision_does_not_tell_apart_are_refused():
    rows = np.column_stack([X[:, 0], 2.0**24 + (np.arange(len(X)) % 2)])
    columns = ColumnTransformer([("n", StandardScaler(), [0]), ("k", OneHotEncoder(), [1])])
    made = pipeline(columns, rows=rows)
    with pytest.raises(ValueError, match=r"float32.*categories of column 1 apart.*float64"):
        to_c(made)
    assert "double" in to_c(made, dtype="float64")


def test_columns_of_texts_have_no_c():
    frame = table()
    columns = ColumnTransformer([("n", SimpleImputer(), ["a"]), ("k", OneHotEncoder(), ["kind"])])
    with pytest.raises(ValueError, match=r"column 'kind' holds texts, and C takes numbers.*to_onnx"):
        to_c(pipeline(columns, rows=frame))


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


def test_what_libsvm_has_no_step_for_is_named():
    made = pipeline(make_pipeline(SimpleImputer(), StandardScaler()))
    with pytest.raises(ValueError, match=r"column 0 has its missing values filled in by a step.*pipeline\[-1\]"):
        to_libsvm(made)


def test_the_front_door_is_exported():
    settings = {"kernel": "rbf", "gamma": "scale", "max_basis": 20}
    made = make_pipeline(StandardScaler(), kernsift.KernelRegressor(random_state=0, settings=settings)).fit(RAW, Y)
    model = describe(made, "C")  # which fills in what is missing, after the scaler
    assert error(model.scores(model.steps.encode(RAW_NEW))[:, 0], made.predict(RAW_NEW)) < 1e-10
    alone = kernsift.KernelRegressor(random_state=0, settings=settings).fit(X, Y)
    assert error(describe(alone, "C").scores(NEW)[:, 0], alone.predict(NEW)) < 1e-10


# --- standard deviations behind steps

BEHIND = {
    "subset": lambda: kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0, alpha=1.0, noise="input"),
    "stream": lambda: kernsift.OnlineLSSVMRegressor(gamma=0.3, max_basis=20),
    "door": lambda: kernsift.KernelRegressor(
        random_state=0, settings={"kernel": "rbf", "gamma": "scale", "max_basis": 20}
    ),
}


def behind(steps, model, rows):
    """A pipeline; streams have learned their rows as such."""
    made = make_pipeline(clone(steps), BEHIND[model]()).fit(rows, UNEVEN)
    if model == "stream":
        made[-1].__setstate__(BEHIND[model]().partial_fit(made[:-1].transform(rows), UNEVEN).__getstate__())
        assert len(made[-1].experts_) > 1
    return made


@pytest.mark.parametrize("model", BEHIND)
@pytest.mark.parametrize(
    ("chain", "dtype"),
    # the categories of "one-hot" are numbers that single precision has not
    [
        *((chain, dtype) for chain in ("standard", "some", "filled") for dtype in ("float64", "float32")),
        ("one-hot", "float64"),
    ],
)
def test_standard_deviations_behind_steps_in_onnx(chain, model, dtype):
    pytest.importorskip("onnx", reason="onnx is not installed")
    rows, new = (numbers(np.nan), numbers(np.nan)[:60]) if chain in CHAINS else (RAW, RAW_NEW)
    made = behind({**SCALERS, **CHAINS}[chain], model, rows)
    new = new.astype(dtype)
    found = run(to_onnx(made, dtype=dtype, std=True), {"X": new})
    mean, std = kernsift.fold(made).predict(new.astype(np.float64), return_std=True)
    # columns of thousands in single precision are off by 1e-7 of these, and the kernels by that of a hundred widths
    assert error(found["variable"][:, 0], mean) < {"float64": 1e-9, "float32": 1e-4}[dtype]
    assert error(found["standard_deviation"][:, 0], std) < {"float64": 1e-9, "float32": 1e-4}[dtype]


@compiled
@pytest.mark.parametrize("model", BEHIND)
@pytest.mark.parametrize("chain", ["standard", "some", "filled", "one-hot"])
def test_standard_deviations_behind_steps_in_c(chain, model, tmp_path):
    rows, new = (numbers(np.nan), numbers(np.nan)[:60]) if chain in CHAINS else (RAW, RAW_NEW)
    made = behind({**SCALERS, **CHAINS}[chain], model, rows)
    header = to_c(made, dtype="float64", std=True, X=new)
    call = PLAIN.replace("ANSWER", "{ REAL s = model_predict_std(x); show(&s, 1); }")
    found = build(tmp_path, header, call, "float64")(new)
    mean, std = kernsift.fold(made).predict(new, return_std=True)
    assert error(found[:, 0], mean) < 1e-9
    assert error(found[:, 1], std) < 1e-9


def test_a_front_door_that_fills_in_what_is_missing_has_its_deviation():
    pytest.importorskip("onnx", reason="onnx is not installed")
    rows = X.copy()
    rows[::7, 1] = np.nan
    door = BEHIND["door"]().fit(X, UNEVEN)
    found = run(to_onnx(door, dtype="float64", std=True), {"X": rows})
    mean, std = door.predict(rows, return_std=True)
    assert error(found["variable"][:, 0], mean) < 1e-9
    assert error(found["standard_deviation"][:, 0], std) < 1e-9
