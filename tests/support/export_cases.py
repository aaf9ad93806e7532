"""Fitted estimators of every kind, for the exports: made once a process."""

from __future__ import annotations

from functools import cache

import kernsift
import numpy as np

TABLE = kernsift._core.kernel_table()
KERNELS = tuple(name for name, facts in TABLE.items() if facts["onnx"] and facts["c"])
STATIONARY = tuple(name for name in KERNELS if TABLE[name]["stationary"])

rng = np.random.default_rng(20261)
X = rng.standard_normal((300, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
SEVERAL = np.column_stack([Y, X[:, 0] ** 2])
UNEVEN = Y + (X[:, 1] > 0) * np.random.default_rng(4).standard_normal(300)
TWO = np.array(["no", "yes"])[(Y > 0).astype(int)]
THREE = np.array([-1, 4, 7])[(Y > -0.5).astype(int) + (Y > 0.5)]
NEW = np.random.default_rng(5).standard_normal((100, 3))

# one width a feature wherever the kernel has widths: scalar widths are tested with LIBSVM
GAMMA = [0.3, 0.1, 0.5]

MAKERS = {
    "online": lambda k: kernsift.OnlineLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=30).fit(X, Y),
    "online, two outputs": lambda k: kernsift.OnlineLSSVMRegressor(
        kernel=k, gamma=GAMMA, max_basis=30, fit_intercept=False, engine="inverse"
    ).fit(X, SEVERAL),
    "online classes": lambda k: kernsift.OnlineLSSVMClassifier(kernel=k, gamma=GAMMA, max_basis=30).fit(X, THREE),
    "krls": lambda k: kernsift.KRLSRegressor(kernel=k, gamma=GAMMA, max_basis=30, alpha=0.1).fit(X, Y),
    "lstd": lambda k: kernsift.KernelLSTD(kernel=k, gamma=GAMMA, max_basis=20, discount=0.5).partial_fit(
        X[:-1], Y[:-1], X[1:]
    ),
    "orols": lambda k: kernsift.OROLSRegressor(kernel=k, gammas=[0.1, 0.5], max_basis=15).fit(X, Y),
    "orols classes": lambda k: kernsift.OROLSClassifier(kernel=k, gamma=GAMMA, max_basis=10).fit(X, THREE),
    "dense": lambda k: kernsift.LSSVMRegressor(kernel=k, gamma=GAMMA, alpha=1.0).fit(X, Y),
    "dense classes": lambda k: kernsift.LSSVMClassifier(kernel=k, gamma=GAMMA, alpha=1.0).fit(X, TWO),
    "pruned": lambda k: kernsift.SparseLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=8).fit(X, Y),
    "pruned classes": lambda k: kernsift.SparseLSSVMClassifier(kernel=k, gamma=GAMMA, max_basis=8).fit(X, TWO),
    "subset": lambda k: kernsift.SubsetLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=30, random_state=0).fit(
        X, SEVERAL
    ),
    "subset classes": lambda k: kernsift.SubsetLSSVMClassifier(kernel=k, gamma=GAMMA, max_basis=30, random_state=0).fit(
        X, THREE
    ),
    "selector": lambda k: kernsift.FeatureVectorSelector(kernel=k, gamma=GAMMA, n_components=20, random_state=0).fit(X),
}


# Streams whose standard deviations are those of a mixture, of one or of several outputs.
STREAMS = {
    "memories": lambda k: kernsift.OnlineLSSVMRegressor(
        kernel=k, gamma=GAMMA, max_basis=20, forgetting=[1.0, 0.98, 0.9], linear=False, noise="constant"
    ).partial_fit(X, SEVERAL),
    "memories, linear part": lambda k: kernsift.OnlineLSSVMRegressor(kernel=k, gamma=GAMMA, max_basis=70).partial_fit(
        X, UNEVEN
    ),
    "memory that fades": lambda k: kernsift.OnlineLSSVMRegressor(
        kernel=k, gamma=GAMMA, max_basis=20, forgetting=0.99, linear=True, noise="input", fit_intercept=False
    ).partial_fit(X, SEVERAL),
}


@cache
def fitted(maker: str, kernel: str):
    return MAKERS[maker](kernel)


def answer(estimator, rows):
    """What the estimator says, in float64, (n, outputs): scores for a classifier."""
    for method in ("decision_function", "predict", "transform"):
        if hasattr(estimator, method):
            return np.asarray(getattr(estimator, method)(rows)).reshape(len(rows), -1)
    raise AssertionError(estimator)


def terms_of(estimator):
    """(basis vectors, coefficients of every output) as the public attributes have them."""
    return estimator.basis_vectors_, estimator.dual_coef_


def error(got, truth):
    """Largest difference, relative to the largest value."""
    return np.abs(got - truth).max() / np.abs(truth).max()
