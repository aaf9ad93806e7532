"""Every kind of input at every verb: docs/inputs.md is what happened here.

`python tests/base/test_input_kinds.py` writes the page; the test fails where it differs, or a cell is no right answer.
"""

from __future__ import annotations

import importlib.util
import pickle
import re
import textwrap
import warnings
from pathlib import Path
from typing import NamedTuple

import kernsift
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier

PAGE = Path(__file__).resolve().parents[2] / "docs" / "inputs.md"
NAMES = ["temp", "wind", "rain"]
MODELS = [
    kernsift.KernelRegressor(random_state=0, settings={"kernel": "rbf", "gamma": "scale", "max_basis": 15}),
    kernsift.SubsetLSSVMRegressor(max_basis=15, random_state=0),
    kernsift.SubsetLSSVMClassifier(max_basis=15, random_state=0),
    kernsift.LSSVMRegressor(gamma="scale"),
    kernsift.OROLSRegressor(max_basis=15),
    kernsift.OnlineLSSVMRegressor(max_basis=15),
    kernsift.OnlineLSSVMClassifier(max_basis=15),
    kernsift.KRLSRegressor(alpha=0.1, max_basis=15),
]
YES, SINGLE, FILLED, REFUSED = "✓", "✓ *", "filled in", "named"


def data():
    """Rows of numbers that float32 and whole numbers hold exactly, and targets."""
    X = np.random.default_rng(4).integers(-6, 7, (50, 3)).astype(float)
    return X, np.sin(X[:, 0]) + X[:, 1] / 4, np.where(X[:, 0] + X[:, 1] > 0, "high", "low")


