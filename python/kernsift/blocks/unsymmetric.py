"""The inverse of a matrix with two different sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .inverse import Inverse
from .part import Array, State


class UnsymmetricInverse(Inverse):
    """The inverse of a square matrix B, kept current while B changes.

    The verbs of `SymmetricInverse`, with two sides.  A change that would leave B singular to working precision is
    refused: it returns False, is counted in `n_refused`, and changes nothing.

    Parameters
    ----------
    A : array of shape (size, size), optional
        The matrix B to begin with.
    ridge : float, default=1.0
        Without `A`, B = ridge · I.
    size : int, default=0
        Rows of B without `A`.

    Examples
    --------
    >>> from kernsift.blocks import UnsymmetricInverse
    >>> inverse = UnsymmetricInverse([[0.0, 2.0], [1.0, 0.0]])
    >>> inverse.to_dense()
    array([[0. , 1. ],
           [0.5, 0. ]])
    >>> inverse.sign()
    -1.0
    """

    _core: _core.UnsymmetricInverse

    def __init__(self, A: ArrayLike | None = None, *, ridge: float = 1.0, size: int = 0) -> None:
        self._core = _core.UnsymmetricInverse(A, ridge, size)

    def update(self, u: ArrayLike, v: ArrayLike, weight: float = 1.0) -> bool:
        """Add weight · u vᵀ to B (Sherman & Morrison).

        Parameters
        ----------
        u, v : arrays of shape (size,)
        weight : float, default=1.0

        Returns
        -------
        done : bool

        Examples
        --------
        >>> from kernsift.blocks import UnsymmetricInverse
        >>> inverse = UnsymmetricInverse(ridge=1.0, size=2)
        >>> inverse.update([1.0, 0.0], [0.0, 1.0])
        True
        >>> inverse.to_dense()
        array([[ 1., -1.],
               [ 0.,  1.]])
        """
        return self._core.update(u, v, weight)

    def update_block(self, U: ArrayLike, V: ArrayLike, weights: ArrayLike | None = None) -> bool:
        """Add Σ weights_i · u_i v_iᵀ to B, by matrix products (Woodbury).

        Parameters
        ----------
        U, V : arrays of shape (n, size)
        weights : array of shape (n,), optional

        Returns
        -------
        done : bool

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift.blocks import UnsymmetricInverse
        >>> inverse = UnsymmetricInverse(ridge=1.0, size=2)
        >>> inverse.update_block(np.eye(2), np.eye(2), [1.0, 3.0])
        True
        >>> inverse.diagonal()
        array([0.5 , 0.25])
        """
        return self._core.update_block(U, V, weights)

    def grow(self, b: ArrayLike, c: ArrayLike, d: float) -> bool:
        """Give B a row and column: B ← [B, b; cᵀ, d].

        Parameters
        ----------
        b, c : arrays of shape (size,)
        d : float

        Returns
        -------
        done : bool
            False where the Schur complement d - cᵀB⁻¹b is zero to working precision.

        Examples
        --------
        >>> from kernsift.blocks import UnsymmetricInverse
        >>> inverse = UnsymmetricInverse([[1.0]])
        >>> inverse.grow([2.0], [0.0], 1.0)
        True
        >>> inverse.to_dense()
        array([[ 1., -2.],
               [-0.,  1.]])
        """
        return self._core.grow(b, c, d)

    def border(self, u: ArrayLike, v: ArrayLike, schur: float) -> bool:
        """Give B a row and column where u = B⁻¹b, v = B⁻ᵀc and the Schur complement d - cᵀu are known.

        Parameters
        ----------
        u, v : arrays of shape (size,)
        schur : float

        Returns
        -------
        done : bool

        Examples
        --------
        >>> from kernsift.blocks import UnsymmetricInverse
        >>> UnsymmetricInverse([[1.0]]).border([2.0], [0.0], 1.0)
        True
        """
        return self._core.border(u, v, schur)

    def apply(self, x: ArrayLike, *, transpose: bool = False) -> Array:
        """Return B⁻¹x, or with `transpose` B⁻ᵀx; of each row where there are rows.

        Parameters
        ----------
        x : array of shape (size,) or (n, size)
        transpose : bool, default=False

        Returns
        -------
        array of the shape of `x`

        Examples
        --------
        >>> from kernsift.blocks import UnsymmetricInverse
        >>> inverse = UnsymmetricInverse([[1.0, 1.0], [0.0, 1.0]])
        >>> inverse.apply([1.0, 1.0]), inverse.apply([1.0, 1.0], transpose=True)
        (array([0., 1.]), array([1., 0.]))
        """
        return self._core.apply(x, transpose)

    def quadratic(self, x: ArrayLike, z: ArrayLike) -> float | Array:
        """Return xᵀB⁻¹z, or that of each pair of rows.

        Parameters
        ----------
        x, z : arrays of shape (size,) or (n, size)

        Returns
        -------
        float, or array of shape (n,)

        Examples
        --------
        >>> from kernsift.blocks import UnsymmetricInverse
        >>> UnsymmetricInverse([[1.0, 1.0], [0.0, 1.0]]).quadratic([1.0, 0.0], [0.0, 1.0])
        -1.0
        """
        return self._core.quadratic(x, z)

    def sign(self) -> float:
        """Return the sign of det B.

        Examples
        --------
        >>> from kernsift.blocks import UnsymmetricInverse
        >>> UnsymmetricInverse([[-2.0]]).sign()
        -1.0
        """
        return self._core.sign()

    def _arrays(self) -> dict[str, Array]:
        return {"inverse": self.to_dense(), "log_det": np.array([self.log_det(), self.sign()])}

    def _restore(self, settings: State, arrays: dict[str, Array]) -> None:
        self._core = _core.UnsymmetricInverse()
        log_det, sign = arrays["log_det"].tolist()
        self._core.restore(arrays["inverse"], log_det, sign, settings["n_refused"])
