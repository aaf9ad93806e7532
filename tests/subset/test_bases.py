"""Choosing the basis: every selector against its definition, and pruning by the cost."""

from __future__ import annotations

import copy

import numpy as np
import oracles
import pytest
from kernsift import FeatureVectorSelector, SubsetLSSVMRegressor, _core
from kernsift.select.selectors import SELECTORS, Task, select
from kernsift.subset import pruned
from kernsift.subset.pruned import prune
from sklearn.base import clone
from support.subset_tables import table

# ---- choosing the basis


def task_of(X, y=None, m=20, v=None, seed=3, gamma=0.5):
    kernel = _core.Kernel("rbf", np.full(X.shape[1], gamma), 3, 1.0, X[0].copy())
    targets = None if y is None else np.ascontiguousarray(y.reshape(len(y), -1))
    return Task(kernel, X, np.ones(len(X)) if v is None else v, m, seed, targets)


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_gives_independent_vectors(name, rng):
    X, y = table(rng, 500)
    chosen = select(name, task_of(X, y))
    assert 1 < len(chosen.vectors) <= 20
    K = oracles.kernel_matrix("rbf", chosen.vectors, chosen.vectors, gamma=0.5)
    assert np.linalg.eigvalsh(K)[0] > 1e-10
    if name == "kmeans":
        assert (chosen.indices == -1).all()
    else:
        np.testing.assert_array_equal(X[chosen.indices], chosen.vectors)
    # a basis, however chosen, beats the constant
    assert SubsetLSSVMRegressor(gamma=0.5, basis=chosen.vectors).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("name", SELECTORS)
def test_no_selector_sees_order_and_weights_are_repetitions(name, rng):
    X, y = table(rng, 150)
    v = rng.integers(0, 4, 150)
    model = SubsetLSSVMRegressor(gamma=0.5, basis=name, max_basis=15, random_state=8)
    weighted = clone(model).fit(X, y, sample_weight=v)
    repeated = clone(model).fit(np.repeat(X, v, axis=0), np.repeat(y, v))
    order = rng.permutation(150)
    shuffled = clone(model).fit(X[order], y[order], sample_weight=v[order])
    for other in (repeated, shuffled):
        np.testing.assert_allclose(other.basis_vectors_, weighted.basis_vectors_, atol=1e-12)
        np.testing.assert_allclose(other.predict(X), weighted.predict(X), atol=1e-8)
        assert other.alpha_ == pytest.approx(weighted.alpha_, rel=1e-8)


def test_the_median_width_sees_no_order(rng):
    X, y = table(rng, 1500)
    order = rng.permutation(1500)
    model = SubsetLSSVMRegressor(gamma="median", basis="random", max_basis=20, random_state=2)
    one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(one.gamma_, other.gamma_, rtol=1e-12)
    # sums are in kernel coordinates while cond(K) stays below 1e8: another order moves eps x 1e8 and a few times that
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=10 * np.finfo(float).eps * 1e8)


def test_Engel_ald_takes_what_is_novel_in_one_pass(rng):
    X = table(rng, 300)[0]
    kernel = _core.Kernel("rbf", np.full(3, 0.5), 3, 1.0, X[0].copy())
    taken, L = _core.select_independent(kernel, X, np.arange(300), tol=0.05, max_basis=300)
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.5)
    S: list[int] = []
    for i in range(300):
        left = 1 - (K[S, i] @ np.linalg.solve(K[np.ix_(S, S)], K[S, i]) if S else 0.0)
        if left > 0.05:
            S.append(i)
    assert taken.tolist() == S
    np.testing.assert_allclose(L @ L.T, K[np.ix_(S, S)], atol=1e-13)


def test_greedy_is_pivoted_cholesky(rng):
    X = table(rng, 200)[0]
    kernel = _core.Kernel("rbf", np.full(3, 0.5), 3, 1.0, X[0].copy())
    taken, _ = _core.select_greedy(kernel, X, np.arange(200), tol=0.0, max_basis=12)
    K = oracles.kernel_matrix("rbf", X, X, gamma=0.5)
    S: list[int] = [0]  # all have norm one: the first of equals
    while len(S) < 12:
        S.append(int(np.argmax(1 - (K[:, S] * np.linalg.solve(K[np.ix_(S, S)], K[S]).T).sum(axis=1))))
    assert taken.tolist() == S


