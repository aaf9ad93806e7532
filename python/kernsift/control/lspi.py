"""Least-squares policy iteration: the action values of the best policy from transitions of any."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from .. import _core
from ..base.arrays import Array
from ..base.draws import random_numbers
from ..base.estimator import Estimator
from ..base.kernel import SCALES, KernelParameters, parameter, parameters, resolve_gamma
from ..base.types import GammaSetting, KernelName, RandomState
from ..base.validation import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    at_this_moment,
    check_array,
    fit_context,
    transaction,
)
from ..stream.lstd import KernelLSTD
from .pairs import KERNELS, PARTS, Batch, Coding, check_batch, coding, declared, named_parts
from .stable import LEAST, Feedback


@parameters
class ActionValueParameters(KernelParameters):
    """Parameters of action values on kernels."""

    kernel: KernelName = parameter(set(KERNELS), default="rbf")
    gamma: GammaSetting | float | ArrayLike = parameter(set(SCALES), POSITIVE, "array-like", default="standard")
    alpha: float | Literal["stable"] = parameter({"stable"}, POSITIVE, default="stable")
    discount: float = parameter(Interval(Real, 0, 1, closed="both"), default=0.99)
    actions: ArrayLike | int | None = parameter("array-like", COUNT, None, default=None)
    action_gamma: float | None = parameter(NOT_NEGATIVE, None, default=None)
    max_basis: int = parameter(COUNT, default=300)
    novelty_tol: float = parameter(NOT_NEGATIVE, default=1e-3)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)


@parameters
class IterationParameters(ActionValueParameters):
    """Those of an iteration over policies besides."""

    max_iter: int = parameter(COUNT, default=20)
    tol: float = parameter(Interval(Real, 0, 1, closed="both"), default=0.0)
    epsilon: float = parameter(Interval(Real, 0, 1, closed="both"), default=0.1)


class KernelLSPI(IterationParameters, Estimator):
    """Least-squares policy iteration on a small basis of kernels over states and actions.

    Q(s, a), the discounted rewards that follow action a in state s, is the fixed point of LSTD on one basis; the policy
    takes the action of the largest Q, and is evaluated again from the same transitions until it stays.  The Q it
    follows is the mean over the evaluations, unless a policy is the best for its own Q: policies oscillate otherwise.
    Transitions may come from any policy.  No learning rate, no replay, no network.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "matern32", "matern52"}, default="rbf"
    gamma : float, array of shape (n_features,), "scale", "standard" or "median", default="standard"
        Width of the kernel over states.  "standard" makes the units of the features play no part.
    alpha : float or "stable", default="stable"
        Ridge, positive.  "stable": for each policy the least of 0.1, 0.2, 0.4, ... with which errors of the values of
        next states, fed back by the kernels again and again, add up to at most twice 1 / (1 - discount).
    discount : float in [0, 1], default=0.99
    actions : int, array-like or None, default=None
        The actions there are: how many (0, 1, ...), or a list of them, numbers, texts or rows of numbers.  None: those
        of the transitions of ``fit``.
    action_gamma : float or None, default=None
        None: kernels of different actions are 0, a block of Q for each action.  A number: what is learned of one action
        counts for others, the more the smaller it is; it is the width over the actions' rows of numbers, or over a
        one-of-n code of them.
    max_basis : int, default=300
        Most kernels, over all actions.
    novelty_tol : float, default=1e-3
        A state and action becomes a kernel where the others leave more than this part of k(x, x) unexplained.
    max_iter : int, default=20
        Evaluations of a policy by ``fit``, at most.
    tol : float, default=0.0
        Part of the next states whose action may change in the last one.
    epsilon : float in [0, 1], default=0.1
        Part of the actions of ``collect`` and ``learn`` that are drawn at random.
    random_state : int, RandomState, Generator or None
        For the choice of the kernels, and of actions at random.

    Attributes
    ----------
    actions_ : ndarray
        The actions, in the order of the columns of ``q_values``.
    model_ : KernelLSTD
        Q of the policy evaluated last, of rows of a state and the code of an action.
    dual_coef_ : ndarray of shape (n_basis,)
        Coefficients of the mean Q, on the kernels of ``model_``.
    alpha_ : float
        Ridge of the last evaluation.
    n_iter_ : int
        Evaluations of the last fit.
    changed_ : list of float
        After each, the part of the next states whose best action changed.
    n_basis_ : int
        Kernels.

    See Also
    --------
    KernelLSTD : The values of a given policy.
    evaluate_policy : What a policy is worth, from transitions of another.

    References
    ----------
    .. [1] M. Lagoudakis and R. Parr, "Least-Squares Policy Iteration", JMLR 4, 2003.

    Examples
    --------
    A walk on 0, 1, ..., 9 whose right end pays 1; transitions by a coin:

    >>> import numpy as np
    >>> from kernsift import KernelLSPI
    >>> rng = np.random.default_rng(0)
    >>> s, a = rng.integers(0, 10, 500), rng.integers(0, 2, 500)
    >>> after = np.clip(s + 2 * a - 1, 0, 10)
    >>> model = KernelLSPI(gamma=1.0, alpha=1e-3, discount=0.9, actions=2)
    >>> model = model.fit((s[:, None], a, after == 10, after[:, None], after == 10))
    >>> model.act([2.0]), model.q_values([[9.0]]).round(1)
    (np.int64(1), array([[0.8, 1. ]]))
    >>> model.predict([[0.0], [5.0]])
    array([1, 1])

    Beside an environment with the methods of gymnasium's:

    >>> class Walk:
    ...     def reset(self, seed=None):
    ...         self.s = 5
    ...         return [self.s], {}
    ...     def step(self, a):
    ...         self.s = max(self.s + 2 * a - 1, 0)
    ...         return [self.s], float(self.s == 10), self.s == 10, False, {}
    >>> model = KernelLSPI(gamma=1.0, alpha=1e-3, discount=0.9, actions=2, random_state=0)
    >>> int(model.learn(Walk(), 600, rounds=3).act([5.0]))
    1
    >>> model.collect(Walk(), 4)["rewards"].shape
    (4,)
    """

    actions_: Array
    model_: KernelLSTD
    dual_coef_: Array
    alpha_: float
    n_basis_: int
    _former: ClassVar[tuple[str, ...]] = (
        "actions_",
        "model_",
        "dual_coef_",
        "alpha_",
        "_coding",
        "n_iter_",
        "changed_",
        "n_basis_",
        "n_features_in_",
    )

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, transitions: Any) -> Self:
        """Improve a policy on a batch of transitions until it stays.

        Parameters
        ----------
        transitions : tuple or dict
            ``(states, actions, rewards, next_states, terminated, truncated)``, the last two if there are any, or a dict
            with these names: arrays with a transition a row, in any order, of any policy.
        """
        with transaction(self, *self._former) as new:
            new._fit(transitions)
        return self

    def _fit(self, transitions: Any, warm: Self | None = None) -> None:
        if self.actions is None and warm is not None:
            self.actions_ = warm.actions_
        else:
            self.actions_ = declared(self.actions, named_parts(transitions)["actions"])
        batch = check_batch(transitions, self.actions_)
        self.n_features_in_ = batch.states.shape[1]
        rng = random_numbers(self.random_state)
        self.model_, self._coding = action_values(self, batch, self.actions_, rng)
        rows = self._coding.rows(batch.states, batch.actions)
        if warm is None:  # the first policy to be evaluated is that of before, or one at random
            policy = rng.randint(0, len(self.actions_), len(rows))
        else:
            policy = np.argmax(warm.q_values(batch.next_states), axis=1)
        self.changed_ = []
        feedback = stability(self, self.model_, rows)
        mean = np.zeros(self.model_.n_basis_)
        for k in range(1, self.max_iter + 1):
            after = self._coding.rows(batch.next_states, policy)
            if feedback is not None:
                ridge(self.model_, feedback.stable_ridge(after, batch.terminated, self.discount))
            self.model_.refit(rows, batch.rewards, after, terminated=batch.terminated)
            found = self.model_.dual_coef_
            mean = mean + (found - mean) / k
            for coef in (found, mean):  # a policy that is the best for its own Q has that Q
                self.dual_coef_ = coef
                better = np.argmax(self.q_values(batch.next_states), axis=1)
                change = float(np.mean(better != policy))
                if change <= self.tol:
                    break
            policy = better
            self.changed_.append(change)
            if change <= self.tol:
                break
        self.n_iter_, self.n_basis_, self.alpha_ = len(self.changed_), self.model_.n_basis_, self.model_.alpha

    def learn(
        self,
        env: Any,
        n_transitions: int,
        *,
        rounds: int = 10,
        reward: Callable[..., float] | None = None,
    ) -> Self:
        """Collect transitions from an environment in rounds, each by the policy that all before have led to.

        The policy that has earned most in its round is kept: a later one may be worse, and only acting shows it.

        Parameters
        ----------
        env : object with gymnasium's ``reset`` and ``step``
        n_transitions : int
            In all rounds.
        rounds : int, default=10
            The first takes actions at random, the others by the policy, ``epsilon`` of them at random.
        reward : callable, optional
            ``reward(state, action, reward, next_state, terminated)`` in place of the environment's.
        """
        self._validate_params()
        if not isinstance(rounds, Integral) or not 1 <= rounds <= n_transitions:
            raise ValueError(f"rounds={rounds!r} must be a whole number from 1 to n_transitions={n_transitions!r}")
        if self.actions is None:
            raise ValueError("learn takes actions at random at first: give actions, how many or a list of them")
        rng = random_numbers(self.random_state)
        with transaction(self, *self._former) as new:
            known: dict[str, Array] = {}
            before, best, most = None, None, -np.inf
            for each in range(rounds):
                count = (each + 1) * n_transitions // rounds - each * n_transitions // rounds
                found = new._collect(env, count, self.epsilon, rng, reward, random=before is None)
                earned = mean_return(found, self.discount)
                if before is not None and earned >= most:
                    best, most = before, earned
                known = {k: np.concatenate([known[k], v]) if known else v for k, v in found.items()}
                if each + 1 < rounds or best is None:
                    new._fit(known, before)
                    before = at_this_moment(new)
            if best is not None:
                for name in self._former:
                    setattr(new, name, getattr(best, name))
        return self

    def collect(
        self,
        env: Any,
        n_transitions: int,
        *,
        epsilon: float | None = None,
        reward: Callable[..., float] | None = None,
    ) -> dict[str, Array]:
        """Return transitions of the policy in an environment, as ``fit`` takes them.

        Parameters
        ----------
        env : object with gymnasium's ``reset`` and ``step``
        n_transitions : int
        epsilon : float, optional
            Part of the actions drawn at random, in place of the parameter.
        reward : callable, optional
            As in :meth:`learn`.
        """
        self._check_fitted()
        rng = random_numbers(self.random_state)
        return self._collect(env, n_transitions, self.epsilon if epsilon is None else epsilon, rng, reward)

    def _collect(
        self, env: Any, n: int, epsilon: float, rng: Any, reward: Callable[..., float] | None, random: bool = False
    ) -> dict[str, Array]:
        actions = declared(self.actions, ()) if random else self.actions_
        parts: dict[str, list[Any]] = {name: [] for name in PARTS}
        state = None
        for _ in range(n):
            if state is None:
                state = env.reset(seed=int(rng.randint(2**31 - 1)))[0]
            if random or rng.random_sample() < epsilon:
                best = np.arange(len(actions))
            else:  # where nothing is known yet, all are the best
                q = self.q_values(np.asarray(state, dtype=np.float64)[None])[0]
                best = np.flatnonzero(q == q.max())
            action = actions[best[rng.randint(len(best))]]
            after, r, terminated, truncated, _ = env.step(action.item() if np.ndim(action) == 0 else action)
            if reward is not None:
                r = reward(state, action, r, after, terminated)
            row = (np.asarray(state, float), action, float(r), np.asarray(after, float), terminated, truncated)
            for name, value in zip(PARTS, row, strict=True):
                parts[name].append(value)
            state = None if terminated or truncated else after
        parts["truncated"][-1] = parts["truncated"][-1] or not parts["terminated"][-1]
        return {name: np.array(values) for name, values in parts.items()}

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'learn' first.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def q_values(self, S: ArrayLike) -> Array:
        """Return Q of each state and action, (n_states, n_actions).

        Parameters
        ----------
        S : array-like of shape (n_states, n_features)
        """
        self._check_fitted()
        states = check_array(S, dtype=np.float64, order="C", input_name="S")
        if states.shape[1] != self.n_features_in_:
            raise ValueError(f"S has {states.shape[1]} features, but KernelLSPI is expecting {self.n_features_in_}")
        rows = self._coding.all_rows(states)
        kernel, vectors = self.model_._core.kernel, self.model_.basis_vectors_
        values: Array = kernel.expand(vectors, self.dual_coef_[:, None], np.zeros(1), rows)
        return values.reshape(len(states), -1)

    def predict(self, S: ArrayLike) -> Array:
        """Return the best action of each state.

        Parameters
        ----------
        S : array-like of shape (n_states, n_features)
        """
        best = np.argmax(self.q_values(S), axis=1)
        return self.actions_[best]

    def act(self, s: ArrayLike) -> Any:
        """Return the best action in a state.

        Parameters
        ----------
        s : array-like of shape (n_features,)
        """
        return self.predict(np.asarray(s, dtype=np.float64)[None])[0]


def mean_return(parts: dict[str, Array], discount: float) -> float:
    """Discounted rewards of an episode, on average; the last one counts if it ended or there is no other."""
    ends = np.flatnonzero(np.logical_or(parts["terminated"], parts["truncated"])) + 1
    cut = len(ends) > 1 and not parts["terminated"][-1]
    episodes = np.split(parts["rewards"], ends[:-1])[: len(ends) - cut]
    return float(np.mean([rewards @ discount ** np.arange(len(rewards)) for rewards in episodes]))


def action_values(model: Any, batch: Batch, actions: Array, rng: Any) -> tuple[KernelLSTD, Coding]:
    """Q = 0 on kernels chosen among the states and actions of a batch, with the model's parameters."""
    n = len(batch.states)
    widths = resolve_gamma(model.gamma, batch.states, np.ones(n), rng)
    code = coding(actions, model.kernel, widths, model.action_gamma)
    rows = code.rows(batch.states, batch.actions)
    kernel = _core.Kernel(model.kernel, code.widths, 3, 1.0, np.ascontiguousarray(rows[0]))
    most = min(int(model.max_basis), n)
    taken, _ = _core.select_rpcholesky(
        kernel, rows, np.arange(n), weight=np.ones(n), tol=float(model.novelty_tol), max_basis=most,
        block=min(64, max(1, most // 2)), seed=int(rng.randint(2**31 - 1)),
    )  # fmt: skip
    alpha = LEAST if model.alpha == "stable" else model.alpha
    values = KernelLSTD(
        kernel=model.kernel, gamma=code.widths, alpha=alpha, discount=model.discount, basis=rows[np.sort(taken)],
        uncertainty=False,
    )  # fmt: skip
    begin(values, rows)
    return values, code


def begin(values: KernelLSTD, rows: Array) -> None:
    """The model without transitions, with the parameters it has now."""
    values.fit(rows[:1], np.zeros(1), rows[:1], terminated=[True])


def stability(model: Any, values: KernelLSTD, rows: Array, weight: Array | None = None) -> Feedback | None:
    """What chooses the ridge, where it is not given."""
    return Feedback(values._core.kernel, values.basis_vectors_, rows, weight) if model.alpha == "stable" else None


def ridge(values: KernelLSTD, alpha: float) -> None:
    """Begin again with this ridge."""
    if alpha != values.alpha:
        begin(values.set_params(alpha=alpha), values.basis_vectors_)
