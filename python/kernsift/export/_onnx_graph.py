"""The ONNX graph of a model: kernels, scores, probabilities; and how far its outputs are from the model's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.optional import optional
from ._deviation import Deviation
from ._model import Model, Term

# Every operator used keeps its form from here on.
OPSET = 13
# A float32 graph is promised to this, relative to the largest output; a fifth of it on the rows it is measured on, for
# others may be worse.
FLOAT32_TOL = 1e-5
# Clipped here, where every stationary kernel is zero: squares stay finite.
_FAR = {"float32": 1e15, "float64": 1e140}
# Squared norm up to which |x|² + |d|² - 2 x·d keeps the digits promised.
_NEAR = {"float32": 16.0, "float64": 256.0}


class Graph(Protocol):
    """Where nodes go: a graph of our own or skl2onnx's container."""

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str: ...
    def constant(self, value: NDArray[Any]) -> str: ...


class OwnGraph:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        output = attributes.pop("output", f"v{len(self.nodes)}")
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name


def import_onnx() -> Any:
    """Import onnx."""
    return optional("onnx", "export to ONNX", "onnx")


def _exponential(graph: Graph, r2: str, const: Callable[[ArrayLike], str]) -> str:
    return graph.op("Exp", graph.op("Neg", r2))


def _matern32(graph: Graph, r2: str, const: Callable[[ArrayLike], str]) -> str:
    s = graph.op("Sqrt", graph.op("Mul", r2, const(3.0)))
    return graph.op("Mul", graph.op("Add", s, const(1.0)), graph.op("Exp", graph.op("Neg", s)))


def _matern52(graph: Graph, r2: str, const: Callable[[ArrayLike], str]) -> str:
    s = graph.op("Sqrt", graph.op("Mul", r2, const(5.0)))
    factor = graph.op("Add", graph.op("Add", s, const(1.0)), graph.op("Mul", r2, const(5.0 / 3.0)))
    return graph.op("Mul", factor, graph.op("Exp", graph.op("Neg", s)))


#: Kernels of a distance, made of its square (laplacian: of the sum of absolute differences).
_PROFILES = {"rbf": _exponential, "laplacian": _exponential, "matern32": _matern32, "matern52": _matern52}


def _kernel_block(graph: Graph, x: str, term: Term, dtype: str) -> str:
    """Add k(x, vectors), (n, m)."""

    def const(value: ArrayLike) -> str:
        return graph.constant(np.asarray(value, dtype=dtype))

    name = term.kernel.name
    if name not in (*_PROFILES, "polynomial"):
        raise ValueError(f"kernel {name!r} has no graph")
    if name == "polynomial":
        base = graph.op("MatMul", x, const((term.vectors * term.kernel.gamma).T))
        base = graph.op("Add", base, const(term.kernel.coef0))
        power, degree = "", term.kernel.degree
        while degree:  # by squaring
            if degree & 1:
                power = graph.op("Mul", power, base) if power else base
            degree >>= 1
            base = graph.op("Mul", base, base) if degree else base
        return power

    centre, scale, D, warping = term.stationary_form(dtype)
    norms = (D**2).sum(axis=1)
    # sums over the features by MatMul: onnxruntime's ReduceSum gives no rows a wrong shape
    ones, last = const(np.ones((D.shape[1], 1))), graph.constant(np.array([-1], dtype=np.int64))
    z = graph.op("Sub", x, const(centre))
    if warping is None:
        z = graph.op("Clip", graph.op("Mul", z, const(scale)), const(-_FAR[dtype]), const(_FAR[dtype]))
    else:
        parts = graph.op("Sub", graph.op("Unsqueeze", z, last), const(warping.knots))
        parts = graph.op("Clip", graph.op("Mul", parts, const(warping.per_length)), const(0.0), const(1.0))
        parts = graph.op("Mul", parts, const(warping.slopes))
        bins = const(np.ones((warping.slopes.shape[1], 1)))
        z = graph.op("Sub", graph.op("Squeeze", graph.op("MatMul", parts, bins), last), const(scale))
    if name == "laplacian" or norms.max() > _NEAR[dtype]:
        middle = graph.constant(np.array([1], dtype=np.int64))
        difference = graph.op("Sub", graph.op("Unsqueeze", z, middle), const(D[None]))
        parts = graph.op("Abs", difference) if name == "laplacian" else graph.op("Mul", difference, difference)
        r2 = graph.op("Squeeze", graph.op("MatMul", parts, ones), last)
    else:
        own = graph.op("MatMul", graph.op("Mul", z, z), ones)
        r2 = graph.op("Add", graph.op("Add", graph.op("MatMul", z, const(-2.0 * D.T)), own), const(norms))
        r2 = graph.op("Max", r2, const(0.0))
    return _PROFILES[name](graph, r2, const)


