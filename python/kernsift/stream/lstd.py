"""Kernel LSTD: policy evaluation over the C++ core (``cpp/core/stream/lstd.hpp``)."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..base.arrays import Array
from ..base.estimator import in_precision_of
from ..base.kernel import KernelParameters, make_kernel, parameter, parameters
from ..base.validation import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    as_targets,
    check_array,
    check_rows,
    fit_context,
    is_empty_block,
    transaction,
    validate_data,
)
from .core_model import ADMISSIONS, CoreModel


@parameters
class KernelLSTD(KernelParameters, CoreModel):
    """Least-squares temporal differences on a small basis of kernels that follows the transitions.

    The value of a policy, V(s) = E[r + g r' + g² r'' + ...] for the discount g, from transitions (s, r, s') it makes:
    the fixed point of LSTD(λ) on the kernels, regularised, exact after every transition in O(m²) for m kernels.  A
    state becomes a kernel by the rules of :class:`OnlineLSSVMRegressor`; both s and s' may.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"}, default="rbf"
    gamma : float, array of shape (n_features,), Warp, "scale", "standard" or "median", default="scale"
        Width of the kernel; "scale" and "median" look at the first block.
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
        hangs on others alone, and with a small ridge the fixed point is then badly determined (``bench/rl``).
    criterion : {"lstd", "brm"}, default="lstd"
        The fixed point of temporal differences, or the minimum of the squared Bellman residuals |r + gV(s') - V(s)|²
        (biased where transitions are random).  Usefulness and pruning scores are exact changes of the cost for "brm";
        "lstd" minimises no cost, and they are analogues of the same form.
    random_state : int, RandomState or None
        For gamma="median" on many rows.

    Attributes
    ----------
    basis_vectors_, dual_coef_ : ndarray
        The model: V(s) = Σᵢ dual_coef_[i] k(basis_vectors_[i], s).
    basis_indices_ : ndarray of shape (n_basis_,)
        Numbers of the transitions the kernels' centres came from.
    basis_is_next_ : ndarray of bool, shape (n_basis_,)
        Whether a centre is the transition's s' rather than its s.
    trace_ : ndarray of shape (n_basis_,)
        The eligibility trace z on the kernels.
    n_basis_, n_samples_seen_, n_refused_ : int
        Kernels; transitions seen; states refused as kernels, and transitions skipped, for the arithmetic's sake.
    audit_ : dict
        What became of the states.

    See Also
    --------
    OnlineLSSVMRegressor : The same recursion for regression (``discount=0``).

    References
    ----------
    .. [1] T. Jung and D. Polani, "Sequential Learning with LS-SVM for Large-Scale Data Sets", ICANN 2006, slides.
    .. [2] J. Boyan, "Technical Update: Least-Squares Temporal Difference Learning", Machine Learning 49, 2002.

    Examples
    --------
    A walk on 0, 1, ..., 9 that moves right until it falls off the end, with reward 1 a step:

    >>> import numpy as np
    >>> from kernsift import KernelLSTD
    >>> S = np.tile(np.arange(10.0), 20)[:, None]
    >>> last = S[:, 0] == 9
    >>> model = KernelLSTD(gamma=0.5, alpha=1e-3, discount=0.5)
    >>> model = model.partial_fit(S, np.ones(200), S + 1, terminal=last)
    >>> model.predict([[9.0], [8.0], [7.0]]).round(2)
    array([1.  , 1.5 , 1.75])
    """

    alpha: float = parameter(POSITIVE, default=0.1)
    discount: float = parameter(Interval(Real, 0, 1, closed="both"), default=0.99)
    trace_decay: float = parameter(Interval(Real, 0, 1, closed="both"), default=0.0)
    max_basis: int | None = parameter(COUNT, None, default=500)
    novelty_tol: float = parameter(NOT_NEGATIVE, default=0.01)
    usefulness_tol: float = parameter(NOT_NEGATIVE, default=0.0001)
    admission: str = parameter(set(ADMISSIONS), default="novelty")
    criterion: str = parameter({"lstd", "brm"}, default="lstd")
    random_state: Any = parameter("random_state", default=None)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        S: ArrayLike,
        r: ArrayLike,
        S_next: ArrayLike,
        *,
        terminal: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> Self:
        """Learn transitions in their order.  A block of none changes nothing.

        Parameters
        ----------
        S, S_next : array-like of shape (n_transitions, n_features)
            States before and after.  Where an episode ends, S_next has no say, but must be finite.
        r : array-like of shape (n_transitions,)
            Rewards.
        terminal : array-like of bool or of 0 and 1, shape (n_transitions,), optional
            Where an episode ends: no reward comes after.  None: nowhere.
        start : array-like of bool, shape (n_transitions,), optional
            Where an episode starts, so that the trace forgets what was before.  The first transition of all and those
            after a terminal one do in any case; name those after an episode was merely cut off.
        """
        if is_empty_block(S):
            return self
        with transaction(self) as new:
            new._learn(S, r, S_next, terminal, start)
        return self

    def _learn(
        self, S: ArrayLike, r: ArrayLike, S_next: ArrayLike, terminal: ArrayLike | None, start: ArrayLike | None
    ) -> None:
        begin = self._core is None
        states = validate_data(self, S, reset=begin, dtype=np.float64, order="C")
        after = check_array(S_next, dtype=np.float64, order="C", input_name="S_next")
        if after.shape != states.shape:
            raise ValueError(f"S has shape {states.shape} but S_next has {after.shape}: one next state for each state")
        n = len(states)
        rewards = check_array(r, dtype=np.float64, ensure_2d=False, order="C", input_name="r")
        if rewards.shape != (n,):
            raise ValueError(f"r has shape {rewards.shape}, expected {(n,)}: one reward for each transition")
        as_targets(rewards)  # refuses what would overflow
        ends, starts = _flags(terminal, n, "terminal"), _flags(start, n, "start")
        if begin:
            if self.criterion == "brm" and self.trace_decay > 0:
                raise ValueError(
                    f"trace_decay={self.trace_decay!r} has no meaning for criterion='brm', which keeps no trace: set "
                    "trace_decay=0"
                )
            core = self._begin(states)
        else:
            self._check_unchanged_params()
            core = self._fitted()
        check_rows(core.kernel, states)
        check_rows(core.kernel, after)
        self._core = core
        core.learn(states, rewards, after, ends, starts)

    def _begin(self, S: Array) -> Any:
        kernel = make_kernel(self, self.gamma, S, np.ones(len(S)), self.random_state)
        self._begun_with = self.get_params(deep=False)
        return _core.KernelLSTD(
            kernel,
            alpha=float(self.alpha),
            discount=float(self.discount),
            trace_decay=float(self.trace_decay),
            novelty_tol=float(self.novelty_tol),
            usefulness_tol=float(self.usefulness_tol),
            admission=self.admission,
            max_basis=0 if self.max_basis is None else int(self.max_basis),
            residual=self.criterion == "brm",
        )

    def predict(self, S: ArrayLike) -> Array:
        """Return the value of each state, (n_states,).

        Parameters
        ----------
        S : array-like of shape (n_states, n_features)
        """
        return in_precision_of(S, self._fitted().predict(self._rows(S)))

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
        :class:`OnlineLSSVMRegressor`; ``ignored`` (not asked: the next state of a terminal transition, and both of one
        that was skipped); ``skipped``: transitions not learned because they would have made P singular.
        """
        counts = self._counted()
        del counts["frozen"]
        return {**counts, "skipped": self._fitted().skipped}


def _flags(values: ArrayLike | None, n: int, name: str) -> NDArray[np.bool_]:
    if values is None:
        return np.zeros(n, dtype=bool)
    flags = np.asarray(values)
    if flags.dtype != np.bool_ and not (flags.dtype.kind in "iuf" and np.isin(flags, (0, 1)).all()):
        raise ValueError(
            f"{name} holds {flags.ravel()[:4].tolist()}: give True or 1 where it holds, False or 0 elsewhere"
        )
    if flags.shape != (n,):
        raise ValueError(f"{name} has shape {flags.shape}, expected {(n,)}: one flag for each transition")
    return np.ascontiguousarray(flags, dtype=bool)
