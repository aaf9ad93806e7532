"""Paths: forward selection of kernels, and dense LS-SVM pruned step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.clock import bandwidth
from measure.rivals import ols59, ols59_gram_schmidt, rbf
from scipy.linalg import cho_factor, cho_solve

from .batch import gaussian_process, kernel_ridge
from .equal import libsvm
from .measures import Arrays, Rival, Task, error, forest, of_peak
from .runner import Case

TITLE = "Selection and reduction paths"
ABOUT = """OLS: the m best of all rows as kernels, one after another; the rival is scikit-learn's orthogonal matching
pursuit on the kernel matrix. OROLS: the row fitted worst is next. OLS-59: the best of 59 random rows. LS-SVM: a
kernel on every row. Reduction: from a start of m kernels down to one, every size solved exactly. The errors of
selections are those of one and the same fit on what they chose. Columns that lie in the cache are read faster than
memory is."""


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    small = mode == "quick"
    g = {"gamma": 1 / 54, "measure": "%"}
    n, m = (300, 20) if small else (3000, 300)
    yield Case(
        f"OLS, {m} of {n}", forest(data, n), {**g, "m": m, "alpha": 0.03}, ["kernsift OLS", "OrthogonalMatchingPursuit"]
    )
    n, m = (500, 20) if small else (50_000, 200)
    yield Case(f"OROLS, {m} of {n}", forest(data, n), {**g, "m": m, "alpha": 0.1}, ["kernsift OROLS", "numpy OROLS"])
    n, m = (500, 20) if small else (10_000, 300)
    names = ["kernsift OLS-59", "kernsift, pruned from 3m (same use)", "numpy OLS-59", "numpy OLS-59, Gram-Schmidt"]
    yield Case(f"OLS-59, {m} of {n}", forest(data, n), {**g, "m": m, "alpha": 0.1}, names)
    n = 300 if small else 4000
    names = ["kernsift LSSVM", "KernelRidge", "GaussianProcessRegressor", "SVR", "libsvm"]
    yield Case(f"LS-SVM on {n} rows", forest(data, n), {**g, "alpha": 0.5}, names)
    n, m = (300, 30) if small else (2000, 300)
    names = ["kernsift SparseLSSVM", "numpy, solved anew at every size"]
    yield Case(f"reduction path, {m} kernels of {n} rows", forest(data, n), {**g, "alpha": 0.5, "m": m}, names)


def orols(selection: str, n_candidates: int | None) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        (n, d), m = a["X"].shape, task["m"]
        model = kernsift.OROLSRegressor(
            gamma=task["gamma"], alpha=task["alpha"], selection=selection, n_candidates=n_candidates, max_basis=m,
            stop=None, random_state=0,
        )  # fmt: skip

        def judge(_: Any) -> dict[str, Any]:
            found = {"error": refitted(a, task, model.basis_indices_), "size": len(model.basis_indices_)}
            if n_candidates:
                return {**found, **of_peak(59.0 * n * m * (2 * d + m))}
            if selection == "residual":  # two reads of Q a column
                return {**found, "bytes": 8.0 * n * m * m, "bandwidth": bandwidth()}
            # kernel values kept; a product with all of them a column
            return {**found, "bytes": 8.0 * n * n * m / 2, "bandwidth": bandwidth()}

        return lambda: model.fit(a["X"], a["y"]), judge

    return rival


def numpy_orols(a: Arrays, task: Task) -> tuple[Any, Any]:
    """Gram-Schmidt twice on the kernel of the row with the largest residual, ridge fixed."""
    X, y, g, m = np.array(a["X"]), np.array(a["y"]), task["gamma"], task["m"]

    def work() -> Any:
        Q = np.empty((len(X), m + 1), order="F")
        Q[:, 0] = 1.0 / np.sqrt(len(X))
        residual = y - y.mean()
        open_ = np.ones(len(X), bool)
        chosen: list[int] = []
        for j in range(1, m + 1):
            i = int(np.argmax(np.abs(residual) * open_))
            open_[i] = False
            k = rbf(X, X[i : i + 1], g)[:, 0]
            h0 = k @ k
            for _ in range(2):
                k -= Q[:, :j] @ (Q[:, :j].T @ k)
            h = k @ k
            Q[:, j] = k / np.sqrt(h)
            residual = residual - Q[:, j] * ((Q[:, j] @ residual) * h / (h + task["alpha"]))
            assert h > 1e-10 * h0
            chosen.append(i)
        return chosen

    def judge(chosen: Any) -> dict[str, Any]:
        return {"error": refitted(a, task, chosen), "size": len(chosen)}

    return work, judge


def refitted(a: Arrays, task: Task, chosen: Any) -> float:
    model = kernsift.SubsetLSSVMRegressor(gamma=task["gamma"], alpha=task["alpha"], basis=np.array(chosen))
    return error(task, model.fit(a["X"], a["y"]).predict(a["test"]), a["truth"])


def numpy_ols59(form: Any) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        X, y = np.array(a["X"]), np.array(a["y"])
        work = lambda: form(X, y, task["gamma"], task["m"], task["alpha"], np.random.default_rng(0))  # noqa: E731
        return work, lambda chosen: {"error": refitted(a, task, chosen), "size": len(chosen)}

    return rival


def pruned(a: Arrays, task: Task) -> tuple[Any, Any]:
    model = kernsift.SubsetLSSVMRegressor(gamma=task["gamma"], max_basis=task["m"], random_state=0)
    judge = lambda _: {"error": error(task, model.predict(a["test"]), a["truth"]), "size": task["m"]}  # noqa: E731
    return lambda: model.fit(a["X"], a["y"]), judge


def matching_pursuit(a: Arrays, task: Task) -> tuple[Any, Any]:
    from sklearn.linear_model import OrthogonalMatchingPursuit

    X, y = np.array(a["X"]), np.array(a["y"])

    def work() -> Any:
        K = rbf(X, X, task["gamma"])
        return OrthogonalMatchingPursuit(n_nonzero_coefs=task["m"], precompute=False).fit(K, y)

    def judge(model: Any) -> dict[str, Any]:
        chosen = np.flatnonzero(model.coef_)
        K = rbf(np.array(a["test"]), X[chosen], task["gamma"])
        found = error(task, K @ model.coef_[chosen] + model.intercept_, a["truth"])
        return {"error": found, "size": len(chosen)}

    return work, judge


def dense(make: Any) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        model = make(task)
        n, d = a["X"].shape

        def judge(fitted: Any) -> dict[str, Any]:
            found: dict[str, Any] = {"error": error(task, fitted.predict(a["test"]), a["truth"])}
            if isinstance(model, kernsift.LSSVMRegressor):
                found |= {"size": n, **of_peak(1.0 * n * n * d + n**3 / 3)}
            return found

        return lambda: model.fit(a["X"], a["y"]), judge

    return rival


def _svr(task: Task) -> Any:
    from sklearn.svm import SVR

    return SVR(C=1 / task["alpha"], gamma=task["gamma"])


def reduction(a: Arrays, task: Task) -> tuple[Any, Any]:
    model = kernsift.SparseLSSVMRegressor(
        gamma=task["gamma"], alpha=task["alpha"], max_start=task["m"], max_basis=task["m"] // 2, random_state=0
    )
    judge = lambda _: {"error": error(task, model.predict(a["test"]), a["truth"]), "size": model.n_basis_}  # noqa: E731
    return lambda: model.fit(a["X"], a["y"]), judge


def numpy_reduction(a: Arrays, task: Task) -> tuple[Any, Any]:
    """The same scores, each size from a fresh factorisation."""
    X, y, g, mu = np.array(a["X"]), np.array(a["y"]), task["gamma"], task["alpha"]

    def work() -> Any:
        start = X[np.random.default_rng(0).permutation(len(X))[: task["m"]]]
        K, K_mm = rbf(X, start, g), rbf(start, start, g)
        G, z = K.T @ K - np.outer(K.sum(0), K.sum(0)) / len(X), K.T @ (y - y.mean())
        left = np.arange(task["m"])
        kept = None
        while len(left) > 1:
            P = G[np.ix_(left, left)] + mu * K_mm[np.ix_(left, left)]
            P[np.diag_indices(len(left))] += 1e-10
            factor = cho_factor(P)
            beta = cho_solve(factor, z[left])
            if len(left) == task["m"] // 2:
                kept = start[left], beta, K[:, left].mean(0)
            scores = beta**2 / np.diagonal(cho_solve(factor, np.eye(len(left))))
            left = np.delete(left, np.argmin(scores))
        return kept

    def judge(kept: Any) -> dict[str, Any]:
        basis, beta, mean = kept
        scores = (rbf(np.array(a["test"]), basis, g) - mean) @ beta + y.mean()
        return {"error": error(task, scores, a["truth"]), "size": len(basis)}

    return work, judge


RIVALS: dict[str, Rival] = {
    "kernsift OLS": orols("error-reduction", None),
    "OrthogonalMatchingPursuit": matching_pursuit,
    "kernsift OROLS": orols("residual", None),
    "numpy OROLS": numpy_orols,
    "kernsift OLS-59": orols("error-reduction", 59),
    "kernsift, pruned from 3m (same use)": pruned,
    "numpy OLS-59": numpy_ols59(ols59),
    "numpy OLS-59, Gram-Schmidt": numpy_ols59(ols59_gram_schmidt),
    "kernsift LSSVM": dense(lambda task: kernsift.LSSVMRegressor(gamma=task["gamma"], alpha=task["alpha"])),
    "KernelRidge": dense(lambda task: kernel_ridge({}, task)),
    "GaussianProcessRegressor": dense(lambda task: gaussian_process({}, task)),
    "SVR": dense(_svr),
    "libsvm": dense(lambda task: libsvm({}, task, 0)),
    "kernsift SparseLSSVM": reduction,
    "numpy, solved anew at every size": numpy_reduction,
}
