"""`feature_importances_` and `predict_log_proba`, against their definitions."""

from __future__ import annotations

import kernsift
import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.feature_selection import SelectFromModel
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(5)
X = rng.uniform(-2, 2, (200, 3)) * [1.0, 1.0, 3.0]
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
CLASSIFIERS = [
    kernsift.SubsetLSSVMClassifier(max_basis=20, random_state=0),
    kernsift.LSSVMClassifier(),
    kernsift.SparseLSSVMClassifier(max_basis=10),
    kernsift.OROLSClassifier(max_basis=10),
    kernsift.OnlineLSSVMClassifier(max_basis=20),
    kernsift.KernelClassifier(random_state=0, settings={"kernel": "rbf", "gamma": 1.0, "max_basis": 20}),
]
each = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)


@each
@pytest.mark.parametrize("classes", [2, 3])
def test_log_probabilities(model, classes):
    y = np.digitize(Y, [0.0, 0.7][: classes - 1])
    model.fit(X, y)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)
    assert model.predict_log_proba(X.astype(np.float32)).dtype == np.float32


def test_log_probabilities_stay_finite_where_probabilities_underflow():
    model = kernsift.LSSVMClassifier(kernel="linear", alpha=1e-3).fit(X, Y > 0)
    far = 1e7 * X[:5]
    assert (model.predict_proba(far) == 0).any()
    assert np.isfinite(model.predict_log_proba(far)).all()


def by_pairs(model, gamma, power):
    """Mean over all pairs of centres of each feature's part of the distance."""
    V = model.basis_vectors_
    parts = gamma * (np.abs(V[:, None] - V[None]) ** power).mean(axis=(0, 1))
    return parts / parts.sum()


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "laplacian"])
def test_importances_are_parts_of_the_mean_distance(kernel):
    gamma = np.array([0.5, 0.0, 0.1])
    model = kernsift.SubsetLSSVMRegressor(kernel=kernel, gamma=gamma, max_basis=20, random_state=0).fit(X, Y)
    expected = by_pairs(model, gamma, 1 if kernel == "laplacian" else 2)
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-12)
    assert model.feature_importances_[1] == 0


def test_importances_of_learned_widths_a_warp_and_a_linear_kernel():
    learned = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=20, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(learned.feature_importances_, learned.learned_gamma_["relevance"])
    assert learned.feature_importances_.argmax() == 0
    warp = kernsift.Warp(knots=[[-2, 2], [0], [-6, 6]], slopes=[[3], [], [1]])
    warped = kernsift.LSSVMRegressor(gamma=warp).fit(X, Y)
    assert warped.feature_importances_[1] == 0
    assert warped.feature_importances_[0] > 0.8
    linear = kernsift.LSSVMRegressor(kernel="linear").fit(X, Y)
    slopes = linear.basis_vectors_.T @ linear.dual_coef_
    expected = np.abs(slopes) * X.std(axis=0)
    np.testing.assert_allclose(linear.feature_importances_, expected / expected.sum(), rtol=1e-9)
    assert not hasattr(kernsift.LSSVMRegressor(kernel="polynomial", gamma="standard").fit(X, Y), "feature_importances_")


def test_importances_are_of_the_columns_of_the_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "elm", "oak"), "z": X[:, 2]})
    model = kernsift.KernelRegressor(random_state=0, settings={"kernel": "rbf", "max_basis": 20}).fit(frame, Y)
    assert model.feature_importances_.shape == (3,)
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0, rtol=1e-12)


def test_scikit_learn_selects_by_them():
    chosen = SelectFromModel(kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=20, random_state=0))
    kept = chosen.fit(StandardScaler().fit_transform(X), Y).get_support()
    assert kept[0]
    assert not kept[2]
    assert not is_classifier(chosen)
