"""save(what="predict"): the same predictions from a few kilobytes, and nothing else."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from sklearn.base import clone

MODELS = [
    kernsift.SubsetLSSVMRegressor(max_basis=20, gamma="learn", random_state=0),
    kernsift.SubsetLSSVMClassifier(max_basis=20, random_state=0),
    kernsift.LSSVMRegressor(),
    kernsift.LSSVMClassifier(),
    kernsift.SparseLSSVMRegressor(max_basis=20),
    kernsift.SparseLSSVMClassifier(max_basis=20),
    kernsift.OROLSRegressor(max_basis=20, gammas=[0.1, 1.0]),
    kernsift.OROLSClassifier(max_basis=20),
    kernsift.KernelRegressor(random_state=0, settings={"max_basis": 20}),
    kernsift.KernelClassifier(random_state=0, settings={"max_basis": 20, "gamma": "standard"}),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_predictions_are_the_same_and_the_rest_is_refused(model, rng, tmp_path):
    X = rng.standard_normal((150, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    classes = hasattr(model, "decision_function")
    model.fit(X, y > 0 if classes else y)
    model.save(tmp_path / "all.npz")
    model.save(tmp_path / "predict.npz", what="predict")
    assert (tmp_path / "predict.npz").stat().st_size < (tmp_path / "all.npz").stat().st_size
    again = kernsift.load(tmp_path / "predict.npz")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if not classes:
        with pytest.raises(ValueError, match="the standard deviation needs more than predictions do"):
            again.predict(X, return_std=True)
    for name in ("n_basis_", "alpha_", "kernel_", "n_samples_seen_"):
        assert np.all(getattr(again, name) == getattr(model, name))
    if hasattr(again, "partial_fit"):
        with pytest.raises(ValueError, match="partial_fit needs more than predictions do"):
            again.partial_fit(X, y > 0 if classes else y)
    if hasattr(again, "report"):
        assert again.report() == model.report()
    again.save(tmp_path / "again.npz", what="predict")  # once more
    np.testing.assert_array_equal(kernsift.load(tmp_path / "again.npz").predict(X), model.predict(X))
    again.fit(X, y > 0 if classes else y)  # from the beginning it learns as ever
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if not classes:
        again.predict(X, return_std=True)


@pytest.mark.parametrize("gamma", ["learn", "standard"])
def test_500_kernels_on_ten_columns_take_60_kilobytes(gamma, rng, tmp_path):
    X = rng.uniform(size=(2000, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * X[:, 2] ** 2 + rng.standard_normal(2000)
    model = kernsift.SubsetLSSVMRegressor(kernel="laplacian", gamma=gamma, size="max", random_state=0).fit(X, y)
    assert model.n_basis_ == 500
    model.save(tmp_path / "model.npz", what="predict")
    assert (tmp_path / "model.npz").stat().st_size <= 60_000


def test_what_is_refused(rng, tmp_path):
    X = rng.standard_normal((30, 2))
    with pytest.raises(ValueError, match="what='predcit' must be 'all' or 'predict' \\(did you mean 'predict'"):
        kernsift.LSSVMRegressor().fit(X, X[:, 0]).save(tmp_path / "model.npz", what="predcit")
    with pytest.raises(ValueError, match="OnlineLSSVMRegressor goes on learning with all it has"):
        kernsift.OnlineLSSVMRegressor().fit(X, X[:, 0]).save(tmp_path / "model.npz", what="predict")
    model = kernsift.SubsetLSSVMRegressor(max_basis=5, random_state=0).fit(X, X[:, 0])
    model.save(tmp_path / "model.npz", what="predict")
    again = kernsift.load(tmp_path / "model.npz")
    for name, call in {
        "merge": lambda: again.merge(model),
        "accumulate": lambda: again.accumulate(X, X[:, 0]),
        "resize": lambda: again.resize(3),
        "state_": lambda: again.state_,
    }.items():
        with pytest.raises(ValueError, match=f"{name} needs more than predictions do"):
            call()


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_fit_can_keep_no_more_than_predictions_need(model, rng, tmp_path):
    X = rng.standard_normal((150, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    classes = hasattr(model, "decision_function")
    labels = y > 0 if classes else y
    front = hasattr(model, "settings")
    how = {"settings": {**model.settings, "keep": "predict"}} if front else {"keep": "predict"}
    whole = clone(model).fit(X, labels)
    small = clone(model).set_params(**how).fit(X, labels)
    again = pickle.loads(pickle.dumps(small))
    assert len(pickle.dumps(small)) < len(pickle.dumps(whole))
    for name in ("predict", "predict_proba") if hasattr(model, "predict_proba") else ("predict",):
        np.testing.assert_array_equal(getattr(small, name)(X), getattr(whole, name)(X))
        np.testing.assert_array_equal(getattr(again, name)(X), getattr(whole, name)(X))
    if front:
        assert small.report().splitlines()[0] == whole.report().splitlines()[0]
    if not classes:
        with pytest.raises(ValueError, match="keep='predict' of a fit"):
            again.predict_interval(X)
    if hasattr(again, "partial_fit"):
        with pytest.raises(ValueError, match="keep='predict' of a fit"):
            again.partial_fit(X, labels)
    small.save(tmp_path / "small.npz")
    np.testing.assert_array_equal(kernsift.load(tmp_path / "small.npz").predict(X), whole.predict(X))
    back = {"settings": model.settings} if front else {"keep": "all"}
    small.set_params(**back).fit(X, labels)  # from the beginning it learns as ever
    assert classes or small.predict(X, return_std=True)[1].shape == (150,)


def test_a_front_door_of_500_kernels_is_pickled_in_60_kilobytes(rng):
    X = rng.uniform(size=(2000, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * X[:, 2] ** 2 + rng.standard_normal(2000)
    how = {"kernel": "laplacian", "gamma": "standard", "size": "max", "keep": "predict"}
    model = kernsift.KernelRegressor(random_state=0, settings=how).fit(X, y)
    assert model.n_basis_ == 500
    assert len(pickle.dumps(model)) <= 60_000


def test_pickles_have_no_path_unless_they_are_told_to(rng):
    X = rng.standard_normal((400, 3))
    model = kernsift.SubsetLSSVMRegressor(max_basis=50, gamma=0.3, random_state=0).fit(X, X[:, 0])
    without, model.keep_path = len(pickle.dumps(model)), True
    path = (3 * 50) ** 2 * 8  # sums of the elements of the start, and the factor of their kernel matrix
    assert len(pickle.dumps(model)) - without >= 2 * path
    assert pickle.loads(pickle.dumps(model)).resize(60).n_basis_ == 60


def test_keep_is_one_of_two_words(rng):
    X = rng.standard_normal((30, 2))
    with pytest.raises(ValueError, match="keep"):
        kernsift.LSSVMRegressor(keep="predcit").fit(X, X[:, 0])
