"""Standard deviations and intervals against rows left out by refitting, and their coverage on rows never seen."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift.base.left_out import LeftOut
from oracles.left_out import jackknife_plus, smallest_that_holds, standardised

KERNELS = ("rbf", "laplacian", "matern32")
FAMILIES = {
    "dense": lambda kernel: kernsift.LSSVMRegressor(kernel=kernel, gamma="standard"),
    "dense, alpha by leave-one-out": lambda kernel: kernsift.LSSVMRegressor(
        kernel=kernel, gamma="standard", alpha="loo"
    ),
    "isls": lambda kernel: kernsift.SparseLSSVMRegressor(kernel=kernel, gamma="standard", max_basis=40),
    "sls": lambda kernel: kernsift.SparseLSSVMRegressor(kernel=kernel, gamma="standard", max_basis=40, method="sls"),
    "pruned": lambda kernel: kernsift.SubsetLSSVMRegressor(
        kernel=kernel, gamma="standard", max_basis=40, random_state=0
    ),
    "orols": lambda kernel: kernsift.OROLSRegressor(kernel=kernel, gamma="standard"),
}


def friedman(rng, n, noise=1.0):
    X = rng.uniform(size=(n, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, f + noise * rng.standard_normal(n)


def weighted(rng, n=40):
    X = rng.uniform(-2, 2, (n, 2))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 0] * X[:, 1]]) + 0.2 * rng.standard_normal((n, 2))
    return X, Y, rng.choice([0.5, 1.0, 2.0, 3.0], n)


def kernels_of(Z, X, v):
    """The kernel that each row takes along: that on it, unless more of the row stays."""
    return {i: j for i in range(len(X)) for j in range(len(Z)) if v[i] <= 1 and (X[i] == Z[j]).all()}


def check_scores(model, X, Y, v, constant):
    """The model's standardised errors, its factor and its quantiles are those of refitting."""
    kernel, Z = model._fitted().kernel, model.basis_vectors_
    parts = kernel.matrix(X, Z), kernel.matrix(Z, Z), kernel.diagonal(X)
    expected = standardised(*parts, Y, v, model.alpha_, constant, model.noise_variance_, kernels_of(Z, X, v))
    found = model.set_params(noise="constant")._left_out()
    # the order of the rows is the model's
    order, back = np.lexsort(found.scores.T), np.lexsort(expected.T)
    np.testing.assert_allclose(found.scores[order], expected[back], rtol=1e-6, atol=1e-9)  # cond(K) is about 1e6
    counts = np.maximum(v, 1.0)
    np.testing.assert_allclose(found.rms, np.sqrt((counts @ expected**2) / counts.sum()), rtol=1e-7)
    mean, std = model.predict(X[:5], return_std=True)
    raw = np.sqrt(model._mean_and_variance(X[:5])[1])
    np.testing.assert_allclose(std, raw * found.rms)
    for coverage in (0.5, 0.8, 0.95):
        half = [smallest_that_holds(e, counts.astype(int), coverage) for e in expected.T]
        lower, upper = model.predict_interval(X[:5], coverage)
        np.testing.assert_allclose(upper, mean + half * raw, rtol=1e-7)
        np.testing.assert_allclose(lower, mean - half * raw, rtol=1e-7)


@pytest.mark.parametrize("constant", [True, False])
def test_scores_of_the_dense_model_are_those_of_refitting(rng, constant):
    X, Y, v = weighted(rng)
    v = np.maximum(v, 1.0)
    check_scores(kernsift.LSSVMRegressor(gamma=1.0, alpha=0.3, fit_intercept=constant).fit(X, Y, v), X, Y, v, constant)


@pytest.mark.parametrize("constant", [True, False])
def test_scores_of_a_subset_are_those_of_refitting(rng, constant):
    X, Y, v = weighted(rng)
    v = np.maximum(v, 1.0)
    settings = {"gamma": 1.0, "alpha": 0.3, "fit_intercept": constant}
    check_scores(kernsift.SubsetLSSVMRegressor(basis=np.arange(12), **settings).fit(X, Y, v), X, Y, v, constant)
    parts = kernsift.SubsetLSSVMRegressor(basis=X[:12], **settings)
    for rows in (slice(0, 9), slice(9, 30), slice(30, 40)):
        parts.partial_fit(X[rows], Y[rows], v[rows])
    check_scores(parts, X, Y, v, constant)


