"""Dense LS-SVM against its bordered system."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import LSSVMClassifier, LSSVMRegressor, _core
from kernsift.base.probabilities import fit_temperature
from oracles.dense import bordered, dense_cost, dense_loo, dense_lssvm, dense_variance
from oracles.kernels import kernel_matrix
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.leave_one_out import check_grid, gram, off
from support.storing import ROUND_TRIPS

# The system's condition is (lambda_max + mu) / mu, at most a few thousand here: thirteen digits are left.
EXACT = 1e-11


def problem(rng, n=40, d=3, outputs=2):
    X = rng.standard_normal((n, d))
    Y = np.sin(X[:, :1] + np.arange(outputs)) + 0.1 * rng.standard_normal((n, outputs))
    return X, Y, rng.uniform(0.2, 3.0, n)


@parametrize_with_checks([LSSVMRegressor(), LSSVMClassifier(), LSSVMRegressor(kernel="matern32", robust=True)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"])
@pytest.mark.parametrize("bias", [True, False])
def test_ISLS_2_dense_solution_is_that_of_the_bordered_system(rng, kernel, bias):
    X, Y, v = problem(rng)
    model = LSSVMRegressor(kernel=kernel, gamma=0.4, alpha=0.3, fit_intercept=bias).fit(X, Y, v)
    K = gram(model, X)
    alpha, b = dense_lssvm(K, Y, v, 0.3, bias)
    assert off(model.dual_coef_, alpha) < EXACT
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9, atol=1e-12)
    assert off(model.predict(X), K @ alpha + b) < EXACT
    assert off(model.cost_, dense_cost(K, Y, v, 0.3, alpha, b)) < EXACT
    assert off(model.residuals_, Y - K @ alpha - b) < EXACT


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 300])
def test_every_size_of_block(rng, n):
    X, Y, v = problem(rng, n=n)
    model = LSSVMRegressor(gamma=0.4, alpha=0.3).fit(X, Y, v)
    alpha, b = dense_lssvm(gram(model, X), Y, v, 0.3)
    assert np.abs(model.dual_coef_ - alpha).max() < 1e-11
    assert np.abs(model.intercept_ - b).max() < 1e-11


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_MATH_6_1_leave_one_out_equals_refitting(rng, bias, weighted):
    X, Y, v = problem(rng)
    weight = v if weighted else None
    model = LSSVMRegressor(gamma=0.4, alpha=0.05, fit_intercept=bias).fit(X, Y, weight)
    K = gram(model, X)
    truth = dense_loo(K, Y, v if weighted else np.ones(len(X)), 0.05, bias)
    assert off(model.loo_residuals_, truth) < 1e-10
    refitted = LSSVMRegressor(gamma=0.4, alpha=0.05, fit_intercept=bias)
    for i in (0, 17, 39):
        rest = np.delete(np.arange(len(X)), i)
        refitted.fit(X[rest], Y[rest], None if weight is None else weight[rest])
        assert np.abs(Y[i] - refitted.predict(X[i : i + 1])[0] - model.loo_residuals_[i]).max() < 1e-10


def test_a_row_of_weight_zero_is_already_left_out(rng):
    X, Y, v = problem(rng)
    v[[3, 8]] = 0.0
    model = LSSVMRegressor(gamma=0.4, alpha=0.05).fit(X, Y, v)
    assert 3 not in model.basis_indices_
    assert np.abs(model.loo_residuals_[3] - (Y[3] - model.predict(X[3:4])[0])).max() < 1e-12
    without = LSSVMRegressor(gamma=0.4, alpha=0.05).fit(X[v > 0], Y[v > 0], v[v > 0])
    assert off(model.predict(X), without.predict(X)) < EXACT
    assert off(model.loo_residuals_[v > 0], without.loo_residuals_) < EXACT


@pytest.mark.parametrize("bias", [True, False])
def test_grid_is_the_leave_one_out_error_of_each_alpha(rng, bias):
    X, Y, v = problem(rng)
    grid = [0.01, 0.1, 1.0, 10.0]
    model = LSSVMRegressor(gamma=0.4, alpha="loo", alphas=grid, fit_intercept=bias).fit(X, Y, v)
    check_grid(model, X, Y, v, bias)
    fixed = LSSVMRegressor(gamma=0.4, alpha=model.alpha_, fit_intercept=bias).fit(X, Y, v)
    np.testing.assert_array_equal(model.dual_coef_, fixed.dual_coef_)


def test_gamma_is_chosen_with_alpha(rng):
    X, Y, v = problem(rng, n=60)
    model = LSSVMRegressor(gamma="loo", gammas=[0.001, 0.3, 100.0], alpha="loo").fit(X, Y, v)
    each = [LSSVMRegressor(gamma=g, alpha="loo").fit(X, Y, v).loo_grid_["error"].min() for g in (0.001, 0.3, 100.0)]
    assert off(model.loo_grid_["error"].min(axis=1), np.array(each)) < 1e-9
    assert model.gamma_[0] == (0.001, 0.3, 100.0)[int(np.argmin(each))] == 0.3
    per_feature = LSSVMRegressor(gamma="loo", gammas=[[0.3, 0.1, 0.1], [0.3, 0.3, 9.0]]).fit(X, Y)
    assert per_feature.gamma_.tolist() in ([0.3, 0.1, 0.1], [0.3, 0.3, 9.0])
    assert LSSVMRegressor(gamma="loo").fit(X, Y).loo_grid_["error"].shape == (7, 1)


@pytest.mark.parametrize("bias", [True, False])
def test_std_is_that_of_the_gaussian_process(rng, bias):
    X, Y, v = problem(rng)
    new = np.vstack([X[:3], rng.standard_normal((5, 3)), np.full((1, 3), 50.0)])
    model = LSSVMRegressor(gamma=0.4, alpha=0.3, fit_intercept=bias).fit(X, Y, v)
    K, k = gram(model, X), gram(model, X, new)
    variance = dense_variance(K, v, 0.3, k, np.ones(len(new)), bias)
    mean, found = model._mean_and_variance(new)  # calibrated in test_intervals.py
    noise = model.cost_ / (np.maximum(v, 1.0).sum() - bias)  # a weight above one is so many rows
    np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-12)
    assert off(found, (1 + variance / 0.3)[:, None] * noise) < EXACT
    np.testing.assert_array_equal(mean, model.predict(new))


def test_erratum_004_1_printed_dense_system_lacks_a_factor_two(rng):
    """(1) is stationary at K + I/(2 gamma); the printed K + I/gamma belongs to (gamma/2) sum e^2."""
    X, Y, _ = problem(rng, outputs=1)
    v, cost_weight = np.ones(len(X)), 2.5  # the paper's gamma
    K = gram(LSSVMRegressor(gamma=0.4).fit(X, Y), X)

    def gradient(mu):  # of (1) with w = sum alpha_i phi(x_i), along phi(x_j), and in b
        alpha, b = dense_lssvm(K, Y, v, mu)
        error = Y - K @ alpha - b
        return np.abs(np.vstack([K @ alpha - 2 * cost_weight * K @ error, -2 * cost_weight * error.sum(0)[None]])).max()

    assert gradient(1 / cost_weight) > 0.05
    assert gradient(1 / (2 * cost_weight)) < 1e-12
    model = LSSVMRegressor(gamma=0.4, alpha=1 / (2 * cost_weight)).fit(X, Y)
    alpha, _ = dense_lssvm(K, Y, v, 1 / (2 * cost_weight))
    assert off(model.dual_coef_, alpha) < EXACT


def test_weights_are_repetitions(rng):
    X, Y, _ = problem(rng)
    times = rng.integers(0, 4, len(X))
    weighted = LSSVMRegressor(gamma=0.4, alpha=0.3).fit(X, Y, times)
    repeated = LSSVMRegressor(gamma=0.4, alpha=0.3).fit(np.repeat(X, times, 0), np.repeat(Y, times, 0))
    # repeated rows share their coefficient: the larger matrix has a larger condition
    assert off(weighted.predict(X), repeated.predict(X)) < 1e-10


def test_repeated_rows_make_no_noise(rng):
    X = np.repeat(rng.integers(0, 3, (30, 2)).astype(float), 3, axis=0)  # at most 9 distinct
    y = rng.standard_normal(len(X))
    model = LSSVMRegressor(alpha="loo").fit(X, y)  # a warning would be an error here
    assert np.isfinite(model.loo_residuals_).all()
    assert np.isfinite(model.predict(X, return_std=True)[1]).all()


# --- robust -----------------------------------------------------------------------------------------------------------


C1, C2, FLOOR, CONSISTENCY = 2.5, 3.0, 1e-4, 1.483  # Suykens et al. 2002


def suykens(e):
    """Weights of residuals: 1 within 2.5 scales of 0, 1e-4 beyond 3, a line between."""
    r = np.abs(e) / (CONSISTENCY * np.median(np.abs(e - np.median(e))))
    return np.where(r <= C1, 1.0, np.maximum((C2 - r) / (C2 - C1), FLOOR))


def test_MATH_6_1_residuals_are_targets_less_fitted_values(rng):
    X, y = rng.uniform(-3, 3, (40, 2)), rng.standard_normal((40, 1))
    weight = rng.uniform(0.5, 2.0, 40)
    kernel = _core.Kernel("rbf", np.full(2, 0.5), 3, 1.0, X[0].copy())
    problem = _core.DenseProblem(kernel, X=X, Y=y, fit_intercept=True)
    found = problem.solve(weight, 0.3)
    fitted = kernel_matrix("rbf", X, X, 0.5) @ found["coef"] + found["intercept"]
    np.testing.assert_allclose(problem.residuals(weight, 0.3), y - fitted, atol=1e-12)  # of numbers about 1


def test_robust_fit_is_consistent_and_ignores_outliers(rng):
    X = rng.uniform(-3, 3, (120, 1))
    truth = np.sin(X[:, 0])
    y = truth + 0.05 * rng.standard_normal(120)
    bad = rng.choice(120, 12, replace=False)
    y[bad] += rng.choice([-4.0, 4.0], 12)
    plain = LSSVMRegressor(gamma=0.5, alpha=0.1).fit(X, y)
    robust = LSSVMRegressor(gamma=0.5, alpha=0.1, robust=True).fit(X, y)
    assert (robust.weights_[bad] == FLOOR).all()
    assert np.abs(robust.predict(X) - truth).max() < 0.1 < np.abs(plain.predict(X) - truth).max()
    # the weights belong to the residuals of the fit they make, within the tolerance of the iteration
    assert np.abs(suykens(robust.residuals_) - robust.weights_).max() < 5e-3
    same = LSSVMRegressor(gamma=0.5, alpha=0.1).fit(X, y, robust.weights_)
    np.testing.assert_allclose(robust.dual_coef_, same.dual_coef_, rtol=1e-12, atol=1e-14)
    # with alpha chosen too, the outliers do not choose it
    chosen = LSSVMRegressor(gamma=0.5, alpha="loo", robust=True).fit(X, y)
    assert np.abs(chosen.predict(X) - truth).max() < 0.1


def test_robust_weights_that_never_settle_are_reported(rng, monkeypatch):
    monkeypatch.setattr("kernsift.dense.base.MAX_ROUNDS", 1)
    X = rng.uniform(-3, 3, (60, 1))
    y = np.sin(X[:, 0]) + 0.05 * rng.standard_normal(60)
    y[::9] += 4.0
    with pytest.warns(ConvergenceWarning, match="robust weights"):
        LSSVMRegressor(gamma=0.5, robust=True).fit(X, y)


# --- classes ----------------------------------------------------------------------------------------------------------


def test_classes_share_one_factorisation(rng):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = LSSVMClassifier(gamma=0.3, alpha=0.5).fit(X, names)
    assert model.dual_coef_.shape == (149, 3)  # two of the rows are one
    for c in range(3):
        one = LSSVMRegressor(gamma=0.3, alpha=0.5).fit(X, np.where(y == c, 1.0, -1.0))
        assert off(model.decision_function(X)[:, c], one.predict(X)) < EXACT
        assert off(model.loo_residuals_[:, c], one.loo_residuals_) < EXACT
    assert (model.predict(X) == names).mean() > 0.95
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert (model.classes_[probability.argmax(axis=1)] == model.predict(X)).all()


def test_temperature_minimises_the_log_loss_of_rows_left_out():
    X, y = make_moons(150, noise=0.35, random_state=3)
    model = LSSVMClassifier(gamma=1.0, alpha=0.1).fit(X, y)
    scores = np.where(y == 1, 1.0, -1.0) - model.loo_residuals_

    def loss(log_t):
        margin = 2 * np.exp(log_t) * scores * np.where(y == 1, 1, -1)
        return np.logaddexp(0, -margin).sum() + 0.5 * log_t**2

    best = np.log(model.temperature_)
    assert loss(best) < min(loss(best - 1e-3), loss(best + 1e-3))
    assert -7 < best < 7
    perfect, worst = np.array([[1e3], [-1e3]]), np.array([[-1e3], [1e3]])
    for s in (perfect, worst):
        t = fit_temperature(s, np.array([1, 0]), np.ones(2))
        assert np.isfinite(t)
        assert t > 0


# --- state and bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_models_travel_as_arrays(rng, way):
    X, Y, v = problem(rng)
    model = LSSVMRegressor(gamma=0.4, alpha=0.3).fit(X, Y, v)
    mean, std = model.predict(X, return_std=True)  # fills the cache
    copy = ROUND_TRIPS[way](model)
    assert copy._cache == {}
    np.testing.assert_array_equal(copy.predict(X), mean)
    np.testing.assert_array_equal(copy.predict(X, return_std=True)[1], std)
    np.testing.assert_array_equal(copy.loo_residuals_, model.loo_residuals_)
    classifier = LSSVMClassifier().fit(X, Y[:, 0] > 0)
    copy = ROUND_TRIPS[way](classifier)
    np.testing.assert_array_equal(copy.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize(
    ("params", "fit", "complaint"),
    [
        ({"alpha": 0.0}, {}, "alpha"),
        ({"alpha": -1.0}, {}, "alpha"),
        ({"gamma": 0.0}, {}, "gamma"),
        ({"gamma": -1.0}, {}, "gamma"),
        ({"alpha": "loo", "alphas": [1.0, 0.0]}, {}, "alphas"),
        ({"alpha": "loo", "alphas": []}, {}, "alphas"),
        ({"gamma": "loo", "gammas": []}, {}, "gammas"),
        ({"gamma": "loo", "gammas": [0.1, -0.1]}, {}, "gamma"),
        ({}, {"sample_weight": -np.ones(40)}, "[Nn]egative"),
        ({}, {"sample_weight": np.zeros(40)}, "[Ss]ample.weight"),
        ({"gamma": 1e-18, "alpha": 1e-99}, {}, "alpha=1e-99 is too small"),
    ],
)
def test_bad_input_is_explained_and_changes_nothing(rng, params, fit, complaint):
    X, Y, _ = problem(rng)
    model = LSSVMRegressor(gamma=0.4).fit(X, Y)
    before = pickle.dumps(model.__getstate__())
    good = model.get_params()
    with pytest.raises(ValueError, match=complaint):
        model.set_params(**params).fit(X, Y, **fit)
    assert pickle.dumps(model.set_params(**good).__getstate__()) == before


def test_one_class_is_refused(rng):
    with pytest.raises(ValueError, match="1 class"):
        LSSVMClassifier().fit(rng.standard_normal((5, 2)), np.ones(5))
    with pytest.raises(ValueError, match="1 class"):
        LSSVMClassifier().fit(rng.standard_normal((3, 2)), [0, 1, 1], [0.0, 1.0, 1.0])


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e75])
def test_extreme_scales_of_y(rng, scale):
    X, Y, v = problem(rng, outputs=1)
    y = Y[:, 0]
    plain = LSSVMRegressor(gamma=0.4).fit(X, y, v)
    model = LSSVMRegressor(gamma=0.4).fit(X, scale * y, v)
    assert off(model.predict(X) / scale, plain.predict(X)) < EXACT


def test_constant_y_and_one_row():
    X = np.arange(5.0)[:, None]
    model = LSSVMRegressor().fit(X, np.full(5, 3.0))
    np.testing.assert_allclose(model.predict(X + 0.5), 3.0, rtol=1e-13)
    model = LSSVMRegressor().fit(X[:1], [3.0])
    np.testing.assert_allclose(model.predict(X), 3.0, rtol=1e-13)


def test_core_refuses_shapes():
    kernel = _core.Kernel("rbf", np.ones(2), 3, 1.0, np.zeros(2))
    X, Y, v = np.zeros((4, 2)), np.zeros((4, 1)), np.ones(4)
    with pytest.raises(ValueError, match="X must"):
        _core.DenseProblem(kernel, X=np.zeros((4, 3)), Y=Y, fit_intercept=True)
    with pytest.raises(ValueError, match="Y must"):
        _core.DenseProblem(kernel, X=X, Y=Y[:3].copy(), fit_intercept=True)
    with pytest.raises(ValueError, match="sample_weight must"):
        _core.DenseProblem(kernel, X=X, Y=Y, fit_intercept=True).solve(v[:3].copy(), 1.0)
    assert "LSSVMRegressor" in kernsift.__all__


def test_bordered_oracle_has_the_leave_one_out_identity(rng):
    """alpha_i / [M^-1]_ii, the identity behind loo_residuals_, on the oracle itself."""
    X, Y, v = problem(rng, n=15)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    alpha, _ = dense_lssvm(K, Y, v, 0.1)
    closed = alpha / np.diag(np.linalg.inv(bordered(K, v, 0.1)))[:-1, None]
    assert off(closed, dense_loo(K, Y, v, 0.1)) < 1e-10
