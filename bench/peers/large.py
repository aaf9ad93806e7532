"""Large bases in one batch: time against the flops, memory against one m x m matrix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.rivals import nystroem_ridge

from .measures import THREADS, Arrays, Rival, Task, of_peak
from .runner import Case

TITLE = "Large bases"
ABOUT = """A fit on m given rows of n, d = 20, one ridge: seconds, part of the same run's dgemm peak on n (2md + m²) +
5m³/3 flops (the factor of K and the solution m³/3 each, the sums to orthonormal coordinates m³), and memory in units
of 8m² bytes, of one square matrix. keep_sums=False has the factor of K and that of the ridge in one."""


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    sizes = {"quick": (100,), "default": (2000, 4000), "full": (2000, 4000, 7000, 10_000)}[mode]
    for m in sizes:
        n = 3 * m if mode == "quick" else max(20_000, 2 * m)
        names = ["kernsift", "kernsift, keep_sums=False"] + ["kernsift, alpha='gcv'"] * (m <= 2000)
        names += ["Nystroem+Ridge"] * (m <= 4000)  # its singular vectors of 10,000 take a quarter of an hour
        yield Case(f"m={m:,}, n={n:,}", {}, {"m": m, "n": n}, names)


def given(alpha: Any, keep_sums: bool = True) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        X, y = rows(task)
        m, n = task["m"], task["n"]
        model = kernsift.SubsetLSSVMRegressor(
            gamma=1 / 20, alpha=alpha, basis=np.arange(m), keep_sums=keep_sums, n_jobs=THREADS
        )

        def judge(_: Any) -> dict[str, Any]:
            return {"size": m, "square": 8 * m * m / 2**20, **of_peak(n * (40.0 * m + m * m) + 5 / 3 * float(m) ** 3)}

        return lambda: model.fit(X, y), judge

    return rival


def rows(task: Task) -> tuple[Any, Any]:
    X = np.random.default_rng(0).standard_normal((task["n"], 20))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def nystroem(a: Arrays, task: Task) -> tuple[Any, Any]:
    X, y = rows(task)
    model = nystroem_ridge(1 / 20, task["m"], 0.5)
    return lambda: model.fit(X, y), lambda _: {"size": task["m"], "square": 8 * task["m"] ** 2 / 2**20}


RIVALS: dict[str, Rival] = {
    "kernsift": given(0.5),
    "kernsift, keep_sums=False": given(0.5, keep_sums=False),
    "kernsift, alpha='gcv'": given("gcv"),
    "Nystroem+Ridge": nystroem,
}
