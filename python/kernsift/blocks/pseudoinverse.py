"""Least squares on columns that arrive one at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .part import Array, Part, State


class Decomposition(NamedTuple):
    """V^½K = QU: `Q` orthogonal and not normalised, `h` the squared norms of its columns, `U` unit upper triangular.

    Examples
    --------
    >>> from kernsift.blocks import PseudoInverse
    >>> columns = PseudoInverse(2)
    >>> columns.append([3.0, 4.0])
    True
    >>> columns.decomposition().h
    array([25.])
    """

    Q: Array
    h: Array
    U: Array


class PseudoInverse(Part):
    """The pseudoinverse of a matrix K whose columns arrive one at a time.

    Kept as K = QU by Gram-Schmidt twice: Q has orthogonal columns whatever the condition of K.  A column costs two
    passes over Q; one and an eighth where at least half of its squared norm is orthogonal to the columns before.  A
    ridge is on the coefficients in the orthogonal basis, Ua, where it acts on each column by itself [1]_, so that
    generalised cross-validation and its minimum cost nothing more.

    Parameters
    ----------
    n_rows : int
    weights : array of shape (n_rows,), optional
        Positive weights v of the rows; the decomposition is that of V^½K.
    n_unpenalised : int, default=0
        So many of the first columns carry no penalty: 1 for a constant.
    rank_tol : float, default=1e-10
        A column whose squared distance to the span is below this part of its squared norm is dependent.
    threads : int, default=1
        Results are independent of it.

    References
    ----------
    .. [1] E. Andelić, M. Schafföner, M. Katz, S. E. Krüger and A. Wendemuth, "Kernel least-squares models using updates
       of the pseudoinverse", Neural Computation 18(12), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import PseudoInverse
    >>> t = np.arange(5.0)
    >>> line = PseudoInverse(5)
    >>> line.append(np.ones(5)), line.append(t), line.append(2 * t + 3)
    (True, True, False)
    >>> line.solve(2 * t + 3).round(12)
    array([3., 2.])
    """

    _core: _core.PseudoInverse

    def __init__(
        self,
        n_rows: int,
        *,
        weights: ArrayLike | None = None,
        n_unpenalised: int = 0,
        rank_tol: float = 1e-10,
        threads: int = 1,
    ) -> None:
        self._core = _core.PseudoInverse(n_rows, weights, n_unpenalised, rank_tol, threads)
        self.weights = None if weights is None else np.array(weights, dtype=np.float64)
        self.n_unpenalised, self.rank_tol, self.threads = n_unpenalised, rank_tol, threads

    @property
    def n_rows(self) -> int:
        """Rows of K."""
        return self._core.n_rows

    @property
    def size(self) -> int:
        """Columns of K."""
        return self._core.size

    @property
    def n_refused(self) -> int:
        """Dependent columns refused so far."""
        return self._core.n_refused

    def append(self, column: ArrayLike) -> bool:
        """Add a column to K.

        Parameters
        ----------
        column : array of shape (n_rows,)

        Returns
        -------
        done : bool
            False where it depends on those before it; nothing has changed.

        Examples
        --------
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0]), columns.append([2.0, 2.0])
        (True, False)
        """
        return self._core.append(column)

    def pop(self) -> None:
        """Remove the last column.

        Examples
        --------
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0])
        True
        >>> columns.pop()
        >>> columns.size
        0
        """
        self._core.pop()

    def solve(self, Y: ArrayLike, *, ridge: float = 0.0) -> Array:
        """Return the coefficients a that minimise Σ v_i |y_i - (Ka)_i|² + ridge · |Ua|².

        Parameters
        ----------
        Y : array of shape (n_rows,) or (n_rows, n_outputs)
        ridge : float, default=0.0

        Returns
        -------
        array of shape (size,) or (size, n_outputs)

        Examples
        --------
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0])
        True
        >>> columns.solve([1.0, 3.0]), columns.solve([1.0, 3.0], ridge=2.0)
        (array([2.]), array([1.]))
        """
        return self._core.solve(Y, ridge)

    def residual(self, Y: ArrayLike, *, ridge: float = 0.0) -> Array:
        """Return Y - Ka for the coefficients of `solve`.

        Parameters
        ----------
        Y : array of shape (n_rows,) or (n_rows, n_outputs)
        ridge : float, default=0.0

        Returns
        -------
        array of the shape of `Y`

        Examples
        --------
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0])
        True
        >>> columns.residual([1.0, 3.0])
        array([-1.,  1.])
        """
        return self._core.residual(Y, ridge)

    def gcv(self, Y: ArrayLike, *, ridge: float = 0.0) -> float:
        """Return the generalised cross-validation score of a ridge, over all outputs: n rss / (n - dof)².

        Parameters
        ----------
        Y : array of shape (n_rows,) or (n_rows, n_outputs)
        ridge : float, default=0.0

        Returns
        -------
        float

        Examples
        --------
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0])
        True
        >>> columns.gcv([1.0, 3.0])
        4.0
        """
        return self._core.gcv(Y, ridge)

    def best_ridge(self, Y: ArrayLike) -> float:
        """Return the ridge of the smallest score, between 1e-6 and 1e8 times the largest squared norm in Q.

        Parameters
        ----------
        Y : array of shape (n_rows,) or (n_rows, n_outputs)

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift.blocks import PseudoInverse
        >>> rng = np.random.default_rng(0)
        >>> columns = PseudoInverse(50)
        >>> for column in rng.standard_normal((20, 50)):
        ...     done = columns.append(column)
        >>> y = rng.standard_normal(50)
        >>> ridge = columns.best_ridge(y)
        >>> columns.gcv(y, ridge=ridge) < columns.gcv(y)
        True
        """
        return self._core.best_ridge(Y)

    def reestimate(self, Y: ArrayLike, *, ridge: float) -> float:
        """Return the next ridge of the re-estimation formula [1]_, whose fixed points are stationary points of `gcv`.

        Parameters
        ----------
        Y : array of shape (n_rows,) or (n_rows, n_outputs)
        ridge : float

        Returns
        -------
        float
            Negative or NaN where the formula says nothing: no freedom is left, or no column reaches the targets.

        References
        ----------
        .. [1] E. Andelić, M. Schafföner, M. Katz, S. E. Krüger and A. Wendemuth, "Kernel least-squares models using
           updates of the pseudoinverse", Neural Computation 18(12), 2006.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift.blocks import PseudoInverse
        >>> rng = np.random.default_rng(0)
        >>> columns = PseudoInverse(50)
        >>> for column in rng.standard_normal((20, 50)):
        ...     done = columns.append(column)
        >>> y, ridge = rng.standard_normal(50), 1.0
        >>> for _ in range(200):
        ...     ridge = columns.reestimate(y, ridge=ridge)
        >>> columns.gcv(y, ridge=ridge) < columns.gcv(y, ridge=1.0)
        True
        """
        return self._core.reestimate(Y, ridge)

    def error_reductions(self, candidates: ArrayLike, Y: ArrayLike, *, ridge: float = 0.0) -> Array:
        """Return by how much the minimum of `solve` falls when each candidate alone is appended.

        Parameters
        ----------
        candidates : array of shape (n_rows, n_candidates)
        Y : array of shape (n_rows,) or (n_rows, n_outputs)
        ridge : float, default=0.0

        Returns
        -------
        array of shape (n_candidates,)
            0 for a dependent one.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0])
        True
        >>> columns.error_reductions(np.array([[0.0, 5.0], [1.0, 5.0]]), [1.0, 3.0])
        array([2., 0.])
        """
        return self._core.error_reductions(candidates, Y, ridge)

    def to_dense(self) -> Array:
        """Return the pseudoinverse, of shape (size, n_rows): ``to_dense() @ y`` is ``solve(y)``.

        Examples
        --------
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0])
        True
        >>> columns.to_dense()
        array([[0.5, 0.5]])
        """
        return self._core.pseudoinverse()

    def decomposition(self) -> Decomposition:
        """Return Q, h and U.

        Examples
        --------
        >>> from kernsift.blocks import PseudoInverse
        >>> columns = PseudoInverse(2)
        >>> columns.append([1.0, 1.0]), columns.append([1.0, 0.0])
        (True, True)
        >>> Q, h, U = columns.decomposition()
        >>> Q @ U
        array([[1., 1.],
               [1., 0.]])
        """
        return Decomposition(*self._core.decomposition())

    def _settings(self) -> State:
        return {
            "n_rows": self.n_rows,
            "n_unpenalised": self.n_unpenalised,
            "rank_tol": self.rank_tol,
            "threads": self.threads,
            "n_refused": self.n_refused,
        }

    def _arrays(self) -> dict[str, Array]:
        weights = {} if self.weights is None else {"weights": self.weights}
        return {**self.decomposition()._asdict(), **weights}

    def _restore(self, settings: State, arrays: dict[str, Array]) -> None:
        made = {name: value for name, value in settings.items() if name != "n_refused"}
        self.__init__(**made, weights=arrays.get("weights"))  # type: ignore[misc]
        self._core.restore(arrays["Q"], arrays["h"], arrays["U"], settings["n_refused"])

    def __repr__(self) -> str:
        return f"PseudoInverse(n_rows={self.n_rows}, size={self.size})"
