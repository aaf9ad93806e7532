"""Streams: a dictionary that stays, and one that grows and is pruned."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.rivals import Recursion

from .measures import Arrays, Rival, Task, error, forest, of_peak, synthetic
from .programs import compiled, run
from .runner import Case

TITLE = "Streams, a row at a time"
ABOUT = """Stable: a dictionary of m kernels and rows that repeat their neighbourhoods, CPU time a row; every rival
keeps the same m centres. Growing and pruning: one pass over the rows with at most m kernels, and the test error
behind it; river's regressors have no kernels and learn the same rows by `learn_one`."""
GAMMA = 1 / 54
LITERAL = "the papers' rule in C++, whole matrices"


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    rows = {"quick": 2000}.get(mode, 20_000)
    for m in {"quick": (50,)}.get(mode, (100, 500, 1000)):
        centres = 3.0 * rng.standard_normal((m, 54))
        X = centres[rng.integers(m, size=rows)] + 0.05 * rng.standard_normal((rows, 54)) / np.sqrt(54)
        X = np.concatenate([centres, X])
        names = ["kernsift", "dlib::krls", "numpy KRLS", "krls (PyPI)"]
        yield Case(f"stable, m={m}", {"X": X, "y": np.sin(X[:, 0])}, {"m": m, "kind": "stable"}, names)
    n = {"quick": 500}.get(mode, 10_000)
    for m in {"quick": (20,)}.get(mode, (100, 300, 500)):
        task = {"m": m, "kind": "growth", "gamma": GAMMA, "alpha": 0.1, "measure": "%"}
        names = ["kernsift, the papers' rule", "kernsift", LITERAL, "numpy KRLS", "dlib::krls"]
        yield Case(f"growth and pruning, forest {n}, m={m}", forest(data, n), task, names)
        task = {"m": m, "kind": "growth", "gamma": 1 / 10, "alpha": 0.01, "measure": "rmse"}
        names = ["kernsift", "kernsift.river", "river LinearRegression", "river HoeffdingAdaptiveTreeRegressor",
                 "river KNNRegressor", "dlib::krls"]  # fmt: skip
        yield Case(f"growth and pruning, synthetic {n}, m={m}", synthetic(n), task, names)


def stable(a: Arrays, task: Task) -> tuple[Any, Any]:
    X, y, m = a["X"], a["y"], task["m"]
    one = {"forgetting": 1.0, "linear": False}  # as the rivals have it
    model = kernsift.OnlineLSSVMRegressor(
        gamma=5.0 / 54, alpha=1.0, novelty_tol=0.5, admission="novelty", max_basis=None, fit_intercept=False, **one
    ).partial_fit(X[:m], y[:m])
    model.partial_fit(X[m : 4 * m], y[m : 4 * m])  # long enough to be known as quiet

    def judge(_: Any) -> dict[str, Any]:
        assert model.n_basis_ == m
        return {"rows": len(X) - m, "size": m, **of_peak((2.0 * m * 54 + 2.0 * m * m) * (len(X) - m))}

    return lambda: model.partial_fit(X[m:], y[m:]), judge


def growing(model: Any, a: Arrays, task: Task) -> tuple[Any, Any]:
    def judge(_: Any) -> dict[str, Any]:
        found = error(task, model.predict(a["test"]), a["truth"])
        return {"rows": len(a["X"]), "error": found, "size": model.n_basis_}

    return lambda: model.fit(a["X"], a["y"]), judge


def kernsift_(a: Arrays, task: Task) -> tuple[Any, Any]:
    if task["kind"] == "stable":
        return stable(a, task)
    return growing(
        kernsift.OnlineLSSVMRegressor(gamma=task["gamma"], alpha=task["alpha"], max_basis=task["m"]), a, task
    )


def by_the_rule(task: Task) -> Any:
    rule = {"novelty_tol": 1e-2, "usefulness_tol": 1e-4, "exact_rows": 0, "swap_until": None, "fit_intercept": False}
    return kernsift.OnlineLSSVMRegressor(gamma=task["gamma"], alpha=task["alpha"], max_basis=task["m"], **rule)


def papers(a: Arrays, task: Task) -> tuple[Any, Any]:
    return growing(by_the_rule(task), a, task)