def test_scores_of_a_pruned_model_are_those_of_refitting(rng):
    X, Y, v = weighted(rng)
    v = np.maximum(v, 1.0)
    for keep_path in (True, False):
        model = kernsift.SparseLSSVMRegressor(gamma=1.0, alpha=0.3, max_basis=10, keep_path=keep_path).fit(X, Y, v)
        check_scores(model, X, Y, v, True)


def test_a_row_of_small_weight_is_left_out_whole_with_its_own_noise(rng):
    X, Y, v = weighted(rng)
    model = kernsift.SubsetLSSVMRegressor(basis=np.arange(12), gamma=1.0, alpha=0.3).fit(X, Y, v)
    kernel, Z = model._fitted().kernel, model.basis_vectors_
    parts = kernel.matrix(X, Z), kernel.matrix(Z, Z), kernel.diagonal(X)
    expected = standardised(*parts, Y, v, 0.3, True, model.noise_variance_, kernels_of(Z, X, v))
    found = model._left_out().scores
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected, axis=0), rtol=1e-6, atol=1e-9)
    dense = kernsift.LSSVMRegressor(gamma=1.0, alpha=0.3).fit(X, Y, v)
    kernel = dense._fitted().kernel
    parts = kernel.matrix(X, X), kernel.matrix(X, X), kernel.diagonal(X)
    expected = standardised(*parts, Y, v, 0.3, True, dense.noise_variance_, {})
    np.testing.assert_allclose(dense._left_out().scores, expected, rtol=1e-6, atol=1e-7)


def test_a_row_of_weight_two_is_the_row_twice(rng):
    X, Y, _ = weighted(rng)
    times = rng.integers(1, 4, len(X))
    for model in (
        kernsift.LSSVMRegressor(gamma=1.0),
        kernsift.SubsetLSSVMRegressor(gamma=1.0, alpha=0.2, basis=X[:10]),
    ):
        one = model.fit(X, Y, times).predict_interval(X, 0.7)
        two = model.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)).predict_interval(X, 0.7)
        np.testing.assert_allclose(one, two, rtol=1e-8)


