"""Where the pruned LS-SVM starts from, and the two ways down from there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import _core
from ..select.selectors import select
from ..select.task import Task
from .lssvm import DenseProblem


def first_basis(
    kernel: _core.Kernel, X: NDArray[np.float64], max_start: int | None, random_state: Any
) -> NDArray[np.int64]:
    """Return the rows a path starts from: all, or ``max_start`` that span most of them where there are more.

    Those are drawn by randomly pivoted Cholesky: a random row, more likely the further it is from the span so far.
    """
    n = len(X)
    if max_start is None or n <= max_start:
        return np.arange(n, dtype=np.int64)
    seed = int(check_random_state(random_state).randint(2**31))
    chosen = select("rpcholesky", Task(kernel, X, np.ones(n), int(max_start), seed), fewer="max_start")
    return np.sort(chosen.indices)


def _too_small(alpha: float, n: int) -> ValueError:
    return ValueError(
        f"alpha={alpha!r} is too small for these {n} rows: the system is singular to working precision; raise alpha, "
        "or let alpha='loo' choose it"
    )


class IslsProblem:
    """A first basis, pivoted so that what repeats is left out; the errors of all rows count."""

    def __init__(
        self,
        kernel: _core.Kernel,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        fit_intercept: bool,
        part: NDArray[np.float64],
        start: NDArray[np.int64],
    ) -> None:
        self.kernel, self.X, self.y, self.fit_intercept, self.part = kernel, X, y, fit_intercept, part
        self.basis = _core.SparseBasis(kernel, X, start, pivot=True)

    def residuals(self, v: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
        return solve_on(self.basis, self.y, v, alpha, self.fit_intercept)["residual"]

    def loo_grid(self, v: NDArray[np.float64], alphas: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.basis.loo_grid(self.y, v, self.part, alphas, self.fit_intercept)

    def path(self, v: NDArray[np.float64], alpha: float, options: tuple[bool, float, int]) -> dict[str, Any]:
        found = self.basis.path(self.y, v, self.part, alpha, self.fit_intercept, *options)
        if found is None:
            raise _too_small(alpha, len(self.X))
        found["rows"] = self.basis.rows
        return found


class SlsProblem(DenseProblem):
    """The rows a path starts from, each with its kernel."""

    def __init__(
        self,
        kernel: _core.Kernel,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        fit_intercept: bool,
        part: NDArray[np.float64],
        start: NDArray[np.int64],
    ) -> None:
        super().__init__(kernel, X, y, fit_intercept, part)
        self.start = start
        self.whole = len(start) == len(X)
        self.started = self if self.whole else DenseProblem(kernel, X[start], y[start], fit_intercept, part[start])

    def residuals(self, v: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
        if self.whole:
            return super().residuals(v, alpha)
        found = self.started.solve(v[self.start], alpha)
        return self.y - self.kernel.expand(self.started.X, found["coef"], found["intercept"], self.X)

    def loo_grid(self, v: NDArray[np.float64], alphas: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.whole:
            return super().loo_grid(v, alphas)
        return self.started.loo_grid(v[self.start], alphas)

    def path(self, v: NDArray[np.float64], alpha: float, options: tuple[bool, float, int]) -> dict[str, Any]:
        started = self.started
        found = _core.sls_path(
            self.kernel, started.X, started.y, v[self.start], started.part, alpha, self.fit_intercept, *options
        )
        if found is None:
            raise _too_small(alpha, len(started.X))
        found["rows"] = self.start
        return found


def solve_on(
    basis: _core.SparseBasis, y: NDArray[np.float64], v: NDArray[np.float64], alpha: float, fit_intercept: bool
) -> dict[str, Any]:
    """Solve on one basis."""
    found = basis.solve(y, v, alpha, fit_intercept)
    if found is None:
        raise _too_small(alpha, len(y))
    return found
