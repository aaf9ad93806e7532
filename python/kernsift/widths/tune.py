"""Width and ridge together: one basis and one eigen-decomposition a width, all ridges from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Canonical, Table, canonical_rows, draw_seed
from ..base.kernel import SCALES
from ..base.memory import check_memory
from ..base.pipeline import in_two, is_pipeline, joined
from ..base.targets import Rows
from ..base.validation import check_array, check_some_weight, check_weights, ridge_grid
from ..base.warp import Warp
from ..dense.base import ALPHAS, GAMMA_FACTORS, BatchLSSVM
from ..select.task import kernel_for
from ..stream.online_model import OnlineModel
from ..subset.base import SubsetBase
from ..subset.state import Basis, SubsetState, solution_doubles, sums_doubles

CRITERIA = ("loo", "gcv")


@dataclass(frozen=True)
class TuningResult:
    """What `tune` found, named as in scikit-learn's searches.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted on all rows; None with ``refit=False``.
    best_params_ : dict
        ``gamma`` and ``alpha``.
    best_score_ : float
    best_index_ : int
        Place of the best in ``cv_results_``.
    cv_results_ : dict of arrays
        A row a pair: ``param_gamma``, ``param_alpha``, ``params``, ``mean_test_score`` (the criterion with a minus:
        larger is better), ``rank_test_score``, ``n_basis`` and ``fit_time`` (seconds, shared by all alphas of a
        width).
    criterion : str

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import SubsetLSSVMRegressor, tune
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> found = tune(SubsetLSSVMRegressor(max_basis=20, random_state=0), X, np.sinc(X[:, 0]), gammas=[0.1, 1.0])
    >>> sorted(found.best_params_)
    ['alpha', 'gamma']
    >>> bool(found.best_estimator_.score(X, np.sinc(X[:, 0])) > 0.99)
    True
    """

    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    criterion: str
    best_estimator_: Any = None
    cv_results_: dict[str, Any] = field(repr=False, default_factory=dict)

    def _of_pipeline(self, front: Any, pipeline: Any) -> TuningResult:
        """The same for a pipeline, whose last step was tuned."""
        step = pipeline.steps[-1][0]
        columns = dict(self.cv_results_)
        for name in ("gamma", "alpha"):
            columns[f"param_{step}__{name}"] = columns.pop(f"param_{name}")
        columns["params"] = [{f"{step}__{k}": v for k, v in one.items()} for one in columns["params"]]
        best = None if self.best_estimator_ is None else joined(front, pipeline, self.best_estimator_)
        return replace(
            self, best_params_=columns["params"][self.best_index_], best_estimator_=best, cv_results_=columns
        )


class _Width(NamedTuple):
    """What one width gave: the criterion of every alpha, and how to make the model of one of them."""

    errors: Array
    n_basis: int
    seconds: float
    finish: Callable[[float], Any] | None


def tune(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    gammas: Iterable[Any] | None = None,
    alphas: ArrayLike | None = None,
    criterion: str = "loo",
    sample_weight: ArrayLike | None = None,
    refit: bool = True,
) -> TuningResult:
    """Choose kernel width and ridge by the exact leave-one-out error or by GCV.

    For each width the basis is chosen once and one eigen-decomposition serves all ridges: a search over dozens of
    ridges costs about two fits a width, where a grid search with five folds costs five fits for every pair.

    Parameters
    ----------
    estimator : SubsetLSSVM, LSSVM, SparseLSSVM or OnlineLSSVM estimator, KRLSRegressor, or Pipeline that ends in one
        Copied, not changed.  The steps of a pipeline are fitted to all rows, once; ``best_params_`` then has the names
        that its ``set_params`` takes, such as ``"krlsregressor__gamma"``.  With an online estimator each width makes
        its dictionary in one pass over the rows; the criterion is that of the exact solution on it, which is also what
        comes back: another pass with the chosen ridge, then ``refit``.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    gammas : iterable of float, arrays (one width a feature), "scale", "standard" or "median", optional
        Seven values about "scale" by default; one where the kernel is linear.
    alphas : array-like of float, optional
        21 values from 1e-6 to 1e4 by default.  What is below the rounding of the sums is not considered.
    criterion : {"loo", "gcv"}, default="loo"
        "loo": mean squared leave-one-out error, in closed form, with the basis of all rows; for classes that of the ±1
        targets, summed over the outputs.  "gcv": generalised cross-validation, a degree of freedom counted 1.4 times;
        it needs no second look at the rows (not for the dense and pruned LS-SVM, where "loo" costs no more).  Of the
        pruned LS-SVM it is the error on the kernels its path starts from.
    sample_weight : array-like of shape (n_samples,), optional
    refit : bool, default=True
        Fit the best pair on all rows.

    Returns
    -------
    TuningResult

    Notes
    -----
    The smallest of many leave-one-out errors is a little optimistic, and the choice of the basis has seen every row:
    judge the model on rows that took no part.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import SubsetLSSVMRegressor, tune
    >>> X = np.random.default_rng(7).uniform(-3, 3, (500, 1))
    >>> y = np.sinc(X[:, 0])
    >>> found = tune(SubsetLSSVMRegressor(max_basis=30, random_state=0), X, y, gammas=[0.01, 1.0, 100.0])
    >>> found.best_params_["gamma"]
    1.0
    >>> bool(np.abs(found.best_estimator_.predict(X) - np.sinc(X[:, 0])).max() < 0.05)
    True
    """
    if is_pipeline(estimator):
        front, model = in_two(estimator)
        rows = X if front is None else front.fit(X, y).transform(X)
        how: dict[str, Any] = {"criterion": criterion, "sample_weight": sample_weight, "refit": refit}
        return tune(model, rows, y, gammas=gammas, alphas=alphas, **how)._of_pipeline(front, estimator)
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} must be one of {list(CRITERIA)}")
    search = _family(estimator, criterion)
    grid = ALPHAS if alphas is None else ridge_grid(alphas)
    rows = check_array(X, dtype=np.float64, order="C", input_name="X")
    weight = check_weights(sample_weight, rows)
    check_some_weight(weight)
    widths = _widths(estimator, gammas, rows, canonical_rows(rows, weight, draw_seed(estimator.random_state)))

    found: list[_Width] = []
    least, place, finish = np.inf, 0, None
    for width in search(estimator, X, y, weight, widths, grid, criterion):
        errors = np.where(np.isfinite(width.errors), width.errors, np.inf)
        if errors.min() < least:
            least, place, finish = errors.min(), len(found) * len(grid) + int(errors.argmin()), width.finish
        found.append(width._replace(errors=errors, finish=None))  # the models of the others may go
    if finish is None:
        raise ValueError(
            f"no pair of {len(widths)} gammas and alphas between {grid[0]:g} and {grid[-1]:g} has a finite {criterion} "
            "score; give larger alphas"
        )
    params = [{"gamma": g, "alpha": float(a)} for g in widths for a in grid]
    scores = np.concatenate([w.errors for w in found])
    return TuningResult(
        best_params_=params[place],
        best_score_=-float(least),
        best_index_=place,
        criterion=criterion,
        best_estimator_=finish(params[place]["alpha"]) if refit else None,
        cv_results_={
            "param_gamma": np.fromiter((p["gamma"] for p in params), dtype=object),  # arrays stay whole
            "param_alpha": np.array([p["alpha"] for p in params]),
            "params": params,
            "mean_test_score": -scores,
            "rank_test_score": 1 + np.searchsorted(np.sort(scores), scores),
            "n_basis": np.repeat([f.n_basis for f in found], len(grid)),
            "fit_time": np.repeat([f.seconds for f in found], len(grid)),
        },
    )


def _family(estimator: Any, criterion: str) -> Callable[..., Iterator[_Width]]:
    if isinstance(estimator, SubsetBase):
        return _subset
    if isinstance(estimator, OnlineModel):
        if estimator.engine == "inverse" or estimator._memories(whole=True) != [1.0]:
            what = "engine='inverse'" if estimator.engine == "inverse" else f"forgetting={estimator.forgetting!r}"
            raise ValueError(
                f"tune judges the exact solution for all rows alike, which {what} does not come to; use "
                "engine='orthonormal' and forgetting=1.0 to tune, and set it afterwards"
            )
        return _online
    if isinstance(estimator, BatchLSSVM):
        if criterion == "gcv":
            raise ValueError(
                f"criterion='gcv' is for estimators that keep sums; {type(estimator).__name__} has the exact "
                "leave-one-out error at the same cost: criterion='loo'"
            )
        if getattr(estimator, "reselect", False):
            raise ValueError("reselect=True chooses alpha at every step and tune chooses it once: set reselect=False")
        return _batch
    raise TypeError(
        f"tune takes SubsetLSSVM, LSSVM, SparseLSSVM and OnlineLSSVM estimators and KRLSRegressor, got "
        f"{type(estimator).__name__}; sklearn.model_selection.GridSearchCV takes any"
    )


def _widths(estimator: Any, gammas: Iterable[Any] | None, X: Array, rows: Canonical) -> list[Any]:
    """Widths as numbers, or as arrays where one was given."""
    if estimator.kernel == "auto":
        raise ValueError("kernel='auto' is chosen by fit: name the kernel whose width and ridge are to be tuned")
    if gammas is None:
        if estimator.kernel == "linear":
            return [1.0]
        scale = float(kernel_for(estimator, "scale", X, rows).gamma[0])
        return [scale * float(factor) for factor in GAMMA_FACTORS]
    widths = []
    for gamma in [gammas] if isinstance(gammas, (str, Warp)) else gammas:
        if isinstance(gamma, Warp):
            raise ValueError("gammas holds a Warp; give numbers, arrays or 'scale' and the like, and a Warp as gamma")
        if isinstance(gamma, str) and gamma not in SCALES:
            raise ValueError(f"gammas holds {gamma!r}; give numbers, arrays, 'scale', 'standard' or 'median'")
        each = kernel_for(estimator, gamma, X, rows).gamma
        alike = gamma != "standard" if isinstance(gamma, str) else np.ndim(gamma) == 0
        widths.append(float(each[0]) if alike else each)
    if not widths:
        raise ValueError("gammas is empty: give at least one width, or None for a range about gamma='scale'")
    return widths


def _checked(model: Any, X: Any, y: Any, weight: Array, **how: Any) -> Rows:
    """Rows as a fit takes them."""
    rows: Rows = model._checked(X, y, weight, **how)
    return rows if getattr(model, "class_weight", None) is None else model._balanced(rows)


def _criterion(problem: _core.RidgeProblem, basis: Basis, rows: Rows, alphas: Array, criterion: str) -> Array:
    """Criterion of every alpha from one eigen-decomposition."""
    errors = np.full(len(alphas), np.inf)
    sound = alphas >= problem.precision * problem.largest
    if criterion == "gcv":
        errors[sound] = [problem.gcv(alpha, toll=_core.GCV_TOLL).sum() for alpha in alphas[sound]]
    elif sound.any():
        given: dict[str, Any] = {"X": rows.X, "Y": rows.targets, "weight": rows.weight}
        sums = problem.loo_errors(**basis.core, **given, alphas=np.ascontiguousarray(alphas[sound]))
        errors[sound] = sums / rows.weight.sum()
    return errors


def _subset(
    estimator: Any, X: Any, y: Any, weight: Array, widths: list[Any], alphas: Array, criterion: str
) -> Iterator[_Width]:
    for gamma in widths:
        begin = time.perf_counter()
        # alpha="gcv" is what a basis that looks at y is chosen with
        model = clone(estimator).set_params(gamma=gamma, alpha="gcv")
        model._validate_params()
        table = model._table(_checked(model, X, y, weight))
        state = model._gather(table)
        problem = state.problem(bool(model.fit_intercept))
        errors = _criterion(problem, model._basis, Rows(table.X, table.targets, table.weight), alphas, criterion)

        def finish(alpha: float, model: Any = model, state: SubsetState = state, table: Table = table) -> Any:
            model.set_params(alpha=alpha)
            model._solve(state, table)
            return model

        yield _Width(errors, len(model._basis.vectors), time.perf_counter() - begin, finish)


def _online(
    estimator: Any, X: Any, y: Any, weight: Array, widths: list[Any], alphas: Array, criterion: str
) -> Iterator[_Width]:
    for gamma in widths:
        begin = time.perf_counter()
        model = clone(estimator).set_params(gamma=gamma).fit(X, y, sample_weight=weight)
        rows = _checked(model, X, y, weight, begin=False)
        if hasattr(model, "classes_"):
            rows = rows._replace(targets=model._targets_of(model._codes_of(rows.targets)))
        m, (n, d), outputs = model.n_basis_, rows.X.shape, rows.targets.shape[1]
        exact = max(sums_doubles(m, n, d, outputs, 1), solution_doubles(m, outputs, criterion))
        check_memory(2 * m * m + exact, f"tune on {m} kernels", "take fewer (max_basis)")
        basis = Basis.of(model._fitted().kernel, model.basis_vectors_, model.basis_indices_)
        problem = SubsetState.of(basis, *rows).problem(bool(model.fit_intercept))
        errors = _criterion(problem, basis, rows, alphas, criterion)

        def finish(alpha: float, gamma: Any = gamma) -> Any:
            best = clone(estimator).set_params(gamma=gamma, alpha=alpha).fit(X, y, sample_weight=weight)
            return best.refit(X, y, sample_weight=weight)

        yield _Width(errors, len(basis.vectors), time.perf_counter() - begin, finish)


def _batch(
    estimator: Any, X: Any, y: Any, weight: Array, widths: list[Any], alphas: Array, criterion: str
) -> Iterator[_Width]:
    """The estimators' own search over both."""
    begin = time.perf_counter()
    model = clone(estimator)
    if len(widths) * len(alphas) == 1:  # nothing to choose
        model.set_params(gamma=widths[0], alpha=float(alphas[0])).fit(X, y, sample_weight=weight)
        squares = (model.loo_residuals_.reshape(len(weight), -1) ** 2).sum(axis=1)
        errors = np.array([[model.weights_ @ squares / model.weights_.sum()]])
    else:
        table = np.array([np.broadcast_to(np.asarray(g, dtype=np.float64), np.shape(X)[1]) for g in widths])
        model.set_params(gamma="loo", gammas=table, alpha="loo", alphas=alphas).fit(X, y, sample_weight=weight)
        errors = model.loo_grid_["error"]
    seconds = (time.perf_counter() - begin) / len(widths)
    for gamma, each in zip(widths, errors, strict=True):

        def finish(alpha: float, gamma: Any = gamma) -> Any:
            # fitted already: the fit took the pair of the smallest error
            return model.set_params(gamma=gamma, alpha=alpha, gammas=estimator.gammas, alphas=estimator.alphas)

        yield _Width(each.copy(), model.n_basis_, seconds, finish)
