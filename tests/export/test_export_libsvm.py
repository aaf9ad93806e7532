"""Files for LIBSVM predict the same in LIBSVM: scikit-learn's copy, and its own program where there."""

from __future__ import annotations

import shutil
import subprocess

import kernsift
import numpy as np
import pytest
from kernsift.export import to_libsvm
from sklearn.svm import _libsvm
from support.export_cases import NEW, SEVERAL, TABLE, THREE, TWO, X, Y, answer, error

KERNELS = tuple(name for name, facts in TABLE.items() if facts["libsvm"])
PROGRAM = shutil.which("svm-predict")
# numbers in the file have all their digits; what is left is the order of summation
TOL = 1e-10


def read(text):
    """The file as scikit-learn's LIBSVM takes a model: the format's definition, line by line."""
    head, _, tail = text.partition("\nSV\n")
    facts = dict(line.split(" ", 1) for line in head.splitlines())
    k = int(facts["nr_class"])
    rows = [line.split() for line in tail.splitlines()]
    assert len(rows) == int(facts["total_sv"])
    coef = np.array([[float(v) for v in row[: k - 1]] for row in rows]).T
    vectors = np.zeros((len(rows), X.shape[1]))
    for i, row in enumerate(rows):
        for entry in row[k - 1 :]:
            j, _, value = entry.partition(":")
            vectors[i, int(j) - 1] = float(value)
    return facts, np.ascontiguousarray(vectors), np.ascontiguousarray(coef)


def bundled(text, rows, probability=False):
    """What scikit-learn's LIBSVM predicts with the model of the file."""
    facts, vectors, coef = read(text)
    rho = -np.array([float(v) for v in facts["rho"].split()])
    sizes = np.array([int(v) for v in facts.get("nr_sv", "0 0").split()], dtype=np.int32)
    prob = [np.array([float(v) for v in facts.get(name, "").split()]) for name in ("probA", "probB")]
    call = _libsvm.predict_proba if probability else _libsvm.predict
    found = call(
        np.ascontiguousarray(rows),
        np.arange(len(vectors), dtype=np.int32),
        vectors,
        sizes,
        coef,
        rho,
        *prob,
        svm_type=0 if facts["svm_type"] == "c_svc" else 3,
        kernel={"polynomial": "poly"}.get(facts["kernel_type"], facts["kernel_type"]),
        degree=int(facts.get("degree", 3)),
        coef0=float(facts.get("coef0", 0)),
        gamma=float(facts.get("gamma", 0)),
    )
    labels = np.array([int(v) for v in facts["label"].split()]) if "label" in facts else None
    if probability:
        return labels, found
    return found if labels is None else labels[found.astype(int)]


def program(text, rows, folder, probability=False):
    """What LIBSVM's own svm-predict says: its lines of output."""
    (folder / "model").write_text(text)
    lines = ["0 " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(row)) for row in rows]
    (folder / "rows").write_text("\n".join(lines) + "\n")
    command = [PROGRAM, "-b", str(int(probability)), folder / "rows", folder / "model", folder / "out"]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "out").read_text().splitlines()


SETTINGS = {
    "OnlineLSSVM": {"max_basis": 30},
    "OROLS": {"max_basis": 10},
    "LSSVM": {"alpha": 1.0},
    "SparseLSSVM": {"max_basis": 8},
    "SubsetLSSVM": {"max_basis": 20, "random_state": 0},
}


def model(name, kernel):
    """An estimator by its name, such as OROLSRegressor."""
    settings = SETTINGS[name.removesuffix("Regressor").removesuffix("Classifier")]
    return getattr(kernsift, name)(kernel=kernel, gamma=0.3, **settings)


