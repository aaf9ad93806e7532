"""Kernels on groups of columns, their sums and products, as plain data that is part of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from .._core import AnyKernel
from ..io.plain import record
from .arrays import Array
from .columns import no_column
from .kernel import KERNELS, resolve_gamma
from .objects import RowKernel
from .types import KernelName
from .words import did_you_mean


class _Terms(RowKernel):
    """What can be added and multiplied."""

    def __add__(self, other: RowKernel) -> Sum:
        return Sum((self, other))

    def __mul__(self, other: RowKernel) -> Product:
        return Product((self, other))


@record("On")
@dataclass(frozen=True)
class On(_Terms):
    """A kernel on some of the columns: ``kernel=`` of `LSSVM*`, `SparseLSSVM*`, `SubsetLSSVM*` and `OROLS*`.

    ``+`` adds effects of groups of columns, ``*`` lets them interact.  (A product of rbf kernels is one rbf with a
    width per column, which ``gamma=`` of the estimators has, learned and exported.)

    Parameters
    ----------
    columns : name, number or several
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
    gamma : float, array of one per column, "scale", "standard" or "median", default="standard"
        Words follow from the rows of the fit, as of the estimators.  The linear kernel has none.
    degree : int, default=3
    coef0 : float, default=1.0
        The polynomial kernel is (Σ gamma_j x_j z_j + coef0)^degree.
    weight : float, default=1.0
        The kernel is multiplied by it.

    Examples
    --------
    A trend, and a wave whose height depends on the place:

    >>> import numpy as np
    >>> from kernsift import LSSVMRegressor
    >>> from kernsift.kernels import On
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (200, 3))
    >>> y = 3 * X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2]
    >>> kernel = On(0, "linear") + On(1, gamma=2.0) * On(2, "polynomial", degree=1)
    >>> bool(LSSVMRegressor(kernel=kernel, alpha=1e-3).fit(X, y).score(X, y) > 0.99)
    True
    >>> kernel.fitted_to(X, range(3)).matrix(X[:5], X[:2]).shape
    (5, 2)
    """

    columns: Any
    kernel: KernelName = "rbf"
    gamma: str | float | ArrayLike = "standard"
    degree: int = 3
    coef0: float = 1.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        several = self.columns if isinstance(self.columns, Sequence | np.ndarray) else [self.columns]
        several = [self.columns] if isinstance(self.columns, str) else several
        columns = tuple(one.item() if isinstance(one, np.generic) else one for one in several)
        if not columns:
            raise ValueError("columns is empty: give the names or numbers of one column or several")
        object.__setattr__(self, "columns", columns)
        if self.kernel not in KERNELS:
            hint = did_you_mean(str(self.kernel), KERNELS)
            raise ValueError(f"kernel {self.kernel!r} is unknown{hint}: give {', '.join(KERNELS)}")
        if not isinstance(self.weight, Real) or not 0 < float(self.weight) < np.inf:
            raise ValueError(f"weight={self.weight!r} must be a positive number")

    def fitted_to(self, X: Array, names: Sequence[Any]) -> Self:
        """The same with columns by their numbers and widths as numbers."""
        places = tuple(_place(one, names) for one in self.columns)
        widths = resolve_gamma(self.gamma, X[:, places], np.ones(len(X)), 0, self.kernel)
        return replace(self, columns=places, gamma=tuple(widths.tolist()))

    def matrix(self, X: Array, Z: Array) -> Array:
        """Values of rows X with rows Z."""
        return float(self.weight) * np.asarray(self._core().matrix(self._part(X), self._part(Z)))

    def diagonal(self, X: Array) -> Array:
        """Values of rows with themselves."""
        return float(self.weight) * self._core().diagonal(self._part(X))

    def _core(self) -> AnyKernel:
        return AnyKernel(self.kernel, np.array(self.gamma), int(self.degree), float(self.coef0))

    def _part(self, X: Array) -> Array:
        return np.ascontiguousarray(X[:, self.columns])


@dataclass(frozen=True)
class _Several(_Terms):
    """Kernels that are combined.

    Parameters
    ----------
    parts : sequence of On, Sum or Product
    """

    parts: tuple[RowKernel, ...]
    _combined: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        other = next((part for part in self.parts if not isinstance(part, RowKernel)), None)
        if other is not None or not self.parts:
            raise ValueError(f"parts must be kernels on columns, such as On([0, 1], 'rbf'), got {other!r:.40}")

    def matrix(self, X: Array, Z: Array) -> Array:
        """Values of rows X with rows Z."""
        return reduce(self._combined, [part.matrix(X, Z) for part in self.parts])

    def diagonal(self, X: Array) -> Array:
        """Values of rows with themselves."""
        return reduce(self._combined, [part.diagonal(X) for part in self.parts])

    def fitted_to(self, X: Array, names: Sequence[Any]) -> Self:
        """The same with all parts as plain numbers."""
        return replace(self, parts=tuple(part.fitted_to(X, names) for part in self.parts))


@record("Sum")
@dataclass(frozen=True)
class Sum(_Several):
    """A sum of kernels: their effects are added.

    Parameters
    ----------
    parts : sequence of On, Sum or Product

    Examples
    --------
    >>> from kernsift.kernels import On, Sum
    >>> Sum([On("year", "linear"), On("place")]) == On("year", "linear") + On("place")
    True
    """

    _combined = np.add


@record("Product")
@dataclass(frozen=True)
class Product(_Several):
    """A product of kernels: the effect of one group of columns depends on the others.

    Parameters
    ----------
    parts : sequence of On, Sum or Product

    Examples
    --------
    >>> from kernsift.kernels import On, Product
    >>> Product([On("year", "linear"), On("place")]) == On("year", "linear") * On("place")
    True
    """

    _combined = np.multiply


def _place(one: Any, names: Sequence[Any]) -> int:
    if one in names:
        return list(names).index(one)
    if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < len(names):
        return one
    raise no_column("kernel", one, names)