@pytest.mark.parametrize("n", [50, 200, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_contain_what_they_say(family, kernel, n):
    splits, new = (20, 400) if n < 1000 else (5, 1000)
    hits, ratios = [], []
    for seed in range(splits):
        X, y = friedman(np.random.default_rng(seed), n + new)
        model = FAMILIES[family](kernel).fit(X[:n], y[:n])
        lower, upper = model.predict_interval(X[n:], 0.9)
        hits.append(np.mean((lower <= y[n:]) & (y[n:] <= upper)))
        mean, std = model.predict(X[n:], return_std=True)
        ratios.append(np.mean(((y[n:] - mean) / std) ** 2))
    # A split's coverage varies by what its n + 2 exchangeable scores and its new rows do, and the quantile is at most
    # one score too far out. Choosing kernels or the ridge by the same rows costs .01; a model that loses a kernel with
    # the row errs more than one that would have chosen another.
    deviation = np.sqrt(0.09 / (n + 2) + 0.09 / new) / np.sqrt(splits)
    assert 0.89 - 4 * deviation < np.mean(hits)
    if family != "sls":  # which keeps the rows of the largest errors: too wide
        assert np.mean(hits) < 0.93 + 4 * deviation + 1 / (n + 1)
        assert 0.8 < np.sqrt(np.mean(ratios)) < 1.25


def test_widths_are_those_of_jackknife_plus_on_even_noise():
    """At its coverage, and no wider by more than a twentieth."""
    ours, theirs, widths = [], [], []
    for seed in range(8):
        X, y = friedman(np.random.default_rng(100 + seed), 60 + 300)
        train, new = slice(0, 60), slice(60, None)
        settings = {"gamma": 0.5, "alpha": 0.1}

        def fit(X, y, settings=settings):
            return kernsift.LSSVMRegressor(**settings).fit(X, y).predict

        low, high = jackknife_plus(fit, X[train], y[train], X[new], 0.9)
        lower, upper = kernsift.LSSVMRegressor(**settings).fit(X[train], y[train]).predict_interval(X[new], 0.9)
        ours.append(np.mean((lower <= y[new]) & (y[new] <= upper)))
        theirs.append(np.mean((low <= y[new]) & (y[new] <= high)))
        widths.append(np.mean(upper - lower) / np.mean(high - low))
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.03  # sd of a difference of paired coverages, 8 splits: .01
    assert np.mean(widths) < 1.05


def test_outputs_have_intervals_of_their_own(rng):
    X, y = friedman(rng, 300)
    Y = np.column_stack([y, 100 * y + 300 * rng.standard_normal(300)])
    model = kernsift.LSSVMRegressor(gamma="standard").fit(X, Y)
    lower, upper = model.predict_interval(X)
    for j in range(2):
        alone = kernsift.LSSVMRegressor(gamma="standard").fit(X, Y[:, j]).predict_interval(X)
        np.testing.assert_allclose(np.array(alone), [lower[:, j], upper[:, j]], rtol=1e-9)


def test_more_coverage_is_wider_and_all_contain_the_prediction(rng):
    X, y = friedman(rng, 120)
    for make in FAMILIES.values():
        model = make("rbf").fit(X, y)
        mean = model.predict(X)
        widths = []
        for coverage in (0.1, 0.5, 0.9, 0.99):
            lower, upper = model.predict_interval(X, coverage)
            assert ((lower <= mean) & (mean <= upper)).all()
            widths.append(np.mean(upper - lower))
        assert widths == sorted(widths)


def test_saved_models_have_the_same_intervals(rng, tmp_path):
    X, y = friedman(rng, 120)
    for make in (
        *FAMILIES.values(),
        lambda kernel: kernsift.KernelRegressor(settings={"kernel": kernel}, random_state=0),
    ):
        model = make("rbf").fit(X, y)
        intervals = model.predict_interval(X[:9])
        model.save(tmp_path / "model.npz")
        for twin in (kernsift.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(twin.predict_interval(X[:9]), intervals)
        small = tmp_path / "small.npz"
        model.save(small, what="predict")
        with pytest.raises(ValueError, match="what='predict'"):
            kernsift.load(small).predict_interval(X[:9])


def test_bad_input_says_what_to_change(rng):
    X, y = friedman(rng, 12)
    model = kernsift.LSSVMRegressor(gamma="standard").fit(X, y)
    for coverage in (0, 1, -0.5, 1.5, "0.9", None, np.nan):
        with pytest.raises(ValueError, match=r"coverage=.* must lie between 0 and 1"):
            model.predict_interval(X, coverage)
    with pytest.raises(ValueError, match=r"coverage=0\.95 needs 19 rows of the fit and there are 12"):
        model.predict_interval(X, 0.95)
    lower, upper = model.predict_interval(X, 12 / 13)  # all of them
    assert (lower < upper).all()
    with pytest.raises(ValueError, match="alpha > 0"):
        kernsift.SubsetLSSVMRegressor(basis=X[:3], alpha=0.0).fit(X, y).predict_interval(X)


def test_a_constant_target_has_intervals_without_width(rng):
    X, _ = friedman(rng, 30)
    for make in FAMILIES.values():
        lower, upper = make("rbf").fit(X, np.full(30, 3.0)).predict_interval(X)
        np.testing.assert_allclose([lower, upper], 3.0, atol=1e-6)


def test_the_quantile_counts_repeated_rows():
    found = LeftOut(np.array([[3.0], [-1.0], [2.0]]), np.array([1.0, 2.0, 1.0]))
    for coverage in (0.2, 0.4, 0.5, 0.6, 0.79):
        assert found.quantile(coverage)[0] == smallest_that_holds(
            np.array([3.0, -1.0, 2.0]), np.array([1, 2, 1]), coverage
        )
    assert found.rms[0] == pytest.approx(np.sqrt((9 + 2 + 4) / 4))


CLASSIFIERS = {
    "dense": lambda kernel: kernsift.LSSVMClassifier(kernel=kernel, gamma="standard"),
    "isls": lambda kernel: kernsift.SparseLSSVMClassifier(kernel=kernel, gamma="standard", max_basis=40),
    "pruned": lambda kernel: kernsift.SubsetLSSVMClassifier(
        kernel=kernel, gamma="standard", max_basis=60, random_state=0
    ),
    "logistic": lambda kernel: kernsift.SubsetLSSVMClassifier(
        kernel=kernel, gamma="standard", max_basis=60, loss="auto", random_state=0
    ),
    "orols": lambda kernel: kernsift.OROLSClassifier(kernel=kernel, gamma="standard"),
    "orols, one basis": lambda kernel: kernsift.OROLSClassifier(kernel=kernel, gamma="standard", basis="shared"),
}


def four_classes(rng, n):
    """Four clouds that overlap: the best rule misses about a fifth."""
    codes = rng.integers(0, 4, n)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    return centres[codes] + 0.75 * rng.standard_normal((n, 2)), np.array(["a", "b", "c", "d"])[codes]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("family", CLASSIFIERS)
def test_sets_contain_what_they_say_and_are_small(family, kernel):
    n, new, splits = 200, 400, 10
    hits, sizes = [], []
    for seed in range(splits):
        X, y = four_classes(np.random.default_rng(seed), n + new)
        model = CLASSIFIERS[family](kernel).fit(X[:n], y[:n])
        sets = model.predict_set(X[n:], 0.9)
        assert sets.shape == (new, 4)
        assert sets.any(axis=1).all()
        hits.append(np.mean(sets[np.arange(new), np.searchsorted(model.classes_, y[n:])]))
        sizes.append(sets.sum(axis=1).mean())
    deviation = np.sqrt(0.09 / (n + 2) + 0.09 / new) / np.sqrt(splits)
    # kernels chosen by the same rows, and the temperature, cost .01
    assert 0.88 - 4 * deviation < np.mean(hits) < 0.93 + 4 * deviation + 1 / (n + 1)
    assert np.mean(sizes) < 1.7  # of the best rule 1.35


def test_sets_of_two_classes_and_of_saved_models(rng, tmp_path):
    X, y = four_classes(rng, 300)
    two = np.where(np.isin(y, ["a", "b"]), 0, 1)
    for make in (
        *CLASSIFIERS.values(),
        lambda kernel: kernsift.KernelClassifier(settings={"kernel": kernel}, random_state=0),
    ):
        model = make("rbf").fit(X, two)
        sets = model.predict_set(X, 0.95)
        assert sets.shape == (300, 2)
        assert (sets[np.arange(300), model.predict(X)]).all()
        assert (model.predict_set(X, 0.5) <= sets).all()
        model.save(tmp_path / "model.npz")
        np.testing.assert_array_equal(kernsift.load(tmp_path / "model.npz").predict_set(X, 0.95), sets)
        with pytest.raises(ValueError, match="coverage"):
            model.predict_set(X, 1.0)


def test_probabilities_of_orols_are_calibrated_and_add_up_to_one(rng):
    X, y = four_classes(rng, 1200)
    for basis in ("per-class", "shared"):
        model = kernsift.OROLSClassifier(gamma="standard", basis=basis).fit(X[:400], y[:400])
        probabilities = model.predict_proba(X[400:])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        own = probabilities[np.arange(800), np.searchsorted(model.classes_, y[400:])]
        prior = -np.log(0.25)
        dense = kernsift.LSSVMClassifier(gamma="standard").fit(X[:400], y[:400]).predict_proba(X[400:])
        rival = -np.log(dense[np.arange(800), np.searchsorted(model.classes_, y[400:])]).mean()
        assert -np.log(own).mean() < min(0.6 * prior, 1.1 * rival)
