"""The subset of regressors: equal to its definition, however the rows arrive, and honest about what it cannot do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import oracles
import pytest
from kernsift import FeatureVectorSelector, SubsetLSSVMClassifier, SubsetLSSVMRegressor, _core
from kernsift.select.selectors import SELECTORS, SUPERVISED
from kernsift.subset.state import Basis, SubsetState
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from support.storing import ROUND_TRIPS
from support.subset_tables import table


def matrices(model, X):
    name, gamma, degree, coef0, _ = model._basis.kernel_arguments
    vectors = model.basis_vectors_
    K = oracles.kernel_matrix(name, X, vectors, gamma=gamma, degree=degree, coef0=coef0)
    return K, oracles.kernel_matrix(name, vectors, vectors, gamma=gamma, degree=degree, coef0=coef0)


# ---- the fit


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"])
def test_MATH_1_2_MATH_1_11_the_fit_is_least_squares_on_explicit_features(kernel, weighted, intercept, rng):
    X, Y = table(rng, outputs=2)
    v = rng.uniform(0.2, 3.0, len(X)) if weighted else np.ones(len(X))
    model = SubsetLSSVMRegressor(
        kernel=kernel, gamma=0.5, alpha=0.03, basis=np.arange(20), fit_intercept=intercept
    ).fit(X, Y, sample_weight=v)
    new = table(rng, 50)[0]
    K, K_mm = matrices(model, X)
    direct = oracles.subset_fit(K, K_mm, Y, v, 0.03, intercept)
    expected = matrices(model, new)[0] @ direct.beta + direct.bias
    # normal equations in orthonormal coordinates: condition (sum v)/alpha = 1e4 at most
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, direct.bias, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 30.0])
def test_MATH_LOO_leave_one_out_is_refitting(alpha, intercept, rng):
    X, Y = table(rng, 40, outputs=2)
    v = rng.choice([0.5, 1.0, 2.0, 3.0], 40)
    model = SubsetLSSVMRegressor(gamma=0.5, alpha=alpha, basis=np.arange(12), fit_intercept=intercept)
    model.fit(X, Y, sample_weight=v)
    refitted = oracles.subset_loo(*matrices(model, X), Y, v, alpha, intercept)
    by_factor, by_eigenvectors = (model.state_.problem(intercept) for _ in range(2))
    assert by_eigenvectors.largest > 0  # decomposes
    rows = {**model._basis.core, "X": X, "Y": Y}
    of_the_row = {"leaves": np.minimum(v, 1.0), "own": np.full(40, -1), "alpha": alpha}  # all kernels stay
    for problem in (by_factor, by_eigenvectors):
        np.testing.assert_allclose(Y - problem.left_out(**rows, **of_the_row)[0], refitted, atol=1e-9)
    errors = by_eigenvectors.loo_errors(**rows, weight=v, alphas=np.array([alpha, 2 * alpha]))
    assert errors[0] == pytest.approx((v[:, None] * (Y - refitted) ** 2).sum(), rel=1e-9)


def test_alpha_loo_is_the_best_of_its_grid(rng):
    X, y = table(rng, 60)
    model = SubsetLSSVMRegressor(gamma=0.5, alpha="loo", basis=np.arange(15)).fit(X, y)
    K, K_mm = matrices(model, X)

    def error(alpha):
        return np.mean((y[:, None] - oracles.subset_loo(K, K_mm, y[:, None], np.ones(60), alpha, True)) ** 2)

    assert model.loo_error_ == pytest.approx(error(model.alpha_), rel=1e-8)
    assert model.loo_error_ <= min(error(model.alpha_ * f) for f in (0.1, 0.5, 2.0, 10.0)) * (1 + 1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_gcv_is_its_definition_and_its_minimum_is_found(intercept, rng):
    X, Y = table(rng, 150, outputs=2)
    model = SubsetLSSVMRegressor(gamma=0.5, basis=np.arange(25), fit_intercept=intercept).fit(X, Y)
    K, K_mm = matrices(model, X)

    def gcv(alpha, toll=1.0):
        fit = oracles.subset_fit(K, K_mm, Y, np.ones(150), alpha, intercept)
        rss = ((Y - K @ fit.beta - fit.bias) ** 2).sum(axis=0)
        return 150 * rss / (150 - toll * fit.hat.sum()) ** 2

    np.testing.assert_allclose(model.gcv_, gcv(model.alpha_), rtol=1e-8)
    around = [gcv(model.alpha_ * f, 1.4).sum() for f in np.geomspace(1e-4, 1e4, 33)]
    assert gcv(model.alpha_, 1.4).sum() <= min(around) * (1 + 1e-3)  # the largest alpha within 1e-4, on a grid


def test_the_spread_is_the_definition(rng):
    X, y = table(rng, 120)
    v = rng.uniform(0.5, 2.0, 120)
    model = SubsetLSSVMRegressor(gamma=0.5, alpha=0.05, basis=np.arange(15)).fit(X, y, sample_weight=v)
    new = table(rng, 30)[0]
    new[0] = 50.0  # far away
    K, K_mm = matrices(model, X)
    L = np.linalg.cholesky(K_mm)
    W = np.linalg.solve(L, K.T).T
    Z = np.hstack([np.ones((120, 1)), W])
    A = (Z.T * v) @ Z + 0.05 * np.diag([0.0] + [1.0] * 15)
    w = np.linalg.solve(L, matrices(model, new)[0].T).T
    z = np.hstack([np.ones((30, 1)), w])
    spread = (z * np.linalg.solve(A, z.T).T).sum(axis=1) + (1 - (w**2).sum(axis=1)) / 0.05
    theta = np.linalg.solve(A, (Z.T * v) @ y)
    cost = (v * (y - Z @ theta) ** 2).sum() + 0.05 * (theta[1:] ** 2).sum()
    assert model.cost_ == pytest.approx(cost, rel=1e-9)
    noise = cost / (v.sum() - v.sum() / max(v.sum(), 120))
    mean, variance = model._mean_and_variance(new)  # calibrated in test_intervals.py
    np.testing.assert_allclose(variance[:, 0], noise * (1 + spread), rtol=1e-8)
    np.testing.assert_allclose(mean[:, 0], z @ theta, atol=1e-8)
    assert variance[0] > 1.4 * variance[1:].max()


def test_nystroem_and_ridge_on_the_same_landmarks(rng):
    X, y = table(rng, 2000, 6)
    nystroem = Nystroem(gamma=0.2, n_components=80, random_state=0)
    rival = make_pipeline(nystroem, Ridge(alpha=0.5)).fit(X, y)
    ours = SubsetLSSVMRegressor(gamma=0.2, alpha=0.5, basis=nystroem.component_indices_).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), rival.predict(X), atol=1e-8)


def test_sums_in_kernel_coordinates_lose_no_more_than_they_say(rng):
    X, y = table(rng, 3000)
    kernel = _core.Kernel("rbf", np.full(3, 0.3), 3, 1.0, X[0].copy())
    basis = Basis.of(kernel, X[:40].copy(), np.arange(40))
    exact, fast = (SubsetState.of(basis, X, y[:, None], np.ones(3000), fast=f) for f in (False, True))
    off = np.linalg.norm(exact.M - fast.M, 2) / np.linalg.norm(exact.M, 2)
    assert 1e-14 < off < fast.precision
    growth = np.linalg.cond(basis.L) ** 2
    assert growth / 2 < basis.growth() < growth * 1.001


# ---- classes


def test_classes_share_a_basis_and_probabilities_are_calibrated():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    model = SubsetLSSVMClassifier(max_basis=30, random_state=0).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.9
    p = model.predict_proba(X[100:])
    assert model.decision_function(X).shape == (150, 3)
    assert np.allclose(p.sum(axis=1), 1)
    loss = -np.log(p[np.arange(50), np.searchsorted(model.classes_, y[100:])]).mean()
    assert loss < 0.3  # softmax of the raw scores: about 0.6


def test_labels_that_come_late_are_refused(rng):
    X, y = make_moons(60, random_state=0)
    model = SubsetLSSVMClassifier(max_basis=10).partial_fit(X, y, classes=[0, 1, 2])
    assert model.decision_function(X).shape == (60, 3)
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, y + 2)
    with pytest.raises(ValueError, match="differs from"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="1 class"):
        SubsetLSSVMClassifier().fit(X, np.zeros(60))


# ---- edges and bad input


def test_edges(rng):
    one = SubsetLSSVMRegressor().fit([[1.0, 2.0]], [3.0])
    assert one.predict([[9.0, 9.0]]) == pytest.approx(3.0)
    constant = SubsetLSSVMRegressor().fit(np.ones((40, 2)), np.arange(40.0))
    assert constant.n_basis_ == 1
    assert constant.predict([[1.0, 1.0]]) == pytest.approx(19.5)
    X, _ = table(rng, 50)
    flat = SubsetLSSVMRegressor().fit(X, np.full(50, 7.0))
    np.testing.assert_allclose(flat.predict(X), 7.0, atol=1e-12)
    few = SubsetLSSVMRegressor(max_basis=500, gamma=3.0).fit(X[:8], X[:8, 0])
    assert few.n_basis_ == 8
    big = SubsetLSSVMRegressor(max_basis=20).fit(1e150 * X, 1e98 * X[:, 0])
    assert np.isfinite(big.predict(1e150 * X)).all()
    assert big.score(1e150 * X, 1e98 * X[:, 0]) > 0.5
    scaled = SubsetLSSVMRegressor(basis=X[:20], alpha=1e-3).fit(X, X[:, 0], sample_weight=np.full(50, 1e-3))
    same = SubsetLSSVMRegressor(basis=X[:20], alpha=1.0).fit(X, X[:, 0])
    np.testing.assert_allclose(scaled.predict(X), same.predict(X), atol=1e-9)
    assert scaled.gcv_ == pytest.approx(1e-3 * same.gcv_, rel=1e-6)


def test_repeated_rows_of_letter(data_dir):
    data = np.load(data_dir / "letter.npz")
    X, y = data["X_train"][:5000].astype(float), data["y_train"][:5000]
    model = SubsetLSSVMClassifier(max_basis=200, random_state=0).fit(X, y)
    assert len(np.unique(model.basis_vectors_, axis=0)) == 200
    assert model.score(data["X_test"].astype(float), data["y_test"]) > 0.75


BAD = {
    "alpha": (-1.0, "big", np.nan),
    "basis": ("best", np.zeros((3, 2)), np.array([0, 999]), np.array([-1]), np.full((2, 3), np.nan),
              np.zeros((0, 3)), 3),
    "max_basis": (0, 2.5),
    "oversample": (0.5,),
    "cycles": (0,),
    "gamma": (0.0, [1.0, 2.0]),
    "kernel": ("gauss",),
    "fit_intercept": ("yes",),
    "keep_path": (2,),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD.items() for v in values])
def test_bad_parameters_are_named_and_change_nothing(name, value, rng):
    X, y = table(rng, 60)
    model = SubsetLSSVMRegressor(max_basis=10, random_state=0).fit(X, y)
    before, held = pickle.dumps(model), getattr(model, name)
    with pytest.raises(ValueError, match=name):
        model.set_params(**{name: value}).fit(X, y)
    assert pickle.dumps(model.set_params(**{name: held})) == before


@pytest.mark.parametrize(
    ("X", "y", "v", "message"),
    [
        (np.full((3, 3), np.nan), np.zeros(3), None, "X contains NaN"),
        (np.zeros((3, 3)), [0, np.inf, 0], None, "y contains infinity"),
        (np.zeros((3, 3)), np.zeros(2), None, "inconsistent"),
        (np.zeros((3, 3)), np.zeros(3), [1, -1, 1], "[Nn]egative"),
        (np.zeros((3, 3)), np.zeros(3), [0, 0, 0], "sample_weight is zero"),
        (np.zeros((3, 3)), [0, 1e200, 0], None, "rescale y"),
        (np.zeros((3, 2)), np.zeros(3), None, "2 features"),
    ],
)
def test_bad_rows_are_named_and_change_nothing(X, y, v, message, rng):
    model = SubsetLSSVMRegressor(max_basis=10, random_state=0).fit(*table(rng, 60))
    before = pickle.dumps(model)
    calls = [lambda: model.fit_batches([(X, y, v)]), lambda: model.fit(X, y, v)] if X.shape[1] == 3 else []
    if message != "sample_weight is zero":
        calls += [lambda: model.partial_fit(X, y, sample_weight=v), lambda: model.accumulate(X, y, v)]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert pickle.dumps(model) == before


def test_other_refusals(rng):
    X, y = table(rng, 60)
    for name in SUPERVISED & set(SELECTORS):
        with pytest.raises(ValueError, match="looks at y"):
            SubsetLSSVMRegressor(basis=name).select_basis(X)
    with pytest.raises(ValueError, match="no rows"):
        SubsetLSSVMRegressor().fit_batches(iter([]))
    with pytest.raises(ValueError, match="alpha > 0"):
        SubsetLSSVMRegressor(alpha=0.0, max_basis=5).fit(X, y).predict(X, return_std=True)
    with pytest.raises(ValueError, match=r"no row|no vector"):
        SubsetLSSVMRegressor(kernel="linear").fit(np.zeros((5, 2)), np.arange(5.0))
    with pytest.raises(Exception, match=r"not fitted|needs a basis"):
        SubsetLSSVMRegressor().accumulate(X, y)
    with pytest.raises(Exception, match="not fitted"):
        SubsetLSSVMRegressor().select_basis(X, y).predict(X)


@pytest.mark.parametrize("kind", [SubsetLSSVMRegressor, SubsetLSSVMClassifier])
def test_pickles_and_files_carry_no_path_unless_it_is_kept(kind, rng, tmp_path):
    X, y = table(rng, 800)
    sizes = {}
    for keep in ("memory", True, False):
        model = kind(max_basis=100, random_state=0, keep_path=keep).fit(X, y if kind is SubsetLSSVMRegressor else y > 0)
        model.save(tmp_path / "model")
        sizes[keep] = len(pickle.dumps(model)), (tmp_path / "model").stat().st_size
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        if keep is True:
            assert again.resize(7).n_basis_ == 7
        else:
            with pytest.raises(ValueError, match="keep_path=True"):
                again.resize(7)
    # 300 x 300 numbers of the start, twice, beside 100 x 100 twice
    assert sizes["memory"] == pytest.approx(sizes[False], rel=0.01)
    assert sizes["memory"][0] < 0.2 * sizes[True][0]
    assert sizes["memory"][1] < 0.2 * sizes[True][1]
    model = kind(max_basis=100, random_state=0).fit(X, y if kind is SubsetLSSVMRegressor else y > 0)
    assert copy.deepcopy(model).resize(7).n_basis_ == model.resize(7).n_basis_ == 7


@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_models_are_stored_and_resume_exactly(way, rng):
    X, y = table(rng, 200)
    for model in (
        SubsetLSSVMRegressor(max_basis=15, random_state=0, keep_path=True).fit(X, y),
        SubsetLSSVMClassifier(max_basis=15, random_state=0, keep_path=True).fit(X, y > 0),
        FeatureVectorSelector(n_components=10, random_state=0).fit(X),
    ):
        again = ROUND_TRIPS[way](model)
        if isinstance(model, FeatureVectorSelector):
            np.testing.assert_array_equal(again.transform(X), model.transform(X))
            continue
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.resize(7).predict(X), copy.deepcopy(model).resize(7).predict(X))
        target = y if isinstance(model, SubsetLSSVMRegressor) else y > 0
        again = ROUND_TRIPS[way](model)
        np.testing.assert_array_equal(
            again.partial_fit(X[:50], target[:50]).predict(X), model.partial_fit(X[:50], target[:50]).predict(X)
        )


def eliminated(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve by elimination with pivots in extended precision."""
    A, b = A.astype(np.longdouble), b.astype(np.longdouble)
    n = len(A)
    for i in range(n):
        p = i + int(np.abs(A[i:, i]).argmax())
        A[[i, p]], b[[i, p]] = A[[p, i]], b[[p, i]]
        rest = A[i + 1 :, i] / A[i, i]
        A[i + 1 :] -= rest[:, None] * A[i]
        b[i + 1 :] -= rest * b[i]
    x = np.zeros(n, np.longdouble)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


