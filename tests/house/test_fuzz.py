"""Mutated inputs and mutated files, as many as a test may take; a million of them: ``python tests/soak``."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from pathlib import Path

import kernsift
import numpy as np
import pytest
import soak
from kernsift.cli import table as _table
from kernsift.io import archive as _archive
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter
from soak.calls import VARIANTS, states_are_finite, table

TESTS = Path(soak.__file__).parents[1]

RUN = """
import faulthandler, sys
faulthandler.enable()
sys.path.insert(0, {here!r})
from soak.{module} import {kind}
fuzzer = {kind}({seed})
for number in range({steps}):
    try:
        fuzzer.step()
    except BaseException:
        print("step", number, fuzzer.last, flush=True)
        raise
answered, refused = fuzzer.counts.values()
assert answered > {least} * {steps} and refused > {least} * {steps}, fuzzer.counts
"""


def run(kind, seed, steps, least, module="files"):
    """In a process of its own: a crash is then a failure like another."""
    code = RUN.format(here=str(TESTS), module=module, kind=kind, seed=seed, steps=steps, least=least)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=900)
    assert out.returncode == 0, out.stdout[-2000:] + out.stderr[-4000:]


@pytest.mark.parametrize("seed", range(2))
def test_no_input_crashes_hangs_or_spoils_a_model(seed):
    run("Fuzzer", seed, 3000, 0.1, "calls")


def test_no_file_crashes_runs_or_takes_memory():
    run("FileFuzzer", 0, 1500, 0.02)


def test_no_structure_under_a_right_checksum_crashes_or_takes_memory():
    run("StructuredFuzzer", 0, 600, 0.2, "structures")


def test_no_table_crashes_or_takes_memory():
    run("TableFuzzer", 0, 1500, 0.02)


# --- what the fuzzer found, each on its own


def test_far_rows_are_far_and_not_a_number():
    """1e308 in a feature: distances overflowed, and the state with them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    X[7, 0], X[8, 1], X[9] = 1.7e308, -1.7e308, 1e155
    for kernel in ("rbf", "laplacian", "matern32", "matern52"):
        for parameters in ({}, {"exact_rows": 20}, {"window": 30}):
            model = kernsift.OnlineLSSVMRegressor(kernel=kernel, gamma=0.5, novelty_tol=0.3, **parameters).fit(X, y)
            assert states_are_finite(model.__getstate__())
            assert model.health()["problems"] == []
            at = np.array([[0.1, 0.2], [-1e300, 0.0], [-1.7e308, 1.7e308]])
            answer = model.predict(at)
            assert np.isfinite(answer).all()
            np.testing.assert_allclose(answer[1:], model.intercept_, atol=1e-12)


def test_far_kernels_do_not_spoil_answers_in_single_precision():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    X[7:10] = [[1e25, 0.0], [0.0, -1e100], [1e200, 1e200]]
    at = np.array([[0.1, 0.2], [1e25, 0.0], [3e38, -3e38]], dtype=np.float32)
    for kernel in ("rbf", "laplacian", "matern32", "matern52"):
        model = kernsift.OnlineLSSVMRegressor(kernel=kernel, gamma=0.5, admission="novelty").fit(X, y)
        assert np.abs(model.basis_vectors_).max() > 1e100
        np.testing.assert_allclose(model.predict(at), model.predict(at.astype(float)), atol=1e-5)


@pytest.mark.parametrize("alpha", [1e308, 1e-308, 1e101, 5e-324])
def test_ridges_that_weights_cannot_be_divided_by_are_refused(alpha):
    """Their products with a weight overflowed, and the state with them."""
    X, y, labels = table()
    for name, parameters in VARIANTS:
        model = getattr(kernsift, name)(**parameters)
        if not hasattr(model, "alpha"):
            continue
        model.set_params(alpha=alpha)
        arguments = (X[:-1], y[:-1], X[1:]) if name == "KernelLSTD" else (X, labels if is_classifier(model) else y)
        with pytest.raises(ValueError, match=r"alpha=.* is beyond the arithmetic: give a ridge from 1e-100 to 1e\+100"):
            (model.partial_fit if name == "KernelLSTD" else model.fit)(*arguments)
    with pytest.raises(ValueError, match="alphas must be finite and positive and at least one, from 1e-100"):
        kernsift.LSSVMRegressor(alpha="loo", alphas=[1.0, alpha]).fit(X, y)
    with pytest.raises(ValueError, match="alphas must be finite"):
        kernsift.tune(kernsift.LSSVMRegressor(), X, y, alphas=[1.0, alpha])


