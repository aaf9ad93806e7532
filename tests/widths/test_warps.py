"""Warps: the metric and its gradient against the definition, what is learned, and what every part makes of one."""

from __future__ import annotations

import copy
import pickle

import kernsift
import numpy as np
import pytest
from kernsift import _core, blocks, learn_gamma, tune
from kernsift.display import WidthsDisplay
from oracles import widths as oracle
from sklearn.base import clone

KERNELS = ("rbf", "laplacian", "matern32", "matern52")
BINS = (4, 1, 3, 0)
JITTER = 1e-6


def rows(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 30.0, 0.01, 1.0][:d] + [0.0, 5.0, 1e3, 2.0][:d]
    return X, np.sin(2 * X[:, 0]) + X[:, 1] / 30 + 0.1 * rng.standard_normal(n)


def some_warp(X, seed=1):
    """Curves of four, one, three and no bins, whose outer knots leave rows beyond them."""
    rng = np.random.default_rng(seed)
    knots = [np.quantile(x, np.linspace(0.05, 0.95, b + 1)) for x, b in zip(X.T, BINS, strict=True)]
    return kernsift.Warp(knots, [rng.uniform(0.1, 1.0, b) for b in BINS])


def parts(warp):
    """Knots and slopes of each feature as lists, without the padding."""
    slopes = [row[np.isfinite(row)] for row in warp.slopes]
    return [row[: len(s) + 1] for row, s in zip(warp.knots, slopes, strict=True)], slopes


def kernel_of(name, warp, centre):
    return _core.Kernel(name, np.ones(warp.n_features), 3, 1.0, centre, (warp.knots, warp.slopes))


# --- the kernel ---


@pytest.mark.parametrize("name", KERNELS)
def test_BEYOND_B10_a_warped_kernel_is_the_kernel_of_the_curves(name):
    X, _ = rows(300)
    warp = some_warp(X)
    W, one = oracle.curves(X, *parts(warp)), np.ones(4)
    np.testing.assert_allclose(warp.transform(X), W, rtol=1e-13, atol=1e-13)
    kernel = kernel_of(name, warp, X[5])
    K = kernel.matrix(X, X[:40].copy())
    # squares of coordinates below 3 as sums of norms and products
    np.testing.assert_allclose(K, oracle.kernel_matrix(name, W, W[:40], one), atol=1e-14)
    assert (np.diag(K[:40]) == 1.0).all()
    # a value depends on the two samples alone: not on the row, the block, the other features' places
    again = np.concatenate([kernel.matrix(X[i : i + 1].copy(), X[:40].copy()) for i in range(len(X))])
    np.testing.assert_array_equal(K, again)
    wide = kernsift.Warp([*parts(warp)[0]] * 3, [*parts(warp)[1]] * 3)
    np.testing.assert_allclose(
        kernel_of("laplacian", wide, np.tile(X[5], 3)).matrix(np.tile(X, 3), np.tile(X[:1], 3)),
        kernel_of("laplacian", warp, X[5]).matrix(X, X[:1].copy()) ** 3,
        atol=1e-13,
    )
    far = X.copy()
    far[:, 0] = 1e300  # beyond the last knot nothing changes
    np.testing.assert_array_equal(
        kernel.matrix(far, far[:1].copy()), kernel.matrix(np.where(far > 1e299, 9.0, far), far[:1].copy())
    )
    other = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(other.matrix(X, X), kernel.matrix(X, X))
    plain = _core.Kernel(name, one, 3, 1.0, X[5])
    assert plain.warp is None
    assert len(plain.__reduce__()[1]) == 5


def problem(seed=0, n=40, m=9, outputs=2):
    X, _ = rows(n, seed=seed)
    rng = np.random.default_rng(seed)
    return X, np.ascontiguousarray(X[:m]), rng.standard_normal((n, outputs)), rng.uniform(0.3, 2.5, n)


def warped_problem(name, warp, X, Z, Y, v, bias, **prior):
    given = {"X": X, "landmarks": Z, "Y": Y, "weight": v, "within": 0 * v}
    return _core.WidthProblem(name, **given, fit_intercept=bias, jitter=JITTER, warp=(warp.knots, warp.slopes), **prior)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence"])
