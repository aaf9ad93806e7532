"""The six kernels against their definitions, at scales where the fast form would lose digits."""

from __future__ import annotations

import re

import kernsift
import numpy as np
import oracles
import pytest
from kernsift import _core
from kernsift.export import _c_text, _onnx_graph

TABLE = _core.kernel_table()
NAMES = list(TABLE)
STATIONARY = [name for name, facts in TABLE.items() if facts["stationary"]]


def make(name, gamma, centre, degree=3, coef0=1.0):
    gamma = np.asarray(gamma, dtype=float)
    return _core.Kernel(name, gamma, degree, coef0, np.asarray(centre, dtype=float))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("widths", ["one", "per feature", "some off"])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 7), (13, 8), (30, 33)])
def test_equals_definition(name, widths, n, m, rng):
    d = 5
    gamma = np.full(d, 0.3)
    if widths != "one":
        gamma = rng.uniform(0.05, 1.0, d)
    if widths == "some off":
        gamma[[1, 3]] = 0.0
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    kernel = make(name, gamma, X[0])
    expected = oracles.kernel_matrix(name, X, Y, gamma)
    # values of order one (stationary) or of a few dozen products: a few units in the last place of each
    scale = 1.0 if name in STATIONARY else abs(expected).max()
    np.testing.assert_allclose(kernel.matrix(X, Y), expected, rtol=0, atol=2e-14 * scale)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(oracles.kernel_matrix(name, X, X, gamma)), rtol=1e-13)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_polynomial_degrees(degree, rng):
    X = rng.standard_normal((6, 3))
    kernel = make("polynomial", [0.5, 0.2, 1.0], np.zeros(3), degree=degree, coef0=0.5)
    expected = oracles.kernel_matrix("polynomial", X, X, [0.5, 0.2, 1.0], degree, 0.5)
    np.testing.assert_allclose(kernel.matrix(X, X), expected, rtol=1e-12)


@pytest.mark.parametrize("name", STATIONARY)
def test_a_large_offset_loses_nothing(name, rng):
    """A column near 1e6 (a date) enters by its differences: the centre takes the offset away exactly."""
    X = rng.standard_normal((40, 2))
    X[:, 1] = np.round(X[:, 1] * 8) / 8  # so that adding 1e6 is exact
    moved = X + [0.0, 1e6]
    plain = make(name, [0.5, 0.5], X[0]).matrix(X, X)
    np.testing.assert_array_equal(make(name, [0.5, 0.5], moved[0]).matrix(moved, moved), plain)


@pytest.mark.parametrize("name", ["rbf", "matern32", "matern52"])
def test_rows_far_from_the_centre_are_compared_by_differences(name, rng):
    """Two clusters 1e6 apart: |x|² + |y|² - 2x·y would have an error of 1e-4 in the exponent.

    What is left is half a unit in the last place of a coordinate of 1e6, 1.2e-10: no more than the coordinates
    themselves can tell.
    """
    near = rng.standard_normal((9, 3))
    X = np.vstack([near, near + 1e6])
    K = make(name, np.full(3, 0.4), X[0]).matrix(X, X)
    expected = oracles.kernel_matrix(name, X, X, 0.4)
    np.testing.assert_allclose(K[:9, :9], expected[:9, :9], rtol=0, atol=1e-14)
    np.testing.assert_allclose(K, expected, rtol=0, atol=2 * 3 * np.spacing(1e6))  # three coordinates, two rows
    assert (K[:9, 9:] == 0).all()


@pytest.mark.parametrize("name", STATIONARY)
def test_one_at_zero_and_exactly_zero_far_away(name):
    X = np.array([[0.0], [800.0], [1e150], [3.0]])
    K = make(name, [1.0], [0.0]).matrix(X, X)
    assert (np.diag(K) == 1.0).all()
    assert (K[0, 1:3] == 0.0).all()
    assert 0 < K[0, 3] < 0.1


