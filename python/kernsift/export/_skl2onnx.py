"""Converters for skl2onnx, so that pipelines with a kernsift estimator convert."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

import kernsift

from ..base.estimator import Estimator
from ..base.optional import optional
from ._model import describe
from ._onnx_graph import OPSET, add_probabilities, add_scores, both_columns, choose_compute, label_constant


class _Container:
    """skl2onnx's scope and container as a graph."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope, self.container = scope, container

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = attributes.pop("output", None) or self.scope.get_unique_variable_name("kernsift")
        name = self.scope.get_unique_operator_name(f"kernsift_{kind}")
        self.container.add_node(kind, list(inputs), [output], name=name, op_version=OPSET, **attributes)
        return output

    def constant(self, value: NDArray[Any]) -> str:
        from onnx import TensorProto, helper, numpy_helper

        name = self.scope.get_unique_variable_name("kernsift_constant")
        if value.dtype == object:
            content = [str(v).encode() for v in value]
            self.container.add_initializer(name, TensorProto.STRING, list(value.shape), content)
        else:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            self.container.add_initializer(name, kind, list(value.shape), numpy_helper.from_array(value, name))
        return name


def import_skl2onnx() -> Any:
    """Import skl2onnx."""
    return optional("skl2onnx", "converting pipelines", "onnx")


def _shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import guess_tensor_type

    model = describe(operator.raw_operator, "ONNX")
    kind = guess_tensor_type(operator.inputs[0].type)
    kind.shape = [operator.inputs[0].get_first_dimension(), model.n_outputs]
    operator.outputs[0].type = kind


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType, guess_tensor_type

    estimator = operator.raw_operator
    model, graph = describe(estimator, "ONNX"), _Container(scope, container)
    double = isinstance(guess_tensor_type(operator.inputs[0].type), DoubleTensorType)
    dtype = "float64" if double else "float32"
    compute = choose_compute(model, dtype, "auto", model.probes)
    real = TensorProto.DOUBLE if double else TensorProto.FLOAT
    # also from int64, which pipelines may begin with
    x = graph.op(
        "Cast", operator.inputs[0].full_name, to=TensorProto.DOUBLE if compute == "float64" else TensorProto.FLOAT
    )
    scores = add_scores(graph, x, model, compute)
    if model.kind != "classifier":
        graph.op("Cast", scores, to=real, output=operator.outputs[0].full_name)
        return
    columns = both_columns(graph, scores, model)
    winner = graph.op("ArgMax", columns, axis=1, keepdims=0)
    labels = label_constant(model)
    if labels.dtype == bool:  # skl2onnx types them so
        labels = labels.astype(np.int64)
    graph.op("Gather", graph.constant(labels), winner, output=operator.outputs[0].full_name)
    raw = container.get_options(estimator, {"raw_scores": False})["raw_scores"] or model.temperature is None
    second = columns if raw else add_probabilities(graph, columns, model, compute)
    graph.op("Cast", second, to=real, output=operator.outputs[1].full_name)


def register_skl2onnx() -> None:
    """Teach skl2onnx kernsift's estimators: afterwards ``skl2onnx.to_onnx`` converts pipelines with them.

    Calling it again does nothing new.  The second output of a classifier without ``predict_proba`` is its scores;
    the option ``raw_scores`` gives them for the others too.

    Examples
    --------
    >>> from kernsift.export import register_skl2onnx
    >>> register_skl2onnx()
    """
    skl2onnx = import_skl2onnx()
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    options: dict[str, list[Any]] = {
        "zipmap": [True, False, "columns"],
        "raw_scores": [True, False],
        "output_class_labels": [True, False],
        "nocl": [True, False],
    }
    for cls in (thing for thing in vars(kernsift).values() if isinstance(thing, type) and issubclass(thing, Estimator)):
        labels = issubclass(cls, ClassifierMixin)
        shapes = calculate_linear_classifier_output_shapes if labels else _shapes
        alias, more = f"Kernsift{cls.__name__}", {"options": options} if labels else {}
        skl2onnx.update_registered_converter(cls, alias, shapes, _convert, **more)


def convert_pipeline(pipeline: Any, dtype: str) -> Any:
    """Convert a fitted pipeline of numeric columns, with plain tensors for outputs; each named column is an input."""
    skl2onnx = import_skl2onnx()
    register_skl2onnx()
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    made = FloatTensorType if dtype == "float32" else DoubleTensorType
    last = pipeline[-1]
    options = {id(last): {"zipmap": False}} if hasattr(last, "classes_") else None
    inputs = [("X", made([None, pipeline.n_features_in_]))]
    if hasattr(pipeline, "feature_names_in_"):
        inputs = [(str(name), made([None, 1])) for name in pipeline.feature_names_in_]
    return skl2onnx.to_onnx(pipeline, initial_types=inputs, options=options, target_opset=18)
