"""Streams of labelled rows beyond ``partial_fit``: predict-then-learn, one row at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from .. import _core
from ..base.probabilities import softmax
from ..base.validation import unchanged_on_error
from .rows import Prequential, Stream, check_delay


class StreamClassification(Stream):
    """Methods of the online classifier for those who hold the stream in their own hands."""

    classes_: NDArray[Any]
    _calibration: tuple[float, float]  # log temperature and its Fisher information
    _exact_apriori = True

    def _begin(self, *args: Any, **options: Any) -> Any:
        self._calibration = (0.0, 1.0)
        return super()._begin(*args, **options)

    def _calibrate(
        self, apriori: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
    ) -> None:
        known = ~np.isnan(apriori[:, 0])
        if not known.all():
            apriori, targets, weight = apriori[known], targets[known], weight[known]
        self._calibration = _core.calibrate(apriori, targets, weight, *self._calibration)

    def _label_of(self, scores: NDArray[np.float64]) -> Any:
        return self.classes_[(scores[..., 0] > 0).astype(np.intp) if self._flat else scores.argmax(axis=-1)]

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
            before each row, and None.  Where a row is not predicted the label is None and the error NaN: of a fresh
            model as in :meth:`OnlineLSSVMRegressor.prequential`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from kernsift import OnlineLSSVMClassifier
        >>> X, y = make_moons(600, noise=0.2, random_state=7)
        >>> result = OnlineLSSVMClassifier(gamma=2.0).prequential(X, y)
        >>> bool(np.nanmean(result.error) < 0.1)
        True
        """
        check_delay(delay)
        with unchanged_on_error(self):
            fresh = not self.__sklearn_is_fitted__()
            if fresh:
                self._validate_params()
                if classes is None and "_waiting" not in self.__dict__:
                    classes = np.unique(np.asarray(y))
            rows, targets, weight = self._look(X, y, classes, sample_weight, restart=fresh)
            scores, _, n_basis = self._judged(rows, targets, weight, min(int(delay), len(rows)), False)
        known = ~np.isnan(scores[:, 0])
        y_pred = self._label_of(scores)
        error = np.where(known, y_pred != self._label_of(targets), np.nan)
        if not known.all():
            y_pred = np.where(known, y_pred, None)
        return Prequential(y_pred, error, n_basis, None)

    def update(self, x: NDArray[np.float64], y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row without scikit-learn's validation, in microseconds.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        y : label
        sample_weight : float, default=1.0

        Notes
        -----
        The labels must be known: from ``fit``, or from ``classes=`` in the first ``partial_fit`` or ``prequential``.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from kernsift import OnlineLSSVMClassifier
        >>> X, y = make_moons(600, noise=0.2, random_state=7)
        >>> model = OnlineLSSVMClassifier(gamma=2.0).partial_fit(X[:50], y[:50], classes=[0, 1])
        >>> for x, label in zip(X[50:], y[50:]):
        ...     model.update(x, label)
        >>> model.n_samples_seen_
        600
        """
        core = self.__dict__.get("_core")
        if core is None or "_warm_up" in self.__dict__:
            if "classes_" not in self.__dict__:
                raise NotFittedError(
                    f"this {type(self).__name__} does not know its labels: name them in the first partial_fit (or "
                    "prequential) with classes="
                )
            self._arrive(x, y, sample_weight)
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
        apriori = self._scores_of_one(x)
        self._learn_one(core, x, target, sample_weight)
        row, weight = np.reshape(target, (1, -1)), np.array([sample_weight], dtype=np.float64)
        self._calibration = _core.calibrate(apriori[None, :], row, weight, *self._calibration)

    def _one_row(self, x: Any, y: Any, sample_weight: float) -> Any:
        return self._look(x, [y], None, [sample_weight], restart="_core" not in self.__dict__)

    def _look(self, X: ArrayLike, y: ArrayLike, classes: Any, sample_weight: Any, restart: bool) -> Any:
        """Rows, ±1 targets and weights checked; of a fresh stream the classes."""
        raise NotImplementedError

    def predict_one(self, x: NDArray[np.float64]) -> Any:
        """Predict the label of one row without scikit-learn's validation.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64

        Returns
        -------
        label
        """
        return self._label_of(self._scores_of_one(x))

    def predict_proba_one(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predict the probability of each class for one row without scikit-learn's validation.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64

        Returns
        -------
        ndarray of shape (n_classes,)

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from kernsift import OnlineLSSVMClassifier
        >>> X, y = make_moons(600, noise=0.2, random_state=7)
        >>> model = OnlineLSSVMClassifier(gamma=2.0).fit(X, y)
        >>> bool(model.predict_proba_one(X[0])[y[0]] > 0.5)
        True
        """
        return softmax(self._scores_of_one(x)[None, :], self.temperature_)[0]

    @property
    def temperature_(self) -> float:
        """Factor on the scores inside the softmax of ``predict_proba``."""
        self._fitted()
        return float(np.exp(self._calibration[0]))
