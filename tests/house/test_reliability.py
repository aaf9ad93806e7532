"""The soak's reference is the oracle, compiled, and its page keeps the rows of other runs."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import oracles
import pytest
import soak.drift
from oracles.memories import Memories
from soak import equations, mutants, page, reference


@pytest.fixture(scope="module")
def drift() -> ModuleType:
    try:
        reference.library()
    except reference.CannotCompile as why:
        pytest.skip(str(why))
    return soak.drift


def literal(core_log: list, alpha: float, forgetting: float | None) -> oracles.BatchModel | Memories:
    """The definition in numpy's long double: the batch solution, or a memory that fades."""
    kernel = oracles.kernel_function("rbf", 0.5)
    if forgetting is None:
        batch = oracles.BatchModel(kernel, alpha, compress=True)
        for X, y, outcome, victim in core_log:
            batch.learn(X, y, np.ones(len(X)), outcome, victim)
        return batch.solve()
    memory = Memories(kernel, alpha, [forgetting], 2, 1)
    for X, y, outcome, victim in core_log:
        for row in zip(X, y[:, None], outcome, victim, strict=True):
            x, target, event, gone = row
            swapped = event == oracles.SWAPPED
            memory.learn(x, target, 1.0, swapped or event == oracles.ADMITTED, gone if swapped else None)
    return memory


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("α=1 TOL1=0.1", 1e-16),
        ("α=0.01 TOL1=0.01", 1e-16),
        ("α=1e-08 TOL1=0.0001", 1e-13),
        ("churn α=1 TOL1=0.01", 1e-16),
        ("churn α=1e-08 TOL1=0.0001", 1e-13),
        ("forgetting α=1 TOL1=0.01", 1e-16),
        ("forgetting α=0.0001 TOL1=0.0001", 1e-13),
    ],
)
def test_the_compiled_reference_is_the_batch_solution(drift, name, bound):
    """Two programs in the same arithmetic differ by its rounding, 5e-20, times the condition of the factors: some
    hundreds at most where TOL1 is 1e-2, up to 1e6 where 1e-4 lets kernels in that are nearly alike.  In double it
    would be two thousand times as much."""
    model, batch, parameters, moves = drift.start(name)
    log = []
    for X, y in drift.stream(moves, 3000):
        for part in np.array_split(np.arange(len(X)), 7):  # whatever the blocks
            X_part, y_part = X[part], y[part]
            _, outcome, victim = model.learn(X_part, y_part[:, None], np.ones(len(part)), False)
            batch.learn(X_part, y_part, outcome, victim)
            log.append((X_part, y_part, outcome, victim))
    truth = literal(log, parameters["alpha"], parameters.get("forgetting"))
    kernels = truth.ids if isinstance(truth, Memories) else truth.indices.tolist()
    assert batch.indices.tolist() == kernels == model.indices.tolist()
    changes = sum(int(np.isin(outcome, (oracles.ADMITTED, oracles.SWAPPED)).sum()) for *_, outcome, _ in log)
    assert changes > (20 if moves == "moving" else 5)
    expected = truth.predict(X[-200:])[:, 0]
    error = np.abs(batch.predict(X[-200:]) - expected).max() / np.abs(expected).max()
    assert error < bound


@pytest.mark.parametrize("name", ["window α=1 TOL1=0.01", "window α=0.0001 TOL1=0.0001", "window α=1e-08 TOL1=0.0001"])
def test_a_window_does_not_drift(drift, name):
    """1e-6 is what a window promises; 20,000 rows, 200 windows one after the other, end at 1e-11."""
    model, batch, _, moves = drift.start(name)
    for X, y in drift.stream(moves, 3000):
        _, outcome, victim = model.learn(X, y[:, None], np.ones(len(X)), False)
        batch.learn(X, y, outcome, victim)
    expected = batch.predict(X[-200:])
    assert model.indices.tolist() == batch.indices.tolist()
    assert np.abs(model.predict(np.ascontiguousarray(X[-200:]))[:, 0] - expected).max() < 1e-6 * np.abs(expected).max()


def test_the_reference_refuses_rows_of_other_lengths(drift):
    batch = drift.Reference(2, 0.5, 1.0)
    with pytest.raises(ValueError, match="2 features"):
        batch.predict(np.ones((3, 4)))
    with pytest.raises(ValueError, match="a row"):
        batch.learn(np.ones((3, 2)), np.ones(2), np.zeros(3), np.zeros(3))