def test_exp_to_two_units_in_the_last_place(rng):
    """The kernels' own exp, through a laplacian kernel of width 1 on a line: k(0, t) = exp(-t)."""
    t = np.concatenate([rng.uniform(0, 708, 200_000), rng.uniform(0, 1, 50_000), [0.0, 708.0, np.log(2) / 2]])
    got = make("laplacian", [1.0], [0.0]).matrix(np.zeros((1, 1)), t[:, None])[0]
    np.testing.assert_allclose(got, np.exp(-t), rtol=2 * np.finfo(float).eps)
    assert got[-3] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_a_value_does_not_depend_on_its_place(name, rng):
    X = rng.standard_normal((53, 4))
    X[7] *= 1e3
    kernel = make(name, np.full(4, 0.7), X[0])
    whole = kernel.matrix(X, X)
    for i in (0, 7, 20, 52):
        for j in (0, 3, 7, 50):
            assert kernel.matrix(X[i : i + 1], X[j : j + 1])[0, 0] == whole[i, j]
    np.testing.assert_array_equal(kernel.matrix(X[5:], X[:11]), whole[5:, :11])


def test_bad_parameters_are_named():
    one = np.ones(1)
    with pytest.raises(ValueError, match="unknown"):
        _core.Kernel("gauss", one, 3, 1.0, one)
    for gamma in ([-1.0], [0.0], [np.nan], [np.inf]):
        with pytest.raises(ValueError, match="gamma"):
            make("rbf", gamma, [0.0])
    with pytest.raises(ValueError, match="degree"):
        make("polynomial", [1.0], [0.0], degree=0)
    with pytest.raises(ValueError, match="coef0"):
        make("polynomial", [1.0], [0.0], coef0=-1.0)
    with pytest.raises(ValueError, match="centre"):
        make("rbf", [1.0], [np.nan])


def test_no_silent_copies(rng):
    """float32 and strided arrays are refused at the boundary: the estimators convert once, in sight."""
    kernel = make("rbf", [1.0, 1.0], [0.0, 0.0])
    X = rng.standard_normal((4, 2))
    for wrong in (X.astype(np.float32), np.asfortranarray(rng.standard_normal((4, 2))), X[::2]):
        with pytest.raises(TypeError):
            kernel.matrix(wrong, X)


def test_the_table_says_what_each_kernel_can_do(rng):
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    for name, facts in TABLE.items():
        kernel = make(name, [0.5, 0.5], X[0])
        assert kernel.stationary == facts["stationary"] == bool((kernel.diagonal(X) == 1.0).all())
        rows = {
            "X": X,
            "landmarks": X[:5].copy(),
            "Y": y[:, None].copy(),
            "weight": np.ones(40),
            "within": np.zeros(40),
        }
        problem = _core.WidthProblem(name, **rows, fit_intercept=True, jitter=1e-8)
        if facts["slope"]:
            moved = problem.evaluate(np.full(2, 0.5), 1.0, landmarks=X[:5].copy())[3]
            assert (moved is not None) == facts["smooth"]
        else:
            with pytest.raises(ValueError, match="slope"):
                problem.evaluate(np.full(2, 0.5), 1.0)
            with pytest.raises(ValueError, match="no widths to learn"):
                kernsift.learn_gamma(X, y, kernel=name)
        model = kernsift.SubsetLSSVMRegressor(kernel=name, gamma=0.5, max_basis=5, random_state=0).fit(X, y)
        for target in ("onnx", "c", "libsvm"):
            export = getattr(kernsift.export, f"to_{target}")
            if facts[target]:
                if target != "onnx":  # its own tests need onnx
                    export(model)
            else:
                with pytest.raises(ValueError, match=f"kernel '{name}' has no export to {target.upper()}"):
                    export(model)
        single = model.predict(X.astype(np.float32))
        assert single.dtype == np.float32
    of_vectors = {"polynomial", "linear"}  # exported by a form of their own
    assert {n for n in NAMES if TABLE[n]["onnx"]} == set(_onnx_graph._PROFILES) | of_vectors
    assert {n for n in NAMES if TABLE[n]["c"]} == set(_c_text._KERNEL) | of_vectors


def test_docstrings_list_the_kernels_of_the_table():
    found = 0
    for name in kernsift.__all__:
        for listed in re.findall(r"^ *kernel : \{(.*)\}", getattr(kernsift, name).__doc__ or "", re.M):
            needed = [n for n in NAMES if name != "learn_gamma" or TABLE[n]["slope"]]
            if name == "KernelLSPI":  # actions are apart by their distance
                needed = [n for n in needed if n not in ("polynomial", "linear")]
            others = ("auto", "precomputed")  # which are no kernels
            words = [word for word in re.findall(r'"(\w+)"', listed) if word not in others]
            assert words == needed, name
            found += 1
    assert found >= 8
