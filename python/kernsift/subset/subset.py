"""Subset-of-regressors LS-SVM: exact least squares on a chosen basis, whole, streamed, or in parts that merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..base.arrays import Array
from ..base.canonical import Table
from ..base.intervals import Intervals
from ..base.kernel import parameter, parameters
from ..base.left_out import LeftOut, kernels_on
from ..base.probabilities import fit_temperature, softmax
from ..base.sets import LeftOutSets
from ..base.targets import IncrementalClassification, IncrementalRegression
from ..base.threads import n_threads
from ..base.validation import transaction
from .base import SubsetBase
from .batches import learn_batches
from .logistic import ROWS, fit_logistic, left_out_loss
from .state import SubsetState, ready


@parameters
class SubsetLSSVMRegressor(IncrementalRegression, Intervals, SubsetBase):
    """Least-squares support vector regression on a chosen basis, exact over any number of rows.

    The subset of regressors: few kernels, all rows.  The rows enter through sums of bounded size, so that blocks,
    streams, files and machines give the same model as one table.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear", "auto", "precomputed"}, callable
        As in :class:`OnlineLSSVMRegressor`.  "auto" chooses among rbf, laplacian and matern32 in a fit, by the error of
        the model as it will be on rows held out: five parts in turn below 2,500 rows, a fifth above, where the worst
        are dropped after small models.  A function, or "precomputed", as in :class:`LSSVMRegressor`; ``max_basis`` rows
        that span the others best are chosen first, or those of ``basis=[...]``.
    gamma : float, array of shape (n_features,), Warp, "scale", "standard", "median", "learn" or "warp", default="scale"
        Width.  "scale" is one over the sum of the features' variances, "standard" the same with each feature in units
        of its own deviation, "median" 1/(2s²) with s the median distance; "learn" finds one per feature by
        :func:`learn_gamma`, on 10,000 rows and in seconds, "warp" a :class:`Warp`.  With "standard" and "learn"
        the units of the columns have no effect.
    degree, coef0 : int, float
        Of the polynomial kernel.
    alpha : float, "gcv" or "loo", default="gcv"
        Ridge, a total weight.  "gcv" minimises generalised cross-validation, from the sums, a degree of freedom counted
        1.4 times against too little ridge; "loo" the exact
        leave-one-out error with the basis fixed, by one more pass (only in ``fit``).
    basis : str, FeatureVectorSelector, array of row numbers or of vectors, default="pruned"
        "pruned" begins with ``oversample * max_basis`` random rows and deletes those that cost least; "efvs", "greedy",
        "rpcholesky", "kmeans", "ald" and "random" do not look at y; "online" is the dictionary of
        :class:`OnlineLSSVMRegressor`; "orols", "qr" and "csi" take the row that lowers an error most.  A selector's own
        kernel is not used.
    max_basis : int or "auto", default=500
        Most kernels; fewer where the rows span less.  "auto", of "pruned": as many as lower the mean squared error on
        rows held out by 2 % a doubling.
    max_basis_limit : int, default=2000
        Of max_basis="auto".
    size : {"auto", "max", "held-out"}, default="auto"
        Of "pruned", in ``fit``: ``max_basis`` kernels, or the largest size on the path of deletions whose mean squared
        error, on rows held out from choosing, is within 2 % of the smallest: on small or noisy tables fewer can be
        better, and GCV, which does not see that the kernels were chosen, cannot tell.  "auto" is "held-out" with
        gamma="learn" or "warp" and fewer than 50 rows to a kernel, else "max".
    polish : int, default=0
        In ``fit``, iterations in which the centres and widths of the chosen kernels move together down the gradient of
        the leave-one-out error on up to 10,000 rows, as far as it helps on rows held out; try 20.  The centres are no
        rows then.
    n_models : int, default=1
        In ``fit``, the mean of this number of models of one kernel, each from random rows of its own, as one expansion
        on the kernels of all.  It predicts, and is saved and exported; rows to come, standard deviations and sizes
        need one model.
    oversample : float, default=3.0
        Of "pruned".  Of more than 64 rows for each of the oversample * max_basis elements, a sample decides which are
        deleted: twice as many rows are taken while the scores are lost in noise, at most 128 an element.
    cycles : int, default=1
        Of "pruned": times new random rows join the survivors.  ``oversample=2, cycles=4`` costs about twice as much and
        chooses a little better.
    keep_path : bool or "memory", default="memory"
        Keep the sums "pruned" began with, (oversample * max_basis)² numbers, for :meth:`resize`.  "memory" leaves them
        out of pickles and files, which are a tenth of the size then; True keeps them there too.
    keep_sums : bool, default=True
        Keep the sums over the rows, max_basis² numbers.  Without them nothing more can be learned, merged or chosen
        again, and the ridge is factored in their place beside the factor of the basis: of a basis that is given,
        ``fit`` then takes 8 max_basis² bytes and a block of rows, where it takes three times that otherwise (four
        with "gcv").  For thousands of kernels; an ``alpha`` that is chosen needs eigenvectors for a while.
    fit_intercept : bool, default=True
        An unpenalised constant.
    noise : {"auto", "constant", "input"}, default="auto"
        Whether the noise depends on x.  "input": standard deviations and intervals follow a second model on the same
        kernels, of the logarithm of the squared errors of rows left out (:attr:`noise_` and the guide's page "How sure
        is it"); predictions stay.  "auto": where a hundred rows left out are likelier so, by over a standard error.
    n_jobs : int or None, default=None
        Threads for the sums, the factors and predictions; None is one, -1 all.  ``OMP_NUM_THREADS`` is honoured;
        results do not depend on the number.
    validation : {"random", "time"}, list of (train, test) or array of shape (n_samples,), default="random"
        Rows that "auto" holds out: at random, the last fifth, pairs of row numbers, or whole groups, one label a row.
    categorical_features : "from_dtype" or array-like of names, column numbers or bool, default="from_dtype"
        Columns of numbers that name categories, and in an array also those of texts.  Texts and categories of a data
        frame are categories in any case.
    periods : dict, optional
        Period, or several, of columns by name or number, such as ``{"when": [1, 365.25], "angle": 360}``: in days for
        dates and durations.  Each makes a sine and a cosine; a number's own value is then left out.
    keep : {"all", "predict"}, default="all"
        What ``fit`` leaves: "predict" drops all that predictions do not need, so that pickles are as small as files of
        ``save(what="predict")``.  Rows to come, standard deviations, intervals and sizes need the rest.
    random_state : int, RandomState, Generator or None
        For the random rows.  With an int, ``fit`` does not depend on the order of the rows.

    Attributes
    ----------
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
        The model: f(x) = intercept_ + Σᵢ dual_coef_[i] k(basis_vectors_[i], x).
    n_basis_, n_samples_seen_ : int
    alpha_ : float
    gamma_ : ndarray of shape (n_features,), or Warp
    kernel_ : str
    search_ : list of dict
        With kernel="auto" or max_basis="auto", what was tried, the best first: ``kernel``, ``gamma``, ``error`` (root
        mean square) with its ``standard_error``, ``seconds``, ``stage`` ("full", "short" if dropped after a small
        model) and ``splits``.
    cost_, gcv_, noise_variance_, log_evidence_ : float or ndarray
    noise_ : str
        "input" where the noise of an output depends on x, else "constant".
    columns_ : Columns
        Of a table with other columns than numbers: what they are (``columns``), and the ``coordinates`` in which the
        kernels lie.  ``columns_.encode(X)`` gives them, ``columns_.by_column(relevance)`` adds up those of a column.
    state_ : SubsetState
        The sums, as plain arrays.
    path_ : dict
        With a size held out: sizes ``n_basis``, their mean squared ``error`` on rows held out.
    learned_gamma_ : dict
        With gamma="learn" or "warp", what :func:`learn_gamma` found.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import SubsetLSSVMRegressor
    >>> X = np.random.default_rng(7).uniform(-3, 3, (2000, 1))
    >>> y = np.sinc(X[:, 0])
    >>> model = SubsetLSSVMRegressor(max_basis=30, gamma=1.0, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sinc(X[:, 0])).max() < 0.05)
    True
    >>> lower, upper = model.predict_interval(X, coverage=0.9)

    The same from parts, in any order:

    >>> parts = SubsetLSSVMRegressor(max_basis=30, gamma=1.0, random_state=0).select_basis(X, y)
    >>> states = [parts.accumulate(X[i::4], y[i::4]) for i in range(4)]
    >>> bool(np.allclose(parts.merge(*states).predict(X), model.predict(X)))
    True

    From batches, at another size, with a spread:

    >>> model = model.fit_batches((X[i : i + 500], y[i : i + 500]) for i in range(0, 2000, 500))
    >>> mean, std = model.fit(X, y).resize(15).predict(X[:3], return_std=True)
    >>> model.n_basis_, std.shape
    (15, (3,))
    """

    def fit_batches(
        self,
        batches: Any,
        *,
        target: str | list[str] | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        sample: int = 20_000,
        verbose: bool = False,
    ) -> Self:
        """Fit from batches, one at a time, in constant memory.

        The basis is chosen on a sample of all batches, which are read twice.  What can be read once, a generator or a
        stream of Arrow, gives its first ``sample`` rows for it.  Ctrl-C between two batches leaves the model of the
        rows so far.

        Parameters
        ----------
        batches : iterable, table or path(s)
            Tuples ``(X, y)`` or ``(X, y, sample_weight)``, or tables with named columns, one after another; or a whole
            table: of pandas, polars (lazy too) or pyarrow, a dataset of pyarrow, a relation of DuckDB, or whatever has
            ``__arrow_c_stream__``; or paths of Parquet and CSV files, with patterns (``"rows/*.parquet"``) and folders.
        target : str or list of str, optional
            Name of the target's column, for named columns; the others are features.
        weight : str, optional
            Name of the weights' column.
        features : list of str, optional
            Names of the features, where they are not all other columns.
        sample : int, default=20_000
            Rows that the basis is chosen on.
        verbose : bool, default=False
            Show a bar on the terminal.
        """
        how = {"target": target, "weight": weight, "features": features, "sample": sample, "verbose": verbose}
        learn_batches(self, batches, how)
        return self

    def select_basis(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Choose kernel width and basis on a sample, and learn nothing from it yet.

        Then :meth:`accumulate` every part on it, on whatever machine, and :meth:`merge` what comes back.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Only for a basis that looks at y ("pruned", "online", "orols").
        sample_weight : array-like of shape (n_samples,), optional
        """
        with transaction(self) as new:
            new._select_basis(X, y, sample_weight)
        return self

    def _mean_and_variance(self, X: Array) -> tuple[Array, Array]:
        if self.alpha_ == 0:
            raise ValueError("predict(return_std=True) needs alpha > 0: without a ridge there is no prior")
        model, threads = self._fitted(), n_threads(self.n_jobs)
        problem = ready(self._problem(), self.alpha_, *model.coef.shape)
        relative = problem.relative_variance(**self._basis.core, X=X, alpha=self.alpha_, threads=threads)
        return model.predict(X, threads), relative[:, None] * model.noise_variance

    def _mean_and_covariance(self, X: Array) -> tuple[Array, Array, Array]:
        if self.alpha_ == 0:
            raise ValueError("the covariance of several rows needs alpha > 0: without a ridge there is no prior")
        model = self._fitted()
        problem = ready(self._problem(), self.alpha_, *model.coef.shape)
        relative = problem.relative_covariance(**self._basis.core, X=X, alpha=self.alpha_)
        noise = model.noise_variance
        return model.predict(X, n_threads(self.n_jobs)), relative * noise[:, None, None], noise

    def _left_out(self) -> LeftOut | None:
        sketch = self._state.sketch if self._state is not None else None
        if sketch is None:  # a file of an older version
            return None
        if "left_out" not in self._cache:
            own = kernels_on(self._basis.vectors, sketch.X, sketch.weight)
            errors, model = self._leave_out(self._problem(), sketch, sketch.codes, own)
            self._cache["left_out"] = LeftOut.of(errors, model, self._fitted().noise_variance, sketch.weight)
        left_out: LeftOut = self._cache["left_out"]
        return left_out

    def _left_out_rows(self) -> Array:
        assert self._state is not None
        assert self._state.sketch is not None
        return self._state.sketch.X


