"""The name of the usual array type."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
