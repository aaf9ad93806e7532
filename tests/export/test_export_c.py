"""Headers compiled and run say what the estimators say, and learn what they learn."""

from __future__ import annotations

import copy
import re
import subprocess
import warnings

import kernsift
import numpy as np
import pytest
from kernsift.export import to_c
from sklearn.preprocessing import StandardScaler
from support.c_programs import COMPILER, PLAIN, STRICT, build, compiled
from support.export_cases import (
    GAMMA,
    KERNELS,
    MAKERS,
    NEW,
    SEVERAL,
    STATIONARY,
    STREAMS,
    THREE,
    TWO,
    UNEVEN,
    X,
    Y,
    answer,
    error,
    fitted,
)


def stated_error(header):
    flat = " ".join(header.replace(" * ", " ").split())
    return float(re.search(r"Largest error against float64: (\S+)", flat)[1])


# every estimator with every kernel in float32; in float64 what differs is the number of digits
CASES = [(m, k, "float32") for m in MAKERS for k in KERNELS] + [
    (m, k, "float64") for m in ("online", "orols", "subset classes", "selector") for k in KERNELS
]


@compiled
@pytest.mark.parametrize(("maker", "kernel", "dtype"), CASES)
def test_every_estimator_and_kernel(maker, kernel, dtype, tmp_path):
    estimator = fitted(maker, kernel)
    header = to_c(estimator, dtype=dtype)
    classes = getattr(estimator, "classes_", None)
    more = ""
    if classes is not None:
        more = 'printf("%d ", model_predict(x));'
    if hasattr(estimator, "predict_proba"):
        more += "{ REAL p[MODEL_CLASSES]; model_probabilities(x, p); show(p, MODEL_CLASSES); }"
    rows = NEW.astype(dtype).astype(np.float64)
    found = build(tmp_path, header, PLAIN.replace("ANSWER", more), dtype)(rows)
    truth = answer(estimator, rows)
    k = truth.shape[1]
    # The error stated is the largest on rows of the same kind, and a maximum over other rows; with a floor, because in
    # float64 both sides round: a few units of the last place of the largest of a hundred terms.
    allowed = 10 * stated_error(header) + 100 * np.finfo(dtype).eps
    assert error(found[:, :k], truth) < allowed
    if classes is not None:
        assert (classes[found[:, k].astype(int)] == estimator.predict(rows)).all()
    if hasattr(estimator, "predict_proba"):
        atol = max(2 * estimator.temperature_, 1) * np.abs(truth).max() * allowed + 10 * np.finfo(dtype).eps
        np.testing.assert_allclose(found[:, k + 1 :], estimator.predict_proba(rows), rtol=0, atol=atol)


@compiled
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("maker", ["online", "online classes", "dense classes", "selector"])
def test_a_row_that_is_not_finite_gives_nan_and_no_class(maker, kernel, learn, tmp_path):
    """A dead sensor looked like a forecast: the intercept."""
    if learn and not maker.startswith("online"):
        pytest.skip("does not learn on")
    estimator = fitted(maker, kernel)
    s = "&s, " if learn else ""
    main = ("  model_state s;\n  model_begin(&s);\n" if learn else "") + PLAIN.replace(
        "model_scores(", f"model_scores({s}"
    )
    more = ""
    if hasattr(estimator, "classes_"):
        more = f'{{ int k = model_predict({s}x); printf("%d %d ", k, k < 0 && model_label(k) == 0); }}'
    if hasattr(estimator, "predict_proba"):
        more += f"{{ REAL p[MODEL_CLASSES]; model_probabilities({s}x, p); show(p, MODEL_CLASSES); }}"
    if learn and not more:  # neither such a row nor such a target is learned
        more = "model_learn(&s, x, x[0] * 0 + 1, 1); x[1] = 1; model_learn(&s, x, x[1] * 1e308 * 1e308, 1);"
    rows = np.vstack([NEW[:1], np.tile(NEW[0], (9, 1)), NEW[:1]])
    for i, (bad, j) in enumerate([(v, j) for v in (np.nan, np.inf, -np.inf) for j in range(3)], 1):
        rows[i, j] = bad
    found = build(tmp_path, to_c(estimator, dtype="float64", learn=learn), main.replace("ANSWER", more), "float64")(
        rows
    )
    outputs = answer(estimator, NEW[:1]).shape[1]
    assert np.isnan(found[1:10, :outputs]).all()
    assert np.isfinite(found[[0, 10]]).all()
    if hasattr(estimator, "classes_"):
        assert (found[1:10, outputs : outputs + 2] == [-1, 1]).all()
        assert np.isnan(found[1:10, outputs + 2 :]).all()
    elif not learn:
        np.testing.assert_array_equal(found[0], found[10])


