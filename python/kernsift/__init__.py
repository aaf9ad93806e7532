"""kernsift sifts a few kernels out of many samples: sparse kernel least squares, streaming and batch."""

from ._loader import load_core as _load_core

_load_core()

from ._config import build_config  # noqa: E402
from ._krls import KRLSRegressor  # noqa: E402
from ._lstd import KernelLSTD  # noqa: E402
from ._online import OnlineLSSVMClassifier, OnlineLSSVMRegressor  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "KRLSRegressor",
    "KernelLSTD",
    "OnlineLSSVMClassifier",
    "OnlineLSSVMRegressor",
    "__version__",
    "build_config",
]
