"""Inverses that follow their matrix, and the symmetric one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .part import Array, Part, State


class Inverse(Part):
    """What the two inverses share."""

    _core: _core.SymmetricInverse | _core.UnsymmetricInverse

    @property
    def size(self) -> int:
        """Rows of B."""
        return self._core.size

    @property
    def n_refused(self) -> int:
        """Changes refused so far, because B would have become singular to working precision."""
        return self._core.n_refused

    def delete(self, i: int) -> bool:
        """Remove row and column i of B, in O(m²); later ones move up.

        Parameters
        ----------
        i : int
            Negative ones count from the end.

        Returns
        -------
        done : bool
            False where what is left of B is singular to working precision; nothing has changed.

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> inverse = SymmetricInverse([[1.0, 0.0], [0.0, 4.0]])
        >>> inverse.delete(0)
        True
        >>> inverse.to_dense()
        array([[0.25]])
        """
        return self._core.delete(i)

    def diagonal(self) -> Array:
        """Return the diagonal of B⁻¹.

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> SymmetricInverse(ridge=4.0, size=3).diagonal()
        array([0.25, 0.25, 0.25])
        """
        return self._core.diagonal()

    def log_det(self) -> float:
        """Return log|det B|.

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> SymmetricInverse(ridge=1.0, size=3).log_det()
        0.0
        """
        return self._core.log_det()

    def to_dense(self) -> Array:
        """Return a copy of B⁻¹.

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> SymmetricInverse([[2.0]]).to_dense()
        array([[0.5]])
        """
        return self._core.to_dense()

    def condition(self) -> float:
        """Return the condition number of B in the 2-norm, in O(m³).

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> round(SymmetricInverse([[1.0, 0.0], [0.0, 8.0]]).condition(), 9)
        8.0
        """
        return self._core.condition()

    def _settings(self) -> State:
        return {"n_refused": self.n_refused}

    def __repr__(self) -> str:
        return f"{self._name}(size={self.size})"


class SymmetricInverse(Inverse):
    """The inverse of a symmetric positive definite matrix B, kept current while B changes.

    Each change costs O(m²) where a new inverse would cost O(m³).  Only the lower triangle is stored: the inverse is
    exactly symmetric.  A change that would leave B not positive definite to working precision is refused: it returns
    False, is counted in `n_refused`, and changes nothing.

    Parameters
    ----------
    A : array of shape (size, size), optional
        The matrix B to begin with; its lower triangle is read.
    ridge : float, default=1.0
        Without `A`, B = ridge · I.
    size : int, default=0
        Rows of B without `A`.

    Examples
    --------
    Recursive least squares is an inverse and two lines:

    >>> import numpy as np
    >>> from kernsift.blocks import SymmetricInverse
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> y = X @ [1.0, -2.0, 0.5]
    >>> C, beta = SymmetricInverse(ridge=1e-6, size=3), np.zeros(3)
    >>> for x, target in zip(X, y):
    ...     error = target - x @ beta
    ...     done = C.update(x)
    ...     beta += error * C.apply(x)
    >>> beta.round(6)
    array([ 1. , -2. ,  0.5])
    """

    _core: _core.SymmetricInverse

    def __init__(self, A: ArrayLike | None = None, *, ridge: float = 1.0, size: int = 0) -> None:
        self._core = _core.SymmetricInverse(A, ridge, size)

    def update(self, x: ArrayLike, weight: float = 1.0) -> bool:
        """Add weight · x xᵀ to B (Sherman & Morrison).

        Parameters
        ----------
        x : array of shape (size,)
        weight : float, default=1.0
            A negative weight takes a row back.

        Returns
        -------
        done : bool

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> inverse = SymmetricInverse(ridge=1.0, size=1)
        >>> inverse.update([1.0])
        True
        >>> inverse.to_dense()
        array([[0.5]])
        >>> inverse.update([1.0], weight=-2.0)
        False
        """
        return self._core.update(x, weight)

    def update_block(self, X: ArrayLike, weights: ArrayLike | None = None) -> bool:
        """Add Σ weights_i · x_i x_iᵀ to B, by matrix products (Woodbury).

        Parameters
        ----------
        X : array of shape (n, size)
        weights : array of shape (n,), optional
            Ones by default.  Positive ones are added first.

        Returns
        -------
        done : bool
            All rows are taken, or none.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift.blocks import SymmetricInverse
        >>> inverse = SymmetricInverse(ridge=1.0, size=2)
        >>> inverse.update_block(np.eye(2))
        True
        >>> inverse.diagonal()
        array([0.5, 0.5])
        """
        return self._core.update_block(X, weights)

    def grow(self, b: ArrayLike, c: float) -> bool:
        """Give B a row and column: B ← [B, b; bᵀ, c] (the partitioned inverse).

        Parameters
        ----------
        b : array of shape (size,)
        c : float

        Returns
        -------
        done : bool
            False where the Schur complement c - bᵀB⁻¹b is not positive to working precision.

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> inverse = SymmetricInverse([[1.0]])
        >>> inverse.grow([0.5], 1.0)
        True
        >>> inverse.grow([1.0, 0.5], 1.0)
        False
        """
        return self._core.grow(b, c)

    def border(self, w: ArrayLike, schur: float) -> bool:
        """Give B a row and column where w = B⁻¹b and the Schur complement are known: `grow` without its product.

        Parameters
        ----------
        w : array of shape (size,)
        schur : float
            c - bᵀw.

        Returns
        -------
        done : bool

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> inverse = SymmetricInverse([[1.0]])
        >>> inverse.border([0.5], 0.75)
        True
        >>> inverse.to_dense()[1, 1] == 1 / 0.75
        np.True_
        """
        return self._core.border(w, schur)

    def apply(self, x: ArrayLike) -> Array:
        """Return B⁻¹x, or B⁻¹ of each row.

        Parameters
        ----------
        x : array of shape (size,) or (n, size)

        Returns
        -------
        array of the shape of `x`

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> SymmetricInverse(ridge=2.0, size=2).apply([1.0, 3.0])
        array([0.5, 1.5])
        """
        return self._core.apply(x)

    def quadratic(self, x: ArrayLike) -> float | Array:
        """Return xᵀB⁻¹x, or that of each row.

        Parameters
        ----------
        x : array of shape (size,) or (n, size)

        Returns
        -------
        float, or array of shape (n,)

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> SymmetricInverse(ridge=2.0, size=2).quadratic([1.0, 3.0])
        5.0
        """
        return self._core.quadratic(x)

    def _arrays(self) -> dict[str, Array]:
        return {"inverse": self.to_dense(), "log_det": np.array([self.log_det()])}

    def _restore(self, settings: State, arrays: dict[str, Array]) -> None:
        self._core = _core.SymmetricInverse()
        self._core.restore(arrays["inverse"], float(arrays["log_det"][0]), settings["n_refused"])
