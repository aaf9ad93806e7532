"""How time and memory grow: log-log fits against rows, kernels, features and classes, beside what is promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import kernsift
import numpy as np
from measure import page

from .measures import Array, Arrays, Rival, Task
from .runner import Case, race

TITLE = "Scaling"
ABOUT = """Exponents fitted to CPU time and to memory beyond the arrays given, over the upper half of the sizes named
(three at least), beside those of the operation counts. A fit on a fixed basis costs n (2md + m²) + m³, a row of a
stable stream 2md + 2m², a prediction 2md. What grows with the rows in memory are vectors of one number a row
(targets, weights, predictions), beside d numbers a row of the table itself. Where two terms meet (m² against 2md) the
exponent lies between theirs."""
HEADINGS = ("work", "against", "sizes", "time: fitted", "promised", "memory: fitted", "promised")
ROWS = [1000, 10_000, 100_000, 1_000_000, 10_000_000]
KERNELS = [50, 100, 200, 400, 800, 1600, 4000]
SIZES = {
    "quick": {"n": [500, 1000, 2000], "m": [20, 40, 80], "d": [2, 8, 32], "c": [2, 8]},
    "default": {"n": ROWS[:-1], "m": KERNELS[:-1], "d": [2, 8, 32, 128, 500], "c": [2, 5, 10, 26]},
    "full": {"n": ROWS, "m": KERNELS, "d": [2, 8, 32, 128, 500], "c": [2, 5, 10, 26]},
}


def axes(mode: str) -> Iterator[tuple[str, str, str, list[dict[str, int]], tuple[str, str]]]:
    """work, axis, rival, the sizes, promised exponents of time and memory."""
    base = {"n": 20_000, "m": 100, "d": 10, "c": 2} if mode != "quick" else {"n": 1000, "m": 20, "d": 5, "c": 2}

    def sizes(axis: str) -> list[dict[str, int]]:
        return [{**base, axis: size} for size in SIZES[mode][axis]]

    yield "fit on a fixed basis", "n", "fit", sizes("n"), ("1", "1 (targets, weights)")
    yield "fit on a fixed basis", "m", "fit", sizes("m"), ("2", "2")
    yield "fit on a fixed basis", "d", "fit", sizes("d"), ("0 to 1", "0")
    yield "fit on a fixed basis", "classes", "classes", sizes("c"), ("0 to 1", "0")
    yield "stream, stable", "m", "stable", [size for size in sizes("m") if size["m"] <= 1600], ("2", "2")
    yield "stream, growth and pruning", "n", "growth", sizes("n"), ("1", "1 (targets, weights)")
    yield "prediction", "n", "predict", sizes("n"), ("1", "1 (the predictions)")
    yield "prediction", "m", "predict", sizes("m"), ("1", "0 to 1")
    yield "prediction", "d", "predict", sizes("d"), ("0 to 1", "0")


def case(size: dict[str, int], rival: str) -> Case:
    return Case(str(size), {}, dict(size), [rival])


def table(mode: str, rounds: int) -> Iterator[str]:
    """The lines of the page, as they become known."""
    yield from page.head(HEADINGS)
    for work, axis, rival, sizes, (time_promised, memory_promised) in axes(mode):
        found = [race("scaling", case(size, rival), rounds)[0] for size in sizes]
        if missing := [r.absent for r in found if r.absent]:
            yield page.row((work, axis, missing[0]))
            continue
        steps = [size[axis[0]] for size in sizes]
        slope = exponent(steps, [r.seconds for r in found])
        memory = exponent(steps, [max(r.megabytes, 0.5) for r in found])
        between = f"{steps[0]:,} to {steps[-1]:,}"
        yield page.row((work, axis, between, f"{slope:.2f}", time_promised, f"{memory:.2f}", memory_promised))


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope of the upper half in logarithms (three sizes at least)."""
    upper = slice(-max(3, (len(sizes) + 1) // 2), None)
    x, y = np.log(np.array(sizes[upper], float)), np.log(np.maximum(np.array(values[upper]), 1e-9))
    return float(np.polyfit(x, y, 1)[0])


def problem(task: Task) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((task["n"], task["d"]))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(len(X))


def fit(a: Arrays, task: Task) -> tuple[Any, Any]:
    X, y = problem(task)
    few = X[: task["m"]] if len(X) >= task["m"] else problem({**task, "n": task["m"]})[0]
    model = kernsift.SubsetLSSVMRegressor(gamma=1 / task["d"], alpha=0.5, basis=few.copy())
    kernsift.SubsetLSSVMRegressor(gamma=1.0, alpha=0.5, basis=X[:10].copy()).fit(X[:100], y[:100])
    return lambda: model.fit(X, y), lambda _: {}


def classes(a: Arrays, task: Task) -> tuple[Any, Any]:
    X, _ = problem(task)
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, task["c"]) / task["c"]))
    model = kernsift.SubsetLSSVMClassifier(gamma=1 / task["d"], alpha=0.5, basis=X[: task["m"]].copy())
    model.fit(X[:200], y[:200] % 2)
    return lambda: model.fit(X, y), lambda _: {}


def stable(a: Arrays, task: Task) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    m, d = task["m"], max(task["d"], 20)
    centres = 5.0 * rng.standard_normal((m, d))
    X = centres[rng.integers(m, size=10_000)] + 0.01 * rng.standard_normal((10_000, d))
    y = np.sin(X[:, 0])
    one = {"forgetting": 1.0, "linear": False}
    model = kernsift.OnlineLSSVMRegressor(
        gamma=5.0 / d, alpha=1.0, novelty_tol=0.5, admission="novelty", max_basis=None, fit_intercept=False, **one
    ).partial_fit(centres, np.sin(centres[:, 0]))
    model.partial_fit(X[: 3 * m], y[: 3 * m])
    return lambda: model.partial_fit(X, y), lambda _: {"rows": len(X)}


def growth(a: Arrays, task: Task) -> tuple[Any, Any]:
    X, y = problem(task)
    model = kernsift.OnlineLSSVMRegressor(gamma=1 / task["d"], alpha=0.1, max_basis=task["m"])
    return lambda: model.fit(X, y), lambda _: {}


def predict(a: Arrays, task: Task) -> tuple[Any, Any]:
    X, _ = problem(task)
    rows = X[: max(task["m"], 200)] if len(X) >= task["m"] else problem({**task, "n": task["m"]})[0]
    model = kernsift.SubsetLSSVMRegressor(gamma=1 / task["d"], alpha=0.5, basis=rows[: task["m"]].copy())
    model.fit(rows, np.sin(rows[:, 0]))
    model.predict(X[:300])
    return lambda: model.predict(X), lambda _: {}


RIVALS: dict[str, Rival] = {
    "fit": fit, "classes": classes, "stable": stable, "growth": growth, "predict": predict
}  # fmt: skip
