"""Targets of regressors and classifiers as columns of numbers, and predictions in the form of the targets."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from .._core import LARGEST, SMALLEST
from .arrays import Array
from .draws import random_numbers
from .estimator import in_precision_of
from .expansion import Expansion
from .kernel import parameter, parameters, warn_of_scales
from .memory import check_memory
from .probabilities import log_softmax, softmax
from .rows import Rows as Rows
from .tables import with_targets as with_targets
from .types import RandomState
from .validation import (
    ROWS,
    as_targets,
    at_this_moment,
    check_products,
    check_some_weight,
    check_weights,
    fit_context,
    forget,
    is_empty_block,
    take_over,
    transaction,
    validate_data,
)


class Scored:
    """Scores of scikit-learn's on whatever holds rows and targets."""

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or name of a column of X
        sample_weight : array-like of shape (n_samples,), optional
        """
        return float(super().score(*with_targets(X, y), sample_weight=sample_weight))  # type: ignore[misc]


class Predicting(Scored, RegressorMixin):
    """The verb of every regressor."""

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> NDArray[Any]: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def predict(self, X: ArrayLike, return_std: bool, return_cov: bool = False) -> Any: ...
    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict, optionally with the standard deviation of a new observation, or the covariance of several.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Also the standard deviation: that of the model, of what the basis does not span at x, and of the noise,
            together (Jung & Polani 2006, the augmented predictive variance).  Far from the basis it returns to the
            prior's; that of OROLS, which has no prior, to that of the constant.  Of batch models one factor makes it
            right on average over rows of the fit, each left out, and where their noise depends on x (``noise_``)
            another one follows it.
        return_cov : bool, default=False
            Also the covariance of new observations at the rows, one of each: its diagonal is the square of ``std``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape, only with ``return_std=True``
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_outputs)
            Only with ``return_cov=True``.
        """
        return self._predicted(X, return_std, return_cov)

    def _predicted(self, X: ArrayLike, return_std: bool, return_cov: bool) -> Any:
        raise NotImplementedError


class Supervised(Expansion):
    """What is fitted to rows with targets."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model from the beginning; a stream learns the rows in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or of a regressor (n_samples, n_outputs), or str
            Targets, or class labels; or the name of their column of X.  Several outputs share the kernels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row's squared error.  Rows of weight zero are skipped; a class that has no other rows is no
            class of the model.
        """
        with transaction(self, *self._former) as new:
            rows = new._checked(X, y, sample_weight)
            if getattr(new, "class_weight", None) is not None:
                rows = new._balanced(rows)
            if new._to_judge or "auto" in (new.kernel, new.max_basis):
                new._prepare(rows)
            new._fit_rows(rows)
            warn_of_scales(new, rows.X)
            forget(new, "_chosen")
            if new.keep == "predict":
                take_over(new, new._to_predict())
        return self


