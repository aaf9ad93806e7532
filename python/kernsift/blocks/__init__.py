"""Parts of the core for scripts: kernels, recursive inverses, least squares."""

from .inverse import SymmetricInverse
from .kernel import Kernel, KernelSpan
from .least_squares import RecursiveLeastSquares
from .part import load
from .pseudoinverse import Decomposition, PseudoInverse
from .selection import (
    PivotedCholesky,
    Selection,
    deletion_path,
    feature_vectors,
    forward_selection,
    pivoted_cholesky,
)
from .unsymmetric import UnsymmetricInverse

__all__ = [
    "Decomposition",
    "Kernel",
    "KernelSpan",
    "PivotedCholesky",
    "PseudoInverse",
    "RecursiveLeastSquares",
    "Selection",
    "SymmetricInverse",
    "UnsymmetricInverse",
    "deletion_path",
    "feature_vectors",
    "forward_selection",
    "load",
    "pivoted_cholesky",
]