@pytest.mark.parametrize("name", KERNELS)
def test_BEYOND_B10_BEYOND_B11_value_and_gradient_are_those_of_the_definition(name, criterion, bias):
    X, Z, Y, v = problem()
    warp = some_warp(X)
    knots, slopes = parts(warp)
    flat, cut, alpha = np.concatenate(slopes), np.cumsum([len(s) for s in slopes])[:-1], 0.3

    def define(s, alpha):
        W, V = (oracle.curves(A, knots, np.split(s, cut)) for A in (X, Z))
        return getattr(oracle, criterion)(name, W, V, Y, v, np.ones(4), alpha, JITTER * v.sum(), bias)

    core = warped_problem(name, warp, X, Z, Y, v, bias)
    value, by_slopes, by_alpha, _ = core.evaluate(flat, alpha, criterion=criterion)
    assert value == pytest.approx(define(flat, alpha), rel=1e-12)  # two dense solutions of a well-conditioned problem
    log = (lambda x: x) if criterion == "evidence" else np.log
    expected = oracle.differences(
        lambda t: float(log(define(np.exp(t[:-1]), np.exp(t[-1])))), np.log(np.append(flat, alpha)), 1e-3
    )
    found = np.append(by_slopes, by_alpha)
    # fourth-order differences with h = 1e-3: truncation h^4, rounding 1e-15 / h
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
    point = np.log(np.append(flat, alpha / v.sum()))
    seen, slope = core.objective(point, criterion=criterion, toll=1.0, gradient=True)
    assert seen == pytest.approx(float(log(value)), rel=1e-12)
    np.testing.assert_allclose(slope, found, rtol=1e-9, atol=1e-12)


def test_BEYOND_B11_of_more_rows_than_a_tile():
    X, Z, Y, v = problem(n=600, m=21)
    warp = some_warp(X)
    flat = np.concatenate(parts(warp)[1])
    for name in KERNELS:
        core = warped_problem(name, warp, X, Z, Y, v, True)
        expected = oracle.differences(
            lambda t, core=core: float(np.log(core.evaluate(np.exp(t), 0.3, gradient=False)[0])), np.log(flat), 1e-3
        )
        found = core.evaluate(flat, 0.3)[1]
        assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max(), name


def test_BEYOND_B12_the_prior_is_about_the_shape_of_the_curves():
    X, Z, Y, v = problem()
    warp = some_warp(X)
    flat = np.concatenate(parts(warp)[1])
    plain, held = (warped_problem("rbf", warp, X, Z, Y, v, True, prior=prior) for prior in (0.0, 2.0))
    rng = np.random.default_rng(3)
    r = rng.standard_normal(flat.size)
    cut = np.cumsum(BINS)[:-1]
    unlike = sum(((part - part.mean()) ** 2).sum() for part in np.split(r, cut) if part.size)
    for shift, expected in ((r, 2.0 * unlike / max(v.sum(), len(v))), (np.repeat([0.3, -1.0, 2.0, 0.0], BINS), 0.0)):
        at = np.append(np.log(flat) + shift, -2.0)
        values = [p.objective(at, criterion="loo", toll=1.0, gradient=False) for p in (held, plain)]
        assert values[0] - values[1] == pytest.approx(expected, abs=1e-12)
    found = held.objective(at, criterion="loo", toll=1.0, gradient=True)[1]
    at[:-1] += r
    found = held.objective(at, criterion="loo", toll=1.0, gradient=True)[1]
    expected = oracle.differences(lambda t: held.objective(t, criterion="loo", toll=1.0, gradient=False), at, 1e-3)
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()


# --- the public object ---


