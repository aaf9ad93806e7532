"""Recursive least squares on features of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.exceptions import NotFittedError

from .._core import RecursiveLeastSquares as Core
from ..base.validation import CheckedParameters, Interval, check_weights, forget, transaction, validate_data
from .part import Array, Part, State

T = TypeVar("T")


class RecursiveLeastSquares(Part, RegressorMixin, CheckedParameters):
    """Exact recursive ridge regression on features of one's own, one row at a time or in blocks.

    After any sequence of rows it is the minimiser of Σ v_i |y_i - b - x_iᵀβ|² + alpha |β|² over them: the posterior of
    Bayesian linear regression, which the stream models use on kernels.  A row costs O(n_features²), a block of them
    matrix products.  A row that the arithmetic cannot carry is refused and counted in `n_refused_`.

    Parameters
    ----------
    n_features : int, optional
        Features at the start; those of the first rows by default.
    alpha : float, default=1.0
        Ridge.  The intercept carries none.
    fit_intercept : bool, default=True
    forgetting : float in (0, 1] or list of them, default=1.0
        Below 1 each row is followed by a step back to the prior: the coefficients drift, the ridge never fades, and
        what no row excites returns to zero.  The intercept is then a coefficient as all others, with the ridge; rows
        cannot be taken back, and there is no `evidence` or `gcv`.  A list is a bank of such memories, averaged by how
        well each predicted the last rows, as in the streams on kernels.

    Attributes
    ----------
    coef_ : array of shape (n_features_in_,) or (n_features_in_, n_outputs)
        β, a column an output.
    intercept_ : float or array of shape (n_outputs,)
        b.
    covariance_ : array of shape (n_features_in_, n_features_in_)
        Of β, in units of the noise variance; of a bank that of the heaviest memory, as are the cost, the noise, the
        degrees of freedom and the scores of deletion.
    cost_ : float or array of shape (n_outputs,)
        The minimum.
    noise_variance_ : float or array of shape (n_outputs,)
        The cost over the number of rows (less one with an intercept).
    n_samples_seen_ : int
        Rows learned and not taken back.
    n_refused_ : int
        Rows refused; in a bank, by one memory at least.
    experts_ : list of dict
        The memories, with `forgetting`, `weight` and `error`, the root mean square of their last errors.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift.blocks import RecursiveLeastSquares
    >>> rng = np.random.default_rng(0)
    >>> model = RecursiveLeastSquares(alpha=1e-3)
    >>> for _ in range(1000):
    ...     x = rng.standard_normal(2)
    ...     done = model.update(x, 3.0 + x @ [1.0, -2.0] + 0.1 * rng.standard_normal())
    >>> model.coef_.round(2), round(model.intercept_, 2)
    (array([ 1., -2.]), 3.0)
    >>> mean, std = model.predict([[1.0, 1.0]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([2.]), array([0.1]))
    """

    _core: Core | None = None
    _begun: tuple[float, bool, list[float]]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 0, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "forgetting": [Interval(Real, 1e-6, 1, closed="both"), "array-like"],
    }

    def __init__(
        self,
        *,
        n_features: int | None = None,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        forgetting: float | Sequence[float] = 1.0,
    ) -> None:
        self.n_features = n_features
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.forgetting = forgetting

    # --- rows ---

    def update(self, x: ArrayLike, y: float | ArrayLike, weight: float = 1.0) -> bool:
        """Learn one row.

        Parameters
        ----------
        x : array of shape (n_features_in_,)
        y : float or array of shape (n_outputs,)
        weight : float, default=1.0
            A negative weight takes a row back.

        Returns
        -------
        done : bool
            False where the arithmetic cannot carry the row; nothing has changed.

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> model = RecursiveLeastSquares(fit_intercept=False)
        >>> model.update([1.0], 4.0)
        True
        >>> model.coef_
        array([2.])
        """
        core = self._core
        if core is None:
            return self._begin(np.size(x), np.shape(y), lambda new: new.update(x, y, weight))
        return core.update(x, y, weight)

    def update_block(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> int:
        """Learn rows, in order.

        Parameters
        ----------
        X : array of shape (n, n_features_in_)
        y : array of shape (n,) or (n, n_outputs)
        weights : array of shape (n,), optional
            Ones by default; negative ones take rows back.

        Returns
        -------
        n_refused : int

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> model = RecursiveLeastSquares(fit_intercept=False)
        >>> model.update_block([[1.0], [1.0]], [3.0, 3.0])
        0
        >>> model.coef_
        array([2.])
        """
        core = self._core
        if core is None:
            return self._begin(np.shape(X)[-1], np.shape(y)[1:], lambda new: new.update_block(X, y, weights))
        return core.update_block(X, y, weights)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn rows, checked in scikit-learn's manner.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._validate_params()
        rows, targets = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, reset=self._core is None
        )
        self.update_block(rows, targets, check_weights(sample_weight, rows))
        return self

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget all rows and learn these.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with transaction(self, "_core", "n_features_in_", "feature_names_in_") as new:
            new.partial_fit(X, y, sample_weight)
            if new._learned.rows == 0:
                raise ValueError("no row was learned: sample_weight is zero for every row")
        return self

    def _begin(self, n_features: int, outputs: tuple[int, ...], learn: Callable[[Core], T]) -> T:
        self._validate_params()
        if self.n_features is not None and n_features != self.n_features:
            raise ValueError(f"rows have {n_features} features and n_features={self.n_features}")
        memories = np.ravel(self.forgetting)
        if memories.dtype.kind not in "fi":
            raise ValueError(f"forgetting={self.forgetting!r} must be a number in (0, 1] or a list of them")
        begun = float(self.alpha), bool(self.fit_intercept), memories.tolist()
        core = Core(n_features, int(np.prod(outputs)), *begun)
        done = learn(core)
        self._core, self._one_output, self.n_features_in_, self._begun = core, not outputs, n_features, begun
        return done

    @property
    def _learned(self) -> Core:
        if self._core is None:
            raise NotFittedError("this RecursiveLeastSquares has seen no row: call update, partial_fit or fit first")
        return self._core

    def _of_all_rows(self, what: str) -> Core:
        core = self._learned
        if core.forgets:
            raise ValueError(f"{what} is of all rows, and forgetting={self.forgetting!r} discounts them: set it to 1")
        return core

    def _of_outputs(self, values: Array) -> Any:
        return float(values[0]) if self._one_output else values

    # --- predictions ---

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...
    @overload
    def predict(self, X: ArrayLike, return_std: bool) -> Any: ...
    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False

        Returns
        -------
        mean : array of shape (n_samples,) or (n_samples, n_outputs)
        std : array of the same shape, with `return_std`: standard deviations of new observations, noise included

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> RecursiveLeastSquares(fit_intercept=False).fit([[1.0]], [4.0]).predict([[3.0]])
        array([6.])
        """
        core = self._learned
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mean = core.predict(X)
        if self._one_output:
            mean = mean[:, 0]
        if not return_std:
            return mean
        std = np.sqrt(core.variance(X))
        return mean, std[:, 0] if self._one_output else std

    def predict_one(self, x: ArrayLike) -> float | Array:
        """Predict one row, without the checks of `predict`.

        Parameters
        ----------
        x : array of shape (n_features_in_,)

        Returns
        -------
        float or array of shape (n_outputs,)

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> RecursiveLeastSquares(fit_intercept=False).fit([[1.0]], [4.0]).predict_one([3.0])
        6.0
        """
        return self._learned.predict_one(x)

    # --- features ---

    def grow(self, features: int = 1) -> None:
        """Add features that were 0 in every row so far.

        Before the first row, which brings its own, nothing happens.

        Parameters
        ----------
        features : int, default=1

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> model = RecursiveLeastSquares(fit_intercept=False).fit([[1.0]], [4.0])
        >>> model.grow()
        >>> model.update([0.0, 1.0], 1.0)
        True
        >>> model.coef_
        array([2. , 0.5])
        """
        if self._core is None:
            return
        self._core.grow(features)
        self.n_features_in_ += features
        forget(self, "feature_names_in_")

    def delete(self, i: int) -> None:
        """Remove feature `i`, as if no row had had it; later ones move up.

        Parameters
        ----------
        i : int, from the end if negative

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> model = RecursiveLeastSquares(fit_intercept=False).fit([[5.0, 1.0]], [4.0])
        >>> model.delete(0)
        >>> model.coef_
        array([2.])
        """
        self._learned.delete(i)
        self.n_features_in_ -= 1
        forget(self, "feature_names_in_")

    def deletion_scores(self) -> Array:
        """Return by how much the minimum rises when each feature alone is deleted (Jung & Polani 2006).

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> RecursiveLeastSquares(fit_intercept=False).fit([[1.0], [1.0]], [3.0, 3.0]).deletion_scores()
        array([12.])
        """
        return self._learned.deletion_scores()

    # --- what the rows say of the ridge ---

    def evidence(self) -> Any:
        """Return the log marginal likelihood of the rows, at the best signal scale; one for each output.

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> X, y = [[1.0], [2.0], [3.0]], [1.1, 1.9, 3.2]
        >>> weak, strong = (RecursiveLeastSquares(alpha=a).fit(X, y) for a in (0.1, 100.0))
        >>> weak.evidence() > strong.evidence()
        True
        """
        return self._of_outputs(self._of_all_rows("evidence").evidence())

    def gcv(self) -> Any:
        """Return the generalised cross-validation score, n rss / (n - dof)²; one for each output."""
        return self._of_outputs(self._of_all_rows("gcv").gcv())

    def dof(self) -> float:
        """Return the effective number of parameters.

        Examples
        --------
        >>> from kernsift.blocks import RecursiveLeastSquares
        >>> RecursiveLeastSquares(fit_intercept=False).fit([[1.0]], [4.0]).dof()
        0.5
        """
        return self._learned.dof()

    @property
    def coef_(self) -> Array:
        """β, of shape (n_features_in_,) or (n_features_in_, n_outputs)."""
        values = self._learned.coefficients()
        return values[:, 0] if self._one_output else values

    @property
    def intercept_(self) -> Any:
        """b, a number or one for each output."""
        return self._of_outputs(self._learned.intercept())

    @property
    def covariance_(self) -> Array:
        """Covariance of β in units of the noise variance."""
        return self._learned.covariance()

    @property
    def cost_(self) -> Any:
        """The minimum, a number or one for each output."""
        return self._of_outputs(self._learned.cost())

    @property
    def noise_variance_(self) -> Any:
        """Noise variance, a number or one for each output."""
        return self._of_outputs(self._learned.noise_variance())

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned and not taken back."""
        return int(self._learned.rows)

    @property
    def n_refused_(self) -> int:
        """Rows refused."""
        return self._learned.n_refused

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """The memories, with their ``forgetting``, ``weight`` and ``error``."""
        weights, errors = self._learned.memories()
        return [
            {"forgetting": factor, "weight": weight, "error": self._of_outputs(error)}
            for factor, weight, error in zip(self._begun[2], weights.tolist(), errors.T, strict=True)
        ]

    def __sklearn_is_fitted__(self) -> bool:
        return self._core is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # --- state ---

    def _settings(self) -> State:
        settings: State = {"parameters": self.get_params()}
        if self._core is not None:
            names = getattr(self, "feature_names_in_", None)
            settings |= {
                "n_features": self._core.n_features,
                "n_outputs": self._core.n_outputs,
                "one_output": self._one_output,
                "begun": list(self._begun),
                "n_refused": self._core.n_refused,
                "feature_names": None if names is None else [str(name) for name in names],
            }
        return settings

    def _arrays(self) -> dict[str, Array]:
        return {} if self._core is None else self._core.state()

    def _restore(self, settings: State, arrays: dict[str, Array]) -> None:
        self.__init__(**settings["parameters"])  # type: ignore[misc]
        if "n_features" not in settings:
            return
        alpha, fit_intercept, forgetting = settings["begun"]
        self._begun = alpha, fit_intercept, np.ravel(forgetting).tolist()  # a number in files of older versions
        core = Core(settings["n_features"], settings["n_outputs"], *self._begun)
        core.restore(arrays, settings["n_refused"])
        self._core, self._one_output, self.n_features_in_ = core, settings["one_output"], settings["n_features"]
        if settings["feature_names"] is not None:
            self.feature_names_in_ = np.array(settings["feature_names"], dtype=object)
