"""``fit_batches`` over record batches, frames and Parquet files, and what Ctrl-C leaves of it."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from kernsift import SubsetLSSVMClassifier, SubsetLSSVMRegressor

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'kernsift[arrow]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install 'kernsift[arrow]'")


def columns(n=500):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2)).astype(np.float32)
    return {"a": X[:, 0], "b": X[:, 1], "y": np.sin(2 * X[:, 0]).astype(float), "w": 1.0 + np.arange(n) % 2}


def expected(names=("a", "b"), weight=False, settings=None):
    c = columns()
    X = np.column_stack([c[n] for n in names]).astype(float)
    batches = [
        (X[i : i + 100], c["y"][i : i + 100], *([c["w"][i : i + 100]] if weight else [])) for i in range(0, 500, 100)
    ]
    return make().fit_batches(batches), X


def make():
    return SubsetLSSVMRegressor(max_basis=20, random_state=0)


def test_record_batches_tables_and_frames_are_the_same_rows():
    pd, pl = (pytest.importorskip(name, reason=f"needs {name}") for name in ("pandas", "polars"))
    model, X = expected(weight=True)
    table = pa.table(columns())
    parts = [table.slice(i, 100) for i in range(0, 500, 100)]
    for batches in (
        table.to_batches(100),
        iter(parts),
        [p.to_pandas() for p in parts],
        [pl.from_arrow(p) for p in parts],
        [p.select(["w", "y", "b", "a"]) if i else p for i, p in enumerate(parts)],  # by name, not by place
    ):
        other = make().fit_batches(batches, target="y", weight="w")
        np.testing.assert_array_equal(other.predict(pd.DataFrame(X, columns=["a", "b"])), model.predict(X))
        assert other.feature_names_in_.tolist() == ["a", "b"]


def test_a_parquet_file_is_read_in_batches(tmp_path, monkeypatch):
    from kernsift.io import record_batches as _record_batches

    monkeypatch.setattr(_record_batches, "_BATCH", 100)
    table = pa.table(columns())
    parquet.write_table(table.drop_columns(["w"]), tmp_path / "rows.parquet")
    model, _ = expected()
    np.testing.assert_array_equal(
        make().fit_batches(tmp_path / "rows.parquet", target="y").__getstate__()["_coef"], model._coef
    )
    labels = table.drop_columns(["w"]).set_column(2, "y", pa.array(np.where(columns()["y"] > 0, "up", "down")))
    parquet.write_table(labels, tmp_path / "labels.parquet")
    classifier = SubsetLSSVMClassifier(max_basis=20, random_state=0).fit_batches(
        tmp_path / "labels.parquet", target="y"
    )
    assert classifier.classes_.tolist() == ["down", "up"]
    two = make().fit_batches([table], target=["y", "b"])
    assert two.dual_coef_.shape[1] == 2


def test_what_does_not_fit_is_named_and_changes_nothing():
    table = pa.table(columns())
    model = make().fit_batches([table], target="y")
    before = dict(model.__dict__)
    nulls = pa.array([None, *columns()["b"][1:]], type=pa.float32())
    for batches, options, said in (
        ([table], {}, "need target="),
        ([table], {"target": "z"}, "no column 'z': it has a, b, y, w"),
        ([table], {"target": "y", "weight": "v"}, "no column 'v'"),
        ([table, table.drop_columns(["b"])], {"target": "y"}, "features a, w and the first had a, b, w"),
        ([table.set_column(1, "b", pa.array([["red"]] * 500))], {"target": "y"}, "column 'b' of X holds .'red'"),
        ([table.set_column(1, "b", nulls)], {"target": "y"}, "column 'b' has 1 nulls"),
        ([3], {"target": "y"}, "a batch is a tuple"),
        ([], {"target": "y"}, "got no rows"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            model.fit_batches(batches, **options)
        assert model.__dict__ == before


def test_ctrl_c_between_batches_leaves_the_model_of_the_rows_so_far():
    model, X = expected()
    c = columns()

    def batches():
        for i in range(0, 300, 100):
            yield X[i : i + 100], c["y"][i : i + 100]
        raise KeyboardInterrupt

    stopped = make()
    with pytest.raises(KeyboardInterrupt):
        stopped.fit_batches(batches())
    assert stopped.n_samples_seen_ == 300
    stopped.partial_fit(X[300:], c["y"][300:])
    np.testing.assert_allclose(stopped.predict(X), model.predict(X), atol=1e-9)  # the same sums, in other order

    def at_once():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        model.fit_batches(at_once())
    assert model.n_samples_seen_ == 500


def test_the_bar_shows_on_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, verbose, shown in ((Terminal(), True, True), (Terminal(), False, False), (io.StringIO(), True, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        make().fit_batches([pa.table(columns())], target="y", verbose=verbose)
        assert ("learning" in stream.getvalue()) is shown


MEMORY = """
import resource, sys
import numpy as np, pyarrow as pa
from pyarrow import parquet
from kernsift import SubsetLSSVMRegressor

path, groups = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
with parquet.ParquetWriter(path, pa.schema([(n, pa.float32()) for n in "abcdy"])) as file:
    for _ in range(groups):
        X = rng.normal(size=(100_000, 4)).astype(np.float32)
        file.write_table(pa.table([*X.T, np.sin(X[:, 0])], names=list("abcdy")))
SubsetLSSVMRegressor(max_basis=20, random_state=0).fit_batches(path, target="y")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    """Ten million rows of a Parquet file, and a hundredth of them."""
    peaks = [
        int(subprocess.run([sys.executable, "-c", MEMORY, str(tmp_path / "x.parquet"), str(groups)],
                           capture_output=True, check=True, text=True).stdout)
        for groups in (1, 100)
    ]  # fmt: skip
    # 200 MB of rows more; what is left is the allocator's slack
    assert peaks[1] - peaks[0] < 60_000
