"""The kernels of a model of two features, over what it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.axes import Display, axes_or_new
from ..base.kernel import parameters
from ..base.validation import check_array
from ..export._model import Model, describe

# Area of the largest circle, in points².
_LARGEST = 120.0


@parameters
class DictionaryDisplay(Display):
    """Where the kernels of a model of two features lie, and the decision boundary or the surface they make.

    Parameters
    ----------
    grid : tuple of two ndarrays of shape (k,)
        Values of the two features.
    response : ndarray of shape (k, k) or (k, k, n_classes)
        The surface, the score of two classes, or the scores of more.
    vectors : ndarray of shape (n_basis, 2)
    sizes : ndarray of shape (n_basis,)
        Size of each kernel's coefficient, largest 1.
    kind : {"surface", "score", "classes"}
        What the response is.
    data : tuple (X, y) or None
        Rows to draw; y numbers, or numbers of classes, or None.
    names : tuple of two str
        Of the features.
    classes : ndarray or None

    Attributes
    ----------
    ax_, figure_
        What was drawn on.
    surface_, boundary_, kernels_, points_
        The filled contours, the boundary (of the last class, of several; None for a surface), the circles, and the rows
        (None without).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import SubsetLSSVMClassifier
    >>> from kernsift.display import DictionaryDisplay
    >>> X, y = make_moons(400, noise=0.2, random_state=7)
    >>> model = SubsetLSSVMClassifier(max_basis=15, gamma=2.0, random_state=0).fit(X, y)
    >>> display = DictionaryDisplay.from_estimator(model, X, y, grid_resolution=30)
    >>> display.kind, display.response.shape
    ('score', (30, 30))
    >>> display.plot(cmap="PuOr").ax_.get_xlabel()  # in other colours
    'feature 0'
    """

    grid: tuple[Array, Array]
    response: Array
    vectors: Array
    sizes: Array
    kind: str
    data: tuple[Array, NDArray[Any] | None] | None = None
    names: Sequence[str] = ("feature 0", "feature 1")
    classes: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        output: int = 0,
        grid_resolution: int = 100,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted estimator of two features.

        Parameters
        ----------
        estimator : fitted regressor or classifier of kernsift
        X : array-like of shape (n_samples, 2), optional
            Rows to draw; the picture then reaches as far as they do, otherwise as far as the kernels.
        y : array-like of shape (n_samples,), optional
            Colours of the rows.
        output : int, default=0
            Which output of a regressor with several.
        grid_resolution : int, default=100
        ax, **kwargs
            As in `plot`.
        """
        model = describe(estimator)
        if model.kind == "transformer" or not model.terms:
            raise ValueError(f"DictionaryDisplay draws predictions from kernels, and {estimator!r} has none")
        if model.n_features != 2:
            raise ValueError(
                f"DictionaryDisplay draws 2 features and the model has {model.n_features}; fit one on two columns, or "
                "on two principal components"
            )
        vectors = np.concatenate([term.vectors for term in model.terms])
        sizes = np.concatenate([np.abs(term.coef).max(axis=1) for term in model.terms])
        rows = None if X is None else check_array(X, dtype=np.float64)
        across, up = cls._reach(vectors if rows is None else rows, grid_resolution)
        kind, response = cls._response(model, np.column_stack([g.ravel() for g in np.meshgrid(across, up)]), output)
        display = cls(
            grid=(across, up),
            response=response.reshape(len(up), len(across), -1).squeeze(),
            vectors=vectors,
            sizes=sizes / max(sizes.max(), np.finfo(np.float64).tiny),
            kind=kind,
            data=None if rows is None else (rows, cls._colours(model, y, len(rows), output)),
            names=tuple(getattr(estimator, "feature_names_in_", ("feature 0", "feature 1"))),
            classes=model.classes,
        )
        return display.plot(ax=ax, **kwargs)

    @staticmethod
    def _reach(rows: Array, resolution: int) -> tuple[Array, Array]:
        low, high = rows.min(axis=0), rows.max(axis=0)
        margin = np.where(high > low, 0.1 * (high - low), 1.0)
        across, up = (np.linspace(low[j] - margin[j], high[j] + margin[j], resolution) for j in (0, 1))
        return across, up

    @staticmethod
    def _response(model: Model, points: Array, output: int) -> tuple[str, Array]:
        scores = model.scores(points)
        if model.kind == "classifier":
            one = model.n_outputs == 1
            return "score" if one else "classes", scores
        if not 0 <= output < model.n_outputs:
            raise ValueError(f"output={output!r} must be between 0 and {model.n_outputs - 1}")
        return "surface", scores[:, output]

    @staticmethod
    def _colours(model: Model, y: ArrayLike | None, n: int, output: int) -> NDArray[Any] | None:
        """Return what the rows are coloured by: a target, or the number of the class."""
        if y is None:
            return None
        values = np.asarray(y)
        if len(values) != n:
            raise ValueError(f"y has {len(values)} rows but X has {n}")
        if model.classes is not None:
            return np.searchsorted(model.classes, values)
        return values.reshape(n, -1)[:, output]

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw: what is predicted in colour, kernels as circles, larger for larger coefficients.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        **kwargs : dict
            For ``ax.contourf``.
        """
        ax = axes_or_new(ax)
        across, up = self.grid
        self.boundary_ = None
        colours: dict[str, Any] = {"cmap": "viridis"}
        if self.kind == "surface":
            self.surface_ = ax.contourf(across, up, self.response, **{"levels": 15, "cmap": "viridis", **kwargs})
            ax.figure.colorbar(self.surface_, ax=ax)
            colours |= {"vmin": self.surface_.get_clim()[0], "vmax": self.surface_.get_clim()[1]}
        elif self.kind == "score":
            # symmetric, so that the pale middle is the boundary
            most = max(float(np.abs(self.response).max()), 1e-12)
            levels: Any = np.linspace(-most, most, 16)
            self.surface_ = ax.contourf(
                across, up, self.response, **{"levels": levels, "cmap": "coolwarm", "alpha": 0.7, **kwargs}
            )
            if self.response.min() < 0 < self.response.max():
                self.boundary_ = ax.contour(across, up, self.response, levels=[0.0], colors="k")
            colours = {"cmap": "coolwarm", "vmin": 0, "vmax": 1}
        else:
            assert self.classes is not None
            k = len(self.classes)
            colours = {"cmap": "tab10" if k <= 10 else "nipy_spectral", "vmin": 0, "vmax": max(k - 1, 9)}
            levels = np.arange(k + 1) - 0.5
            winner = self.response.argmax(axis=2)
            self.surface_ = ax.contourf(across, up, winner, **{"levels": levels, "alpha": 0.35, **colours, **kwargs})
            for c in range(k):  # where a class wins by nothing
                margin = self.response[..., c] - np.delete(self.response, c, axis=2).max(axis=2)
                if margin.min() < 0 < margin.max():
                    self.boundary_ = ax.contour(across, up, margin, levels=[0.0], colors="k", linewidths=0.8)
        self.points_ = None
        if self.data is not None:
            rows, values = self.data
            face = {"c": "0.4"} if values is None else {"c": values, **colours}
            self.points_ = ax.scatter(rows[:, 0], rows[:, 1], s=10, linewidths=0.3, edgecolors="w", **face)
        self.kernels_ = ax.scatter(
            self.vectors[:, 0],
            self.vectors[:, 1],
            s=20 + (_LARGEST - 20) * self.sizes,
            facecolors="none",
            edgecolors="k",
            linewidths=1.2,
            label=f"{len(self.vectors)} kernels",
        )
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(loc="upper right")
        return self._drawn(ax)
