"""Every verb of kernsift.blocks, typed: `mypy --strict` accepts it, and it runs."""

# pyright: strict

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from kernsift import blocks
from numpy.typing import NDArray

Array = NDArray[np.float64]


def kernels(X: Array, y: Array) -> float:
    """Kernel and KernelSpan."""
    kernel: blocks.Kernel = blocks.Kernel("rbf", gamma=[0.5, 1.0], degree=2, coef0=0.0, centre=None)
    values: NDArray[np.floating] = kernel(X, X[:5], threads=2)
    diagonal: Array = kernel.diagonal(X)
    expansion: NDArray[np.floating] = kernel.expand(X, X[:5], y[:5], threads=2)
    gradient: Array = kernel.gradient(X, X[:5], np.ones((len(X), 5)), threads=2)
    span: blocks.KernelSpan = blocks.KernelSpan(kernel)
    joined: list[bool] = [span.append(x) for x in X[:6]]
    span.delete(0)
    distance, bound = span.novelty(X)
    W: Array = span.coordinates(X)
    a: Array = span.coefficients(W)
    L: Array = span.to_cholesky()
    size: int = span.size + span.n_refused + len(span.vectors)
    parts = (values, diagonal, expansion, gradient, distance, bound, W, a, L)
    return sum(float(np.sum(part)) for part in parts) + size + sum(joined)


def inverses(X: Array) -> float:
    """SymmetricInverse and UnsymmetricInverse."""
    symmetric: blocks.SymmetricInverse = blocks.SymmetricInverse(np.eye(2))
    done: list[bool] = [
        symmetric.update(X[0], 0.5),
        symmetric.update_block(X, np.ones(len(X))),
        symmetric.grow([0.1, 0.2], 3.0),
        symmetric.border([0.1, 0.2, 0.3], 2.0),
        symmetric.delete(-1),
    ]
    image: Array = symmetric.apply([1.0, 2.0, 3.0])
    form: float | Array = symmetric.quadratic(np.ones((2, 3)))
    unsymmetric: blocks.UnsymmetricInverse = blocks.UnsymmetricInverse(ridge=1.0, size=2)
    done += [
        unsymmetric.update(X[0], X[1], 0.1),
        unsymmetric.update_block(X[:2], X[2:4]),
        unsymmetric.grow([0.1, 0.2], [0.2, 0.1], 3.0),
        unsymmetric.border([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], 2.0),
        unsymmetric.delete(0),
    ]
    other: Array = unsymmetric.apply([1.0, 2.0, 3.0], transpose=True)
    mixed: float | Array = unsymmetric.quadratic([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    total = unsymmetric.sign() + float(np.sum(form)) + float(np.sum(mixed)) + float((image + other).sum())
    for inverse in (symmetric, unsymmetric):
        total += inverse.log_det() + inverse.condition() + inverse.size + inverse.n_refused
        total += float(inverse.diagonal().sum() + inverse.to_dense().sum())
    return total + sum(done)


def columns(X: Array, y: Array) -> float:
    """PseudoInverse."""
    part: blocks.PseudoInverse = blocks.PseudoInverse(
        len(X), weights=np.ones(len(X)), n_unpenalised=1, rank_tol=1e-10, threads=1
    )
    done: list[bool] = [part.append(np.ones(len(X))), part.append(X[:, 0]), part.append(X[:, 1])]
    part.pop()
    ridge: float = part.reestimate(y, ridge=part.best_ridge(y))
    a: Array = part.solve(y, ridge=ridge)
    e: Array = part.residual(y, ridge=ridge)
    gain: Array = part.error_reductions(X, y, ridge=ridge)
    found: blocks.Decomposition = part.decomposition()
    sums = [float(np.sum(v)) for v in (a, e, gain, part.to_dense(), found.Q, found.h, found.U)]
    return sum(sums) + part.gcv(y, ridge=ridge) + part.n_rows + part.size + part.n_refused + sum(done)


def least_squares(X: Array, y: Array) -> float:
    """RecursiveLeastSquares."""
    model: blocks.RecursiveLeastSquares = blocks.RecursiveLeastSquares(
        n_features=2, alpha=0.1, fit_intercept=True, forgetting=1.0
    )
    done: bool = model.update(X[0], float(y[0]), 2.0)
    refused: int = model.update_block(X, y, np.ones(len(X)))
    model = model.partial_fit(X, y).fit(X, y, sample_weight=np.ones(len(X)))
    mean, std = model.predict(X, return_std=True)
    one: float | Array = model.predict_one(X[0])
    model.grow(2)
    model.delete(3)
    scores: Array = model.deletion_scores()
    sums = [float(np.sum(v)) for v in (mean, std, one, scores, model.coef_, model.covariance_)]
    sums += [model.evidence(), model.gcv(), model.dof(), model.intercept_, model.cost_, model.noise_variance_]
    bank = blocks.RecursiveLeastSquares(forgetting=[1.0, 0.9]).fit(X, y)
    sums += [memory["weight"] for memory in bank.experts_]
    return sum(sums) + model.n_samples_seen_ + model.n_refused_ + refused + done


def functions(X: Array, y: Array) -> float:
    """The functions."""
    kernel = blocks.Kernel("rbf", gamma=0.5)
    pivots: blocks.PivotedCholesky = blocks.pivoted_cholesky(X, kernel, tol=1e-6, max_rank=5)
    found: blocks.Selection = blocks.forward_selection(X, y, kernel, max_basis=5, selection="residual", alpha=0.1)
    chosen, error = blocks.feature_vectors(X, kernel, 5, n_candidates=10, n_eval=10, seed=1)
    order: NDArray[np.int64] = blocks.deletion_path(X, y, kernel, X[chosen], alpha=0.1, target=2, fraction=0.5)
    sums = [float(np.sum(v)) for v in (*pivots, *found, error, order)]
    return sum(sums)


def state() -> float:
    """Copies and files."""
    one = blocks.SymmetricInverse(ridge=2.0, size=2).copy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "block.npz"
        one.save(path)
        other: blocks.SymmetricInverse = blocks.load(path)
    return float(abs(one.to_dense() - other.to_dense()).sum())


def main() -> list[float]:
    """All of it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.sin(X[:, 0])
    return [kernels(X, y), inverses(X), columns(X, y), least_squares(X, y), functions(X, y), state()]


if __name__ == "__main__":
    print(main())