def add_scores(graph: Graph, x: str, model: Model, dtype: str) -> str:
    """Add the outputs of the model, (n, outputs), computed in `dtype`."""
    total = ""
    for term in model.terms:
        if term.kernel.name == "linear":
            part = graph.op("MatMul", x, graph.constant(term.weights.astype(dtype)))
        else:
            block = _kernel_block(graph, x, term, dtype)
            part = graph.op("MatMul", block, graph.constant(term.coef.astype(dtype)))
        total = graph.op("Add", total, part) if total else part
    if not total:  # nothing but a constant
        total = graph.op("MatMul", x, graph.constant(np.zeros((model.n_features, model.n_outputs), dtype)))
    total = graph.op("Add", total, graph.constant(model.intercept.astype(dtype)))
    if model.bounds is not None:
        least, largest = (graph.constant(end.astype(dtype)) for end in model.bounds.T)
        total = graph.op("Min", graph.op("Max", total, least), largest)
    return total


def add_deviation(graph: Graph, x: str, scores: str, of: Deviation) -> str:
    """Add the standard deviations, (n, outputs), computed in float64."""

    def const(value: ArrayLike) -> str:
        return graph.constant(np.asarray(value, dtype=np.float64))

    def sums_of_squares(values: str, of_output: Array) -> str:
        return graph.op("MatMul", graph.op("Mul", values, values), const(of_output))

    inverse, folded = of.folded
    if of.term.kernel.name == "linear":
        k = graph.op("MatMul", x, const(of.term.vectors.T))
    else:
        k = _kernel_block(graph, x, of.term, "float64")
    u = graph.op("Add", graph.op("MatMul", k, const(folded)), const(of.Q[:, 0]))
    if of.along is not None:
        u = graph.op("Add", u, graph.op("MatMul", x, const(of.along.T)))
    relative = graph.op("Add", sums_of_squares(u, of.of_output), const(1.0))
    if of.spread.prior:
        w = sums_of_squares(graph.op("MatMul", k, const(inverse)), np.ones((len(of.L), 1)))
        rest = graph.op("Max", graph.op("Sub", const(1.0), w), const(0.0))  # k(x, x) = 1
        relative = graph.op("Add", relative, graph.op("Mul", rest, const(of.spread.prior)))
    out = graph.op("Mul", graph.op("Sqrt", relative), const(of.scale[None]))
    if of.noise is None:
        return out
    level = graph.op("Add", graph.op("MatMul", k, const(of.noise.coef)), const(of.noise.intercept))
    level = graph.op("Add", level, graph.op("MatMul", scores, const(of.noise.slopes)))
    if of.noise.along is not None:
        level = graph.op("Add", level, graph.op("MatMul", x, const(of.noise.along)))
    level = graph.op("Min", graph.op("Max", level, const(of.noise.low)), const(of.noise.high))
    return graph.op("Mul", out, graph.op("Exp", graph.op("Mul", level, const(0.5))))


def both_columns(graph: Graph, scores: str, model: Model) -> str:
    """Add one column a class."""
    return graph.op("Concat", graph.op("Neg", scores), scores, axis=1) if model.n_outputs == 1 else scores


def add_probabilities(graph: Graph, columns: str, model: Model, dtype: str) -> str:
    """Add the softmax of the scores."""
    hot = graph.op("Mul", columns, graph.constant(np.asarray(model.temperature, dtype=dtype)))
    return graph.op("Softmax", hot, axis=1)