@compiled
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_freestanding_and_free_of_warnings(kernel, dtype, learn, tmp_path):
    """Alone in a file, with and without optimisation, nothing is called but what a compiler brings along."""
    estimator = fitted("online classes", kernel)
    (tmp_path / "model.h").write_text(to_c(estimator, dtype=dtype, learn=learn))
    # every function used from outside, so that none is thrown away before its calls are seen
    names = re.findall(r"^static inline \w+(?: long)? \*?(model_\w+)\(", (tmp_path / "model.h").read_text(), re.M)
    assert {"model_predict", "model_label", "model_probabilities"} <= set(names)
    uses = "\n".join(f"void (*use_{n})(void);" for n in names)
    sets = "\n".join(f"use_{n} = (void (*)(void)){n};" for n in names)
    (tmp_path / "used.c").write_text(f'#include "model.h"\n{uses}\nvoid use(void);\nvoid use(void) {{\n{sets}\n}}\n')
    (tmp_path / "alone.c").write_text('#include "model.h"\nint nothing;\n')
    for level, source in (("-O0", "alone.c"), ("-O2", "alone.c"), ("-O0", "used.c"), ("-O2", "used.c")):
        more = ["-Wno-cast-function-type"] * (source == "used.c")
        command = [COMPILER, *STRICT, *more, "-ffreestanding", level, "-c", source, "-o", "object.o"]
        subprocess.run(command, check=True, cwd=tmp_path)
        listed = subprocess.run(["nm", "-u", "object.o"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert set(listed.stdout.split()) <= {"U", "memcpy", "memset"}
    assert "#include" not in (tmp_path / "model.h").read_text()


@compiled
@pytest.mark.parametrize("kernel", STATIONARY)
def test_a_large_common_offset_loses_nothing(kernel, tmp_path):
    estimator = kernsift.OnlineLSSVMRegressor(kernel=kernel, gamma=1e-4, max_basis=30).fit(np.round(X * 64) + 7e5, Y)
    rows = np.round(NEW * 64) + 7e5  # whole numbers, exact in float32
    found = build(tmp_path, to_c(estimator), PLAIN.replace("ANSWER", ""), "float32")(rows)
    # the kernel is wide and its coefficients cancel, which costs a digit; coordinates rounded at 7e5 would cost four
    assert error(found[:, 0], estimator.predict(rows)) < 5e-5


@compiled
@pytest.mark.parametrize("kernel", STATIONARY)
def test_rows_far_away_are_the_constant(kernel, tmp_path):
    estimator = fitted("online", kernel)
    found = build(tmp_path, to_c(estimator), PLAIN.replace("ANSWER", ""), "float32")(np.full((1, 3), 1e30))
    np.testing.assert_allclose(found[0, 0], estimator.intercept_, rtol=1e-6)


@compiled
def test_exp_and_sqrt_are_right_to_the_last_places(tmp_path):
    header = to_c(fitted("online", "matern52"), dtype="float64")
    x = np.concatenate([-np.logspace(-8, np.log10(707), 500), [0.0, -708.5, -1e300]])
    main = """  double x;
  (void)show;
  while (row(&x, 1)) printf("%.17g %.17g\\n", model_exp(x), model_sqrt(x < -1e8 ? 0 : -x));
  return 0;"""
    found = build(tmp_path, header, main, "float64")(x[:, None])
    # near -708 the 2^-n of the result is exact, the argument's reduction rounds once: 3 units are ample
    np.testing.assert_allclose(found[:-2, 0], np.exp(x[:-2]), rtol=3 * np.finfo(float).eps)
    assert (found[-2:, 0] == 0).all()
    np.testing.assert_allclose(found[:-1, 1], np.sqrt(-x[:-1]), rtol=2 * np.finfo(float).eps)


@compiled
@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (np.array([-3, 2**40]), ["-3", str(2**40)]),
        (np.array(['a"?\\', "Ü*/"]), ['a"?\\', "Ü*/"]),
        (np.array([False, True]), ["0", "1"]),
        (np.array([0.0, 2.0]), ["0", "2"]),
    ],
)
def test_labels(labels, shown, tmp_path):
    estimator = kernsift.OnlineLSSVMClassifier(gamma=1.0, max_basis=5).fit(X, labels[(Y > 0).astype(int)])
    text = to_c(estimator)
    kind = re.search(r"static inline (.+?)\s*model_label", text)[1].strip()
    scan = {"long": "%ld", "long long": "%lld", "const char *": "%s", "double": "%g"}[kind]
    (tmp_path / "model.h").write_text(text)
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "model.h"\n'
        f'int main(void) {{ printf("{scan}\\n{scan}\\n", model_label(0), model_label(1)); return 0; }}\n'
    )
    subprocess.run([COMPILER, *STRICT, tmp_path / "main.c", "-o", tmp_path / "main"], check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == shown


@compiled
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_kernel_is_a_constant(dtype, tmp_path):
    for kind in (kernsift.OROLSRegressor, kernsift.OnlineLSSVMRegressor):
        estimator = kind(gamma=1.0, max_basis=5).fit(X, np.full(len(X), 2.5))
        assert estimator.n_basis_ == 0
        assert (build(tmp_path, to_c(estimator, dtype=dtype), PLAIN.replace("ANSWER", ""), dtype)(NEW) == 2.5).all()


def test_the_error_stated_is_that_of_the_rows_given():
    estimator = fitted("online", "rbf")
    rows = NEW.astype(np.float32)
    near, far = to_c(estimator, X=rows), to_c(estimator, X=rows + 40)
    assert "100 rows (given)" in near
    assert stated_error(far) != stated_error(near)


# ---- learning on the target

LEARN = """  REAL x[MODEL_FEATURES], y[MODEL_OUTPUTS], out[MODEL_OUTPUTS], weight;
  model_state s;
  model_begin(&s);
  while (row(x, MODEL_FEATURES) && row(y, MODEL_OUTPUTS) && row(&weight, 1)) {
    model_scores(&s, x, out);
    LEARN
    show(out, MODEL_OUTPUTS);
    printf("\\n");
  }
  return 0;"""


def frozen(kernel, **more):
    """A stream whose dictionary is full and closed."""
    options = {"gamma": GAMMA, "max_basis": 20, "swap_until": 100, "alpha": 0.1, **more}
    return kernsift.OnlineLSSVMRegressor(kernel=kernel, **options)


@compiled
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_learning_on_the_target_is_partial_fit(kernel, fit_intercept, outputs, tmp_path):
    max_basis = 2 if kernel == "linear" else 20  # a linear kernel fills no more than the features
    targets = np.column_stack([Y, X[:, 0] ** 2])[:, :outputs]
    estimator = frozen(kernel, fit_intercept=fit_intercept, max_basis=max_basis).fit(X[:150], targets[:150])
    assert estimator.n_basis_ == max_basis
    weight = np.random.default_rng(3).uniform(0, 2, 150)
    weight[::10] = 0
    call = "model_learn(&s, x, y[0], weight);" if outputs == 1 else "model_learn(&s, x, y, weight);"
    header = to_c(estimator, dtype="float64", learn=True)
    found = build(tmp_path, header, LEARN.replace("LEARN", call), "float64")(
        np.column_stack([X[150:], targets[150:], weight])
    )
    # one row after another: the model before each of them
    expected = []
    for i in range(150, 300):
        expected.append(answer(estimator, X[i : i + 1])[0])
        if weight[i - 150] > 0:
            estimator.partial_fit(X[i : i + 1], targets[i : i + 1], sample_weight=weight[i - 150 : i - 149])
    assert estimator.n_basis_ == max_basis
    # the covariance's condition, 1e4 and for the polynomial 1e7, times eps times some hundred steps
    assert error(found, np.array(expected)) < (1e-8 if kernel == "polynomial" else 1e-10)


@compiled
def test_learning_in_float32_is_as_good_as_stated(tmp_path):
    estimator = frozen("rbf").fit(X[:150], Y[:150])
    header = to_c(estimator, learn=True)
    stated = float(re.search(r"updates (\S+) of the", " ".join(header.replace(" * ", " ").split()))[1])
    rows = np.column_stack([X[150:], Y[150:], np.ones(150)])
    main = LEARN.replace("LEARN", "model_learn(&s, x, y[0], weight);")
    found = build(tmp_path, header, main, "float32")(rows)
    truth = estimator.prequential(X[150:], Y[150:]).y_pred
    assert error(found[:, 0], truth) < 10 * stated
    assert stated < 1e-3


@compiled
def test_a_classifier_learns_on_the_target(tmp_path):
    for labels, classes in ((THREE, [-1, 4, 7]), (TWO, ["no", "yes"])):
        estimator = kernsift.OnlineLSSVMClassifier(gamma=GAMMA, max_basis=20, swap_until=100).fit(X[:150], labels[:150])
        codes = np.searchsorted(classes, labels[150:])
        main = """  double x[MODEL_FEATURES], code, out[MODEL_OUTPUTS];
  model_state s;
  model_begin(&s);
  while (row(x, MODEL_FEATURES) && row(&code, 1)) {
    model_scores(&s, x, out);
    show(out, MODEL_OUTPUTS);
    printf("%d\\n", model_predict(&s, x));
    model_learn(&s, x, (int)code, 1);
  }
  return 0;"""
        folder = tmp_path / str(len(classes))
        folder.mkdir()
        header = to_c(estimator, dtype="float64", learn=True)
        found = build(folder, header, main, "float64")(np.column_stack([X[150:], codes]))
        for i in range(150):
            row = X[150 + i : 151 + i]
            np.testing.assert_allclose(found[i, :-1], answer(estimator, row)[0], rtol=0, atol=1e-9)
            assert estimator.classes_[int(found[i, -1])] == estimator.predict(row)[0]
            estimator.partial_fit(row, labels[150 + i : 151 + i])


@compiled
def test_krls_learns_on_the_target(tmp_path):
    """Without a bias, and without a ridge."""
    estimator = kernsift.KRLSRegressor(gamma=0.5, max_basis=15, novelty_tol=0.1).fit(X[:150], Y[:150])
    assert estimator.n_basis_ == 15
    main = LEARN.replace("LEARN", "model_learn(&s, x, y[0], weight);")
    header = to_c(estimator, dtype="float64", learn=True)
    found = build(tmp_path, header, main, "float64")(np.column_stack([X[150:], Y[150:], np.ones(150)]))
    assert error(found[:, 0], estimator.prequential(X[150:], Y[150:]).y_pred) < 1e-9


def test_bad_conditioning_is_warned_of():
    estimator = kernsift.OnlineLSSVMRegressor(
        gamma=0.02, alpha=1e-8, novelty_tol=1e-9, usefulness_tol=0.0, max_basis=60
    ).fit(X, Y)
    with pytest.warns(UserWarning, match="off by") as warned:
        header = to_c(estimator, learn=True)
    first, second = (str(w.message) for w in warned)
    assert re.match(r"predicting on the target in float32 is off by .* larger alpha", first)
    assert re.match(r"learning on the target in float32 is off by .*condition of the state .*dtype='float64'", second)
    flat = " ".join(header.replace(" * ", " ").split())
    assert f"WARNING: {first}" in flat
    assert f"WARNING: {second}" in flat
    assert all(w.filename == __file__ for w in warned)
    # without a state to learn on the predictions are better, and in float64 nothing is left to warn of
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "WARNING" not in to_c(estimator, learn=True, dtype="float64")


# ---- what is refused


def test_refusals_say_which_and_what_to_do(tmp_path):
    estimator, path = fitted("online", "rbf"), tmp_path / "model.h"
    with pytest.raises(ValueError, match=r"needs 5\d\d bytes of constants and the target has max_bytes=100.*max_basis"):
        to_c(estimator, path, max_bytes=100)
    with pytest.raises(ValueError, match=r"bytes of memory while running.*max_ram=8.*dtype='float32'"):
        to_c(estimator, path, max_ram=8, dtype="float64")
    with pytest.raises(ValueError, match="dtype='int8'"):
        to_c(estimator, path, dtype="int8")
    with pytest.raises(ValueError, match="name='2nd' must be a C identifier"):
        to_c(estimator, path, name="2nd")
    with pytest.raises(TypeError, match="StandardScaler"):
        to_c(StandardScaler().fit(X), path)
    with pytest.raises(ValueError, match=r"learn=True.*SubsetLSSVMRegressor has none"):
        to_c(fitted("subset", "rbf"), path, learn=True)
    with pytest.raises(ValueError, match="engine='inverse'"):
        to_c(fitted("online, two outputs", "rbf"), path, learn=True)
    forgetful = kernsift.OnlineLSSVMRegressor(gamma=1.0, forgetting=0.99, max_basis=9).fit(X, Y)
    with pytest.raises(ValueError, match=r"forgetting=0\.99"):
        to_c(forgetful, path, learn=True)
    for huge in (
        kernsift.OnlineLSSVMRegressor(gamma=1.0, max_basis=9).fit(X, 1e60 * Y),
        kernsift.OnlineLSSVMRegressor(gamma=1e-120, max_basis=9).fit(1e60 * X, Y),
    ):
        with pytest.raises(ValueError, match=r"dtype='float32' holds numbers up to 3.*dtype='float64'"):
            to_c(huge, path)
        assert stated_error(to_c(huge, dtype="float64")) < 1e-12
    with pytest.raises(ValueError, match="X has 2 features"):
        to_c(estimator, path, X=NEW[:, :2])
    assert list(tmp_path.iterdir()) == []


@compiled
@pytest.mark.parametrize("learn", [False, True])
def test_the_constants_stated_are_those_of_the_object(learn, tmp_path):
    estimator = fitted("online", "rbf")
    header = to_c(estimator, tmp_path / "model.h", learn=learn)
    assert (tmp_path / "model.h").read_text() == header
    (tmp_path / "all.c").write_text('#define static\n#define inline\n#include "model.h"\n')
    subprocess.run([COMPILER, "-std=c99", "-c", "all.c", "-o", "all.o"], cwd=tmp_path, check=True)
    listed = subprocess.run(["nm", "-S", "all.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    constants = sum(int(line.split()[1], 16) for line in listed.splitlines() if line.split()[2] in "Rr")
    assert f"Constants {constants} bytes" in " ".join(header.replace(" * ", " ").split())


DEVIATIONS = {
    "online": lambda k: fitted("online", k),
    "online, uneven": lambda k: kernsift.OnlineLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=20, noise="input").fit(
        X, SEVERAL
    ),
    "dense": lambda k: kernsift.LSSVMRegressor(kernel=k, gamma=GAMMA, alpha=1.0).fit(X[:80], Y[:80]),
    "isls": lambda k: kernsift.SparseLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=20).fit(X, Y),
    "subset": lambda k: fitted("subset", k),
    "orols": lambda k: kernsift.OROLSRegressor(kernel=k, gamma=GAMMA).fit(X, Y),
    **STREAMS,
}


@compiled
@pytest.mark.parametrize(("kernel", "dtype"), [*((k, "float64") for k in STATIONARY), ("rbf", "float32")])
@pytest.mark.parametrize("noise", ["constant", "input"])
@pytest.mark.parametrize("maker", DEVIATIONS)
def test_standard_deviations(maker, noise, kernel, dtype, tmp_path):
    estimator = DEVIATIONS[maker](kernel)
    if maker in STREAMS and noise == "input":
        return  # they have their own
    if maker not in STREAMS and "online" not in maker:
        estimator = copy.copy(estimator).set_params(noise=noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what float32 loses is stated, and tested below
        header = to_c(estimator, dtype=dtype, std=True)
    several = estimator.n_basis_ and np.ndim(estimator.dual_coef_) == 2
    call = "{ REAL s[MODEL_OUTPUTS]; model_predict_std(x, s); show(s, MODEL_OUTPUTS); }"
    found = build(
        tmp_path,
        header,
        PLAIN.replace("ANSWER", call if several else "{ REAL s = model_predict_std(x); show(&s, 1); }"),
        dtype,
    )
    rows = NEW.astype(dtype).astype(np.float64)
    mean, std = (part.reshape(len(rows), -1) for part in estimator.predict(rows, return_std=True))
    got, k = found(rows), mean.shape[1]
    stated = float(re.search(r"Standard deviations: largest error (\S+)", header)[1])
    # as for outputs: a maximum over other rows; the solve with some hundred kernels loses four digits
    assert error(got[:, k:], std) < 10 * stated + 1e4 * np.finfo(dtype).eps * (dtype == "float64") + 1e-6 * (
        dtype == "float32"
    )
    bad = np.full((1, 3), np.nan)
    assert np.isnan(found(bad)).all()


@compiled
@pytest.mark.parametrize("targets", [Y, SEVERAL], ids=["one output", "two"])
def test_standard_deviations_of_a_header_that_learns_have_a_running_scale(targets, tmp_path):
    """Against the covariance form, row by row, with the scale of `cpp/core/stream/coverage.hpp` written out."""
    kind = kernsift.OnlineLSSVMRegressor(
        gamma=GAMMA, max_basis=15, alpha=0.1, forgetting=1.0, linear=False, noise="constant"
    )
    estimator = kind.partial_fit(X[:100], targets[:100])
    state, outputs = estimator._fitted().state(), 1 if targets.ndim == 1 else 2
    main = """  model_state s;
  REAL x[MODEL_FEATURES], y[MODEL_OUTPUTS], out[MODEL_OUTPUTS];
  model_begin(&s);
  while (row(x, MODEL_FEATURES) && row(y, MODEL_OUTPUTS)) {
    DEVIATION
    show(out, MODEL_OUTPUTS);
    LEARN
    printf("\\n");
  }
  return 0;"""
    several = outputs > 1
    main = main.replace(
        "DEVIATION", "model_predict_std(&s, x, out);" if several else "out[0] = model_predict_std(&s, x);"
    )
    main = main.replace("LEARN", "model_learn(&s, x, y, 1);" if several else "model_learn(&s, x, y[0], 1);")
    header = to_c(estimator, dtype="float64", learn=True, std=True)
    rows, t = X[100:], (10 * targets[100:]).reshape(-1, outputs)  # larger errors than before
    found = build(tmp_path, header, main, "float64")(np.hstack([rows, t]))

    C, theta, L = state["inverse"].copy(), state["theta"].copy(), state["factor"]
    squares, counted = state["coverage"][:, 0].copy(), state["coverage"][:, 1].copy()
    noise = np.atleast_1d(estimator.noise_variance_)
    K = estimator._fitted().kernel.matrix(rows, estimator.basis_vectors_)
    W = np.linalg.solve(L, K.T).T
    rest = np.maximum(1.0 - (W**2).sum(axis=1), 0.0)
    Z = np.hstack([np.ones((len(W), len(C) - len(L))), W])
    expected = np.empty_like(t)
    for i, z in enumerate(Z):
        h = C @ z
        relative = 1.0 + z @ h + rest[i] / 0.1
        expected[i] = np.sqrt(noise * relative * squares / counted)
        error_before, mean = t[i] - z @ theta, squares / counted
        squares = 0.99 * squares + np.minimum(error_before**2 / (noise * relative) / mean, 25.0) * mean
        counted = 0.99 * counted + 1.0
        theta += np.outer(h, error_before) / (1.0 + z @ h)
        C -= np.outer(h, h) / (1.0 + z @ h)
    np.testing.assert_allclose(found, expected, rtol=1e-8)  # cond(L) is some 1e3, squared
    assert (found[-1] > 2 * found[0]).all()
    # at the start it is the estimator's own, times the scale
    own = np.reshape(estimator.predict(rows[:1], return_std=True)[1], outputs)
    np.testing.assert_allclose(found[0], own * np.sqrt(state["coverage"][:, 0] / state["coverage"][:, 1]), rtol=1e-8)


def test_what_has_no_deviation_in_c_says_so():
    linear = kernsift.OROLSRegressor(kernel="linear").fit(X, Y)
    with pytest.raises(ValueError, match="not linear"):
        to_c(linear, std=True)
    bank = kernsift.OnlineLSSVMRegressor(gamma=0.3, max_basis=20).partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"forgetting=1\.0"):
        to_c(bank, std=True, learn=True)
    uneven = kernsift.OnlineLSSVMRegressor(gamma=0.3, max_basis=20, forgetting=1.0, linear=False)
    uneven.partial_fit(X, UNEVEN)
    assert uneven.noise_ == "input"
    with pytest.raises(ValueError, match="noise='auto' that of this stream depends on x"):
        to_c(uneven, learn=True, std=True)
    plain = kernsift.OnlineLSSVMRegressor(
        gamma=0.3, max_basis=20, forgetting=1.0, linear=False, noise="constant"
    ).partial_fit(X, UNEVEN)

    def code(header):
        return header[header.index("#ifndef") :]

    assert code(to_c(uneven, learn=True)) == code(to_c(plain, learn=True))  # "auto" changes no prediction
    with pytest.raises(ValueError, match="noise='input'"):
        to_c(
            kernsift.OnlineLSSVMRegressor(gamma=0.3, forgetting=1.0, linear=False, noise="input").partial_fit(X, Y),
            learn=True,
        )
