"""What bad input gets: an error that names the parameter or column, its value and what to change.

After every refusal the model is exactly as it was, to the byte.
"""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (120, 3))
    return X, np.sin(X[:, 0]) + X[:, 1]


@pytest.fixture
def fitted(data):
    return OnlineLSSVMRegressor(gamma=0.5, max_basis=10).fit(*data)


def frozen(model):
    return pickle.dumps(model)


X3 = np.zeros((4, 3))
Y4 = np.zeros(4)
NAN = np.array([[0.0, np.nan, 0.0]])

REFUSED_BLOCKS = {
    "NaN in X": (NAN, [0.0], None, "X contains NaN"),
    "infinite X": (np.full((1, 3), np.inf), [0.0], None, "X contains infinity"),
    "NaN in y": (X3, [0, np.nan, 0, 0], None, "y contains NaN"),
    "a single infinite y": (X3[:1], np.inf, None, "y contains infinity"),
    "too few columns": (X3[:, :2], Y4, None, "X has 2 features.*expecting 3"),
    "one-dimensional X": (np.zeros(3), Y4, None, "2D array"),
    "rows of X and y differ": (X3, Y4[:3], None, "inconsistent numbers of samples"),
    "more outputs than before": (X3, np.zeros((4, 2)), None, "2 outputs but this model began with 1"),
    "text": (np.array([["a", "b", "c"]]), [0.0], None, "column 0 of X holds 'a' in row 0, which is no number"),
    "complex": (X3 + 1j, Y4, None, "[Cc]omplex"),
    "negative weight": (X3, Y4, [1, 1, -1, 1], "[Nn]egative values in data passed to `sample_weight`"),
    "NaN weight": (X3, Y4, [1, 1, np.nan, 1], "sample_weight"),
    "too many weights": (X3, Y4, np.ones(5), "sample_weight"),
    "y too large to square": (X3, [0, 1e200, 0, 0], None, "y is 1e.200 in row 1.*rescale"),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("case", REFUSED_BLOCKS)
def test_a_refused_block_changes_nothing(fitted, case, method):
    X, y, weight, message = REFUSED_BLOCKS[case]
    if method == "fit" and case in ("too few columns", "more outputs than before"):
        pytest.skip("fit starts again and may have another shape")
    before = frozen(fitted)
    with pytest.raises(ValueError, match=message):
        getattr(fitted, method)(X, y, sample_weight=weight)
    assert frozen(fitted) == before


def test_bad_rows_late_in_a_block_are_refused_before_anything_is_learned(fitted, rng):
    X, y = rng.standard_normal((4096, 3)), rng.standard_normal(4096)
    X[3000, 1] = np.nan
    before = frozen(fitted)
    with pytest.raises(ValueError, match="NaN"):
        fitted.partial_fit(X, y)
    assert frozen(fitted) == before


def test_predict_refuses_and_changes_nothing(fitted):
    before = frozen(fitted)
    for X, message in ((NAN, "NaN"), (X3[:, :2], "features"), (np.zeros(3), "2D")):
        with pytest.raises(ValueError, match=message):
            fitted.predict(X)
    assert frozen(fitted) == before


BAD_PARAMETERS = {
    "alpha": [-1.0, "big", np.nan],
    "gamma": [0.0, -1.0, "wide", [1.0, -1.0, 1.0], [1.0, 2.0], [0.0, 0.0, 0.0], [1.0, np.inf, 1.0]],
    "max_basis": [0, -3, 2.5],
    "novelty_tol": [-1e-3],
    "usefulness_tol": [-1.0],
    "admission": ["paper"],
    "engine": ["qr"],
    "kernel": ["gauss"],
    "degree": [0, 1.5],
    "coef0": [-1.0],
    "fit_intercept": ["yes"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD_PARAMETERS.items() for v in values])
def test_bad_parameters_are_named(fitted, data, name, value):
    before = frozen(fitted)
    held = getattr(fitted, name)
    fitted.set_params(**{name: value})
    with pytest.raises(ValueError, match=name):
        fitted.fit(*data)
    fitted.set_params(**{name: held})
    assert frozen(fitted) == before


def test_a_parameter_changed_in_the_middle_of_a_stream_is_refused(fitted, data):
    fitted.set_params(alpha=3.0)
    with pytest.raises(ValueError, match=r"alpha was 'auto' when this stream began and is 3\.0"):
        fitted.partial_fit(*data)
    fitted.set_params(alpha="auto").partial_fit(*data)
    assert fitted.n_samples_seen_ == 240


def test_reordered_columns_are_refused(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.standard_normal((30, 3)), columns=["a", "b", "c"])
    model = OnlineLSSVMRegressor().fit(frame, np.arange(30.0))
    before = frozen(model)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[["b", "a", "c"]], np.arange(30.0))
    with pytest.raises(ValueError, match=r"feature names[\s\S]*Column 'b' stands where 'a' stood"):
        model.predict(frame[["b", "a", "c"]])
    assert frozen(model) == before