def literal(a: Arrays, task: Task) -> tuple[Any, Any]:
    compiled("literal")
    X, y = a["X"], a["y"]

    def judge(out: list[float]) -> dict[str, Any]:
        ours = by_the_rule(task).fit(X, y)
        assert abs(out[2] - ours.predict(X[:1])[0]) < 1e-6, "the same rule, the same model"
        found = error(task, ours.predict(a["test"]), a["truth"])
        return {"rows": len(X), "seconds": out[0], "error": found, "size": int(out[1])}

    return lambda: run("literal", X, y, task["gamma"], task["alpha"], 1e-2, 1e-4, task["m"]), judge


def numpy_krls(a: Arrays, task: Task) -> tuple[Any, Any]:
    X, y, m = a["X"], a["y"], task["m"]
    if task["kind"] == "stable":
        model, some = Recursion(54, 5.0 / 54, 1.0, 0.5, m + 1), slice(m, m + 300)
        model.learn(X[:m], y[:m])
        return lambda: model.learn(X[some], y[some]), lambda _: {"rows": 300, "size": len(model.beta)}

    def fresh() -> Recursion:
        model = Recursion(X.shape[1], task["gamma"], task["alpha"], 1e-2, m, 1e-4)
        model.learn(X, y)
        return model

    def judge(model: Recursion) -> dict[str, Any]:
        few = slice(0, 2000)
        return {"rows": len(X), "error": error(task, model.predict(a["test"][few]), a["truth"][few]), "size": m}

    return fresh, judge


def dlib_krls(a: Arrays, task: Task) -> tuple[Any, Any]:
    compiled("dlib_krls")
    X, y, m = a["X"], a["y"], task["m"]
    if task["kind"] == "stable":
        some = slice(0, m + 1000)
        return (
            lambda: run("dlib_krls", X[some], y[some], 5.0 / 54, 0.5, m),
            lambda out: {"seconds": out[0], "size": int(out[1])},
        )

    def judge(out: list[float]) -> dict[str, Any]:
        found = error(task, np.array(out[2:]), a["truth"])
        return {"seconds": out[0], "error": found, "size": int(out[1])}

    some = slice(0, 3000 if m > 200 else len(X))  # beyond the cap every row costs the same
    return lambda: run("dlib_krls", X[some], y[some], task["gamma"], 1e-2, m, test=a["test"]), judge


def pypi_krls(a: Arrays, task: Task) -> tuple[Any, Any]:
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.modules["torch"] = types.ModuleType("torch")  # imported for another class; KRLS is numpy
    from krls.krls import KRLS

    X, y, m = a["X"], a["y"], task["m"]
    model = KRLS(nu=0.5, N=m, kernel_type="Gaussian", sigma=float(np.sqrt(54 / 10)))  # gamma = 1 / (2 sigma^2)
    model.fit(X[:m], y[:m])
    rows = 60 if m <= 200 else 15
    some = slice(m, m + rows)
    return lambda: model.evolve(X[some], y[some]), lambda _: {"rows": rows, "size": m}


def named(X: Any) -> list[dict[str, float]]:
    return [{f"x{j}": value for j, value in enumerate(row)} for row in np.asarray(X).tolist()]


def river(make: Any) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        rows, targets = named(a["X"]), a["y"].tolist()
        few = min(1000, len(a["test"]))
        test = named(a["test"][:few])

        def learn() -> Any:
            model = make(task)
            for x, y in zip(rows, targets, strict=True):
                model.learn_one(x, y)
            return model

        def judge(model: Any) -> dict[str, Any]:
            found = error(task, np.array([model.predict_one(x) for x in test]), a["truth"][:few])
            return {"rows": len(rows), "error": found}

        make(task)
        return learn, judge

    return rival


def _adapter(task: Task) -> Any:
    from kernsift.river import OnlineLSSVMRegressor

    return OnlineLSSVMRegressor(gamma=task["gamma"], alpha=task["alpha"], max_basis=task["m"])


def linear(task: Task) -> Any:
    from river import linear_model

    return linear_model.LinearRegression()


def _tree(task: Task) -> Any:
    from river import tree

    return tree.HoeffdingAdaptiveTreeRegressor(seed=0)


def _knn(task: Task) -> Any:
    from river import neighbors

    return neighbors.KNNRegressor()


RIVALS: dict[str, Rival] = {
    "kernsift": kernsift_,
    "kernsift, the papers' rule": papers,
    "kernsift.river": river(_adapter),
    LITERAL: literal,
    "numpy KRLS": numpy_krls,
    "dlib::krls": dlib_krls,
    "krls (PyPI)": pypi_krls,
    "river LinearRegression": river(linear),
    "river HoeffdingAdaptiveTreeRegressor": river(_tree),
    "river KNNRegressor": river(_knn),
}
