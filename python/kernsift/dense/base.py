"""What the batch LS-SVM estimators share: parameters, the choice of alpha and gamma, robust weights, prediction."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table, canonical_table, draw_seed
from ..base.expansion import Expansion, KernelExpansion
from ..base.intervals import Intervals
from ..base.kernel import SCALES, parameter, parameters, resolve_gamma, wants_learning
from ..base.left_out import LeftOut
from ..base.probabilities import fit_temperature, softmax
from ..base.sets import LeftOutSets
from ..base.targets import Rows
from ..base.types import GammaSetting, RandomState
from ..base.validation import (
    POSITIVE,
    check_rows,
    ridge_grid,
)
from ..base.warp import Warp, widths_of
from ..select.task import kernel_of
from ..widths.learn_gamma import learned_width
from ..widths.race import Racing

# What alpha="loo" and gamma="loo" try by default.
ALPHAS = np.logspace(-6, 4, 21)
GAMMA_FACTORS = np.logspace(-1.5, 1.5, 7)
# Rounds of robust weights (Suykens et al. 2002).
MAX_ROUNDS = 100


def robust_weights(problem: Any, weight: Array, alpha: float) -> Array:
    """Return factors of the weights in agreement with the residuals of the fit that they make."""
    factor, change = problem.robust_weights(weight, alpha, rounds=MAX_ROUNDS)
    if change > _core.SETTLED:
        warnings.warn(
            f"the robust weights still change by {change:.2g} after {MAX_ROUNDS} rounds; a larger alpha or gamma "
            "closer to the data's scale usually settles them",
            ConvergenceWarning,
            stacklevel=2,
        )
    return factor


class Units(NamedTuple):
    """Units of weight of rows left out: errors, 1 - leverages, what they weigh in the fit, the rows' given weights."""

    errors: Array  # (n, outputs)
    slack: Array
    leaves: Array
    given: Array