class Stream:
    """A stream of Arrow and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.to_reader().__arrow_c_stream__(requested_schema)


def arrow(X, y):
    import pyarrow

    columns = dict(zip(NAMES, X.T, strict=True))
    return pyarrow.table(columns if y is None else {**columns, "y": y})


def polars(X, y):
    import polars

    return polars.from_arrow(arrow(X, y))


def dataset(X, y):
    import pyarrow.dataset

    return pyarrow.dataset.dataset(arrow(X, y))


def relation(X, y):
    import duckdb

    return duckdb.from_arrow(arrow(X, y))


def with_gap(X):
    X = X.copy()
    X[3, 1] = np.nan
    return X


class Kind(NamedTuple):
    """A kind of table: made of X, or of X and y where its columns have names; what a refusal says; who fills it in."""

    make: object
    named: bool = False
    needs: tuple = ()
    refusal: str | None = None
    filled: tuple = ()


TABLES = {
    "array of float64": Kind(lambda X: X),
    "array, strided": Kind(lambda X: np.repeat(X, 2, axis=0)[::2]),
    "array, column after column": Kind(np.asfortranarray),
    "array of float32": Kind(lambda X: X.astype(np.float32)),
    "array of whole numbers": Kind(lambda X: X.astype(np.int64)),
    "array of objects": Kind(lambda X: X.astype(object)),
    "list of lists": Kind(lambda X: X.tolist()),
    "tuple of tuples": Kind(lambda X: tuple(map(tuple, X.tolist()))),
    "pandas": Kind(lambda X, y: arrow(X, y).to_pandas(), True, ("pandas", "pyarrow")),
    "polars": Kind(polars, True, ("polars", "pyarrow")),
    "polars, lazy": Kind(lambda X, y: polars(X, y).lazy(), True, ("polars", "pyarrow")),
    "pyarrow table": Kind(arrow, True, ("pyarrow",)),
    "pyarrow record batch": Kind(lambda X, y: arrow(X, y).to_batches()[0], True, ("pyarrow",)),
    "pyarrow dataset": Kind(dataset, True, ("pyarrow",)),
    "reader of record batches": Kind(lambda X, y: arrow(X, y).to_reader(), True, ("pyarrow",)),
    "`__arrow_c_stream__`": Kind(lambda X, y: Stream(arrow(X, y)), True, ("pyarrow",)),
    "DuckDB relation": Kind(relation, True, ("duckdb", "pyarrow")),
    "sparse matrix": Kind(scipy.sparse.csr_matrix, refusal="[Ss]parse"),
    "missing value (NaN)": Kind(with_gap, refusal="X contains NaN.*row 3, column 1 of X", filled=("KernelRegressor",)),
    "texts that are no numbers": Kind(lambda X: [["red", *x[1:]] for x in X.tolist()], refusal="holds 'red' in row 0"),
    "array of complex numbers": Kind(lambda X: X + 1j, refusal="[Cc]omplex"),
    "one-dimensional array": Kind(lambda X: X[:, 0], refusal="2D array|1D array|one-dimensional"),
}


def row_of_pandas(x):
    import pandas

    return pandas.Series(x[::-1], index=NAMES[::-1])


ROWS = {
    "array of float64": Kind(lambda x: x),
    "array, strided": Kind(lambda x: np.repeat(x, 2)[::2]),
    "array of float32": Kind(lambda x: x.astype(np.float32)),
    "array of whole numbers": Kind(lambda x: x.astype(np.int64)),
    "array of objects": Kind(lambda x: x.astype(object)),
    "list": Kind(lambda x: x.tolist()),
    "tuple": Kind(lambda x: tuple(x.tolist())),
    "dictionary": Kind(lambda x: dict(zip(NAMES[::-1], x[::-1].tolist(), strict=True))),
    "pandas Series": Kind(row_of_pandas, needs=("pandas",)),
    "dictionary without a feature": Kind(lambda x: {"temp": x[0], "wind": x[1]}, refusal="has no 'rain'"),
    "dictionary of other names": Kind(
        lambda x: {**dict(zip(NAMES, x, strict=True)), "win": 0.0}, refusal="holds 'win'.*did you mean 'wind'"
    ),
    "row of a matrix, (1, n)": Kind(lambda x: x[None], refusal=r"shape \(1, 3\)"),
    "missing value (NaN)": Kind(lambda x: np.where([False, True, False], np.nan, x), refusal="'wind' of x is nan"),
    "texts": Kind(lambda x: ["red", *x[1:]], refusal="row of numbers"),
    "too few numbers": Kind(lambda x: x[:2], refusal=r"shape \(2,\), expected \(3,\)"),
}

VERBS = ("fit", "partial_fit", "fit_batches", "prequential", "refit", "predict", "return_std", "predict_interval",
         "predict_proba", "predict_set", "score")  # fmt: skip
ONE = ("update", "predict_one", "predict_interval_one", "predict_proba_one", "predict_set_one")


def has(model, verb):
    if verb == "return_std":
        return not is_classifier(model)
    return hasattr(type(model), verb) and not (verb == "predict_set" and "Subset" in type(model).__name__)


def of(kind, X, y=None):
    return kind.make(X, y) if kind.named else kind.make(X)


def said(model, X):
    return np.asarray(model.predict_proba(X) if is_classifier(model) else model.predict(X))


def called(model, verb, kind, X, y):
    """What a verb gives for a kind of table; of those that learn, what the model predicts then."""
    if verb in ("fit", "partial_fit", "fit_batches"):
        fresh = clone(model)
        if verb != "fit_batches":
            getattr(fresh, verb)(of(kind, X), y)
        elif kind.named:
            fresh.fit_batches(of(kind, X, y), target="y")
        else:
            fresh.fit_batches([(of(kind, X), y)])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return said(fresh, X), getattr(fresh, "feature_names_in_", None)
    if verb == "prequential":
        return clone(model).prequential(of(kind, X), y).y_pred, None
    if verb == "refit":
        fitted = pickle.loads(pickle.dumps(model))
        fitted.refit(of(kind, X), y)
        return said(fitted, X), None
    if verb == "return_std":
        return np.stack(model.predict(of(kind, X), return_std=True)), None
    if verb == "score":
        return np.array(model.score(of(kind, X), y)), None
    return np.asarray(getattr(model, verb)(of(kind, X))), None


def judged(verb, kind, model, result, expected):
    """The cell for a result: the bits expected, or rounded to single, and names kept."""
    values, names = result
    if type(model).__name__ in kind.filled:
        return FILLED if np.isfinite(values).all() else "✗ not finite"
    if kind.refusal is not None:
        return "✗ not refused"
    if kind.named and names is not None and list(names) != NAMES:
        return f"✗ names {names}"
    if np.array_equal(values, expected[0]):
        return YES
    single = values.dtype == np.float32 or verb == "score"
    if single and values.shape == expected[0].shape and np.allclose(values, expected[0], rtol=0, atol=2e-4):
        return SINGLE
    return "✗ other numbers"


def refused(kind, error, before, after):
    if kind.refusal is None or not isinstance(error, (ValueError, TypeError)):
        return f"✗ {type(error).__name__}: {error}"
    if not re.search(kind.refusal, str(error), re.S):
        return f"✗ says {error}"
    return REFUSED if before == after else "✗ has learned"


def cell(verb, kind, models, call):
    """What all models say, or each of those that differ."""
    found = {}
    for model in models:
        begun = pickle.dumps(model)
        try:
            result = call(model, kind)
        except Exception as error:
            answer = refused(kind, error, begun, pickle.dumps(model))
        else:
            answer = judged(verb, kind, model, result, call(model, Kind(lambda x: x)))
        found.setdefault(answer, []).append(type(model).__name__)
    if set(found) == {YES, SINGLE}:
        return SINGLE
    if len(found) == 1:
        return next(iter(found))
    *few, (most, _) = sorted(found.items(), key=lambda pair: len(pair[1]))
    return "; ".join([*(f"`{'`, `'.join(names)}`: {answer}" for answer, names in few), f"others: {most}"])


def installed(kind):
    return all(importlib.util.find_spec(name) for name in kind.needs)


def cells_of_tables():
    """Answers by kind and verb."""
    X, y, labels = data()
    found = {}
    for name, kind in TABLES.items():
        if not installed(kind):
            continue
        for verb in VERBS:
            models = [model for model in MODELS if has(model, verb)]
            if verb not in ("fit", "partial_fit", "fit_batches", "prequential"):
                models = [clone(m).fit(X, labels if is_classifier(m) else y) for m in models]

            def call(model, kind, verb=verb):
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", "X has feature names|X does not have valid feature names")
                    warnings.filterwarnings("ignore", category=np.exceptions.ComplexWarning)
                    return called(model, verb, kind, X, labels if is_classifier(model) else y)

            found[name, verb] = cell(verb, kind, models, call)
    return found


def cells_of_rows():
    X, y, labels = data()
    found = {}
    streams = [m for m in MODELS if hasattr(m, "update")]
    begun = []
    for model in map(clone, streams):
        for x, target in zip(X[:30], labels if is_classifier(model) else y, strict=False):
            model.update(dict(zip(NAMES, x, strict=True)), str(target) if is_classifier(model) else float(target))
        begun.append(model)
    for name, kind in ROWS.items():
        if not installed(kind):
            continue
        for verb in ONE:

            def call(model, kind, verb=verb):
                x = kind.make(X[40])
                if verb != "update":
                    return np.asarray(getattr(model, verb)(x)), None
                copy = pickle.loads(pickle.dumps(model))
                try:
                    copy.update(x, labels[40] if is_classifier(model) else y[40])
                except (ValueError, TypeError):
                    assert pickle.dumps(copy) == pickle.dumps(pickle.loads(pickle.dumps(model)))
                    raise
                return np.asarray(copy.predict_one(X[41])), None

            found[name, verb] = cell(verb, kind, [m for m in begun if hasattr(type(m), verb)], call)
    return found


def drawn(kinds, verbs, cells):
    """Lines of a table by kind; those whose packages are not installed are left out."""
    lines = {"kind": "| | " + " | ".join(f"`{verb}`" for verb in verbs) + " |", "rule": "|---" * (len(verbs) + 1) + "|"}
    for kind in kinds:
        if (kind, verbs[0]) in cells:
            lines[kind] = f"| {kind} | " + " | ".join(cells[kind, verb] for verb in verbs) + " |"
    return lines


HEAD = """# What goes in