@parameters
class SubsetLSSVMClassifier(IncrementalClassification, LeftOutSets, SubsetBase):
    """Least-squares support vector classification on a chosen basis, all classes on one.

    Regresses on ±1 targets, one column a class (one in all for two classes).  Probabilities are a softmax of the scores
    with one temperature, fitted on the leave-one-out scores of up to a thousand rows that the sums carry along.

    Parameters
    ----------
    kernel, gamma, degree, coef0, alpha, basis, max_basis, max_basis_limit, size, polish, n_models, oversample, \
cycles, keep_path, keep_sums, fit_intercept, n_jobs, validation, categorical_features, periods, keep, \
random_state
        As in :class:`SubsetLSSVMRegressor`; "auto" goes by labels missed, squared errors among equals.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, times ``sample_weight``; 1 for a class that is not named.  "balanced" is the weight of
        all rows, over the number of classes times the weight of the class.
        Only in ``fit``, which sees all rows; parts take numbers.
    loss : {"squared", "auto"}, default="squared"
        "auto": ``fit`` also takes a few Newton steps down the logistic loss on the kernels found, on up to 5,000 rows,
        and keeps their coefficients where the log loss of rows left out is lower.  A model that learns further rows, is
        merged or resized is one of least squares again, for sums of squares alone add.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    basis_vectors_, basis_indices_, dual_coef_, intercept_ : ndarray
    n_basis_, n_samples_seen_ : int
    alpha_ : float
    gamma_ : ndarray of shape (n_features,)
    kernel_, search_
        As in :class:`SubsetLSSVMRegressor`; an ``error`` is the share of labels missed.
    cost_, gcv_, noise_variance_, log_evidence_ : float or ndarray
    state_ : SubsetState
    temperature_ : float
        Factor on the scores inside the softmax.
    log_loss_ : dict
        Mean log loss of up to a thousand rows, each left out: "squared" and, where it was tried, "logistic".

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernsift import SubsetLSSVMClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=7)
    >>> model = SubsetLSSVMClassifier(max_basis=40, gamma=2.0, random_state=0).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.9)
    True

    Where it is not sure, it names both classes:

    >>> sets = model.predict_set([[-1.0, 0.5], [0.5, 0.25]], coverage=0.99)
    >>> sets.sum(axis=1)
    array([1, 2])
    """

    loss: Literal["squared", "auto"] = parameter({"squared", "auto"}, default="squared")

    def fit_batches(
        self,
        batches: Any,
        classes: ArrayLike | None = None,
        *,
        target: str | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        sample: int = 20_000,
        verbose: bool = False,
    ) -> Self:
        """Fit from batches; see :meth:`SubsetLSSVMRegressor.fit_batches`.

        Parameters
        ----------
        batches : iterable, table or path(s)
        classes : array-like, optional
            All labels the batches can bring; found in the first reading if not given, and of what can be read once
            among the rows that the basis is chosen on.
        target, weight, features, sample
            As there.
        verbose : bool, default=False
            Show a bar on the terminal.
        """
        how = {"target": target, "weight": weight, "features": features, "sample": sample, "verbose": verbose}
        learn_batches(self, batches, how, classes)
        return self

    def select_basis(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose kernel width and basis on a sample; see :meth:`SubsetLSSVMRegressor.select_basis`.

        Parameters
        ----------
        X, y, sample_weight
            The sample.
        classes : array-like, optional
            All labels the parts can bring; those of the sample if not given.
        """
        with transaction(self) as new:
            new._select_basis(X, y, sample_weight, classes)
        return self

    def _finish(self, table: Table) -> None:
        if self.loss == "squared" or not self.alpha_ > 0:
            return
        assert self._state is not None
        sketch = self._state.sketch
        rows = self._sketch(table.X, table.targets, table.weight, ROWS)
        targets, ridge = self._targets_of(rows.codes), self.alpha_ / (4.0 * self.temperature_)
        found = fit_logistic(self._basis, rows, targets, ridge, bool(self.fit_intercept))
        logistic = left_out_loss(found.left_out, found.temperature, rows, sketch)
        self.log_loss_ = {**self.log_loss_, "logistic": logistic}
        if logistic < self.log_loss_["squared"]:
            self._coef, self._intercept, self.temperature_ = found.coef, found.intercept, found.temperature
            parts = softmax(found.left_out, found.temperature), rows.codes, rows.weight
            self._calibration = LeftOut.of_classes(*parts)

    def _marks(self, targets: Array) -> NDArray[Any]:
        return self._codes_of(targets)

    def _take(self, state: SubsetState, problem: _core.RidgeProblem, alpha: float) -> None:
        super()._take(state, problem, alpha)
        sketch = state.sketch
        assert sketch is not None
        targets = self._targets_of(sketch.codes)
        scores = targets - self._leave_out(problem, sketch, targets)[0]
        self.temperature_ = fit_temperature(scores, sketch.codes, sketch.weight)
        self.log_loss_ = {"squared": left_out_loss(scores, self.temperature_, sketch)}
        self._calibration = LeftOut.of_classes(softmax(scores, self.temperature_), sketch.codes, sketch.weight)