def test_all_zero_weights(data):
    with pytest.raises(ValueError, match=r"sample_weight is zero for every row"):
        OnlineLSSVMRegressor().fit(*data, sample_weight=np.zeros(120))
    model = OnlineLSSVMRegressor().fit(*data)
    coef = model.dual_coef_
    model.partial_fit(*data, sample_weight=np.zeros(120))  # in a stream they are rows that do not count
    np.testing.assert_array_equal(model.dual_coef_, coef)
    assert model.audit_["ignored"] == 120


def test_an_empty_block_is_a_no_op(fitted):
    before = frozen(fitted)
    fitted.partial_fit(np.zeros((0, 3)), np.zeros(0))
    assert frozen(fitted) == before


def test_unknown_classes(rng):
    X, y = rng.standard_normal((40, 2)), np.array(["a", "b"] * 20)
    model = OnlineLSSVMClassifier().partial_fit(X, y, classes=["a", "b", "c"])
    before = frozen(model)
    with pytest.raises(ValueError, match=r"labels \['z'\].*classes="):
        model.partial_fit(X, np.where(np.arange(40) == 7, "z", y))
    with pytest.raises(ValueError, match="differs from"):
        model.partial_fit(X, y, classes=["a", "b"])
    assert frozen(model) == before
    with pytest.raises(ValueError, match="at least 2 classes"):
        OnlineLSSVMClassifier().fit(X, np.full(40, "a"))
    with pytest.raises(ValueError, match="differs from"):
        OnlineLSSVMClassifier().partial_fit(X[:1], y[:1]).partial_fit(X, y, classes=["a", "b"])


def test_kernel_overflow_names_the_row(rng):
    X = rng.standard_normal((10, 2))
    X[6] = 1e120
    with pytest.raises(ValueError, match=r"row 6 for the polynomial kernel"):
        OnlineLSSVMRegressor(kernel="polynomial", gamma=1.0).fit(X, np.zeros(10))


def test_return_std_without_a_ridge_says_which_knob(data):
    model = OnlineLSSVMRegressor(alpha=0.0).fit(*data)
    with pytest.raises(ValueError, match="alpha > 0"):
        model.predict(data[0], return_std=True)


