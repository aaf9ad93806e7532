"""Predictions: a million rows at once, and one row at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.rivals import rbf

from .batch import kernel_ridge, nystroem, ridge, sampler
from .equal import svm, trees
from .measures import THREADS, Array, Arrays, Rival, Task, error, forest, of_peak
from .runner import Case
from .stream import linear, named

TITLE = "Predictions"
ABOUT = """A model of 500 kernels (500 features, 100 trees; the SVM as many vectors as it needs, KernelRidge on 500
rows), fitted on 5,000 rows of forest. Many rows: CPU time a row of one call. One row: microseconds of predicting one
row after another, and where the rival can, of learning it too: median and 99th percentile of CPU time."""


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    small = mode == "quick"
    n = {"quick": 5000}.get(mode, 1_000_000)
    arrays = forest(data, 300 if small else 5000)
    m = 30 if small else 500
    rows = np.random.default_rng(0).standard_normal((n, arrays["X"].shape[1]))
    task = {"gamma": 1 / 54, "alpha": 0.5, "measure": "%", "m": m, "kind": "many"}
    names = ["kernsift", "kernsift, float32 rows", "numpy, blocked", "KernelRidge", "Nystroem+Ridge",
             "RBFSampler+Ridge", "SVC", "lightgbm"]  # fmt: skip
    some = {**arrays, "rows": rows}
    yield Case(f"{n:,} rows, m={m}", some, {**task, "part": 20_000}, names)
    names = ["kernsift", "kernsift.river", "KernelRidge", "Nystroem+Ridge", "SVC", "lightgbm", "SGDRegressor",
             "river LinearRegression"]  # fmt: skip
    yield Case(f"one row, m={m}", {**arrays, "rows": rows[:2000]}, {**task, "kind": "one"}, names)


def many(
    predict: Callable[[Array], Any], a: Arrays, task: Task, slow: bool = False, flops: float = 0
) -> tuple[Any, Any]:
    """Slow rivals take part of the rows: their time is by the row."""
    rows = a["rows"][: task["part"]] if slow else a["rows"]
    predict(np.array(a["rows"][:200]))

    def judge(_: Any) -> dict[str, Any]:
        return {"rows": len(rows), **(of_peak(flops * len(rows)) if flops else {})}

    return lambda: predict(rows), judge


def one(
    predict: Callable[[Any], Any], learn: Callable[[Any, float], Any] | None, rows: Any, wrong: float, count: int = 1000
) -> Any:
    """Percentiles in microseconds over `count` rows; the first tenth warms up."""
    clock = time.thread_time  # the wall clock of a busy machine measures the others

    def work() -> list[list[float]]:
        spent: list[list[float]] = [[], []]
        for i in range(count):
            begin = clock()
            predict(rows[i])
            middle = clock()
            spent[0].append(middle - begin)
            if learn is not None:
                begin = clock()
                learn(rows[i], 1.0 if i % 2 else -1.0)
                spent[1].append(clock() - begin)
        return spent

    def judge(spent: list[list[float]]) -> dict[str, Any]:
        found: dict[str, Any] = {"rows": count, "error": wrong}
        for name, times in zip(("predicted", "learned"), spent, strict=True):
            if times:
                found[f"{name} p50"], found[f"{name} p99"] = (
                    1e6 * float(q) for q in np.percentile(times[count // 10 :], (50, 99))
                )
        found["seconds"] = sum(spent[0])
        return found

    return work, judge


def estimator(make: Callable[[Arrays, Task], Any], slow: bool = False, rows: int | None = None) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        model = make(a, task).fit(a["X"][:rows], a["y"][:rows])
        if task["kind"] == "many":
            return many(model.predict, a, task, slow)
        single = [row[None] for row in a["rows"]]
        learn = getattr(model, "partial_fit", None)
        found = error(task, model.predict(a["test"]), a["truth"])
        return one(model.predict, learn and (lambda x, y: learn(x, [y])), single, found, 300 if slow else 1000)

    return rival


def kernsift_(a: Arrays, task: Task) -> tuple[Any, Any]:
    m, d = task["m"], a["X"].shape[1]
    if task["kind"] == "many":
        model = kernsift.OnlineLSSVMRegressor(gamma=task["gamma"], alpha=0.1, max_basis=m, n_jobs=THREADS)
        model.fit(a["X"], a["y"])
        return many(model.predict, a, task, flops=2.0 * model.n_basis_ * d)
    model = kernsift.OnlineLSSVMRegressor(gamma=task["gamma"], alpha=0.1, max_basis=m).fit(a["X"], a["y"])
    found = error(task, model.predict(a["test"]), a["truth"])
    return one(model.predict_one, model.update, np.array(a["rows"]), found)


def single_precision(a: Arrays, task: Task) -> tuple[Any, Any]:
    model = kernsift.OnlineLSSVMRegressor(gamma=task["gamma"], alpha=0.1, max_basis=task["m"], n_jobs=THREADS)
    model.fit(a["X"], a["y"])
    a = {**a, "rows": a["rows"].astype(np.float32)}
    assert model.predict(a["rows"][:5]).dtype == np.float32, "predictions have the precision of the rows"
    return many(model.predict, a, task)


def river(make: Callable[[Task], Any]) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        model, rows = make(task), named(a["rows"])
        for x, y in zip(named(a["X"]), a["y"].tolist(), strict=True):
            model.learn_one(x, y)
        few = slice(0, 2000)
        found = error(task, np.array([model.predict_one(x) for x in named(a["test"][few])]), a["truth"][few])
        return one(model.predict_one, model.learn_one, rows, found)

    return rival


def _adapter(task: Task) -> Any:
    from kernsift.river import OnlineLSSVMRegressor

    return OnlineLSSVMRegressor(gamma=task["gamma"], alpha=0.1, max_basis=task["m"])


def _sgd(a: Arrays, task: Task) -> Any:
    from sklearn.linear_model import SGDRegressor

    return SGDRegressor(random_state=0)


def numpy_blocked(a: Arrays, task: Task) -> tuple[Any, Any]:
    basis, coef = np.array(a["X"][: task["m"]]), np.array(a["y"][: task["m"]])

    def predict(X: Array) -> Array:
        blocks = range(0, len(X), 1024)
        return np.concatenate([rbf(X[i : i + 1024], basis, task["gamma"]) @ coef for i in blocks])

    return many(predict, a, task)


def kernel_ridge_(a: Arrays, task: Task) -> tuple[Any, Any]:
    return estimator(kernel_ridge, rows=task["m"])(a, task)


RIVALS: dict[str, Rival] = {
    "kernsift": kernsift_,
    "kernsift, float32 rows": single_precision,
    "kernsift.river": river(_adapter),
    "numpy, blocked": numpy_blocked,
    "KernelRidge": kernel_ridge_,
    "Nystroem+Ridge": estimator(nystroem(ridge)),
    "RBFSampler+Ridge": estimator(sampler(ridge)),
    "SVC": estimator(lambda a, task: svm(a, task, 0), slow=True),
    "lightgbm": estimator(lambda a, task: trees(a, task, 100)),
    "SGDRegressor": estimator(_sgd),
    "river LinearRegression": river(linear),
}
