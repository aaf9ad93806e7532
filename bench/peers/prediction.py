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
from .measures import THREADS, Array, Arrays, Rival, Told, error, forest, of_peak
from .runner import Case
from .stream import named

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
    told = {"gamma": 1 / 54, "alpha": 0.5, "measure": "%", "m": m, "kind": "many"}
    names = ["kernsift", "kernsift, float32 rows", "numpy, blocked", "KernelRidge", "Nystroem+Ridge",
             "RBFSampler+Ridge", "SVC", "lightgbm"]  # fmt: skip
    some = {**arrays, "rows": rows}
    yield Case(f"{n:,} rows, m={m}", some, {**told, "part": 20_000}, names)
    names = ["kernsift", "kernsift.river", "KernelRidge", "Nystroem+Ridge", "SVC", "lightgbm", "SGDRegressor",
             "river LinearRegression"]  # fmt: skip
    yield Case(f"one row, m={m}", {**arrays, "rows": rows[:2000]}, {**told, "kind": "one"}, names)


def many(
    predict: Callable[[Array], Any], a: Arrays, told: Told, slow: bool = False, flops: float = 0
) -> tuple[Any, Any]:
    """Slow rivals take part of the rows: their time is by the row."""
    rows = a["rows"][: told["part"]] if slow else a["rows"]
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


def estimator(make: Callable[[Arrays, Told], Any], slow: bool = False, rows: int | None = None) -> Rival:
    def rival(a: Arrays, told: Told) -> tuple[Any, Any]:
        model = make(a, told).fit(a["X"][:rows], a["y"][:rows])
        if told["kind"] == "many":
            return many(model.predict, a, told, slow)
        single = [row[None] for row in a["rows"]]
        learn = getattr(model, "partial_fit", None)
        found = error(told, model.predict(a["test"]), a["truth"])
        return one(model.predict, learn and (lambda x, y: learn(x, [y])), single, found, 300 if slow else 1000)

    return rival


def kernsift_(a: Arrays, told: Told) -> tuple[Any, Any]:
    m, d = told["m"], a["X"].shape[1]
    if told["kind"] == "many":
        model = kernsift.OnlineLSSVMRegressor(gamma=told["gamma"], alpha=0.1, max_basis=m, n_jobs=THREADS)
        model.fit(a["X"], a["y"])
        return many(model.predict, a, told, flops=2.0 * model.n_basis_ * d)
    model = kernsift.OnlineLSSVMRegressor(gamma=told["gamma"], alpha=0.1, max_basis=m).fit(a["X"], a["y"])
    found = error(told, model.predict(a["test"]), a["truth"])
    return one(model.predict_one, model.update, np.array(a["rows"]), found)


def single_precision(a: Arrays, told: Told) -> tuple[Any, Any]:
    model = kernsift.OnlineLSSVMRegressor(gamma=told["gamma"], alpha=0.1, max_basis=told["m"], n_jobs=THREADS)
    model.fit(a["X"], a["y"])
    a = {**a, "rows": a["rows"].astype(np.float32)}
    assert model.predict(a["rows"][:5]).dtype == np.float32, "answers in the precision of the rows"
    return many(model.predict, a, told)


def river(make: Callable[[Told], Any]) -> Rival:
    def rival(a: Arrays, told: Told) -> tuple[Any, Any]:
        model, rows = make(told), named(a["rows"])
        for x, y in zip(named(a["X"]), a["y"].tolist(), strict=True):
            model.learn_one(x, y)
        few = slice(0, 2000)
        found = error(told, np.array([model.predict_one(x) for x in named(a["test"][few])]), a["truth"][few])
        return one(model.predict_one, model.learn_one, rows, found)

    return rival


def _adapter(told: Told) -> Any:
    from kernsift.river import OnlineLSSVMRegressor

    return OnlineLSSVMRegressor(gamma=told["gamma"], alpha=0.1, max_basis=told["m"])


def _linear(told: Told) -> Any:
    from river import linear_model

    return linear_model.LinearRegression()


def _sgd(a: Arrays, told: Told) -> Any:
    from sklearn.linear_model import SGDRegressor

    return SGDRegressor(random_state=0)


def numpy_blocked(a: Arrays, told: Told) -> tuple[Any, Any]:
    basis, coef = np.array(a["X"][: told["m"]]), np.array(a["y"][: told["m"]])

    def predict(X: Array) -> Array:
        blocks = range(0, len(X), 1024)
        return np.concatenate([rbf(X[i : i + 1024], basis, told["gamma"]) @ coef for i in blocks])

    return many(predict, a, told)


def kernel_ridge_(a: Arrays, told: Told) -> tuple[Any, Any]:
    return estimator(kernel_ridge, rows=told["m"])(a, told)


RIVALS: dict[str, Rival] = {
    "kernsift": kernsift_,
    "kernsift, float32 rows": single_precision,
    "kernsift.river": river(_adapter),
    "numpy, blocked": numpy_blocked,
    "KernelRidge": kernel_ridge_,
    "Nystroem+Ridge": estimator(nystroem(ridge)),
    "RBFSampler+Ridge": estimator(sampler(ridge)),
    "SVC": estimator(lambda a, told: svm(a, told, 0), slow=True),
    "lightgbm": estimator(lambda a, told: trees(a, told, 100)),
    "SGDRegressor": estimator(_sgd),
    "river LinearRegression": river(_linear),
}
