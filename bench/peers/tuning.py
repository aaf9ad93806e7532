"""Choosing (alpha, gamma)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np

from .measures import Arrays, Rival, Task, error, synthetic
from .runner import Case

TITLE = "Tuning of width and ridge"
ABOUT = """Five widths and nine ridges: `tune` (exact leave-one-out) against a grid search with five folds of the
rival, and against the marginal likelihood; then the error of the model each ends with."""
GAMMAS = [factor / 10 for factor in (0.1, 0.3, 1.0, 3.0, 10.0)]
ALPHAS = np.logspace(-4, 2, 9)


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    n = {"quick": 200}.get(mode, 2000)
    task = {"m": 20 if mode == "quick" else 200, "measure": "rmse", "small": mode == "quick"}
    yield Case(f"synthetic, {n} rows", synthetic(n), task, list(RIVALS))


def searched(make: Callable[[Task], tuple[Any, dict[str, Any]]]) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        from sklearn.model_selection import GridSearchCV

        model, grid = make(task)
        if task["small"]:
            grid = {name: values[:2] for name, values in grid.items()}
        search = GridSearchCV(model, grid, cv=5, scoring="neg_mean_squared_error")
        return lambda: search.fit(a["X"], a["y"]), lambda _: judged(search, a, task)

    return rival


def judged(model: Any, a: Arrays, task: Task) -> dict[str, Any]:
    return {"error": error(task, model.predict(a["test"]), a["truth"])}


def tuned(make: Callable[[Task], Any]) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        work = lambda: kernsift.tune(make(task), a["X"], a["y"], gammas=GAMMAS, alphas=ALPHAS)  # noqa: E731
        return work, lambda found: judged(found.best_estimator_, a, task)

    return rival


def _subset(task: Task) -> Any:
    return kernsift.SubsetLSSVMRegressor(max_basis=task["m"], random_state=0)


def learned(a: Arrays, task: Task) -> tuple[Any, Any]:
    model = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=task["m"], random_state=0)
    return lambda: model.fit(a["X"], a["y"]), lambda _: judged(model, a, task)


def _kernel_ridge(task: Task) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf"), {"gamma": GAMMAS, "alpha": ALPHAS.tolist()}


def _nystroem(task: Task) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    pipe = make_pipeline(
        Nystroem(n_components=min(task["m"], 100) if task["small"] else task["m"], random_state=0), Ridge()
    )
    return pipe, {"nystroem__gamma": GAMMAS, "ridge__alpha": ALPHAS.tolist()}


def _svr(task: Task) -> Any:
    from sklearn.svm import SVR

    return SVR(), {"gamma": GAMMAS, "C": [0.1, 1.0, 10.0, 100.0]}


def likelihood(a: Arrays, task: Task) -> tuple[Any, Any]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    model = GaussianProcessRegressor(1.0 * RBF(3.0) + WhiteKernel(0.1), random_state=0)
    return lambda: model.fit(a["X"], a["y"]), lambda _: judged(model, a, task)


RIVALS: dict[str, Rival] = {
    "kernsift, tune": tuned(_subset),
    "kernsift, tune of LSSVM": tuned(lambda task: kernsift.LSSVMRegressor()),
    "kernsift, gamma='learn'": learned,
    "GridSearchCV(KernelRidge)": searched(_kernel_ridge),
    "GridSearchCV(Nystroem+Ridge)": searched(_nystroem),
    "GridSearchCV(SVR)": searched(_svr),
    "GaussianProcessRegressor, likelihood": likelihood,
}
