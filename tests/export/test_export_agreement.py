"""A pipeline and what is exported of it say the same of every row: C, ONNX and files, missing, wild and no rows."""

from __future__ import annotations

import kernsift
import numpy as np
import pytest
from kernsift.export import to_c, to_onnx
from sklearn.base import clone, is_classifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.c_programs import COMPILER, PLAIN, build
from support.export_cases import NEW, SEVERAL, THREE, X, Y, error

SCALE, SHIFT = np.array([1.0, 300.0, 0.01]), np.array([7.0, -2000.0, 0.5])
RAW, RAW_NEW = X * SCALE + SHIFT, NEW * SCALE + SHIFT
# narrow kernels, nearly orthogonal to each other, and a large ridge: no digits are lost to coefficients that cancel
HOW = {"gamma": [1.0, 0.7, 2.0], "alpha": 1.0}
MODELS = {
    "subset": kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0, **HOW),
    "subset, two outputs": kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0, **HOW),
    "subset classes": kernsift.SubsetLSSVMClassifier(max_basis=20, random_state=0, **HOW),
    "dense": kernsift.LSSVMRegressor(**HOW),
    "dense classes": kernsift.LSSVMClassifier(**HOW),
    "pruned": kernsift.SparseLSSVMRegressor(max_basis=20, random_state=0, **HOW),
    "orols": kernsift.OROLSRegressor(max_basis=15, **HOW),
    "orols classes": kernsift.OROLSClassifier(max_basis=15, **HOW),
    "online": kernsift.OnlineLSSVMRegressor(max_basis=20, **HOW),
    "online classes": kernsift.OnlineLSSVMClassifier(max_basis=20, **HOW),
    "krls": kernsift.KRLSRegressor(max_basis=20, **HOW),
    "front": kernsift.KernelRegressor(random_state=0, settings={"kernel": "rbf", "max_basis": 20, **HOW}),
    "front classes": kernsift.KernelClassifier(random_state=0, settings={"kernel": "rbf", "max_basis": 20, **HOW}),
}
STEPS = {"scaled": StandardScaler(), "filled": make_pipeline(SimpleImputer(), StandardScaler())}


def rows_of(kind):
    """Rows, and which of them are missing a value."""
    rows = {
        "plain": RAW_NEW,
        "wild": np.vstack([RAW_NEW[:5], 1e3 * RAW_NEW, 1e9 * RAW_NEW[:20], -1e-9 * RAW_NEW[:20], np.zeros((1, 3))]),
        "missing": RAW_NEW.copy(),
        "none": RAW_NEW[:0],
    }[kind]
    if kind == "missing":
        rows[::4, 1] = rows[::6, 0] = np.nan
    return rows


def scores(model, rows):
    said = model.decision_function(rows) if is_classifier(model) else model.predict(rows)
    return np.asarray(said).reshape(len(rows), -1)


def by_c(made, rows, folder):
    if COMPILER is None:
        pytest.skip("no C compiler: gcc or clang")
    return build(folder, to_c(made, dtype="float64"), PLAIN.replace("ANSWER", ""), "float64")(rows)


def by_onnx(made, rows, folder):
    pytest.importorskip("onnx", reason="onnx is not installed")
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    graph = to_onnx(made, dtype="float64").SerializeToString()
    session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    name = "scores" if is_classifier(made) else "variable"
    return session.run([name], {"X": rows})[0]


def by_file(made, rows, folder, what="all"):
    kernsift.save(made, folder / "model.npz", what)
    return scores(kernsift.load(folder / "model.npz"), rows)


def by_small_file(made, rows, folder):
    if not isinstance(made[-1], kernsift.SubsetLSSVMRegressor | kernsift.LSSVMRegressor | kernsift.KernelRegressor):
        pytest.skip("has no file for predictions alone")
    return by_file(made, rows, folder, "predict")


WAYS = {"C": by_c, "ONNX": by_onnx, "file": by_file, "small file": by_small_file}


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def get(steps, name):
        if (steps, name) not in made:
            model = clone(MODELS[name])
            y = THREE if is_classifier(model) else SEVERAL if "two" in name else Y
            learned = RAW.copy()
            if steps == "filled":
                learned[::9, 0] = np.nan
            made[steps, name] = make_pipeline(clone(STEPS[steps]), model).fit(learned, y)
        return made[steps, name]

    return get


@pytest.mark.parametrize("kind", ["plain", "wild", "missing", "none"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", MODELS)
def test_an_export_says_what_its_pipeline_says(name, steps, way, kind, fitted, tmp_path):
    made, rows = fitted(steps, name), rows_of(kind)
    takes_missing = steps == "filled" or name.startswith("front")
    refused = kind == "none" or (kind == "missing" and not takes_missing)
    if not refused:
        found = WAYS[way](made, rows, tmp_path)
        assert found.shape == scores(made, rows).shape
        assert error(found, scores(made, rows)) < 1e-12
        return
    # A pipeline refuses no rows, and NaN that no step fills in: so does a file. C and ONNX, without errors, say NaN.
    with pytest.raises(ValueError, match=r"0 sample|NaN"):
        scores(made, rows)
    if "file" in way:
        with pytest.raises(ValueError, match=r"0 sample|NaN"):
            WAYS[way](made, rows, tmp_path)
        return
    found = WAYS[way](made, rows, tmp_path)
    assert len(found) == len(rows)
    gaps = np.isnan(rows).any(axis=1)
    assert np.isnan(found[gaps]).all()
    if (~gaps).any():
        assert error(found[~gaps], scores(made, rows[~gaps])) < 1e-12
