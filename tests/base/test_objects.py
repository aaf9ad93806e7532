"""Kernels of anything, against dense solutions on their matrices; "precomputed" against the same kernel by name."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from oracles.objects import edit_distance, gram, krls, ls_svm, subset
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict

rng = np.random.default_rng(8)
WORDS = sorted({"".join(rng.choice(list("abc"), rng.integers(2, 7))) for _ in range(60)}, key=hash)
WORDS = [str(w) for w in rng.permutation(sorted(WORDS))]
Y = np.array([w.count("a") - 0.5 * len(w) for w in WORDS])
NEW = ["ab", "cab", "aaaa", "bcb", "cc"]
X = rng.uniform(-2, 2, (80, 2))
F = np.sin(X[:, 0]) + X[:, 1]


def words(a: str, b: str) -> float:
    return float(np.exp(-0.7 * edit_distance(a, b)))


def far(a, b):
    return -1.0


DENSE = [kernsift.LSSVMRegressor(alpha=0.3), kernsift.SparseLSSVMRegressor(alpha=0.3, max_basis=len(WORDS))]
ALL = [
    *DENSE,
    kernsift.SubsetLSSVMRegressor(alpha=0.3, max_basis=20, random_state=0),
    kernsift.KRLSRegressor(alpha=0.3),
    kernsift.OROLSRegressor(max_basis=10),
]
LABELLED = [
    kernsift.LSSVMClassifier(),
    kernsift.SparseLSSVMClassifier(max_basis=30),
    kernsift.SubsetLSSVMClassifier(max_basis=30, random_state=0),
]


def name_of(model):
    return type(model).__name__


def test_lssvm_on_words_is_the_dense_solution():
    model = kernsift.LSSVMRegressor(kernel=words, alpha=0.3).fit(WORDS, Y)
    a, b = ls_svm(gram(words, WORDS, WORDS), Y, 0.3)
    np.testing.assert_allclose(model.predict(NEW), gram(words, NEW, WORDS) @ a + b, rtol=1e-9)
    np.testing.assert_allclose(model.dual_coef_, a, rtol=1e-7, atol=1e-10)
    assert model.n_basis_ == len(WORDS)


@pytest.mark.parametrize("kernel", ["callable", "precomputed"])
def test_a_subset_of_objects_by_their_numbers_is_the_dense_solution(kernel):
    chosen = [3, 1, 17, 20, 8]
    K = gram(words, WORDS, WORDS)
    model = kernsift.SubsetLSSVMRegressor(kernel=words if kernel == "callable" else kernel, basis=chosen, alpha=0.3)
    model.fit(WORDS if kernel == "callable" else K, Y)
    beta, b = subset(K[:, chosen], K[np.ix_(chosen, chosen)], Y, 0.3)
    basis = [WORDS[j] for j in chosen]
    rows = NEW if kernel == "callable" else gram(words, NEW, WORDS)
    np.testing.assert_allclose(model.predict(rows), gram(words, NEW, basis) @ beta + b, rtol=1e-8)
    assert model.basis_indices_.tolist() == chosen


@pytest.mark.parametrize("tol", [0.05, 0.5])
def test_krls_on_words_is_the_dense_recursion(tol):
    model = kernsift.KRLSRegressor(kernel=words, novelty_tol=tol, alpha=0.2).fit(WORDS, Y)
    chosen, beta = krls(words, WORDS, Y, tol, 0.2)
    assert list(model.columns_.chosen) == chosen
    assert model.n_basis_ == len(chosen)
    np.testing.assert_allclose(model.predict(NEW), gram(words, NEW, chosen) @ beta, rtol=1e-7, atol=1e-9)
    by_row = kernsift.KRLSRegressor(kernel=words, novelty_tol=tol, alpha=0.2)
    for word, y in zip(WORDS, Y, strict=True):
        by_row.update(word, y)
    np.testing.assert_allclose(by_row.predict(NEW), model.predict(NEW), rtol=1e-12)
    np.testing.assert_allclose([by_row.predict_one(word) for word in NEW], model.predict(NEW), rtol=1e-12)


@pytest.mark.parametrize("family", ["LSSVMRegressor", "SparseLSSVMRegressor", "LSSVMClassifier"])
def test_precomputed_is_the_kernel_by_name(family):
    y = F if "Regressor" in family else F > 0
    K, test = rbf_kernel(X, gamma=0.5), rng.uniform(-2, 2, (30, 2))
    how = {"alpha": 0.5} | ({"max_basis": 80} if "Sparse" in family else {})
    one = getattr(kernsift, family)(kernel="precomputed", **how).fit(K, y)
    other = getattr(kernsift, family)(gamma=0.5, **how).fit(X, y)
    scores = "predict" if "Regressor" in family else "decision_function"
    mine = getattr(one, scores)(rbf_kernel(test, X, gamma=0.5))
    np.testing.assert_allclose(mine, getattr(other, scores)(test), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("model", LABELLED, ids=name_of)
def test_classifiers_of_words(model):
    labels = np.where(Y > -0.5, "many", "few")
    fitted = clone(model).set_params(kernel=words).fit(WORDS, labels)
    assert fitted.score(WORDS, labels) > 0.9
    np.testing.assert_allclose(fitted.predict_proba(NEW).sum(axis=1), 1.0)


def test_feature_vectors_of_words():
    chosen = kernsift.FeatureVectorSelector(kernel=words, n_components=10, n_candidates=None, n_eval=None).fit(WORDS)
    W = chosen.transform(WORDS)
    basis = [WORDS[j] for j in chosen.basis_indices_]
    K = gram(words, basis, basis)
    k = gram(words, WORDS, basis)
    np.testing.assert_allclose(W @ W.T, k @ np.linalg.solve(K, k.T), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_models_of_objects_are_copied_stored_and_predict_alone(model, tmp_path):
    fitted = clone(model).set_params(kernel=words).fit(WORDS, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))
    np.testing.assert_allclose([fitted.predict([w])[0] for w in NEW], fitted.predict(NEW), rtol=1e-9)
    with pytest.raises(TypeError, match=r"kernel is a function.*pickle"):
        fitted.save(tmp_path / "model.npz")
    assert not hasattr(fitted, "feature_importances_")


def test_precomputed_is_saved_and_cut_by_cross_validation(tmp_path):
    K = rbf_kernel(X, gamma=0.5)
    model = kernsift.LSSVMRegressor(kernel="precomputed", alpha=0.5)
    model.fit(K, F).save(tmp_path / "model.npz")
    np.testing.assert_array_equal(kernsift.load(tmp_path / "model.npz").predict(K[:5]), model.predict(K[:5]))
    by_name = kernsift.LSSVMRegressor(gamma=0.5, alpha=0.5)
    expected = cross_val_predict(by_name, X, F, cv=4)
    np.testing.assert_allclose(cross_val_predict(model, K, F, cv=4), expected, rtol=1e-6, atol=1e-8)


def test_rows_that_come_in_parts():
    model = kernsift.SubsetLSSVMRegressor(kernel=words, basis=[0, 1, 2, 3, 4, 5], alpha=0.3)
    whole = clone(model).fit(WORDS, Y)
    parts = clone(model).partial_fit(WORDS[:20], Y[:20]).partial_fit(WORDS[20:], Y[20:])
    np.testing.assert_allclose(parts.predict(NEW), whole.predict(NEW), rtol=1e-9)


@pytest.mark.parametrize("model", ALL[:4], ids=name_of)
def test_bad_kernels_are_named_and_change_nothing(model):
    fitted = clone(model).set_params(kernel=words).fit(WORDS, Y)
    before = pickle.dumps(fitted)
    for kernel, message in (
        (far, r"k\(x, x\) is -1"),
        (lambda a, b: float("nan"), "NaN"),
        (lambda a, b: 1.0 if a == b else 5.0, "not positive semidefinite"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(kernel=kernel).fit(WORDS[:10], Y[:10])
    with pytest.raises(ValueError, match=r"y has 3 rows|inconsistent numbers"):
        fitted.fit(WORDS[:4], Y[:3])
    assert pickle.dumps(fitted) == before


def test_bad_matrices_are_named():
    model = kernsift.LSSVMRegressor(kernel="precomputed")
    K = rbf_kernel(X, gamma=0.5)
    with pytest.raises(ValueError, match=r"square matrix.*\(80, 2\)"):
        model.fit(X, F)
    with pytest.raises(ValueError, match="not symmetric"):
        model.fit(np.triu(K), F)
    model.fit(K, F)
    with pytest.raises(ValueError, match=r"with the 80 rows of fit.*\(80, 3\)"):
        model.predict(K[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((1, 80), np.nan))
