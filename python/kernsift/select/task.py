"""What a selector is given and what it returns, and the kernel of a fit: what selectors and their users share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Canonical, Table, canonical_rows
from ..base.kernel import _MEDIAN_ROWS, kernel_name, make_kernel, resolve_gamma

#: Squared distance to the span of the others, relative to k(x, x), below which a row is no new direction.
INDEPENDENT_TOL = 1e-8
#: Of rows given by the caller: only what the arithmetic cannot tell from a dependent row is left out.
GIVEN_TOL = 1e-10
#: Rows that "ald" takes are at least this novel (TOL1 of the online estimators).
ALD_TOL = 1e-2
#: Memory, in MB, that a selector may spend on coordinates of all rows before it looks at a random part of them only.
CACHE_SIZE = 200.0


def kernel_for(estimator: Any, gamma: Any, X: Array, rows: Canonical) -> _core.Kernel:
    """Make the kernel of an estimator's parameters and of a gamma, from the rows whatever their order."""
    keys = _core.row_keys(X, 0)[rows.which]
    if not isinstance(gamma, str):
        widths = resolve_gamma(gamma, X[:1], rows.weight[:1])
    elif gamma == "median":
        widths = resolve_gamma(gamma, X[rows.which[:_MEDIAN_ROWS]], rows.weight[:_MEDIAN_ROWS])
    else:  # summed in an order that the seed does not change
        order = np.argsort(keys, kind="stable")
        widths = resolve_gamma(gamma, X[rows.which[order]], rows.weight[order], None, kernel_name(estimator))
    centre = X[rows.which[keys.argmin()]].copy()  # as of a `Table`
    return make_kernel(estimator, widths, X, rows.weight, centre=centre)


def kernel_of(estimator: Any, gamma: Any, table: Table) -> _core.Kernel:
    """Make the kernel of an estimator's parameters and of a gamma, from rows in canonical form."""
    X, weight = table.X, table.weight
    if isinstance(gamma, str) and gamma == "median":
        X = X[table.distinct.which[:_MEDIAN_ROWS]]
        weight = np.ones(len(X))
    return make_kernel(estimator, gamma, X, weight, centre=table.X[0])


@dataclass
class Task:
    """What a selector is given."""

    kernel: _core.Kernel
    X: Array
    weight: Array
    max_basis: int
    seed: int
    targets: Array | None = None  # (n, outputs), for the supervised ones
    fit_intercept: bool = True
    alpha: float | None = None  # None: chosen
    n_weighted: int | None = None  # rows as they were given, where X holds those that repeat once
    threads: int = 1
    scale_free: bool = False  # whether random rows are those of columns multiplied by anything
    _canonical: Canonical | None = None

    @property
    def rows(self) -> Canonical:
        """The rows in canonical form."""
        if self._canonical is None:
            self._canonical = canonical_rows(self.X, self.weight, self.seed, self.scale_free)
        return self._canonical

    def affordable(self, copies: int = 1) -> NDArray[np.int64]:
        """Canonical rows of whose coordinates `copies` fit into CACHE_SIZE; the first ones are a random part."""
        most = int(CACHE_SIZE * 2**20 / (8 * copies * min(self.max_basis, len(self.rows.which))))
        return self.rows.which[: max(most, self.max_basis)]

    def mean_targets(self) -> Array:
        """Weighted mean of the targets of equal rows."""
        assert self.targets is not None
        return self.rows.mean(self.weight, self.targets)


@dataclass(frozen=True)
class Chosen:
    """Basis vectors, and the rows of X they are (-1 where they are none)."""

    vectors: Array
    indices: NDArray[np.int64]
