"""The steps of a pipeline as nodes of an ONNX graph: from the columns of a table to the coordinates of its model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.steps import Operation, Steps
from ._onnx_graph import OwnGraph

#: Texts in which a missing value of a column of texts comes.
MISSING_TEXT = ""


def inputs_of(steps: Steps) -> list[tuple[str, int, bool]]:
    """Name, width and whether of texts, of each input: one of all columns, or where there are texts one a column."""
    texts = steps.texts
    if not texts:
        return [("X", len(steps.names), False)]
    used = {coordinate.column for coordinate in steps.columns}
    return [(_input(steps, j), 1, j in texts) for j in range(len(steps.names)) if j in used]


def _input(steps: Steps, j: int) -> str:
    name = steps.names[j]
    return name if isinstance(name, str) else f"X{name}"


def add_steps(graph: OwnGraph, steps: Steps, compute: str, cast: Any) -> str:
    """Add the coordinates, (n, coordinates), computed in the type `compute`; `cast` turns an input into it."""
    texts, done = steps.texts, {}

    def after(j: int, operations: tuple[Operation, ...]) -> str:
        if (j, operations) not in done:
            if j in texts:
                made = _of_texts(graph, _input(steps, j), steps.names[j], operations, compute)
            elif operations:
                made = _numeric(graph, after(j, operations[:-1]), operations[-1], compute)
            elif texts:
                made = cast(_input(steps, j))
            else:
                made = graph.op("Gather", cast("X"), graph.constant(np.array([j])), axis=1)
            done[j, operations] = made
        return done[j, operations]

    return graph.op("Concat", *(after(c.column, c.operations) for c in steps.columns), axis=1)


def _numeric(graph: OwnGraph, x: str, operation: Operation, compute: str) -> str:
    """Add an operation on a column of numbers, (n, 1)."""
    kind, *how = operation

    def const(value: Any) -> str:
        return graph.constant(np.asarray(value, dtype=compute))

    def real(flags: str) -> str:
        return graph.op("Cast", flags, to=_type(compute))

    def marked(mark: Any) -> str:
        return graph.op("IsNaN", x) if mark is None else graph.op("Equal", x, const(mark))

    arithmetic = {"less": "Sub", "over": "Div", "times": "Mul", "plus": "Add"}
    if kind in arithmetic:
        return graph.op(arithmetic[kind], x, const(how[0]))
    if kind == "clip":
        return graph.op("Clip", x, const(how[0]), const(how[1]))
    if kind == "missing":
        return real(marked(how[0]))
    if kind == "fill":
        return graph.op("Where", marked(how[0]), const(0.0 if how[1] is None else how[1]), x)
    if kind == "at":  # and NaN where the category is unknown and that is an error
        return graph.op("Add", real(graph.op("Equal", x, const(how[0]))), graph.op("Sub", x, x))
    levels, codes, unknown, _ = how
    value = const(np.nan if unknown is None else unknown)
    for level, code in zip(levels, codes, strict=True):
        value = graph.op("Where", marked(level), const(code), value)
    return value


def _of_texts(graph: OwnGraph, x: str, name: Any, operations: tuple[Operation, ...], compute: str) -> str:
    """Add the operations on a column of texts: a flag of missing ones, or numbers of categories and what follows."""
    filled: Any = None
    for place, (kind, *how) in enumerate(operations):
        if kind == "fill" and how[0] is None:
            filled = how[1] if filled is None else filled
        elif kind in ("missing", "code"):
            table = {MISSING_TEXT: 1.0}
            if kind == "code":
                table = {MISSING_TEXT if v is None else str(v): float(c) for v, c in zip(how[0], how[1], strict=True)}
                if filled in table:
                    table[MISSING_TEXT] = table[filled]
            other = 0.0 if kind == "missing" else float("nan") if how[2] is None else float(how[2])
            flat = {"keys_strings": list(table), "values_floats": list(table.values()), "default_float": other}
            made = graph.op("LabelEncoder", x, domain="ai.onnx.ml", **flat)
            made = graph.op("Cast", made, to=_type(compute))
            for operation in operations[place + 1 :]:
                made = _numeric(graph, made, operation, compute)
            return made
        else:
            break
    raise ValueError(f"column {name!r} holds texts, and ONNX has no operation on them but to number categories")


def _type(dtype: str) -> int:
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
