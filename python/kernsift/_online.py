"""Online LS-SVM estimators: thin skins over the C++ core (``cpp/core/stream/online_model.hpp``)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from ._calibration import softmax
from ._classes import class_targets, how_few
from ._estimator import in_precision_of
from ._online_stream import StreamRegression
from ._stream_classes import StreamClassification
from ._threads import n_threads
from ._validation import (
    check_weights,
    checked_block,
    fit_context,
    is_empty_block,
    unchanged_on_error,
)


class OnlineLSSVMRegressor(RegressorMixin, StreamRegression):
    """Online least-squares support vector regression on a small basis that follows the stream.

    Each row is learned in O(m²) for m kernels, whatever the number of rows seen [1]_.  A row becomes a kernel when
    it is novel and useful; at ``max_basis`` the kernel that lowers the cost least leaves.  The model is the exact
    minimiser of its regularised cost after every row (with ``forgetting`` below 1 for a ridge near ``alpha``, see
    there).

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
        With r² = Σγⱼ(xⱼ-x'ⱼ)²: ``exp(-r²)``, ``exp(-Σγⱼ|xⱼ-x'ⱼ|)``, Matérn 3/2 and 5/2 of length 1,
        ``(Σγⱼxⱼx'ⱼ + coef0)^degree``, ``x·x'``.
    gamma : float, array of shape (n_features,), "scale", "median" or "learn", default="scale"
        Width.  "scale" is one over the sum of the features' variances in the first block, "median" 1/(2s²) with s
        the median distance there.  A stream that begins with a single row should be given a number.  "learn" finds one
        per feature by :func:`learn_gamma` on the first ``learn_rows`` rows; a model with "scale" answers until then.
        After that they change only when the stream begins again: ``fit``, or ``refit(..., new_widths=True)``.
    degree, coef0 : int, float
        Of the polynomial kernel.
    alpha : float or "gcv", default=0.1
        Ridge: the papers' γ (000) and λ (001).  A total weight, not one per row.  "gcv" begins with 0.1 and chooses it
        by generalised cross-validation, from the state, after 256 rows and whenever their number has doubled, at the
        end of ``fit``, and after ``refit`` and ``prune``; ``update`` and ``prequential`` leave it as it is.
    max_basis : int or None, default=500
        Most kernels kept; None for no limit.
    novelty_tol : float, default=1e-2
        TOL1: squared distance to the span of the basis, relative to k(x, x), from which a row is novel.
    usefulness_tol : float, default=1e-4
        TOL2, relative to the variance of y so far.
    admission : {"product", "two-part", "per-sample", "novelty"}, default="product"
        Of a novel row with distance δ and decrease of the cost u: δu > TOL2 (000), u > TOL2 (001), δu > TOL2 per
        row seen, or always (Engel's unsupervised rule).
    fit_intercept : bool, default=True
        An unpenalised constant; False is the papers' form.
    engine : {"orthonormal", "inverse"}, default="orthonormal"
        How the state is kept: in an orthonormal basis of the kernels' span, or as the papers' explicit inverses,
        a reference that loses up to eleven digits more.
    swap_until : int, None or "auto", default="auto"
        Rows after which a full dictionary is frozen: no kernel leaves any more and every row is a cheap normal step.
        None swaps for ever, as the papers do.  "auto" is 20 × max_basis, and at most half of the rows, in ``fit``;
        ``partial_fit``, which cannot know whether the inputs will drift, never freezes.
    exact_rows : int or "auto", default="auto"
        Recent rows on which a new kernel is exact and its usefulness is measured; 0 is the papers' current row.  A
        few hundred remove most of the loss by rows that never saw the later kernels.  "auto" is 500 in ``fit`` and 0
        in ``partial_fit``, where every newcomer would cost several times as much for ever.
    oversample : int, default=1
        Keep so many times ``max_basis`` kernels while rows come in, and delete down to ``max_basis`` at the end of
        ``fit``, or when :meth:`prune` is called: a deletion loses less than an admission that comes late.
    hysteresis : float in (0, 1], default=1.0
        At the cap a newcomer must be 1 / hysteresis times as useful as the kernel that leaves: fewer swaps, fewer
        rows that never saw the later kernels.
    forgetting : float in [1e-6, 1], default=1.0
        Weight of a row against the one after it.  The ridge is restored now and then: between two such steps it falls
        with the rows, so that it lies between 0.82 and 1 / forgetting times ``alpha``, by the number of rows since the
        last.  The model is the minimiser for that ridge, not for ``alpha`` exactly; predictions differ by 0.2 to 5 %
        for values from 0.9 to 0.999.  ``predict(return_std=True)`` is then too wide: about twice the error in a steady
        state at 0.99.
    learn_rows : int, default=2000
        Rows of positive weight that gamma="learn" waits for and keeps until then; ``fit`` learns from what it gets.
    window : int or None, default=None
        Only the last so many rows count; the model is exact on all of them.  They are kept, and every row costs a
        second step that forgets one.
    n_jobs : int or None, default=None
        Threads for predictions and for rows that can change no dictionary (``refit``, a frozen one); None is one, -1
        all.  ``OMP_NUM_THREADS`` and threadpoolctl bound it; results do not depend on the number.
    random_state : int, RandomState or None
        For gamma="median" on many rows.
    verbose : int or bool, default=0
        Print a line every 8192 rows.  The logger "kernsift" gets the same lines at level INFO.

    Attributes
    ----------
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
        The model: f(x) = intercept_ + Σᵢ dual_coef_[i] k(basis_vectors_[i], x).
    n_basis_, n_samples_seen_, n_refused_ : int
        Kernels, rows seen, rows too close to the basis for the arithmetic.
    cost_, gcv_, noise_variance_, log_evidence_ : float or ndarray
        Read off the state, without the rows.
    audit_ : dict
        Counts of rows admitted, evicted and rejected, by rule.
    learned_gamma_ : dict
        With gamma="learn", what :func:`learn_gamma` found.

    References
    ----------
    .. [1] T. Jung and D. Polani, "Sequential Learning with LS-SVM for Large-Scale Data Sets", ICANN 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> rng = np.random.default_rng(7)
    >>> X = rng.uniform(-3, 3, (600, 1))
    >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(600)
    >>> model = OnlineLSSVMRegressor(gamma=1.0)
    >>> for block in range(0, 600, 100):
    ...     model = model.partial_fit(X[block:block + 100], y[block:block + 100])
    >>> bool(np.abs(model.predict(X) - np.sinc(X[:, 0])).max() < 0.1)
    True
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rows from the beginning, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row's squared error; rows of weight zero are skipped.
        """
        with unchanged_on_error(self):
            return self._fit_block(X, y, sample_weight, restart=True, whole=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows, in their order.  A block without rows changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        """
        if is_empty_block(X):
            return self
        with unchanged_on_error(self):
            return self._fit_block(X, y, sample_weight, restart=not self.__sklearn_is_fitted__())

    def _fit_block(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, restart: bool, whole: bool = False
    ) -> Self:
        if restart:
            if whole:
                self.__dict__.pop("_waiting", None)
            rows, targets, weight = self._with_waiting(*self._first_look(X, y, sample_weight))
            if not (weight > 0).any():
                raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
        else:
            rows, targets, weight = self._second_look(X, y, sample_weight)
        self._learn(rows, targets, weight, restart=restart, whole=whole)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict, with the standard deviation of a new observation if asked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            The spread of the model, of what the basis does not span at x, and of the noise, together: the
            augmented predictive variance of 001.  Far from the basis it returns to the prior's.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape, only with ``return_std=True``

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> rng = np.random.default_rng(7)
        >>> X = rng.uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(400)
        >>> model = OnlineLSSVMRegressor(gamma=1.0).fit(X, y)
        >>> mean, std = model.predict([[0.0], [30.0]], return_std=True)
        >>> bool(std[0] < 0.06 < std[1])  # far from the rows it knows little
        True
        """
        if not return_std:
            scores = self._scores(X)
            return in_precision_of(X, scores[:, 0] if self._flat else scores)
        self._needs_ridge("predict(return_std=True)")
        core = self._fitted()
        mean, spread, delta, noise, alpha = core.predict_with_spread(self._rows(X), n_threads(self.n_jobs))
        # [MATH 1.9] alpha w'Cw + delta in units of the prior, whose scale is noise / alpha; plus the noise itself
        std = np.sqrt((1.0 + spread + delta / alpha)[:, None] * noise)
        return in_precision_of(X, *((mean[:, 0], std[:, 0]) if self._flat else (mean, std)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class OnlineLSSVMClassifier(ClassifierMixin, StreamClassification):
    """Online least-squares support vector classification, all classes on one basis.

    Regresses on ±1 targets, one column a class (one column in all for two classes), so that k classes share the
    kernels and the inverse and cost little more than one.  Probabilities are a softmax of the scores with one
    temperature, learnt from scores given before their row was seen.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
    gamma : float, array of shape (n_features,), "scale", "median" or "learn", default="scale"
    degree, coef0 : int, float
    alpha : float or "gcv", default=0.1
    max_basis : int or None, default=500
    novelty_tol : float, default=1e-2
    usefulness_tol : float, default=1e-4
    admission : {"product", "two-part", "per-sample", "novelty"}, default="product"
    fit_intercept : bool, default=True
    engine : {"orthonormal", "inverse"}, default="orthonormal"
    swap_until : int, None or "auto", default="auto"
    exact_rows : int or "auto", default="auto"
    oversample : int, default=1
    hysteresis : float in (0, 1], default=1.0
    forgetting : float in [1e-6, 1], default=1.0
    learn_rows : int, default=2000
    window : int or None, default=None
    n_jobs : int or None, default=None
    random_state : int, RandomState or None
    verbose : int or bool, default=0
        All as in :class:`OnlineLSSVMRegressor`.

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
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import OnlineLSSVMClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=7)
    >>> model = OnlineLSSVMClassifier(gamma=2.0).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True

    A stream names its classes in the first call; probabilities add up to one:

    >>> model = OnlineLSSVMClassifier(gamma=2.0).partial_fit(X[:100], y[:100], classes=[0, 1])
    >>> model = model.partial_fit(X[100:], y[100:])
    >>> model.predict_proba(X[:2]).sum(axis=1).round(6)
    array([1., 1.])
    >>> bool(((model.decision_function(X) > 0) == (model.predict(X) == 1)).all())
    True
    >>> model.refit(X, y).n_basis_ < 60  # a second pass on the kernels found
    True
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rows from the beginning, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero are skipped; a class that has no other is not a class.
        """
        with unchanged_on_error(self):
            return self._fit_block(X, y, None, sample_weight, restart=True, whole=True)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn further rows, in their order.  A block without rows changes nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All labels the stream can bring; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
        """
        if is_empty_block(X):
            return self
        with unchanged_on_error(self):
            return self._fit_block(X, y, classes, sample_weight, restart=not self.__sklearn_is_fitted__())

    def _fit_block(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        restart: bool,
        whole: bool = False,
    ) -> Self:
        if restart and whole:
            self.__dict__.pop("_waiting", None)
        rows, targets, weight = self._look(X, y, classes, sample_weight, restart)
        if restart:
            rows, targets, weight = self._with_waiting(rows, targets, weight)
        self._learn(rows, targets, weight, restart=restart, whole=whole)
        return self

    def _look(self, X: ArrayLike, y: ArrayLike, classes: Any, sample_weight: Any, restart: bool) -> Any:
        begins = restart and "_waiting" not in self.__dict__
        rows, labels = checked_block(self, X, y, reset=begins)
        check_classification_targets(labels)
        weight = check_weights(sample_weight, rows)
        if begins:
            if not (weight > 0).any():
                raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
            self.classes_ = np.unique(labels[weight > 0] if classes is None else np.asarray(classes))
            if len(self.classes_) < 2:
                raise ValueError(
                    f"a classifier needs at least 2 classes, got {how_few(self.classes_)}; in partial_fit, "
                    "name all labels with classes="
                )
            self._flat = len(self.classes_) == 2
        else:
            if not restart:
                self._check_unchanged_params()
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(f"classes={classes!r} differs from the {self.classes_!r} this stream began with")
        return rows, self._encode(labels, weight), weight

    @fit_context(prefer_skip_nested_validation=True)
    def refit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, new_widths: bool = False
    ) -> Self:
        """Learn the rows afresh on the present basis; see :meth:`OnlineLSSVMRegressor.refit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        new_widths : bool, default=False
            With gamma="learn": learn the widths anew from these rows, and with them the basis.
        """
        self._fitted()
        self._check_unchanged_params()
        rows, labels = checked_block(self, X, y, reset=False)
        weight = check_weights(sample_weight, rows)
        self._refit(rows, self._encode(labels, weight), weight, new_widths)
        return self

    def _encode(self, y: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """±1 targets, one column a class; one column in all for two classes."""
        hint = "; name all labels in the first partial_fit with classes="
        return class_targets(self.classes_, y, weight, hint)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores: (n_samples,) for two classes, else (n_samples, n_classes)."""
        scores = self._scores(X)
        return in_precision_of(X, scores[:, 0] if self._flat else scores)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely class of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp) if self._flat else scores.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, (n_samples, n_classes)."""
        return in_precision_of(X, softmax(self._scores(X), self.temperature_))