class Regression(Predicting, Supervised):
    """Numeric targets, one or several."""

    def _n_outputs(self) -> int | None:
        """Outputs the model began with, None where it has learned nothing yet."""
        model = self._model()
        return None if model is None else model.coef.shape[1]

    def _checked(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None, *, begin: bool = True) -> Rows:
        """Rows that begin a model, or go on with it."""
        rows, values = validate_data(self, X, y, reset=begin, multi_output=True, y_numeric=True, **ROWS)
        weight, targets = check_weights(sample_weight, rows), as_targets(values)
        begun = None if begin else self._n_outputs()
        if begin or self._flat is None:
            self._flat = values.ndim == 1
        elif begun is not None and targets.shape[1] != begun:
            raise ValueError(f"y has {targets.shape[1]} outputs but this model began with {begun}")
        return Rows(rows, targets, weight)

    def _mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of a new observation at each row, (n, outputs)."""
        raise NotImplementedError

    def _std_factors(self, X: Array, mean: Array) -> Array:
        """What the standard deviations at rows of these predictions are multiplied with: (n, outputs), or (1, 1)."""
        return np.ones((1, 1))

    def _mean_and_covariance(self, X: Array) -> tuple[Array, Array, Array]:
        """Mean (n, outputs), covariance of new observations without their noise (outputs, n, n), and that noise.

        The noise is (outputs,), or (outputs, n) where each row has its own.  In the units of `_mean_and_variance`.
        """
        raise NotImplementedError

    def _jointly(self, X: ArrayLike, what: str, noise: bool = True) -> tuple[Array, Array]:
        """Mean and calibrated covariance of new observations, or of the function they are observations of."""
        self._fitted()
        self._needs_all(what)
        rows = self._rows(X)
        outputs = self._fitted().coef.shape[1]
        check_memory((2.0 + 2.0 * outputs) * len(rows) ** 2, f"{what} of {len(rows)} rows", "give fewer rows at a time")
        mean, covariance, own = self._mean_and_covariance(rows)
        if noise:
            covariance[:, np.arange(len(rows)), np.arange(len(rows))] += own.reshape(outputs, -1)
        factors = self._std_factors(rows, mean).T
        return mean, covariance * factors[:, :, None] * factors[:, None, :]

    def _predicted(self, X: ArrayLike, return_std: bool, return_cov: bool) -> Any:
        if return_std and return_cov:
            raise ValueError("return_std=True and return_cov=True: give one, std is the root of the cov's diagonal")
        self = at_this_moment(self)
        if return_cov:
            mean, covariance = self._jointly(X, "predict(return_cov=True)")
            of_outputs = covariance[0] if self._flat else np.moveaxis(covariance, 0, -1)
            return in_precision_of(X, self._columns(mean), of_outputs)
        if not return_std:
            return in_precision_of(X, self._columns(self._scores(X)))
        self._needs_all("the standard deviation")
        rows = self._rows(X)
        mean, variance = self._mean_and_variance(rows)
        return in_precision_of(X, self._columns(mean), self._columns(np.sqrt(variance) * self._std_factors(rows, mean)))

    def sample_y(
        self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = 0, *, noise: bool = True
    ) -> NDArray[Any]:
        """Draw new observations at the rows, jointly.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
        n_samples : int, default=1
            Number of samples.
        random_state : int, RandomState, Generator or None, default=0
        noise : bool, default=True
            False draws the function without the noise of observations: smooth curves, for Thompson sampling.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
        """
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise ValueError(f"n_samples={n_samples!r} must be a number of samples, 1 or more")
        self = at_this_moment(self)
        mean, covariance = self._jointly(X, "sample_y", noise)
        normal = random_numbers(random_state).standard_normal((len(covariance), len(mean), int(n_samples)))
        values, vectors = np.linalg.eigh(covariance)  # semidefinite up to rounding
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        samples = mean[:, :, None] + np.moveaxis(root @ normal, 0, 1)
        return in_precision_of(X, samples[:, 0] if self._flat else samples)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


@parameters
class ClassWeights:
    """The parameter of all classifiers."""

    class_weight: dict[Any, float] | Literal["balanced"] | None = parameter(dict, {"balanced"}, None, default=None)


class Classification(Scored, ClassifierMixin, ClassWeights, Supervised):
    """Labels, as ±1 targets: one column a class, one in all for two classes."""

    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _class_weighted(self, labels: NDArray[Any], weight: Array) -> Array:
        """Weights of rows times those that `class_weight` gives their classes."""
        assert isinstance(self.class_weight, dict)
        factor = np.ones(len(weight))
        for label, value in self.class_weight.items():
            if not isinstance(value, Real) or not (value == 0 or SMALLEST <= value <= LARGEST):
                raise ValueError(
                    f"class_weight gives class {label!r} {value!r}: give 0, or a number from {SMALLEST:g} to "
                    f"{LARGEST:g}"
                )
            factor[labels == label] = float(value)
        return check_products(weight * factor, weight, "class_weight times sample_weight")

    def _balanced(self, rows: Rows) -> Rows:
        """The rows of a whole table with the weights of class_weight="balanced"."""
        if isinstance(self.class_weight, dict):
            known = self.classes_.tolist()
            strange, rest = (
                [c for c in self.class_weight if c not in known],
                [c for c in known if c not in self.class_weight],
            )
            if strange and rest:
                raise ValueError(f"class_weight names {strange}, no classes of y, and not {rest}: name those of y")
            return rows
        codes, weight = self._codes_of(rows.targets), rows.weight
        counts = np.bincount(codes, weight, len(self.classes_))
        seen = np.count_nonzero(counts)
        factor = np.divide(weight.sum(), seen * counts, out=np.zeros_like(counts), where=counts > 0)
        return rows._replace(weight=check_products(weight * factor[codes], weight, "class_weight='balanced'"))

    def _checked(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None, classes: Any = None, *, begin: bool = True
    ) -> Rows:
        """Rows that begin a model, and name its classes, or go on with it."""
        rows, labels = validate_data(self, X, y, reset=begin, **ROWS)
        check_classification_targets(labels)
        weight = check_weights(sample_weight, rows)
        if isinstance(self.class_weight, dict):
            weight = self._class_weighted(labels, weight)
        if begin or self._flat is None:
            if sample_weight is not None or self.class_weight is not None:
                check_some_weight(weight)
            self.classes_ = known_classes(labels[weight > 0] if classes is None else np.asarray(classes))
            self._flat = len(self.classes_) == 2
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes={classes!r} differs from the {self.classes_!r} this model began with")
        return Rows(rows, class_targets(self.classes_, labels, weight), weight)

    def _codes_of(self, targets: Array) -> NDArray[np.intp]:
        """Places in `classes_` of rows of ±1 targets."""
        return (targets[:, 0] > 0).astype(np.intp) if self._flat else targets.argmax(axis=1)

    def _targets_of(self, codes: NDArray[np.intp]) -> Array:
        """±1 targets of rows of places in `classes_`."""
        targets = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        return targets[:, 1:] if self._flat else targets

    def _label_of(self, scores: NDArray[Any]) -> Any:
        return self.classes_[(scores[..., 0] > 0).astype(np.intp) if self._flat else scores.argmax(axis=-1)]

    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Return the scores: (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        self = at_this_moment(self)
        return in_precision_of(X, self._columns(self._scores(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest score of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        self = at_this_moment(self)
        return self._label_of(self._scores(X))


class Probabilities(Classification):
    """Probabilities: a softmax of the scores with one temperature."""

    temperature_: Any

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        self = at_this_moment(self)
        scores = self._scores(X)
        if len(self.classes_) == 1:  # of a stream that begins
            return in_precision_of(X, np.ones_like(scores))
        return in_precision_of(X, softmax(scores, self.temperature_))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the logarithm of the probability of each class, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        self = at_this_moment(self)
        scores = self._scores(X)
        if len(self.classes_) == 1:
            return in_precision_of(X, np.zeros_like(scores))
        return in_precision_of(X, log_softmax(scores, self.temperature_))


class IncrementalRegression(Regression):
    """Rows that come in blocks."""

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows, in their order.  A block without rows changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or a table, in memory, lazy or a stream of Arrow, such as a relation of DuckDB.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
            Targets, or the name of their column of X.
        sample_weight : array-like of shape (n_samples,), optional
        """
        self._needs_all("partial_fit")
        if not is_empty_block(X):
            with transaction(self) as new:
                new._go_on(X, y, sample_weight)
        return self


