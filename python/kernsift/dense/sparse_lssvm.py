"""Pruned LS-SVM, ISLS and SLS: estimators over ``cpp/core/batch/sparse_lssvm.hpp`` and ``sls_path.hpp``."""

from __future__ import annotations

import copy
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table, canonical_table, draw_seed
from ..base.draws import random_numbers
from ..base.kernel import parameter, parameters
from ..base.left_out import LeftOut
from ..base.memory import ROW_VECTORS, check_memory
from ..base.noise import NoiseField
from ..base.targets import Rows
from ..base.validation import COUNT, NOT_NEGATIVE, Interval, RealNotInt
from ..select.selectors import select
from ..select.task import Task
from .base import BatchClassifier, BatchLSSVM, BatchRegressor
from .sparse_left_out import rows_left_out

METHODS = ("isls", "sls")
PRUNINGS = ("cost", "coefficient")


def first_basis(kernel: _core.Kernel, X: Array, max_start: int | None, random_state: Any) -> NDArray[np.int64]:
    """Return the rows a path starts from: all, or ``max_start`` that span most of them where there are more.

    Those are drawn by randomly pivoted Cholesky: a random row, more likely the further it is from the span so far.
    """
    n = len(X)
    if max_start is None or n <= max_start:
        return np.arange(n, dtype=np.int64)
    seed = int(random_numbers(random_state).randint(2**31))
    chosen = select("rpcholesky", Task(kernel, X, np.ones(n), int(max_start), seed), fewer="max_start")
    return np.sort(chosen.indices)


