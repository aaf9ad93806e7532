"""Distributed sums: exact against one process, on every collection, on two workers, and when one of them dies."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path

import kernsift
import numpy as np
import pytest
from kernsift import SubsetLSSVMClassifier, SubsetLSSVMRegressor
from sklearn.base import clone

pytest.importorskip("dask.array", reason="needs dask: pip install 'kernsift[dask]'")

import dask
import dask.array as da
from kernsift.dask import fit

pytestmark = pytest.mark.filterwarnings("ignore")  # dask and distributed warn of things of their own


def table(n=600, outputs=0):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
    return X, (np.column_stack([y, X[:, 2] ** 2]) if outputs else y)


def parts(*arrays, rows=90):
    return [da.from_array(a, chunks=(rows, *a.shape[1:])) for a in arrays]


def in_one_process(estimator, X, y, weight=None, sample=20_000):
    """The same basis, and all rows at once."""
    from kernsift import _core

    rows = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0)
    kept = rows[np.argsort(_core.row_keys(np.ascontiguousarray(X[rows]), 0), kind="stable")[:sample]]
    labels = {"classes": np.unique(y)} if hasattr(estimator, "predict_proba") else {}
    weights = {} if weight is None else {"sample_weight": weight[kept]}
    estimator.select_basis(X[kept], y[kept], **labels, **weights)
    return estimator.merge(estimator.accumulate(X, y, weight))


def assert_same(model, expected, X):
    np.testing.assert_array_equal(model.basis_vectors_, expected.basis_vectors_)
    assert model.n_samples_seen_ == expected.n_samples_seen_
    assert model.alpha_ == pytest.approx(expected.alpha_)
    # the same sums in another order
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("basis", ["pruned", "efvs", "random"])
@pytest.mark.parametrize("outputs", [0, 2])
def test_arrays_give_what_one_process_gives(basis, outputs):
    X, y = table(outputs=outputs)
    settings = {"basis": basis, "max_basis": 25, "random_state": 0}
    model = SubsetLSSVMRegressor(**settings)
    assert fit(model, *parts(X, y), sample=200, split_every=3) is model
    assert_same(model, in_one_process(SubsetLSSVMRegressor(**settings), X, y, sample=200), X)


def test_the_cut_does_not_matter():
    X, y = table()
    models = [
        fit(SubsetLSSVMRegressor(max_basis=20, random_state=0), *parts(X, y, rows=r), sample=150) for r in (50, 333)
    ]
    assert_same(models[0], models[1], X)
    cut = da.from_array(X, chunks=(70, 2)), da.from_array(y, chunks=41)  # across columns too, and y otherwise
    assert_same(fit(SubsetLSSVMRegressor(max_basis=20, random_state=0), *cut, sample=150), models[1], X)


def test_a_target_column_of_parquet_with_several_row_groups(tmp_path):
    """Dask reads a narrow column in larger pieces than a wide table: the partitions differed."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    import dask.dataframe as dd

    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, v=np.arange(len(y)) % 3 / 2)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    ddf = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)
    features = ["a", "b", "c"]
    settings = {"max_basis": 20, "random_state": 0}
    weight = frame["v"].to_numpy()
    for arguments in (
        (ddf[features], ddf["y"], ddf["v"]),
        (ddf.drop(columns=["y", "v"]), ddf["y"], ddf[["v"]]["v"]),
        (ddf, "y", "v"),
    ):
        model = fit(SubsetLSSVMRegressor(**settings), *arguments[:2], sample_weight=arguments[2], sample=150)
        assert_same(model, in_one_process(SubsetLSSVMRegressor(**settings), X, y, weight, sample=150), X)
    with pytest.raises(ValueError, match=r"y has .* partitions and X has .*: repartition"):
        fit(SubsetLSSVMRegressor(**settings), ddf[features], dd.from_pandas(frame["y"], npartitions=5))