{models}

The tables are written by a test, which runs each cell (`tests/base/test_input_kinds.py`):

- **✓**: the bits of the same numbers as an array of float64; the names of columns are kept.
- **✓ \\***: the same; predictions of float32 are float32, rounded.
- **named**: an error names what is wrong, and nothing is learned.
- **filled in**: a missing value is replaced by a likely one.

Tables that are lazy, or streams, are read into memory, except by `fit_batches`, which reads them
[in batches](distributed.md); `y` may be the name of a column of a table. Categories, texts, dates and missing values:
[tables](guide/tables.md).

## Tables

"""


def page(tables, rows):
    names = ", ".join(f"`{type(model).__name__}`" for model in MODELS)
    models = f"Every kind of input at every verb of {names}. Where models differ, each other answer has their names."
    text = HEAD.format(models=textwrap.fill(models, 120)) + "\n".join(drawn(TABLES, VERBS, tables).values())
    return text + "\n\n## One row\n\n" + "\n".join(drawn(ROWS, ONE, rows).values()) + "\n"


@pytest.mark.parametrize(("kinds", "verbs", "cells"), [(TABLES, VERBS, cells_of_tables), (ROWS, ONE, cells_of_rows)],
                         ids=["tables", "rows"])  # fmt: skip
def test_every_cell_is_right_and_the_page_says_so(kinds, verbs, cells):
    found = cells()
    wrong = {place: answer for place, answer in found.items() if "✗" in answer}
    assert wrong == {}
    assert {name for name, _ in found} >= {name for name, kind in kinds.items() if not kind.needs}
    if not PAGE.is_file():
        pytest.skip("docs is not beside these tests")
    committed = PAGE.read_text(encoding="utf-8").splitlines()
    missing = [line for line in drawn(kinds, verbs, found).values() if line not in committed]
    assert missing == [], "run python tests/base/test_input_kinds.py"


def test_the_page_has_no_other_rows():
    if not PAGE.is_file():
        pytest.skip("docs is not beside these tests")
    text = PAGE.read_text(encoding="utf-8")
    assert "✗" not in text
    kinds = re.findall(r"^\| (?!\|)(.+?) \|", text, re.M)
    assert kinds == [*TABLES, *ROWS]
    assert text.startswith(page({}, {}).partition("\n## Tables")[0])


def test_a_wrong_cell_is_seen():
    """The rule can fail: other numbers, an error of other words, a model that has learned."""
    X, y, _ = data()
    model = [kernsift.OnlineLSSVMRegressor(max_basis=15).fit(X, y)]

    def call(model, kind):
        return model.predict(kind.make(X)), None

    assert cell("predict", Kind(lambda X: X + 1), model, call) == "✗ other numbers"
    assert cell("predict", Kind(lambda X: X, refusal="no"), model, call) == "✗ not refused"
    assert cell("predict", Kind(with_gap, refusal="colour"), model, call).startswith("✗ says")
    assert cell("predict", Kind(with_gap), model, call).startswith("✗ ValueError")

    def learns(model, kind):
        model.partial_fit(X, y)
        return model.predict(kind.make(X)), None

    assert cell("predict", Kind(with_gap, refusal="NaN"), model, learns) == "✗ has learned"


if __name__ == "__main__":
    PAGE.write_text(page(cells_of_tables(), cells_of_rows()), encoding="utf-8")
