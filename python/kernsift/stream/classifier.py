"""Online LS-SVM classification over the C++ core (``cpp/core/stream``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from .. import _core
from ..base.arrays import Array
from ..base.probabilities import softmax
from ..base.targets import IncrementalClassification, Rows
from ..base.validation import transaction
from .learning import Prequential, check_delay
from .online_model import OnlineModel


class OnlineLSSVMClassifier(IncrementalClassification, OnlineModel):
    """Online least-squares support vector classification, all classes on one basis.

    Regresses on ±1 targets, one column a class (one column in all for two classes), so that k classes share the
    kernels and the inverse and cost little more than one.  Probabilities are a softmax of the scores with one
    temperature, learned from scores given before their row was seen.

    Parameters
    ----------
    kernel, gamma, degree, coef0, alpha, max_basis, novelty_tol, usefulness_tol, admission, fit_intercept, engine, \
swap_until, exact_rows, oversample, hysteresis, forgetting, linear, learn_rows, window, n_jobs, random_state, verbose
        As in :class:`OnlineLSSVMRegressor`.

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

    A stream names its classes in the first call; probabilities add up to one:

    >>> model = OnlineLSSVMClassifier(gamma=2.0).partial_fit(X[:100], y[:100], classes=[0, 1])
    >>> error = model.prequential(X[100:500], y[100:500]).error
    >>> for x, label in zip(X[500:], y[500:]):
    ...     error = np.append(error, model.predict_one(x) != label)
    ...     model.update(x, label)
    >>> bool(np.mean(error) < 0.1)
    True
    >>> model.predict_proba(X[:2]).sum(axis=1).round(6), model.predict_proba_one(X[0]).shape
    (array([1., 1.]), (2,))
    >>> bool(((model.decision_function(X) > 0) == (model.predict(X) == 1)).all())
    True
    >>> model.refit(X, y).n_basis_ < 60  # a second pass on the kernels found
    True
    """

    _calibration = (0.0, 1.0)  # log temperature and its Fisher information
    _exact_apriori = True
    _level = False  # targets are codes of classes, and nothing known is 0

    @property
    def temperature_(self) -> float:
        """Factor on the scores inside the softmax of ``predict_proba``."""
        self._fitted()
        return float(np.exp(self._calibration[0]))

    def _calibrated(self, calibration: Any, apriori: Array, rows: Rows) -> Any:
        known = ~np.isnan(apriori[:, 0])
        if not known.all():
            apriori, rows = apriori[known], Rows(*(part[known] for part in rows))
        return _core.calibrate(apriori, rows.targets, rows.weight, *calibration)

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        delay: int = 0,
    ) -> Prequential:
        """Predict each row, then learn it: the honest error of a stream, and the model moves on.

        Parameters
        ----------
        X, y, sample_weight
            As in ``partial_fit``.
        classes : array-like, optional
            All labels the stream can bring, for a fresh model; the labels in ``y`` if not given.
        delay : int, default=0
            Rows until a label is known: row i is predicted before row ``i - delay`` is learned.

        Returns
        -------
        Prequential
            Named tuple ``y_pred, error, n_basis, std``: labels, 1.0 where they are wrong and 0.0 where right, kernels
            before each row, and None.
        """
        check_delay(delay)
        with transaction(self) as new:
            if new._core is None:
                new._validate_params()
                if classes is None:
                    classes = np.unique(np.asarray(y))
            rows = new._next(X, y, sample_weight, classes)
            scores, _, n_basis = new._predict_then_learn(rows, delay, False)
        y_pred = self._label_of(scores)
        error = (y_pred != self._label_of(rows.targets)).astype(np.float64)
        return Prequential(y_pred, error, n_basis, None)

    def update(self, x: Array, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row without scikit-learn's validation, in microseconds.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        y : label
        sample_weight : float, default=1.0

        Notes
        -----
        The labels must be known: from ``fit``, or from ``classes=`` in the first ``partial_fit`` or ``prequential``.
        """
        if self._core is None:
            if not hasattr(self, "classes_"):
                raise NotFittedError(
                    f"this {type(self).__name__} does not know its labels: name them in the first partial_fit (or "
                    "prequential) with classes="
                )
            self._arrive(x, [y], sample_weight)
            return
        classes = self.classes_
        place = int(classes.searchsorted(y))
        if place == len(classes) or classes[place] != y:
            raise ValueError(
                f"y is {y!r}, which is not among the classes {classes.tolist()}; name all labels in the first "
                "partial_fit with classes="
            )
        if self._flat:
            target: Any = 1.0 if place else -1.0
        else:
            target = np.full(len(classes), -1.0)
            target[place] = 1.0
        self._learn_one(x, target, sample_weight)

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
        return softmax(self._scores_of_one(x)[None, :], self.temperature_)[0]