def test_a_warp_is_a_value():
    warp = kernsift.Warp(knots=[[0, 1, 10], [0, 1], [3]], slopes=[[2, 1], [0.5], []])
    same = kernsift.Warp(warp.knots, warp.slopes)
    assert warp == same
    assert hash(warp) == hash(same)
    assert warp != kernsift.Warp([[0, 1]], [[1]])
    assert warp != "warp"
    assert copy.deepcopy(warp) == warp
    assert pickle.loads(pickle.dumps(warp)) == warp
    assert repr(warp) == "Warp(3 features, 3 slopes)"
    with pytest.raises(ValueError, match="read-only"):
        warp.knots[0, 0] = 5.0
    X = np.array([[-1.0, 0.5, 7.0], [1.0, 2.0, 3.0], [20.0, 0.0, 0.0]])
    np.testing.assert_allclose(warp.transform(X), [[0, 0.25, 0], [2, 0.5, 0], [3, 0, 0]])
    inside = np.array([[0.5, 0.5, 3.0], [4.0, 1.0, 3.0]])
    np.testing.assert_allclose(warp.inverse_transform(warp.transform(inside)), inside)
    model = kernsift.SubsetLSSVMRegressor(gamma=warp)
    assert clone(model).gamma == warp
    assert clone(model).gamma is not warp


@pytest.mark.parametrize(
    ("knots", "slopes", "message"),
    [
        ([[0, 0]], [[1]], "feature 0 has knots that do not increase"),
        ([[0, 1], [3, 2]], [[1], [1]], "feature 1 has knots that do not increase"),
        ([[0, np.nan, 1]], [[1, 1]], "feature 0 has knots that do not increase"),
        ([[0, np.inf]], [[1]], "do not increase, or not by a finite amount"),
        ([[np.nan, 1]], [[1]], "feature 0 needs a finite first knot"),
        ([[0, 1]], [[0]], "a slope that is not positive"),
        ([[0, 1]], [[-1]], "a slope that is not positive"),
        ([[0, np.nan, 1]], [[np.nan, 1]], "feature 0 has knots or slopes behind its last bin"),
        ([[0, 1]], [[np.inf]], "a slope that is not positive and finite"),
        ([[0]], [[]], "every feature is switched off"),
        ([[0, 1]], [[1], [1]], "knots of 1 features and slopes of 2"),
        ([["a", 1]], [[1]], "knots needs one sequence of numbers"),
        ([[[0, 1]]], [[1]], "knots needs one sequence of numbers"),
        (3, [[1]], "knots needs one sequence of numbers"),
        ([], [], "knots needs one sequence of numbers"),
    ],
)
def test_bad_warps_are_named(knots, slopes, message):
    with pytest.raises(ValueError, match=message):
        kernsift.Warp(knots, slopes)


def test_bad_uses_are_named():
    X, y = rows()
    warp = some_warp(X)
    for kernel in ("linear", "polynomial"):
        with pytest.raises(ValueError, match=f"a warp needs a stationary kernel, not {kernel}"):
            kernsift.SubsetLSSVMRegressor(kernel=kernel, gamma=warp).fit(X, y)
        with pytest.raises(ValueError, match="no widths to learn"):
            kernsift.SubsetLSSVMRegressor(kernel=kernel, gamma="warp").fit(X, y)
    with pytest.raises(ValueError, match="Warp of 4 features and X has 2"):
        kernsift.OnlineLSSVMRegressor(gamma=warp).fit(X[:, :2], y)
    for gamma in (warp, "warp"):
        with pytest.raises(ValueError, match="set polish=0"):
            kernsift.SubsetLSSVMRegressor(gamma=gamma, polish=5).fit(X, y)
    with pytest.raises(ValueError, match="a Warp stands alone"):
        kernsift.OROLSRegressor(gammas=[warp, 1.0]).fit(X, y)
    with pytest.raises(ValueError, match="give it Warp"):
        blocks.Kernel(gamma=warp)
    with pytest.raises(ValueError, match="gammas"):
        tune(kernsift.SubsetLSSVMRegressor(max_basis=5), X, y, gammas=[warp, 1.0])
    with pytest.raises(ValueError, match="X has 2 features and the warp 4"):
        warp.transform(X[:, :2])
    with pytest.raises(ValueError, match="must be True or False"):
        learn_gamma(X, y, warp="yes")
    with pytest.raises(ValueError, match="choose one"):
        learn_gamma(X, y, warp=True, isotropic=True)
    problem = warped_problem("rbf", warp, X, X[:9].copy(), y[:, None], np.ones(len(X)), True)
    for bad in ((), (1, 2, 3), ("a", "b"), 5):  # as a file that was changed may have it
        with pytest.raises(ValueError, match="warp"):
            _core.Kernel("rbf", np.ones(4), 3, 1.0, X[0], bad)
    with pytest.raises(ValueError, match="landmarks move under plain widths only"):
        problem.evaluate(np.concatenate(parts(warp)[1]), 0.3, landmarks=X[:9].copy())
    with pytest.raises(ValueError, match="one-dimensional of length 8"):
        problem.evaluate(np.ones(4), 0.3)


