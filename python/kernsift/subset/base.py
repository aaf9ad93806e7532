"""What the subset-of-regressors estimators share: the basis, the sums over rows, the solution from them."""

from __future__ import annotations

import copy
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table, canonical_table, draw_seed
from ..base.expansion import Expansion, KernelExpansion
from ..base.kernel import kernel_name, wants_learning
from ..base.targets import Rows
from ..base.threads import n_threads
from ..base.validation import (
    check_rows,
    check_some_weight,
    check_unchanged,
    check_weights,
    forget,
    transaction,
    validate_data,
)
from ..base.warp import widths_of
from ..select.selectors import SUPERVISED
from ..widths.race import Sizes
from .choice import check_again, check_more, choose_basis, task_of
from .mean import fit_mean
from .parameters import SubsetParameters
from .polish import check_polish, polish
from .pruned import NEXT, PLENTY, Path, enough, errors_along, sizes_below
from .sketched import Sketched
from .state import FAST_GROWTH, LOO_GRID, Basis, SubsetState, ready

_EPS = np.finfo(np.float64).eps
# max_basis="auto" begins with _FIRST kernels, and goes down the path to _SMALLEST before it goes up.
_FIRST, _SMALLEST = 500, 60
# Parameters on which the basis and the sums do not depend.
_MAY_CHANGE = ("alpha", "keep_path", "keep_sums", "loss", "n_jobs", "noise")


