"""Models in onnxruntime say what the estimators say."""

from __future__ import annotations

import copy
import dataclasses
import sys
import types

import kernsift
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from support.export_cases import (
    GAMMA,
    KERNELS,
    MAKERS,
    NEW,
    SEVERAL,
    STATIONARY,
    STREAMS,
    THREE,
    X,
    Y,
    answer,
    error,
    fitted,
)

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'kernsift[onnx]'")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from kernsift.export import register_skl2onnx, to_onnx  # noqa: E402

# The promises, relative to the largest output.
TOL = {"float32": 1e-5, "float64": 1e-12}


def tolerance(estimator, dtype):
    """The promise, or what the triangular solve of a selector's coordinates loses in double precision, if more."""
    if not hasattr(estimator, "transform"):
        return TOL[dtype]
    L = estimator.transform(estimator.basis_vectors_)  # the factor of their kernel matrix
    return max(TOL[dtype], np.finfo(np.float64).eps * np.linalg.cond(L))


def run(model, rows):
    """Outputs by name."""
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("maker", MAKERS)
def test_every_estimator_and_kernel(maker, kernel, dtype):
    estimator = fitted(maker, kernel)
    rows = NEW.astype(dtype)
    found = run(to_onnx(estimator, dtype=dtype), rows)
    exact = rows.astype(np.float64)
    truth = answer(estimator, exact)
    scores = found["scores" if hasattr(estimator, "classes_") else "variable"]
    assert scores.dtype == dtype
    assert scores.shape == truth.shape
    assert error(scores, truth) < tolerance(estimator, dtype)
    if hasattr(estimator, "classes_"):
        assert (found["label"] == estimator.predict(exact)).all()
        assert ("probabilities" in found) == hasattr(estimator, "predict_proba")
    if hasattr(estimator, "predict_proba"):
        # softmax: an error e of the scores changes no probability by more than the temperature times e
        allowed = max(2 * estimator.temperature_, 1) * TOL[dtype] * np.abs(truth).max()
        np.testing.assert_allclose(found["probabilities"], estimator.predict_proba(exact), rtol=0, atol=allowed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", STATIONARY)
def test_a_large_common_offset_loses_nothing(kernel, dtype):
    """Columns like dates: what is told from another in float32 is told as well by the graph."""
    shifted = np.round(X * 64) + 7e5  # whole numbers, exact in float32
    estimator = kernsift.OnlineLSSVMRegressor(kernel=kernel, gamma=1e-4, max_basis=30).fit(shifted, Y)
    rows = (np.round(NEW * 64) + 7e5).astype(dtype)
    found = run(to_onnx(estimator, dtype=dtype), rows)["variable"]
    assert error(found[:, 0], estimator.predict(rows.astype(np.float64))) < TOL[dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", STATIONARY)
def test_rows_far_away_are_the_constant(kernel, dtype):
    estimator = fitted("online", kernel)
    far = np.full((2, 3), 1e30 if dtype == "float32" else 1e200, dtype=dtype)
    far[1] *= -1
    found = run(to_onnx(estimator, dtype=dtype), far)["variable"]
    np.testing.assert_allclose(found[:, 0], estimator.intercept_, rtol=1e-6)


@pytest.mark.parametrize("kernel", STATIONARY)
def test_a_widely_spread_basis_keeps_its_digits(kernel):
    """Vectors far apart in units of the width: the graph then takes differences."""
    wide = X * 1e4
    estimator = kernsift.OnlineLSSVMRegressor(kernel=kernel, gamma=1.0, max_basis=40, novelty_tol=0.0).fit(wide, Y)
    rows = estimator.basis_vectors_ + 0.3
    found = run(to_onnx(estimator, dtype="float64"), rows)["variable"]
    # both measure coordinates from a centre of their own, which rounds them by half a unit in the last place of 3e4;
    # the squared norms would have cost eps * 1e9
    assert error(found[:, 0], estimator.predict(rows)) < 4 * np.spacing(3e4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_rows_have_no_predictions(kernel, dtype):
    for maker in ("online", "online classes"):
        estimator = fitted(maker, kernel)
        found = run(to_onnx(estimator, dtype=dtype), np.zeros((0, 3), dtype))
        expected = run(to_onnx(estimator, dtype=dtype), NEW[:1].astype(dtype))
        assert {n: (v.dtype, v.shape) for n, v in found.items()} == {
            n: (v.dtype, (0, *v.shape[1:])) for n, v in expected.items()
        }
    wide = kernsift.OnlineLSSVMRegressor(kernel=kernel, gamma=1.0, max_basis=40, novelty_tol=0.0).fit(X * 1e4, Y)
    assert run(to_onnx(wide, dtype="float64"), np.zeros((0, 3)))["variable"].shape == (0, 1)  # by differences


def test_an_unknown_kernel_is_refused_and_a_wrong_graph_too(monkeypatch):
    """A kernel the graph does not know came out as something like a Matern kernel, whatever its error."""
    from kernsift.export import _model, _onnx, _onnx_graph

    estimator = fitted("online", "rbf")
    build = _onnx.build

    def wrong(model, *arguments, **named):
        terms = tuple(dataclasses.replace(t, coef=1.001 * t.coef) for t in model.terms)
        return build(dataclasses.replace(model, terms=terms), *arguments, **named)

    for module in (_onnx, _onnx_graph):
        monkeypatch.setattr(module, "build", wrong)
    for dtype in ("float32", "float64"):
        with pytest.raises(ValueError, match=r"graph .* is off by .* on these rows"):
            to_onnx(estimator, dtype=dtype)
    monkeypatch.undo()
    term = _onnx.describe(estimator, "ONNX").terms[0]
    stranger = dataclasses.replace(term, kernel=types.SimpleNamespace(name="cauchy"))
    with pytest.raises(ValueError, match="kernel 'cauchy' has no graph"):
        _onnx_graph._kernel_block(_onnx_graph.OwnGraph(), "X", stranger, "float64")
    monkeypatch.setattr(_model, "_of_model", lambda _: ([stranger], np.zeros(1)))
    for export in (to_onnx, kernsift.export.to_c, kernsift.export.to_libsvm):
        with pytest.raises(ValueError, match="kernel 'cauchy' has no export"):
            export(estimator)


def cancelling():
    """A model whose coefficients are far larger than what it says."""
    return kernsift.SubsetLSSVMRegressor(gamma=0.05, max_basis=60, alpha=1e-9, random_state=0).fit(X, Y)


def test_float32_computes_in_float64_where_it_must():
    estimator = cancelling()
    rows = NEW.astype(np.float32)
    truth = estimator.predict(rows.astype(np.float64))
    assert error(run(to_onnx(estimator, compute="float32"), rows)["variable"][:, 0], truth) > 1e-5
    automatic = to_onnx(estimator)
    assert error(run(automatic, rows)["variable"][:, 0], truth) < 1e-6
    facts = {p.key: p.value for p in automatic.metadata_props}
    assert facts["kernsift_compute"] == "float64"
    assert float(facts["kernsift_error"]) < 1e-6
    assert {p.key: p.value for p in to_onnx(fitted("online", "rbf")).metadata_props}["kernsift_compute"] == "float32"


def test_the_error_is_measured_on_rows_given():
    model = to_onnx(fitted("online", "rbf"), X=NEW)
    assert float(model.metadata_props[0].value) > 0
    with pytest.raises(ValueError, match="NaN"):
        to_onnx(fitted("online", "rbf"), X=[[np.nan, 0, 0]])


def test_opset_and_operators_are_old_enough_for_any_runtime():
    model = to_onnx(fitted("subset classes", "matern52"))
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]
    assert model.ir_version <= 8


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([0.0, 2.0]),
        np.array([3, 9], dtype=np.uint8),
        np.array(["a", "Ü"], dtype=object),
    ],
)
def test_labels_keep_their_kind(labels):
    estimator = kernsift.OnlineLSSVMClassifier(gamma=1.0, max_basis=20).fit(X, labels[(Y > 0).astype(int)])
    found = run(to_onnx(estimator), NEW.astype(np.float32))["label"]
    assert (found == estimator.predict(NEW.astype(np.float32))).all()