def test_weights_and_classes():
    X, y = table()
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    for count in (100, 20_000):
        model = fit(SubsetLSSVMClassifier(max_basis=20, random_state=0), *parts(X, labels, weight), sample=count)
        expected = in_one_process(SubsetLSSVMClassifier(max_basis=20, random_state=0), X, labels, weight, count)
        assert model.classes_.tolist() == ["high", "low", "middle"]
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)


def test_a_sample_of_ones_own_reads_the_rows_once():
    X, y = table()
    read = []

    def load(block, block_info=None):
        read.append(block_info[0]["chunk-location"][0])
        return block

    Xd, yd = parts(X, y)
    model = fit(SubsetLSSVMRegressor(max_basis=20, random_state=0), Xd.map_blocks(load, dtype=float), yd,
                sample=(X[:100], y[:100]))  # fmt: skip
    assert sorted(read) == sorted(set(read))
    expected = SubsetLSSVMRegressor(max_basis=20, random_state=0).select_basis(X[:100], y[:100])
    assert_same(model, expected.merge(expected.accumulate(X, y)), X)


def frames():
    pd = pytest.importorskip("pandas", reason="needs pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs dask's data frames")
    X, y = table()
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, w=1.0 + np.arange(len(X)) % 2), dd


def test_data_frames_and_parquet(tmp_path):
    frame, dd = frames()
    ddf = dd.from_pandas(frame, npartitions=5)
    X, y, w = frame[["a", "b", "c"]].to_numpy(), frame.y.to_numpy(), frame.w.to_numpy()
    expected = in_one_process(SubsetLSSVMRegressor(max_basis=20, random_state=0), X, y, w, 300)
    ddf.to_parquet(tmp_path / "rows")
    files = sorted(str(p) for p in (tmp_path / "rows").glob("*.parquet"))
    for data, target, weight in (
        (ddf, "y", "w"),
        (ddf[["a", "b", "c"]], ddf.y, ddf.w),
        (str(tmp_path / "rows"), "y", "w"),
        (files, "y", "w"),
    ):
        model = fit(SubsetLSSVMRegressor(max_basis=20, random_state=0), data, target, weight, sample=300)
        assert_same(model, expected, X)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    # prediction needs nothing of ours
    features = ddf[["a", "b", "c"]]
    np.testing.assert_allclose(
        features.map_partitions(model.predict, meta=("y", float)).compute(), expected.predict(X), atol=1e-9
    )
    model = clone(model).fit(X, y)
    predicted = da.from_array(X, chunks=(100, 3)).map_blocks(model.predict, dtype=float, drop_axis=1)
    np.testing.assert_array_equal(predicted.compute(), model.predict(X))


def seen_by(monkeypatch):
    """Numbers of rows that are arrays at a time, for the sample and for the sums."""
    lengths = []
    for kind in (kernsift.dask.Held, kernsift.dask.Stored):

        def noted(self, original=kind.pieces):
            for piece in original(self):
                lengths.append(len(piece[0]))
                yield piece

        monkeypatch.setattr(kind, "pieces", noted)
    return lengths


@pytest.mark.parametrize("kind", ["array", "frame", "file"])
def test_large_partitions_are_split(kind, tmp_path, monkeypatch):
    frame, dd = frames()
    X, y, w = frame[["a", "b", "c"]].to_numpy(), frame.y.to_numpy(), frame.w.to_numpy()
    expected = in_one_process(SubsetLSSVMRegressor(max_basis=20, random_state=0), X, y, w, 300)
    frame.to_parquet(tmp_path / "rows.parquet")  # one row group
    arguments = {
        "array": [da.from_array(a, chunks=(len(X), *a.shape[1:])) for a in (X, y, w)],
        "frame": (dd.from_pandas(frame, npartitions=1), "y", "w"),
        "file": (tmp_path / "rows.parquet", "y", "w"),
    }
    lengths = seen_by(monkeypatch)
    model = SubsetLSSVMRegressor(max_basis=20, random_state=0)
    with dask.config.set(scheduler="synchronous"):
        fit(model, *arguments[kind], sample=300, split_rows=130)
    assert sorted(lengths) == [80] * 2 + [130] * 8  # 600 rows, twice
    assert_same(model, expected, X)
    with pytest.raises(ValueError, match="split_rows=0"):
        fit(model, *arguments[kind], split_rows=0)


