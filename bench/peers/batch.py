"""Batches: the same number of kernels on the same landmarks, and the cost of the same error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.rivals import rbf
from scipy.linalg import cho_factor, cho_solve

from .measures import THREADS, Array, Arrays, Rival, Task, forest, of_peak, predicted
from .runner import Case

TITLE = "Batches at equal basis"
ABOUT = """The same m random rows as landmarks, one ridge: time and memory of the fit, and time of a prediction of
20,000 rows. RBFSampler takes m random features instead, SGD and LinearSVC stop short of the minimum, and SGPR chooses
no widths here (0 steps); KernelRidge and GaussianProcessRegressor keep every row and are shown on the first of
them."""


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    n = {"quick": 500}.get(mode, 50_000)
    for m in {"quick": (30,)}.get(mode, (100, 500, 1000)):
        task = {"m": m, "gamma": 1 / 54, "alpha": 0.5, "measure": "%", "few": min(n, 3000)}
        names = [name for name in RIVALS if not (name.startswith("gpytorch") and n * m > 6e6)]
        yield Case(f"forest {n}, m={m}", forest(data, n), task, names)


def fitted(make: Callable[[Arrays, Task], Any], rows: str = "") -> Rival:
    """A rival that is an estimator: fit is the work."""

    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        some = slice(0, task[rows] if rows else len(a["X"]))
        model = make(a, task)
        return lambda: model.fit(a["X"][some], a["y"][some]), lambda _: predicted(model, a, task)

    return rival


def landmarks(a: Arrays, task: Task) -> Any:
    return np.random.RandomState(0).permutation(len(a["X"]))[: task["m"]]  # as Nystroem draws them


def kernsift_(a: Arrays, task: Task) -> tuple[Any, Any]:
    m, (n, d) = task["m"], a["X"].shape
    model = kernsift.SubsetLSSVMRegressor(gamma=task["gamma"], alpha=task["alpha"], basis=landmarks(a, task))
    judge = lambda _: predicted(model, a, task, size=m, **of_peak(n * (2.0 * m * d + m * m) + m**3))  # noqa: E731
    return lambda: model.fit(a["X"], a["y"]), judge


def kernsift_refit(a: Arrays, task: Task) -> tuple[Any, Any]:
    """The online model frozen on the same rows; the one with threads."""
    X, m = a["X"], task["m"]
    model = kernsift.OnlineLSSVMRegressor(
        gamma=task["gamma"], alpha=task["alpha"], admission="novelty", novelty_tol=1e-9, max_basis=m, n_jobs=THREADS
    )
    first = landmarks(a, task)
    model.fit(X[first], a["y"][first])
    judge = lambda _: predicted(model, a, task, size=model.n_basis_)  # noqa: E731
    return lambda: model.refit(X, a["y"]), judge


class BlockedSubset:
    """The subset of regressors as a careful user would write it in numpy: blocks of rows into normal equations."""

    def __init__(self, a: Arrays, task: Task) -> None:
        self.task, self.basis = task, a["X"][landmarks(a, task)]

    def fit(self, X: Array, y: Array) -> BlockedSubset:
        g, m = self.task["gamma"], len(self.basis)
        M, z, s = np.zeros((m, m)), np.zeros(m), np.zeros(m)
        mean = y.mean()
        for first in range(0, len(X), 2048):
            K = rbf(X[first : first + 2048], self.basis, g)
            M += K.T @ K
            z += K.T @ (y[first : first + 2048] - mean)
            s += K.sum(0)
        P = M - np.outer(s, s) / len(X) + self.task["alpha"] * rbf(self.basis, self.basis, g)
        P[np.diag_indices(m)] += 1e-9 * np.trace(P) / m
        self.coef = cho_solve(cho_factor(P, overwrite_a=True), z)
        self.constant = mean - s @ self.coef / len(X)
        return self

    def predict(self, X: Array) -> Array:
        blocks = range(0, len(X), 2048)
        parts = [rbf(X[i : i + 2048], self.basis, self.task["gamma"]) @ self.coef for i in blocks]
        return np.concatenate(parts) + self.constant


def features(kind: str, last: Callable[[Task], Any]) -> Callable[[Arrays, Task], Any]:
    """A linear model on features of a kernel: of `Nystroem` or `RBFSampler`."""

    def make(a: Arrays, task: Task) -> Any:
        from sklearn import kernel_approximation
        from sklearn.pipeline import make_pipeline

        first = getattr(kernel_approximation, kind)(gamma=task["gamma"], n_components=task["m"], random_state=0)
        return make_pipeline(first, last(task))

    return make


nystroem, sampler = partial(features, "Nystroem"), partial(features, "RBFSampler")


def ridge(task: Task) -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=task["alpha"])


def sgd(task: Task) -> Any:
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    return SGDClassifier(random_state=0) if task["measure"] == "%" else SGDRegressor(random_state=0)


def linear_svc(task: Task) -> Any:
    from sklearn.svm import LinearSVC, LinearSVR

    return LinearSVC(C=1.0, dual=False) if task["measure"] == "%" else LinearSVR(C=1.0, random_state=0)


def kernel_ridge(a: Arrays, task: Task) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=task["gamma"], alpha=task["alpha"])


def gaussian_process(a: Arrays, task: Task) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    return GaussianProcessRegressor(RBF((2 * task["gamma"]) ** -0.5), alpha=task["alpha"], optimizer=None)


def elsewhere(a: Arrays, task: Task) -> tuple[Any, Any]:
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
