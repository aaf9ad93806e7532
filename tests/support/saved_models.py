"""Estimators of every kind to be saved, and what they say."""

from __future__ import annotations

import kernsift
import numpy as np
from sklearn.base import is_classifier

# tests/control has its own for KernelLSPI, which takes transitions
PUBLIC = [n for n in kernsift.__all__ if hasattr(getattr(kernsift, n), "get_params") and n != "KernelLSPI"]

#: More than the defaults of each class, where a parameter changes what is kept.
VARIANTS = {
    **{name: (name, {}) for name in PUBLIC},
    "inverse": ("OnlineLSSVMRegressor", {"engine": "inverse"}),
    "exact rows": ("OnlineLSSVMRegressor", {"exact_rows": 20, "max_basis": 8}),
    "memories": ("OnlineLSSVMRegressor", {"forgetting": [1.0, 0.99], "linear": True, "max_basis": 8}),
    "uneven noise": ("OnlineLSSVMRegressor", {"noise": "input", "max_basis": 8}),
    "widths": ("OnlineLSSVMRegressor", {"gamma": np.array([0.5, 1.0, 2.0]), "alpha": np.float64(0.2)}),
    "list of widths": ("OnlineLSSVMRegressor", {"gamma": [0.5, 1.0, 2.0]}),
    "drawing": ("SubsetLSSVMRegressor", {"random_state": np.random.RandomState(3), "max_basis": 9}),
    "drawing on": ("SubsetLSSVMRegressor", {"random_state": np.random.default_rng(3), "max_basis": 9}),
    "vectors": ("SubsetLSSVMRegressor", {"basis": np.eye(3), "gamma": 1.0}),
    "selector": ("SubsetLSSVMRegressor", {"basis": kernsift.FeatureVectorSelector(n_components=9), "gamma": 1.0}),
    "several widths": ("OROLSRegressor", {"gammas": [0.1, 1.0]}),
}


def table(n=60):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]), (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)


def learn(model, part, first=True):
    X, y, labels = (values[part] for values in table())
    if isinstance(model, kernsift.KernelLSTD):
        return model.partial_fit(X[:-1], y[:-1], X[1:])
    y = labels if is_classifier(model) else y
    if first or not hasattr(model, "partial_fit"):
        return model.fit(X, y)
    return model.partial_fit(X, y)


def answers(model):
    X = table()[0]
    names = ("predict", "decision_function", "predict_proba", "transform")
    return [getattr(model, name)(X) for name in names if hasattr(model, name)]


def made(variant):
    name, parameters = VARIANTS[variant]
    model = getattr(kernsift, name)(**parameters)
    if model.get_params().get("random_state", 0) is None:
        model.set_params(random_state=0)
    return learn(model, slice(40))