def test_row_groups_are_tasks(tmp_path):
    """As many together as have the rows of a piece; what is no rows of the table is left out."""
    frame, _ = frames()
    (tmp_path / "rows").mkdir()
    frame[["a", "b", "c", "y"]][::-1].to_parquet(tmp_path / "rows" / "0.parquet", row_group_size=50)  # with an index
    for mark in ("_SUCCESS", ".0.parquet.crc"):
        (tmp_path / "rows" / mark).touch()
    names, parts = kernsift.dask._of_parquet([tmp_path / "rows"], "y", None, 120)
    assert names == ["a", "b", "c"]
    assert [part._groups for part in parts] == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    X, y = frame[["a", "b", "c"]].to_numpy(), frame.y.to_numpy()
    whole = in_one_process(SubsetLSSVMRegressor(max_basis=20, random_state=0), X[::-1], y[::-1])
    for path in (tmp_path / "rows", str(tmp_path / "rows" / "*.parquet"), (tmp_path / "rows" / "0.parquet").as_uri()):
        assert_same(fit(SubsetLSSVMRegressor(max_basis=20, random_state=0), path, "y"), whole, X)
    local = SubsetLSSVMRegressor(max_basis=20, random_state=0).fit_batches(tmp_path / "rows", target="y")
    assert local.feature_names_in_.tolist() == ["a", "b", "c"]  # the index is no feature there either
    frame.drop(columns="b").to_parquet(tmp_path / "rows" / "1.parquet")
    with pytest.raises(ValueError, match=r"1.parquet: a batch has features a, c, w and the first had a, b, c"):
        fit(SubsetLSSVMRegressor(), tmp_path / "rows", "y")
    frame.assign(b="red").to_parquet(tmp_path / "red.parquet")
    with pytest.raises(ValueError, match=r"red.parquet: column 'b' has dtype"):
        fit(SubsetLSSVMRegressor(), tmp_path / "red.parquet", "y", "w")
    with pytest.raises(FileNotFoundError, match="no Parquet file matches"):
        fit(SubsetLSSVMRegressor(), tmp_path / "rows" / "*.csv", "y")


def test_columns_in_the_names_of_folders(tmp_path):
    frame, dd = frames()
    dd.from_pandas(frame.assign(part=np.arange(len(frame)) % 2), npartitions=2).to_parquet(
        tmp_path / "rows", partition_on="part"
    )
    model = fit(SubsetLSSVMRegressor(max_basis=20, random_state=0), tmp_path / "rows", "y", "w")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "part"]
    assert sorted(set(model.basis_vectors_[:, 3])) == [0.0, 1.0]


