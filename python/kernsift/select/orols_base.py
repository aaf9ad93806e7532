"""What the OROLS estimators share: parameters, the selection, the fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table, canonical_table, draw_seed
from ..base.draws import random_numbers
from ..base.expansion import Expansion, KernelExpansion
from ..base.kernel import parameter, parameters, wants_learning
from ..base.memory import ROW_VECTORS, check_memory
from ..base.threads import n_threads
from ..base.types import RandomState
from ..base.validation import (
    COUNT,
    NOT_NEGATIVE,
    Interval,
    RealNotInt,
    check_rows,
    check_some_weight,
    check_weights,
)
from ..base.warp import Warp, widths_of
from ..widths.learn_gamma import width_of
from ..widths.race import Racing
from .task import kernel_of

# Bounds of k(x, x): columns are squared and summed over the rows.
_SMALLEST, _LARGEST = 1e-70, 1e70


def _check_columns(kernel: Any, X: Array) -> None:
    """Refuse kernels whose columns have squared norms that leave the range of a double."""
    largest = float(kernel.diagonal(X).max())
    if largest and not _SMALLEST < largest < _LARGEST:
        raise ValueError(
            f"X gives kernel values up to {largest:.3g} with the {kernel.name} kernel: their squares leave the range "
            "of a double; rescale X, or change gamma, coef0 or degree"
        )


@parameters
class ForwardParameters(Racing):
    """Parameters of the OROLS estimators."""

    gammas: Sequence[float | ArrayLike] | NDArray[Any] | None = parameter("array-like", None, default=None)
    selection: Literal["residual", "error-reduction"] = parameter({"residual", "error-reduction"}, default="residual")
    n_candidates: int | None = parameter(COUNT, None, default=None)
    candidates: ArrayLike | None = parameter("array-like", None, default=None)
    alpha: float | Literal["gcv"] = parameter(NOT_NEGATIVE, {"gcv"}, default="gcv")
    stop: Literal["gcv", "evidence", "bic", "loo", "alpha"] | None = parameter(
        {"gcv", "evidence", "bic", "loo", "alpha"}, None, default="gcv"
    )
    patience: int = parameter(COUNT, default=10)
    tol: float = parameter(Interval(Real, 0, 1, closed="left"), default=0.0001)
    max_basis: int | float | None = parameter(COUNT, Interval(RealNotInt, 0, 1, closed="right"), None, default=500)
    error_tol: float = parameter(Interval(Real, 0, 1, closed="left"), default=0.0)
    max_condition: float = parameter(Interval(Real, 1, None, closed="neither"), default=10000000.0)
    fit_intercept: bool = parameter("boolean", default=True)
    cache_size: float = parameter(NOT_NEGATIVE, default=200)
    n_jobs: int | None = parameter(Integral, None, default=None)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)


class OROLSBase(ForwardParameters, Expansion):
    """Parameters, selection and prediction of the two estimators."""

    # --- fitting ---

    def _allowed(self, table: Table) -> NDArray[np.int64]:
        """Places in the table of the rows that may become kernels."""
        if self.candidates is None:
            return np.arange(len(table.X), dtype=np.int64)
        n = len(table.given)
        rows = np.asarray(self.candidates)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"candidates must be row numbers (a one-dimensional array of integers), got an array of "
                f"{rows.dtype} with shape {rows.shape}; use np.flatnonzero for a mask"
            )
        if rows.size and (rows.min() < 0 or rows.max() >= n):
            bad = rows[(rows < 0) | (rows >= n)][0]
            raise ValueError(f"candidates holds row number {bad} but X has rows 0 to {n - 1}")
        places = np.unique(table.group[rows])
        places = places[places >= 0]
        if not places.size:
            raise ValueError("candidates names no row of positive weight; give at least one, or None for all")
        return np.ascontiguousarray(places, dtype=np.int64)

    def _most(self, n: int) -> int:
        """Most kernels for n rows."""
        if self.max_basis is None:
            return n
        if isinstance(self.max_basis, Integral):
            return int(self.max_basis)
        return max(1, int(self.max_basis * n))

    def _way(self) -> dict[str, Any]:
        """How candidates are compared, as the core names it."""
        return {
            "selection": self.selection,
            "n_candidates": 0 if self.n_candidates is None else int(self.n_candidates),
            "cache_bytes": float(self.cache_size) * 1e6,
        }

    def _check_memory(self, n: int, d: int, outputs: int, candidates: int, widths: int) -> None:
        unknown = self.max_basis is None and self.stop is not None  # then they come a panel at a time
        most = 1 if unknown else min(self._most(n), candidates * widths, n)
        every = self.selection == "error-reduction" and self.n_candidates is None
        needed = _core.forward_selection_memory(
            **self._way(), n=n, d=d, outputs=outputs, candidates=candidates, widths=widths, most=most
        )
        check_memory(
            needed + n * ROW_VECTORS,
            f"a selection of up to {most} kernels on {n} rows",
            "lower max_basis (with None memory grows with the columns, until the stop rule ends them)"
            + (", n_candidates" if self.n_candidates is not None else "")
            + (", cache_size" if every else ""),
        )

    def _select(self, X: Array, targets: list[Array], weight: Array) -> list[dict[str, Any]]:
        """Run one selection for each block of targets and keep what the kernels are made of."""
        if self.n_candidates is not None and self.selection == "residual":
            raise ValueError(
                f"n_candidates={self.n_candidates!r} draws the candidates of selection='error-reduction'; "
                "selection='residual' looks at every row: leave n_candidates at None or change selection"
            )
        if self.stop == "alpha" and self.alpha != "gcv":
            raise ValueError(
                f"stop='alpha' waits for a re-estimated alpha to settle but alpha={self.alpha!r} is fixed; "
                "use alpha='gcv', or stop='gcv' or None"
            )
        if self.stop == "evidence" and self.alpha == 0:
            raise ValueError(
                "stop='evidence' needs alpha > 0: without a ridge there is no prior; use stop='bic' or 'loo'"
            )
        widths = [self.gamma] if self.gammas is None else list(self.gammas)
        if not widths:
            raise ValueError("gammas is empty: give at least one width, or None to use gamma")
        table = canonical_table(X, np.hstack(targets), weight, draw_seed(self.random_state), gamma=self.gamma)
        widths = [width_of(self, table, g) if wants_learning(g) else g for g in widths]
        if len(widths) > 1 and any(isinstance(g, Warp) for g in widths):
            raise ValueError("gammas takes numbers and one width per feature; a Warp stands alone, as gamma")
        kernels = [kernel_of(self, g, table) for g in widths]
        for kernel in kernels:
            check_rows(kernel, X)
            _check_columns(kernel, X)
        allowed = self._allowed(table)
        widest = max(b.shape[1] for b in targets)
        self._check_memory(len(table.X), X.shape[1], widest, len(allowed), len(kernels))
        random = random_numbers(self.random_state)
        found = []
        ends = np.cumsum([block.shape[1] for block in targets])
        for block in np.split(table.targets, ends[:-1], axis=1):
            # Squares of large targets times squares of large columns overflow; a power of two changes no digit.
            unit = 2.0 ** np.floor(np.log2(np.abs(block).max(initial=0.0) or 1.0))
            rows: dict[str, Any] = {
                "X": table.X,
                "Y": np.ascontiguousarray(block / unit),
                "sample_weight": table.weight,
            }
            seed = int(random.randint(np.iinfo(np.int32).max))
            result = _core.forward_selection(
                kernels, **rows, candidates=allowed, rows=table.n_weighted, seed=seed, **self._settings(len(table.X))
            )
            result["chosen"] = table.rows[result["chosen"]]
            left_out = result["left_out_rows"]
            result["left_out_rows"], result["left_out_weight"] = table.rows[left_out], table.weight[left_out]
            for name in ("coef", "intercept", "left_out_errors"):
                result[name] *= unit
            for name in ("gcv_path", "rss_path", "score_path", "rss", "cost", "noise"):
                result[name] *= unit * unit
            found.append(result)
        self._kernel_arguments = kernels[0].__reduce__()[1]
        self.gammas_ = np.array([k.gamma for k in kernels])
        self.n_samples_seen_ = len(X)
        return found

    def _settings(self, n: int) -> dict[str, Any]:
        """Settings of the core for n distinct rows."""
        part = 1.0 if self.max_basis is None else 0.0 if isinstance(self.max_basis, Integral) else float(self.max_basis)
        return {
            **self._way(),
            "reestimate": self.alpha == "gcv",
            "alpha": 0.0 if self.alpha == "gcv" else float(self.alpha),
            "stop": "none" if self.stop is None else self.stop,
            "patience": int(self.patience),
            "tol": float(self.tol),
            "max_basis": self._most(n),
            "part": part,
            "error_tol": float(self.error_tol),
            "max_condition": float(self.max_condition),
            "fit_intercept": bool(self.fit_intercept),
            "threads": n_threads(self.n_jobs),
        }

    def _keep(
        self,
        X: Array,
        indices: NDArray[np.int64],
        which: NDArray[np.intp],
        coef: Array,
        found: list[dict[str, Any]],
    ) -> None:
        """Take over a model on rows of X, each with one of the kernels, from the selections that led to it."""
        intercept, cost, noise = (np.concatenate([f[name] for f in found]) for name in ("intercept", "cost", "noise"))
        gammas = self.gammas_ if len(self.gammas_) > 1 else None
        self._expansion = KernelExpansion(
            self._kernel_arguments, X[indices], indices, coef, intercept, cost, noise, gammas, which
        )
        self._has_intercept = bool(self.fit_intercept)
        facts = {
            "alpha_": [float(f["alpha_path"][f["n_basis"]]) for f in found],
            "gcv_": [float(f["gcv_path"][f["n_basis"]]) for f in found],
            "gcv_path_": [f["gcv_path"] for f in found],
            "score_path_": [f["score_path"] for f in found],
            "alpha_path_": [f["alpha_path"] for f in found],
            "error_path_": [f["rss_path"] / f["rows"] for f in found],
            "selection_path_": [f["chosen"] for f in found],
            "n_dependent_": [f["n_dependent"] for f in found],
            "stopped_by_": [f["ending"] for f in found],
        }
        for name, values in facts.items():
            several = np.array(values) if name in ("alpha_", "gcv_") else values
            setattr(self, name, values[0] if len(values) == 1 else several)

    def _keep_one(self, X: Array, found: dict[str, Any]) -> None:
        """Take over the model of one selection."""
        m = found["n_basis"]
        self._keep(X, found["chosen"][:m], found["width"][:m], found["coef"], [found])

    # --- the fitted model ---

    _has_intercept: bool
    _spread: Array  # of a regressor: S with SS' the covariance of the coefficients, in units of the noise
    gammas_: Array
    alpha_: Any
    gcv_: Any
    stopped_by_: Any

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_from_version_0_1(state) if "_coef" in state else state)

    @property
    def gamma_(self) -> Array | Warp:
        """Width in use, one per feature, or the warp; the first of ``gammas``."""
        return widths_of(self._fitted().kernel)

    @property
    def basis_gammas_(self) -> Array:
        """Width of each kernel, (n_basis_, n_features_in_)."""
        return self.gammas_[self._fitted().which]

    def _design(self, X: Array, which: NDArray[np.intp] | slice = slice(None)) -> Array:
        """[1 k(X, basis)], the constant only with an intercept."""
        model = self._fitted()
        vectors, widths, bias = model.basis[which], model.which[which], int(self._has_intercept)
        design = np.ones((len(X), bias + len(vectors)))
        for g, kernel in enumerate(model.kernels()):
            mine = np.flatnonzero(widths == g)
            if mine.size:
                design[:, bias + mine] = kernel.matrix(X, np.ascontiguousarray(vectors[mine]))
        return design

    def _pseudoinverse(self, X: ArrayLike, sample_weight: ArrayLike | None, which: NDArray[np.intp] | slice) -> Array:
        X = self._rows(X)
        weight = check_weights(sample_weight, X)
        check_some_weight(weight)
        root = np.sqrt(weight)
        n, m = len(X), self.n_basis_ + 1
        # the design twice, Q, and Q'/h as it is solved and as it is given back
        check_memory(5 * n * m, f"a pseudoinverse of {n} rows and {m} columns", "give fewer rows, or lower max_basis")
        basis = _core.PseudoInverse(n)
        for j, column in enumerate((self._design(X, which) * root[:, None]).T):
            if not basis.append(np.ascontiguousarray(column)):
                raise ValueError(
                    f"column {j} of the design on these {len(X)} rows depends on those before it, so the "
                    "recursion has no next column; give the rows the model was fitted to"
                )
        return basis.pseudoinverse() * root


def _from_version_0_1(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a model saved before its vectors and coefficients stood together."""
    parts = dict(state)
    kernel, gammas = parts.pop("_kernel_state"), parts["gammas_"]
    arguments = (kernel["name"], gammas[0], kernel["degree"], kernel["coef0"], kernel["centre"])
    names = ("basis_vectors_", "basis_indices_", "_coef", "_intercept")
    vectors, indices, coef, intercept = (parts.pop(name) for name in names)
    cost, noise = (np.atleast_1d(parts.pop(name)) for name in ("cost_", "noise_variance_"))
    which, several = parts.pop("_widths"), gammas if len(gammas) > 1 else None
    expansion = KernelExpansion(arguments, vectors, indices, coef, intercept, cost, noise, several, which)
    return {**parts, "_kernel_arguments": arguments, "_expansion": expansion}
