"""OROLS, OLS and OLS-59 against exhaustive search and the paper's own recursion.

The estimators on small problems that `oracles.exhaustive_selection` solves from scratch at every step; the core's
arithmetic is tested in `test_orthogonal_basis.py`.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import kernsift
import numpy as np
import pytest
from kernsift import OROLSClassifier, OROLSRegressor, _core
from oracles import Array, exhaustive_selection, kernel_matrix, orthogonal_columns, ridge_fit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.columns import ROWS, problem

# ---- selection


SETTINGS = [
    {},
    {"alpha": 0.0},
    {"alpha": 0.3, "fit_intercept": False},
    {"selection": "error-reduction"},
    {"selection": "error-reduction", "alpha": 0.05, "fit_intercept": False},
    {"selection": "error-reduction", "n_candidates": 7},
    {"selection": "error-reduction", "n_candidates": 7, "alpha": 0.2, "fit_intercept": False},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_order_is_that_of_exhaustive_search(rng, settings, outputs, weighted):
    X, Y = problem(rng, outputs=outputs)
    v = rng.uniform(0.2, 4.0, ROWS) if weighted else np.ones(ROWS)
    model = OROLSRegressor(gamma=0.8, stop=None, max_basis=15, random_state=3, **settings)
    model.fit(X, Y, v if weighted else None)
    alpha = settings.get("alpha", "gcv")
    order = np.argsort(_core.row_keys(X, 0))  # candidates are drawn from the rows in an order of their own
    expected = exhaustive_selection(
        kernel_matrix("rbf", X[order], X[order], 0.8),
        Y[order],
        v[order],
        steps=15,
        rule=settings.get("selection", "residual"),
        lam=None if alpha == "gcv" else alpha,
        fit_intercept=settings.get("fit_intercept", True),
        n_candidates=settings.get("n_candidates"),
        seed=np.random.RandomState(3).randint(np.iinfo(np.int32).max),
    )
    assert model.selection_path_.tolist() == order[expected.chosen].tolist()
    # The core stops iterating (30) at a relative change of 1e-6; its rate of convergence leaves up to 1e-3 of that
    # distance, where the score is flat.
    np.testing.assert_allclose(model.gcv_path_, expected.scores, rtol=1e-6)
    if alpha != "gcv":
        np.testing.assert_allclose(model.alpha_path_, alpha)


def test_several_widths_are_one_dictionary(rng):
    X, Y = problem(rng)
    widths = [0.1, 1.0, 6.0]
    order = np.argsort(_core.row_keys(X, 0))
    columns = np.hstack([kernel_matrix("rbf", X[order], X[order], g) for g in widths])
    for selection, n_candidates in (("residual", None), ("error-reduction", None), ("error-reduction", 20)):
        model = OROLSRegressor(
            gammas=widths, stop=None, max_basis=12, selection=selection, n_candidates=n_candidates, random_state=3
        ).fit(X, Y[:, 0])
        expected = exhaustive_selection(
            columns,
            Y[order],
            np.ones(ROWS),
            steps=12,
            rule=selection,
            n_candidates=n_candidates,
            seed=np.random.RandomState(3).randint(np.iinfo(np.int32).max),
        ).chosen
        assert model.basis_indices_.tolist() == [order[i % ROWS] for i in expected]
        assert model.basis_gammas_[:, 0].tolist() == [widths[i // ROWS] for i in expected]
        assert len(set(model.basis_gammas_[:, 0])) > 1, "one width took all: the example shows nothing"
        new = rng.uniform(-2, 2, (30, 2))
        by_hand = model.intercept_ + sum(
            c * kernel_matrix("rbf", new, v[None, :], g)[:, 0]
            for c, v, g in zip(model.dual_coef_, model.basis_vectors_, model.basis_gammas_, strict=True)
        )
        scale = np.abs(model.dual_coef_).sum()
        np.testing.assert_allclose(model.predict(new), by_hand, atol=1e-14 * scale)


def test_only_the_candidates_become_kernels(rng):
    X, Y = problem(rng)
    allowed = [50, 3, 8, 20, 21, 44, 3]
    for selection in ("residual", "error-reduction"):
        model = OROLSRegressor(gamma=0.8, stop=None, max_basis=5, selection=selection, candidates=allowed).fit(X, Y)
        expected = exhaustive_selection(
            kernel_matrix("rbf", X, X, 0.8), Y, np.ones(ROWS), 5, rule=selection, only=set(allowed)
        ).chosen
        assert model.basis_indices_.tolist() == expected


def test_OROLS_25_and_OROLS_26_the_model_minimises_its_cost(rng):
    X, Y = problem(rng, outputs=2)
    v = rng.uniform(0.2, 4.0, ROWS)
    model = OROLSRegressor(gamma=0.8, alpha=0.2, stop=None, max_basis=10).fit(X, Y, v)
    K = np.hstack([np.ones((ROWS, 1)), kernel_matrix("rbf", X, model.basis_vectors_, 0.8)])
    root = np.sqrt(v)[:, None]
    Q, U = orthogonal_columns(root * K)
    fit = ridge_fit(Q.astype(float), root * Y, 0.2, 1, max(v.sum(), ROWS))
    weights = np.linalg.solve(U.astype(float), fit.weights)
    scale = np.abs(weights).max() * np.linalg.cond(K)
    np.testing.assert_allclose(np.vstack([model.intercept_, model.dual_coef_]), weights, atol=1e-14 * scale)
    np.testing.assert_allclose(model.gcv_, fit.gcv, rtol=1e-10)
    rss = ((fit.P @ (root * Y)) ** 2).sum(axis=0)
    np.testing.assert_allclose(model.cost_, rss + 0.2 * (fit.weights[1:] ** 2).sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.error_path_[-1] * max(v.sum(), ROWS), rss.sum(), rtol=1e-10)
    # the spread of a new observation: noise and the covariance of the weights
    new = rng.uniform(-2, 2, (20, 2))
    mean, variance = model._mean_and_variance(new)  # calibrated in test_intervals.py
    np.testing.assert_allclose(mean, model.predict(new))
    design = np.hstack([np.ones((20, 1)), kernel_matrix("rbf", new, model.basis_vectors_, 0.8)])
    phi = np.linalg.solve(U.astype(float).T, design.T)
    h = np.array((Q**2).sum(axis=0), dtype=float) + np.r_[0.0, np.full(10, 0.2)]
    expected = (1 + (phi**2 / h[:, None]).sum(axis=0))[:, None] * model.noise_variance_
    np.testing.assert_allclose(variance, expected, rtol=1e-8)


def test_pseudoinverse_of_a_fitted_model(rng):
    X, Y = problem(rng)
    model = OROLSRegressor(gamma=0.8, alpha=0.0, stop=None, max_basis=10).fit(X, Y[:, 0])
    inverse = model.pseudoinverse(X)
    K = np.hstack([np.ones((ROWS, 1)), kernel_matrix("rbf", X, model.basis_vectors_, 0.8)])
    expected = np.linalg.pinv(K)
    assert np.abs(inverse - expected).max() < 1e-15 * np.linalg.cond(K) * np.abs(expected).max()
    np.testing.assert_allclose(
        inverse @ Y[:, 0], np.r_[model.intercept_, model.dual_coef_], atol=1e-12 * np.abs(model.dual_coef_).max()
    )
    v = rng.uniform(0.2, 4.0, ROWS)
    model.fit(X, Y[:, 0], v)
    np.testing.assert_allclose(
        model.pseudoinverse(X, v) @ Y[:, 0],
        np.r_[model.intercept_, model.dual_coef_],
        atol=1e-11 * np.abs(model.dual_coef_).max(),
    )
    with pytest.raises(ValueError, match="depends on those before it"):
        model.pseudoinverse(X[:5])


# ---- classes


def three_classes(rng: np.random.Generator, n: int = 240) -> tuple[Array, Array]:
    y = rng.integers(3, size=n)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])
    return centres[y] + 0.45 * rng.standard_normal((n, 2)), np.array(["a", "b", "c"])[y]


def test_per_class_is_one_regression_a_class(rng):
    X, y = three_classes(rng)
    model = OROLSClassifier(gamma=0.5, max_basis=30).fit(X, y)
    scores = model.decision_function(X)
    for j, label in enumerate(model.classes_):
        one = OROLSRegressor(gamma=0.5, max_basis=30).fit(X, np.where(y == label, 1.0, -1.0))
        np.testing.assert_allclose(scores[:, j], one.predict(X), atol=1e-10)
        assert model.alpha_[j] == one.alpha_
        assert model.n_basis_per_class_[j] == one.n_basis_
        own = model.class_basis_[j]
        assert model.basis_indices_[own].tolist() == one.basis_indices_.tolist()
        assert np.count_nonzero(model.dual_coef_[:, j]) == one.n_basis_
        np.testing.assert_allclose(model.pseudoinverse(X, label=label), one.pseudoinverse(X))
    assert (np.diff(model.basis_indices_) > 0).all()
    with pytest.raises(ValueError, match="label"):
        model.pseudoinverse(X)


def test_shared_is_one_regression_on_all_classes(rng):
    X, y = three_classes(rng)
    model = OROLSClassifier(gamma=0.5, basis="shared", max_basis=30).fit(X, y)
    targets = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    one = OROLSRegressor(gamma=0.5, max_basis=30).fit(X, targets)
    np.testing.assert_allclose(model.decision_function(X), one.predict(X), atol=1e-12)
    assert model.n_basis_ == one.n_basis_
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.pseudoinverse(X), one.pseudoinverse(X))


def test_two_classes_are_one_column(rng):
    X, y = three_classes(rng)
    keep = y != "c"
    both = [OROLSClassifier(gamma=0.5, basis=b).fit(X[keep], y[keep]) for b in ("per-class", "shared")]
    assert both[0].decision_function(X).shape == (len(X),)
    np.testing.assert_array_equal(both[0].decision_function(X), both[1].decision_function(X))
    assert both[0].n_basis_per_class_.shape == (1,)


# ---- uncertainty


@pytest.mark.parametrize("settings", [{}, {"selection": "error-reduction", "alpha": 0.1, "fit_intercept": False}])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_noise_of_few_rows_is_that_of_rows_held_out_of_the_selection(rng, settings, outputs):
    X, Y = problem(rng, 40, outputs=outputs)
    v = rng.integers(1, 3, 40).astype(float)
    model = OROLSRegressor(gamma=0.8, max_basis=15, **settings).fit(X, Y, v)
    order = np.argsort(_core.row_keys(X, 0))
    total = np.zeros(outputs)
    for part in range(5):
        out, kept = order[part::5], np.setdiff1d(order, order[part::5])
        again = OROLSRegressor(gamma=0.8, max_basis=15, noise="constant", **settings).fit(X[kept], Y[kept], v[kept])
        mean, std = (a.reshape(len(out), outputs) for a in again.predict(X[out], return_std=True))
        total += v[out] @ ((Y[out].reshape(len(out), outputs) - mean) ** 2 * again.noise_variance_ / std**2)
    # the order of the rows of a fold is another one, and with it the rounding
    np.testing.assert_allclose(np.atleast_1d(model.noise_variance_), total / v.sum(), rtol=1e-6)


def test_the_noise_of_many_rows_counts_a_degree_of_freedom_as_gcv_does(rng):
    X, Y = problem(rng, 400)
    model = OROLSRegressor(gamma=0.8, alpha=0.2, stop=None, max_basis=10).fit(X, Y)
    K = np.hstack([np.ones((400, 1)), kernel_matrix("rbf", X, model.basis_vectors_, 0.8)])
    Q, _ = orthogonal_columns(K)
    fit = ridge_fit(Q.astype(float), Y, 0.2, 1, 400)
    rss = ((fit.P @ Y) ** 2).sum()
    np.testing.assert_allclose(model.noise_variance_, 400 * rss / (400 - 1.4 * (400 - fit.trace)) ** 2, rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "draws", "least"),
    # The band is normal, at mean +- 1.96 standard deviations: of Student's 5 % of few rows a part is outside.
    [(10, 60, 0.87), (20, 60, 0.89), (50, 30, 0.915), (200, 8, 0.925), (1000, 2, 0.925)],
)
@pytest.mark.parametrize("kind", ["one feature", "three features", "much noise"])
def test_the_band_covers_what_it_says_although_the_kernels_were_chosen(n, draws, least, kind):
    """Rows of the function's own kind inside the 95 % band, in %, before (residuals over the freedom left) and now.

    ============== === === === === ==== =====
    rows            10  20  50 200 1000 10000
    ============== === === === === ==== =====
    one feature     81  88  94  94   95
    three features  28  50  81  91   95
    much noise      56  79  92  95   95
    now             91  93  94  95   95    95
    now             91  93  94  95   95    94
    now             91  93  95  95   96    94
    ============== === === === === ==== =====
    """
    draw, truth, noise = {
        "one feature": (lambda g, k: g.uniform(-3, 3, (k, 1)), lambda X: np.sin(2 * X[:, 0]), 0.2),
        "three features": (
            lambda g, k: g.standard_normal((k, 3)),
            lambda X: np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2],
            0.3,
        ),
        "much noise": (lambda g, k: g.uniform(-1, 1, (k, 2)), lambda X: X[:, 0] - 0.5 * X[:, 1] ** 2, 0.5),
    }[kind]
    inside = []
    for seed in range(draws):
        g = np.random.default_rng(1000 * n + seed)
        X, new = draw(g, n), draw(g, 400)
        y, later = truth(X) + noise * g.standard_normal(n), truth(new) + noise * g.standard_normal(400)
        mean, std = OROLSRegressor().fit(X, y).predict(new, return_std=True)
        inside.append(np.mean(np.abs(later - mean) < 1.96 * std))
    error = np.std(inside) / np.sqrt(draws)
    assert least - 2 * error < np.mean(inside) < 0.97 + 2 * error


# ---- weights, threads, bad input


def test_weights_are_repetitions(rng):
    X, Y = problem(rng, 40)
    v = rng.integers(0, 4, 40)
    new = rng.uniform(-2, 2, (20, 2))
    for settings in ({}, {"alpha": 0.1}, {"selection": "error-reduction"}):
        model = OROLSRegressor(gamma=0.8, max_basis=10, stop=None, **settings)
        weighted = clone(model).fit(X, Y, v.astype(float))
        repeated = clone(model).fit(X.repeat(v, axis=0), Y.repeat(v, axis=0))
        # a repeated row's column is a different sum of the same terms: rounding times the coefficients
        scale = np.abs(weighted.dual_coef_).sum()
        np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-10 * scale)
        assert (v[weighted.basis_indices_] > 0).all()


def test_threads_do_not_change_a_bit(rng):
    X = rng.uniform(-2, 2, (9000, 2))  # large enough for both reads to be shared out
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(9000)
    for settings in ({}, {"selection": "error-reduction", "n_candidates": 30, "random_state": 0}):
        model = OROLSRegressor(gamma=3.0, stop=None, max_basis=130, **settings)
        one, two = clone(model).fit(X, y), clone(model).set_params(n_jobs=2).fit(X, y)
        assert np.array_equal(one.dual_coef_, two.dual_coef_)
        assert np.array_equal(one.basis_indices_, two.basis_indices_)


@pytest.mark.parametrize("size", [0, 2, 200])
def test_kept_kernel_values_change_nothing(rng, size):
    X, Y = problem(rng, 1300)  # three chunks of 512 rows; 2 MB keep one block of them
    model = OROLSRegressor(gamma=0.8, selection="error-reduction", stop=None, max_basis=8)
    kept = clone(model).set_params(cache_size=size).fit(X, Y)
    assert np.array_equal(kept.dual_coef_, model.fit(X, Y).dual_coef_)


def test_hard_data_give_a_sensible_model(rng):
    X, Y = problem(rng)
    y = Y[:, 0]
    flat = OROLSRegressor().fit(X, np.full(ROWS, 3.7))
    assert flat.n_basis_ == 0
    np.testing.assert_allclose(flat.predict(X), 3.7)
    assert np.isfinite(flat.predict(X, return_std=True)[1]).all()

    constant = np.column_stack([X, np.full(ROWS, 5.0)])
    plain = OROLSRegressor(gamma=0.8).fit(X, y).predict(X)
    np.testing.assert_allclose(OROLSRegressor(gamma=0.8).fit(constant, y).predict(constant), plain, atol=1e-9)
    same = OROLSRegressor().fit(np.ones((20, 2)), rng.standard_normal(20))
    assert same.n_basis_ == 0
    assert same.n_dependent_ == 20

    twice = OROLSRegressor(gamma=0.8, stop=None, max_basis=None, alpha=1e-3).fit(np.vstack([X, X]), np.r_[y, y + 0.1])
    assert len(np.unique(twice.basis_vectors_, axis=0)) == twice.n_basis_ <= ROWS
    assert np.isfinite(twice.predict(X)).all()

    one = OROLSRegressor().fit([[1.0]], [2.0])
    assert one.predict([[5.0]]) == 2.0
    for scale in (1e-150, 1e98):
        model = OROLSRegressor(gamma=0.8).fit(X, y * scale)
        np.testing.assert_allclose(model.predict(X) / scale, plain, atol=1e-8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_candidates": 59}, "n_candidates=59"),
        ({"candidates": [0, 60]}, "row number 60"),
        ({"candidates": [0.5]}, "row numbers"),
        ({"candidates": []}, "candidates"),
        ({"gammas": []}, "gammas is empty"),
        ({"gammas": [1.0, -1.0]}, "gamma"),
        ({"max_basis": 0}, "max_basis"),
        ({"max_basis": 1.5}, "max_basis"),
        ({"alpha": -1.0}, "alpha"),
        ({"stop": "lambda"}, "stop"),
        ({"stop": "evidence", "alpha": 0.0}, "stop='evidence' needs alpha > 0"),
        ({"patience": 0}, "patience"),
    ],
)
def test_a_wrong_parameter_is_named_and_the_model_stays(rng, settings, message):
    X, Y = problem(rng)
    model = OROLSRegressor(gamma=0.8).fit(X, Y)
    before = pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_")})
    model.set_params(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_")}) == before


@pytest.mark.parametrize("scale", [1e-40, 1e40])
def test_kernel_values_out_of_range_are_named(rng, scale):
    X, Y = problem(rng)
    with pytest.raises(ValueError, match="rescale X"):
        OROLSRegressor(kernel="linear").fit(X * scale, Y)
    plain = OROLSRegressor(kernel="linear", stop=None).fit(X, Y)
    assert plain.n_basis_ == 2
    for y_scale in (1e-140, 1.0, 1e98):
        small = OROLSRegressor(kernel="linear", stop=None).fit(X * scale**0.8, Y * y_scale)
        np.testing.assert_allclose(small.predict(X * scale**0.8) / y_scale, plain.predict(X), atol=1e-12)


def test_one_class_and_no_model():
    with pytest.raises(ValueError, match="1 class"):
        OROLSClassifier().fit([[0.0], [1.0]], ["a", "a"])
    with pytest.raises(NotFittedError):
        OROLSRegressor().predict([[0.0]])
    with pytest.raises(NotFittedError):
        _ = OROLSRegressor().dual_coef_
    assert not hasattr(OROLSRegressor, "partial_fit")
    assert not hasattr(OROLSClassifier, "partial_fit")
    assert "partial_fit" in OROLSRegressor.__doc__


def test_a_fitted_model_is_arrays(rng):
    X, Y = problem(rng)
    model = OROLSRegressor(gammas=[0.5, 2.0]).fit(X, Y)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(model, protocol))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_display_of_the_path(rng):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from kernsift.display import BasisPathDisplay

    pyplot.switch_backend("Agg")
    X, y = three_classes(rng)
    regressor = OROLSRegressor(gamma=0.5).fit(X, X[:, 0] ** 2)
    display = BasisPathDisplay.from_estimator(regressor)
    assert [a.get_ylabel() for a in display.axes_] == ["GCV", "alpha", "training error"]
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), regressor.gcv_path_)
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), np.arange(len(regressor.gcv_path_)))
    classifier = OROLSClassifier(gamma=0.5).fit(X, y)
    display = BasisPathDisplay.from_estimator(classifier, paths=("gcv",))
    assert len(display.lines_) == 3
    assert [t.get_text() for t in display.axes_[0].get_legend().get_texts()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="paths"):
        BasisPathDisplay.from_estimator(regressor, paths=("beta",))
    pyplot.close("all")


def test_both_are_public():
    assert {"OROLSClassifier", "OROLSRegressor"} <= set(kernsift.__all__)


def test_rows_that_few_kernels_span_are_not_all_looked_at(rng):
    # each look is a read of Q: all 20,000 would be seconds here, and an hour at a million
    X = rng.uniform(-10, 10, (20_000, 1))
    y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    model = OROLSRegressor(gamma=0.1, stop=None).fit(X, y)
    assert model.stopped_by_ == "exhausted"
    assert 10 < model.n_basis_ < 30
    # a few on the way, and the thousand that ended it
    assert 1000 <= model.n_dependent_ < 3000


@pytest.mark.slow
def test_a_million_rows_take_the_bytes_of_their_columns():
    n, m = 1_000_000, 31
    rng = np.random.default_rng(4)
    X = rng.uniform(-10, 10, (n, 1))
    y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(n)
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        pytest.skip("the peak of memory is read from Linux's /proc")

    def megabytes(field: str) -> float:
        return int(re.search(rf"{field}:\s+(\d+)", status.read_text())[1]) / 1024

    reset.write_text("5")  # the peak begins here
    before = megabytes("VmRSS")
    model = OROLSRegressor(gamma=1.0, stop=None, max_basis=m).fit(X, y)
    peak = megabytes("VmHWM") - before
    assert model.n_basis_ == m
    assert np.sqrt(np.mean((model.predict(X[:1000]) - np.sinc(X[:1000, 0] / np.pi)) ** 2)) < 0.01
    # Q, and some ten columns besides: targets, weights, residuals, the column on its way
    assert peak < 1.05 * 8 * n * (m + 1 + 16) / 2**20
