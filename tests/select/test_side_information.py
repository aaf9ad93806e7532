"""Cholesky with side information against its definition, and as a selector of `SubsetLSSVM*`."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from kernsift import SubsetLSSVMClassifier, SubsetLSSVMRegressor, _core


def problem(n, kernel="rbf", outputs=2):
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (n, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2])[:, :outputs] + 0.1 * rng.standard_normal((n, outputs))
    return X, np.ascontiguousarray(Y), rng.uniform(0.5, 3.0, n)


def choose(name, X, Y, v, **settings):
    kernel = _core.Kernel(name, np.full(2, 0.7), 2, 1.0, np.zeros(2))
    return _core.select_side_information(kernel, X, np.arange(len(X)), Y=Y, weight=v, tol=1e-8, **settings).tolist()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("balance", [0.0, 0.5, 0.99])
@pytest.mark.parametrize(("kernel", "ahead"), [("rbf", 40), ("rbf", 6), ("laplacian", 12), ("polynomial", 3)])
def test_the_rows_are_those_of_the_definition(kernel, ahead, balance, fit_intercept):
    """With 40 of 40 rows ahead nothing is estimated: the kernel spans what is left after few of them."""
    X, Y, v = problem(40)
    K = oracles.kernel_matrix(kernel, X, X, gamma=0.7, degree=2, coef0=1.0).astype(float)
    m = 4 if kernel == "polynomial" else 12  # of six dimensions: what is left must be told from rounding
    expected = oracles.side_information(K, Y, v, m, ahead, balance, fit_intercept)
    settings = {"max_basis": m, "ahead": ahead, "balance": balance, "fit_intercept": fit_intercept}
    assert choose(kernel, X, Y, v, **settings) == expected


def test_it_stops_where_nothing_is_left():
    X, Y, v = problem(30)
    settings = {"max_basis": 30, "ahead": 10, "balance": 0.99, "fit_intercept": True}
    assert len(choose("polynomial", X, Y, v, **settings)) == 6  # the quadratics of two features
    repeated = np.repeat(X[:5], 6, axis=0)
    assert len(choose("rbf", repeated, Y, v, **settings)) == 5


def test_constant_targets_leave_the_kernel_matrix_to_decide():
    X, Y, v = problem(40)
    settings = {"max_basis": 10, "ahead": 8, "fit_intercept": True}
    same = choose("rbf", X, np.ones_like(Y), v, balance=0.9, **settings)
    assert same == choose("rbf", X, Y, v, balance=0.0, **settings)


@pytest.mark.parametrize("basis", ["csi", "qr"])
def test_supervised_rows_beat_random_ones(basis):
    """The target moves in a tenth of the range, and random rows do not know."""
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.uniform(0, 1, (40, 1)), rng.uniform(1, 10, (360, 1))])
    y = np.where(X[:, 0] < 1, np.sin(6 * np.pi * X[:, 0]), 0.0)
    settings = {"gamma": 40.0, "max_basis": 12, "random_state": 0}
    chosen = SubsetLSSVMRegressor(basis=basis, **settings).fit(X, y)
    drawn = SubsetLSSVMRegressor(basis="random", **settings).fit(X, y)
    assert 1 - chosen.score(X, y) < 0.2 * (1 - drawn.score(X, y))
    classes = SubsetLSSVMClassifier(basis=basis, **settings).fit(X, y > 0.5)
    assert classes.n_basis_ == 12


@pytest.mark.parametrize("basis", ["csi", "qr"])
def test_a_selector_that_looks_at_y_says_so(basis):
    with pytest.raises(ValueError, match="looks at y"):
        _select_without_targets(basis)


def _select_without_targets(basis):
    from kernsift.select.selectors import select
    from kernsift.select.task import Task

    X = np.arange(6.0)[:, None]
    return select(basis, Task(_core.Kernel("rbf", np.ones(1), 3, 1.0, np.zeros(1)), X, np.ones(6), 3, 0))
