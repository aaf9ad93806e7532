"""Fitted models for other runtimes: ONNX, C99 and LIBSVM.  Nothing optional is imported before it is needed."""

from ._c import to_c
from ._libsvm import to_libsvm
from ._onnx import to_onnx
from ._skl2onnx import register_skl2onnx

__all__ = ["register_skl2onnx", "to_c", "to_libsvm", "to_onnx"]
