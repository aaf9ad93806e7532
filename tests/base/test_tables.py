"""Tables that are lazy, streams or on disk, and targets by the name of their column, at every verb."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import pytest
from sklearn.base import clone

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'kernsift[arrow]'")
MODELS = [
    kernsift.OnlineLSSVMRegressor(max_basis=20),
    kernsift.KRLSRegressor(alpha=0.1, max_basis=20),
    kernsift.SubsetLSSVMRegressor(max_basis=20, random_state=0),
    kernsift.LSSVMRegressor(gamma="scale"),
    kernsift.KernelRegressor(random_state=0, settings={"kernel": "rbf", "gamma": "scale", "max_basis": 20}),
]


class Stream:
    """A stream of Arrow and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.to_reader().__arrow_c_stream__(requested_schema)


def relation(table):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    return duckdb.from_arrow(table)


def dataset(table):
    return pytest.importorskip("pyarrow.dataset").dataset(table)


def polars(table):
    return pytest.importorskip("polars", reason="needs polars").from_arrow(table)


TABLES = {
    "table": lambda table: table,
    "record batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(),
    "stream": Stream,
    "dataset": dataset,
    "pandas": lambda table: (pytest.importorskip("pandas"), table.to_pandas())[1],
    "polars": polars,
    "polars, lazy": lambda table: polars(table).lazy(),
    "duckdb": relation,
}


def rows():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(150, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] / 3
    return pa.table({"a": X[:, 0], "b": X[:, 1], "y": y, "kind": np.where(y > 0, "high", "low")}), X, y


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_every_table_gives_the_bits_of_its_numbers(model, kind):
    table, X, y = rows()
    alone, named = (
        (lambda: TABLES[kind](table.select(["a", "b"]))),
        (lambda: TABLES[kind](table.select(["a", "y", "b"]))),
    )
    for verb in ("fit", "partial_fit"):
        if not hasattr(model, verb):
            continue
        plain = getattr(clone(model), verb)(X, y)
        given, by_name = getattr(clone(model), verb)(alone(), y), getattr(clone(model), verb)(named(), "y")
        for other in (given, by_name):
            assert list(other.feature_names_in_) == ["a", "b"]
            np.testing.assert_array_equal(other.predict(alone()), plain.predict(X))
            assert other.score(named(), "y") == plain.score(X, y)
    if hasattr(model, "prequential"):
        expected = clone(model).prequential(X, y).y_pred
        np.testing.assert_array_equal(clone(model).prequential(named(), "y").y_pred, expected)
        np.testing.assert_array_equal(clone(model).prequential(alone(), y).y_pred, expected)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("model", [kernsift.OnlineLSSVMClassifier(max_basis=20),
                                   kernsift.SubsetLSSVMClassifier(random_state=0)],
                         ids=lambda m: type(m).__name__)  # fmt: skip
@pytest.mark.parametrize("classes", [["high", "low"], np.array(["high", "low"], dtype=object), None])
def test_labels_of_every_table_are_the_classes_given(model, kind, classes):
    """Texts come as objects out of data frames, and of another kind than a list of them."""
    table, X, _ = rows()
    labels = table["kind"].to_numpy()
    made, given = clone(model), TABLES[kind](table.drop_columns("y"))
    made.partial_fit(given, "kind", classes=classes)
    made.partial_fit(table.select(["a", "b"]), labels.astype(str))
    expected = clone(model).partial_fit(X, labels.astype(str), classes=["high", "low"])
    expected.partial_fit(X, labels.astype(str))
    assert made.classes_.tolist() == ["high", "low"]
    np.testing.assert_array_equal(made.predict(table.select(["a", "b"])), expected.predict(X))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_target_that_is_no_column_is_named_and_nothing_is_learned(model):
    table, X, y = rows()
    fitted = clone(model).fit(table.select(["a", "b"]), y)
    before = pickle.dumps(fitted)
    verbs = [getattr(fitted, name) for name in ("fit", "partial_fit") if hasattr(fitted, name)]
    for verb in verbs:
        with pytest.raises(
            ValueError, match=r"X has no column 'kinds' \(did you mean 'kind'\?\): it has a, b, y, kind"
        ):
            verb(table, "kinds")
        with pytest.raises(ValueError, match="y='y' names a column and X has no columns with names"):
            verb(X, "y")
        assert pickle.dumps(fitted) == before
