"""The recipes of docs/distributed.md for Spark and Ray, word for word on the engines, where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "distributed.md"
FEATURES = ["a", "b", "c"]
pytestmark = [
    pytest.mark.skipif(not PAGE.is_file(), reason="docs is not beside these tests"),
    pytest.mark.filterwarnings("ignore"),  # the engines warn of things of their own
]


def recipe(heading: str) -> str:
    """The Python blocks of a section of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"^```python\n(.*?)^```", section, re.M | re.S))


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Four files of a thousand rows in the folder that the recipes read."""
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    X = np.random.default_rng(5).uniform(-2, 2, (4000, 3))
    frame = pandas.DataFrame(X, columns=FEATURES).assign(y=np.sin(2 * X[:, 0]) + X[:, 1] / 3)
    (tmp_path / "rows").mkdir()
    for k in range(4):
        frame[1000 * k : 1000 * (k + 1)].to_parquet(tmp_path / "rows" / f"{k}.parquet", index=False)
    monkeypatch.chdir(tmp_path)
    return frame


def run(heading, rows, **given):
    """Run a recipe; its model is that of one process on the same basis, and its table holds what that predicts."""
    names = {"__name__": "__main__", **given}  # as in a user's script: functions go to the workers by value
    exec(compile(recipe(heading), f"docs/distributed.md, {heading}", "exec"), names)
    model, sample = names["model"], names["sample"]
    assert model.n_samples_seen_ == 4000
    assert 200 < len(sample) < 800
    alone = type(model)(**model.get_params()).select_basis(sample[FEATURES], sample["y"])
    alone.merge(alone.accumulate(rows[FEATURES], rows["y"]))
    # the same sums in another order
    np.testing.assert_allclose(model.predict(rows[FEATURES]), alone.predict(rows[FEATURES]), rtol=0, atol=1e-9)
    assert model.score(rows[FEATURES], rows["y"]) > 0.999
    table = names["table"]
    found = table.toPandas() if hasattr(table, "toPandas") else table.to_pandas()
    assert len(found) == 4000
    np.testing.assert_allclose(found["predicted"], model.predict(found[FEATURES]), rtol=0, atol=1e-12)


def test_the_page_has_the_recipes():
    assert "treeReduce(add)" in recipe("Spark")
    assert "ray.put(model)" in recipe("Ray")


def test_the_recipe_for_spark(rows, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java")
    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(variable, sys.executable)
    spark = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        run("Spark", rows, spark=spark)
    finally:
        spark.stop()


def test_the_recipe_for_ray(rows):
    ray = pytest.importorskip("ray", reason="needs ray")
    pytest.importorskip("ray.data", reason="needs ray's data sets")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
    try:
        run("Ray", rows)
    finally:
        ray.shutdown()