class IncrementalClassification(Probabilities):
    """Labelled rows that come in blocks."""

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn further rows, in their order.  A block without rows changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or a table, in memory, lazy or a stream of Arrow, such as a relation of DuckDB.
        y : array-like of shape (n_samples,), or str
            Labels, or the name of their column of X.
        classes : array-like, optional
            All labels the rows can bring; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
        """
        self._needs_all("partial_fit")
        if not is_empty_block(X):
            with transaction(self) as new:
                new._go_on(X, y, sample_weight, classes)
        return self


def known_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes among labels, two or more."""
    classes = np.unique(labels)
    if len(classes) < 2:
        found = f"1 class ({classes.tolist()[0]!r})" if len(classes) else "no class"
        raise ValueError(
            f"a classifier needs at least 2 classes, got {found}: give rows of another, or name all labels with "
            "classes= where a method has it"
        )
    return classes


def class_targets(classes: NDArray[Any], y: NDArray[Any], weight: Array) -> Array:
    """Return ±1 targets, one column a class; one column in all for two classes.

    Rows of weight zero may carry unknown labels.
    """
    where = np.searchsorted(classes, y)
    known = classes[np.minimum(where, len(classes) - 1)] == y
    if not known[weight > 0].all():
        unknown = np.unique(np.asarray(y)[~known & (weight > 0)])
        raise ValueError(
            f"y holds labels {unknown.tolist()} that are not among the classes {classes.tolist()}; name all labels in "
            "the first call with classes="
        )
    targets = np.full((len(y), len(classes)), -1.0)
    targets[np.flatnonzero(known), where[known]] = 1.0
    return np.ascontiguousarray(targets[:, 1:]) if len(classes) == 2 else targets
