"""ONNX: the graph of a model, and the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import __version__
from ..base.arrays import Array
from ..base.pipeline import fold, is_pipeline
from ..base.steps import Steps
from ..base.validation import check_array
from ..io.atomic_write import write_whole
from ._deviation_of import deviation
from ._model import Model, describe
from ._onnx_graph import OwnGraph, build, choose_compute, import_onnx, measured
from ._onnx_steps import add_steps, inputs_of
from ._skl2onnx import convert_pipeline

# A protobuf message holds no more.
_PROTOBUF_BYTES = 2**31 - 1


def to_onnx(
    estimator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float32",
    compute: str = "auto",
    X: ArrayLike | None = None,
    max_bytes: int | None = None,
    std: bool = False,
) -> Any:
    """Write a fitted estimator as an ONNX model, opset 13.

    The input is ``X`` (n, n_features).  A regressor's output, and that of :class:`~kernsift.FeatureVectorSelector`,
    is ``variable`` (n, outputs); a classifier has ``label`` (n,), ``probabilities`` (n, classes) where the estimator
    has them, and ``scores``.  Scalers of a pipeline become part of the kernels, and other steps that
    :func:`kernsift.fold` reads part of the graph: where columns hold texts, each column is an input of its name,
    (n, 1), in which "" is a missing text.  A category that was an error is NaN.  A pipeline with other steps still is
    handed to skl2onnx, which decides on the names.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline with one
    path : str or path, optional
        Where to write the file; it appears whole or not at all.
    dtype : {"float32", "float64"}, default="float32"
        Of input and outputs.
    compute : {"auto", "float32", "float64"}, default="auto"
        What the graph computes in.  "auto" is ``dtype``, except that a float32 model computes in float64 where float32
        would be off by more than 2e-6 of the largest output (large coefficients that cancel).
    X : array-like of shape (n_samples, n_features), optional
        Rows on which that is measured; by default the basis vectors and points between them.
    max_bytes : int, optional
        Room on the target; a larger model is refused.
    std : bool, default=False
        Of a regressor, also the output ``standard_deviation`` (n, outputs), that of ``predict(X, return_std=True)``,
        computed in float64 whatever ``compute``: it takes two squares of the kernels more.

    Returns
    -------
    onnx.ModelProto
        With the error found in its ``metadata_props``.

    Raises
    ------
    ValueError
        If the graph differs from the estimator by more than rounding explains on those rows (32 units in the last
        place for each kernel, feature and unit of the basis's extent, times the coefficients).

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.export import to_onnx
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> model = OnlineLSSVMRegressor(gamma=1.0, max_basis=20).fit(X, np.sin(X[:, 0]))
    >>> onnx_model = to_onnx(model)
    """
    for name, value, allowed in (
        ("dtype", dtype, ("float32", "float64")),
        ("compute", compute, ("auto", "float32", "float64")),
    ):
        if value not in allowed:
            raise ValueError(f"{name}={value!r} must be one of {list(allowed)}")
    import_onnx()
    estimator = _folded(estimator)
    if is_pipeline(estimator):
        if std:
            raise ValueError(
                "std=True takes a regressor, or a pipeline whose steps fold takes: export the last step by itself"
            )
        proto = convert_pipeline(estimator, dtype)
    else:
        model = describe(estimator, "ONNX")
        rows = model.probes if X is None else _rows(model, X)
        inner = choose_compute(model, dtype, compute, rows)
        # 8 bytes a number and some kilobytes of graph: refused before protobuf fails half-way
        _check_size(8 * sum(t.vectors.size + t.coef.size for t in model.terms), _PROTOBUF_BYTES, model)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is found by measuring
            spread = deviation(estimator, model, rows) if std else None
            proto = build(model, dtype, inner, __version__, deviation=spread)
        error = measured(model, proto, dtype, rows)
        if not np.isfinite(error):
            raise ValueError(
                f"dtype={dtype!r} does not hold the numbers of this model; use dtype='float64', or scale X and y "
                "before fitting"
            )
        explained = model.rounding(rows, inner) + 2 * float(np.finfo(dtype).eps)
        if error > explained:
            raise ValueError(
                f"the graph of this model's {model.kernel} kernel is off by {error:.2g} of the largest output on these "
                f"rows, and rounding in {inner} explains {explained:.2g}: use compute='float64', or report this"
            )
        if model.steps is not None:
            front, inputs = partial(_before, model.steps), inputs_of(model.steps)
            proto = build(model, dtype, inner, __version__, front, inputs, spread)
        facts = {"kernsift_error": f"{error:.2g}", "kernsift_compute": inner}
        import_onnx().helper.set_model_props(proto, facts)
        if max_bytes is not None:
            _check_size(proto.ByteSize(), max_bytes, model)
    if path is not None:
        write_whole(path, proto.SerializeToString())
    return proto


def _folded(estimator: Any) -> Any:
    """One estimator, where the steps of a pipeline can be read, else the pipeline."""
    try:
        return fold(estimator) if is_pipeline(estimator) else estimator
    except (TypeError, ValueError):  # other steps, or another model at its end, which skl2onnx may know
        return estimator


def _before(steps: Steps, graph: OwnGraph, compute: str, cast: Callable[[str], str]) -> str:
    return add_steps(graph, steps, compute, cast)


def _rows(model: Model, X: ArrayLike) -> Array:
    """Rows to measure on, in the model's coordinates."""
    return check_array(X if model.steps is None else model.steps.encode(X), dtype=np.float64)


def _check_size(size: int, most: int, model: Model) -> None:
    if size > most:
        what = f"the ONNX model takes {size} bytes and the target has {most}"
        raise model.too_large(what, ", or use dtype='float32'")
