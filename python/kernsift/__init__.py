"""kernsift sifts a few kernels out of many samples: sparse kernel least squares, streaming and batch."""

from ._loader import load_core as _load_core

_load_core()

from ._config import build_config  # noqa: E402
from ._feature_vectors import FeatureVectorSelector  # noqa: E402
from ._krls import KRLSRegressor  # noqa: E402
from ._lags import lag_embed  # noqa: E402
from ._learn_gamma import learn_gamma  # noqa: E402
from ._lssvm import LSSVMClassifier, LSSVMRegressor  # noqa: E402
from ._lstd import KernelLSTD  # noqa: E402
from ._online import OnlineLSSVMClassifier, OnlineLSSVMRegressor  # noqa: E402
from ._orols import OROLSClassifier, OROLSRegressor  # noqa: E402
from ._path_display import PruningPathDisplay  # noqa: E402
from ._saving import load  # noqa: E402
from ._sparse_lssvm import SparseLSSVMClassifier, SparseLSSVMRegressor  # noqa: E402
from ._subset import SubsetLSSVMClassifier, SubsetLSSVMRegressor  # noqa: E402
from ._tune import TuningResult, tune  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "FeatureVectorSelector",
    "KRLSRegressor",
    "KernelLSTD",
    "LSSVMClassifier",
    "LSSVMRegressor",
    "OROLSClassifier",
    "OROLSRegressor",
    "OnlineLSSVMClassifier",
    "OnlineLSSVMRegressor",
    "PruningPathDisplay",
    "SparseLSSVMClassifier",
    "SparseLSSVMRegressor",
    "SubsetLSSVMClassifier",
    "SubsetLSSVMRegressor",
    "TuningResult",
    "__version__",
    "build_config",
    "lag_embed",
    "learn_gamma",
    "load",
    "tune",
]