@parameters
class _SparseLSSVM(BatchLSSVM):
    """Pruning of the kernels of a fit."""

    method: Literal["isls", "sls"] = parameter(set(METHODS), default="isls")
    pruning: Literal["cost", "coefficient"] = parameter(set(PRUNINGS), default="cost")
    step: int | float = parameter(COUNT, Interval(RealNotInt, 1e-9, 1, closed="neither"), default=1)
    max_basis: int | None = parameter(COUNT, None, default=100)
    tol: float | None = parameter(NOT_NEGATIVE, None, default=None)
    max_start: int | None = parameter(COUNT, None, default=2000)
    reselect: bool = parameter("boolean", default=False)
    keep_path: bool = parameter("boolean", default=True)

    # --- fitting ---

    def _fit_rows(self, rows: Rows) -> None:
        if self.reselect and (self.method != "sls" or self.alpha != "loo"):
            raise ValueError(
                f"reselect=True re-selects alpha at every step of method='sls' with alpha='loo'; got "
                f"method={self.method!r}, alpha={self.alpha!r}"
            )
        self._drawn: int | None = None  # the seed of this fit
        self._fitted_method = self.method
        super()._fit_rows(rows)

    def _check_memory(self, n: int, d: int, outputs: int) -> None:
        start = n if self.max_start is None else min(n, int(self.max_start))
        made = _core.SparseProblem if self.method == "isls" else _core.DenseProblem
        needed = made.path_memory(n=n, start=start, d=d, outputs=outputs, step=float(self.step))
        check_memory(
            needed + n * ROW_VECTORS,
            f"a path that starts from {start} kernels on {n} rows",
            "lower max_start (the path then starts from a subset of the rows), or use an online estimator",
        )

    def _make_problem(self, kernel: _core.Kernel, table: Table, part: Array) -> Any:
        start = first_basis(kernel, table.X, self.max_start, self._seed())
        made = _core.SparseProblem if self.method == "isls" else _core.DenseProblem
        rows: dict[str, Any] = {"X": table.X, "Y": table.targets, "part": part, "start": start}
        return made(kernel, **rows, fit_intercept=bool(self.fit_intercept))

    def _seed(self) -> Any:
        """One seed a fit, so that every width starts from the same rows."""
        if isinstance(self.random_state, Integral):
            return self.random_state
        if self._drawn is None:
            self._drawn = draw_seed(self.random_state)
        return self._drawn

    def _take(self, problem: Any, table: Table, targets: Array, v: Array) -> None:
        must_hit = 0 if self.max_basis is None else int(self.max_basis)
        options = {"by_cost": self.pruning == "cost", "step": float(self.step), "must_hit": must_hit}
        alphas = self._alphas() if self.reselect else None
        found = {"rows": problem.rows, **problem.path(v, self.alpha_, alphas=alphas, **options)}
        sizes, X = found["n_basis"], table.given
        self.path_ = {
            "n_basis": sizes,
            "cost": self._columns(found["cost"]),
            "loo_error": found["loo"],
            "alpha": found["alpha"],
            "kernels": table.rows[found["rows"][found["order"]]],
        }
        k = self._choose(sizes, found["loo"])
        # everything at_size needs; `order` counts in `rows`, the kernels of the start as pivoted, and those in the rows
        # of positive weight
        used = np.flatnonzero(table.group >= 0)
        self._path = {**found, "rows": np.searchsorted(used, table.rows[found["rows"]])}
        self._training = (X.copy(), targets.copy())  # the caller's may change
        self._adopt(k)
        self._solution = self._solve_again()
        coef, intercept, cost = (self._solution.pop(name) for name in ("coef", "intercept", "cost"))
        self._keep_model(X, self.basis_indices_, coef, intercept, cost)
        if not self.keep_path:
            self._finish()
            del self._path, self._training

    def _finish(self) -> None:
        """What needs the rows of the fit, which go."""

    def _choose(self, sizes: NDArray[np.int64], loo: Array) -> int:
        """Place in the path of the model to keep: the largest allowed, or the smallest before the error rises."""
        allowed = np.ones(len(sizes), bool) if self.max_basis is None else sizes <= self.max_basis
        if self.tol is not None and np.isfinite(loo[allowed]).any():
            # mean squares: tol is relative to the root
            allowed &= loo <= np.nanmin(loo[allowed]) * (1.0 + float(self.tol)) * (1.0 + float(self.tol))
            return int(np.flatnonzero(allowed)[-1])
        return int(np.flatnonzero(allowed)[0])

    def _adopt(self, k: int) -> None:
        """Take the recorded model number k."""
        path = self._path
        sizes, outputs = path["n_basis"], path["intercept"].shape[1]
        n, before = int(sizes[k]), int(sizes[:k].sum())
        positions = np.sort(path["order"][:n])
        coef = path["coef"][before * outputs : (before + n) * outputs].reshape(n, outputs)
        used = np.flatnonzero(self._sample_weight > 0)
        rows = used[path["rows"][positions]]
        ascending = np.argsort(rows)
        self._places = positions[ascending]  # of the kernels, in the order of the pivots
        self.alpha_ = float(path["alpha"][k])
        if self._fitted_method == "sls":  # the other rows are out of the cost
            group = self._table().group
            self._effective_rows = self._rows_for_noise(np.flatnonzero(np.isin(group, group[rows])))
        self._keep_model(self._training[0], rows[ascending], coef[ascending], path["intercept"][k], path["cost"][k])

    def _table(self) -> Table:
        """The rows of the fit in canonical form."""
        return canonical_table(*self._training, self._sample_weight)

    def _solve_again(self) -> dict[str, Any]:
        """Solve on the kernels of the model: rows' errors and what the variance needs."""
        X, targets = self._training
        table = self._table()
        used = np.flatnonzero(table.group >= 0)
        group = table.group[used]
        v: Array = np.bincount(group, self.weights_[used]).astype(np.float64)
        residual, slack = np.empty_like(targets), np.ones(len(targets))
        kernel = self._kernel()
        if self._fitted_method == "isls":
            # in the order of the pivots, in which they are independent for certain
            pivots = np.sort(self._places)
            rows: dict[str, Any] = {"X": table.X, "Y": table.targets, "start": group[self._path["rows"][pivots]]}
            basis = _core.SparseProblem(kernel, **rows, fit_intercept=self._has_intercept, pivot=False)
            found = basis.solve(v, self.alpha_)
            back = np.argsort(self._places)  # pivots[i] is kernel back[i]
            coef = np.empty_like(found["coef"])
            coef[back] = found["coef"]
            residual[used] = found["residual"][group]
            slack = self._slack_of_rows(used, group, v, found["slack"])
            more = {
                "pivots": back,
                "L": basis.factor,
                "F": found["F"],
                "mean": found["mean"],
                "total": float(v.sum()) if self._has_intercept else 0.0,
            }
            inside = used
        else:
            kernels = table.group[self.basis_indices_]
            v, each = v[kernels], np.ascontiguousarray(targets[self.basis_indices_])
            dense = _core.DenseProblem(kernel, X=self.basis_vectors_, Y=each, fit_intercept=self._has_intercept)
            found = dense.solve(v, self.alpha_, keep_factor=True)
            coef = found["coef"]
            # the kernel of each row, where it has one: with the kernels the other rows are out of the model
            place = np.full(len(table.X), -1)
            place[kernels] = np.arange(len(kernels))
            inside = used[place[group] >= 0]
            group = place[table.group[inside]]
            residual[inside] = (self.alpha_ * coef / v[:, None])[group]
            if len(kernels) > 1:  # the last row cannot be left out
                slack = self._slack_of_rows(inside, group, v, self._dense_slack(found["factor"], v))
            more = {"factor": found["factor"], "weight": v}
        outside = np.setdiff1d(np.arange(len(X)), inside)
        if len(outside):
            fitted = kernel.expand(self.basis_vectors_, coef, found["intercept"], np.ascontiguousarray(X[outside]))
            residual[outside] = targets[outside] - fitted
        return {
            "coef": coef,
            "intercept": found["intercept"],
            "cost": found["cost"],
            "residual": residual,
            "slack": slack,
            **more,
        }

    # --- the fitted model ---

    def at_size(self, n: int) -> Self:
        """Return the model of n kernels of the path, as a fitted estimator, without fitting.

        Parameters
        ----------
        n : int
            One of ``path_["n_basis"]``.
        """
        self._fitted()
        self._needs_all("at_size")
        if not hasattr(self, "_path"):
            raise ValueError("at_size needs the models of the path: fit with keep_path=True")
        where = np.flatnonzero(self.path_["n_basis"] == n)
        if not where.size:
            sizes = self.path_["n_basis"]
            if not isinstance(n, Integral):
                raise ValueError(f"n={n!r} is not a number of kernels, of {sizes.min()} to {sizes.max()}")
            nearest = sorted(sizes.tolist(), key=lambda size: abs(size - int(n)))[:3]
            raise ValueError(f"n={n!r} is not a recorded size; the nearest are {nearest} (step={self.step!r})")
        model = copy.copy(self)
        model._cache = {}
        model._solution = {}
        model._adopt(int(where[0]))
        return model

    def _solved(self) -> dict[str, Any]:
        if not self._solution:
            found = self._solve_again()
            for name in ("coef", "intercept", "cost"):
                del found[name]
            self._solution.update(found)
        return self._solution

    def _rows_of_fit(self) -> tuple[Array, Array]:
        return self._solved()["residual"], self._solved()["slack"]

    def _weights_of_kernels(self) -> Array:
        """Weights of the rows that are kernels, where these are all the rows that count."""
        solved = self._solved()
        return solved["weight"] if "weight" in solved else self.weights_[self.basis_indices_]

    def _factors_in_kernels(self) -> dict[str, Any]:
        """What variances are made of where more rows count than are kernels."""
        solved = self._solved()
        vectors = np.ascontiguousarray(self.basis_vectors_[solved["pivots"]])
        return {"vectors": vectors, **{name: solved[name] for name in ("L", "F", "mean", "total")}}

    def _relative_variance(self, X: Array) -> Array:
        solved = self._solved()
        if "factor" in solved:
            return self._dense_variance(solved["factor"], self._weights_of_kernels(), X)
        spread, delta = _core.sparse_variance(self._kernel(), X=X, **self._factors_in_kernels())
        return 1.0 + spread + delta / self.alpha_  # [MATH 1.9]

    def _log_det(self) -> float:
        if self._fitted_method == "sls":
            raise AttributeError(
                "log_evidence_ has no meaning for method='sls': rows that were dropped are out; take 'isls'"
            )
        solved = self._solved()
        factors = np.log(np.diag(solved["F"])).sum() - np.log(np.diag(solved["L"])).sum()
        log_det = 2.0 * float(factors) - len(solved["L"]) * float(np.log(self.alpha_))
        return log_det + (float(np.log(solved["total"])) if self._has_intercept else 0.0)

    def _relative_covariance(self, X: Array) -> Array:
        solved = self._solved()
        if "factor" in solved:
            return self._dense_covariance(solved["factor"], self._weights_of_kernels(), X)
        return _core.sparse_covariance(self._kernel(), X=X, alpha=self.alpha_, **self._factors_in_kernels())


