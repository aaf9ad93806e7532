"""Feature vector selection: the definition, its fast forms, and what the transformer promises."""

from __future__ import annotations

import kernsift
import numpy as np
import oracles
import pytest
from kernsift import FeatureVectorSelector, _core
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline


def rows(rng, n=60, d=3):
    return rng.uniform(-1.5, 1.5, (n, d))


def kernel_of(name, X, gamma=0.7):
    return _core.Kernel(name, np.full(X.shape[1], gamma), 3, 1.0, np.ascontiguousarray(X[0]))


def choose(kernel, X, n, form, rho=0, nu=0, v=None, tol=1e-10, tau=0.0, seed=1, which=None):
    which = np.arange(len(X)) if which is None else which
    v = np.ones(len(which)) if v is None else v
    return _core.select_feature_vectors(
        kernel, X, which, weight=v, n_candidates=rho, n_eval=nu, max_basis=n, candidate_tol=tol,
        reconstruction_tol=tau, seed=seed, form=form,
    )  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["rbf", "polynomial"])
def test_EFVS_1_fvs_is_brute_force(name, weighted, rng):
    X = rows(rng)
    v = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    order, J = oracles.brute_force_fvs(oracles.kernel_matrix(name, X, X, gamma=0.7), 12, v)
    for form in ("dense", "cached", "lazy"):
        chosen, error = choose(kernel_of(name, X), X, 12, form, v=v)
        assert chosen.tolist() == order
        np.testing.assert_allclose(1 - error, J, atol=1e-12)  # also the estimate, when T is all there is


def test_MATH_5_1_the_gain_is_the_difference_of_J(rng):
    X = rows(rng, 40)
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.7)
    v = rng.uniform(0.5, 2.0, 40)
    S = [3, 17, 8]
    E = K - K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S])
    np.fill_diagonal(E, np.maximum(np.diag(E), 1e-300))  # 0 for the chosen
    gain = (v[:, None] * E**2 / np.diag(K)[:, None]).sum(axis=0) / np.diag(E) / v.sum()
    for r in (0, 5, 30):
        difference = oracles.reconstruction(K, [*S, r], v) - oracles.reconstruction(K, S, v)
        assert gain[r] == pytest.approx(difference, abs=1e-13)


@pytest.mark.parametrize("form", ["cached", "lazy"])
def test_MATH_5_1_each_choice_has_the_largest_gain(form, rng):
    """All rows are candidates and all are looked at: the gains are those of J, by definition."""
    X = rows(rng, 40)
    v = rng.uniform(0.5, 2.0, 40)
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.7)
    chosen, error = choose(kernel_of("rbf", X), X, 8, form, v=v)
    for m in range(1, len(chosen)):
        S = chosen[:m].tolist()
        J = [oracles.reconstruction(K, [*S, r], v) if r not in S else 0.0 for r in range(40)]
        assert chosen[m] == np.argmax(J)
        assert error[m - 1] - error[m] == pytest.approx(max(J) - oracles.reconstruction(K, S, v), abs=1e-12)


def test_efvs_with_everything_is_fvs(rng):
    X = rows(rng)
    exact = FeatureVectorSelector(n_candidates=None, n_eval=None, n_components=15, gamma=0.7).fit(X)
    order, J = oracles.brute_force_fvs(oracles.kernel_matrix("rbf", X, X, gamma=0.7), 15)
    assert exact.basis_indices_.tolist() == order
    np.testing.assert_allclose(1 - exact.path_, J, atol=1e-12)
    for wide in ({"n_candidates": 60, "n_eval": 60}, {"n_candidates": 100, "n_eval": None}, {"cache_size": 0.01}):
        same = clone(exact).set_params(**wide).fit(X)
        assert same.basis_indices_.tolist() == order


@pytest.mark.parametrize(("rho", "nu"), [(5, 7), (59, 59), (1, 3)])
def test_the_lazy_form_chooses_what_the_cached_one_does(rho, nu, rng):
    X = np.vstack([rows(rng, 300), rows(rng, 300)[:50].repeat(3, axis=0)])
    kernel = kernel_of("rbf", X)
    cached, exact = choose(kernel, X, 120, "cached", rho, nu, tol=1e-6)
    lazy, estimate = choose(kernel, X, 120, "lazy", rho, nu, tol=1e-6)
    np.testing.assert_array_equal(cached, lazy)
    assert len(cached) > 64  # across several panels
    if nu == 59:  # the estimate has the noise of 59 rows
        assert np.abs(np.log(estimate[:40] / exact[:40])).mean() < 0.5


