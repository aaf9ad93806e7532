"""Kernels, and the span of a set of rows under one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..base.kernel import KERNELS
from ..base.warp import Warp
from ..base.words import did_you_mean
from .part import Array, Part, State


class Kernel(Part):
    """A kernel: its values, its expansions, its derivative with regard to the widths.

    Rows may have any number of features where `gamma` is a number.  Arrays of C-contiguous float64 are read in place,
    anything else is converted; rows of float32 give results of float32.

    Parameters
    ----------
    name : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
    gamma : float or array of shape (n_features,), default=1.0
        Width, or one per feature: rbf is exp(-Σ gamma_j (x_j - z_j)²).
    degree : int, default=3
    coef0 : float, default=1.0
        The polynomial kernel is (Σ gamma_j x_j z_j + coef0)^degree.
    centre : array of shape (n_features,), optional
        A point near the rows, zero by default.  Rows far from it are slower, not less accurate.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import Kernel
    >>> K = Kernel("rbf", gamma=0.5)
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> K(X, X[:2]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ],
           [0.011, 0.135]])
    >>> K(X[0], X[:2]).round(3)
    array([1.   , 0.607])
    """

    _core: _core.AnyKernel

    def __init__(
        self,
        name: str = "rbf",
        *,
        gamma: float | ArrayLike = 1.0,
        degree: int = 3,
        coef0: float = 1.0,
        centre: ArrayLike | None = None,
    ) -> None:
        if isinstance(gamma, Warp):
            raise ValueError("gamma is a Warp: make the Kernel with gamma=1.0 and give it Warp.transform(X)")
        if name not in KERNELS:
            raise ValueError(f"kernel {name!r} is unknown{did_you_mean(str(name), KERNELS)}: give {', '.join(KERNELS)}")
        self._core = _core.AnyKernel(name, gamma, degree, coef0, centre)
        self.name, self.degree, self.coef0 = name, degree, coef0
        self.gamma = np.array(gamma, dtype=np.float64) if np.ndim(gamma) else float(gamma)  # type: ignore[arg-type]
        self.centre = None if centre is None else np.array(centre, dtype=np.float64)

    def __call__(self, X: ArrayLike, Z: ArrayLike, *, threads: int = 1) -> NDArray[np.floating]:
        """Return k(x, z) for each row of X and each of Z.

        Parameters
        ----------
        X : array of shape (n, n_features), or (n_features,) for one row
        Z : array of shape (m, n_features), or (n_features,)
        threads : int, default=1
            The values are independent of it.

        Returns
        -------
        array of shape (n, m), without the dimension of what was one row
        """
        return self._core.matrix(X, Z, threads)

    def diagonal(self, X: ArrayLike) -> Array:
        """Return k(x, x) for each row.

        Parameters
        ----------
        X : array of shape (n, n_features)

        Returns
        -------
        array of shape (n,)

        Examples
        --------
        >>> from kernsift.blocks import Kernel
        >>> Kernel("linear").diagonal([[1.0, 2.0], [3.0, 0.0]])
        array([5., 9.])
        """
        return self._core.diagonal(X)

    def expand(self, X: ArrayLike, Z: ArrayLike, coef: ArrayLike, *, threads: int = 1) -> NDArray[np.floating]:
        """Return K(X, Z) @ coef in one pass; no matrix of n x m is kept.

        Parameters
        ----------
        X : array of shape (n, n_features)
        Z : array of shape (m, n_features)
        coef : array of shape (m,) or (m, n_outputs)
        threads : int, default=1

        Returns
        -------
        array of shape (n,) or (n, n_outputs)

        Examples
        --------
        >>> from kernsift.blocks import Kernel
        >>> Kernel("linear").expand([[1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]], [10.0, 1.0])
        array([12.])
        """
        return self._core.expand(X, Z, coef, threads)

    def gradient(self, X: ArrayLike, Z: ArrayLike, weights: ArrayLike, *, threads: int = 1) -> Array:
        """Return the derivative of Σ weights_ij k(x_i, z_j) with regard to the width of each feature.

        With weights = ∂J/∂K it is the gradient of J: what learning widths needs.

        Parameters
        ----------
        X : array of shape (n, n_features)
        Z : array of shape (m, n_features)
        weights : array of shape (n, m)
        threads : int, default=1

        Returns
        -------
        array of shape (n_features,)

        Raises
        ------
        ValueError
            For the kernels without one: polynomial and linear.

        Examples
        --------
        >>> from kernsift.blocks import Kernel
        >>> Kernel("rbf", gamma=0.5).gradient([[0.0, 0.0]], [[1.0, 0.0]], [[1.0]]).round(3)
        array([-0.607,  0.   ])
        """
        return self._core.gradient(X, Z, weights, threads)

    def _settings(self) -> State:
        gamma = self.gamma.tolist() if isinstance(self.gamma, np.ndarray) else self.gamma
        centre = None if self.centre is None else self.centre.tolist()
        return {"name": self.name, "gamma": gamma, "degree": self.degree, "coef0": self.coef0, "centre": centre}

    def _arrays(self) -> dict[str, Array]:
        return {}

    def _restore(self, settings: State, arrays: dict[str, Array]) -> None:
        self.__init__(**settings)  # type: ignore[misc]

    def __repr__(self) -> str:
        words = [] if self.name == "linear" else [f"gamma={np.asarray(self.gamma).tolist()}"]
        words += [f"degree={self.degree}, coef0={self.coef0}"] if self.name == "polynomial" else []
        words += [] if self.centre is None else [f"centre={self.centre.tolist()}"]
        return f"Kernel({', '.join([repr(self.name), *words])})"


class KernelSpan(Part):
    """The span of a set of rows in the space of a kernel, with an orthonormal basis.

    L is the Cholesky factor of the rows' kernel matrix, w(x) = L⁻¹k(x) the coordinates of a row, and
    k(x, x) - |w(x)|² its squared distance to the span: Engel's measure of novelty.

    Parameters
    ----------
    kernel : Kernel
        Without a centre of its own, it is centred at the first row.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import Kernel, KernelSpan
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> span = KernelSpan(Kernel("rbf", gamma=1.0))
    >>> for x in X:
    ...     distance, bound = span.novelty(x)
    ...     if distance > 1e-3:
    ...         joined = span.append(x)
    >>> span.size < 50
    True
    >>> bool(span.novelty(X)[0].max() <= 1e-3)
    True
    """

    _core: _core.KernelSpan

    def __init__(self, kernel: Kernel) -> None:
        if not isinstance(kernel, Kernel):
            raise ValueError(f"kernel must be a kernsift.blocks.Kernel, got {kernel!r}")
        self.kernel = kernel
        self._core = _core.KernelSpan(kernel._core)

    @property
    def size(self) -> int:
        """Rows in the span."""
        return self._core.size

    @property
    def n_refused(self) -> int:
        """Rows refused so far, because their distance is lost in rounding."""
        return self._core.n_refused

    @property
    def vectors(self) -> Array:
        """A copy of the rows, of shape (size, n_features)."""
        return self._core.vectors()

    def novelty(self, X: ArrayLike) -> tuple[float | Array, float | Array]:
        """Return squared distances to the span, and bounds of their rounding errors.

        The bounds take the kernel values as they are, which are rounded themselves.

        Parameters
        ----------
        X : array of shape (n, n_features), or (n_features,) for one row

        Returns
        -------
        distance : array of shape (n,), or float
            Never negative.
        bound : array of shape (n,), or float
            It grows where rows of the span are nearly dependent.

        Examples
        --------
        >>> from kernsift.blocks import Kernel, KernelSpan
        >>> span = KernelSpan(Kernel("linear"))
        >>> span.append([1.0, 0.0])
        True
        >>> span.novelty([2.0, 3.0])[0]
        9.0
        """
        return self._core.novelty(X)

    def coordinates(self, X: ArrayLike) -> Array:
        """Return w(x) = L⁻¹k(x), a row for each row.

        Parameters
        ----------
        X : array of shape (n, n_features), or (n_features,) for one row

        Returns
        -------
        array of shape (n, size), or (size,)

        Examples
        --------
        >>> from kernsift.blocks import Kernel, KernelSpan
        >>> span = KernelSpan(Kernel("linear"))
        >>> span.append([2.0, 0.0])
        True
        >>> span.coordinates([[3.0, 1.0]])
        array([[3.]])
        """
        return self._core.coordinates(X)

    def coefficients(self, W: ArrayLike) -> Array:
        """Return L⁻ᵀw: from coordinates to coefficients of the rows' kernels.

        Parameters
        ----------
        W : array of shape (n, size), or (size,)

        Returns
        -------
        array of the shape of `W`

        Examples
        --------
        >>> from kernsift.blocks import Kernel, KernelSpan
        >>> span = KernelSpan(Kernel("linear"))
        >>> span.append([2.0, 0.0])
        True
        >>> span.coefficients(span.coordinates([3.0, 1.0]))
        array([1.5])
        """
        return self._core.coefficients(W)

    def append(self, x: ArrayLike) -> bool:
        """Add a row to the span, in O(m²).

        Parameters
        ----------
        x : array of shape (n_features,)

        Returns
        -------
        done : bool
            False where its distance to the span is lost in rounding; it is counted in `n_refused`.

        Examples
        --------
        >>> from kernsift.blocks import Kernel, KernelSpan
        >>> span = KernelSpan(Kernel("rbf"))
        >>> span.append([1.0]), span.append([1.0])
        (True, False)
        """
        return self._core.append(x)

    def delete(self, i: int) -> None:
        """Remove row `i`, in O(m²); later ones move up.

        Parameters
        ----------
        i : int
            Negative ones count from the end.

        Examples
        --------
        >>> from kernsift.blocks import Kernel, KernelSpan
        >>> span = KernelSpan(Kernel("rbf"))
        >>> span.append([1.0]), span.append([2.0])
        (True, True)
        >>> span.delete(0)
        >>> span.vectors
        array([[2.]])
        """
        self._core.delete(i)

    def to_cholesky(self) -> Array:
        """Return L, lower triangular: L Lᵀ is the kernel matrix of the rows.

        Examples
        --------
        >>> from kernsift.blocks import Kernel, KernelSpan
        >>> span = KernelSpan(Kernel("linear"))
        >>> span.append([3.0])
        True
        >>> span.to_cholesky()
        array([[3.]])
        """
        return self._core.to_cholesky()

    def _settings(self) -> State:
        return {"kernel": self.kernel._settings(), "n_refused": self.n_refused}

    def _arrays(self) -> dict[str, Array]:
        return self._core.state()

    def _restore(self, settings: State, arrays: dict[str, Array]) -> None:
        self.__init__(Kernel(**settings["kernel"]))  # type: ignore[misc]
        self._core.restore(arrays, settings["n_refused"])

    def __repr__(self) -> str:
        return f"KernelSpan({self.kernel!r}, size={self.size})"