class _Pruned(BatchRegressor, _SparseLSSVM):
    """What calibrates a pruned regressor."""

    def _finish(self) -> None:
        self._noise_field()

    def _left_out_rows(self) -> Array:
        return np.ascontiguousarray(self._training[0][self._sample_weight > 0])

    def _noise_field(self) -> NoiseField | None:
        solved = self._solved()
        if "noise" not in solved:
            if not hasattr(self, "_training"):  # a file of an older version
                return None
            solved["noise"] = super()._noise_field()
        field: NoiseField | None = solved["noise"]
        return field

    def _left_out(self) -> LeftOut | None:
        solved = self._solved()
        if "scores" not in solved:
            if not hasattr(self, "_training"):  # a file of an older version
                return None
            errors, model, weight = rows_left_out(self, self._left_out_rows(), solved)
            found = LeftOut.of(errors, model, self._fitted().noise_variance, weight)
            solved["scores"], solved["counts"] = found.scores, found.weight
        return LeftOut(solved["scores"], solved["counts"])


@parameters
class SparseLSSVMRegressor(_Pruned):
    """Least-squares support vector regression on a few kernels, pruned from many along an exact path.

    Kernels are removed one after another (or a fraction at a time) [1]_ while the squared errors of *all* rows go on
    counting; every model of the path is the exact minimiser of Σᵢ vᵢ(yᵢ - f(xᵢ))² + alpha |w|² on its kernels.  The
    whole path takes O(n m²) for n rows and m kernels at the start.

    Parameters
    ----------
    kernel, gamma, degree, coef0
        As in :class:`LSSVMRegressor`.
    alpha : float or "loo", default=0.1
        Ridge, a total weight, constant along the path (see the Notes of :class:`LSSVMRegressor`); "loo" is chosen on
        the kernels of the start.
    alphas, gammas : array-like, optional
        Grids for alpha="loo" and gamma="loo", as in :class:`LSSVMRegressor`.
    method : {"isls", "sls"}, default="isls"
        "isls": all rows count [1]_.  "sls": a kernel is removed together with its row [2]_, the baseline.
    pruning : {"cost", "coefficient"}, default="cost"
        Which goes next: that whose removal changes the optimum least (βᵢ²/[H⁻¹]ᵢᵢ, exactly the rise of the cost; for
        "sls" the fall with its row), or that of the smallest coefficient.
    step : int or float in (0, 1), default=1
        Kernels removed between two models: a number, or a fraction of those left (the paper's 5 %).
    max_basis : int or None, default=100
        Most kernels of the model.
    tol : float or None, default=None
        Choose the size by leave-one-out error: the smallest model (of at most ``max_basis`` kernels) whose root mean
        square is within this fraction of the path's best.  None: ``max_basis`` kernels.
    max_start : int or None, default=2000
        With more rows than this the path starts from that many of them, drawn at random.
    reselect : bool, default=False
        For method="sls" and alpha="loo": choose alpha again at every step, as Suykens et al. advise.  Needs an
        eigen-decomposition a step; use a fractional ``step``.
    robust : bool, default=False
        Take outliers out, as in :class:`LSSVMRegressor`; the weights are found on the kernels of the start.
    fit_intercept : bool, default=True
        The unpenalised constant b.
    keep_path : bool, default=True
        Keep the coefficients of all models of the path and the rows of the fit, for `at_size`.
    noise, validation, categorical_features, periods, keep
        Whether the noise depends on x, rows that kernel="auto" holds out, columns of every kind, and what ``fit``
        leaves, as in :class:`LSSVMRegressor`.
    random_state : int, RandomState, Generator or None
        For ``max_start``, and gamma="median" on many rows.

    Attributes
    ----------
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
        The model: f(x) = intercept_ + Σᵢ dual_coef_[i] k(basis_vectors_[i], x).
    path_ : dict of ndarray
        For each recorded size ``n_basis`` (descending): ``cost``, ``loo_error`` (weighted mean square of the
        leave-one-out residuals; with "sls" a row dropped before counts by its prediction) and ``alpha``.  The model
        of n kernels has the rows ``kernels[:n]``.
    loo_residuals_, residuals_ : ndarray of the shape of y
        Errors of the rows of the fit, each left out and not: exact for the given kernels, whose choice saw all rows.
    alpha_, gamma_, loo_grid_, weights_, cost_, noise_variance_, noise_, n_basis_, n_samples_seen_
        As in :class:`LSSVMRegressor`.

    Notes
    -----
    Rows that repeat, exactly or to 1e-12, are left out of the start (not out of the errors): nothing is singular.

    Leave-one-out errors choose among (alpha, gamma, size) that were fitted to the same rows: with many widths and few
    rows the minimum is optimistic, and following it closely over-fits the criterion [3]_.  Keep the grids short, and
    judge the model on rows that took no part.

    References
    ----------
    .. [1] G. C. Cawley and N. L. C. Talbot, "Improved sparse least-squares support vector machines",
       Neurocomputing 48, 2002; leave-one-out: "Fast exact leave-one-out cross-validation of sparse least-squares
       support vector machines", Neural Networks 17, 2004.
    .. [2] J. A. K. Suykens, L. Lukas and J. Vandewalle, "Sparse least squares support vector machine classifiers",
       ESANN 2000.
    .. [3] G. C. Cawley and N. L. C. Talbot, "On over-fitting in model selection", JMLR 11, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import SparseLSSVMRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = SparseLSSVMRegressor(gamma=1.0, max_basis=None, tol=0.01).fit(X, np.sinc(X[:, 0]))
    >>> bool(model.n_basis_ < 20 and np.abs(model.predict(X) - np.sinc(X[:, 0])).max() < 0.1)
    True
    >>> model.at_size(5).n_basis_
    5
    """


