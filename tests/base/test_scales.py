"""The units of the columns: gamma="standard", a warning where one width meets many scales, no effect elsewhere."""

from __future__ import annotations

import warnings

import kernsift
import numpy as np
import pytest
from kernsift import SubsetLSSVMRegressor
from sklearn.preprocessing import StandardScaler

KERNELS = ("rbf", "laplacian", "matern32", "matern52")


def table(rng, n=300, d=4):
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("kernel", KERNELS)
def test_standard_is_one_over_the_features_of_standardised_columns(rng, kernel):
    X, y = table(rng)
    scaled = StandardScaler().fit_transform(X)
    ours = kernsift.LSSVMRegressor(kernel=kernel, gamma="standard").fit(X * [1e3, 1.0, 1e-4, 5.0], y)
    theirs = kernsift.LSSVMRegressor(kernel=kernel, gamma=0.25).fit(scaled, y)
    np.testing.assert_allclose(ours.residuals_, theirs.residuals_, rtol=0, atol=1e-9)  # rounding of a solve of 300 rows


def test_standard_takes_weights_for_repetitions_and_leaves_constant_columns_out(rng):
    X, y = table(rng, 60)
    X = np.column_stack([X, np.full(60, 7.0)])
    v = rng.integers(0, 3, 60)
    weighted = kernsift.LSSVMRegressor(gamma="standard").fit(X, y, sample_weight=v).gamma_
    repeated = kernsift.LSSVMRegressor(gamma="standard").fit(X.repeat(v, axis=0), y.repeat(v)).gamma_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
    variance = X.repeat(v, axis=0)[:, :4].var(axis=0)
    np.testing.assert_allclose(weighted, [*(1 / (4 * variance)), 0.0], rtol=1e-12)
    alike = kernsift.LSSVMRegressor(gamma="standard").fit(np.ones((5, 2)), np.arange(5.0))
    np.testing.assert_array_equal(alike.gamma_, [0.5, 0.5])


def test_standard_names_the_column_whose_scale_overflows():
    X = np.array([[0.0, 0.0], [1e-200, 1.0], [2e-200, 3.0]])
    with pytest.raises(ValueError, match="gamma='standard' came out as inf for column 0"):
        kernsift.LSSVMRegressor(gamma="standard").fit(X, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("gamma", ["standard", "learn"])
def test_the_units_of_the_columns_change_nothing(rng, kernel, gamma):
    X, y = table(rng)
    units = 10.0 ** np.array([-6, 6, 3, -2])
    # of columns that are rounded by their units a ridge far below the noise would make more than 1e-6
    model = SubsetLSSVMRegressor(kernel=kernel, gamma=gamma, alpha=0.1, max_basis=40, random_state=0)
    here, there = model.fit(X, y).predict(X), model.fit(X * units, y).predict(X * units)
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-6)
    model.set_params(alpha="gcv")
    here = model.fit(X, y).predict(X)
    units = 2.0 ** np.array([20, 0, -20, 7])  # these round nothing
    np.testing.assert_array_equal(model.fit(X * units, y).predict(X * units), here)


def test_probabilities_do_not_depend_on_the_units_either(rng):
    X = rng.standard_normal((1500, 3))  # more rows than the temperature is fitted on
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(1500) > 0
    model = kernsift.SubsetLSSVMClassifier(gamma="standard", max_basis=30, random_state=0)
    units = np.array([1e6, 1e-6, 10.0])
    here, there = model.fit(X, y).predict_proba(X), model.fit(X * units, y).predict_proba(X * units)
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-6)


def test_one_width_for_columns_of_many_scales_is_warned_about(rng):
    X, y = table(rng, 80)
    X[:, 2] *= 1e4
    for gamma in ("scale", "median", 0.5):
        with pytest.warns(UserWarning, match=r"columns 2 and \d have standard deviations .* one width for all columns"):
            SubsetLSSVMRegressor(gamma=gamma, max_basis=10).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gamma in ("standard", "learn", [1.0, 1.0, 1e-8, 1.0]):
            SubsetLSSVMRegressor(gamma=gamma, max_basis=10).fit(X, y)
        SubsetLSSVMRegressor(kernel="linear", max_basis=10).fit(X, y)
        SubsetLSSVMRegressor(max_basis=10).fit(X[:, [0, 1, 3]], y)
        X[:, 2] = 0.1 + 1e-17 * rng.standard_normal(80)
        X[0, 2] = np.nextafter(X[1, 2], 1.0)  # a constant column, but for rounding
        SubsetLSSVMRegressor(max_basis=10).fit(X, y)


def test_the_warning_names_columns(rng):
    pd = pytest.importorskip("pandas", reason="needs pandas")

    X, y = table(rng, 80)
    frame = pd.DataFrame(X * [1, 1, 1e-3, 1], columns=["a", "b", "small", "d"])
    with pytest.warns(UserWarning, match="'small'"):
        SubsetLSSVMRegressor(max_basis=10).fit(frame, y)
