"""The front door for a table: one estimator that chooses family, kernel, widths, size and ridge by itself."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from ..base.arrays import Array
from ..base.kernel import parameters
from ..base.targets import ClassWeights, Predicting, Scored, with_targets
from ..base.types import RandomState
from ..base.validation import did_you_mean, fit_context, forget, is_empty_block, transaction
from ..dense.lssvm import LSSVMClassifier, LSSVMRegressor
from ..subset.subset import SubsetLSSVMClassifier, SubsetLSSVMRegressor
from .parameters import FrontParameters
from .report import drifts, heavy_tails, report

# small=True: kernels at most.  small=False: rows up to which a kernel on every row competes.
SMALL, FEW = 500, 5000
# What the front door decides.
_OWN = ("validation", "random_state", "n_jobs", "class_weight")


def _learns(front: Any) -> bool:
    """Whether the chosen model can learn further rows; before a fit, whether one may."""
    model = getattr(front, "model_", None)
    return model is None or hasattr(model, "partial_fit")


class Front(FrontParameters):
    """What both estimators share: the choice, and what the chosen model does."""

    _families: ClassVar[tuple[Any, Any]]  # few kernels, a kernel on every row
    model_: Any

    def _candidate(self, family: Any, **how: Any) -> Any:
        own = {name: getattr(self, name) for name in _OWN if name in _has(family)}
        model, given = family(kernel="auto", gamma="learn", **own, **how), self.settings or {}
        model._takes_missing = True
        known = sorted(set().union(*(_has(one) for one in self._families)) - set(_OWN))
        for name in given:
            if name in self._get_param_names():
                raise ValueError(f"settings holds {name!r}: give {name}= to {type(self).__name__} itself")
            if name not in known:
                hint = did_you_mean(str(name), known)
                raise ValueError(f"settings holds {name!r}, no parameter of its models{hint}: give {', '.join(known)}")
        return model.set_params(**{name: value for name, value in given.items() if name in _has(family)})

    @classmethod
    def _no_parameter(cls, name: str) -> str:
        if not any(name in _has(family) for family in cls._families):
            return super()._no_parameter(name)
        return f"{cls.__name__} has no parameter {name!r}, but its models have: give settings={{{name!r}: ...}}"

    def _sparse(self) -> Any:
        how = {"loss": "auto"} if "loss" in _has(self._families[0]) else {}
        model = self._candidate(self._families[0], max_basis=SMALL if self.small else "auto", keep_path=False, **how)
        if self.time_budget is not None:
            model._until = time.perf_counter() + float(self.time_budget)
        return model

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose a model on rows held out, and fit it to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or of a regressor (n_samples, n_outputs), or str
            Targets, or class labels; or the name of their column of X.
        sample_weight : array-like of shape (n_samples,), optional
        """
        begin = time.perf_counter()
        X, y = with_targets(X, y)
        with transaction(self, "model_", "rivals_", "seconds_", "tails_", "drifts_") as new:
            model = new._sparse().fit(X, y, sample_weight=sample_weight)
            rival = new._on_every_row(model, X, y, sample_weight)
            new.rivals_ = [] if rival is None else [_summary(rival)]
            if rival is not None and _error(rival) < _error(model):
                new.rivals_, model = [_summary(model)], rival
            forget(model, "_until", "_ridge_of_widths", "_to_judge")
            model._in_single = False  # small ridges have large coefficients
            new.model_ = model
            columns, values = getattr(model, "columns_", None), model._rows(X)
            owner = np.arange(values.shape[1]) if columns is None else columns.owner
            new.tails_ = sorted({int(owner[j]) for j in heavy_tails(values)})
            new.drifts_ = {}
            for j, part in drifts(values).items():
                new.drifts_[int(owner[j])] = max(part, new.drifts_.get(int(owner[j]), 0.0))
            new.seconds_ = time.perf_counter() - begin
        return self

    def _on_every_row(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """A kernel on every row, where the table is small enough and the model need not be small."""
        if self.small or model.n_samples_seen_ > FEW or not getattr(model, "search_", None):
            return None
        until = getattr(model, "_until", None)
        if until is not None and time.perf_counter() > until:
            note = "time_budget ended before a kernel on every row could be tried: give more seconds"
            warnings.warn(note, UserWarning, stacklevel=3)
            return None
        rival = self._candidate(self._families[1])
        rival._until, rival._ridge_of_widths = until, isinstance(rival.gamma, str) and rival.gamma == "learn"
        rival._to_judge = True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="the rows look ordered")  # said already
            rival.fit(X, y, sample_weight=sample_weight)
        return rival.set_params(alpha=rival.alpha_)

    # --- the chosen model ---

    def _model(self) -> Any:
        model = getattr(self, "model_", None)
        if model is None:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")
        return model

    def __sklearn_is_fitted__(self) -> bool:
        model = getattr(self, "model_", None)
        return model is not None and model.__sklearn_is_fitted__()

    def __getattr__(self, name: str) -> Any:
        # fitted attributes are those of the chosen model
        model = vars(self).get("model_")
        if model is not None and name.endswith("_") and not name.startswith("_"):
            return getattr(model, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _go_on(self, X: ArrayLike, y: ArrayLike, *more: Any) -> Self:
        if is_empty_block(X):
            return self
        with transaction(self) as new:
            model = getattr(new, "model_", None)
            if model is None:
                model = new._sparse()
                new.rivals_, new.seconds_, new.tails_, new.drifts_ = [], 0.0, [], {}
            else:
                with transaction(model) as copied:
                    model = copied
            new.model_ = model.partial_fit(X, y, *more)
        return self

    @available_if(_learns)
    def merge(self, *others: Any) -> Self:
        """Add the rows of other models on the same kernels; see :meth:`SubsetLSSVMRegressor.merge`.

        Parameters
        ----------
        *others : fitted estimator or SubsetState
        """
        self._model().merge(*(other._model() if isinstance(other, Front) else other for other in others))
        return self

    def _to_predict(self) -> Self:
        small = type(self).__new__(type(self))
        for name, value in vars(self).items():
            setattr(small, name, self._model()._to_predict() if name == "model_" else value)
        return small

    def report(self) -> str:
        """Say what was chosen and why: the error and its standard error, the size, the relevance of the columns."""
        return report(self, self._model())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags = self._families[0]().__sklearn_tags__().target_tags
        return tags


class KernelRegressor(Predicting, Front):
    """The recommended regression for a table: a few hundred kernels, everything chosen by the error on rows held out.

    Candidates are kernels (rbf, laplacian, Matérn 3/2) with one learned width per column, each judged as the final,
    pruned model on rows that took no part: five parts in turn below 2,500 rows, a fifth above.  With ``small=False``
    the number of kernels is chosen too, and up to 5,000 rows a kernel on every row competes.

    Parameters
    ----------
    small : bool, default=True
        At most 500 kernels.  False: as many as lower the error by 2 % a doubling, up to 2,000, or one on every row.
    time_budget : float, optional
        Seconds for the choice; what was not tried by then is left out, with a warning.  The fit itself comes after.
    validation : {"random", "time"}, list of (train, test) or array of groups, default="random"
        Rows the choice is judged on: at random, the last fifth, pairs of row numbers, or whole groups, one label a row.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None, default=None
        Threads.
    settings : dict, optional
        Further parameters of :class:`SubsetLSSVMRegressor` and :class:`LSSVMRegressor`, such as ``{"max_basis": 200}``.

    Attributes
    ----------
    model_ : SubsetLSSVMRegressor or LSSVMRegressor
        The chosen model; its attributes are attributes here too.
    search_ : list of dict
        What was tried: ``kernel``, ``error`` with its ``standard_error``, ``seconds``.
    kernel_, gamma_, n_basis_, alpha_, noise_variance_, noise_
        Of the chosen model.
    rivals_ : list of dict
        Other families that were tried, by their best entry.
    seconds_ : float
    tails_ : list of int
        Columns with values far from the others.
    drifts_ : dict of int to float
        Columns in which a tenth or more of the last fifth of the rows lies beyond the range of those before, and which
        part does: new rows may lie further still.

    Notes
    -----
    X may hold numbers, categories, texts, dates and missing values, as a data frame or with
    ``settings={"categorical_features": [...]}``; see the guide's page on tables.  Missing values are taken at
    prediction too: a column that had none in ``fit`` then has its median, in a table of numbers alone the mean of the
    kernels' centres.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import KernelRegressor
    >>> rng = np.random.default_rng(7)
    >>> X = rng.uniform(-2, 2, (300, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(300)
    >>> model = KernelRegressor(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> print(model.report().splitlines()[0])  # doctest: +ELLIPSIS
    KernelRegressor: ... kernels ... on 300 rows and 3 columns

    A column of texts, and a missing value:

    >>> table = X.astype(object)
    >>> table[:, 2] = rng.choice(["elm", "oak"], 300)
    >>> table[::20, 0] = None
    >>> model = KernelRegressor(random_state=0, settings={"categorical_features": [2]}).fit(table, y)
    >>> model.columns_.coordinates
    ['0', '0 is missing', '1', '2=elm', '2=oak']
    >>> model.predict([[1.0, None, "ash"]]).shape
    (1,)
    """

    _families = (SubsetLSSVMRegressor, LSSVMRegressor)

    def _predicted(self, X: ArrayLike, return_std: bool, return_cov: bool) -> Any:
        return self._model().predict(X, return_std, return_cov)

    def sample_y(
        self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = 0, *, noise: bool = True
    ) -> NDArray[Any]:
        """Draw new observations at the rows, jointly; see :meth:`SubsetLSSVMRegressor.sample_y`.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=0
        noise : bool, default=True

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
        """
        return self._model().sample_y(X, n_samples, random_state, noise=noise)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return an interval for a new observation at each row; see :meth:`SubsetLSSVMRegressor.predict_interval`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._model().predict_interval(X, coverage)

    @available_if(_learns)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows with the kernels there are; the first rows choose them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        """
        return self._go_on(X, y, sample_weight)


@parameters
class KernelClassifier(Scored, ClassifierMixin, ClassWeights, Front):
    """The recommended classification for a table: as :class:`KernelRegressor`, judged by the labels missed.

    Labels missed on rows held out decide, squared errors of the ±1 targets between those that miss as many.  The
    chosen kernels then get the coefficients of least squares or of the logistic loss, whichever has the lower log loss
    on rows left out (``loss="auto"`` of :class:`SubsetLSSVMClassifier`).

    Parameters
    ----------
    small, time_budget, validation, random_state, n_jobs, settings
        As in :class:`KernelRegressor`.
    class_weight : dict, "balanced" or None, default=None
        As in :class:`SubsetLSSVMClassifier`: the weights count in the choice too.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    model_ : SubsetLSSVMClassifier or LSSVMClassifier
        The chosen model; its attributes are attributes here too.
    search_, rivals_, seconds_, tails_, drifts_, kernel_, gamma_, n_basis_, alpha_
        As in :class:`KernelRegressor`; errors are shares of labels missed.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import KernelClassifier
    >>> X, y = make_moons(400, noise=0.2, random_state=7)
    >>> model = KernelClassifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9), model.predict_proba(X[300:]).shape
    (True, (100, 2))
    >>> bool((model.predict_log_proba(X) <= 0).all()), model.feature_importances_.round(6).sum()
    (True, np.float64(1.0))
    """

    _families = (SubsetLSSVMClassifier, LSSVMClassifier)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest score of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        labels: NDArray[Any] = self._model().predict(X)
        return labels

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        probabilities: Array = self._model().predict_proba(X)
        return probabilities

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the logarithm of the probability of each class, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        logs: Array = self._model().predict_log_proba(X)
        return logs

    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return the classes that each row may have; see :meth:`SubsetLSSVMClassifier.predict_set`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
        """
        sets: NDArray[np.bool_] = self._model().predict_set(X, coverage)
        return sets

    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Return the scores: (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        scores: NDArray[Any] = self._model().decision_function(X)
        return scores

    @available_if(_learns)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn further rows with the kernels there are; the first rows choose them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All labels the rows can bring; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
        """
        return self._go_on(X, y, classes, sample_weight)


def _has(family: Any) -> set[str]:
    return set(family._get_param_names())


def _error(model: Any) -> float:
    """The smallest error on rows held out."""
    found = getattr(model, "search_", None)
    return float(np.inf) if not found else float(found[0]["error"])


def _summary(model: Any) -> dict[str, Any]:
    """What is kept of a family that lost."""
    return {"family": type(model).__name__, "n_basis": int(model.n_basis_), **model.search_[0]}