@parameters
class SparseLSSVMClassifier(BatchClassifier, _SparseLSSVM):
    """Least-squares support vector classification on a few kernels, pruned from many along an exact path.

    Regresses on ±1 targets, one column a class (one column in all for two classes); all classes share the kernels.

    Parameters
    ----------
    kernel, gamma, degree, coef0, alpha, alphas, gammas, method, pruning, step, max_basis, tol, max_start, reselect, \
robust, fit_intercept, keep_path, validation, categorical_features, periods, keep, random_state
        As in :class:`SparseLSSVMRegressor`; errors are those of the ±1 targets, and scores and costs are summed over
        the classes.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, times ``sample_weight``; 1 for a class that is not named.  "balanced" is the weight of
        all rows, over the number of classes times the weight of the class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    basis_vectors_, basis_indices_, dual_coef_, intercept_, path_, alpha_, gamma_, loo_residuals_, residuals_, \
loo_grid_, weights_, cost_, noise_variance_, n_basis_, n_samples_seen_
        As in :class:`SparseLSSVMRegressor`.
    temperature_ : float
        Factor on the scores inside the softmax of ``predict_proba``, from leave-one-out scores.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import SparseLSSVMClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=7)
    >>> model = SparseLSSVMClassifier(gamma=2.0, max_basis=20).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True
    """