def test_no_kernel_is_a_constant():
    estimator = kernsift.OROLSRegressor(gamma=1.0, max_basis=5).fit(X, np.full(len(X), 2.5))
    assert estimator.n_basis_ == 0
    found = run(to_onnx(estimator), NEW.astype(np.float32))["variable"]
    np.testing.assert_allclose(found, 2.5, rtol=1e-7)


# ---- pipelines


def pipelines():
    made = [
        kernsift.OnlineLSSVMRegressor(gamma=GAMMA, max_basis=30),
        kernsift.SubsetLSSVMClassifier(gamma=GAMMA, max_basis=30, random_state=0),
        kernsift.OROLSClassifier(gamma=GAMMA, max_basis=10),
        kernsift.FeatureVectorSelector(gamma=GAMMA, n_components=20, random_state=0),
    ]
    return [make_pipeline(StandardScaler(), m) for m in made]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("which", range(4))
def test_pipelines_convert(which, dtype):
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install 'kernsift[onnx]'")
    scaled = 100 * X + 5
    pipeline = pipelines()[which].fit(scaled, Y if which in (0, 3) else THREE)
    rows = (100 * NEW + 5).astype(dtype)
    exact = rows.astype(np.float64)
    found = list(run(to_onnx(pipeline, dtype=dtype), rows).values())
    # the scaler in front rounds in the same type
    tol = 3 * TOL[dtype]
    if which in (1, 2):
        assert (found[0] == pipeline.predict(exact)).all()
        np.testing.assert_allclose(found[1], pipeline.predict_proba(exact), rtol=0, atol=10 * tol)
    else:
        assert error(found[0], answer(pipeline, exact)) < tol