@pytest.mark.parametrize("alpha", [1e100, 1e-100])
@pytest.mark.parametrize("weight", [1e100, 1e-100])
def test_the_last_ridges_and_weights_that_are_allowed_leave_numbers(alpha, weight):
    X, y, _ = table()
    for name, parameters in VARIANTS:
        if not name.startswith("Online") or not name.endswith("Regressor"):
            continue
        model = getattr(kernsift, name)(**{"gamma": 0.5, **parameters, "alpha": alpha})
        model.fit(X, y, sample_weight=np.where(np.arange(len(X)) % 3, 1.0, weight))
        assert states_are_finite(model.__getstate__()), (name, parameters)


@pytest.mark.parametrize("weight", [1e300, 1e-300, 5e-324])
@pytest.mark.parametrize("name", ["OnlineLSSVMRegressor", "SubsetLSSVMRegressor", "LSSVMRegressor", "OROLSRegressor"])
def test_weights_that_cannot_be_squared_or_divided_by_are_refused(name, weight):
    X = np.arange(12.0)[:, None]
    model = getattr(kernsift, name)(gamma=0.5)
    with pytest.raises(ValueError, match=r"sample_weight is .* in row 3: give 0, or a weight from 1e-100 to 1e\+100"):
        model.fit(X, np.sin(X[:, 0]), sample_weight=np.where(np.arange(12) == 3, weight, 1.0))
    y = np.where(np.arange(12) == 3, 1e120, 1.0)
    with pytest.raises(ValueError, match=r"y is 1e\+120 in row 3: its square overflows"):
        model.fit(X, y)


def test_one_row_that_overflows_is_refused_on_the_fast_path_too():
    X = np.arange(12.0)[:, None]
    model = kernsift.OnlineLSSVMRegressor(gamma=0.5, kernel="polynomial").fit(X, np.sin(X[:, 0]))
    with pytest.raises(ValueError, match="too large"):
        model.update(np.array([1e150]), 1.0)
    for y, weight in ((1e200, 1.0), (1e100, 1e140), (1.0, 1e-300), (1.0, 1e200)):
        with pytest.raises(ValueError, match="too large"):
            model.update(np.array([1.0]), y, weight)
    assert states_are_finite(model.__getstate__())


def test_a_flag_of_the_zip_format_that_python_does_not_know_is_a_value_error(tmp_path):
    """The one of 24,000 mutated files: NotImplementedError, under a right checksum."""
    path = tmp_path / "model.npz"
    kernsift.OnlineLSSVMRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).save(path)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 0x20  # of the first member, in the directory: "compressed patched data"
    file = io.BytesIO(data)
    _archive._seal(file)
    path.write_bytes(file.getvalue())
    with pytest.raises(ValueError, match=r"not a file as kernsift writes them \(compressed patched data"):
        kernsift.load(path)


def test_cells_too_long_for_csv_name_the_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n" + "x" * 200_000 + ",2\n")
    with pytest.raises(_table.TableError, match=r"line 3 of .*table\.csv is no CSV: field larger than"):
        _table.read(path)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"forgetting": 1.0},
        {"window": 9},
        {"exact_rows": 9},
        {"forgetting": 0.9},
        {"max_basis": 5},
        {"kernel": "linear"},
    ],
    ids=["all", "one memory", "window", "exact rows", "forgetting", "churn", "linear"],
)
def test_weights_further_apart_than_a_double_reaches_leave_numbers(parameters):
    """Factors of matrices that rounding had left without their smallest eigenvalues were used unasked."""
    rng = np.random.default_rng(3)
    model = kernsift.OnlineLSSVMRegressor(gamma=0.5, novelty_tol=0.1, **parameters)
    for step, scale in enumerate([1.0, 1e94, 1.0, 1e-94, 1e60, 1.0, 1e98, 1e-96, 1.0]):
        X = (1e25 if step % 4 == 3 else 1.0) * rng.normal(size=(70, 3))
        model.partial_fit(X, rng.normal(size=70), sample_weight=scale * np.abs(rng.normal(size=70)))
        assert states_are_finite(model.__getstate__()), scale
        assert np.isfinite(model.predict(rng.normal(size=(5, 3)))).all()
    model.refit(rng.normal(size=(70, 3)), rng.normal(size=70)) if "window" not in parameters else model.prune(2)
    assert states_are_finite(model.__getstate__())