@pytest.mark.parametrize("alpha", ["gcv", 1e-3])
def test_the_solution_loses_no_more_digits_than_normal_equations(alpha):
    """Version 0.1.0 dropped directions below the rounding of the sums whatever the ridge: 1e-7 instead of 1e-11."""
    ratios = []
    for seed in range(30, 70):
        rng = np.random.default_rng(seed)
        X = 3 * rng.standard_normal((200, int(rng.integers(1, 4))))
        y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
        m = int(rng.choice([3, 4, 8, 20]))
        basis = X[:m] * 10 ** rng.uniform(-3, 0) + (
            X[100] if rng.random() < 0.5 else 0
        )  # close together, rows far apart
        kernel, gamma = ["matern52", "rbf", "matern32", "laplacian"][seed % 4], float(10 ** rng.uniform(-3, 1))
        model = SubsetLSSVMRegressor(kernel=kernel, gamma=gamma, alpha=alpha, basis=basis).fit(X, y)
        if model.n_basis_ < m:
            continue
        core = model._basis.kernel
        K, D = core.matrix(basis, basis), np.hstack([np.ones((200, 1)), core.matrix(X, basis)])
        exact = D.astype(np.longdouble)
        P = exact.T @ exact
        P[1:, 1:] += np.longdouble(model.alpha_) * K
        unit = 1 / np.sqrt(np.diagonal(P).astype(float))
        scaled = P.astype(float) * unit * unit[:, None]
        if np.linalg.cond(scaled) > 1e12:
            continue
        truth = (exact @ eliminated(P, exact.T @ y)).astype(float)
        normal = D @ (unit * np.linalg.solve(scaled, unit * (D.T @ y)))
        ours, theirs = (np.abs(f - truth).max() / np.abs(truth).max() for f in (model.predict(X), normal))
        ratios.append(ours / max(theirs, 1e-15))
    assert len(ratios) > 20
    # Two roundings of the same sums: the median says which loses more. Of the quotient of two random errors a hundredth
    # exceeds 60 and a ten-thousandth 6000; version 0.1.0 reached 7e4.
    assert np.median(ratios) < 10
    assert max(ratios) < 1e4


def test_another_size_counts_the_rows_that_were_given():
    """Equal rows are one in the deletion's sums, but not in what was seen, nor in GCV."""
    X, y = np.repeat(np.random.default_rng(3).normal(size=(40, 2)), 2, axis=0), np.repeat(np.arange(40.0), 2)
    model = SubsetLSSVMRegressor(gamma=0.5, max_basis=10, random_state=0).fit(X, y)
    assert model.n_samples_seen_ == 80
    assert model.resize(5).n_samples_seen_ == 80
    assert model._state.n_weighted == 80
