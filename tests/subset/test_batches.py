"""``fit_batches`` over record batches, frames and Parquet files, and what Ctrl-C leaves of it."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from kernsift import LSSVMRegressor, SubsetLSSVMClassifier, SubsetLSSVMRegressor

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


def test_tables_datasets_streams_and_files_are_the_same_rows(tmp_path):
    pytest.importorskip("pandas", reason="needs pandas")
    pl = pytest.importorskip("polars", reason="needs polars")
    import pyarrow.csv
    import pyarrow.dataset

    class Stream:
        """Anything with a stream of Arrow."""

        def __arrow_c_stream__(self, requested_schema=None):
            return table.to_reader().__arrow_c_stream__(requested_schema)

    table = pa.table({name: values.astype(float) for name, values in columns().items()})
    folder, texts = tmp_path / "rows", tmp_path / "csv"
    folder.mkdir()
    texts.mkdir()
    for k in range(5):
        parquet.write_table(table.slice(100 * k, 100), folder / f"{k}.parquet")
        pyarrow.csv.write_csv(table.slice(100 * k, 100), texts / f"{k}.csv")
    whole = make().fit_batches([table], target="y", features=["b", "a"])
    assert whole.feature_names_in_.tolist() == ["b", "a"]
    X = table.select(["b", "a"]).to_pandas()
    for given in (
        table,
        table.to_pandas(),
        pl.from_arrow(table),
        pl.from_arrow(table).lazy(),
        pyarrow.dataset.dataset(folder),
        table.to_reader(),
        Stream(),
        folder,
        str(folder / "*.parquet"),
        sorted(folder.iterdir()),
        texts,
        texts / "*.csv",
    ):
        model = make().fit_batches(given, target="y", features=["b", "a"])
        assert model.n_samples_seen_ == 500
        # the sums of batches of other sizes, in other orders
        np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)


def test_the_basis_is_from_all_batches_and_not_from_the_first():
    X = np.linspace(-3, 3, 3000)[:, None]
    parts = [(X[i : i + 500], np.sin(3 * X[i : i + 500, 0])) for i in range(0, 3000, 500)]
    model = make().fit_batches(parts, sample=300)
    assert model.basis_vectors_.min() < -2.5
    assert model.basis_vectors_.max() > 2.5
    assert np.abs(model.predict(X) - np.sin(3 * X[:, 0])).max() < 0.1
    again = make().fit_batches(parts, sample=300)
    np.testing.assert_array_equal(again.basis_vectors_, model.basis_vectors_)
    once = make().fit_batches(iter(parts), sample=1000)  # of a generator the first rows, and not fewer
    assert once.basis_vectors_.max() < -0.9
    assert once.n_samples_seen_ == 3000
    labels = SubsetLSSVMClassifier(max_basis=20, random_state=0)
    late = [(x, np.where(x[:, 0] > 2.9, "late", np.where(x[:, 0] > 0, "up", "down"))) for x, _ in parts]
    assert labels.fit_batches(late, sample=300).classes_.tolist() == ["down", "late", "up"]


def test_a_relation_of_duckdb_is_run_twice(tmp_path):
    """The basis is chosen on rows of all its batches, though a stream of it can be read once."""
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    a = np.linspace(-3, 3, 4000)
    for k, part in enumerate(np.split(a, 4)):
        columns = {"a": part, "kind": ["even", "odd"] * 500, "target": np.sin(3 * part)}
        parquet.write_table(pa.table(columns), tmp_path / f"{k}.parquet")
    with duckdb.connect() as connection:
        relation = connection.sql(f"select * from '{tmp_path}/*.parquet'")
        model = make().fit_batches(relation, target="target", features=["a"], sample=300)
        whole = make().fit_batches(tmp_path, target="target", features=["a"], sample=300)
        assert model.n_samples_seen_ == 4000
        assert model.basis_vectors_.min() < -2.5
        assert model.basis_vectors_.max() > 2.5
        # the same rows in batches of other sizes, which draw another sample
        X = pa.table({"a": a})
        assert np.abs(model.predict(X) - whole.predict(X)).max() < 0.1
        texts = make().fit_batches(relation, target="target")  # columns of texts are encoded
        assert texts.columns_.coordinates == ["a", "kind=even", "kind=odd"]
        decimals = connection.sql(f"select a::decimal(9, 6) as a, target::float as target from '{tmp_path}/*.parquet'")
        rounded = make().fit_batches(decimals, target="target", sample=300)
        assert np.abs(rounded.predict(X) - model.predict(X)).max() < 0.1
        with pytest.raises(ValueError, match=r"no column 'aa' \(did you mean 'a'\?\): it has a, kind, target"):
            model.fit_batches(relation, target="target", features=["aa"])


def test_a_folder_may_hold_the_marks_of_its_writer(tmp_path):
    folder = tmp_path / "rows [1]"
    (folder / "part=1").mkdir(parents=True)
    parquet.write_table(pa.table(columns()), folder / "part=1" / "0.parquet")
    for name in ("_SUCCESS", "._0.parquet.crc", "part=1/_metadata"):
        (folder / name).touch()
    assert make().fit_batches(folder, target="y").n_samples_seen_ == 500


def test_what_cannot_be_read_twice_is_refused():
    class Once:
        rows = iter([(np.zeros((3, 1)), np.zeros(3))])

        def __iter__(self):
            return self.rows

    model = make()
    with pytest.raises(ValueError, match=r"gave 3 rows and then 0: give what can be read twice, or iter\(batches\)"):
        model.fit_batches(Once())
    assert not hasattr(model, "alpha_")


def test_every_row_has_the_same_chance_in_a_reservoir():
    from kernsift.io.record_batches import Reservoir

    counts = np.zeros(60)
    for seed in range(600):
        drawn = Reservoir(10, seed)
        for i in range(0, 60, 6):
            drawn.add(np.arange(i, i + 6.0)[:, None], np.zeros(6))
        (X, _) = drawn.rows()
        assert len(X) == 10
        counts[X[:, 0].astype(int)] += 1
    # binomial, mean 100 and deviation 9.1: five of them for sixty counts
    assert np.abs(counts - 100).max() < 46


def test_a_pipeline_takes_batches():
    from kernsift import fit_batches
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pytest.importorskip("pandas", reason="needs pandas")
    table = pa.table(columns()).drop_columns(["w"])
    pipeline = make_pipeline(ColumnTransformer([("s", StandardScaler(), ["a", "b"])]), make())
    assert fit_batches(pipeline, table.to_batches(100), target="y") is pipeline
    frame = table.to_pandas()
    assert pipeline.score(frame[["a", "b"]], frame["y"]) > 0.99
    means = frame[["a", "b"]].astype(float).mean()
    np.testing.assert_allclose(pipeline[0].named_transformers_["s"].mean_, means, rtol=1e-6)
    with pytest.raises(TypeError, match="whose sums add exactly, and got a LSSVMRegressor"):
        fit_batches(LSSVMRegressor(), [table], target="y")


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
        (3, {"target": "y"}, "batches must be an iterable"),
        ([table], {"target": "y", "features": ["a", "bb"]}, r"no column 'bb' \(did you mean 'b'"),
        ([table], {"target": "y", "sample": 0}, "sample=0"),
        ([], {"target": "y"}, "got no rows"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            model.fit_batches(batches, **options)
        assert model.__dict__ == before


def test_ctrl_c_between_batches_leaves_the_model_of_the_rows_so_far():
    _, X = expected()
    c = columns()
    model = make().fit_batches(((X[i : i + 100], c["y"][i : i + 100]) for i in range(0, 500, 100)), sample=100)

    def batches():
        for i in range(0, 300, 100):
            yield X[i : i + 100], c["y"][i : i + 100]
        raise KeyboardInterrupt

    stopped = make()
    with pytest.raises(KeyboardInterrupt):
        stopped.fit_batches(batches(), sample=100)
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
