"""Models with a warp in C, ONNX and LIBSVM."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from export.test_export_c import PLAIN, build, compiled, stated_error
from kernsift import OnlineLSSVMRegressor, SubsetLSSVMClassifier, Warp
from kernsift.export import register_skl2onnx, to_c, to_libsvm, to_onnx
from support.export_cases import NEW, STATIONARY, THREE, X, Y, answer, error

BINS = (5, 1, 3)


def warp_of(rows):
    """Curves of five, one and three bins in turn, whose outer knots leave rows beyond them; the last feature off."""
    bins = [BINS[j % 3] for j in range(rows.shape[1] - 1)] + [0]
    knots = [np.quantile(x, np.linspace(0.1, 0.9, b + 1)) for x, b in zip(rows.T, bins, strict=True)]
    return Warp(knots, [np.linspace(0.2, 0.6, b) for b in bins])


def online(kernel, rows=X):
    return OnlineLSSVMRegressor(kernel=kernel, gamma=warp_of(rows), max_basis=25, forgetting=1.0, linear=False).fit(
        rows, Y
    )


@compiled
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", STATIONARY)
def test_c_headers_are_the_model(kernel, dtype, learn, tmp_path):
    model = online(kernel)
    header = to_c(model, dtype=dtype, learn=learn)
    main = PLAIN.replace("ANSWER", "")
    if learn:
        main = "  model_state s;\n  model_begin(&s);\n" + main.replace("model_scores(x", "model_scores(&s, x")
    rows = NEW.astype(dtype).astype(np.float64)
    found = build(tmp_path, header, main, dtype)(rows)
    # as in test_export_c: the error stated is the largest on rows of the same kind
    assert error(found, answer(model, rows)) < 10 * stated_error(header) + 100 * np.finfo(dtype).eps
    size = int(header.split("Constants ")[1].split(" ")[0])
    with pytest.raises(ValueError, match="max_bytes"):
        to_c(model, dtype=dtype, learn=learn, max_bytes=size - 1)
    to_c(model, dtype=dtype, learn=learn, max_bytes=size)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_a_large_common_offset_loses_nothing_in_single_precision(tmp_path):
    shifted, new = (np.round(rows * 64) + 7e5 for rows in (X, NEW))  # whole numbers, exact in float32
    model = online("rbf", shifted)
    found = build(tmp_path, to_c(model), PLAIN.replace("ANSWER", ""), "float32")(new)
    assert error(found, answer(model, new)) < 1e-4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", STATIONARY)
def test_onnx_graphs_are_the_model(kernel, dtype):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install 'kernsift[onnx]'")
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = online(kernel)
    session = ort.InferenceSession(to_onnx(model, dtype=dtype).SerializeToString(), providers=["CPUExecutionProvider"])
    rows = NEW.astype(dtype)
    (found,) = session.run(None, {"X": rows})
    assert error(found, answer(model, rows.astype(np.float64))) < {"float32": 1e-5, "float64": 1e-12}[dtype]
    assert session.run(None, {"X": rows[:0]})[0].shape == (0, 1)


def test_skl2onnx_writes_a_warp():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install 'kernsift[onnx]'")
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    register_skl2onnx()
    model = SubsetLSSVMClassifier(gamma=warp_of(X), max_basis=20, random_state=0).fit(X, THREE)
    written = skl2onnx.to_onnx(model, X[:1].astype(np.float32), target_opset=18)
    session = ort.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = NEW.astype(np.float32)
    assert (session.run(None, {"X": rows})[0] == model.predict(rows.astype(np.float64))).all()


def test_libsvm_refuses_a_warp_by_name(tmp_path):
    with pytest.raises(ValueError, match="gamma is a Warp and LIBSVM has no such kernel"):
        to_libsvm(online("rbf"), tmp_path / "model")