# --- every estimator ---

ESTIMATORS = [
    kernsift.SubsetLSSVMRegressor(basis=range(0, 60, 5), random_state=0),
    kernsift.LSSVMRegressor(),
    kernsift.SparseLSSVMRegressor(max_basis=12),
    kernsift.OROLSRegressor(max_basis=12),
    kernsift.KRLSRegressor(novelty_tol=0.1),
    kernsift.OnlineLSSVMRegressor(max_basis=12, forgetting=1.0, linear=False),
    kernsift.OnlineLSSVMRegressor(max_basis=12, engine="inverse"),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}-{getattr(e, 'basis', '')}")
def test_a_model_with_a_warp_is_the_model_on_the_curves(estimator, kernel):
    X, y = rows()
    warp = some_warp(X)
    W = warp.transform(X)
    model = clone(estimator).set_params(kernel=kernel, gamma=warp).fit(X, y)
    on_curves = clone(estimator).set_params(kernel=kernel, gamma=1.0).fit(W, y)
    assert model.gamma_ == warp
    np.testing.assert_array_equal(model.basis_indices_, on_curves.basis_indices_)
    # kernel values differ by rounding, and coefficients by that times the condition of some 1e4
    np.testing.assert_allclose(model.predict(X), on_curves.predict(W), rtol=1e-7, atol=1e-7)
    # without a ridge there is no standard deviation; that of OROLS is simulated, from a seed that the rows set
    if not isinstance(model, (kernsift.KRLSRegressor, kernsift.OROLSRegressor)):
        expected = on_curves.predict(W, return_std=True)[1]
        np.testing.assert_allclose(model.predict(X, return_std=True)[1], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "basis", ["pruned", "efvs", "rpcholesky", "greedy", "kmeans", "csi", "orols", "qr", "online", "ald"]
)
def test_every_selector_chooses_by_the_curves(basis):
    X, y = rows(300)
    warp = some_warp(X)
    model = kernsift.SubsetLSSVMRegressor(gamma=warp, basis=basis, max_basis=25, random_state=0).fit(X, y)
    assert model.gamma_ == warp
    assert model.score(X, y) > 0.8
    if basis == "kmeans":  # no rows
        ends = np.array([warp.curve(j)[0][[0, -1]] for j in range(4)])
        assert ((model.basis_vectors_ >= ends[:, 0]) & (model.basis_vectors_ <= ends[:, 1])).all()


def test_classifiers_selectors_and_policies_take_a_warp():
    X, y = rows(200)
    labels = np.where(y > 0, "up", "down")
    warp = some_warp(X)
    for classifier in (
        kernsift.SubsetLSSVMClassifier,
        kernsift.LSSVMClassifier,
        kernsift.OROLSClassifier,
        kernsift.OnlineLSSVMClassifier,
    ):
        model = classifier(gamma=warp).fit(X, labels)
        assert model.gamma_ == warp
        assert model.score(X, labels) > 0.8
    selector = kernsift.FeatureVectorSelector(gamma=warp, n_components=9, random_state=0).fit(X)
    coordinates = selector.transform(X)
    expected = oracle.kernel_matrix("rbf", warp.transform(X), warp.transform(selector.basis_vectors_), np.ones(4))
    inner = coordinates @ selector.transform(selector.basis_vectors_).T
    np.testing.assert_allclose(inner, expected, atol=1e-10)
    assert selector.gamma_ == warp
    lstd = kernsift.KernelLSTD(gamma=warp, alpha=0.1, discount=0.5).partial_fit(X[:-1], y[1:], X[1:])
    assert lstd.gamma_ == warp
    assert np.isfinite(lstd.predict(X)).all()