def test_a_selector_in_the_middle_of_a_pipeline_and_mixed_columns():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install 'kernsift[onnx]'")
    from sklearn.linear_model import Ridge

    register_skl2onnx()
    register_skl2onnx()  # again does no harm
    columns = ColumnTransformer([("s", StandardScaler(), [0, 1]), ("m", MinMaxScaler(), [2])])
    selector = kernsift.FeatureVectorSelector(gamma=0.5, n_components=20, random_state=0)
    pipeline = make_pipeline(columns, selector, Ridge()).fit(X, Y)
    model = skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32), target_opset=18)
    found = run(model, NEW.astype(np.float32))["variable"]
    assert error(found[:, 0], pipeline.predict(NEW.astype(np.float32))) < 1e-5


def test_options_of_skl2onnx():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install 'kernsift[onnx]'")
    register_skl2onnx()
    estimator = fitted("subset classes", "rbf")
    rows = NEW.astype(np.float32)
    options = {id(estimator): {"raw_scores": True, "zipmap": False}}
    model = skl2onnx.to_onnx(estimator, rows[:1], options=options, target_opset=15)
    assert error(run(model, rows)["probabilities"], estimator.decision_function(rows.astype(float))) < 1e-5
    dictionaries = run(skl2onnx.to_onnx(estimator, rows[:1], target_opset=15), rows)["output_probability"]
    assert set(dictionaries[0]) == set(estimator.classes_)


# ---- what is refused


