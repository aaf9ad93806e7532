"""A Parquet file larger than one wants in memory: one pass in blocks against models that need all rows at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kernsift
import numpy as np

from .measures import THREADS, Array, Arrays, Rival, Task, rmse
from .runner import Case

TITLE = "Rows from a Parquet file"
ABOUT = """Friedman's first function of five of eight uniform columns, noise of deviation 1, in row groups of 100,000.
Reading and learning are timed together. kernsift goes through the file in blocks, 200 kernels, one width a column
learned from a sample. The trees need all rows in memory. Error is RMSE on 100,000 further rows without noise, size the
number of kernels or trees, MB what the process grows by, the rows it reads included."""
ROWS = {"quick": 20_000, "default": 10_000_000, "full": 10_000_000}
GROUP = 100_000
FEATURES = [f"x{i}" for i in range(8)]


def rows(group: int, n: int, noise: float = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng([7, group])
    X = rng.uniform(size=(n, len(FEATURES)))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.standard_normal(n)


def write(path: Path, n: int) -> None:
    """The rows in groups, of which one is in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.float64()) for name in (*FEATURES, "y")])
    with pq.ParquetWriter(path, schema) as file:
        for group, begin in enumerate(range(0, n, GROUP)):
            X, y = rows(group, min(GROUP, n - begin))
            file.write_table(pa.table([*X.T, y], schema=schema))


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    n = ROWS[mode]
    with tempfile.TemporaryDirectory(prefix="kernsift-rows-", dir=os.environ.get("KERNSIFT_PEERS_BUILD")) as folder:
        path = Path(folder) / "rows.parquet"
        if find_spec("pyarrow"):  # without it every rival says that it is missing
            write(path, n)
        yield Case(f"{n:,} rows × {len(FEATURES)}", {}, {"path": str(path), "n": n}, list(RIVALS))


def judge(model: Any, size: float) -> dict[str, Any]:
    X, truth = rows(1_000_000, GROUP, noise=0.0)
    return {"error": rmse(model.predict(X), truth), "size": size}


def ours(a: Arrays, task: Task) -> tuple[Any, Any]:
    import pyarrow.parquet  # noqa: F401

    model = kernsift.SubsetLSSVMRegressor(max_basis=200, gamma="learn", random_state=0, n_jobs=THREADS)
    return lambda: model.fit_batches(task["path"], target="y"), lambda m: judge(m, m.n_basis_)


def trees(make: Callable[[int], Any], n_trees: int) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        import pyarrow.parquet as pq

        fresh = make(n_trees)

        def work() -> Any:
            table = pq.read_table(task["path"])
            return fresh.fit(np.column_stack([table[name] for name in FEATURES]), np.asarray(table["y"]))

        return work, lambda m: judge(m, n_trees)

    return rival


def histogram_trees(n_trees: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=n_trees, early_stopping=False, random_state=0)


def lightgbm_trees(n_trees: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=n_trees, n_jobs=THREADS, verbose=-1, random_state=0)


RIVALS: dict[str, Rival] = {
    "kernsift": ours,
    "HistGradientBoosting": trees(histogram_trees, 100),
    "lightgbm": trees(lightgbm_trees, 100),
    "lightgbm, 500 trees": trees(lightgbm_trees, 500),
}
