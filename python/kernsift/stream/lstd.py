"""Kernel LSTD: policy evaluation over the C++ core (``cpp/core/stream/lstd.hpp``)."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .. import _core
from ..base.arrays import Array
from ..base.estimator import in_precision_of
from ..base.kernel import SCALES, KernelParameters, kernel_name, make_kernel, parameter, parameters
from ..base.types import GammaSetting, RandomState
from ..base.validation import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    check_array,
    check_rows,
    fit_context,
    is_empty_block,
    transaction,
)
from ..base.warp import Warp
from ..io.core_state import pack, unpack
from ..widths.learn_gamma import learn_gamma
from .core_model import ADMISSIONS, CoreModel
from .transitions import FLAGS, Block, checked

# Of alpha |C|, at most 1 where P is symmetric: beyond, errors of the rewards are amplified, and values follow a few.
_LARGEST_NORM = 10.0


@parameters
class KernelLSTD(KernelParameters, CoreModel):
    """Least-squares temporal differences on a small basis of kernels that follows the transitions.

    The value of a policy, V(s) = E[r + g r' + g² r'' + ...] for the discount g, from transitions (s, r, s') it makes:
    the fixed point of LSTD(λ) on the kernels, regularised, exact after every transition in O(m²) for m kernels.  A
    state becomes a kernel by the rules of :class:`OnlineLSSVMRegressor`; both s and s' may.  ``partial_fit`` learns a
    stream; ``fit`` solves once more for all its transitions on the kernels it found.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
    gamma : float, array of shape (n_features,), Warp, "scale", "standard", "median" or "learn", default="scale"
        Width of the kernel; "scale", "standard" and "median" look at the states of the first block.  "learn", for
        ``fit``, learns one width a feature from the targets r + gV(s') of a first fit with "standard".
    degree, coef0 : int, float
        The kernel, as in :class:`OnlineLSSVMRegressor`.
    alpha : float, default=0.1
        Ridge, positive.
    discount : float in [0, 1], default=0.99
        Weight of a reward against the one a step before it.
    trace_decay : float in [0, 1], default=0.0
        λ: 0 trusts the value of the next state, 1 the rewards that follow in the episode.
    max_basis : int or None, default=500
        Most kernels kept; None for no limit.
    novelty_tol : float, default=1e-2
        Squared distance to the span of the basis, relative to k(s, s), from which a state is novel.
    usefulness_tol : float, default=1e-4
        Relative to the mean square of the rewards so far; not used by admission="novelty".
    admission : {"product", "two-part", "per-sample", "novelty"}, default="novelty"
        Which novel states become kernels.  The rules that ask for usefulness can leave out states whose value later
        hangs on others alone, and with a small ridge the fixed point is then badly determined.
    criterion : {"lstd", "brm"}, default="lstd"
        The fixed point of temporal differences, or the minimum of the squared Bellman residuals |r + gV(s') - V(s)|²
        (biased where transitions are random).  Usefulness and pruning scores are exact changes of the cost for "brm";
        "lstd" minimises no cost, and they are analogues of the same form.
    solver : {"lstd", "lspe"}, default="lstd"
        "lspe" is LSPE(λ) [3]_: a step towards the same fixed point with every transition, by a symmetric matrix that is
        never near singular; ``fit`` and ``refit`` take steps until nothing changes.
    forgetting : float in (0, 1], default=1.0
        What the past keeps with each transition; the rest is a step back to the prior, V = 0.  Excludes ``refit`` and
        solver="lspe".
    basis : array-like of shape (n_vectors, n_features) or None, default=None
        States to be the kernels, and no others; those in the span of others are left out.  None: found on the way.
    keep_last : int, default=0
        Transitions to keep as they come, the last ones, for :meth:`refit` without data.
    uncertainty : bool, default=True
        Keep what standard deviations need: another m² numbers, and a third more time.
    random_state : int, RandomState, Generator or None
        For gamma="median" or "learn" on many rows.

    Attributes
    ----------
    basis_vectors_, dual_coef_ : ndarray
        The model: V(s) = Σᵢ dual_coef_[i] k(basis_vectors_[i], s).
    basis_indices_, basis_is_next_ : ndarray of shape (n_basis_,)
        Numbers of the transitions the centres came from, and whether a centre is the transition's s' rather than its s.
    trace_ : ndarray of shape (n_basis_,)
        The eligibility trace z on the kernels.
    n_basis_, n_samples_seen_, n_refused_ : int
        Kernels; transitions seen; states refused as kernels, and transitions skipped, for the arithmetic's sake.
    audit_ : dict
        What became of the states.
    noise_variance_ : float
        Variance of the temporal differences about 0, the unit of all standard deviations.

    References
    ----------
    .. [1] T. Jung and D. Polani, "Sequential Learning with LS-SVM for Large-Scale Data Sets", ICANN 2006, slides.
    .. [2] J. Boyan, "Technical Update: Least-Squares Temporal Difference Learning", Machine Learning 49, 2002.
    .. [3] A. Nedić and D. Bertsekas, "Least Squares Policy Evaluation Algorithms with Linear Function Approximation",
       Discrete Event Dynamic Systems 13, 2003.
    .. [4] Y. Engel, S. Mannor and R. Meir, "Bayes Meets Bellman", ICML 2003.

    Examples
    --------
    A walk on 0, 1, ..., 9 that moves right until it falls off the end, with reward 1 a step:

    >>> import numpy as np
    >>> from kernsift import KernelLSTD
    >>> S = np.tile(np.arange(10.0), 20)[:, None]
    >>> last = S[:, 0] == 9
    >>> model = KernelLSTD(gamma=0.5, alpha=1e-3, discount=0.5, keep_last=200)
    >>> model = model.partial_fit(S, np.ones(200), S + 1, terminal=last)
    >>> model.predict([[9.0], [8.0], [7.0]]).round(2)
    array([1.  , 1.5 , 1.75])

    Those kept once more, exactly, with standard deviations; how far values and rewards disagree:

    >>> values, std = model.refit().predict([[7.0]], return_std=True)
    >>> values.round(2), bool(std[0] < 0.1)
    (array([1.75]), True)
    >>> bool(-1e-3 < model.score(S, np.ones(200), S + 1, terminated=last) <= 0), model.health()["sound"]
    (True, True)
    """

    gamma: GammaSetting | float | ArrayLike | Warp = parameter(
        {"learn", *SCALES}, POSITIVE, "array-like", Warp, default="scale"
    )
    alpha: float = parameter(POSITIVE, default=0.1)
    discount: float = parameter(Interval(Real, 0, 1, closed="both"), default=0.99)
    trace_decay: float = parameter(Interval(Real, 0, 1, closed="both"), default=0.0)
    max_basis: int | None = parameter(COUNT, None, default=500)
    novelty_tol: float = parameter(NOT_NEGATIVE, default=0.01)
    usefulness_tol: float = parameter(NOT_NEGATIVE, default=0.0001)
    admission: Literal["product", "two-part", "per-sample", "novelty"] = parameter(set(ADMISSIONS), default="novelty")
    criterion: Literal["lstd", "brm"] = parameter({"lstd", "brm"}, default="lstd")
    solver: Literal["lstd", "lspe"] = parameter({"lstd", "lspe"}, default="lstd")
    forgetting: float = parameter(Interval(Real, 1e-6, 1, closed="both"), default=1.0)
    basis: ArrayLike | None = parameter("array-like", None, default=None)
    keep_last: int = parameter(Interval(Integral, 0, None, closed="left"), default=0)
    uncertainty: bool = parameter("boolean", default=True)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)

    # Of each environment: the last transition was the last before its episode was cut off; no parameter, no annotation
    _cut = (False,)  # type: tuple[bool, ...]

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        S: ArrayLike,
        r: ArrayLike,
        S_next: ArrayLike,
        *,
        terminated: ArrayLike | None = None,
        truncated: ArrayLike | None = None,
        start: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
    ) -> Self:
        """Learn transitions in their order.  A block of none changes nothing.

        Parameters
        ----------
        S, S_next : array-like of shape (n_transitions, n_features) or (n_steps, n_environments, n_features)
            States before and after.  Where an episode ends, S_next has no say, but must be finite.  With three axes
            all other arrays are (n_steps, n_environments): environments that ran side by side, learned one after the
            other, each with a trace of its own that goes on in the next call.
        r : array-like of shape (n_transitions,)
            Rewards.
        terminated : array-like of bool or of 0 and 1, shape (n_transitions,), optional
            Where an episode ends: no reward comes after.  None: nowhere.
        truncated : array-like of bool or of 0 and 1, shape (n_transitions,), optional
            Where an episode is cut off: rewards would come, but the next transition belongs to another.
        start : array-like of bool or of 0 and 1, shape (n_transitions,), optional
            Where an episode starts, so that the trace forgets what was before: another way to say ``truncated``.  The
            first transition of all and those after a terminated one start in any case.
        importance : array-like of shape (n_transitions,), optional
            For values of another policy than that which acted: the probability of the action taken under the one over
            that under the other, not negative.
        terminal : array-like, optional
            Another name of ``terminated``.
        """
        if is_empty_block(S):
            return self
        with transaction(self) as new:
            new._learn_block(new._checked_block(S, r, S_next, terminated, truncated, start, importance, terminal))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        S: ArrayLike,
        r: ArrayLike,
        S_next: ArrayLike,
        *,
        terminated: ArrayLike | None = None,
        truncated: ArrayLike | None = None,
        start: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
    ) -> Self:
        """Learn these transitions alone: kernels in a first pass, then :meth:`refit` unless the model forgets.

        Parameters
        ----------
        S, r, S_next, terminated, truncated, start, importance, terminal
            As in :meth:`partial_fit`.
        """
        flags = (terminated, truncated, start, importance, terminal)
        with transaction(self, "_core", "_cut", "learned_gamma_") as new:
            block = new._checked_block(S, r, S_next, *flags)
            if isinstance(self.gamma, str) and self.gamma == "learn":
                first = clone(self).set_params(gamma="standard", uncertainty=False)
                future = first.fit(S, r, S_next, **dict(zip(FLAGS, flags, strict=True))).predict(block.S_next)
                targets = block.r + self.discount * np.where(block.terminal, 0.0, future)
                new.learned_gamma_ = dict(
                    learn_gamma(block.S, targets, kernel=kernel_name(self), random_state=self.random_state)
                )
            new._learn_block(block)
            if self.forgetting == 1:
                new._check_solved(new._solved(block))
        return self

    def refit(
        self,
        S: ArrayLike | None = None,
        r: ArrayLike | None = None,
        S_next: ArrayLike | None = None,
        *,
        terminated: ArrayLike | None = None,
        truncated: ArrayLike | None = None,
        start: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
    ) -> Self:
        """Solve for these transitions alone on the present kernels: a second pass that removes the loss of the first.

        A stream learns a transition on the kernels there are then; here all transitions are exact on all kernels, and
        the equations are solved at once, in O(n m² + m³).  ``partial_fit`` may go on from there.

        Parameters
        ----------
        S, r, S_next, terminated, truncated, start, importance, terminal
            As in :meth:`partial_fit`.  Without any: the last transitions learned, as many as ``keep_last`` kept; older
            ones are forgotten.

        Raises
        ------
        ValueError
            If P is singular to working precision, the model forgets, or no transition is given and none was kept.
        """
        self._fitted()
        self._check_unchanged_params()
        if self.forgetting < 1:
            raise ValueError(
                f"refit counts all its transitions alike and forgetting={self.forgetting!r} the recent ones more: set "
                "forgetting=1 and fit again, or go on with partial_fit"
            )
        given = (S, r, S_next, terminated, truncated, start, importance, terminal)
        nothing = all(part is None for part in given)
        if nothing and not self._core.kept:
            raise ValueError(f"refit needs S, r and S_next, or keep_last ({self.keep_last!r}) above 0 in a new fit")
        with transaction(self) as new:
            new._core = unpack(pack(self._core))
            new._check_solved(new._core.refit_kept() if nothing else new._solved(new._checked_block(*given)))
        return self

    def score(
        self,
        S: ArrayLike,
        r: ArrayLike,
        S_next: ArrayLike,
        *,
        terminated: ArrayLike | None = None,
        truncated: ArrayLike | None = None,
        start: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean squared projected Bellman error on these transitions: 0 is best.

        The part of the temporal differences that the kernels could express, (Z'δ)'(W'W + αI)⁻¹Z'δ / n.  Near 0 on the
        transitions of a fit; take others to choose parameters.

        Parameters
        ----------
        S, r, S_next, terminated, truncated, start, importance, terminal
            As in :meth:`partial_fit`.
        """
        core = self._fitted()
        block, _ = checked(self, False, (), S, r, S_next, terminated, truncated, start, importance, terminal)
        return -float(core.projected_error(*block.alone()))

    def health(self) -> dict[str, Any]:
        """Say how well the transitions determine the values; warns where they do not.

        Returns
        -------
        dict
            ``sound``; ``problems`` in words; ``ridge_norm``: α times the largest singular value of the inverse of
            P in an orthonormal basis, 1 where the transitions say nothing and at most that if P is symmetric; large
            where errors of the rewards are amplified.  ``skipped`` and ``refused`` as in ``audit_``.
        """
        core = self._fitted()
        finite = all(np.isfinite(values).all() for values in core.state().values())
        norm = float(core.ridge_norm) if finite else float("inf")
        problems = [] if finite else ["the state holds NaN or infinity"]
        if norm > _LARGEST_NORM:
            problems.append(
                f"P is near singular: alpha |C| is {norm:.3g}, and 1 is what the ridge allows a symmetric P; raise "
                "alpha, call refit, or use solver='lspe'"
            )
        audit = self.audit_
        if problems:
            warnings.warn("; ".join(problems), UserWarning, stacklevel=2)
        return {
            "sound": not problems,
            "problems": problems,
            "ridge_norm": norm,
            "skipped": audit["skipped"],
            "refused": audit["refused"],
        }

    def _learn_block(self, block: Block) -> None:
        core = self._begin(block.S) if self._core is None else self._core
        check_rows(core.kernel, block.S)
        check_rows(core.kernel, block.S_next)
        self._core = core
        for environment, part in enumerate(block.by_environment()):
            core.learn(*part, environment=environment)

    def _solved(self, block: Block) -> bool:
        for states in (block.S, block.S_next):
            check_rows(self._core.kernel, states)
        return bool(self._core.refit(*block.alone()))

    def _check_solved(self, solved: bool) -> None:
        if not solved:
            raise ValueError(
                f"P is singular to working precision with alpha={self.alpha!r}: raise alpha, or give more transitions"
            )

    def _checked_block(self, *given: Any) -> Block:
        """Transitions that go on with the model, or begin it."""
        if self._core is not None:
            self._check_unchanged_params()
        block, self._cut = checked(self, self._core is None, tuple(np.atleast_1d(self._cut)), *given)
        return block

    def _begin(self, S: Array) -> Any:
        if self.criterion == "brm" and self.trace_decay > 0:
            raise ValueError(
                f"trace_decay={self.trace_decay!r} has no meaning for criterion='brm', which keeps no trace: set "
                "trace_decay=0"
            )
        if self.solver == "lspe" and self.forgetting < 1:
            raise ValueError(
                f"solver='lspe' keeps sums that do not fade, and forgetting={self.forgetting!r}: set forgetting=1 "
                "or solver='lstd'"
            )
        learned = getattr(self, "learned_gamma_", None)
        gamma = self.gamma if learned is None else learned["gamma"]
        kernel = make_kernel(self, gamma, S, np.ones(len(S)), self.random_state)
        self._begun_with = self.get_params(deep=False)
        core = _core.KernelLSTD(
            kernel,
            alpha=float(self.alpha),
            discount=float(self.discount),
            trace_decay=float(self.trace_decay),
            novelty_tol=float(self.novelty_tol),
            usefulness_tol=float(self.usefulness_tol),
            admission=self.admission,
            max_basis=0 if self.max_basis is None else int(self.max_basis),
            residual=self.criterion == "brm",
            forgetting=float(self.forgetting),
            variance=bool(self.uncertainty),
            lspe=self.solver == "lspe",
            fixed=self.basis is not None,
            keep_last=int(self.keep_last),
        )
        if self.basis is not None:
            vectors = check_array(self.basis, dtype=np.float64, order="C", input_name="basis")
            if vectors.shape[1] != S.shape[1]:
                raise ValueError(f"basis has {vectors.shape[1]} features and S has {S.shape[1]}")
            check_rows(core.kernel, vectors)
            core.seat(vectors)
        return core

    @overload
    def predict(self, S: ArrayLike, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, S: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...
    @overload
    def predict(self, S: ArrayLike, return_std: bool) -> Any: ...
    def predict(self, S: ArrayLike, return_std: bool = False) -> Any:
        """Return the value of each state, (n_states,).

        Parameters
        ----------
        S : array-like of shape (n_states, n_features)
        return_std : bool, default=False
            Also return the standard deviation of each value: that of GPTD for criterion="brm", and for "lstd" that of
            its solution under the same model, in which where transitions lead is known.
        """
        core = self._fitted()
        if not return_std:
            return in_precision_of(S, core.predict(self._rows(S)))
        if not core.settings["variance"]:
            raise ValueError("return_std=True needs what uncertainty=False leaves out: fit again with uncertainty=True")
        values, variance = core.predict_variance(self._rows(S))
        return in_precision_of(S, values, np.sqrt(variance))

    @property
    def basis_is_next_(self) -> NDArray[np.bool_]:
        """Whether a kernel's centre is the s' of its transition."""
        return self._fitted().is_next

    @property
    def trace_(self) -> Array:
        """The eligibility trace on the kernels."""
        return self._fitted().trace

    @property
    def n_refused_(self) -> int:
        """States refused as kernels, and transitions skipped, because double precision does not resolve them."""
        return self.audit_["refused"] + self.audit_["skipped"]

    @property
    def audit_(self) -> dict[str, int]:
        """What became of the states, two a transition.

        ``admitted``, ``evicted``, ``rejected_novelty``, ``rejected_usefulness``, ``bounced`` and ``refused`` as in
        :class:`OnlineLSSVMRegressor`; ``ignored`` (not asked: the next state of a terminal transition, both of one
        that was skipped, and all where ``basis`` is given); ``skipped``: transitions not learned because they would
        have made P singular.
        """
        counts = self._counted()
        counts["ignored"] += counts.pop("frozen")
        return {**counts, "skipped": self._fitted().skipped}
