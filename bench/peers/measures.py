"""What every kind of work shares: rows, errors, and the flops beside the machine's limit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import data
from measure.clock import dgemm_limit, timed
from numpy.typing import NDArray

Array = NDArray[np.float64]
Arrays = dict[str, Array]
Task = dict[str, Any]
Rival = Callable[[Arrays, Task], tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]]
THREADS = int(os.environ.get("KERNSIFT_PEERS_THREADS", "1"))


def forest(folder: Path | None, n: int) -> Arrays:
    """Class 2 against the rest as ±1, 20,000 rows to test on; without the data a stand-in that shows the race runs."""
    if folder is None or not (folder / "covtype.npz").is_file():
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n + 2000, 54))
        y = np.sign(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
        return {"X": X[:n], "y": y[:n], "test": X[n:], "truth": y[n:]}
    X, y = data.class_two(folder)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:n], order[500_000:520_000]
    return {"X": X[train], "y": y[train], "test": X[test], "truth": y[test]}


def synthetic(n: int, seed: int = 0) -> Arrays:
    """Ten features, of which a smooth function of five and noise of .1 of its deviation: friedman1, standardised."""
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n + 5000, noise=0.5, random_state=seed)
    X, y = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    return {"X": np.ascontiguousarray(X[:n]), "y": y[:n], "test": np.ascontiguousarray(X[n:]), "truth": y[n:]}


def wrong(scores: Array, truth: Array) -> float:
    """Per cent of signs that are wrong."""
    return 100.0 * float(np.mean(np.where(np.asarray(scores).ravel() > 0, 1.0, -1.0) != truth))


def rmse(predicted: Array, truth: Array) -> float:
    return float(np.sqrt(np.mean((np.asarray(predicted).ravel() - truth) ** 2)))


def error(task: Task, predicted: Array, truth: Array) -> float:
    return (wrong if task["measure"] == "%" else rmse)(predicted, truth)


def of_peak(flops: float) -> dict[str, float]:
    """For a judge: the flops of the work, and the peak of the same run."""
    return {"flops": flops, "dgemm": dgemm_limit()}


def predicted(model: Any, a: Arrays, task: Task, **more: Any) -> dict[str, Any]:
    """For a judge: the error on the test rows, and microseconds of predicting one."""
    scores, spent = timed(lambda: model.predict(a["test"]))
    return {"error": error(task, scores, a["truth"]), "predict": 1e6 * spent / len(scores), **more}
