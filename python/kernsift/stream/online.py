"""Online LS-SVM regression over the C++ core (``cpp/core/stream``)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import Array
from ..base.estimator import in_precision_of
from ..base.left_out import normal_quantile
from ..base.targets import IncrementalRegression
from ..base.threads import n_threads
from ..base.validation import as_targets, at_this_moment, check_array, one_target, transaction
from .learning import Prequential, check_delay
from .online_model import OnlineModel
from .parameters import RegressorParameters


class OnlineLSSVMRegressor(IncrementalRegression, RegressorParameters, OnlineModel):
    """Online least-squares support vector regression on a small basis that follows the stream.

    Each row is learned in O(m²) for m kernels, whatever the number of rows seen [1]_.  A row becomes a kernel when
    it is novel and useful; at ``max_basis`` the kernel that lowers the cost least leaves.  The model is the exact
    minimiser of its regularised cost after every row.  On streams (``partial_fit``, ``update``, ``prequential``)
    several such models of different memories compete, so that nobody has to know how fast the world changes.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
        With r² = Σγⱼ(xⱼ-x'ⱼ)²: ``exp(-r²)``, ``exp(-Σγⱼ|xⱼ-x'ⱼ|)``, Matérn 3/2 and 5/2 of length 1,
        ``(Σγⱼxⱼx'ⱼ + coef0)^degree``, ``x·x'``.
    gamma : float, array (n_features,), Warp, "auto", "learn", "scale", "standard", "median", "warp", default="auto"
        Width.  "scale" is one over the sum of the features' variances, "standard" the same with each feature in units
        of its own deviation, "median" 1/(2s²) with s the median distance: of all rows in ``fit``, of the first 128 of a
        stream, which predicts with those of the first 4, 8, ... until then.  With "learn" a stream goes on learning one
        width per feature: now and then a challenger with new widths learns its rows too, and takes over when it
        predicts better; ``fit`` uses :func:`learn_gamma`.  "auto" is "learn" for streams of kernels with widths, and
        "scale" for ``fit``.  "warp" is for ``fit`` alone; a stream takes a :class:`Warp` that was learned.
    degree, coef0 : int, float
        Of the polynomial kernel.
    alpha : float, "auto" or "gcv", default="auto"
        Ridge: γ of Jung & Polani (2006), λ of their slides.  A total weight, not one per row.  "auto" is 0.1 in
        ``fit``; a stream that learns its widths begins with that and tries challengers with a third of it or three
        times it.  "gcv" begins with 0.1 and chooses by generalised cross-validation, from the state, after 256 rows
        and whenever their number has doubled, at the end of ``fit``, and after ``refit`` and ``prune``; ``update`` and
        ``prequential`` keep it.
    max_basis : int or None, default=500
        Most kernels kept; None for no limit.
    novelty_tol : float, default=1e-2
        TOL1: squared distance to the span of the basis, relative to k(x, x), from which a row is novel.
    usefulness_tol : float, default=1e-4
        TOL2, relative to the variance of y so far.
    admission : {"product", "two-part", "per-sample", "novelty"}, default="product"
        Of a novel row with distance δ and decrease of the cost u: δu > TOL2 (Jung & Polani 2006), u > TOL2 (their
        slides), δu > TOL2 per row seen, or always (Engel's unsupervised rule).
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
    forgetting : "auto", float in [1e-6, 1] or list of floats, default="auto"
        What the past keeps with each row: one minus it is a step back to the prior.  Several memories compete on one
        dictionary, and their predictions are averaged by how well each did lately: see ``experts_``.  "auto" is
        (1, 0.9995, 0.998, 0.99) on streams, and a single memory that forgets nothing in ``fit``, with ``window``,
        ``exact_rows`` or alpha=0.  A number is one memory.  The first decides on the dictionary.
    linear : bool or "auto", default="auto"
        A linear part beside the kernels, with the same prior.  "auto" adds it to streams of stationary kernels where
        the features are at most half of ``max_basis``, and not in ``fit``; predictions of a regressor then leave the
        range of the targets seen by half of it at most, however far a row is from all others.  True sets no bounds.
    error_forecast : bool or "auto", default="auto"
        What the errors of the last rows tell of the next one is added to its prediction, in ``predict_one`` and
        ``prequential``, as far as that has lowered the error lately.  ``predict`` is of rows at any time and has none
        of it.  "auto" is True with the memories of forgetting="auto" on streams.
    learn_rows : int, default=1000
        Last rows from which a stream learns its widths, at most; twice as many are kept.
    window : int or None, default=None
        Only the last so many rows count; the model is exact on all of them.  They are kept, and every row costs a
        second step that forgets one.
    noise : {"auto", "constant", "input"}, default="auto"
        Whether standard deviations and intervals follow noise that depends on the input.  For "auto" they do while
        that makes the last errors more likely, and predictions do not change; it is "constant" with alpha=0 or
        engine="inverse".  For "input" they always do, and the mean is learned with weights one over the variance
        predicted before the row, rows of a block one by one.  Either takes 1 to 7 % of the time of a row with a hundred
        kernels or more, requested or not.
    n_jobs : int or None, default=None
        Threads for predictions and for rows that can change no dictionary (``refit``, a frozen one); None is one, -1
        all.  ``OMP_NUM_THREADS`` and threadpoolctl bound it; results do not depend on the number.
    random_state : int, RandomState, Generator or None
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
    linear_coef_ : ndarray
        Slopes of the linear part, which f(x) has besides; zeros without one.
    experts_ : list of dict
        The memories with their weights and recent errors.
    audit_ : dict
        Counts of rows admitted, evicted and rejected, by rule.
    learned_gamma_ : dict
        Where widths were learned, what :func:`learn_gamma` or the stream found.
    noise_ : {"constant", "input"}
        What is in use of ``noise`` at present.
    drift_ : list of int
        Rows seen when a stream that learns its widths was found to have changed.

    References
    ----------
    .. [1] T. Jung and D. Polani, "Sequential Learning with LS-SVM for Large-Scale Data Sets", ICANN 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> X = np.random.default_rng(7).uniform(-3, 3, (600, 1))
    >>> y = np.sinc(X[:, 0])
    >>> model = OnlineLSSVMRegressor(gamma=1.0)
    >>> for block in range(0, 400, 100):
    ...     model = model.partial_fit(X[block:block + 100], y[block:block + 100])
    >>> bool(np.abs(model.predict(X) - y).max() < 0.1)
    True

    Rows one at a time, predicted and then learned; the standard deviation, large far from the rows:

    >>> errors = model.prequential(X[400:500], y[400:500]).error
    >>> for x, target in zip(X[500:], y[500:]):
    ...     errors = np.append(errors, target - model.predict_one(x))
    ...     model.update(x, target)
    >>> bool(np.abs(errors).max() < 0.1)
    True
    >>> mean, std = model.predict([[0.0], [30.0]], return_std=True)
    >>> bool(2 * std[0] < std[1])
    True
    >>> lower, upper = model.predict_interval_one(X[0], coverage=0.9)
    >>> lower < model.predict_one(X[0]) < upper
    True

    Without any setting the stream finds its widths, and notes where it changes:

    >>> changing = OnlineLSSVMRegressor().on_drift(lambda row: None)
    >>> X, y = np.tile(X, (3, 1)), np.concatenate([y, y, np.cos(X[:, 0])])
    >>> error = changing.prequential(X, y).error
    >>> bool(np.abs(error[1100:1200]).max() < 0.1), [row // 100 for row in changing.drift_]
    (True, [12])

    How much a kernel at each of three rows would lower the cost, measured on the last 200 rows:

    >>> small = OnlineLSSVMRegressor(gamma=1.0, exact_rows=200, max_basis=3, forgetting=1.0).partial_fit(X, y)
    >>> int(small.score_candidates([[-2.5], [0.5], [40.0]]).argmin())
    2

    Noise that grows with x, and intervals that do:

    >>> x = np.random.default_rng(7).uniform(0, 1, (800, 1))
    >>> uneven = OnlineLSSVMRegressor(gamma=1.0)
    >>> uneven = uneven.partial_fit(x, x[:, 0] * np.random.default_rng(8).standard_normal(800))
    >>> lower, upper = uneven.predict_interval([[0.1], [0.9]])
    >>> uneven.noise_, bool(upper[1] - lower[1] > 3 * (upper[0] - lower[0]))
    ('input', True)

    A second pass over the rows, and fewer kernels:

    >>> model.refit(X, y).prune(8).n_basis_, model.health()["sound"]
    (8, True)
    """

    _lags = 0  # targets among the features
    _last_targets: Array | None = None

    def _n_outputs(self) -> int | None:
        return None if self._core is None else int(self._core.n_outputs)

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        delay: int = 0,
        return_std: bool = False,
        coverage: float | None = None,
        target_lags: int = 0,
    ) -> Prequential:
        """Predict each row, then learn it: the honest error of a stream, and the model moves on.

        Parameters
        ----------
        X, y, sample_weight
            As in ``partial_fit``.
        delay : int, default=0
            Rows until a target is known: row i is predicted before row ``i - delay`` is learned.
        return_std : bool, default=False
            Also the standard deviation of each prediction.
        coverage : float, optional
            Also an interval for each row, made before its target is known, as :meth:`predict_interval` does.
        target_lags : int, default=0
            So many of the last known targets become features behind those of X, the latest first: for series with a
            memory of their own.  With ``delay`` the latest is that of the row before the last ``delay`` ones.  The same
            in every call of a stream.

        Returns
        -------
        Prequential
            Named tuple ``y_pred, error, n_basis, std, lower, upper``: predictions, ``y - y_pred``, kernels before each
            row, and the standard deviations and intervals or None.

        Notes
        -----
        A model looks at no row before it has predicted it; the first is predicted by 0.

        With ``delay`` the memories are weighed by what they predicted when the row came.  ``update`` cannot know that:
        it weighs them by what they would predict when the target is there.
        """
        check_delay(delay)
        quantile = 0.0 if coverage is None else normal_quantile(coverage)
        with transaction(self) as new:
            if new._core is None:
                new._validate_params()
            X = new._with_lags(X, y, int(delay), target_lags)
            rows = new._next(X, y, sample_weight)
            for asked, name in ((return_std, "return_std=True"), (quantile > 0, f"coverage={coverage!r}")):
                if asked and not new._ridge() > 0:
                    raise ValueError(f"prequential({name}) needs alpha > 0: without a ridge there is no prior")
            mean, variance, n_basis, half = new._predict_then_learn(rows, delay, return_std, quantile)
        std = self._columns(np.sqrt(variance)) if return_std and variance is not None else None
        bounds = (self._columns(mean - half), self._columns(mean + half)) if quantile else (None, None)
        return Prequential(self._columns(mean), self._columns(rows.targets - mean), n_basis, std, *bounds)

    def update(self, x: Array, y: float | Array, sample_weight: float = 1.0) -> None:
        """Learn one row without scikit-learn's validation, in microseconds.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        y : float or ndarray of shape (n_outputs,)
        sample_weight : float, default=1.0

        Notes
        -----
        ``update`` may begin a stream.
        """
        if self._core is None:
            self._arrive(x, one_target(y) if np.ndim(y) == 0 else one_target(y)[None], sample_weight)
            return
        target = y if isinstance(y, float) else one_target(y)
        self._learn_one(x, target, sample_weight)

    def _with_lags(self, X: Any, y: ArrayLike, delay: int, target_lags: int) -> Any:
        """The rows of X with the last targets known before each."""
        if not isinstance(target_lags, Integral) or isinstance(target_lags, bool) or target_lags < 0:
            raise ValueError(f"target_lags={target_lags!r} must be a whole number of targets, 0 or more")
        if self._core is not None and target_lags != self._lags:
            raise ValueError(f"target_lags={target_lags} but this stream began with target_lags={self._lags}")
        if target_lags == 0:
            return X
        self._lags = int(target_lags)
        rows, targets = check_array(X, dtype=np.float64), as_targets(np.asarray(y, dtype=np.float64))
        if len(targets) != len(rows):
            raise ValueError(f"y has {len(targets)} rows but X has {len(rows)}")
        past = np.empty((0, targets.shape[1])) if self._last_targets is None else self._last_targets
        if past.shape[1] != targets.shape[1]:
            raise ValueError(f"y has {targets.shape[1]} outputs but this model began with {past.shape[1]}")
        known = np.concatenate([past, targets])
        # place of the latest of each row; before the first target there is 0, and before that of the first, the first
        latest = len(past) + np.arange(len(rows)) - delay - 1
        place = latest[:, None] - np.arange(self._lags)
        lagged = np.where((latest >= 0)[:, None, None], known[np.maximum(place, 0)], 0.0)
        self._last_targets = known[len(known) - min(len(known), self._lags + delay) :]
        return np.ascontiguousarray(np.concatenate([rows, lagged.reshape(len(rows), -1)], axis=1))

    def predict_one(self, x: Array) -> Any:
        """Predict the next row without scikit-learn's validation; NaN and infinity are refused.

        With what the errors of the last rows tell of it (``error_forecast``); without that, ``predict`` to rounding.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64

        Returns
        -------
        float, or ndarray of shape (n_outputs,)
        """
        mean = self._scores_of_one(x)
        return mean.item() if self._flat else mean

    def predict_interval_one(self, x: Array, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return an interval for a new observation at one row without scikit-learn's validation.

        About the prediction of ``predict_one``, and as wide as that of ``prequential(coverage=...)``; without
        ``error_forecast``, of ``predict_interval`` to rounding.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
        coverage : float, default=0.9

        Returns
        -------
        lower, upper : float, or ndarray of shape (n_outputs,)
        """
        quantile = normal_quantile(coverage)
        self._fitted()
        self._needs_ridge("predict_interval_one")
        mean, half = self._read_one("predict_interval_one", x, quantile)
        lower, upper = mean - half, mean + half
        return (lower.item(), upper.item()) if self._flat else (lower, upper)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return an interval for a new observation at each row.

        It is as many standard deviations wide to both sides as contained ``coverage`` of the rows learned lately, each
        compared before it was learned: the width grows with every row outside and shrinks with every row inside, so
        that in the long run the part ``coverage`` is inside, whatever the stream does.  That holds for 0.5, 0.8, 0.9,
        0.95 and 0.99; widths between these are interpolated.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Part of the rows to come whose targets the intervals contain.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        quantile = normal_quantile(coverage)
        self = at_this_moment(self)
        self._fitted()
        self._needs_all("predict_interval")
        self._needs_ridge("predict_interval")
        mean, half = self._fitted().predict_with_variance(self._rows(X), n_threads(self.n_jobs), quantile)
        return in_precision_of(X, self._columns(mean - half), self._columns(mean + half))

    @property
    def noise_(self) -> str:
        """What is in use of ``noise`` at present: "input" where that of an output depends on x, else "constant"."""
        return "input" if any(self._fitted().uneven_noise) else "constant"

    def _mean_and_covariance(self, X: Array) -> tuple[Array, Array, Array]:
        self._needs_ridge("the covariance of several rows")
        return self._fitted().predict_with_covariance(X, n_threads(self.n_jobs))

    def _mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        self._needs_ridge("predict(return_std=True)")
        return self._fitted().predict_with_variance(X, n_threads(self.n_jobs))
