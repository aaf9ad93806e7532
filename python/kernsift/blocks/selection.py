"""Choosing rows to put kernels on: functions on kernels and arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .kernel import Kernel
from .part import Array

Indices = NDArray[np.int64]


class PivotedCholesky(NamedTuple):
    """`indices` of the pivots, in order, and the factor `L` of their own matrix: A[indices][:, indices] = L Lᵀ.

    Examples
    --------
    >>> from kernsift.blocks import pivoted_cholesky
    >>> pivoted_cholesky([[1.0, 0.0], [0.0, 4.0]])
    PivotedCholesky(indices=array([1, 0]), L=array([[2., 0.],
           [0., 1.]]))
    """

    indices: Indices
    L: Array


class Selection(NamedTuple):
    """The rows selected, in order; coefficients of their kernels, the intercept, and the path of the selection.

    Examples
    --------
    >>> from kernsift.blocks import Kernel, forward_selection
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> forward_selection(X, [0.0, 0.0, 0.0, 1.0], Kernel(gamma=2.0), max_basis=1, patience=None).indices
    array([3])
    """

    indices: Indices
    coef: Array
    intercept: Array
    alpha: float
    gcv_path: Array
    alpha_path: Array


def _rows(X: ArrayLike, name: str = "X") -> Array:
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"{name} must have two dimensions; got shape {rows.shape}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise ValueError(f"{name} has NaN or infinity in row {row}, column {column}; give finite numbers")
    return rows


def _targets(y: ArrayLike, n: int) -> Array:
    targets = np.asarray(y, dtype=np.float64)
    targets = _rows(targets[:, None] if targets.ndim == 1 else targets, "y")
    if len(targets) != n:
        raise ValueError(f"y has {len(targets)} rows and X has {n}")
    return targets


def _weights(weights: ArrayLike | None, n: int) -> Array:
    v = np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if v.shape != (n,) or not (np.isfinite(v).all() and (v > 0).all()):
        raise ValueError(f"weights must be {n} positive numbers, one for each row")
    return v


def _most(count: int | None, n: int, name: str) -> int:
    if count is not None and count < 1:
        raise ValueError(f"{name}={count!r}: give at least 1, or None for all")
    return n if count is None else min(int(count), n)


def _kernel(kernel: Kernel, n_features: int) -> _core.Kernel:
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel must be a kernsift.blocks.Kernel, got {kernel!r}")
    return kernel._core.of(n_features)


def pivoted_cholesky(
    A: ArrayLike, kernel: Kernel | None = None, *, tol: float = 1e-10, max_rank: int | None = None
) -> PivotedCholesky:
    """Factor a symmetric positive semi-definite matrix, the largest remaining diagonal entry first.

    Parameters
    ----------
    A : array of shape (n, n), or rows of shape (n, n_features) with `kernel`
        With a kernel the matrix K(A, A) is never formed: O(n m) memory for m pivots.
    kernel : Kernel, optional
    tol : float, default=1e-10
        Pivots end at this part of the largest diagonal entry (with a kernel, of k(x, x)).
    max_rank : int, optional
        Most pivots.

    Returns
    -------
    PivotedCholesky
        `indices` (m,) and `L` (m, m).

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import Kernel, pivoted_cholesky
    >>> X = np.array([[0.0], [0.0], [2.0], [4.0]])
    >>> indices, L = pivoted_cholesky(X, Kernel("linear"))
    >>> indices, L
    (array([3]), array([[4.]]))
    >>> pivoted_cholesky(X @ X.T).indices
    array([3])
    """
    if not 0 <= tol < 1:
        raise ValueError(f"tol={tol!r}: give a number in [0, 1)")
    rows = _rows(A, "A")
    n = len(rows)
    most = _most(max_rank, n, "max_rank")
    if kernel is not None:
        return PivotedCholesky(
            *_core.select_greedy(_kernel(kernel, rows.shape[1]), rows, np.arange(n), tol=float(tol), max_basis=most)
        )
    if rows.shape != (n, n):
        raise ValueError(f"A must be square without a kernel; got shape {rows.shape}")
    order, L = _core.pivoted_cholesky(rows, tol * max(float(np.diag(rows).max(initial=0.0)), 0.0), most)
    return PivotedCholesky(order[: L.shape[1]], L[: L.shape[1]].copy())


def feature_vectors(
    X: ArrayLike,
    kernel: Kernel,
    n_components: int,
    *,
    n_candidates: int | None = 59,
    n_eval: int | None = 59,
    weights: ArrayLike | None = None,
    candidate_tol: float = 1e-8,
    reconstruction_tol: float = 0.0,
    seed: int = 0,
) -> tuple[Indices, Array]:
    """Select the rows whose span reconstructs all rows best (Baudat & Anouar; Cawley & Talbot 2002).

    Parameters
    ----------
    X : array of shape (n, n_features)
    kernel : Kernel
    n_components : int
        Most rows to select.
    n_candidates, n_eval : int or None, default=59
        Rows tried in each step, and rows they are judged on, drawn at random; None for all.
    weights : array of shape (n,), optional
        Positive weights.
    candidate_tol : float, default=1e-8
        A row whose squared distance to the span is below this part of k(x, x) is no candidate.
    reconstruction_tol : float, default=0.0
        Stop when the mean relative error is below it.
    seed : int, default=0

    Returns
    -------
    indices : array of shape (m,)
        In the order selected.
    error : array of shape (m,)
        Mean relative reconstruction error after each.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import Kernel, feature_vectors
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0]])
    >>> indices, error = feature_vectors(X, Kernel("rbf", gamma=2.0), 3, n_candidates=None, n_eval=None)
    >>> sorted(indices.tolist())
    [1, 4, 6]
    >>> bool((np.diff(error) < 0).all())
    True
    """
    rows = _rows(X)
    n = len(rows)
    indices, error = _core.select_feature_vectors(
        _kernel(kernel, rows.shape[1]),
        rows,
        np.arange(n),
        weight=_weights(weights, n),
        n_candidates=_most(n_candidates, n, "n_candidates") % n,
        n_eval=_most(n_eval, n, "n_eval") % n,
        max_basis=_most(n_components, n, "n_components"),
        candidate_tol=float(candidate_tol),
        reconstruction_tol=float(reconstruction_tol),
        seed=seed,
        form="cached" if n_candidates is not None or n_eval is not None else "dense",
    )
    return indices, error


def forward_selection(
    X: ArrayLike,
    y: ArrayLike,
    kernel: Kernel,
    *,
    max_basis: int | None = None,
    selection: str = "residual",
    n_candidates: int | None = None,
    alpha: float | None = None,
    patience: int | None = 10,
    weights: ArrayLike | None = None,
    fit_intercept: bool = True,
    seed: int = 0,
    threads: int = 1,
) -> Selection:
    """Select rows to put kernels on, the most useful for the targets first (Andelić et al. 2006).

    Parameters
    ----------
    X : array of shape (n, n_features)
    y : array of shape (n,) or (n, n_outputs)
    kernel : Kernel
    max_basis : int, optional
        Most rows to select.
    selection : {"residual", "error-reduction"}, default="residual"
        The row of the largest residual, or the one that lowers the error most.
    n_candidates : int, optional
        Rows tried in each step by error reduction, drawn at random; all by default.
    alpha : float, optional
        Ridge in the orthogonal basis; re-estimated by generalised cross-validation in each step by default.
    patience : int or None, default=10
        Stop when the score has not fallen for so many steps; None to go on to `max_basis`.
    weights : array of shape (n,), optional
        Positive weights.
    fit_intercept : bool, default=True
    seed : int, default=0
    threads : int, default=1

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import Kernel, forward_selection
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> kernel = Kernel("rbf", gamma=1.0)
    >>> found = forward_selection(X, y, kernel)
    >>> error = found.intercept + kernel.expand(X, X[found.indices], found.coef) - np.sin(2 * X[:, 0])
    >>> bool(np.abs(error).max() < 0.1)
    True
    """
    rows = _rows(X)
    n = len(rows)
    found = _core.forward_selection(
        [_kernel(kernel, rows.shape[1])],
        X=rows,
        Y=_targets(y, n),
        sample_weight=_weights(weights, n),
        candidates=np.arange(n),
        rows=float(n),
        selection=selection,
        n_candidates=0 if n_candidates is None else _most(n_candidates, n, "n_candidates"),
        reestimate=alpha is None,
        alpha=0.0 if alpha is None else float(alpha),
        stop="none" if patience is None else "gcv",
        patience=1 if patience is None else int(patience),
        tol=1e-4,
        max_basis=_most(max_basis, n, "max_basis"),
        part=0.0,
        error_tol=0.0,
        max_condition=1e7,
        fit_intercept=bool(fit_intercept),
        seed=seed,
        threads=threads,
        cache_bytes=2e8,
    )
    m, one = found["n_basis"], np.ndim(y) == 1
    return Selection(
        found["chosen"][:m],
        found["coef"][:, 0] if one else found["coef"],
        found["intercept"][0] if one else found["intercept"],
        float(found["alpha_path"][m]),
        found["gcv_path"],
        found["alpha_path"],
    )


def deletion_path(
    X: ArrayLike,
    y: ArrayLike,
    kernel: Kernel,
    vectors: ArrayLike,
    *,
    alpha: float,
    target: int = 1,
    fraction: float = 0.0,
    weights: ArrayLike | None = None,
    fit_intercept: bool = True,
    threads: int = 1,
) -> Indices:
    """Delete kernels from a model, those that raise the cost least first (Jung & Polani 2006, eq. 19).

    Parameters
    ----------
    X : array of shape (n, n_features)
    y : array of shape (n,) or (n, n_outputs)
    kernel : Kernel
    vectors : array of shape (m, n_features)
        The rows that the model has kernels on.
    alpha : float
        Ridge.
    target : int, default=1
        Kernels to keep.
    fraction : float, default=0.0
        Part of the kernels deleted between two factorisations; one at a time by default.  0.1 costs nothing in
        accuracy and a tenth of the time.
    weights : array of shape (n,), optional
        Positive weights.
    fit_intercept : bool, default=True
    threads : int, default=1

    Returns
    -------
    order : array of shape (m,)
        Numbers of the vectors: those deleted, the first first, then those kept.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import Kernel, deletion_path
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> vectors = np.array([[0.0], [2.9], [30.0]])
    >>> deletion_path(X, np.exp(-X[:, 0] ** 2), Kernel("rbf"), vectors, alpha=1e-3)
    array([2, 1, 0])
    """
    rows, centres = _rows(X), _rows(vectors, "vectors")
    if centres.shape[1] != rows.shape[1]:
        raise ValueError(f"vectors have {centres.shape[1]} features and X has {rows.shape[1]}")
    if not (0 < alpha < np.inf):
        raise ValueError(f"alpha={alpha!r}: give a positive ridge")
    if not 1 <= target <= len(centres) or not 0 <= fraction < 1:
        raise ValueError(f"target={target!r}, fraction={fraction!r}: give 1 to {len(centres)} and a number in [0, 1)")
    v, Y, core = _weights(weights, len(rows)), _targets(y, len(rows)), _kernel(kernel, rows.shape[1])
    offset = v @ Y / v.sum()
    given = {"vectors": centres, "offset": offset}
    sums = _core.normal_sums(
        core, L=np.eye(len(centres)), X=rows, Y=Y, weight=v, fast=True, whitened=False, threads=threads, **given
    )
    order, _ = _core.deletion_order(
        core,
        **given,
        **{name: sums[name] for name in ("M", "z", "s", "y", "weight")},
        fit_intercept=fit_intercept,
        alpha=float(alpha),
        target=int(target),
        fraction=float(fraction),
    )
    return order