class SubsetBase(Sketched, SubsetParameters, Expansion):
    """Parameters, basis, state and solution; the subclasses say what a target is."""

    # --- the basis ---

    def _table(self, rows: Rows) -> Table:
        return canonical_table(*rows, draw_seed(self.random_state), gamma=self.gamma)

    def _choose(self, table: Table, without_targets: bool = False) -> tuple[Basis, Path | None]:
        forget(self, "learned_gamma_", "path_", "_ridge")
        return choose_basis(self, table, without_targets)

    def _begin(self, basis: Basis, path: Path | None) -> None:
        self._basis, self._path = basis, path if self.keep_path and self.keep_sums else None
        self._state = None
        self._begun_with = {k: v for k, v in self.get_params(deep=False).items() if k not in _MAY_CHANGE}
        self.gamma_ = widths_of(basis.kernel)

    def _check_unchanged_params(self) -> None:
        """The sums keep the kernel and the basis they began with."""
        check_unchanged(self, self._begun_with, "the basis was chosen", "call fit")

    def _no_loo(self, what: str) -> None:
        if self.alpha == "loo":
            raise ValueError(f"alpha='loo' needs another pass over all rows, which {what} does not have; use 'gcv'")

    def _in_parts(self, what: str) -> None:
        """Refuse what needs all rows at once, or one model."""
        if self.n_models > 1:
            raise ValueError(
                f"{what} needs one model and n_models={self.n_models!r} makes the mean of several: set n_models=1"
            )
        if getattr(self, "class_weight", None) == "balanced":
            raise ValueError(
                f"class_weight='balanced' counts all rows, of which {what} sees a part: give the weight of each class"
            )

    def _needs_basis(self, what: str) -> None:
        self._needs_all(what)
        if self._basis is None:
            raise NotFittedError(f"{what} needs a basis: call select_basis, fit or partial_fit first")

    def _needs_all(self, what: str) -> None:
        super()._needs_all(what)
        if self._basis is None and self._expansion is not None:
            raise ValueError(f"{what} needs one model and this is the mean of several: fit with n_models=1")

    def _sums_for(self, what: str) -> None:
        self._needs_all(what)
        if not self.keep_sums or self._ridge is not None:
            raise ValueError(f"{what} needs the sums over the rows: fit with keep_sums=True")

    def _cap(self) -> int:
        """Kernels at most."""
        if self._chosen is not None and self._chosen.most is not None:
            return self._chosen.most
        return min(_FIRST, int(self.max_basis_limit)) if self.max_basis == "auto" else int(self.max_basis)

    def _prepare(self, rows: Rows) -> None:
        if self.max_basis == "auto" and not (isinstance(self.basis, str) and self.basis == "pruned"):
            raise ValueError(f"max_basis='auto' needs basis='pruned', got basis={self.basis!r}: give the number")
        super()._prepare(rows)

    def _sizes_on(self, trial: Self, rows: Rows) -> Sizes | None:
        path, by_doubling = trial._path, self.max_basis == "auto"
        if path is None or not (by_doubling or self.size == "held-out" or wants_learning(self.gamma)):
            return None
        plenty = self.size == "auto" and path.state.n_weighted >= PLENTY * self._cap()
        if not by_doubling and (self.size == "max" or plenty):
            return None
        if by_doubling:  # the same sizes in every split, whatever its rows span
            sizes = [n for n in sizes_below(self._cap(), 0.5) if n >= _SMALLEST] or [self._cap()]
        else:
            sizes = sizes_below(min(self._cap(), len(path.order)), NEXT)
        alpha = float(self.alpha) if isinstance(self.alpha, Real) else None
        errors = errors_along(path, sizes, alpha, bool(self.fit_intercept), rows.X, rows.targets, rows.weight)
        found = Sizes(np.array(sizes[::-1]), errors[::-1])
        least = found.enough() if by_doubling else enough(found._asdict(), self._cap())
        if least < trial.n_basis_ and self.alpha != "loo":
            trial.resize(least)
        return found

    # --- learning ---

    def _fit_rows(self, rows: Rows) -> None:
        if self.polish:
            check_polish(kernel_name(self), self.gamma)
        if self.n_models > 1:
            fit_mean(self, rows)
            return
        table = self._table(rows)
        self._solve(self._gather(table), table)
        if self.polish:
            moved = polish(task_of(self, self._basis.kernel, table), self._basis, self.alpha_, int(self.polish))
            if moved is not None:
                self._solve(self._sum(moved, None, table), table)
        self._finish(table)

    def _finish(self, table: Table) -> None:
        """What a fit to a whole table does beyond the solution from its sums."""

    def _gather(self, table: Table) -> SubsetState:
        """Choose the basis and sum over the rows on it."""
        return self._sum(*self._choose(table), table)

    def _sum(self, basis: Basis, path: Path | None, table: Table) -> SubsetState:
        """Sums over the rows on a basis, from the path that led to it if there is one."""
        self._begin(basis, path)
        rows, growth = (table.X, table.targets, table.weight), basis.growth()
        if path is not None and (growth < FAST_GROWTH or len(basis.vectors) == 1):
            state = replace(path.at(len(basis.vectors), basis), sketch=self._sketch(*rows))
        else:
            fast = path is None and growth < FAST_GROWTH
            if isinstance(self.alpha, Real):  # rounding far below the ridge, or exact sums
                fast = fast and float(self.alpha) > 1e3 * _EPS * growth * table.weight.sum()
            sketch, threads = self._sketch(*rows), n_threads(self.n_jobs)
            out = None if self.keep_sums else basis.spare
            state = SubsetState.of(basis, *rows, fast=fast, sketch=sketch, out=out, threads=threads)
        return replace(state, n_rows=len(table.given), n_weighted=table.n_weighted, log_weights=table.log_weights)

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
        if self._flat is None:  # no targets have been seen here
            self._flat = outputs == 1
        self._path = None  # its sums lack the new rows
        self._solve(first.merge(*rest), None)

    def _solve(self, state: SubsetState, table: Table | None) -> None:
        """Coefficients from the sums, for a number or a choice of alpha."""
        check_some_weight(np.array([state.weight]))
        problem = state.problem(bool(self.fit_intercept), n_threads(self.n_jobs))
        if isinstance(self.alpha, Real):
            alpha = float(self.alpha)
        elif self.alpha == "loo":
            assert table is not None
            grid = problem.largest * LOO_GRID[problem.precision <= LOO_GRID]
            rows: dict[str, Any] = {"X": table.X, "Y": table.targets, "weight": table.weight}
            errors = problem.loo_errors(**self._basis.core, **rows, alphas=grid)
            alpha = float(grid[int(np.argmin(errors))])
            self.loo_error_ = float(errors.min() / state.weight)
        else:
            alpha = problem.best_gcv()
        if not self.keep_sums:
            if not isinstance(self.alpha, Real):  # a ridge of noise-free rows is lost in the rounding of a factor
                while not problem.above_rounding(alpha):
                    alpha = 2.0 * max(alpha, problem.precision * problem.largest)
                problem = state.problem(bool(self.fit_intercept), n_threads(self.n_jobs))  # without the spectrum
            if not (problem.above_rounding(alpha) and problem.factor_in_place(alpha)):
                raise ValueError(
                    f"alpha={alpha!r} is below the rounding of the sums, which leaves no factor to keep: choose a "
                    "larger alpha, or keep_sums=True"
                )
        self._take(state, problem, alpha)

    def _take(self, state: SubsetState, problem: _core.RidgeProblem, alpha: float) -> None:
        found = ready(problem, alpha, *state.z.shape).solution(self._basis.L, alpha)
        if self.keep_sums:
            self._state = state
            forget(self, "_ridge")
        else:  # the ridge's factor is in the place of M
            self._state, self._ridge = state.without_sums(), state.M
        self.alpha_ = alpha
        self.n_samples_seen_ = state.n_rows
        self._coef, self._intercept = found["coef"], found["intercept"]
        self._cost, self._noise = found["cost"], found["noise_variance"]
        self._cache = {}  # filled on first use

    def _select_basis(self, X: ArrayLike, y: ArrayLike | None, sample_weight: Any, *classes: Any) -> None:
        self._validate_params()
        self._no_loo("select_basis")
        self._in_parts("select_basis")
        if y is None:
            if isinstance(self.basis, str) and self.basis in SUPERVISED:
                raise ValueError(f"basis={self.basis!r} looks at y: give y to select_basis")
            X_rows = validate_data(self, X, dtype=np.float64, order="C")
            if self.kernel == "auto":
                raise ValueError("kernel='auto' looks at y: give y to select_basis")
            rows = Rows(X_rows, np.zeros((len(X_rows), 1)), check_weights(sample_weight, X_rows))
            forget(self, "_flat")
        else:
            rows = self._checked(X, y, sample_weight, *classes)
            self._prepare(rows)
        forget(self, "_state", "_ridge")
        self._sums_for("select_basis")
        basis, _ = self._choose(self._table(rows), without_targets=y is None)
        self._begin(basis, None)
        forget(self, "_chosen")

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
        self._needs_basis("accumulate")
        self._in_parts("accumulate")
        self._check_unchanged_params()
        return self._sums_of(self._checked(X, y, sample_weight, begin=False))

    def _sums_of(self, rows: Rows) -> SubsetState:
        """Sums over rows on the basis there is."""
        check_rows(self._basis.kernel, rows.X)
        check_more(self, len(self._basis.vectors), rows.X, rows.targets.shape[1])
        sketch, threads = self._sketch(*rows), n_threads(self.n_jobs)
        return SubsetState.of(self._basis, *rows, sketch=sketch, threads=threads)

    def merge(self, *others: Any) -> Self:
        """Add the rows of others to this model: exact, in any order.  Without others, solve again (for a new alpha).

        Parameters
        ----------
        *others : SubsetState or fitted estimator
            On the same basis and kernel.
        """
        self._needs_basis("merge")
        self._no_loo("merge")
        self._sums_for("merge")
        if others:
            self._in_parts("merge")
        for other in others:
            if isinstance(other, SubsetBase) and getattr(other, "columns_", None) != getattr(self, "columns_", None):
                raise ValueError(
                    "the other model has learned other columns (columns_): choose the basis once (select_basis) and "
                    "accumulate every part on it"
                )
        states: list[Any] = [getattr(o, "_state", None) if isinstance(o, SubsetBase) else o for o in others]
        with transaction(self) as new:
            if states:
                new._add(states)
            elif new._state is not None:  # nothing new but perhaps alpha
                new._solve(new._state, None)
        return self

    def _go_on(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> None:
        self._no_loo("partial_fit")
        self._in_parts("partial_fit")
        self._sums_for("partial_fit")
        if self._basis is not None:
            self._check_unchanged_params()
        self._add([self._sums_on_first(X, y, sample_weight, *classes)])

    def _sums_on_first(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> SubsetState:
        """Sums over rows, on a basis chosen from them where there is none yet."""
        rows = self._checked(X, y, sample_weight, *classes, begin=self._basis is None)
        if self._basis is None:
            self._prepare(rows)
            self._begin(self._choose(self._table(rows))[0], None)
            forget(self, "_chosen")
        return self._sums_of(rows)

    def resize(self, n_basis: int) -> Self:
        """Go to another size on the path of deletions, without another pass over the rows.

        Parameters
        ----------
        n_basis : int
            At most the number of elements the deletion began with (``oversample * max_basis``); where a sample of the
            rows decided on the deletions, at most those that were chosen.
        """
        self._fitted()
        self._sums_for("resize")
        if self._path is None:
            raise ValueError(
                "resize needs the path of basis='pruned' as fit left it (no rows since; a "
                "pickle or file has it with keep_path=True)"
            )
        most = len(self._path.order)
        if not 1 <= n_basis <= most:
            raise ValueError(
                f"n_basis={n_basis!r} is not between 1 and the {most} elements the path holds; for more, fit with a "
                "larger max_basis"
            )
        self._no_loo("resize")
        with transaction(self) as new:
            assert new._state is not None
            assert new._path is not None
            check_again(new, int(n_basis), new._coef.shape[1], 2, "going down to")  # L and M
            rows = {
                name: getattr(new._state, name) for name in ("sketch", "n_rows", "n_weighted", "log_weights")
            }  # the caller's
            new._basis = new._path.basis_at(int(n_basis))
            state = new._path.at(int(n_basis), new._basis)
            new._solve(replace(state, **rows), None)
        return self

    # --- the model ---

    _basis: Basis = None  # type: ignore[assignment]  # until one is chosen
    _path: Path | None = None
    _state: SubsetState | None = None
    _ridge: Array | None = None  # with keep_sums=False, in the place of the sums: the ridge's factor
    _in_single = True
    _history = ("path_", "log_loss_")
    _cache: dict[str, Any]
    log_loss_: dict[str, float]  # of a classifier
    temperature_: float

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_cache" in state:
            state["_cache"] = {}
        if self.keep_path == "memory":
            state.pop("_path", None)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """With the path, as it stays in memory."""
        twin = type(self).__new__(type(self))
        for name, value in vars(self).items():
            setattr(twin, name, copy.deepcopy(value, memo))
        return twin

    def _model(self) -> KernelExpansion | None:
        basis = self._basis
        if basis is None or self._state is None:
            return self._expansion
        return KernelExpansion(
            basis.kernel_arguments, basis.vectors, basis.indices, self._coef, self._intercept, self._cost, self._noise
        )

    @property
    def state_(self) -> SubsetState:
        """The sums the model follows from; they add (see :meth:`merge`)."""
        self._fitted()
        self._needs_all("state_")
        state = self._state
        assert state is not None
        if not state.has_sums:
            raise AttributeError("the sums were not kept: fit with keep_sums=True")
        return state

    def _problem(self) -> _core.RidgeProblem:
        """The least-squares problem of the model as it is."""
        assert self._state is not None
        return self._state.problem(bool(self.fit_intercept), n_threads(self.n_jobs), self._ridge, self.alpha_)

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score at ``alpha_``, per output."""
        return self._columns(self.state_.problem(bool(self.fit_intercept)).gcv(self.alpha_))

    @property
    def log_evidence_(self) -> Any:
        """Log marginal likelihood of the Gaussian process with this basis, at its best signal scale."""
        return self._columns(self.state_.log_evidence(bool(self.fit_intercept), self.alpha_))
