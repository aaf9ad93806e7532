"""Kernels on groups of columns, their sums and products, against dense solutions on literal kernels."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import export
from kernsift.kernels import On, Product, Sum
from oracles.objects import ls_svm, subset
from sklearn.base import clone

rng = np.random.default_rng(12)
X = rng.uniform(-2, 2, (70, 4))
Y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + 0.05 * rng.standard_normal(70)
NEW = rng.uniform(-2, 2, (9, 4))
KERNEL = On(0, "linear", weight=0.5) + On([1, 3], "laplacian", gamma=[0.7, 0.2]) * On(
    2, "polynomial", gamma=0.3, degree=2, coef0=0.4, weight=1.5
)


def literal(A, B):
    """The kernel above, pair by pair."""
    out = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            far = np.exp(-0.7 * abs(a[1] - b[1]) - 0.2 * abs(a[3] - b[3]))
            out[i, j] = 0.5 * a[0] * b[0] + far * 1.5 * (0.3 * a[2] * b[2] + 0.4) ** 2
    return out


def test_lssvm_is_the_dense_solution():
    model = kernsift.LSSVMRegressor(kernel=KERNEL, alpha=0.3).fit(X, Y)
    a, b = ls_svm(literal(X, X), Y, 0.3)
    np.testing.assert_allclose(model.predict(NEW), literal(NEW, X) @ a + b, rtol=1e-9, atol=1e-11)


def test_a_subset_is_the_dense_solution():
    chosen = [5, 60, 33, 12, 41, 8]
    model = kernsift.SubsetLSSVMRegressor(kernel=KERNEL, basis=chosen, alpha=0.2).fit(X, Y)
    beta, b = subset(literal(X, X[chosen]), literal(X[chosen], X[chosen]), Y, 0.2)
    np.testing.assert_allclose(model.predict(NEW), literal(NEW, X[chosen]) @ beta + b, rtol=1e-8, atol=1e-10)


def test_a_product_of_rbf_kernels_is_one_with_a_width_per_column():
    both = kernsift.LSSVMRegressor(kernel=On([0, 1], gamma=[0.5, 2.0]) * On([2, 3], gamma=0.1), alpha=0.1).fit(X, Y)
    one = kernsift.LSSVMRegressor(gamma=[0.5, 2.0, 0.1, 0.1], alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(both.predict(NEW), one.predict(NEW), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("word", ["scale", "standard", "median"])
def test_words_for_widths_follow_from_the_columns_of_the_fit(word):
    model = kernsift.LSSVMRegressor(kernel=On([1, 2], gamma=word), alpha=0.1).fit(X, Y)
    plain = kernsift.LSSVMRegressor(gamma=word, alpha=0.1, random_state=0).fit(X[:, 1:3], Y)
    np.testing.assert_allclose(model.columns_.kernel.gamma, plain.gamma_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(NEW), plain.predict(NEW[:, 1:3]), rtol=1e-7, atol=1e-9)


MODELS = [
    kernsift.LSSVMRegressor(kernel=KERNEL, alpha="loo"),
    kernsift.SparseLSSVMRegressor(kernel=KERNEL, max_basis=20),
    kernsift.SubsetLSSVMRegressor(kernel=KERNEL, max_basis=20, random_state=0),
    kernsift.OROLSRegressor(kernel=KERNEL, max_basis=20, random_state=0),
    kernsift.LSSVMClassifier(kernel=KERNEL),
    kernsift.SubsetLSSVMClassifier(kernel=KERNEL, max_basis=20, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_stored_cloned_and_resumed(model, tmp_path):
    y = Y > 0 if "Classifier" in type(model).__name__ else Y
    model = clone(model).fit(X, y)
    assert model.score(X, y) > 0.85
    model.save(tmp_path / "m.npz")
    for again in (kernsift.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
        assert again.kernel == KERNEL
    if hasattr(model, "partial_fit"):
        assert np.isfinite(model.partial_fit(X[:5], y[:5]).predict(NEW).astype(float)).all()


def test_the_selector_takes_them_too():
    found = kernsift.FeatureVectorSelector(kernel=KERNEL, n_components=8, random_state=0).fit(X)
    Z = found.transform(NEW)
    basis = X[found.basis_indices_]
    W = np.linalg.solve(np.linalg.cholesky(literal(basis, basis)), literal(basis, NEW))
    np.testing.assert_allclose(Z @ Z.T, W.T @ W, atol=1e-7)  # eight kernels that are nearly dependent


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_by_name(library):
    frames = pytest.importorskip(library, reason=f"needs {library}")
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("abcd")})
    new = frames.DataFrame({name: NEW[:, j] for j, name in enumerate("abcd")})
    kernel = On("a", "linear", weight=0.5) + On(["b", "d"], gamma=0.3)
    model = kernsift.LSSVMRegressor(kernel=kernel, alpha=0.1).fit(frame, Y)
    plain = kernsift.LSSVMRegressor(kernel=On(0, "linear", weight=0.5) + On([1, 3], gamma=0.3), alpha=0.1).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), plain.predict(NEW))
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match=r"kernel names 'e', which is no column of X: it has a, b, c, d"):
        kernsift.LSSVMRegressor(kernel=On("e")).fit(frame, Y)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: On([]), "columns is empty"),
        (lambda: On(0, "poly"), r"kernel 'poly' is unknown \(did you mean 'polynomial'\?\)"),
        (lambda: On(0, weight=-1.0), r"weight=-1.0 must be a positive number"),
        (lambda: Sum([On(0), "rbf"]), "parts must be kernels on columns.*'rbf'"),
        (lambda: Product([]), "parts must be"),
        (lambda: kernsift.LSSVMRegressor(kernel=On(9)).fit(X, Y), "kernel names 9, which is no column of X"),
        (lambda: kernsift.LSSVMRegressor(kernel=On(0, gamma=[1.0, 2.0])).fit(X, Y), r"gamma has shape \(2,\)"),
        (lambda: kernsift.LSSVMRegressor(kernel=On(0)).fit(X, Y).predict(NEW[:, :3]), "3 features"),
        (lambda: kernsift.LSSVMRegressor(kernel=On(0)).fit(np.where(X > 1.9, np.nan, X), Y), "NaN"),
        (lambda: kernsift.OnlineLSSVMRegressor(kernel=On(0)).fit(X, Y), "'kernel' parameter"),
    ],
)
def test_mistakes_are_named(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize("to", [export.to_c, export.to_libsvm])
def test_exports_refuse_by_name(to):
    with pytest.raises(ValueError, match=r"On\(columns"):
        to(kernsift.LSSVMRegressor(kernel=KERNEL).fit(X, Y))