@pytest.mark.parametrize("form", ["dense", "cached", "lazy"])
def test_EFVS_eliminate_dependent_rows_are_never_chosen(form, rng):
    X = rows(rng, 40).repeat(3, axis=0)
    rho = 0 if form == "dense" else 10
    chosen, error = choose(kernel_of("rbf", X), X, 120, form, rho, rho, tol=1e-9)
    assert len({tuple(x) for x in X[chosen]}) == len(chosen) <= 40
    assert error[-1] < 1e-6  # everything that is left is within the tolerance


def test_EFVS_stop_the_estimate_counts_the_eliminated(rng):
    """A third of the rows is spanned soon: the mean over the candidates alone is too large by their part."""
    X = np.vstack([rows(rng, 150), 0.01 * rows(rng, 1350)])
    kernel = kernel_of("rbf", X)
    chosen, estimate = choose(kernel, X, 25, "lazy", 59, 59, tol=1e-3)
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.7)
    truth = np.array([1 - oracles.reconstruction(K, chosen[: i + 1].tolist()) for i in range(25)])
    ratio = estimate[10:] / truth[10:]
    assert 0.3 < np.median(ratio) < 3  # the printed form, over the candidates only, is ten times too large


def test_it_stops_at_the_reconstruction_asked_for(rng):
    X = rows(rng, 400)
    whole = FeatureVectorSelector(gamma=0.7, n_components=200, random_state=0).fit(X)
    stopped = clone(whole).set_params(reconstruction_tol=0.01).fit(X)
    n = stopped.n_components_
    assert 0.01 >= stopped.reconstruction_error_ == stopped.path_[-1]
    assert stopped.path_[-2] > 0.01
    np.testing.assert_array_equal(stopped.basis_indices_, whole.basis_indices_[:n])
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.7)
    assert 1 - stopped.path_[-1] == pytest.approx(oracles.reconstruction(K, stopped.basis_indices_.tolist()), abs=1e-12)


def test_the_59_lemma_by_simulation(rng):
    """One of 59 random candidates is among the best 5 % with probability 1 - 0.95^59 = 0.9515, whatever the law."""
    for law in (rng.uniform, rng.standard_normal, rng.standard_cauchy):
        pool = law(size=20000)
        bar = np.quantile(pool, 0.95)
        hits = np.mean([pool[rng.integers(len(pool), size=59)].max() > bar for _ in range(8000)])
        # three standard errors of 8000 draws
        assert abs(hits - (1 - 0.95**59)) < 3 * np.sqrt(0.0485 * 0.9515 / 8000)
    assert 1 - 0.95**58 < 0.95 < 1 - 0.95**59


def test_59_candidates_on_59_rows_come_close_to_all(rng):
    X = rows(rng, 800, 4)
    exact = FeatureVectorSelector(gamma=0.3, n_components=60, n_candidates=None, n_eval=None).fit(X)
    few = FeatureVectorSelector(gamma=0.3, n_components=60, random_state=3).fit(X)
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.3)
    blind = np.mean([1 - oracles.reconstruction(K, rng.permutation(800)[:60].tolist()) for _ in range(5)])
    # rows drawn afresh in every step: no overfitting to them
    assert few.reconstruction_error_ < 1.4 * exact.reconstruction_error_ < 0.9 * blind


def test_transform_gives_orthonormal_coordinates(rng):
    X, new = rows(rng, 200), rows(rng, 9000)
    selector = FeatureVectorSelector(gamma=0.5, n_components=30, random_state=0).fit(X)
    W = selector.transform(new)
    K = oracles.kernel_matrix("rbf", new[:50], selector.basis_vectors_, gamma=0.5)
    K_mm = oracles.kernel_matrix("rbf", selector.basis_vectors_, selector.basis_vectors_, gamma=0.5)
    # inner products of the projections; the condition of K_mm costs a few digits
    np.testing.assert_allclose(W[:50] @ W[:50].T, K @ np.linalg.solve(K_mm, K.T), atol=1e-8)
    assert W.shape == (9000, 30)
    np.testing.assert_array_equal(
        selector.get_feature_names_out()[:2], ["featurevectorselector0", "featurevectorselector1"]
    )
    y = np.sin(2 * X[:, 0])
    assert make_pipeline(selector, Ridge(1e-3)).fit(X, y).score(X, y) > 0.97


def test_float32_is_kept_and_pandas_comes_out(rng):
    X = rows(rng, 100)
    selector = FeatureVectorSelector(n_components=10, random_state=0).fit(X.astype(np.float32))
    assert selector.transform(X.astype(np.float32)).dtype == np.float32
    pytest.importorskip("pandas")
    frame = selector.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == selector.get_feature_names_out().tolist()