def test_none_among_targets_is_refused():
    """scikit-learn lets objects pass and then makes NaN of None."""
    for name in ("OnlineLSSVMRegressor", "LSSVMRegressor", "SubsetLSSVMRegressor", "OROLSRegressor"):
        with pytest.raises(ValueError, match=r"y is \[nan\] in row 1: give finite numbers"):
            getattr(kernsift, name)().fit([[0.0], [1.0], [2.0]], np.array([1.0, None, 2.0], dtype=object))


def test_rows_whose_kernels_are_all_nothing_leave_no_path_to_begin():
    """It read behind an empty list."""
    X, y = np.zeros((6, 2)), np.arange(6.0)
    with pytest.raises(ValueError, match=r"every k\(x, x\) is 0"):
        kernsift.SparseLSSVMRegressor(kernel="linear").fit(X, y)
    assert kernsift.LSSVMRegressor(kernel="linear").fit(X, y).predict(X) == pytest.approx(2.5)


@pytest.mark.parametrize("scale", [1e-161, 1e-60, 1e-49, 1e49])
def test_linear_kernels_of_any_scale_leave_numbers(scale):
    """k(x, x) below 1e-100 is no kernel: 1 / (alpha k) is among what is kept."""
    rng = np.random.default_rng(0)
    X, y = scale * rng.normal(size=(60, 3)), rng.normal(size=60)
    for fitted in (
        kernsift.OnlineLSSVMRegressor(kernel="linear", gamma=1, admission="novelty", max_basis=2),
        kernsift.OnlineLSSVMRegressor(kernel="linear", gamma=1, admission="novelty", max_basis=2, engine="inverse"),
    ):
        model = fitted.fit(X, y)
        assert states_are_finite(model.__getstate__())
        assert model.n_basis_ == (2 if scale > 1e-50 else 0)
        assert states_are_finite(model.prune(1).__getstate__())


def test_integers_beyond_a_double_are_value_errors():
    X = np.array([[10**400], [1]], dtype=object)
    with pytest.raises(ValueError, match="beyond the range of a double"):
        kernsift.OnlineLSSVMRegressor().fit(X, [0.0, 1.0])
    with pytest.raises(ValueError, match="beyond the range of a double"):
        kernsift.LSSVMRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).predict(X)


def test_at_size_of_no_size_says_so():
    X = np.arange(12.0)[:, None]
    model = kernsift.SparseLSSVMRegressor(gamma=0.5).fit(X, np.sin(X[:, 0]))
    for n in (2**80, -1, 0.5, None, "three"):
        with pytest.raises(ValueError, match="is not a"):
            model.at_size(n)


def test_forgetting_all_but_nothing_is_refused():
    with pytest.raises(ValueError, match="forgetting"):
        kernsift.OnlineLSSVMRegressor(forgetting=1e-300).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_no_model_keeps_the_callers_arrays(variant):
    X, y, labels = table()
    kind, parameters = getattr(kernsift, VARIANTS[variant][0]), VARIANTS[variant][1]
    y = labels if is_classifier(kind()) else y
    after, weight = X.copy(), np.linspace(0.5, 2.0, len(X))
    model = kind(**{"gamma": 0.5, **parameters})
    if kind is kernsift.KernelLSTD:
        model.fit(X, y, after)
    else:
        weighted = {"sample_weight": weight} if has_fit_parameter(model, "sample_weight") else {}
        model.fit(X, y, **weighted)
    before = pickle.dumps(model)
    for array in (X, y, after, weight):
        array[...] = 0
    assert pickle.dumps(model) == before


def test_kernel_values_further_apart_than_a_double_reaches_leave_numbers():
    """A polynomial of features of 1e8: C turns indefinite, a kernel leaves, and its logarithm was NaN."""
    rng = np.random.default_rng(0)
    model = kernsift.OnlineLSSVMRegressor(kernel="polynomial", gamma=0.5, max_basis=5)
    for scale in (1.0, 1e8, 1e-8, 1e12, 1.0):
        for _ in range(40):
            X = scale * rng.normal(size=(5, 3))
            model.partial_fit(X, rng.normal(size=5))
        assert states_are_finite(model.__getstate__())
        model.prune(3)  # victims there are, whatever their scores: the fuzzer met a heap overwritten
        assert model.n_basis_ <= 3
        assert states_are_finite(model.__getstate__())
