"""`n_models`: the mean of several subset models of one kernel, as one expansion."""

from __future__ import annotations

import kernsift
import numpy as np
import pytest
from kernsift import KernelClassifier, KernelRegressor, SubsetLSSVMClassifier, SubsetLSSVMRegressor, export
from kernsift.subset.mean import members


def rows(rng, n=400):
    X = rng.uniform(-2, 2, (n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("gamma", [0.5, "scale", "median", "learn", "warp"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_it_is_the_mean_of_its_members(gamma, outputs, rng):
    X, y = rows(rng)
    y = y if outputs == 1 else np.column_stack([y, X[:, 2]])
    model = SubsetLSSVMRegressor(gamma=gamma, max_basis=15, n_models=3, random_state=0, alpha=0.1).fit(X, y)
    again = SubsetLSSVMRegressor(gamma=gamma, max_basis=15, n_models=3, random_state=0, alpha=0.1)
    several = members(again, again._checked(X, y), 3)
    mean = np.mean([m.predict(X) for m in several], axis=0)
    # coefficients of thousands at this ridge are added in another order
    np.testing.assert_allclose(model.predict(X), mean, rtol=0, atol=1e-9)
    assert len({m.basis_vectors_.tobytes() for m in several}) == 3
    assert len(np.unique(model.basis_vectors_, axis=0)) == model.n_basis_ <= 45
    np.testing.assert_array_equal(X[model.basis_indices_], model.basis_vectors_)
    np.testing.assert_allclose(model.cost_, np.mean([m.cost_ for m in several], axis=0))
    order = rng.permutation(len(X))
    if gamma != "median":
        np.testing.assert_allclose(model.fit(X[order], y[order]).predict(X), mean, rtol=0, atol=1e-9)


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2, 5]])
@pytest.mark.parametrize("loss", ["squared", "auto"])
def test_log_odds_of_classes_are_averaged(labels, loss, rng):
    X, y = rows(rng)
    y = np.asarray(labels)[np.digitize(y, [1.0, 2.0][: len(labels) - 1])]
    settings = {"gamma": 0.5, "max_basis": 15, "n_models": 3, "random_state": 0, "loss": loss}
    model, again = SubsetLSSVMClassifier(**settings).fit(X, y), SubsetLSSVMClassifier(**settings)
    several = members(again, again._checked(X, y), 3)
    odds = np.mean([m.temperature_ * m.decision_function(X) for m in several], axis=0)
    np.testing.assert_allclose(model.temperature_ * model.decision_function(X), odds, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    assert model.score(X, y) >= np.mean([m.score(X, y) for m in several])


@pytest.mark.parametrize("what", ["all", "predict"])
def test_files_and_exports_know_no_difference(what, rng, tmp_path):
    X, y = rows(rng)
    model = SubsetLSSVMRegressor(gamma=0.5, max_basis=15, n_models=3, random_state=0).fit(X, y)
    model.save(tmp_path / "model", what=what)
    np.testing.assert_array_equal(kernsift.load(tmp_path / "model").predict(X), model.predict(X))
    np.testing.assert_allclose(export._model.describe(model).scores(X)[:, 0], model.predict(X), rtol=0, atol=1e-9)
    assert f"{model.n_basis_} kernels" in export.to_c(model)


def test_what_needs_one_model_says_so(rng):
    X, y = rows(rng)
    model = SubsetLSSVMRegressor(gamma=0.5, max_basis=15, n_models=3, random_state=0).fit(X, y)
    before = model.predict(X)
    for call in (
        lambda: model.predict(X, return_std=True),
        lambda: model.partial_fit(X, y),
        lambda: model.resize(3),
        lambda: model.accumulate(X, y),
        lambda: model.state_,
        lambda: SubsetLSSVMRegressor(n_models=2).partial_fit(X, y),
        lambda: SubsetLSSVMRegressor(n_models=2).fit_batches([(X, y)]),
        lambda: SubsetLSSVMRegressor(n_models=2).select_basis(X, y),
        lambda: SubsetLSSVMRegressor(n_models=2, polish=3, max_basis=9).fit(X, y),
    ):
        with pytest.raises(ValueError, match="n_models"):
            call()
    np.testing.assert_array_equal(model.predict(X), before)
    one = model.set_params(n_models=1).fit(X, y)
    assert one.predict(X, return_std=True)[1].shape == y.shape
    with pytest.raises(ValueError, match="n_models"):
        SubsetLSSVMRegressor(n_models=0).fit(X, y)


def test_the_front_door_takes_it_by_its_settings(rng):
    X, y = rows(rng, 250)
    settings = {"n_models": 3, "max_basis": 12, "gamma": "standard", "kernel": "rbf"}
    model = KernelRegressor(random_state=0, settings=settings).fit(X, y)
    assert 12 < model.n_basis_ <= 36
    assert "kernels" in model.report()
    labels = KernelClassifier(random_state=0, settings=settings).fit(X, y > 1)
    assert labels.score(X, y > 1) > 0.85
