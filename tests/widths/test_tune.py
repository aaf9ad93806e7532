"""Width and ridge by leave-one-out: against models refitted without each row."""

from __future__ import annotations

import kernsift
import numpy as np
import pytest
from kernsift import tune
from oracles import subset_fit, subset_loo
from oracles.dense import dense_loo
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, ParameterGrid

rng = np.random.default_rng(20262)
N = 40
X = rng.uniform(-2, 2, (N, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(N)
THREE = (Y > -0.4).astype(int) + (Y > 0.6)
BASIS = np.arange(0, N, 5)
GAMMAS = [0.2, 1.0]
ALPHAS = [0.01, 0.1, 1.0]

# closed forms against refits at conditions below 1e4
RTOL = 1e-9


def rbf(A, B, gamma):
    return np.exp(-(gamma * (A[:, None] - B) ** 2).sum(axis=2))


def literal(basis, targets, weight, gamma, alpha, intercept=True):
    """Mean squared leave-one-out error on a basis, summed over the outputs, by refitting."""
    targets = targets.reshape(N, -1)
    left_out = subset_loo(rbf(X, basis, gamma), rbf(basis, basis, gamma), targets, weight, alpha, intercept)
    return weight @ ((targets - left_out) ** 2).sum(axis=1) / weight.sum()


def pairs(found):
    return zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("intercept", [True, False])
def test_subset_errors_are_those_of_refits(intercept, outputs):
    targets = Y if outputs == 1 else np.column_stack([Y, X[:, 0] ** 2])
    weight = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    weight[7] = 0.5
    estimator = kernsift.SubsetLSSVMRegressor(basis=BASIS, fit_intercept=intercept)
    found = tune(estimator, X, targets, gammas=GAMMAS, alphas=ALPHAS, sample_weight=weight)
    assert found.cv_results_["params"] == [{"gamma": g, "alpha": a} for g in GAMMAS for a in ALPHAS]
    for params, score in pairs(found):
        expected = literal(X[BASIS], targets, weight, **params, intercept=intercept)
        assert -score == pytest.approx(expected, rel=RTOL)
    chosen = found.best_params_
    exact = subset_fit(
        rbf(X, X[BASIS], chosen["gamma"]), rbf(X[BASIS], X[BASIS], chosen["gamma"]), targets.reshape(N, -1), weight,
        chosen["alpha"], intercept,
    )  # fmt: skip
    np.testing.assert_allclose(found.best_estimator_.dual_coef_.reshape(len(BASIS), -1), exact.beta, rtol=1e-8)


def test_gcv_is_that_of_the_hat_matrix():
    found = tune(
        kernsift.SubsetLSSVMRegressor(basis=BASIS), X, Y, gammas=GAMMAS, alphas=ALPHAS, criterion="gcv"
    )  # fmt: skip
    for params, score in pairs(found):
        K, Kmm = rbf(X, X[BASIS], params["gamma"]), rbf(X[BASIS], X[BASIS], params["gamma"])
        hat = np.zeros((N, N))
        for i, e in enumerate(np.eye(N)):
            fit = subset_fit(K, Kmm, e[:, None], np.ones(N), params["alpha"], True)
            hat[:, i] = (K @ fit.beta + fit.bias)[:, 0]
        rss = ((Y - hat @ Y) ** 2).sum()
        assert -score == pytest.approx(N * rss / (N - 1.4 * np.trace(hat)) ** 2, rel=RTOL)
    again = kernsift.SubsetLSSVMRegressor(basis=BASIS, **found.best_params_).fit(X, Y)
    np.testing.assert_allclose(found.best_estimator_.predict(X), again.predict(X), rtol=1e-9)


@pytest.mark.parametrize("one", [False, True])
def test_dense_errors_are_those_of_refits(one):
    gammas, alphas = (GAMMAS[:1], ALPHAS[1:2]) if one else (GAMMAS, ALPHAS)
    found = tune(kernsift.LSSVMRegressor(), X, Y, gammas=gammas, alphas=alphas)
    for params, score in pairs(found):
        left_out = dense_loo(rbf(X, X, params["gamma"]), Y[:, None], np.ones(N), params["alpha"])
        assert -score == pytest.approx((left_out**2).mean(), rel=RTOL)
    again = kernsift.LSSVMRegressor(**found.best_params_).fit(X, Y)
    np.testing.assert_allclose(found.best_estimator_.predict(X), again.predict(X), rtol=1e-9)
    assert found.best_estimator_.get_params() == again.get_params()


def test_an_online_dictionary_is_judged_by_its_exact_solution():
    estimator = kernsift.OnlineLSSVMRegressor(max_basis=8)
    found = tune(estimator, X, Y, gammas=GAMMAS, alphas=ALPHAS)
    for params, score in pairs(found):
        basis = kernsift.OnlineLSSVMRegressor(max_basis=8, gamma=params["gamma"]).fit(X, Y).basis_vectors_
        # close kernels: conditions up to 1e6
        assert -score == pytest.approx(literal(basis, Y, np.ones(N), **params), rel=1e-8)
    again = kernsift.OnlineLSSVMRegressor(max_basis=8, **found.best_params_).fit(X, Y).refit(X, Y)
    np.testing.assert_allclose(found.best_estimator_.predict(X), again.predict(X), rtol=1e-12)


def test_classes_are_judged_by_their_targets():
    targets = np.where(THREE[:, None] == np.arange(3), 1.0, -1.0)
    names = np.array(["a", "b", "c"])[THREE]
    basis = X[BASIS]
    found = tune(kernsift.SubsetLSSVMClassifier(basis=basis), X, names, gammas=GAMMAS, alphas=ALPHAS)
    for params, score in pairs(found):
        assert -score == pytest.approx(literal(basis, targets, np.ones(N), **params), rel=RTOL)
    assert found.best_estimator_.score(X, names) > 0.7
    online = tune(kernsift.OnlineLSSVMClassifier(max_basis=8), X, names, gammas=GAMMAS, alphas=ALPHAS)
    vectors = kernsift.OnlineLSSVMClassifier(max_basis=8, gamma=GAMMAS[1]).fit(X, names).basis_vectors_
    expected = literal(vectors, targets, np.ones(N), GAMMAS[1], ALPHAS[2])
    assert -online.cv_results_["mean_test_score"][-1] == pytest.approx(expected, rel=1e-8)
    dense = tune(kernsift.LSSVMClassifier(), X, names, gammas=GAMMAS, alphas=ALPHAS)
    left_out = dense_loo(rbf(X, X, GAMMAS[0]), targets, np.ones(N), ALPHAS[0])
    assert -dense.cv_results_["mean_test_score"][0] == pytest.approx((left_out**2).sum() / N, rel=RTOL)


@pytest.mark.parametrize(
    "estimator",
    [
        kernsift.SubsetLSSVMRegressor(max_basis=10, random_state=0),
        kernsift.LSSVMRegressor(),
        kernsift.SparseLSSVMRegressor(max_basis=10),
        kernsift.OnlineLSSVMRegressor(max_basis=10),
        kernsift.KRLSRegressor(max_basis=10),
    ],
    ids=lambda e: type(e).__name__,
)
def test_every_family_and_the_defaults(estimator):
    before = estimator.get_params()
    found = tune(estimator, X, Y)
    assert estimator.get_params() == before
    results = found.cv_results_
    assert {len(v) for v in results.values()} == {7 * 21}
    assert results["rank_test_score"][found.best_index_] == 1
    assert results["mean_test_score"][found.best_index_] == found.best_score_ == results["mean_test_score"].max()
    assert results["params"][found.best_index_] == found.best_params_
    assert (results["n_basis"] > 0).all()
    assert (results["fit_time"] > 0).all()
    best = found.best_estimator_
    assert best.alpha_ == found.best_params_["alpha"]
    np.testing.assert_allclose(best.gamma_, found.best_params_["gamma"])
    assert best.get_params()["alpha"] == best.alpha_
    assert best.score(X, Y) > 0.5


def test_widths_by_name_and_by_feature():
    found = tune(
        kernsift.LSSVMRegressor(), X, Y, gammas=["scale", "median", [0.5, 0.1], 2], alphas=[0.1, 1.0]
    )  # fmt: skip
    widths = found.cv_results_["param_gamma"][::2]
    assert widths[0] == pytest.approx(1 / X.var(axis=0).sum())
    squares = ((X[:, None] - X) ** 2).sum(axis=2)[np.triu_indices(N, 1)]
    assert widths[1] == pytest.approx(1 / (2 * np.median(squares)))
    assert widths[2].tolist() == [0.5, 0.1]
    assert widths[3] == 2
    subset = tune(kernsift.SubsetLSSVMRegressor(basis=BASIS), X, Y, gammas=[[0.5, 0.1]], alphas=[0.1])
    assert subset.best_estimator_.gamma_.tolist() == [0.5, 0.1]


def test_rows_of_weight_zero_are_not_there():
    weight = (np.arange(N) % 4 > 0).astype(float)
    for estimator in (kernsift.LSSVMRegressor(), kernsift.SubsetLSSVMRegressor(basis=X[BASIS])):
        with_zeros = tune(estimator, X, Y, gammas=GAMMAS, alphas=ALPHAS, sample_weight=weight)
        without = tune(estimator, X[weight > 0], Y[weight > 0], gammas=GAMMAS, alphas=ALPHAS)
        np.testing.assert_allclose(
            with_zeros.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"], rtol=1e-10
        )


def test_a_ridge_below_rounding_is_not_considered():
    estimator = kernsift.SubsetLSSVMRegressor(basis=BASIS)
    found = tune(estimator, X, Y, gammas=[1.0], alphas=[1e-30, 0.1])
    assert found.cv_results_["mean_test_score"][0] == -np.inf
    assert found.cv_results_["rank_test_score"].tolist() == [2, 1]
    with pytest.raises(ValueError, match=r"no pair of 1 gammas.*larger alphas"):
        tune(estimator, X, Y, gammas=[1.0], alphas=[1e-30])


def test_without_refit_there_is_no_model():
    assert tune(kernsift.LSSVMRegressor(), X, Y, gammas=[1.0], refit=False).best_estimator_ is None


def test_as_good_as_a_grid_search():
    """The same pairs by five-fold cross-validation: the error on new rows is the same within a few per cent."""
    X, y = make_friedman1(1500, noise=1.0, random_state=7)
    new_X, new_y = make_friedman1(3000, noise=0.0, random_state=8)
    X, new_X = (2 * Z[:, :5] - 1 for Z in (X, new_X))
    estimator = kernsift.SubsetLSSVMRegressor(max_basis=60, random_state=0)
    grid = {"gamma": [0.02, 0.1, 0.5], "alpha": np.logspace(-4, 2, 7).tolist()}
    found = tune(estimator, X, y, gammas=grid["gamma"], alphas=grid["alpha"])
    rival = GridSearchCV(estimator, grid, cv=5, scoring="neg_mean_squared_error").fit(X, y)
    ours, theirs = (np.mean((m.predict(new_X) - new_y) ** 2) for m in (found.best_estimator_, rival.best_estimator_))
    assert ours < 1.1 * theirs
    # and no worse than 1.1 times the best pair there was
    best = min(
        np.mean(
            (kernsift.SubsetLSSVMRegressor(max_basis=60, random_state=0, **p).fit(X, y).predict(new_X) - new_y) ** 2
        )
        for p in ParameterGrid(grid)
    )
    assert ours < 1.1 * best


def test_refusals_say_which_and_what_to_do():
    def refused(match, estimator=None, kind=ValueError, **more):
        with pytest.raises(kind, match=match):
            tune(kernsift.LSSVMRegressor() if estimator is None else estimator, X, Y, **more)

    refused("criterion='aic' must be one of", criterion="aic")
    refused("LSSVMRegressor has the exact leave-one-out error.*criterion='loo'", criterion="gcv")
    refused("alphas must be finite and positive", alphas=[0.1, 0.0])
    refused("alphas must be finite and positive", alphas=[])
    refused("gammas is empty", gammas=[])
    refused("gammas holds 'loo'", gammas=["loo"])
    refused("gamma must be finite, not negative", gammas=[-1.0])
    refused("forgetting=0.9", kernsift.OnlineLSSVMRegressor(forgetting=0.9))
    refused("engine='inverse'", kernsift.OnlineLSSVMRegressor(engine="inverse"))
    refused("reselect=True", kernsift.SparseLSSVMRegressor(method="sls", reselect=True))
    refused("got OROLSRegressor.*GridSearchCV", kernsift.OROLSRegressor(), TypeError)