def test_rpcholesky_draws_by_residual(rng):
    """First pivots by weight, later ones by what is left: two tight clusters of 90 and 10 % share two pivots."""
    X = np.concatenate([rng.normal(0, 1e-3, (90, 1)), rng.normal(5, 1e-3, (10, 1))])
    kernel = _core.Kernel("rbf", np.array([1.0]), 3, 1.0, X[0].copy())
    settings = {"weight": np.ones(100), "tol": 1e-8, "max_basis": 2, "block": 4}
    draws = [_core.select_rpcholesky(kernel, X, np.arange(100), **settings, seed=seed)[0] for seed in range(300)]
    first = np.mean([d[0] < 90 for d in draws])
    assert abs(first - 0.9) < 3 * np.sqrt(0.09 / 300)
    assert all((d[0] < 90) != (d[1] < 90) for d in draws)


def test_BEYOND_B4_elements_go_by_the_increase_of_the_cost(rng):
    X, y = table(rng, 80)
    K_mm = oracles.kernel_matrix("rbf", X[:14], X[:14], gamma=0.7)
    K = oracles.kernel_matrix("rbf", X, X[:14], gamma=0.7)
    kernel = _core.Kernel("rbf", np.full(X.shape[1], 0.7), 3, 1.0, X[0].copy())
    sums = {"M": K.T @ K, "z": K.T @ (y - 1.0)[:, None], "s": K.sum(axis=0), "y": np.array([(y - 1.0).sum()])}
    rows = {"vectors": X[:14].copy(), "offset": np.ones(1), "weight": 80.0, "fit_intercept": True}
    for fraction in (0.01, 0.3):
        order, _ = _core.deletion_order(kernel, **sums, **rows, alpha=0.1, target=1, fraction=fraction)
        assert order.tolist() == oracles.literal_deletion(K, K_mm, y[:, None], 0.1, fraction)


def test_pruning_beats_the_random_rows_it_began_with(rng):
    X, y = table(rng, 3000, 5)
    random, pruned = (
        np.mean([SubsetLSSVMRegressor(basis=b, max_basis=30, random_state=s).fit(X, y).score(X, y) for s in range(3)])
        for b in ("random", "pruned")
    )
    cycled = SubsetLSSVMRegressor(oversample=2.0, cycles=4, max_basis=30, random_state=0).fit(X, y)
    assert 1 - pruned < 0.85 * (1 - random)
    assert 1 - cycled.score(X, y) < 0.85 * (1 - random)
    assert cycled.n_basis_ == 30


def test_the_path_gives_every_size_without_a_pass(rng):
    X, y = table(rng, 800)
    model = SubsetLSSVMRegressor(gamma=0.5, max_basis=20, random_state=1).fit(X, y)
    for size in (60, 20, 5, 1):
        resized = copy.deepcopy(model).resize(size)
        direct = SubsetLSSVMRegressor(gamma=0.5, basis=resized.basis_indices_).fit(X, y)
        assert resized.n_basis_ == size
        np.testing.assert_allclose(resized.predict(X), direct.predict(X), atol=1e-6)
    np.testing.assert_array_equal(copy.deepcopy(model).resize(20).predict(X), model.predict(X))
    for bad in (0, 61):
        with pytest.raises(ValueError, match="n_basis"):
            model.resize(bad)
    with pytest.raises(ValueError, match="path"):
        model.partial_fit(X[:5], y[:5]).resize(10)
    with pytest.raises(ValueError, match="path"):
        SubsetLSSVMRegressor(max_basis=20, keep_path=False).fit(X, y).resize(10)