def test_mismatched_partitions_are_named():
    frame, dd = frames()
    good, meta = frame[:100], frame[:0]

    def broken(second):
        return dd.from_delayed([dask.delayed(good), dask.delayed(second)], meta=meta, verify_meta=False)

    model = SubsetLSSVMRegressor(max_basis=10, random_state=0)
    before = dict(model.__dict__)
    for second, said in (
        (good.drop(columns="b"), "partition 1 has columns a, c, y, w"),
        (good.assign(d=1.0), "partition 1 has columns a, b, c, y, w, d"),
        (good.drop(columns="y"), "no column 'y'"),
        (good.assign(b="red"), "column 'b' of partition 1 has dtype"),
    ):
        with pytest.raises(ValueError, match=said):
            fit(model, broken(second), "y", "w")
    ordered = fit(clone(model), broken(good[["w", "y", "c", "b", "a"]]), "y", "w")  # another order is no fault
    assert ordered.n_samples_seen_ == 200
    X, y = table()
    Xd, yd = parts(X, y)
    for arguments, said in (
        ((Xd, yd[:500]), "y has 500 rows and X has 600"),
        ((Xd, yd, da.ones(3)), "sample_weight has 3 rows"),
        ((dd.from_pandas(frame[["a"]], npartitions=2), dd.from_pandas(frame.y, npartitions=3)), "y has 3 partitions"),
        ((Xd, y), "must be a dask collection"),
        ((X, y), "dask array or DataFrame"),
        ((Xd, "y"), "names a column"),
        ((dd.from_pandas(frame, npartitions=2), "z"), "no column 'z'"),
        ((da.where(Xd > 3, np.nan, Xd), yd), "NaN"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            fit(model, *arguments)
    with pytest.raises(TypeError, match="OROLSRegressor"):
        fit(kernsift.OROLSRegressor(), Xd, yd)
    with pytest.raises(ValueError, match="loo"):
        fit(SubsetLSSVMRegressor(alpha="loo"), Xd, yd)
    assert model.__dict__ == before


# --- workers of their own


def chunk(number, folder):
    """Rows of a partition; the first time, the worker that reads number 5 is killed."""
    flag = Path(folder) / "killed"
    if number == 5 and folder and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return np.random.default_rng(number).normal(size=(80, 3))


def target(X):
    return np.sin(2 * X[:, 0])


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs distributed")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("dies", [False, True])
def test_two_workers_one_of_which_dies(dies, cluster, tmp_path):
    folder = str(tmp_path) if dies else ""
    chunks = [dask.delayed(chunk)(i, folder) for i in range(12)]
    Xd = da.concatenate([da.from_delayed(c, (80, 3), float) for c in chunks])
    yd = Xd.map_blocks(target, dtype=float, drop_axis=1)
    model = fit(SubsetLSSVMRegressor(max_basis=20, random_state=0), Xd, yd, sample=300)
    assert (tmp_path / "killed").exists() is dies
    X = np.concatenate([chunk(i, "") for i in range(12)])
    assert_same(model, in_one_process(SubsetLSSVMRegressor(max_basis=20, random_state=0), X, target(X), sample=300), X)
    predicted = Xd.map_blocks(model.predict, dtype=float, drop_axis=1).compute()
    np.testing.assert_allclose(predicted, model.predict(X), atol=1e-12)


# --- models that learn in workers


def learned_there(model, X, y):
    """In a worker: a model that came with a pickle learns on, and goes back with what it predicts and where."""
    model.partial_fit(X, y)
    return model, model.predict(X[:50]), os.getpid()


def learning(scheduler, request):
    """Delayed calls run where `scheduler` says, each in a process that is not this one."""
    if scheduler == "distributed":
        client = request.getfixturevalue("cluster")
        return lambda calls: client.compute(calls, sync=True)
    return lambda calls: dask.compute(*calls, scheduler="processes", num_workers=2)


@pytest.mark.parametrize("scheduler", ["distributed", "processes"])
@pytest.mark.parametrize("kind", [kernsift.OnlineLSSVMRegressor, kernsift.KRLSRegressor, SubsetLSSVMRegressor])
def test_models_learn_in_workers_as_they_do_here(kind, scheduler, request):
    X, y = table()
    model = kind(gamma=0.5, max_basis=20)
    if kind is kernsift.OnlineLSSVMRegressor:
        model.set_params(n_jobs=2)
    model.partial_fit(X[:100], y[:100])
    expected = [learned_there(pickle.loads(pickle.dumps(model)), X[i::2], y[i::2])[1] for i in range(2)]
    calls = [dask.delayed(learned_there)(model, X[i::2], y[i::2]) for i in range(2)]
    for (back, predicted, where), here, i in zip(learning(scheduler, request)(calls), expected, range(2), strict=True):
        assert where != os.getpid()
        np.testing.assert_array_equal(predicted, here)
        np.testing.assert_array_equal(back.predict(X[i::2][:50]), here)
        assert back.n_samples_seen_ == 400
    assert model.n_samples_seen_ == 100  # the one here has learned nothing of it
