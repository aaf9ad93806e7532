"""Batches: the same number of kernels on the same landmarks, and the cost of the same error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.rivals import rbf
from scipy.linalg import cho_factor, cho_solve

from .measures import THREADS, Array, Arrays, Rival, Told, forest, of_peak, predicted
from .runner import Case

TITLE = "Batches at equal basis"
ABOUT = """The same m random rows as landmarks, one ridge: time and memory of the fit, and time of a prediction of
20,000 rows. RBFSampler takes m random features instead, SGD and LinearSVC stop short of the minimum, and SGPR chooses
no widths here (0 steps); KernelRidge and GaussianProcessRegressor keep every row and are shown on the first of
them."""


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    n = {"quick": 500}.get(mode, 50_000)
    for m in {"quick": (30,)}.get(mode, (100, 500, 1000)):
        told = {"m": m, "gamma": 1 / 54, "alpha": 0.5, "measure": "%", "few": min(n, 3000)}
        names = [name for name in RIVALS if not (name.startswith("gpytorch") and n * m > 6e6)]
        yield Case(f"forest {n}, m={m}", forest(data, n), told, names)


def fitted(make: Callable[[Arrays, Told], Any], rows: str = "") -> Rival:
    """A rival that is an estimator: fit is the work."""

    def rival(a: Arrays, told: Told) -> tuple[Any, Any]:
        some = slice(0, told[rows] if rows else len(a["X"]))
        model = make(a, told)
        return lambda: model.fit(a["X"][some], a["y"][some]), lambda _: predicted(model, a, told)

    return rival


def landmarks(a: Arrays, told: Told) -> Any:
    return np.random.RandomState(0).permutation(len(a["X"]))[: told["m"]]  # as Nystroem draws them


def kernsift_(a: Arrays, told: Told) -> tuple[Any, Any]:
    m, (n, d) = told["m"], a["X"].shape
    model = kernsift.SubsetLSSVMRegressor(gamma=told["gamma"], alpha=told["alpha"], basis=landmarks(a, told))
    judge = lambda _: predicted(model, a, told, size=m, **of_peak(n * (2.0 * m * d + m * m) + m**3))  # noqa: E731
    return lambda: model.fit(a["X"], a["y"]), judge


def kernsift_refit(a: Arrays, told: Told) -> tuple[Any, Any]:
    """The online model frozen on the same rows; the one with threads."""
    X, m = a["X"], told["m"]
    model = kernsift.OnlineLSSVMRegressor(
        gamma=told["gamma"], alpha=told["alpha"], admission="novelty", novelty_tol=1e-9, max_basis=m, n_jobs=THREADS
    )
    first = landmarks(a, told)
    model.fit(X[first], a["y"][first])
    judge = lambda _: predicted(model, a, told, size=model.n_basis_)  # noqa: E731
    return lambda: model.refit(X, a["y"]), judge


class BlockedSubset:
    """The subset of regressors as a careful user would write it in numpy: blocks of rows into normal equations."""

    def __init__(self, a: Arrays, told: Told) -> None:
        self.told, self.basis = told, a["X"][landmarks(a, told)]

    def fit(self, X: Array, y: Array) -> BlockedSubset:
        g, m = self.told["gamma"], len(self.basis)
        M, z, s = np.zeros((m, m)), np.zeros(m), np.zeros(m)
        mean = y.mean()
        for first in range(0, len(X), 2048):
            K = rbf(X[first : first + 2048], self.basis, g)
            M += K.T @ K
            z += K.T @ (y[first : first + 2048] - mean)
            s += K.sum(0)
        P = M - np.outer(s, s) / len(X) + self.told["alpha"] * rbf(self.basis, self.basis, g)
        P[np.diag_indices(m)] += 1e-9 * np.trace(P) / m
        self.coef = cho_solve(cho_factor(P, overwrite_a=True), z)
        self.constant = mean - s @ self.coef / len(X)
        return self

    def predict(self, X: Array) -> Array:
        blocks = range(0, len(X), 2048)
        parts = [rbf(X[i : i + 2048], self.basis, self.told["gamma"]) @ self.coef for i in blocks]
        return np.concatenate(parts) + self.constant


def nystroem(last: Callable[[Told], Any]) -> Callable[[Arrays, Told], Any]:
    def make(a: Arrays, told: Told) -> Any:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        return make_pipeline(Nystroem(gamma=told["gamma"], n_components=told["m"], random_state=0), last(told))

    return make


def sampler(last: Callable[[Told], Any]) -> Callable[[Arrays, Told], Any]:
    def make(a: Arrays, told: Told) -> Any:
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.pipeline import make_pipeline

        return make_pipeline(RBFSampler(gamma=told["gamma"], n_components=told["m"], random_state=0), last(told))

    return make


def ridge(told: Told) -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=told["alpha"])


def sgd(told: Told) -> Any:
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    return SGDClassifier(random_state=0) if told["measure"] == "%" else SGDRegressor(random_state=0)


def linear_svc(told: Told) -> Any:
    from sklearn.svm import LinearSVC, LinearSVR

    return LinearSVC(C=1.0, dual=False) if told["measure"] == "%" else LinearSVR(C=1.0, random_state=0)


def kernel_ridge(a: Arrays, told: Told) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=told["gamma"], alpha=told["alpha"])


def gaussian_process(a: Arrays, told: Told) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    return GaussianProcessRegressor(RBF((2 * told["gamma"]) ** -0.5), alpha=told["alpha"], optimizer=None)


def elsewhere(a: Arrays, told: Told) -> tuple[Any, Any]:
    raise NotImplementedError("runs in sgpr.py, which needs no kernsift")


RIVALS: dict[str, Rival] = {
    "kernsift": kernsift_,
    "kernsift, refit of the online model": kernsift_refit,
    "numpy, blocked": fitted(BlockedSubset),
    "Nystroem+Ridge": fitted(nystroem(ridge)),
    "Nystroem+SGD": fitted(nystroem(sgd)),
    "Nystroem+LinearSVC": fitted(nystroem(linear_svc)),
    "RBFSampler+Ridge": fitted(sampler(ridge)),
    "RBFSampler+SGD": fitted(sampler(sgd)),
    "KernelRidge, 3,000 rows": fitted(kernel_ridge, "few"),
    "GaussianProcessRegressor, 3,000 rows": fitted(gaussian_process, "few"),
    "gpytorch SGPR": elsewhere,
}
