"""The rows that a subset model carries along, and their errors when each is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.kernel import is_scale_free
from .state import SKETCH, Basis, Sketch, ready


class Sketched:
    """Rows on which a model is calibrated; the estimators say what is kept of targets."""

    alpha_: float
    gamma: Any
    keep_sums: bool
    _basis: Basis

    def _sketch(self, X: Array, targets: Array, weight: Array, most: int = SKETCH) -> Sketch:
        """Rows on which the model is calibrated."""
        units = self._basis.kernel_arguments[1] if is_scale_free(self.gamma) else None
        if units is not None and self._basis.kernel.name != "laplacian":  # whose distance is not squared
            units = np.sqrt(units)
        return Sketch.of(X, self._marks(targets), weight, units, most)

    def _marks(self, targets: Array) -> NDArray[Any]:
        """What a sketch keeps of targets."""
        return targets

    def _leave_out(
        self, problem: _core.RidgeProblem, sketch: Sketch, targets: Array, own: NDArray[np.int64] | None = None
    ) -> tuple[Array, Array]:
        """Errors of the rows of a sketch, each left out, and the model's variances there in units of the noise's.

        With a row goes the kernel ``own`` on it, if that is not negative.
        """
        alpha = self.alpha_
        if self.keep_sums and not problem.above_rounding(alpha):
            alpha = max(alpha, problem.precision * problem.largest)
        problem = ready(problem, alpha, len(self._basis.vectors), targets.shape[1])
        own = np.full(len(sketch.X), -1, dtype=np.int64) if own is None else own
        rows: dict[str, Any] = {"X": sketch.X, "Y": np.ascontiguousarray(targets), "own": own}
        return problem.left_out(**self._basis.core, **rows, leaves=np.minimum(sketch.weight, 1.0), alpha=alpha)