def test_streams_go_on_with_a_warp():
    X, y = rows(300)
    warp = some_warp(X)
    whole = kernsift.OnlineLSSVMRegressor(gamma=warp, max_basis=15).partial_fit(X, y)
    model = kernsift.OnlineLSSVMRegressor(gamma=warp, max_basis=15)
    for x, t in zip(X[:150], y[:150], strict=True):
        model.update(x, t)
    model = pickle.loads(pickle.dumps(model)).partial_fit(X[150:], y[150:])
    np.testing.assert_array_equal(model.basis_indices_, whole.basis_indices_)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-8, atol=1e-8)
    assert model.predict_one(X[3]) == pytest.approx(model.predict(X[3:4])[0])
    single = model.predict(X.astype(np.float32))
    assert single.dtype == np.float32
    # rows of single precision, between knots .01 apart at 1000: 6e-5 of a bin
    np.testing.assert_allclose(single, model.predict(X.astype(np.float32).astype(np.float64)), atol=1e-4)
    fresh = kernsift.OnlineLSSVMRegressor(gamma=warp, max_basis=15)
    assert np.isfinite(fresh.prequential(X, y).error[1:]).all()
    with pytest.raises(ValueError, match="features cannot be added to a warp"):
        model._fitted().add_features(np.ones(1))


def test_saved_models_have_their_warp_and_sums_of_another_do_not_add(tmp_path):
    X, y = rows(200)
    warp = some_warp(X)
    for estimator in (
        kernsift.SubsetLSSVMRegressor(max_basis=10, random_state=0),
        kernsift.OnlineLSSVMRegressor(),
        kernsift.LSSVMRegressor(),
    ):
        model = estimator.set_params(gamma=warp).fit(X, y)
        model.save(tmp_path / "model.npz")
        loaded = kernsift.load(tmp_path / "model.npz")
        assert loaded.gamma == warp
        assert loaded.gamma_ == warp
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    settings = {"max_basis": 10, "random_state": 0, "basis": X[:10]}
    other = kernsift.Warp(warp.knots, 2 * warp.slopes)
    first, same, different = (kernsift.SubsetLSSVMRegressor(gamma=g, **settings).fit(X, y) for g in (warp, warp, other))
    assert first.merge(same).n_samples_seen_ == 400
    with pytest.raises(ValueError, match="basis"):
        first.merge(different)


# --- learning ---


QUICK = {"m": 80, "max_iter": 10, "random_state": 0}