@pytest.mark.parametrize("which", SETTINGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_regression(kernel, which, tmp_path):
    estimator = model(f"{which}Regressor", kernel).fit(X, Y)
    text = to_libsvm(estimator, tmp_path / "file")
    assert (tmp_path / "file").read_text() == text
    truth = estimator.predict(NEW)
    assert error(bundled(text, NEW), truth) < TOL
    if PROGRAM:
        # svm-predict prints six digits
        np.testing.assert_allclose([float(v) for v in program(text, NEW, tmp_path)], truth, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("labels", [(Y > 0) * 3 - 1, THREE])
@pytest.mark.parametrize("which", SETTINGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_classification(kernel, which, labels, tmp_path):
    estimator = model(f"{which}Classifier", kernel).fit(X, labels)
    text = to_libsvm(estimator)
    assert len(np.unique(estimator.predict(NEW))) > 1
    assert (bundled(text, NEW) == estimator.predict(NEW)).all()
    if PROGRAM:
        assert [int(v) for v in program(text, NEW, tmp_path)] == estimator.predict(NEW).tolist()


@pytest.mark.parametrize("labels", [(Y > 0) * 3 - 1, THREE])
def test_probabilities(labels, tmp_path):
    estimator = model("OnlineLSSVMClassifier", "rbf").fit(X, labels)
    text, truth = to_libsvm(estimator), estimator.predict_proba(NEW)
    names, found = bundled(text, NEW, probability=True)
    # LIBSVM finds them by an iteration that stops when its equations hold to 0.005 over the number of classes
    tol = 0.01 / truth.shape[1]
    np.testing.assert_allclose(found[:, np.argsort(names)], truth, rtol=0, atol=tol)
    if PROGRAM:
        first, *lines = program(text, NEW, tmp_path, probability=True)
        order = np.argsort([int(v) for v in first.split()[1:]])
        printed = np.array([[float(v) for v in line.split()[1:]] for line in lines])
        np.testing.assert_allclose(printed[:, order], truth, rtol=0, atol=tol + 1e-5)


def test_the_program_was_run():
    if PROGRAM is None:
        pytest.skip("svm-predict (libsvm-tools) is not installed: scikit-learn's copy of LIBSVM was used alone")


def test_one_output_of_several():
    estimator = kernsift.OnlineLSSVMRegressor(gamma=0.3, max_basis=20).fit(X, SEVERAL)
    for output in (0, 1):
        text = to_libsvm(estimator, output=output)
        assert error(bundled(text, NEW), answer(estimator, NEW)[:, output]) < TOL
    with pytest.raises(ValueError, match=r"one output and this one has 2.*output=0 to output=1"):
        to_libsvm(estimator)
    with pytest.raises(ValueError, match="output=2"):
        to_libsvm(estimator, output=2)


def test_no_kernel_is_a_constant():
    estimator = kernsift.OROLSRegressor(gamma=1.0, max_basis=5).fit(X, np.full(len(X), 2.5))
    np.testing.assert_allclose(bundled(to_libsvm(estimator), NEW), 2.5)


def test_refusals_say_which_and_what_to_do(tmp_path):
    path = tmp_path / "model"

    def refused(match, estimator, **more):
        with pytest.raises(ValueError, match=match):
            to_libsvm(estimator, path, **more)

    online = kernsift.OnlineLSSVMRegressor
    for kernel in ("laplacian", "matern32", "matern52"):
        refused(f"no {kernel} kernel.*rbf, polynomial, linear", online(kernel=kernel, max_basis=5).fit(X, Y))
    refused(r"gamma differs.*sqrt\(gamma\)", online(gamma=[1, 2, 3], max_basis=5).fit(X, Y))
    refused("2 widths", kernsift.OROLSRegressor(gammas=[0.1, 1.0], max_basis=15).fit(X, Y))
    refused("integers of 32 bits.*LabelEncoder", kernsift.OnlineLSSVMClassifier(gamma=1.0, max_basis=5).fit(X, TWO))
    refused("transformer.*SubsetLSSVMClassifier", kernsift.FeatureVectorSelector(n_components=5).fit(X))
    refused(r"takes \d+ bytes and the target has 50", online(gamma=1.0, max_basis=5).fit(X, Y), max_bytes=50)
    assert list(tmp_path.iterdir()) == []