def test_refusals_say_which_and_what_to_do(tmp_path):
    estimator, path = fitted("online", "rbf"), tmp_path / "model.onnx"
    with pytest.raises(ValueError, match=r"takes \d+ bytes and the target has 500.*max_basis"):
        to_onnx(estimator, path, max_bytes=500)
    with pytest.raises(ValueError, match="dtype='float16'"):
        to_onnx(estimator, path, dtype="float16")
    with pytest.raises(ValueError, match="compute='half'"):
        to_onnx(estimator, path, compute="half")
    for huge in (
        kernsift.OnlineLSSVMRegressor(gamma=1.0, max_basis=9).fit(X, 1e60 * Y),
        kernsift.OnlineLSSVMRegressor(gamma=1e-120, max_basis=9).fit(1e60 * X, Y),
    ):
        with pytest.raises(ValueError, match=r"dtype='float32' does not hold.*dtype='float64'"):
            to_onnx(huge, path)
        assert float(to_onnx(huge, dtype="float64").metadata_props[0].value) < 1e-12
    with pytest.raises(TypeError, match=r"estimator of kernsift.*StandardScaler"):
        to_onnx(StandardScaler().fit(X), path)
    with pytest.raises(Exception, match="not fitted"):
        to_onnx(kernsift.LSSVMRegressor(), path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    made = to_onnx(fitted("online", "rbf"), path)
    assert path.read_bytes() == made.SerializeToString()
    before = path.read_bytes()

    def failing(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", failing)
    with pytest.raises(OSError, match="disk full"):
        to_onnx(fitted("online", "laplacian"), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(FileNotFoundError, match="no folder"):
        to_onnx(fitted("online", "rbf"), tmp_path / "none" / "model.onnx")


@pytest.mark.parametrize(("missing", "call"), [("onnx", to_onnx), ("skl2onnx", lambda _: register_skl2onnx())])
def test_a_missing_extra_is_named(missing, call, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r"pip install 'kernsift\[onnx\]'"):
        call(fitted("online", "rbf"))


DEVIATIONS = {
    "online": lambda k: fitted("online", k),
    "online, uneven": lambda k: kernsift.OnlineLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=20, noise="input").fit(
        X, SEVERAL
    ),
    "online, no constant": lambda k: kernsift.OnlineLSSVMRegressor(
        kernel=k, gamma=GAMMA, max_basis=20, noise="auto", fit_intercept=False
    ).fit(X, SEVERAL),
    "krls": lambda k: fitted("krls", k),
    "dense": lambda k: fitted("dense", k),
    "no constant": lambda k: kernsift.LSSVMRegressor(kernel=k, gamma=GAMMA, fit_intercept=False).fit(X, Y, WEIGHTS),
    "isls": lambda k: kernsift.SparseLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=20).fit(X, SEVERAL, WEIGHTS),
    "sls": lambda k: kernsift.SparseLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=20, method="sls").fit(X, Y),
    "subset": lambda k: fitted("subset", k),
    "without sums": lambda k: kernsift.SubsetLSSVMRegressor(
        kernel=k, gamma=GAMMA, max_basis=30, keep_sums=False, random_state=0
    ).fit(X, Y, WEIGHTS),
    "orols": lambda k: kernsift.OROLSRegressor(kernel=k, gamma=GAMMA).fit(X, Y),
    **STREAMS,
}
WEIGHTS = np.random.default_rng(3).choice([0.5, 1.0, 2.0], len(X))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("noise", ["constant", "input"])
@pytest.mark.parametrize("maker", DEVIATIONS)
def test_standard_deviations_are_the_second_output(maker, noise, dtype):
    for kernel in STATIONARY if dtype == "float64" else STATIONARY[:1]:
        estimator = DEVIATIONS[maker](kernel)
        if "noise" in estimator.get_params():
            estimator = copy.copy(estimator).set_params(noise=noise)
        elif noise == "input":
            continue
        rows = NEW.astype(dtype)
        model = to_onnx(estimator, dtype=dtype, std=True)
        found = run(model, rows)
        assert [o.name for o in model.graph.output] == ["variable", "standard_deviation"]
        mean, std = (part.reshape(len(rows), -1) for part in estimator.predict(rows.astype(float), return_std=True))
        assert found["standard_deviation"].dtype == dtype
        assert error(found["variable"], mean) < TOL[dtype]
        # in float64 the triangles of some thirty kernels lose four digits, and float32 has seven
        assert error(found["standard_deviation"], std) < {"float32": 1e-6, "float64": 1e-10}[dtype]


def test_what_has_no_deviation_to_export_says_so():
    several = kernsift.OROLSRegressor(gammas=[0.1, 0.5], max_basis=15).fit(X, Y)
    papers = kernsift.OnlineLSSVMRegressor(gamma=0.3, max_basis=20, engine="inverse").partial_fit(X, Y)
    pca = make_pipeline(PCA(2), kernsift.LSSVMRegressor()).fit(X, Y)
    small = kernsift.SubsetLSSVMRegressor(keep="predict", max_basis=20, random_state=0).fit(X, Y)
    curved = kernsift.LSSVMRegressor(kernel="polynomial", degree=2).fit(X, Y)
    for estimator, why in (
        (fitted("subset classes", "rbf"), "needs a regressor with standard deviations"),
        (fitted("selector", "rbf"), "needs a regressor with standard deviations"),
        (several, "several: fit with gamma, not gammas"),
        (papers, "engine='orthonormal'"),
        (small, "more than predictions do"),
        (curved, "needs a kernel of a distance"),
        (pca, "a pipeline whose steps fold takes"),
    ):
        with pytest.raises(ValueError, match=why):
            to_onnx(estimator, std=True)