def jagged(n, seed, d=3):
    """A function of steps at places that one width serves badly."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, d)) ** 3
    y = np.sin(9 * X[:, 0] ** (1 / 3)) + np.floor(4 * X[:, 1] ** (1 / 3)) + 0.1 * rng.standard_normal(n)
    return X, y


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_a_learned_warp_errs_less_where_widths_differ_along_a_feature(kernel):
    X, y = jagged(500, 0)
    new, truth = jagged(3000, 1)
    plain = learn_gamma(X, y, kernel=kernel, **QUICK)
    found = learn_gamma(X, y, kernel=kernel, **QUICK, warp=True)
    assert isinstance(found.gamma, kernsift.Warp)
    assert found.error < plain.error
    assert found.error_one_width == plain.error_one_width
    assert set(found.held_out_warp) == {"iteration", "widths", "curves"}
    assert found.path["gamma"].shape == (found.n_iter + 1, np.isfinite(found.gamma.slopes).sum())
    assert found.relevance.sum() == pytest.approx(1)
    assert found.relevance[2] < found.relevance[:2].min()
    settings = {"kernel": kernel, "max_basis": 80, "random_state": 0}
    errors = [
        np.mean((kernsift.SubsetLSSVMRegressor(gamma=gamma, **settings).fit(X, y).predict(new) - truth) ** 2)
        for gamma in (plain.gamma, found.gamma)
    ]
    assert errors[1] < 0.9 * errors[0]


def test_widths_stay_where_curves_gain_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.5 * rng.standard_normal(600)
    plain = learn_gamma(X, y, **QUICK)
    found = learn_gamma(X, y, **QUICK, warp=True)
    np.testing.assert_array_equal(found.gamma, plain.gamma)
    assert found.error == plain.error
    assert "held_out_warp" not in plain


def test_scales_orders_and_repetitions_of_rows_change_nothing():
    X, y = jagged(400, 0)
    found = learn_gamma(X, y, **QUICK, warp=True).gamma
    order = np.random.default_rng(1).permutation(400)
    assert learn_gamma(X[order], y[order], **QUICK, warp=True).gamma == found
    scale = np.array([2.0**20, 2.0**-20, 1.0])
    scaled = learn_gamma(X * scale, y, **QUICK, warp=True).gamma
    W = found.transform(X)
    # powers of two: the rows' keys, so the rows drawn, differ, the curves do not much
    assert np.corrcoef(W[:, 0], scaled.transform(X * scale)[:, 0])[0, 1] > 0.99


def test_knots_are_distinct_values_and_quantiles():
    rng = np.random.default_rng(0)
    X = np.column_stack([
        rng.integers(0, 2, 800), rng.integers(0, 5, 800), np.where(rng.random(800) < 0.7, 0.0, rng.random(800)),
        np.full(800, 3.0), rng.standard_normal(800) ** 3,
    ])  # fmt: skip
    y = np.sin(3 * np.cbrt(X[:, 4])) + X[:, 0] + (X[:, 1] > 2) + (X[:, 2] > 0.5)
    found = learn_gamma(X, y, kernel="laplacian", **QUICK, warp=True).gamma
    assert isinstance(found, kernsift.Warp)
    np.testing.assert_array_equal(found.curve(0)[0], [0, 1])
    np.testing.assert_array_equal(found.curve(1)[0], [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(found.curve(3)[0], [3])
    assert len(found.curve(3)[1]) == 1
    assert set(found.curve(2)[0]) <= set(X[:, 2])
    ends = found.curve(4)[0]
    assert (ends[0], ends[-1]) == (X[:, 4].min(), X[:, 4].max())


def test_tables_too_small_for_curves_have_widths():
    X, y = jagged(15, 0)
    assert isinstance(learn_gamma(X, y, warp=True, random_state=0).gamma, np.ndarray)
    constant = learn_gamma(np.ones((30, 2)), np.arange(30.0), warp=True, random_state=0)
    np.testing.assert_array_equal(constant.gamma, [0.5, 0.5])
    X, y = jagged(300, 0)
    one = learn_gamma(X[:, :1], np.floor(4 * np.cbrt(X[:, 0])), kernel="laplacian", **QUICK, warp=True)
    assert isinstance(one.gamma, kernsift.Warp)
    np.testing.assert_array_equal(one.relevance, [1.0])


@pytest.mark.parametrize(
    "family",
    [kernsift.SubsetLSSVMRegressor, kernsift.OROLSRegressor, kernsift.LSSVMRegressor, kernsift.SparseLSSVMRegressor],
)
def test_every_family_learns_a_warp_by_name(family):
    X, y = jagged(300, 0)
    model = family(kernel="laplacian", gamma="warp").fit(X, y)
    learned = model.learned_gamma_["gamma"]
    assert model.gamma_ == learned if isinstance(learned, kernsift.Warp) else (model.gamma_ == learned).all()
    assert model.score(X, y) > 0.7


def test_a_stream_takes_a_warp_and_learns_none():
    X, y = jagged(300, 0)
    with pytest.raises(ValueError, match="gamma='warp' is for fit"):
        kernsift.OnlineLSSVMRegressor(kernel="laplacian", gamma="warp").partial_fit(X, y)
    fitted = kernsift.OnlineLSSVMRegressor(kernel="laplacian", gamma="warp", max_basis=50).fit(X, y)
    assert fitted.gamma_ == fitted.learned_gamma_["gamma"]
    model = kernsift.OnlineLSSVMRegressor(kernel="laplacian", gamma=fitted.gamma_, max_basis=50).partial_fit(X, y)
    assert model.gamma_ == fitted.gamma_
    assert model.score(X, y) > 0.7


def test_the_display_draws_the_curves():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = jagged(500, 0)
    found = learn_gamma(X, y, kernel="laplacian", **QUICK, warp=True)
    display = WidthsDisplay.from_estimator(found)
    axes = display.plot_curves(most=2)
    order = np.argsort(-found.relevance)
    for ax, j in zip(axes, order, strict=False):
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), found.gamma.curve(j)[0])
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.gamma.curve(j)[1])
    with pytest.raises(ValueError, match="no curves"):
        WidthsDisplay(relevance=np.ones(2), names=["a", "b"]).plot_curves()
