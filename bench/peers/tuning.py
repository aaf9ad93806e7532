"""Choosing (alpha, gamma)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np

from .measures import Arrays, Rival, Told, error, synthetic
from .runner import Case

TITLE = "Tuning of width and ridge"
ABOUT = """Five widths and nine ridges: `tune` (exact leave-one-out) against a grid search with five folds of the
rival, and against the marginal likelihood; then the error of the model each ends with."""
GAMMAS = [factor / 10 for factor in (0.1, 0.3, 1.0, 3.0, 10.0)]
ALPHAS = np.logspace(-4, 2, 9)


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    n = {"quick": 200}.get(mode, 2000)
    told = {"m": 20 if mode == "quick" else 200, "measure": "rmse", "small": mode == "quick"}
    yield Case(f"synthetic, {n} rows", synthetic(n), told, list(RIVALS))


def searched(make: Callable[[Told], tuple[Any, dict[str, Any]]]) -> Rival:
    def rival(a: Arrays, told: Told) -> tuple[Any, Any]:
        from sklearn.model_selection import GridSearchCV

        model, grid = make(told)
        if told["small"]:
            grid = {name: values[:2] for name, values in grid.items()}
        search = GridSearchCV(model, grid, cv=5, scoring="neg_mean_squared_error")
        return lambda: search.fit(a["X"], a["y"]), lambda _: judged(search, a, told)

    return rival


def judged(model: Any, a: Arrays, told: Told) -> dict[str, Any]:
    return {"error": error(told, model.predict(a["test"]), a["truth"])}


def tuned(make: Callable[[Told], Any]) -> Rival:
    def rival(a: Arrays, told: Told) -> tuple[Any, Any]:
        work = lambda: kernsift.tune(make(told), a["X"], a["y"], gammas=GAMMAS, alphas=ALPHAS)  # noqa: E731
        return work, lambda found: judged(found.best_estimator_, a, told)

    return rival


def _subset(told: Told) -> Any:
    return kernsift.SubsetLSSVMRegressor(max_basis=told["m"], random_state=0)


def learned(a: Arrays, told: Told) -> tuple[Any, Any]:
    model = kernsift.SubsetLSSVMRegressor(gamma="learn", max_basis=told["m"], random_state=0)
    return lambda: model.fit(a["X"], a["y"]), lambda _: judged(model, a, told)


def _kernel_ridge(told: Told) -> Any:
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf"), {"gamma": GAMMAS, "alpha": ALPHAS.tolist()}


def _nystroem(told: Told) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    pipe = make_pipeline(
        Nystroem(n_components=min(told["m"], 100) if told["small"] else told["m"], random_state=0), Ridge()
    )
    return pipe, {"nystroem__gamma": GAMMAS, "ridge__alpha": ALPHAS.tolist()}


def _svr(told: Told) -> Any:
    from sklearn.svm import SVR

    return SVR(), {"gamma": GAMMAS, "C": [0.1, 1.0, 10.0, 100.0]}


def likelihood(a: Arrays, told: Told) -> tuple[Any, Any]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    model = GaussianProcessRegressor(1.0 * RBF(3.0) + WhiteKernel(0.1), random_state=0)
    return lambda: model.fit(a["X"], a["y"]), lambda _: judged(model, a, told)


RIVALS: dict[str, Rival] = {
    "kernsift, tune": tuned(_subset),
    "kernsift, tune of LSSVM": tuned(lambda told: kernsift.LSSVMRegressor()),
    "kernsift, gamma='learn'": learned,
    "GridSearchCV(KernelRidge)": searched(_kernel_ridge),
    "GridSearchCV(Nystroem+Ridge)": searched(_nystroem),
    "GridSearchCV(SVR)": searched(_svr),
    "GaussianProcessRegressor, likelihood": likelihood,
}