def test_rows_join_the_table_of_the_page_in_their_order(tmp_path):
    out = tmp_path / "page.md"

    def section(rows: dict[str, int], head: str = "| what | error |") -> list[str]:
        table = [f"| {name} | {value} |" for name, value in rows.items()]
        return ["## Drift", "", "Words.", "", head, "|---|---|", *table]

    def rows() -> list[str]:
        return [line for line in out.read_text().splitlines() if line.startswith(("| a", "| b", "| c"))]

    order = ["a", "b", "c"]
    page.put(out, section({"c": 1}), "first")
    page.put(out, section({"a": 2}), "second", order)
    assert rows() == ["| a | 2 |", "| c | 1 |"]
    page.put(out, section({"b": 3, "c": 4}), "second", order)
    assert rows() == ["| a | 2 |", "| b | 3 |", "| c | 4 |"]
    text = out.read_text()
    assert text.count("`first`") == text.count("`second`") == text.count("Words.") == text.count("|---|---|") == 1
    page.put(out, section({"a": 5}, "| what | other |"), "third", order)  # no row of another table can stay
    assert rows() == ["| a | 5 |"]
    assert "`first`" not in out.read_text()
    page.put(out, section({"b": 6}), "fourth")
    assert rows() == ["| b | 6 |"]


@pytest.mark.parametrize(
    ("statement", "what", "wrong"),
    [
        ("row.delta = std::max(0.0, k - w)", "sign", "row.delta = -(std::max(0.0, k - w))"),
        ("row.delta = std::max(0.0, k - w)", "doubled", "row.delta = 2.0 * (std::max(0.0, k - w))"),
        ("xi[o] -= kappa * Delta_b", "sign", "xi[o] += kappa * Delta_b"),
        ("w /= L(m, m)", "sign", "w /= -(L(m, m))"),
        ("const double a = b[i = 0], c = d", "sign", "const double a = -(b[i = 0]), c = d"),
        ("for (Index i = 0; i < n; ++i) u[i] = v[i]", "sign", "for (Index i = 0; i < n; ++i) u[i] = -(v[i])"),
        ("return rows * rss", "sign", "return -(rows * rss)"),
        ("return !(a >= b)", "contrary", "return !(!(a >= b))"),
        ("useful = a * b > c", "contrary", "useful = !(a * b > c)"),
        ("add_outer(u, v, -1.0 / u[i])", "sign", "add_outer(u, v, -(-1.0 / u[i]))"),
        ("else\n  C.drop_last()", "left out", "else\n  (void)0"),
        ("if (!(a > b)) return Outcome::rejected", "condition", "if (!(!(a > b))) return Outcome::rejected"),
    ],
)
def test_a_statement_is_made_wrong(statement, what, wrong):
    assert (what, wrong) in mutants.mutants(statement)


def test_an_index_is_not_made_wrong():
    assert mutants.mutants("P.remove(row)") == [("left out", "(void)0")]


def test_every_equation_has_a_statement_and_tests():
    """What the nightly run makes wrong is there for each row; a tag on a comment line alone says nothing."""
    rows, places = equations.rows(equations.ROOT), equations.places(equations.ROOT)
    assert len(rows) > 50
    assert [tag for tag, tests in rows.items() if not tests] == []
    assert [tag for tag in rows if tag not in places] == []


def test_a_sample_of_equations_follows_from_the_commit():
    first, again, other = (equations.chosen(equations.ROOT, "quick", None, c) for c in ("a", "a", "b"))
    assert first == again != other
    assert len(first) == 3
    assert equations.chosen(equations.ROOT, "full", ["JP 1", "ISLS"], "a") == ["ISLS 2", "ISLS 3"]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("  a = b;\n  c = d +\n      e;  // [JP 14]\n", "c = d +\n      e"),
        ("  if (x)\n    a = b;  // so [JP 14]\n", "if (x)\n    a = b"),
        ("  for (i = 0; i < n; ++i)\n    a = b;  // [JP 14]\n", "for (i = 0; i < n; ++i)\n    a = b"),
        ("  // [JP 14]\n  a = b;\n", None),
        ("void f() {  // [JP 14]\n  a = b;\n}\n", None),
    ],
)
def test_a_tagged_statement_is_found_whole(tmp_path, text, statement):
    (tmp_path / "cpp" / "core").mkdir(parents=True)
    (tmp_path / "cpp" / "core" / "a.cpp").write_text(text)
    found = equations.places(tmp_path).get("JP 14", [])
    assert [text[place.begin : place.end] for place in found] == ([statement] if statement else [])