def label_constant(model: Model) -> NDArray[Any]:
    """Classes as a tensor ONNX has: int64, bool, float or string."""
    classes = np.asarray(model.classes)
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "bf":
        return classes.astype(bool if classes.dtype.kind == "b" else np.float32)
    return np.array([str(c) for c in classes], dtype=object)


Front = Callable[[OwnGraph, str, Callable[[str], str]], str]


def build(
    model: Model,
    dtype: str,
    compute: str,
    version: str,
    front: Front | None = None,
    inputs: Sequence[tuple[str, int, bool]] = (),
    deviation: Deviation | None = None,
) -> Any:
    """Return the graph of a model, on its features, or on `inputs` of which `front` adds them."""
    onnx = import_onnx()
    graph = OwnGraph()
    real = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def out(name: str, output: str) -> None:
        if compute == dtype:
            graph.op("Identity", name, output=output)
        else:
            graph.op("Cast", name, to=real, output=output)

    def given_as(kind: str) -> str:
        """The features in a type."""

        def cast(name: str) -> str:
            to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            return name if kind == dtype else graph.op("Cast", name, to=to)

        return cast("X") if front is None else front(graph, kind, cast)

    x = given_as(compute)
    scores = add_scores(graph, x, model, compute)
    info = onnx.helper.make_tensor_value_info
    if model.kind == "classifier":
        columns = both_columns(graph, scores, model)
        labels = label_constant(model)
        winner = graph.op("ArgMax", columns, axis=1, keepdims=0)
        graph.op("Gather", graph.constant(labels), winner, output="label")
        kind = onnx.TensorProto.STRING if labels.dtype == object else onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
        outputs = [info("label", kind, [None])]
        if model.temperature is not None:
            out(add_probabilities(graph, columns, model, compute), "probabilities")
            outputs.append(info("probabilities", real, [None, len(labels)]))
        out(scores, "scores")
        outputs.append(info("scores", real, [None, model.n_outputs]))
    else:
        out(scores, "variable")
        outputs = [info("variable", real, [None, model.n_outputs])]
        if deviation is not None:
            double = onnx.TensorProto.DOUBLE
            exact = x if compute == "float64" else given_as("float64")
            precise = scores if compute == "float64" else graph.op("Cast", scores, to=double)
            found = add_deviation(graph, exact, precise, deviation)
            graph.op("Cast", found, to=real, output="standard_deviation")
            outputs.append(info("standard_deviation", real, [None, model.n_outputs]))
    given = [
        info(name, onnx.TensorProto.STRING if texts else real, [None, width])
        for name, width, texts in inputs or [("X", model.n_features, False)]
    ]
    domains = [("", OPSET)] + [("ai.onnx.ml", 2)] * any(node.domain == "ai.onnx.ml" for node in graph.nodes)
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "kernsift", given, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid(*domain) for domain in domains],
        producer_name="kernsift",
        producer_version=version,
        doc_string=f"{model.estimator}: {model.n_basis} kernels ({model.kernel}), computed in {compute}",
    )
    proto.ir_version = onnx.helper.find_min_ir_version_for(proto.opset_import)
    return proto


def measured(model: Model, proto: Any, dtype: str, rows: Array) -> float:
    """Error of a graph on `rows`, run by onnx's own evaluator."""
    from onnx.reference import ReferenceEvaluator

    name = "scores" if model.kind == "classifier" else "variable"
    # a graph that overflows has an infinite error, which is an answer and no reason to warn
    with np.errstate(all="ignore"):
        x = rows.astype(dtype)
        (found,) = ReferenceEvaluator(proto).run([name], {"X": x})
        if not (np.isfinite(x).all() and np.isfinite(found).all()):
            return float("inf")
        return model.error_of(np.asarray(found, dtype=np.float64), x.astype(np.float64))


def choose_compute(model: Model, dtype: str, compute: str, rows: Array) -> str:
    """In what a graph of `dtype` computes: float64 where float32 would not keep its promise."""
    if compute != "auto" or dtype == "float64":
        return dtype if compute == "auto" else compute
    with np.errstate(over="ignore", invalid="ignore"):
        rough = measured(model, build(model, dtype, dtype, ""), dtype, rows)
    return dtype if rough <= FLOAT32_TOL / 5 else "float64"
