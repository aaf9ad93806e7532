"""What the subset-of-regressors estimators share: the basis, the sums over rows, the solution from them."""

from __future__ import annotations

import sys
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..base.canonical import Table, canonical_table, draw_seed
from ..base.estimator import Estimator
from ..base.kernel import LEARNING_CONSTRAINTS
from ..base.progress import progress
from ..base.threads import n_threads
from ..base.validation import (
    Interval,
    StrOptions,
    check_is_fitted,
    check_rows,
    check_unchanged,
    check_weights,
    is_empty_block,
    replaced_at_once,
    validate_data,
)
from ..io.record_batches import Columns, batches_of
from ..select.feature_vectors import FeatureVectorSelector
from ..select.selectors import SELECTORS, SUPERVISED
from .choice import check_again, check_more, choose_basis, task_of
from .polish import check_polish, polish
from .pruned import Path
from .state import FAST_GROWTH, LOO_GRID, Basis, Sketch, SubsetState, ready

Array = NDArray[np.float64]
_EPS = np.finfo(np.float64).eps
# Parameters that the basis and the sums do not know.
_MAY_CHANGE = ("alpha", "keep_path", "keep_sums", "n_jobs")


class SubsetBase(Estimator):
    """Parameters, basis, state and solution; the subclasses say what a target is."""

    _parameter_constraints: dict[str, list[Any]] = {
        **LEARNING_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"gcv", "loo"})],
        "basis": [StrOptions(set(SELECTORS)), FeatureVectorSelector, "array-like"],
        "max_basis": [Interval(Integral, 1, None, closed="left")],
        "size": [StrOptions({"auto", "max", "held-out"})],
        "polish": [Interval(Integral, 0, None, closed="left")],
        "oversample": [Interval(Real, 1, 1e6, closed="both")],
        "cycles": [Interval(Integral, 1, None, closed="left")],
        "keep_path": ["boolean"],
        "keep_sums": ["boolean"],
        "fit_intercept": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: str | float | ArrayLike = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        alpha: float | str = "gcv",
        basis: Any = "pruned",
        max_basis: int = 500,
        size: str = "auto",
        polish: int = 0,
        oversample: float = 3.0,
        cycles: int = 1,
        keep_path: bool = True,
        keep_sums: bool = True,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.basis = basis
        self.max_basis = max_basis
        self.size = size
        self.polish = polish
        self.oversample = oversample
        self.cycles = cycles
        self.keep_path = keep_path
        self.keep_sums = keep_sums
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- the basis ---

    def _table(self, X: Array, targets: Array, weight: Array) -> Table:
        return canonical_table(X, targets, weight, draw_seed(self.random_state))

    def _choose(self, table: Table, without_targets: bool = False) -> tuple[Basis, Path | None]:
        for name in ("learned_gamma_", "path_", "_ridge"):
            self.__dict__.pop(name, None)
        return choose_basis(self, table, without_targets)

    def _begin(self, basis: Basis, path: Path | None) -> None:
        self._basis, self._path = basis, path if self.keep_path and self.keep_sums else None
        self._state: SubsetState | None = None
        self._begun_with = {k: v for k, v in self.get_params(deep=False).items() if k not in _MAY_CHANGE}
        self.gamma_ = basis.kernel_arguments[1]

    def _check_unchanged_params(self) -> None:
        """The sums keep the kernel and the basis they began with."""
        check_unchanged(self, self._begun_with, "the basis was chosen", "call fit")

    def _no_loo(self, what: str) -> None:
        if self.alpha == "loo":
            raise ValueError(f"alpha='loo' needs another pass over all rows, which {what} does not have; use 'gcv'")

    def _sums_for(self, what: str) -> None:
        if not self.keep_sums or "_ridge" in self.__dict__:
            raise ValueError(f"{what} needs the sums over the rows: fit with keep_sums=True")

    # --- learning ---

    def _fit_rows(self, X: Array, targets: Array, weight: Array) -> None:
        if not (self.keep_sums or isinstance(self.alpha, Real)):
            raise ValueError(f"keep_sums=False needs a number for alpha, got {self.alpha!r}, chosen by the sums")
        if self.polish:
            check_polish(self.kernel)
        table = self._table(X, targets, weight)
        self._solve(self._gather(table), table)
        if self.polish:
            moved = polish(task_of(self, self._basis.kernel, table), self._basis, self.alpha_, int(self.polish))
            if moved is not None:
                self._solve(self._sum(moved, None, table), table)

    def _gather(self, table: Table) -> SubsetState:
        """Choose the basis and sum over the rows on it."""
        return self._sum(*self._choose(table), table)

    def _sum(self, basis: Basis, path: Path | None, table: Table) -> SubsetState:
        """Sums over the rows on a basis, from the path that led to it if there is one."""
        self._begin(basis, path)
        rows, growth = (table.X, table.targets, table.weight), basis.growth()
        if path is not None and (growth < FAST_GROWTH or len(basis.vectors) == 1):
            state = self._with_sketch(path.at(len(basis.vectors), basis), *rows)
        else:
            fast = path is None and growth < FAST_GROWTH
            if isinstance(self.alpha, Real):  # rounding far below the ridge, or exact sums
                fast = fast and float(self.alpha) > 1e3 * _EPS * growth * table.weight.sum()
            sketch, threads = self._sketch(*rows), n_threads(self.n_jobs)
            out = None if self.keep_sums else basis.spare
            state = SubsetState.of(basis, *rows, fast=fast, sketch=sketch, out=out, threads=threads)
        return replace(state, n_rows=len(table.given), n_weighted=table.n_weighted)

    def _expect(self, state: SubsetState) -> None:
        """Take over from the first state what no rows have told yet."""
        self.__dict__.setdefault("_flat", state.z.shape[1] == 1)

    def _sketch(self, X: Array, targets: Array, weight: Array) -> Sketch | None:
        return None

    def _with_sketch(self, state: SubsetState, X: Array, targets: Array, weight: Array) -> SubsetState:
        return state

    def _add(self, states: list[SubsetState]) -> None:
        for state in states:
            if not isinstance(state, SubsetState):
                raise TypeError(f"merge takes states or fitted estimators on the same basis, got {state!r}")
            if state.digest != self._basis.digest():
                raise ValueError(
                    "the state was summed on another basis or kernel and cannot be merged; choose the basis once "
                    "(select_basis) and accumulate every part on it"
                )
        first, *rest = ([] if self._state is None else [self._state]) + states
        m, outputs = first.z.shape
        check_again(self, m, outputs, min(len(rest), 2), "merging sums on")  # the sum so far, and with one more
        self._expect(first)
        self._path = None  # its sums lack the new rows
        self._solve(first.merge(*rest), None)

    def _solve(self, state: SubsetState, table: Table | None) -> None:
        """Coefficients from the sums, with alpha as asked for."""
        if not state.weight > 0:
            raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
        problem = state.problem(bool(self.fit_intercept), n_threads(self.n_jobs))
        if isinstance(self.alpha, Real):
            alpha = float(self.alpha)
            if not self.keep_sums and not (problem.above_rounding(alpha) and problem.factor_in_place(alpha)):
                raise ValueError(
                    f"alpha={alpha!r} is below the rounding of the sums, which leaves no factor to keep: choose a "
                    "larger alpha, or keep_sums=True"
                )
        elif self.alpha == "loo":
            assert table is not None
            grid = problem.largest * LOO_GRID[problem.precision <= LOO_GRID]
            rows: dict[str, Any] = {"X": table.X, "Y": table.targets, "weight": table.weight}
            errors = problem.loo_errors(**self._basis.core, **rows, alphas=grid)
            alpha = float(grid[int(np.argmin(errors))])
            self.loo_error_ = float(errors.min() / state.weight)
        else:
            alpha = problem.best_gcv()
        self._take(state, problem, alpha)

    def _take(self, state: SubsetState, problem: _core.RidgeProblem, alpha: float) -> None:
        found = ready(problem, alpha, *state.z.shape).solution(self._basis.L, alpha)
        if self.keep_sums:
            self._state = state
            self.__dict__.pop("_ridge", None)
        else:  # the ridge's factor is in the place of M
            self._state, self._ridge = state.without_sums(), state.M
        self.alpha_ = alpha
        self.n_samples_seen_ = state.n_rows
        self._coef, self._intercept = found["coef"], found["intercept"]
        self._cost, self._noise = found["cost"], found["noise_variance"]

    def _select_basis(self, X: ArrayLike, y: ArrayLike | None, sample_weight: Any, classes: Any) -> Self:
        self._validate_params()
        self._no_loo("select_basis")
        self._sums_for("select_basis")
        with replaced_at_once(self) as new:
            if y is None:
                if isinstance(new.basis, str) and new.basis in SUPERVISED:
                    raise ValueError(f"basis={new.basis!r} looks at y: give y to select_basis")
                rows = validate_data(new, X, dtype=np.float64, order="C")
                weight = check_weights(sample_weight, rows)
                new.__dict__.pop("_flat", None)
                targets = np.zeros((len(rows), 1))
            else:
                rows, targets, weight = new._block(X, y, sample_weight, classes, restart=True)
            new.__dict__.pop("_state", None)
            basis, _ = new._choose(new._table(rows, targets, weight), without_targets=y is None)
            new._begin(basis, None)
        return self

    def accumulate(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SubsetState:
        """Sum over rows on the chosen basis and return the sums; the model stays as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        SubsetState
            To be added to others (`state.merge(other)`) and to a model (`model.merge(state)`).
        """
        check_is_fitted(self, "_basis", msg="accumulate needs a basis: call select_basis, fit or partial_fit first")
        self._check_unchanged_params()
        return self._sums_of(*self._block(X, y, sample_weight, None, restart=False))

    def _sums_of(self, rows: Array, targets: Array, weight: Array) -> SubsetState:
        """Sums over rows on the basis there is."""
        check_rows(self._basis.kernel, rows)
        check_more(self, len(self._basis.vectors), rows, targets.shape[1])
        sketch, threads = self._sketch(rows, targets, weight), n_threads(self.n_jobs)
        return SubsetState.of(self._basis, rows, targets, weight, sketch=sketch, threads=threads)

    def merge(self, *others: Any) -> Self:
        """Add the rows of others to this model: exact, in any order.  Without others, solve again (for a new alpha).

        Parameters
        ----------
        *others : SubsetState or fitted estimator
            On the same basis and kernel.
        """
        check_is_fitted(self, "_basis", msg="merge needs a basis: call select_basis, fit or partial_fit first")
        self._no_loo("merge")
        self._sums_for("merge")
        states: list[Any] = [getattr(o, "_state", None) if isinstance(o, SubsetBase) else o for o in others]
        with replaced_at_once(self) as new:
            if states:
                new._add(states)
            elif new._state is not None:  # nothing new but perhaps alpha
                new._solve(new._state, None)
        return self

    def _partial(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, classes: Any) -> None:
        self._no_loo("partial_fit")
        self._sums_for("partial_fit")
        restart = "_basis" not in self.__dict__
        if not restart:
            self._check_unchanged_params()
        rows, targets, weight = self._block(X, y, sample_weight, classes, restart=restart)
        if restart:
            self._begin(self._choose(self._table(rows, targets, weight))[0], None)
        self._add([self._sums_of(rows, targets, weight)])

    def _block(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any, classes: Any, restart: bool
    ) -> tuple[Array, Array, Array]:
        raise NotImplementedError

    def _batches(self, batches: Any, classes: Any, target: Any, weight: str | None, verbose: bool) -> Self:
        """Learn batches one after another; solve once, at the end."""
        self._validate_params()
        self._no_loo("fit_batches")
        self._sums_for("fit_batches")
        batches, n_rows = batches_of(batches)
        columns = Columns(target, weight)
        interrupted = False
        with replaced_at_once(self) as new, progress(n_rows, sys.stderr, hidden=not verbose) as advance:
            for name in ("_basis", "_state"):
                new.__dict__.pop(name, None)
            total: SubsetState | None = None
            try:
                for batch in batches:
                    X, y, *v = columns.split(batch)
                    if is_empty_block(X):
                        continue
                    part = new._sums_of_batch(X, y, v[0] if v else None, classes)
                    if total is not None:
                        check_again(new, len(total.z), total.z.shape[1], 1, "adding a batch to sums on")
                    total = part if total is None else total.merge(part)
                    advance("learning", part.n_rows)
            except KeyboardInterrupt:
                if total is None:
                    raise
                interrupted = True
            if total is None:
                raise ValueError("fit_batches got no rows: the iterable of batches is empty (or used up)")
            new._solve(total, None)
            if columns.names is not None:
                new.feature_names_in_ = np.array(columns.names, dtype=object)
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _sums_of_batch(self, X: Any, y: Any, weight: Any, classes: Any) -> SubsetState:
        restart = "_basis" not in self.__dict__
        rows = self._block(X, y, weight, classes, restart=restart)
        if restart:
            self._begin(self._choose(self._table(*rows))[0], None)
        return self._sums_of(*rows)

    def resize(self, n_basis: int) -> Self:
        """Go to another size on the path of deletions, without another pass over the rows.

        Parameters
        ----------
        n_basis : int
            At most the number of elements the deletion began with (``oversample * max_basis``).
        """
        check_is_fitted(self)
        self._sums_for("resize")
        if self._path is None:
            raise ValueError("resize needs the path of basis='pruned' as fit left it (keep_path=True, no rows since)")
        most = len(self._path.order)
        if not 1 <= n_basis <= most:
            raise ValueError(f"n_basis={n_basis!r} is not between 1 and the {most} elements the deletion began with")
        self._no_loo("resize")
        with replaced_at_once(self) as new:
            assert new._state is not None
            check_again(new, int(n_basis), new._coef.shape[1], 2, "going down to")  # L and M
            rows = {name: getattr(new._state, name) for name in ("sketch", "n_rows", "n_weighted")}  # the caller's
            new._basis = new._path.basis_at(int(n_basis))
            state = new._path.at(int(n_basis), new._basis)
            new._solve(SubsetState(**{**state.__dict__, **rows}), None)
        return self

    # --- the model ---

    _flat: bool  # one output given as a vector: answers are vectors too
    _ridge: Array | None  # with keep_sums=False, in the place of the sums: the ridge's factor

    def __sklearn_is_fitted__(self) -> bool:
        return self.__dict__.get("_state") is not None

    def _fitted(self, name: str) -> Any:
        check_is_fitted(self)
        return self.__dict__[name]

    def _per_output(self, values: Array) -> Any:
        return float(values[0]) if self._flat else values

    @property
    def basis_vectors_(self) -> Array:
        """The kernels' centres, (n_basis_, n_features_in_)."""
        return self._fitted("_basis").vectors

    @property
    def basis_indices_(self) -> NDArray[np.int64]:
        """Row numbers of the kernels' centres in the table they were chosen from; -1 for vectors that are no rows."""
        return self._fitted("_basis").indices

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the kernels, (n_basis_,) or (n_basis_, outputs)."""
        coef = self._fitted("_coef")
        return coef[:, 0] if self._flat else coef

    @property
    def intercept_(self) -> Any:
        """The constant, one per output."""
        return self._per_output(self._fitted("_intercept"))

    @property
    def n_basis_(self) -> int:
        """Number of kernels."""
        return len(self.basis_vectors_)

    @property
    def state_(self) -> SubsetState:
        """The sums the model follows from; they add (see :meth:`merge`)."""
        state = self._fitted("_state")
        if not state.has_sums:
            raise AttributeError("the sums were not kept: fit with keep_sums=True")
        return state

    def _problem(self) -> _core.RidgeProblem:
        """The least-squares problem of the model as it is."""
        state, ridge = self._fitted("_state"), self.__dict__.get("_ridge")
        return state.problem(bool(self.fit_intercept), n_threads(self.n_jobs), ridge, self.alpha_)

    @property
    def cost_(self) -> Any:
        """Regularised cost ξ, per output."""
        return self._per_output(self._fitted("_cost"))

    @property
    def noise_variance_(self) -> Any:
        """Estimate of the noise variance from the cost, per output."""
        return self._per_output(self._fitted("_noise"))

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score at ``alpha_``, per output."""
        return self._per_output(self.state_.problem(bool(self.fit_intercept)).gcv(self.alpha_))

    def _scores(self, X: ArrayLike) -> NDArray[Any]:
        """f(x), in single precision for rows that come in it."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        kernel = self._basis.kernel
        expand = kernel.expand_single if rows.dtype == np.float32 else kernel.expand
        coef = np.ascontiguousarray(self._coef)
        return expand(self._basis.vectors, coef, self._intercept, rows, n_threads(self.n_jobs))
