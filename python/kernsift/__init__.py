"""kernsift sifts a few kernels out of many samples: sparse kernel least squares, streaming and batch."""

from .base.loader import load_core as _load_core

_load_core()

from .base.config import build_config  # noqa: E402
from .base.pipeline import fold, save  # noqa: E402
from .base.warp import Warp  # noqa: E402
from .control.evaluation import PolicyValue, evaluate_policy  # noqa: E402
from .control.lspi import KernelLSPI  # noqa: E402
from .dense.lssvm import LSSVMClassifier, LSSVMRegressor  # noqa: E402
from .dense.sparse_lssvm import SparseLSSVMClassifier, SparseLSSVMRegressor  # noqa: E402
from .io.model_file import load  # noqa: E402
from .select.feature_vectors import FeatureVectorSelector  # noqa: E402
from .select.orols import OROLSClassifier, OROLSRegressor  # noqa: E402
from .stream.classifier import OnlineLSSVMClassifier  # noqa: E402
from .stream.krls import KRLSRegressor  # noqa: E402
from .stream.lags import lag_embed  # noqa: E402
from .stream.lstd import KernelLSTD  # noqa: E402
from .stream.online import OnlineLSSVMRegressor  # noqa: E402
from .subset.batches import fit_batches  # noqa: E402
from .subset.path_display import PruningPathDisplay  # noqa: E402
from .subset.subset import SubsetLSSVMClassifier, SubsetLSSVMRegressor  # noqa: E402
from .table.front import KernelClassifier, KernelRegressor  # noqa: E402
from .widths.learn_gamma import learn_gamma  # noqa: E402
from .widths.tune import TuningResult, tune  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "FeatureVectorSelector",
    "KRLSRegressor",
    "KernelClassifier",
    "KernelLSPI",
    "KernelLSTD",
    "KernelRegressor",
    "LSSVMClassifier",
    "LSSVMRegressor",
    "OROLSClassifier",
    "OROLSRegressor",
    "OnlineLSSVMClassifier",
    "OnlineLSSVMRegressor",
    "PolicyValue",
    "PruningPathDisplay",
    "SparseLSSVMClassifier",
    "SparseLSSVMRegressor",
    "SubsetLSSVMClassifier",
    "SubsetLSSVMRegressor",
    "TuningResult",
    "Warp",
    "__version__",
    "build_config",
    "evaluate_policy",
    "fit_batches",
    "fold",
    "lag_embed",
    "learn_gamma",
    "load",
    "save",
    "tune",
]