def test_a_selector_a_name_rows_and_vectors_are_bases(rng):
    X, y = table(rng, 300)
    selector = FeatureVectorSelector(gamma=0.5, n_components=25, random_state=0)
    chosen = clone(selector).fit(X)
    by_selector = SubsetLSSVMRegressor(gamma=0.5, basis=selector).fit(X, y)
    by_rows = SubsetLSSVMRegressor(gamma=0.5, basis=chosen.basis_indices_).fit(X, y)
    by_vectors = SubsetLSSVMRegressor(gamma=0.5, basis=chosen.basis_vectors_).fit(X, y)
    np.testing.assert_array_equal(by_selector.basis_indices_, chosen.basis_indices_)
    np.testing.assert_array_equal(by_vectors.basis_indices_, np.full(25, -1))
    for other in (by_rows, by_vectors):
        np.testing.assert_allclose(other.predict(X), by_selector.predict(X), atol=1e-12)
    doubled = SubsetLSSVMRegressor(gamma=0.5, basis=np.repeat(chosen.basis_vectors_, 2, axis=0)).fit(X, y)
    assert doubled.n_basis_ == 25
    np.testing.assert_allclose(doubled.predict(X), by_vectors.predict(X), atol=1e-12)


def test_prune_starts_with_independent_rows(rng):
    X, y = table(rng, 100)
    path = prune(task_of(np.repeat(X, 3, axis=0), np.repeat(y, 3), m=30))
    assert len(path.order) == len(set(path.order.tolist())) <= 90
    assert len(np.unique(path.basis.vectors, axis=0)) == len(path.basis.vectors)


@pytest.mark.parametrize("alpha", ["gcv", 0.05])
def test_of_many_rows_a_sample_decides_on_deletions_and_all_rows_on_the_model(alpha, rng):
    X, y = table(rng, 3000)
    v = rng.uniform(0.5, 2, 3000)
    settings = {"gamma": 0.5, "alpha": alpha, "max_basis": 8, "oversample": 2.0, "random_state": 3}
    model = SubsetLSSVMRegressor(**settings).fit(X, y, sample_weight=v)
    assert len(model._path.order) == model.n_basis_ == 8  # chosen of 16 on 1024 rows or more
    direct = SubsetLSSVMRegressor(gamma=0.5, alpha=alpha, basis=model.basis_indices_).fit(X, y, sample_weight=v)
    assert model.alpha_ == pytest.approx(direct.alpha_, rel=1e-6)  # sums in other coordinates
    np.testing.assert_allclose(model.predict(X), direct.predict(X), rtol=1e-6, atol=1e-6)
    smaller = SubsetLSSVMRegressor(gamma=0.5, alpha=alpha, basis=copy.deepcopy(model).resize(5).basis_indices_)
    smaller.fit(X, y, sample_weight=v)
    np.testing.assert_allclose(copy.deepcopy(model).resize(5).predict(X), smaller.predict(X), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match=r"9 is not between 1 and the 8 elements the path holds; .* max_basis"):
        model.resize(9)


def test_a_sample_decides_as_deletion_on_its_rows_alone_does(rng):
    X, y = table(rng, 3000)
    task = task_of(X, y, m=8)
    task.alpha = 0.05
    path = prune(task, oversample=2.0)
    rows, start = task.rows.which[: 64 * 16], task.rows.which[:16]
    K, K_mm = (oracles.kernel_matrix("rbf", a, X[start], gamma=0.5) for a in (X[rows], X[start]))
    order = oracles.literal_deletion(K, K_mm, y[rows, None], 0.05 * len(rows) / 3000, 0.1)
    assert path.basis.indices.tolist() == start[sorted(order[-8:])].tolist()
    assert path.basis.indices[path.order].tolist() == start[order[-8:]].tolist()


def test_rows_are_added_to_the_sample_while_scores_are_lost_in_noise(rng, monkeypatch):
    X, y = table(rng, 3000)
    taken = []
    sums = pruned._sums
    monkeypatch.setattr(
        pruned, "_sums", lambda task, basis, rows: (taken.append(len(rows)), sums(task, basis, rows))[1]
    )
    prune(task_of(X, y, m=8), oversample=2.0)
    assert taken == [1024, 3000]
    taken.clear()
    prune(task_of(X, rng.standard_normal(3000), m=8), oversample=2.0)
    assert taken == [1024, 1024, 3000]  # up to 128 rows an element
    taken.clear()
    prune(task_of(X[:500], y[:500], m=8), oversample=2.0)
    assert taken == [500]  # all there are
    taken.clear()
    prune(task_of(X[:500], y[:500], m=8, v=np.repeat([0.0, 1.0], [100, 400])), oversample=2.0)
    assert taken == [400]  # that count