@parameters
class BatchLSSVM(Racing, Expansion):
    """Base of the four estimators.

    A subclass makes a problem for a kernel and rows (`_make_problem`) with ``residuals(weight, alpha)`` and
    ``loo_grid(weight, alphas)``, and takes the model over from it (`_take`).
    """

    gamma: GammaSetting | float | ArrayLike | Warp = parameter(
        {"learn", "warp", *SCALES}, POSITIVE, "array-like", Warp, {"loo"}, default="scale"
    )
    alpha: float | Literal["loo"] = parameter(POSITIVE, {"loo"}, default=0.1)
    alphas: ArrayLike | None = parameter("array-like", None, default=None)
    gammas: ArrayLike | None = parameter("array-like", None, default=None)
    robust: bool = parameter("boolean", default=False)
    fit_intercept: bool = parameter("boolean", default=True)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)

    _ridge_of_widths = False  # whether the ridge is that of learned widths (of `KernelRegressor`)

    # --- fitting ---

    def _fit_rows(self, rows: Rows) -> None:
        X, targets, weight = rows
        median = isinstance(self.gamma, str) and self.gamma == "median"  # of rows drawn
        seed = draw_seed(self.random_state) if median else 0
        table = canonical_table(X, targets, weight, seed, gamma=self.gamma)
        self._check_memory(len(table.X), X.shape[1], targets.shape[1])
        v = table.weight
        widths = self._widths(table)
        alphas = self._alphas()

        kernel, alpha, problem = self._select(table, v, widths, alphas)
        factor = np.ones(len(v))
        if self.robust:
            factor = robust_weights(problem, v, alpha)
            if len(widths) * len(alphas) > 1:  # the first choice was made with the outliers
                problem = None
                kernel, alpha, problem = self._select(table, v * factor, widths, alphas)
                factor = robust_weights(problem, v, alpha)

        self._kernel_arguments = kernel.__reduce__()[1]
        self._has_intercept = bool(self.fit_intercept)
        self.alpha_ = float(alpha)
        self.gamma_ = widths_of(kernel)
        self.n_samples_seen_ = len(X)
        self.weights_ = weight * np.where(weight > 0, factor[table.group], 0.0)
        self._sample_weight = weight.copy()  # the caller's may change
        self._effective_rows = self._rows_for_noise(np.flatnonzero(weight > 0))
        self._cache: dict[str, Any] = {}  # filled on first use, not pickled
        self._take(problem, table, targets, v * factor)

    def _rows_for_noise(self, rows: NDArray[np.intp]) -> float:
        """Rows that count for the noise, weights above one as repetitions: the flat prior of the bias takes one."""
        v, given = self.weights_[rows], self._sample_weight[rows]  # [MATH 1.8]
        return max(float((v / np.minimum(given, 1.0)).sum()) - self._has_intercept, 1.0)

    def _slack_of_rows(self, used: NDArray[np.intp], group: NDArray[np.intp], v: Array, slack: Array) -> Array:
        """1 - leverage of each row of the fit, from that of the rows that repeat together, whose weight is v."""
        out = np.ones(len(self.weights_))
        part = self.weights_[used] / v[group]
        out[used] = (1.0 - part) + part * slack[group]
        return out

    def _alphas(self) -> Array:
        if self._ridge_of_widths:
            return np.array([self.learned_gamma_["alpha"]])
        if not isinstance(self.alpha, str):
            return np.array([float(self.alpha)])
        if self.alphas is None:
            return ALPHAS
        return ridge_grid(self.alphas)

    def _widths(self, table: Table) -> list[Any]:
        if wants_learning(self.gamma):
            return [learned_width(self, table.X, table.targets, table.weight)]
        if not (isinstance(self.gamma, str) and self.gamma == "loo"):
            return [self.gamma]
        if self.gammas is None:
            scale = float(resolve_gamma("scale", table.X, table.weight)[0])
            return [scale * factor for factor in GAMMA_FACTORS]
        widths = list(np.asarray(self.gammas, dtype=np.float64))
        if not widths:
            raise ValueError("gammas is empty: give at least one width, or None for a range about gamma='scale'")
        return widths

    def _select(
        self,
        table: Table,
        v: Array,
        widths: list[Any],
        alphas: Array,
    ) -> tuple[_core.Kernel, float, Any]:
        """Return the kernel and alpha of the smallest leave-one-out error, and the problem they belong to."""
        data, part = table.X, 1.0 / np.maximum(table.weight, 1.0)  # one unit of a row is left out at a time
        choose = len(widths) * len(alphas) > 1
        if choose and table.n_weighted < 2:
            raise ValueError("alpha='loo' and gamma='loo' need more than 1 sample: give them as numbers")
        best: tuple[float, Any] = (np.inf, None)
        errors, used = [], []
        for gamma in widths:
            problem = None  # there is room for the best one and a new one
            kernel = kernel_of(self, gamma, replace(table, weight=v))
            check_rows(kernel, data)
            problem = self._make_problem(kernel, table, part)
            if not choose:
                return kernel, float(alphas[0]), problem
            grid = problem.loo_grid(v, alphas)
            errors.append(grid)
            used.append(kernel.gamma)
            if np.isfinite(grid).any() and np.nanmin(grid) < best[0]:
                k = int(np.nanargmin(grid))
                best = (float(grid[k]), (kernel, float(alphas[k]), problem))
        self.loo_grid_ = {
            "alpha": alphas,
            "gamma": np.array(used) if len(widths) > 1 else None,
            "error": np.array(errors),
        }
        if best[1] is None:
            raise ValueError(
                f"no alpha between {alphas[0]:g} and {alphas[-1]:g} has a finite leave-one-out error on {len(data)} "
                "rows; give alpha as a number, or larger ones in alphas"
            )
        return best[1]

    def _check_memory(self, n: int, d: int, outputs: int) -> None:
        raise NotImplementedError

    def _make_problem(self, kernel: _core.Kernel, table: Table, part: Array) -> Any:
        raise NotImplementedError

    def _take(self, problem: Any, table: Table, targets: Array, v: Array) -> None:
        raise NotImplementedError

    def _keep_model(
        self,
        X: Array,
        indices: NDArray[np.intp],
        coef: Array,
        intercept: Array,
        cost: Array,
    ) -> None:
        cost = np.maximum(cost, 0.0)
        self._expansion = KernelExpansion(
            self._kernel_arguments,
            np.ascontiguousarray(X[indices]),
            indices,
            np.ascontiguousarray(coef),
            np.ascontiguousarray(intercept),
            cost,
            cost / self._effective_rows,
        )

    # --- the fitted model ---

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_cache" in state:
            state["_cache"] = {}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_from_version_0_1(state) if "_coef" in state else state)

    def _kernel(self) -> _core.Kernel:
        return self._fitted().kernel

    @property
    def residuals_(self) -> Array:
        """y - f(x) of the rows of the fit; ±1 targets for a classifier."""
        self._fitted()
        self._needs_all("residuals_")
        return self._columns(self._rows_of_fit()[0])

    @property
    def loo_residuals_(self) -> Array:
        """y - f(x) of each row with f fitted without that row, in closed form; ±1 targets for a classifier.

        The kernels and alpha are those of the whole fit.  A row of weight zero is out of the fit already.
        """
        self._fitted()
        self._needs_all("loo_residuals_")
        residual, slack = self._rows_of_fit()
        return self._columns(residual / slack[:, None])

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score, per output; ±1 targets for a classifier."""
        self._fitted()
        self._needs_all("gcv_")
        residual, slack = self._rows_of_fit()
        used = self._sample_weight > 0
        weight = self.weights_[used]
        rows = max(float(len(weight)), float(weight.sum()))  # weights above one as repetitions
        left = rows - float((1.0 - slack[used]).sum())
        rss = weight @ residual[used] ** 2
        return self._columns(np.array([_core.gcv_score(rows, one, left) for one in rss.tolist()]))

    @property
    def log_evidence_(self) -> Any:
        """Log marginal likelihood of the Gaussian process with these kernels, at its best signal scale."""
        model = self._fitted()
        self._needs_all("log_evidence_")
        weight = self.weights_[self._sample_weight > 0]
        rows, logs = float(len(weight) - self._has_intercept), float(np.log(weight).sum())
        log_det = self._log_det()
        return self._columns(np.array([_core.log_evidence(rows, c, log_det, logs) for c in model.cost.tolist()]))

    def _log_det(self) -> float:
        """log |I + V^½KV^½ / alpha|, with the share of the constant."""
        raise NotImplementedError

    def _rows_of_fit(self) -> tuple[Array, Array]:
        """Residuals (n, outputs) and 1 - leverage (n,) of all rows given to fit."""
        raise NotImplementedError

    def _units_left_out(self) -> Units:
        """One unit of weight of each row of positive weight left out, as if it were one of equal rows."""
        used = self._sample_weight > 0
        residual, slack = (part[used] for part in self._rows_of_fit())
        given = self._sample_weight[used]
        part = 1.0 / np.maximum(given, 1.0)
        unit = np.maximum(1.0 - part * (1.0 - slack), np.finfo(float).eps)
        return Units(residual / unit[:, None], unit, part * self.weights_[used], given)

    def _dense_slack(self, factor: Array, v: Array) -> Array:
        """1 - leverage of rows of weight v with a kernel each, from the factor of their system."""
        settings: dict[str, Any] = {"alpha": self.alpha_, "fit_intercept": self._has_intercept}
        return _core.dense_slack(factor, sample_weight=v, **settings)

    def _dense_variance(self, factor: Array, v: Array, X: Array) -> Array:
        """`_relative_variance` from that factor.

        Of the Gaussian process with signal noise/alpha times k, noise/v_i on row i, and a flat prior on the bias.
        """
        rows: dict[str, Any] = {"vectors": self.basis_vectors_, "factor": factor, "sample_weight": v, "X": X}
        return 1.0 + _core.dense_variance(self._kernel(), **rows, fit_intercept=self._has_intercept) / self.alpha_

    def _dense_covariance(self, factor: Array, v: Array, X: Array) -> Array:
        """`_relative_covariance` from that factor."""
        rows: dict[str, Any] = {"vectors": self.basis_vectors_, "factor": factor, "sample_weight": v, "X": X}
        return _core.dense_covariance(self._kernel(), **rows, alpha=self.alpha_, fit_intercept=self._has_intercept)

    def _relative_covariance(self, X: Array) -> Array:
        """Covariance of new observations at X, without their noise, in its units."""
        raise NotImplementedError

    def _relative_variance(self, X: Array) -> Array:
        """Variance of a new observation at X in units of the noise variance."""
        raise NotImplementedError


def _from_version_0_1(state: dict[str, Any]) -> dict[str, Any]:
    """Convert the state of a model saved by version 0.1.0."""
    parts = dict(state)
    parts["_kernel_arguments"] = parts.pop("_kernel_state")
    expansion = KernelExpansion(
        parts["_kernel_arguments"],
        parts.pop("basis_vectors_"),
        parts.pop("basis_indices_"),
        parts.pop("_coef"),
        parts.pop("_intercept"),
        cost := parts.pop("_cost"),
        cost / parts["_effective_rows"],
    )
    return {**parts, "_expansion": expansion}


class BatchRegressor(Intervals, BatchLSSVM):
    """Fit and predict of the two regressors."""

    def _mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        model = self._fitted()
        return model.predict(X), self._relative_variance(X)[:, None] * model.noise_variance

    def _mean_and_covariance(self, X: Array) -> tuple[Array, Array, Array]:
        model = self._fitted()
        noise = model.noise_variance
        return model.predict(X), self._relative_covariance(X) * noise[:, None, None], noise

    def _left_out(self) -> LeftOut | None:
        if "left_out" not in self._cache:
            unit = self._units_left_out()
            model = (1.0 - unit.slack) / (unit.leaves * unit.slack)
            # noise by the given weight: to a robust fit outliers are errors to expect
            self._cache["left_out"] = LeftOut.of(unit.errors, model, self._fitted().noise_variance, unit.given)
        left_out: LeftOut = self._cache["left_out"]
        return left_out


class BatchClassifier(LeftOutSets, BatchLSSVM):
    """Fit and probabilities of the two classifiers."""

    _codes: NDArray[np.intp]  # of the rows of the fit

    def _take(self, problem: Any, table: Table, targets: Array, v: Array) -> None:
        super()._take(problem, table, targets, v)
        self._codes = self._codes_of(targets)

    @property
    def temperature_(self) -> float:
        """Factor on the scores inside the softmax of ``predict_proba``, from leave-one-out scores.

        One unit of weight is left out at a time, so that a weight of two is two rows here too.
        """
        self._fitted()
        if self._temperature is not None:
            return self._temperature
        if "temperature" not in self._cache:
            scores, codes, weight = self._scores_left_out()
            self._cache["temperature"] = fit_temperature(scores, codes, weight)
        return float(self._cache["temperature"])

    def _doubts(self) -> LeftOut:
        if "doubts" not in self._cache:
            scores, codes, weight = self._scores_left_out()
            self._cache["doubts"] = LeftOut.of_classes(softmax(scores, self.temperature_), codes, weight)
        doubts: LeftOut = self._cache["doubts"]
        return doubts

    def _scores_left_out(self) -> tuple[Array, NDArray[np.intp], Array]:
        """Scores of the rows of the fit, each left out, with their classes and weights."""
        unit = self._units_left_out()
        codes = self._codes[self._sample_weight > 0]
        return self._targets_of(codes) - unit.errors, codes, unit.given
