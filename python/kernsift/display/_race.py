"""What was tried before a kernel was chosen, and at what error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..base.arrays import Array
from ..base.axes import Display, axes_or_new
from ..base.kernel import parameters
from ..base.validation import check_is_fitted
from ..widths.race import candidate_name


@parameters
class RaceDisplay(Display):
    """Errors of the kernels that were tried, on rows held out, with two standard errors.

    Parameters
    ----------
    names : list of str
        What was tried, the chosen one first.
    error, standard_error : ndarray
        NaN for what was not tried.
    short : list of bool
        Whether an error is that of a small model, after which the kernel was dropped; drawn in grey.
    xlabel : str

    Attributes
    ----------
    ax_, figure_, points_
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import KernelRegressor
    >>> from kernsift.display import RaceDisplay
    >>> X = np.random.default_rng(0).uniform(-2, 2, (150, 2))
    >>> model = KernelRegressor(random_state=0, settings={"max_basis": 20}).fit(X, np.sin(3 * X[:, 0]))
    >>> display = RaceDisplay.from_estimator(model)
    >>> display = display.plot(color="tab:blue")  # again, another way
    >>> display.names[0] == model.kernel_, len(display.error)
    (True, 4)
    """

    names: Sequence[str]
    error: Array
    standard_error: Array
    short: Sequence[bool]
    xlabel: str = "error on rows held out"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **points: Any) -> Self:
        """Draw the table ``search_`` of an estimator fitted with kernel="auto", or of a `KernelRegressor`.

        Parameters
        ----------
        estimator : estimator
        ax, **points
            As in `plot`.
        """
        check_is_fitted(estimator)
        found = getattr(estimator, "search_", None)
        if not found:
            raise ValueError(f"{type(estimator).__name__} has tried no kernels: fit it with kernel='auto'")
        kind = "share of labels missed" if hasattr(estimator, "classes_") else "root mean squared error"
        display = cls(
            names=[candidate_name(line) for line in found],
            error=np.array([line["error"] for line in found]),
            standard_error=np.array([line["standard_error"] for line in found]),
            short=[line["stage"] == "short" for line in found],
            xlabel=f"{kind}, on rows held out",
        )
        return display.plot(ax=ax, **points)

    def plot(self, *, ax: Any = None, **points: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        **points : dict
            Passed to ``Axes.errorbar``.
        """
        ax = axes_or_new(ax)
        self.points_ = []
        for k, (error, deviation) in enumerate(zip(self.error, self.standard_error, strict=True)):
            colour = "C0" if k == 0 else "lightgrey" if self.short[k] else "grey"
            how = {"color": colour, "fmt": "o", "capsize": 3, **points}
            self.points_.append(ax.errorbar([error], [k], xerr=[2 * deviation], **how))
        ax.set_yticks(range(len(self.names)), self.names)
        ax.invert_yaxis()
        ax.set_xlabel(self.xlabel)
        return self._drawn(ax)
