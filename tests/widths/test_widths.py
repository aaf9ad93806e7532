"""Learned widths: the gradient in the core against central differences, and what `learn_gamma` makes of it."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from kernsift import _core, learn_gamma
from oracles import widths as oracle
from sklearn.datasets import load_diabetes, make_friedman1, make_moons

KERNELS = ("rbf", "laplacian", "matern32", "matern52")
JITTER = 1e-6


def problem(seed=0, n=40, m=9, d=4, outputs=2):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, outputs))
    return X, np.ascontiguousarray(X[:m]), Y, rng.uniform(0.3, 2.5, n), rng.uniform(0.1, 0.5, d)


def by_definition(criterion, kernel, X, Z, Y, v, bias, toll):
    extra = {"toll": toll} if criterion == "gcv" else {}
    call = getattr(oracle, criterion)
    return lambda gamma, alpha, Z=Z: call(kernel, X, Z, Y, v, gamma, alpha, JITTER * v.sum(), bias, **extra)


def widths(kernel, X, Z, Y, v, within=None, bias=True, jitter=JITTER):
    rows = {"X": X, "landmarks": Z, "Y": Y, "weight": v, "within": 0 * v if within is None else within}
    return _core.WidthProblem(kernel, **rows, fit_intercept=bias, jitter=jitter)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_point_of_the_search_has_the_value_slope_and_errors_of_its_model(kernel, bias):
    X, Z, Y, v, gamma = problem()
    core, alpha = widths(kernel, X, Z, Y, v, bias=bias), 0.3
    point = np.log(np.append(gamma, alpha / v.sum()))
    for criterion in ("loo", "gcv", "evidence"):
        value, by_gamma, by_alpha, _ = core.evaluate(gamma, alpha, criterion=criterion, toll=1.2)
        found, slope = core.objective(point, criterion=criterion, toll=1.2, gradient=True)
        assert found == core.objective(point, criterion=criterion, toll=1.2, gradient=False)
        # the ridge has been through a logarithm and back
        assert found == pytest.approx(value if criterion == "evidence" else np.log(value), rel=1e-12)
        np.testing.assert_allclose(slope, np.append(by_gamma, by_alpha), rtol=1e-9, atol=1e-12)
    rng = np.random.default_rng(2)
    new, truth, w = rng.standard_normal((7, 4)), rng.standard_normal((7, Y.shape[1])), rng.uniform(0.5, 2, 7)
    K, K_new, K_Z = (oracle.kernel_matrix(kernel, A, Z, gamma) for A in (X, new, Z))
    mean, mean_y = (v @ A / v.sum() if bias else np.zeros(A.shape[1]) for A in (K, Y))
    S = K - mean
    beta = np.linalg.solve((S.T * v) @ S + alpha * K_Z + JITTER * v.sum() * np.eye(len(Z)), (S.T * v) @ (Y - mean_y))
    squares = ((truth - mean_y - (K_new - mean) @ beta) ** 2).sum(axis=1)
    # normal equations of condition 1e5 at most
    assert core.error_on(point, X=new, Y=truth, weight=w, within=w) == pytest.approx(w @ squares + w.sum(), rel=1e-9)
    moved = np.append(point, (Z + 0.1).ravel())
    if kernel != "laplacian":
        slope = core.objective(moved, criterion="loo", toll=1.0, gradient=True)[1]
        at = core.evaluate(gamma, alpha, landmarks=Z + 0.1)
        np.testing.assert_allclose(slope[len(point) :].reshape(Z.shape), at[3], rtol=1e-9, atol=1e-12)
    broken = np.append(np.log(gamma), -690.0)
    twice = widths("rbf", X, np.vstack([Z, Z]), Y, v, jitter=0.0)
    assert twice.objective(broken, criterion="loo", toll=1.0, gradient=False) == 1e3
    with pytest.raises(ValueError, match="a point holds"):
        core.objective(point[:-1], criterion="loo", toll=1.0, gradient=False)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_BEYOND_B1_BEYOND_B2_BEYOND_B3_value_and_gradient_are_those_of_the_definition(kernel, criterion, bias):
    X, Z, Y, v, gamma = problem()
    toll, alpha = 1.4 if criterion == "gcv" else 1.0, 0.3
    core = widths(kernel, X, Z, Y, v, bias=bias)
    value, by_gamma, by_alpha, by_landmarks = core.evaluate(gamma, alpha, criterion=criterion, toll=toll, landmarks=Z)
    define = by_definition(criterion, kernel, X, Z, Y, v, bias, toll)
    # two dense solutions of a well-conditioned problem
    assert value == pytest.approx(define(gamma, alpha), rel=1e-12)
    log = (lambda x: x) if criterion == "evidence" else np.log

    def along(t):
        return float(log(define(np.exp(t[:-1]), np.exp(t[-1]))))

    # fourth-order differences with h = 1e-3: truncation h^4, rounding 1e-15 / h
    expected = oracle.differences(along, np.log(np.append(gamma, alpha)), 1e-3)
    found = np.append(by_gamma, by_alpha)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
    if kernel == "laplacian":  # |x - z| has a corner at every row that is a landmark
        assert by_landmarks is None
    else:

        def move(first):
            return float(log(define(gamma, alpha, np.vstack([first, Z[1:]]))))

        moved = oracle.differences(move, Z[:1], 1e-3)
        # the landmarks are rows here: Matern 3/2 has a third derivative that jumps where they coincide
        assert np.abs(by_landmarks[:1] - moved).max() <= 1e-7 * np.abs(by_landmarks).max()


def test_rows_given_once_with_their_weights_added_are_the_rows_repeated():
    X, Z, Y, _, gamma = problem(n=20)
    rng = np.random.default_rng(1)
    repeat = rng.integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), repeat)
    noisy = Y[rows] + rng.standard_normal((len(rows), Y.shape[1]))
    weight = repeat.astype(float)
    mean = np.stack([np.bincount(rows, c) for c in noisy.T], axis=1) / weight[:, None]
    within = np.bincount(rows, ((noisy - mean[rows]) ** 2).sum(axis=1))
    ones = np.ones(len(rows))
    for criterion in ("loo", "gcv", "evidence"):
        once = widths("rbf", X, Z, np.ascontiguousarray(mean), weight, within)
        each = widths("rbf", X[rows], Z, noisy, ones)
        by = {"criterion": criterion}
        for a, b in zip(once.evaluate(gamma, 0.3, **by), each.evaluate(gamma, 0.3, **by), strict=True):
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)  # the same sums in another order


@pytest.mark.parametrize("kernel", KERNELS)
def test_blocks_of_rows_and_padding_change_nothing(kernel):
    """More rows than a tile, landmarks not a multiple of a panel, outliers far from the centre."""
    rng = np.random.default_rng(3)
    n, m, d = 600, 21, 3
    X = rng.standard_normal((n, d))
    X[::50] *= 30
    Z, Y, v = np.ascontiguousarray(X[7 : 7 + m]), np.sin(X[:, :1]), np.ones(n)
    gamma, alpha = np.array([0.5, 0.2, 1.0]), 0.05
    core = widths(kernel, X, Z, Y, v)
    value, by_gamma, by_alpha, _ = core.evaluate(gamma, alpha, criterion="gcv")
    define = by_definition("gcv", kernel, X, Z, Y, v, True, 1.0)
    assert value == pytest.approx(define(gamma, alpha), rel=1e-10)
    expected = oracle.differences(
        lambda t: float(np.log(define(np.exp(t[:-1]), np.exp(t[-1])))), np.log(np.append(gamma, alpha)), 1e-3
    )
    # the definition solves the normal equations by LU: their condition (1e5) times rounding over the step
    assert np.abs(np.append(by_gamma, by_alpha) - expected).max() <= 1e-7 * np.abs(expected).max()


def test_breakdown_is_an_answer_and_bad_calls_are_errors():
    X, Z, Y, v, gamma = problem()
    twice = np.vstack([Z, Z])  # dependent landmarks, no jitter, and a ridge below rounding
    core = widths("rbf", X, np.ascontiguousarray(twice), Y, v, jitter=0.0)
    assert core.evaluate(gamma, 1e-300) == (None, None, None, None)
    core = widths("rbf", X, Z, Y, v)
    with pytest.raises(ValueError, match="criterion 'press'"):
        core.evaluate(gamma, 1.0, criterion="press")
    with pytest.raises(ValueError, match="alpha"):
        core.evaluate(gamma, 0.0)
    with pytest.raises(ValueError, match="landmarks must be two-dimensional with 4 columns"):
        core.evaluate(gamma, 1.0, landmarks=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="slope"):
        widths("linear", X, Z, Y, v).evaluate(gamma, 1.0)
    with pytest.raises(TypeError, match="not stored"):
        pickle.dumps(core)


# --- the search ---


def relevant(seed=0, n=300, d=6, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + noise * rng.standard_normal(n)


def test_irrelevant_features_are_switched_off_and_the_error_falls():
    X, y = relevant()
    found = learn_gamma(X, y, random_state=0)
    assert set(np.argsort(found.relevance)[-2:]) == {0, 1}
    assert found.relevance.sum() == pytest.approx(1.0)
    # which of 300 rows are landmarks matters: three of the four, in the median draw
    draws = [learn_gamma(X, y, random_state=seed).switched_off for seed in range(5)]
    assert np.median([len(set(off) & set(range(2, 6))) for off in draws]) >= 3
    assert not {0, 1} & set(found.switched_off)
    assert found.error < 0.5 * found.error_one_width
    test, truth = relevant(1)
    one = learn_gamma(X, y, isotropic=True, random_state=0)
    assert np.ptp(one.gamma) <= 1e-12 * one.gamma.max()

    def score(gamma):
        return kernsift.SubsetLSSVMRegressor(gamma=gamma, max_basis=100, random_state=0).fit(X, y).score(test, truth)

    assert 1 - score(found.gamma) < 0.5 * (1 - score(one.gamma))


def test_the_report_tells_the_way():
    X, y = relevant()
    steps = []
    found = learn_gamma(X, y, random_state=0, criterion="loo", callback=steps.append)
    assert [s["iteration"] for s in steps] == list(range(1, found.n_iter + 1))
    values = found.path["criterion"]
    assert (np.diff(values) <= 0).all()
    assert len(values) == found.n_iter + 1 == len(found.path["gamma"])
    np.testing.assert_array_equal(found.path["gamma"][-1], found.gamma)
    assert found.n_evaluations > found.n_iter
    assert found.seconds > 0
    assert found.error_one_width == pytest.approx(np.exp(values[0]) * y.var(), rel=1e-6)


def test_the_answer_does_not_depend_on_the_order_of_the_rows():
    X, y = relevant(n=200, d=3)
    order = np.random.default_rng(0).permutation(len(X))
    a, b = learn_gamma(X, y, random_state=0), learn_gamma(X[order], y[order], random_state=0)
    # the same rows in the same canonical order: only the means that standardise are summed in another order
    np.testing.assert_allclose(a.gamma, b.gamma, rtol=1e-4)
    weight = np.ones(len(X))
    weight[:50] = 2.0
    both = learn_gamma(np.vstack([X, X[:50]]), np.append(y, y[:50]), random_state=0)
    np.testing.assert_allclose(learn_gamma(X, y, sample_weight=weight, random_state=0).gamma, both.gamma, rtol=1e-4)
    weight = np.append(np.ones(len(X)), np.zeros(50))
    ignored = learn_gamma(np.vstack([X, X[:50] * 3]), np.append(y, y[:50]), sample_weight=weight, random_state=0)
    np.testing.assert_allclose(ignored.gamma, a.gamma, rtol=1e-4)


def test_features_of_any_scale_and_offset():
    X, y = relevant(n=200, d=3)
    plain = learn_gamma(X, y, random_state=0)
    scale = np.array([1e5, 1e-5, 3.0])
    moved = learn_gamma(X * scale + 100 * scale, y, random_state=0)
    # canonical order is by the values, so other rows are drawn: the same function, not the same sample
    assert moved.error < 2 * plain.error
    assert moved.error < moved.error_one_width
    huge = learn_gamma(X * 1e120, y, random_state=0)
    assert np.isfinite(huge.gamma).all()
    assert huge.error < 2 * plain.error
    with pytest.raises(ValueError, match="rescale"):
        learn_gamma(X * np.array([1e-200, 1.0, 1.0]), y)


def test_never_far_behind_one_width_on_few_rows_and_many_features():
    """Cawley and Talbot 2010: with as many widths as features the criterion itself is over-fitted."""
    X, y = load_diabetes(return_X_y=True)
    X = np.hstack([X / X.std(axis=0), np.random.default_rng(0).standard_normal((len(X), 40))])
    ratios = []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:350], order[350:]

        def error(gamma, train=train, test=test):
            model = kernsift.SubsetLSSVMRegressor(gamma=gamma, basis="random", max_basis=300, random_state=0)
            return np.sqrt(np.mean((model.fit(X[train], y[train]).predict(X[test]) - y[test]) ** 2))

        one = error(learn_gamma(X[train], y[train], isotropic=True, random_state=0).gamma)
        ratios.append(error(learn_gamma(X[train], y[train], random_state=0).gamma) / one)
    assert max(ratios) <= 1.01


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_learns(kernel):
    X, y = relevant(n=200, d=4)
    found = learn_gamma(X, y, kernel=kernel, m=40, random_state=0)
    assert found.error < 0.8 * found.error_one_width
    assert found.relevance[:2].sum() > 0.8


def test_classes_and_several_outputs_add_their_errors():
    X, y = make_moons(400, noise=0.2, random_state=0)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((400, 4))])
    names = np.array(["a", "b"])[y]
    found = learn_gamma(X, names, random_state=0)
    assert set(np.argsort(found.relevance)[-2:]) == {0, 1}
    signs = learn_gamma(X, np.where(y == 1, 1.0, -1.0), random_state=0)
    np.testing.assert_allclose(found.gamma, signs.gamma, rtol=1e-6)
    assert learn_gamma(X, y, classification=True, random_state=0).error == pytest.approx(found.error, rel=1e-6)
    both = learn_gamma(X, np.stack([X[:, 0] ** 2, np.sin(2 * X[:, 5])], axis=1), random_state=0)
    assert set(np.argsort(both.relevance)[-2:]) == {0, 5}


# --- bad and odd input ---


def test_constant_and_repeated_features():
    X, y = relevant(n=200, d=3)
    found = learn_gamma(np.hstack([X, np.full((200, 1), 7.0), X[:, :1]]), y, random_state=0)
    assert found.gamma[3] == 0
    assert 3 in found.switched_off
    # the repeated feature shares the width of the first: nothing tells them apart
    assert found.gamma[4] == pytest.approx(found.gamma[0], rel=1e-6)


@pytest.mark.parametrize("case", ["constant y", "constant X", "one row", "two rows", "wide", "equal rows"])
def test_nothing_to_learn_from(case):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    if case == "constant y":
        y[:] = 3.0
    elif case == "constant X":
        X[:] = 2.0
    elif case == "one row":
        X, y = X[:1], y[:1]
    elif case == "two rows":
        X, y = X[:2], y[:2]
    elif case == "wide":
        X = rng.standard_normal((30, 200))
    else:
        X = np.repeat(X[:3], 10, axis=0)
    found = learn_gamma(X, y, random_state=0)
    assert found.gamma.shape == (X.shape[1],)
    assert np.isfinite(found.gamma).all()
    assert (found.gamma >= 0).all()
    assert found.gamma.max() > 0
    assert found.alpha > 0
    model = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=10, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": "linear"}, "kernel='linear' has no widths"),
        ({"m": 0}, "m=0"),
        ({"n_rows": 2.5}, "n_rows=2.5"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"criterion": "aic"}, "criterion='aic'"),
        ({"isotropic": "yes"}, "isotropic='yes'"),
        ({"sample_weight": np.zeros(30)}, "zero for every row"),
        ({"classification": True, "y": np.zeros(30)}, "one class"),
    ],
)
def test_what_cannot_work_says_why(change, message):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    arguments = {"X": X, "y": y, **change}
    with pytest.raises(ValueError, match=message):
        learn_gamma(**arguments)


# --- in the estimators ---


@pytest.mark.parametrize(
    "model",
    [
        kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=40, random_state=0),
        kernsift.SparseLSSVMRegressor(gamma="learn", max_basis=40, random_state=0),
        kernsift.LSSVMRegressor(gamma="learn", alpha="loo", random_state=0),
        kernsift.OROLSRegressor(gamma="learn", max_basis=40, random_state=0),
        kernsift.OROLSRegressor(gammas=["learn", 0.5], max_basis=40, random_state=0),
        kernsift.OnlineLSSVMRegressor(gamma="learn", max_basis=40, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_gamma_learn_in_every_family(model):
    X, y = relevant()
    test, truth = relevant(1)
    plain = type(model)(
        **{**model.get_params(), "gamma": "scale", "gammas": None}
        if "gammas" in model.get_params()
        else {**model.get_params(), "gamma": "scale"}
    )
    assert 1 - model.fit(X, y).score(test, truth) < 0.7 * (1 - plain.fit(X, y).score(test, truth))
    assert not hasattr(plain, "learned_gamma_")
    np.testing.assert_array_equal(model.gamma_, model.learned_gamma_["gamma"])
    assert model.gamma_[:2].sum() > 0.5 * model.gamma_.sum()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(test), model.predict(test))
    model.set_params(gamma=0.1)
    if "gammas" in model.get_params():
        model.set_params(gammas=None)
    assert not hasattr(model.fit(X, y), "learned_gamma_")
    with pytest.raises(ValueError, match="kernel='linear' has no widths"):
        type(model)(gamma="learn", kernel="linear").fit(X, y)


@pytest.mark.parametrize(
    "Classifier", [kernsift.SubsetLSSVMClassifier, kernsift.OROLSClassifier, kernsift.OnlineLSSVMClassifier]
)
def test_classifiers_learn_one_set_of_widths_for_all_classes(Classifier):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6))
    y = np.array(["low", "mid", "high"])[np.digitize(np.sin(2 * X[:, 0]) + X[:, 1], [-0.5, 0.5])]
    model = Classifier(gamma="learn", max_basis=50, random_state=0).fit(X[:400], y[:400])
    assert set(np.argsort(model.gamma_)[-2:]) == {0, 1}
    assert model.score(X[400:], y[400:]) > Classifier(max_basis=50, random_state=0).fit(X[:400], y[:400]).score(
        X[400:], y[400:]
    )


def test_krls_and_selectors_do_not_take_learn():
    X, y = relevant(n=50, d=2)
    with pytest.raises(ValueError, match="gamma"):
        kernsift.KRLSRegressor(gamma="learn").fit(X, y)
    with pytest.raises(ValueError, match="gamma"):
        kernsift.FeatureVectorSelector(gamma="learn").fit(X)
    with pytest.raises(ValueError, match="looks at y"):
        kernsift.SubsetLSSVMRegressor(gamma="learn", basis="random").select_basis(X)


# --- the size ---


def test_the_size_is_chosen_on_rows_held_out():
    X, y = make_friedman1(800, noise=3.0, random_state=0)
    test, truth = make_friedman1(2000, noise=0.0, random_state=1)
    # a ridge that is too small for 300 kernels and this noise
    full = kernsift.SubsetLSSVMRegressor(max_basis=300, alpha=0.01, size="max", random_state=0).fit(X, y)
    model = kernsift.SubsetLSSVMRegressor(max_basis=300, alpha=0.01, size="held-out", random_state=0).fit(X, y)
    assert full.n_basis_ == 300
    assert not hasattr(full, "path_")
    sizes, errors = model.path_["n_basis"], model.path_["error"]
    assert sizes[-1] == 300
    assert (np.diff(sizes) > 0).all()
    assert model.n_basis_ == sizes[errors <= 1.02 * errors.min()][-1]
    assert model.score(test, truth) > full.score(test, truth)
    assert model.n_basis_ < 300
    # the held-out estimate is that of new rows with noise of variance 9, not that of the rows that chose
    assert errors.min() == pytest.approx(np.mean((model.predict(test) - truth) ** 2) + 9.0, rel=0.15)
    larger = model.resize(300)
    np.testing.assert_allclose(larger.predict(test), full.predict(test), rtol=1e-8)


def test_the_size_stays_where_rows_are_plenty_or_nothing_can_be_held_out():
    X, y = relevant(n=600, d=2)
    model = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=12, random_state=0).fit(X, y)
    assert model.n_basis_ == 12
    assert len(model.path_["n_basis"]) == 0
    assert kernsift.SubsetLSSVMRegressor(max_basis=12, size="held-out").fit(X[:5], y[:5]).n_basis_ <= 5
    assert not hasattr(kernsift.SubsetLSSVMRegressor(max_basis=12).fit(X, y), "path_")


# --- the picture ---


def test_the_picture_shows_the_most_relevant_first():
    pytest.importorskip("matplotlib").use("Agg")
    from kernsift.display import WidthsDisplay

    X, y = relevant(n=150, d=5)
    model = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=30, random_state=0).fit(X, y)
    display = WidthsDisplay.from_estimator(model, most=3)
    drawn = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(drawn) == 3
    assert set(drawn[-2:]) == {"x0", "x1"}
    again = WidthsDisplay.from_estimator(learn_gamma(X, y, random_state=0), ax=display.ax_)
    assert again.figure_ is display.figure_
    with pytest.raises(ValueError, match="gamma='learn'"):
        WidthsDisplay.from_estimator(kernsift.SubsetLSSVMRegressor(max_basis=5).fit(X, y))


# --- moving kernels ---


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_polish_moves_kernels_to_where_they_err_less(kernel):
    X, y = make_friedman1(1200, noise=0.5, random_state=0)
    test, truth = make_friedman1(1000, noise=0.0, random_state=1)
    X[:, 7], test[:, 7] = 3.0, 5.0  # a feature without width stays where it was
    plain = kernsift.SubsetLSSVMRegressor(kernel=kernel, gamma="learn", max_basis=20, random_state=0).fit(X, y)
    moved = kernsift.SubsetLSSVMRegressor(kernel=kernel, gamma="learn", max_basis=20, polish=20, random_state=0).fit(
        X, y
    )
    assert 1 - moved.score(test, truth) < 0.8 * (1 - plain.score(test, truth))
    assert moved.n_basis_ == 20
    assert (moved.basis_indices_ == -1).all()
    assert moved.gamma_[7] == 0
    np.testing.assert_array_equal(moved.basis_vectors_[:, 7], 3.0)
    # the model is the exact solution on its kernels: the same as that of these vectors given
    given = kernsift.SubsetLSSVMRegressor(
        kernel=kernel, gamma=moved.gamma_, basis=moved.basis_vectors_, alpha=moved.alpha_
    )
    np.testing.assert_allclose(given.fit(X, y).predict(test), moved.predict(test), rtol=1e-6)
    with pytest.raises(ValueError, match="resize needs the path"):
        moved.resize(10)


def test_polish_stays_where_it_does_not_help_or_cannot():
    X, y = relevant(n=120, d=2)
    noise = np.random.default_rng(0).standard_normal(120)
    model = kernsift.SubsetLSSVMRegressor(gamma=1.0, max_basis=20, polish=10, random_state=0)
    same = kernsift.SubsetLSSVMRegressor(gamma=1.0, max_basis=20, random_state=0).fit(X, noise)
    np.testing.assert_array_equal(model.fit(X, noise).basis_indices_, same.basis_indices_)
    assert model.fit(X[:5], y[:5]).n_basis_ <= 5
    for kernel in ("laplacian", "linear"):
        with pytest.raises(ValueError, match="smooth kernels"):
            kernsift.SubsetLSSVMRegressor(kernel=kernel, polish=1).fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("warp", [False, True])
def test_threads_share_the_parts_of_an_evaluation_and_change_no_bit(kernel, warp, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # which would hold both to one
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2600, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(2600)
    one, three = (
        learn_gamma(X, y, kernel=kernel, m=40, max_iter=2, warp=warp, random_state=0, n_jobs=n) for n in (1, 3)
    )
    assert one.error == three.error
    for a, b in zip(one.path["gamma"], three.path["gamma"], strict=True):
        np.testing.assert_array_equal(a, b)
    model = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=20, random_state=0, n_jobs=1).fit(X, y)
    again = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=20, random_state=0, n_jobs=3).fit(X, y)
    assert model.predict(X).tobytes() == again.predict(X).tobytes()
