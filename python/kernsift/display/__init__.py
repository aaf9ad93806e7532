"""Pictures of fitted estimators, in scikit-learn's manner.  Matplotlib is imported when one is drawn;
`StreamDashboard` needs none."""

from ..subset.path_display import PruningPathDisplay
from ._audit import AuditDisplay
from ._basis_path import BasisPathDisplay
from ._dashboard import StreamDashboard
from ._dictionary import DictionaryDisplay
from ._memories import MemoriesDisplay
from ._prequential import PrequentialDisplay
from ._race import RaceDisplay
from ._widths import WidthsDisplay

__all__ = [
    "AuditDisplay",
    "BasisPathDisplay",
    "DictionaryDisplay",
    "MemoriesDisplay",
    "PrequentialDisplay",
    "PruningPathDisplay",
    "RaceDisplay",
    "StreamDashboard",
    "WidthsDisplay",
]
