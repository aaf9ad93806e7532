"""save(what="predict"): the same predictions from a few kilobytes, and nothing else."""

from __future__ import annotations

import kernsift
import numpy as np
import pytest
from kernsift import (
    KernelClassifier,
    KernelRegressor,
    LSSVMClassifier,
    LSSVMRegressor,
    OnlineLSSVMRegressor,
    OROLSClassifier,
    OROLSRegressor,
    SparseLSSVMClassifier,
    SparseLSSVMRegressor,
    SubsetLSSVMClassifier,
    SubsetLSSVMRegressor,
)

MODELS = [
    SubsetLSSVMRegressor(max_basis=20, gamma="learn", random_state=0),
    SubsetLSSVMClassifier(max_basis=20, random_state=0),
    LSSVMRegressor(),
    LSSVMClassifier(),
    SparseLSSVMRegressor(max_basis=20),
    SparseLSSVMClassifier(max_basis=20),
    OROLSRegressor(max_basis=20, gammas=[0.1, 1.0]),
    OROLSClassifier(max_basis=20),
    KernelRegressor(random_state=0, settings={"max_basis": 20}),
    KernelClassifier(random_state=0, settings={"max_basis": 20, "gamma": "standard"}),
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
    model = SubsetLSSVMRegressor(kernel="laplacian", gamma=gamma, size="max", random_state=0).fit(X, y)
    assert model.n_basis_ == 500
    model.save(tmp_path / "model.npz", what="predict")
    assert (tmp_path / "model.npz").stat().st_size <= 60_000


def test_what_is_refused(rng, tmp_path):
    X = rng.standard_normal((30, 2))
    with pytest.raises(ValueError, match="what='predcit' must be 'all' or 'predict' \\(did you mean 'predict'"):
        LSSVMRegressor().fit(X, X[:, 0]).save(tmp_path / "model.npz", what="predcit")
    with pytest.raises(ValueError, match="OnlineLSSVMRegressor goes on learning with all it has"):
        OnlineLSSVMRegressor().fit(X, X[:, 0]).save(tmp_path / "model.npz", what="predict")
    model = SubsetLSSVMRegressor(max_basis=5, random_state=0).fit(X, X[:, 0])
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
