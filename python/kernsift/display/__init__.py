"""Pictures of fitted estimators, in scikit-learn's manner.  Matplotlib is imported when one is drawn."""

from ._basis_path import BasisPathDisplay
from ._widths import WidthsDisplay

__all__ = ["BasisPathDisplay", "WidthsDisplay"]
