"""A script as a user types it: ``mypy --strict`` reads it, and so does pyright (tests/base/test_typed.py)."""

# pyright: strict

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from kernsift import (
    KernelRegressor,
    OnlineLSSVMClassifier,
    OnlineLSSVMRegressor,
    SubsetLSSVMRegressor,
    fit_batches,
)
from kernsift.blocks import RecursiveLeastSquares
from kernsift.forecast import KernelForecaster
from numpy.typing import NDArray

X = np.random.default_rng(7).uniform(-2, 2, (200, 2))
y = np.sin(X[:, 0])

for model in (SubsetLSSVMRegressor(max_basis=20, random_state=0), OnlineLSSVMRegressor(max_basis=20)):
    fitted = model.fit(X, y)
    assert_type(fitted.predict(X), NDArray[Any])
    assert_type(fitted.predict(X, return_std=True), tuple[NDArray[Any], NDArray[Any]])
    assert_type(fitted.predict(X, return_cov=True), tuple[NDArray[Any], NDArray[Any]])
    assert_type(fitted.predict(X, True), tuple[NDArray[Any], NDArray[Any]])
front = KernelRegressor(random_state=0, settings={"kernel": "rbf", "gamma": 1.0, "max_basis": 20}).fit(X, y)
mean, std = front.predict(X, return_std=True)
assert_type(std, NDArray[Any])
stream = OnlineLSSVMRegressor(max_basis=20)
stream.update(X[0], float(y[0]))
classes = OnlineLSSVMClassifier(max_basis=20).partial_fit(X, y > 0)
assert_type(classes.predict_log_proba(X), NDArray[np.float64])
table = KernelRegressor(validation="time", random_state=np.random.RandomState(0))
assert_type(fit_batches(SubsetLSSVMRegressor(max_basis=20), [(X, y)]), SubsetLSSVMRegressor)
part = RecursiveLeastSquares().fit(X, y)
assert_type(part.predict(X, return_std=True), tuple[NDArray[np.float64], NDArray[np.float64]])
few = SubsetLSSVMRegressor(kernel="matern32", gamma="learn", alpha="loo", basis="kmeans", noise="input", size="max")
followed = stream.prequential(X, y, coverage=0.9)
assert_type(followed.error, NDArray[np.float64])
assert_type(fitted.n_basis_, int)
forecaster = KernelForecaster(lags=3, horizons=[1, 2], strategy="direct").fit(y).update(0.5)
