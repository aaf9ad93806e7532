"""Choosing 500 landmarks without looking at the targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.rivals import efvs, rbf
from scipy.linalg import cholesky, solve_triangular

from .measures import Array, Arrays, Rival, Task, forest
from .programs import compiled, run
from .runner import Case

TITLE = "Selection of landmarks"
ABOUT = """Rows (k-means: means) whose kernels shall span the others: time, and in the place of an error the mean part
of k(x, x) that they leave, over 5,000 rows."""


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    m = {"quick": 20}.get(mode, 500)
    for n in {"quick": (500,)}.get(mode, (10_000, 500_000)):
        arrays = forest(data, n)
        keep = ["kernsift, RPCholesky", "kernsift, EFVS", "kernsift, greedy", "numpy EFVS", "MiniBatchKMeans",
                "uniform random"]  # fmt: skip
        if n <= 10_000:
            keep += ["kernsift, one pass (ALD)", "dlib subset finder"]
        yield Case(f"{m} of {n:,}", {"X": arrays["X"]}, {"m": m, "gamma": 1 / 54}, keep)


def left(X: Array, basis: Array, gamma: float) -> float:
    few = np.array(X[:: max(1, len(X) // 5000)][:5000])
    L = cholesky(rbf(basis, basis, gamma) + 1e-10 * np.eye(len(basis)), lower=True)
    W = solve_triangular(L, rbf(basis, few, gamma), lower=True)
    return float(1 - (W**2).sum(0).mean())


def chooser(choose: Callable[[Array, Task], Array]) -> Rival:
    """A function that returns landmarks as rows, or their numbers."""

    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        X = np.array(a["X"])

        def judge(found: Array) -> dict[str, Any]:
            basis = X[found] if np.ndim(found) == 1 else found
            return {"error": left(X, basis, task["gamma"]), "size": len(basis)}

        return lambda: choose(X, task), judge

    return rival


def ours(basis: str) -> Callable[[Array, Task], Array]:
    def choose(X: Array, task: Task) -> Array:
        model = kernsift.SubsetLSSVMRegressor(gamma=task["gamma"], basis=basis, max_basis=task["m"], random_state=0)
        return model.select_basis(X)._basis.indices  # public once something is learned on it

    return choose


def ours_efvs(X: Array, task: Task) -> Array:
    selector = kernsift.FeatureVectorSelector(gamma=task["gamma"], n_components=task["m"], random_state=0)
    return selector.fit(X).basis_indices_


def numpy_efvs(X: Array, task: Task) -> Array:
    return np.array(efvs(X, task["gamma"], task["m"], 59, 59, np.random.default_rng(0)))


def kmeans(X: Array, task: Task) -> Array:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(task["m"], random_state=0, n_init=1).fit(X).cluster_centers_


def random(X: Array, task: Task) -> Array:
    return np.random.default_rng(0).permutation(len(X))[: task["m"]]


def dlib_finder(a: Arrays, task: Task) -> tuple[Any, Any]:
    compiled("dlib_subset")
    X = np.array(a["X"])

    def judge(out: list[float]) -> dict[str, Any]:
        basis = np.array(out[2:]).reshape(int(out[1]), -1)
        return {"seconds": out[0], "error": left(X, basis, task["gamma"]), "size": len(basis)}

    return lambda: run("dlib_subset", X, np.zeros(len(X)), task["gamma"], task["m"]), judge


RIVALS: dict[str, Rival] = {
    "kernsift, RPCholesky": chooser(ours("rpcholesky")),
    "kernsift, EFVS": chooser(ours_efvs),
    "kernsift, greedy": chooser(ours("greedy")),
    "kernsift, one pass (ALD)": chooser(ours("ald")),
    "numpy EFVS": chooser(numpy_efvs),
    "MiniBatchKMeans": chooser(kmeans),
    "uniform random": chooser(random),
    "dlib subset finder": dlib_finder,
}
