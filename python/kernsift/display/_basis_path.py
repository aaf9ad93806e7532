"""Score, ridge and training error against the number of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..base.arrays import Array
from ..base.axes import Display, pyplot
from ..base.kernel import parameters
from ..base.validation import check_is_fitted
from ..select.feature_vectors import FeatureVectorSelector

_LABELS = {"gcv": "GCV", "alpha": "alpha", "error": "training error"}
_RECONSTRUCTION = {"reconstruction": "reconstruction error"}


@parameters
class BasisPathDisplay(Display):
    """Paths of a forward selection: one panel a quantity, one line a model.

    Parameters
    ----------
    paths : dict of str to list of ndarray
        For each of "gcv", "alpha" and "error", or for "reconstruction", its values with 0, 1, 2, ... kernels, one array
        a model.
    n_basis : list of int
        Kernels each model kept.
    names : list of str
        Names of the models, for the legend; empty for one.

    Attributes
    ----------
    axes_, lines_, figure_
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OROLSRegressor
    >>> from kernsift.display import BasisPathDisplay
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = OROLSRegressor(gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> display = BasisPathDisplay.from_estimator(model, paths=["gcv"])
    >>> display = display.plot(linestyle="--")
    >>> display.axes_[0].get_ylabel(), bool(np.argmin(display.paths["gcv"][0]) == model.n_basis_)
    ('GCV', True)
    """

    paths: dict[str, list[Array]]
    n_basis: list[int]
    names: Sequence[str] = ()

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, paths: Sequence[str] = ("gcv", "alpha", "error"), axes: Any = None, **line: Any
    ) -> Self:
        """Draw the paths of a fitted OROLS estimator or FeatureVectorSelector.

        Parameters
        ----------
        estimator : OROLSRegressor, OROLSClassifier or FeatureVectorSelector
        paths : sequence of {"gcv", "alpha", "error"}
            Of an OROLS estimator; a selector has one, the mean relative reconstruction error.
        axes : sequence of matplotlib Axes, optional
            One for each path; made if not given.
        **line
            As in `plot`.
        """
        if isinstance(estimator, FeatureVectorSelector):
            check_is_fitted(estimator)
            path = np.concatenate([[1.0], estimator.path_])  # nothing is reconstructed from no kernel
            display = cls(paths={"reconstruction": [path]}, n_basis=[estimator.n_components_])
            return display.plot(axes=axes, **line)
        check_is_fitted(estimator, "gcv_path_")
        unknown = [name for name in paths if name not in _LABELS]
        if unknown or not len(paths):
            raise ValueError(f"paths={paths!r} must be one or more of {list(_LABELS)}")
        several = isinstance(estimator.gcv_path_, list)
        values = {name: getattr(estimator, f"{name}_path_") for name in paths}
        display = cls(
            paths={name: v if several else [v] for name, v in values.items()},
            n_basis=[int(n) for n in estimator.n_basis_per_class_] if several else [estimator.n_basis_],
            names=[str(label) for label in estimator.classes_] if several else (),
        )
        return display.plot(axes=axes, **line)

    def plot(self, *, axes: Any = None, **line: Any) -> Self:
        """Draw; a dot marks the number of kernels kept.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
        **line : dict
            Passed to ``Axes.plot``.
        """
        plt = pyplot()
        if axes is None:
            _, axes = plt.subplots(1, len(self.paths), figsize=(4.2 * len(self.paths), 3.2), layout="constrained")
        self.axes_ = list(np.atleast_1d(axes))
        if len(self.axes_) != len(self.paths):
            raise ValueError(f"axes has {len(self.axes_)} entries but there are {len(self.paths)} paths")
        self.figure_ = self.axes_[0].figure
        self.lines_ = []
        for axis, (name, models) in zip(self.axes_, self.paths.items(), strict=True):
            for i, values in enumerate(models):
                label = {"label": self.names[i]} if len(self.names) else {}
                (drawn,) = axis.plot(np.arange(len(values)), values, **{**label, **line})
                axis.plot(self.n_basis[i], values[self.n_basis[i]], "o", color=drawn.get_color())
                self.lines_.append(drawn)
            axis.set_xlabel("kernels")
            axis.set_ylabel({**_LABELS, **_RECONSTRUCTION}[name])
            axis.set_yscale("log")
            if len(self.names):
                axis.legend()
        return self