@pytest.mark.parametrize("engine", ["orthonormal", "inverse"])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("of", ["X", "y"])
def test_extreme_scales_work(data, engine, scale, of):
    X, y = data
    model = OnlineLSSVMRegressor(engine=engine)
    scale = min(scale, 1e98) if of == "y" else scale
    plain = model.fit(X, y).predict(X)
    scaled = model.fit(X * scale, y).predict(X * scale) if of == "X" else model.fit(X, y * scale).predict(X) / scale
    # the scale is not a power of two: rounding differs, the model does not
    np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("most", [1e3, 1e90], ids=["w<1e3", "w<1e90"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: OnlineLSSVMRegressor(gamma=0.5, max_basis=3),
        lambda: OnlineLSSVMRegressor(gamma=0.5, max_basis=3, exact_rows=8),
        lambda: OnlineLSSVMRegressor(gamma=0.5, max_basis=3, forgetting=0.9),
        lambda: OnlineLSSVMRegressor(gamma=0.5, max_basis=3, window=12),
        lambda: OnlineLSSVMRegressor(gamma=0.5, max_basis=3, engine="inverse"),
        lambda: KRLSRegressor(gamma=0.5, alpha=0.1, max_basis=3, on_full="drop-oldest"),
        lambda: KRLSRegressor(gamma=0.5, alpha=0.1, max_basis=3, on_full="stop"),
    ],
    ids=["prune", "exact", "forgetting", "window", "inverse", "drop-oldest", "stop"],
)
def test_weights_further_apart_than_a_double_reaches_leave_numbers(make, most):
    """What such rows say is lost in rounding; the state must not be."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1500, 1))
        y = rng.normal(size=(1500, 2)) * 10.0 ** rng.uniform(0, 90 * (seed % 2), size=(1500, 1))
        weight = 10.0 ** rng.uniform(-90, np.log10(most), 1500)
        model = make()
        for first in range(0, 1500, 500):
            block = slice(first, first + 500)
            model.partial_fit(X[block], y[block], weight[block])
        for name, array in model._core.state().items():
            assert np.isfinite(array).all(), (seed, name)


@pytest.mark.parametrize("engine", ["orthonormal", "inverse"])
def test_degenerate_data_give_sensible_models(engine, rng):
    model = OnlineLSSVMRegressor(engine=engine)
    one = model.fit([[1.0]], [3.0])
    np.testing.assert_array_equal(one.predict([[1.0], [5.0]]), [3.0, 3.0])
    constant = model.fit(rng.standard_normal((50, 2)), np.full(50, 7.0))
    np.testing.assert_allclose(constant.predict(rng.standard_normal((5, 2))), 7.0, rtol=1e-12)
    same = model.fit(np.ones((30, 2)), np.arange(30.0))
    # One kernel, admitted after the constant had taken the first row, to which it is a column of zeros: the
    # prediction lies between the mean of all rows and that of the later ones.
    assert 14.5 <= same.predict(np.ones((1, 2)))[0] <= 15.0
    X = np.repeat(rng.standard_normal((15, 1)), 4, axis=0)
    repeated = model.fit(X, np.sin(X[:, 0]))
    assert repeated.n_basis_ <= 15
    np.testing.assert_allclose(repeated.predict(X), np.sin(X[:, 0]), atol=0.3)


def test_inputs_are_not_changed_or_kept(data):
    X, y = data
    X_before, y_before = X.copy(), y.copy()
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=10).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    X[:] = 0
    np.testing.assert_array_equal(model.predict(X_before), expected)


def test_layouts_and_dtypes_agree(data):
    X, y = data
    expected = OnlineLSSVMRegressor(gamma=0.5).fit(X, y).predict(X)
    readonly = X.copy()
    readonly.setflags(write=False)
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.astype(">f8"), X.tolist(), readonly):
        np.testing.assert_array_equal(OnlineLSSVMRegressor(gamma=0.5).fit(same, y).predict(same), expected)
    single = OnlineLSSVMRegressor(gamma=0.5).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict(X), expected, atol=1e-4)


def test_gamma_heuristics(rng):
    X = rng.standard_normal((400, 3)) * [1.0, 2.0, 3.0]
    model = OnlineLSSVMRegressor(gamma="scale").fit(X, X[:, 0])
    np.testing.assert_allclose(model.gamma_, 1.0 / X.var(axis=0).sum())
    moved = OnlineLSSVMRegressor(gamma="scale").fit(X + [0, 0, 1e8], X[:, 0])
    np.testing.assert_allclose(moved.gamma_, model.gamma_, rtol=1e-7)
    distance = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))[np.triu_indices(400, 1)]
    median = OnlineLSSVMRegressor(gamma="median").fit(X, X[:, 0])
    np.testing.assert_allclose(median.gamma_, 1.0 / (2 * np.median(distance**2)))
    weight = np.r_[np.ones(200), np.zeros(200)]
    weighted = OnlineLSSVMRegressor(gamma="scale").fit(X, X[:, 0], sample_weight=weight)
    np.testing.assert_allclose(weighted.gamma_, 1.0 / X[:200].var(axis=0).sum())
    np.testing.assert_array_equal(OnlineLSSVMRegressor(gamma="median").fit(X[:1], [0.0]).gamma_, np.full(3, 1 / 3))


# --- the words of a refusal


ESTIMATORS = [n for n in kernsift.__all__ if hasattr(getattr(kernsift, n), "get_params")]
FRONT = ("KernelClassifier", "KernelRegressor")  # parameters of the models they choose are in their settings


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_constructor_says_its_own_name_and_the_nearest_parameter(name):
    kind = getattr(kernsift, name)
    wrong, right, another = ("smalll", "small", "settings") if name in FRONT else ("gama", "gamma", "kernel")
    with pytest.raises(
        TypeError, match=rf"^{name} has no parameter '{wrong}' \(did you mean '{right}'\?\); it has .*{another}"
    ):
        kind(**{wrong: 1.0})
    with pytest.raises(TypeError, match=rf"^{name} takes its parameters by name"):
        kind(1.0)

    class Mine(kind):
        def __init__(self, width=1.0):
            super().__init__(**{right: width})

    assert getattr(Mine(2.0), right) == 2.0  # a user's constructor is the user's


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_wrong_word_brings_the_nearest_right_one(name, data):
    X, y = data
    wrong = {"kernel": "poly"}
    model = getattr(kernsift, name)(**({"settings": wrong} if name in FRONT else wrong))
    arguments = (X[:-1], y[:-1], X[1:]) if name == "KernelLSTD" else (X, (y > 0) if "Classifier" in name else y)
    if name == "KernelLSPI":
        wrong, arguments = {"kernel": "matern"}, ((X[:-1], y[:-1] > 0, y[:-1], X[1:]),)
        model = kernsift.KernelLSPI(**wrong)
    with pytest.raises(ValueError, match=r"Got '(poly|matern)' instead. \(did you mean '(polynomial|matern\d\d)'\?\)"):
        (model.partial_fit if name == "KernelLSTD" else model.fit)(*arguments)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_that_are_no_numbers_are_named(library, data):
    """Dates were fitted as nanoseconds without a word; a text came without its column."""
    frames = pytest.importorskip(library, reason=f"needs {library}")
    X, y = data
    n = len(X)
    when = np.datetime64("2026-01-01", "us") + np.arange(n).astype("m8[h]")
    columns = {
        "when": (when, "column 'when' of X holds dates or durations"),
        "for": (when - when[0], "column 'for' of X holds dates or durations"),
        "colour": (["red"] * n, "column 'colour' of X holds 'red' in row 0, which is no number"),
    }
    plain = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    for name, (values, said) in columns.items():
        frame = frames.DataFrame({"a": X[:, 0], name: values})
        for kind in (OnlineLSSVMRegressor, kernsift.SubsetLSSVMRegressor, kernsift.LSSVMRegressor):
            if kind is OnlineLSSVMRegressor:  # the others encode such columns: test_columns.py
                with pytest.raises(ValueError, match=said):
                    kind(gamma=0.5).fit(frame, y)
            model = kind(gamma=0.5).fit(plain, y)
            before = frozen(model)
            with pytest.raises(ValueError, match=said):
                model.predict(frame)
            assert frozen(model) == before
    for values in (when[:, None], (when - when[0])[:, None]):
        with pytest.raises(ValueError, match=r"X holds dates or durations \((date|time)"):
            OnlineLSSVMRegressor().fit(values, y)
    with pytest.raises(ValueError, match="y holds dates or durations"):
        OnlineLSSVMRegressor().fit(X, when)
    with pytest.raises(ValueError, match="column 1 of X holds 'b' in row 1"):
        OnlineLSSVMRegressor().fit(np.array([["1", "2"], ["3", "b"]], dtype=object), y[:2])


def test_one_row_may_be_any_row_of_numbers(data, fitted):
    """What is not a contiguous row of float64 got the binding's own words."""
    X, _ = data
    row = np.round(X[0], 1)
    expected = fitted.predict_one(row)
    for same in (row.tolist(), tuple(row.tolist()), np.repeat(row, 2)[::2], row.astype("longdouble")):
        assert fitted.predict_one(same) == expected
    assert fitted.predict_one(row.astype(np.float32)) == pytest.approx(expected, abs=1e-6)  # rounded to single
    before = frozen(fitted)
    for bad, said in (
        (X[:2], r"x has shape \(2, 3\): give one row|x has shape"),
        (row[:2], r"x has shape \(2,\), expected \(3,\): one number for each feature"),
        ("abc", "x must be a row of numbers"),
        (None, "x has shape"),
        (3.0, "x has shape"),
    ):
        with pytest.raises(ValueError, match=said):
            fitted.predict_one(bad)
    assert frozen(fitted) == before
    again = pickle.loads(before)
    fitted.update(row, 0.5)
    again.update(row.tolist(), 0.5)
    assert again.n_samples_seen_ == fitted.n_samples_seen_ == len(X) + 1
    np.testing.assert_allclose(again.predict(X), fitted.predict(X), rtol=0, atol=1e-12)  # a copy rounds otherwise


@pytest.mark.parametrize("name", ["gamma", "alpha", "coef0", "max_basis"])
def test_a_parameter_beyond_the_range_of_a_double_is_refused(name):
    X, y = np.random.default_rng(1).normal(size=(24, 3)), np.zeros(24)
    for estimator in (kernsift.OROLSRegressor, kernsift.OnlineLSSVMRegressor, kernsift.SubsetLSSVMRegressor):
        with pytest.raises(ValueError, match=name):
            estimator(kernel="polynomial", **{name: 10**400}).fit(X, y)