@pytest.mark.parametrize("exact", [True, False])
def test_weights_are_repetitions_and_order_is_nothing(exact, rng):
    X = rows(rng, 80)
    v = rng.integers(0, 4, 80)
    k = None if exact else 20
    selector = FeatureVectorSelector(gamma=0.7, n_components=25, n_candidates=k, n_eval=k, random_state=5)
    repeated = clone(selector).fit(np.repeat(X, v, axis=0))
    weighted = clone(selector).fit(X, sample_weight=v)
    np.testing.assert_array_equal(repeated.basis_vectors_, weighted.basis_vectors_)
    np.testing.assert_allclose(repeated.path_, weighted.path_, atol=1e-13)
    order = rng.permutation(80)
    shuffled = clone(selector).fit(X[order], sample_weight=v[order])
    np.testing.assert_array_equal(shuffled.basis_vectors_, weighted.basis_vectors_)
    np.testing.assert_array_equal(X[order][shuffled.basis_indices_], weighted.basis_vectors_)


def test_edges(rng):
    one = FeatureVectorSelector(n_components=7).fit(rows(rng, 1))
    assert one.n_components_ == 1
    assert one.reconstruction_error_ == 0
    same = FeatureVectorSelector().fit(np.ones((30, 2)))
    assert same.n_components_ == 1
    few = FeatureVectorSelector(n_components=50, gamma=5.0).fit(rows(rng, 20))  # fewer rows than asked for
    assert few.n_components_ == 20
    plane = FeatureVectorSelector(kernel="linear", n_components=10).fit(np.vstack([np.zeros((3, 2)), rows(rng, 20, 2)]))
    assert plane.n_components_ == 2
    assert plane.reconstruction_error_ < 1e-12
    constant = np.hstack([rows(rng, 50, 2), np.full((50, 1), 3.0)])
    assert FeatureVectorSelector(n_components=20).fit(constant).transform(constant).shape[1] == 20


@pytest.mark.parametrize(
    ("params", "X", "weight", "message"),
    [
        ({"kernel": "linear"}, np.zeros((4, 2)), None, "nothing to choose"),
        ({"n_components": 0}, np.ones((4, 2)), None, "n_components"),
        ({"n_candidates": 0}, np.ones((4, 2)), None, "n_candidates"),
        ({"candidate_tol": -1.0}, np.ones((4, 2)), None, "candidate_tol"),
        ({"gamma": -1.0}, np.ones((4, 2)), None, "gamma"),
        ({}, np.ones((4, 2)), np.zeros(4), "sample_weight is zero"),
        ({}, np.ones((4, 2)), [1, 1, -1, 1], "[Nn]egative"),
        ({}, np.full((4, 2), np.nan), None, "NaN"),
        ({"n_eval": None, "cache_size": 0.0}, np.arange(8.0).reshape(4, 2), None, "cache_size"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(params, X, weight, message, rng):
    selector = FeatureVectorSelector(n_components=5).fit(rows(rng, 30, 2))
    before = selector.basis_vectors_
    with pytest.raises(ValueError, match=message):
        selector.set_params(**params).fit(X, sample_weight=weight)
    assert selector.basis_vectors_ is before


def test_repeated_rows_of_letter(data_dir):
    X = np.load(data_dir / "letter.npz")["X_train"][:4000].astype(float)
    distinct = len(np.unique(X, axis=0))
    assert distinct < 4000
    for k in (59, None):
        chosen = FeatureVectorSelector(n_components=150, n_candidates=k, random_state=0).fit(X).basis_vectors_
        assert len(np.unique(chosen, axis=0)) == 150


def test_the_package_names_it():
    assert "FeatureVectorSelector" in kernsift.__all__


@pytest.mark.parametrize("seed", range(4))
def test_the_forms_agree_until_nothing_is_left(seed, rng):
    """Few candidates, most of them spanned: draws that have to be repeated, and a pool that runs out."""
    X = rows(rng, 40).repeat(4, axis=0)
    kernel = kernel_of("rbf", X)
    cached, error = choose(kernel, X, 160, "cached", 30, 30, tol=1e-4, seed=seed)
    lazy, _ = choose(kernel, X, 160, "lazy", 30, 30, tol=1e-4, seed=seed)
    np.testing.assert_array_equal(X[cached], X[lazy])  # which of four equal rows is left to rounding
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.7)
    left = [1 - oracles.reconstruction(K, cached[: i + 1].tolist()) for i in range(len(cached))]
    np.testing.assert_allclose(error, left, atol=1e-10)
    assert error[-1] < 1e-4
