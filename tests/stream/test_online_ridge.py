"""alpha="gcv" on a stream: another ridge for the same rows is exact, and the one chosen is the best of its score."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor, _core
from support.streams import PLAIN

# Two ways to the same minimiser in double precision, condition numbers up to 1e6: 1e-16 x 1e6, and a margin.
SAME = 1e-9


def noisy(n: int = 900, outputs: int = 2, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (n, 2))
    truth = np.stack([np.sin(2 * X[:, 0]) + X[:, 1] * (o + 1) for o in range(outputs)], axis=1)
    return X, truth + noise * rng.standard_normal(truth.shape), truth


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("max_basis", [None, 25])
def test_another_ridge_is_what_a_stream_with_it_would_be(fit_intercept: bool, max_basis: int | None) -> None:
    X, y, _ = noisy()
    weight = np.random.default_rng(6).uniform(0.2, 2.0, len(X))
    # by novelty alone and frozen when full, so that the ridge has no part in the choice of kernels
    settings = {"gamma": 0.7, "admission": "novelty", "novelty_tol": 0.02, "fit_intercept": fit_intercept, **PLAIN}
    settings["noise"] = "constant"  # what depends on x is learned from the errors of either ridge
    settings |= {"max_basis": max_basis, "swap_until": None if max_basis is None else 1}
    changed = OnlineLSSVMRegressor(alpha=30.0, **settings).partial_fit(X[:600], y[:600], weight[:600])
    assert changed._core.choose_ridge()
    ridge = changed._core.alpha
    assert ridge < 10.0
    direct = OnlineLSSVMRegressor(alpha=ridge, **settings).partial_fit(X[:600], y[:600], weight[:600])
    for _ in range(2):  # at once, and when the stream has gone on
        np.testing.assert_array_equal(changed.basis_indices_, direct.basis_indices_)
        for one, other in zip(changed.predict(X, return_std=True), direct.predict(X, return_std=True), strict=True):
            np.testing.assert_allclose(one, other, rtol=SAME, atol=SAME)
        for name in ("cost_", "gcv_", "log_evidence_", "noise_variance_"):
            np.testing.assert_allclose(getattr(changed, name), getattr(direct, name), rtol=SAME)
        changed.partial_fit(X[600:], y[600:], weight[600:])
        direct.partial_fit(X[600:], y[600:], weight[600:])
    # what pruning reads follows too
    np.testing.assert_array_equal(changed.prune(10).basis_indices_, direct.prune(10).basis_indices_)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_ridge_has_the_lowest_gcv_of_the_rows_written_out(fit_intercept: bool) -> None:
    X, y, _ = noisy()
    model = OnlineLSSVMRegressor(gamma=0.7, alpha="gcv", max_basis=60, fit_intercept=fit_intercept)
    model.fit(X, y).refit(X, y)
    distance = ((X[:, None] - model.basis_vectors_) ** 2).sum(axis=2)
    K = np.exp(-0.7 * distance)
    penalty = np.exp(-0.7 * ((model.basis_vectors_[:, None] - model.basis_vectors_) ** 2).sum(axis=2))
    if fit_intercept:
        K = np.hstack([np.ones((len(X), 1)), K])
        penalty = np.pad(penalty, ((1, 0), (1, 0)))

    def score(alpha: float) -> float:
        hat = K @ np.linalg.solve(K.T @ K + alpha * penalty, K.T)
        return ((y - hat @ y) ** 2).sum() / (len(X) - _core.GCV_TOLL * np.trace(hat)) ** 2

    grid = np.geomspace(1e-4, 1e3, 200)
    lowest = min(score(alpha) for alpha in grid)
    # the largest on a grid of ten a decade within 1e-4 of that grid's best, itself up to a step from the valley
    assert score(model.alpha_) <= lowest * (1 + 5e-4)
    assert score(model.alpha_) < score(0.1) or abs(np.log10(model.alpha_) + 1) < 0.2


def test_blocks_have_no_part_in_it() -> None:
    X, y, _ = noisy()
    settings = {"gamma": 0.7, "alpha": "gcv", "max_basis": 40}
    whole = OnlineLSSVMRegressor(**settings).partial_fit(X, y)
    cut = OnlineLSSVMRegressor(**settings)
    for first in range(0, len(X), 77):
        cut.partial_fit(X[first : first + 77], y[first : first + 77])
    assert whole.alpha_ == pytest.approx(cut.alpha_, rel=SAME)
    np.testing.assert_array_equal(whole.basis_indices_, cut.basis_indices_)
    np.testing.assert_allclose(whole.predict(X), cut.predict(X), rtol=SAME, atol=SAME)


def test_much_noise_asks_for_more_ridge_than_the_default() -> None:
    X, y, truth = noisy(noise=3.0)
    chosen = OnlineLSSVMRegressor(gamma=0.7, alpha="gcv", max_basis=100).fit(X, y)
    usual = OnlineLSSVMRegressor(gamma=0.7, max_basis=100).fit(X, y)
    assert chosen.alpha_ > usual.alpha_
    error = [np.sqrt(np.mean((m.predict(X) - truth) ** 2)) for m in (chosen, usual)]
    assert error[0] < 0.9 * error[1]


def test_the_ridge_is_part_of_the_model() -> None:
    X, y, _ = noisy()
    labels = np.where(y[:, 0] > 0, "up", "down")
    model = OnlineLSSVMClassifier(gamma=0.7, alpha="gcv").partial_fit(X, labels, classes=["down", "up"])
    copy = pickle.loads(pickle.dumps(model))
    assert copy.alpha_ == model.alpha_ != 0.1
    model.partial_fit(X[:300], labels[:300])
    copy.partial_fit(X[:300], labels[:300])
    np.testing.assert_array_equal(model.decision_function(X), copy.decision_function(X))
    pruned = model.alpha_
    assert model.prune(5).alpha_ != pruned


def test_where_it_means_nothing_it_says_so() -> None:
    X, y, _ = noisy(50)
    with pytest.raises(ValueError, match="alpha='gcv'"):
        OnlineLSSVMRegressor(alpha="gcv", engine="inverse").fit(X, y)
