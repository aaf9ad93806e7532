"""Changes to the one-line best model, each tried alone in the table FURTHER."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from kernsift import SubsetLSSVMRegressor, learn_gamma
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

Array = NDArray[np.float64]


def learned(m: int, seed: int, **changes: Any) -> SubsetLSSVMRegressor:
    return SubsetLSSVMRegressor(**{"gamma": "learn", "max_basis": m, "size": "max", "random_state": seed, **changes})


def with_criterion(criterion: str) -> Callable[[Array, Array, int, int], Any]:
    def make(X: Array, y: Array, m: int, seed: int) -> Any:
        return learned(m, seed, gamma=learn_gamma(X, y, criterion=criterion, random_state=seed).gamma).fit(X, y)

    return make


def with_options(**changes: Any) -> Callable[[Array, Array, int, int], Any]:
    return lambda X, y, m, seed: learned(m, seed, **changes).fit(X, y)


def on_components(X: Array, y: Array, m: int, seed: int) -> Any:
    return make_pipeline(PCA(whiten=True), learned(m, seed)).fit(X, y)


def on_normal_scores(X: Array, y: Array, m: int, seed: int) -> Any:
    scores = QuantileTransformer(n_quantiles=min(200, len(y)), output_distribution="normal", random_state=0)
    return TransformedTargetRegressor(learned(m, seed), transformer=scores).fit(X, y)


class OnKernels:
    """Ridge regression, by GCV, on kernels at the centres and with the widths of the one-line model; numpy only."""

    def __init__(self, additive: bool = False, single: bool = False) -> None:
        self.additive, self.single = additive, single

    def kernel(self, X: Array) -> Array:
        parts = self.gamma * (X[:, None] - self.centres) ** 2
        K: Array = np.exp(-parts.sum(axis=2))
        if self.additive:  # and a kernel a feature, all of one weight
            K += np.exp(-parts).sum(axis=2) / X.shape[1]
        return K.astype(np.float32) if self.single else K

    def fit(self, X: Array, y: Array, m: int, seed: int) -> Self:
        model = learned(m, seed).fit(X, y)
        self.centres, self.gamma = model.basis_vectors_, model.gamma_
        K, penalty = self.kernel(X), self.kernel(self.centres)
        A, b = (K.T @ K).astype(float), (K.T @ y).astype(float)
        lowest, self.coef = np.inf, np.full(len(b), np.nan)  # where no ridge lets the factor through
        for alpha in np.geomspace(1e-8, 1e-1, 22) * np.trace(A) / np.trace(penalty):
            try:
                factor = cho_factor(A + alpha * penalty)
            except LinAlgError:  # what single precision leaves is not positive definite
                continue
            coef, freedom = cho_solve(factor, b), np.trace(cho_solve(factor, A))
            score = np.sum((y - K @ coef) ** 2) / max(len(y) - 1.4 * freedom, 1e-9) ** 2
            if score < lowest:
                lowest, self.coef = score, coef
        return self

    def predict(self, X: Array) -> Array:
        return self.kernel(X) @ self.coef


def on_gradients(X: Array, y: Array, m: int, seed: int) -> Any:
    """Features turned to the principal axes of the average outer product of the model's gradient, twice."""
    turn = np.eye(X.shape[1])
    for _ in range(2):
        Z = X @ turn
        model = learned(m, seed).fit(Z, y)
        K = np.exp(-(model.gamma_ * (Z[:, None] - model.basis_vectors_) ** 2).sum(axis=2)) * model.dual_coef_
        slopes = 2 * model.gamma_ * (K @ model.basis_vectors_ - K.sum(axis=1, keepdims=True) * Z)
        values, axes = np.linalg.eigh(slopes.T @ slopes / len(Z))
        turn = turn @ axes * np.sqrt(np.maximum(values, 1e-6 * values[-1]) / values[-1])
    return Turned(turn, learned(m, seed).fit(X @ turn, y))


class Turned:
    def __init__(self, turn: Array, model: Any) -> None:
        self.turn, self.model = turn, model

    def predict(self, X: Array) -> Array:
        return self.model.predict(X @ self.turn)


def on_parts(parts: int, rows: int) -> Callable[[Array, Array, int, int], Any]:
    """Widths learned on `parts` draws of a `rows`-th of the rows; the geometric mean of what they find."""

    def make(X: Array, y: Array, m: int, seed: int) -> Any:
        few = max(len(y) // rows, 50)
        found = [learn_gamma(X, y, n_rows=few, m=few // 2, random_state=seed + i).gamma for i in range(parts)]
        return learned(m, seed, gamma=np.exp(np.mean(np.log(np.maximum(found, 1e-12)), axis=0))).fit(X, y)

    return make


def on_categories(X: Array, y: Array, m: int, seed: int) -> Any:
    """Columns of three to nine values as 0/1 columns, each with a width of its own."""
    few = [j for j in range(X.shape[1]) if 3 <= len(np.unique(X[:, j])) <= 9]
    if not few:
        return learned(m, seed).fit(X, y)
    encoder = ColumnTransformer(
        [("few", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), few)], remainder="passthrough"
    )
    return make_pipeline(encoder, StandardScaler(), learned(m, seed)).fit(X, y)


IDEAS: dict[str, Callable[[Array, Array, int, int], Any]] = {
    "one width": lambda X, y, m, s: learned(m, s, gamma=learn_gamma(X, y, isotropic=True, random_state=s).gamma).fit(
        X, y
    ),
    'criterion "loo" alone': with_criterion("loo"),
    'criterion "gcv"': with_criterion("gcv"),
    'criterion "evidence" (marginal likelihood)': with_criterion("evidence"),
    "gradient of the centres: polish=20": with_options(polish=20),
    'size="held-out"': with_options(size="held-out"),
    "oversample=2, cycles=4": with_options(oversample=2.0, cycles=4),
    "matern52 kernel": with_options(kernel="matern52"),
    "laplacian kernel": with_options(kernel="laplacian"),
    "widths of principal components": on_components,
    "target to normal scores": on_normal_scores,
    "low-rank metric: axes of the average gradient": on_gradients,
    "categories as 0/1 columns": on_categories,
    "widths from a third of the rows": on_parts(1, 3),
    "widths from three draws of a third, averaged": on_parts(3, 3),
    "additive kernels beside the joint one": lambda X, y, m, s: OnKernels(additive=True).fit(X, y, m, s),
    "the same in numpy, neither additive nor single": lambda X, y, m, s: OnKernels().fit(X, y, m, s),
    "products in single precision": lambda X, y, m, s: OnKernels(single=True).fit(X, y, m, s),
}
