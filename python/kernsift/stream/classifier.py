"""Online LS-SVM classification over the C++ core (``cpp/core/stream``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.kernel import parameters
from ..base.left_out import check_coverage
from ..base.probabilities import softmax
from ..base.sets import sets_of
from ..base.validation import forget, transaction
from .classes import Signed, StreamLabels
from .learning import Prequential, check_delay
from .online_model import OnlineModel


@parameters
class OnlineLSSVMClassifier(StreamLabels, OnlineModel):
    """Online least-squares support vector classification, all classes on one basis.

    Regresses on ±1 targets, one column a class (one column in all for two classes), so that k classes share the
    kernels and the inverse and cost little more than one.  Probabilities are a softmax of the scores with one
    temperature, learned from scores given before their row was seen.

    A class may come at any time (``partial_fit``, ``update``, ``prequential``), exactly as if it had been known from
    the beginning and had had no rows; with ``classes=`` in the first call no others may.  For that the dictionary goes
    by targets 0 and 1, a column a class, of which those of ±1 are a linear map: with a constant that has no ridge the
    same kernels.

    Parameters
    ----------
    kernel, gamma, degree, coef0, alpha, max_basis, novelty_tol, usefulness_tol, admission, fit_intercept, engine, \
swap_until, exact_rows, oversample, hysteresis, forgetting, linear, error_forecast, learn_rows, window, n_jobs, \
random_state, verbose
        As in :class:`OnlineLSSVMRegressor`.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, times ``sample_weight``; 1 for a class that is not named.  "balanced" is the weight of
        all rows, over the number of classes times the weight of the class: of the table in ``fit`` and ``refit``, and
        on a stream of the rows so far, the present one included, whatever the memories forget.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
    n_basis_, n_samples_seen_, n_refused_ : int
    cost_, gcv_, noise_variance_, log_evidence_ : float or ndarray
    audit_ : dict
    temperature_ : float
        Factor on the scores inside the softmax.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import OnlineLSSVMClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=7)
    >>> model = OnlineLSSVMClassifier(gamma=2.0).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True

    A stream of labels, of which probabilities add up to one:

    >>> model = OnlineLSSVMClassifier(gamma=2.0).partial_fit(X[:100], y[:100])
    >>> error = model.prequential(X[100:500], y[100:500]).error
    >>> for x, label in zip(X[500:], y[500:]):
    ...     error = np.append(error, model.predict_one(x) != label)
    ...     model.update(x, label)
    >>> bool(np.mean(error) < 0.1)
    True
    >>> model.predict_proba(X[:2]).sum(axis=1).round(6), model.predict_proba_one(X[0]).shape
    (array([1., 1.]), (2,))
    >>> model.predict_set_one(X[0], coverage=0.99).shape
    (2,)
    >>> bool(((model.decision_function(X) > 0) == (model.predict(X) == 1)).all())
    True
    >>> model.refit(X, y).n_basis_ < 60  # a second pass on the kernels found
    True

    A class that comes late:

    >>> for x in X[:20] + [4.0, 0.0]:
    ...     model.update(x, 2)
    >>> int(model.predict_one(X[0] + [4.0, 0.0])), model.classes_
    (2, array([0, 1, 2]))
    """

    _level = False  # targets are codes of classes, and nothing known is 0

    @property
    def temperature_(self) -> float:
        """Factor on the scores inside the softmax of ``predict_proba``."""
        self._fitted()
        return float(np.exp(self._calibration[0]))

    def _model(self) -> Any:
        core, order = self._core, self._order
        return core if core is None or order is None else Signed(core, order, bool(self._flat))

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        delay: int = 0,
        coverage: float | None = None,
    ) -> Prequential:
        """Predict each row, then learn it: the honest error of a stream, and the model moves on.

        Parameters
        ----------
        X, y, sample_weight
            As in ``partial_fit``.
        classes : array-like, optional
            All labels the stream can bring, for a fresh model; any may come if not given.
        delay : int, default=0
            Rows until a label is known: row i is predicted before row ``i - delay`` is learned.
        coverage : float, optional
            Also a set of classes for each row, made before its label is known, as :meth:`predict_set` does.  No class
            is in a set before it has come, but for those of ``classes``.

        Returns
        -------
        Prequential
            Named tuple ``y_pred, error, n_basis, std, lower, upper, sets``: labels, 1.0 where they are wrong and 0.0
            where right, kernels before each row, three times None, and the sets (n_samples, n_classes) or None.
        """
        check_delay(delay)
        coverage = None if coverage is None else check_coverage(coverage)
        with transaction(self) as new:
            if new._core is None:
                new._validate_params()
            had = 0 if new._core is None else new._core.n_outputs
            rows = new._next(X, y, sample_weight, classes)
            steps: list[Array] = []
            new._steps = None if coverage is None else steps
            scores, _, n_basis, _ = new._predict_then_learn(rows, delay)
            forget(new, "_steps")
        if self._order is None:
            y_pred = self._label_of(scores)
            scores = np.concatenate([-scores, scores], axis=1) if self._flat else scores
        else:
            if not self._closed:  # a class cannot be predicted before it has come
                first = (rows.targets[:, had:] > 0).argmax(axis=0)
                scores[:, had:][np.arange(len(scores))[:, None] <= first + min(delay, len(scores))] = -np.inf
            scores = 2 * self._model().of_classes(scores) - 1
            y_pred = self.classes_[scores.argmax(axis=1)]
        sets = None
        if coverage is not None:
            known = np.maximum(np.arange(len(scores)) - delay, 0)  # rows whose labels were known
            sets = self._sets_before(scores, np.concatenate(steps)[known], coverage)
        return Prequential(y_pred, (y_pred != np.ravel(y)).astype(np.float64), n_basis, None, sets=sets)

    def update(self, x: Array, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row without scikit-learn's validation, in microseconds.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        y : label
        sample_weight : float, default=1.0

        Notes
        -----
        ``update`` may begin a stream.  A label that comes for the first time takes longer.
        """
        place = -1 if self._core is None else self._place_of(y)
        if place < 0:
            self._arrive(x, [y], sample_weight)
            return
        counts = self._counts
        if self.class_weight is not None:
            weight = np.array([sample_weight], dtype=np.float64)
            if isinstance(self.class_weight, dict):
                weight = self._class_weighted(np.array([y]), weight)
            weight, counts = self._as_balanced(np.array([place]), weight)
            sample_weight = float(weight[0])
        if self._order is None and self._flat:
            target: Any = 1.0 if place else -1.0
        else:
            target = np.full(self._core.n_outputs, -1.0 if self._order is None else 0.0)
            target[place] = 1.0
        self._learn_one(x, target, sample_weight)
        self._counts = counts

    def _scores_of_one(self, x: Array) -> Array:
        scores = super()._scores_of_one(x)
        return scores if self._order is None else self._model().signed(scores)

    def predict_one(self, x: Array) -> Any:
        """Predict the label of one row without scikit-learn's validation.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64

        Returns
        -------
        label
        """
        return self._label_of(self._scores_of_one(x))

    def predict_proba_one(self, x: Array) -> Array:
        """Predict the probability of each class for one row without scikit-learn's validation.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64

        Returns
        -------
        ndarray of shape (n_classes,)
        """
        scores = self._scores_of_one(x)
        return softmax(scores[None, :], self.temperature_)[0] if len(self.classes_) > 1 else np.ones(1)

    def predict_set_one(self, x: Array, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return the classes that one row may have, as ``predict_set`` does, without scikit-learn's validation.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        coverage : float, default=0.9

        Returns
        -------
        ndarray of bool of shape (n_classes,)
        """
        coverage = check_coverage(coverage)
        return sets_of(self.predict_proba_one(x)[None, :], self._least_probability(coverage))[0]
