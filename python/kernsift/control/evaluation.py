"""Off-policy evaluation: what a policy is worth, from transitions of another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.draws import random_numbers
from ..base.left_out import normal_quantile
from ..base.types import GammaSetting, KernelName, RandomState
from ..base.validation import check_array
from ..stream.lstd import KernelLSTD
from .lspi import KernelLSPI, action_values, begin, ridge, stability
from .pairs import Batch, Coding, check_batch, declared, named_parts, numbers_of_actions


@dataclass(frozen=True)
class PolicyValue:
    """What :func:`evaluate_policy` has found.

    Attributes
    ----------
    value : float
        Discounted rewards of the policy from the initial states, on average.
    std : float or None
        Standard deviation of the value, where an interval is wanted.
    interval : tuple of float or None
        Lower and upper end.
    model : KernelLSTD
        Q on rows of a state and the code of an action.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import evaluate_policy
    >>> s, a = np.repeat(np.arange(10), 20), np.tile([0, 1], 100)
    >>> after = np.clip(s + 2 * a - 1, 0, 10)
    >>> moves = (s[:, None], a, after == 10, after[:, None], after == 10)
    >>> found = evaluate_policy(moves, lambda S: np.ones(len(S), int), gamma=1.0, discount=0.9, initial_states=[[8.0]])
    >>> found.value, found.interval  # doctest: +ELLIPSIS
    (0.89..., None)
    """

    value: float
    std: float | None
    interval: tuple[float, float] | None
    model: KernelLSTD


def evaluate_policy(
    transitions: Any,
    policy: Callable[[Array], Any] | KernelLSPI,
    *,
    initial_states: ArrayLike | None = None,
    discount: float = 0.99,
    actions: ArrayLike | int | None = None,
    interval: str | None = None,
    coverage: float = 0.9,
    n_bootstrap: int = 100,
    kernel: KernelName = "matern52",
    gamma: GammaSetting | float | ArrayLike = "standard",
    action_gamma: float | None = 0.3,
    alpha: float | Literal["stable"] = "stable",
    max_basis: int = 500,
    novelty_tol: float = 1e-3,
    random_state: RandomState = None,
) -> PolicyValue:
    """Estimate what a policy is worth from transitions of another: LSTD-Q on kernels.

    Neither the probabilities with which the other policy acted nor a simulator are needed; the transitions must show
    the actions of the policy in states like those it comes to.

    Parameters
    ----------
    transitions : tuple or dict
        As in :meth:`KernelLSPI.fit`.
    policy : callable or KernelLSPI
        ``policy(states)`` returns an action for each state, (n,), or the probability of each, (n, n_actions).
    initial_states : array-like of shape (n_states, n_features), optional
        Where episodes begin; the value is the mean over them.  None: the states of the first transition and of those
        after a terminated or truncated one.
    discount : float in [0, 1], default=0.99
    actions : int, array-like or None, default=None
        As in :class:`KernelLSPI`.
    interval : {"bootstrap", "posterior"} or None, default=None
        "bootstrap" weighs the episodes at random (Bayesian bootstrap) and solves again; "posterior" is the standard
        deviation of the Gaussian model, which knows where transitions lead and counts what the kernels cannot express
        as one error.
    coverage : float, default=0.9
        Part of such intervals that should contain the value.
    n_bootstrap : int, default=100
    kernel, gamma, action_gamma, alpha, max_basis, novelty_tol, random_state
        As in :class:`KernelLSPI`; ``model.alpha`` is the ridge that "stable" has chosen.  What is learned of an action
        counts for the others unless ``action_gamma=None``: few transitions show the actions of the policy everywhere.

    Returns
    -------
    PolicyValue
        ``value``, ``std``, ``interval`` and ``model``.

    Examples
    --------
    Going right pays 1 at the end of 0, 1, ..., 9; the transitions are those of a coin, from anywhere:

    >>> import numpy as np
    >>> from kernsift import evaluate_policy
    >>> rng = np.random.default_rng(0)
    >>> s, a = rng.integers(0, 10, 500), rng.integers(0, 2, 500)
    >>> after = np.clip(s + 2 * a - 1, 0, 10)
    >>> moves = (s[:, None], a, after == 10, after[:, None], after == 10)
    >>> right = lambda S: np.ones(len(S), int)
    >>> found = evaluate_policy(moves, right, gamma=1.0, alpha=1e-4, discount=0.9, initial_states=[[7.0]])
    >>> round(found.value, 2)
    0.81
    """
    model = KernelLSPI(
        kernel=kernel, gamma=gamma, alpha=alpha, discount=discount, actions=actions, action_gamma=action_gamma,
        max_basis=max_basis, novelty_tol=novelty_tol, random_state=random_state,
    )  # fmt: skip
    model._validate_params()
    if interval not in (None, "bootstrap", "posterior"):
        raise ValueError(f"interval={interval!r} must be 'bootstrap', 'posterior' or None")
    quantile = normal_quantile(coverage)
    known = declared(actions, named_parts(transitions)["actions"])
    batch = check_batch(transitions, known)
    rng = random_numbers(random_state)
    ends = batch.terminated | batch.truncated
    if initial_states is None:
        first = batch.states[np.concatenate([[True], ends[:-1]])]
    else:
        first = check_array(initial_states, dtype=np.float64, order="C", input_name="initial_states")
        if first.shape[1] != batch.states.shape[1]:
            raise ValueError(
                f"initial_states have {first.shape[1]} features and the states of transitions {batch.states.shape[1]}"
            )
    values, code = action_values(model, batch, known, rng)
    values.set_params(uncertainty=interval == "posterior")
    pairs = _Pairs(batch, code, _probabilities(policy, batch.next_states, known))
    asked, chance = _expanded(code, first, _probabilities(policy, first, known))
    chance /= len(first)
    begin(values, pairs.rows)
    feedback = stability(model, values, pairs.rows, pairs.weight)
    if feedback is not None:
        ridge(values, feedback.stable_ridge(pairs.after, pairs.terminated, discount))
    pairs.solve(values)
    if interval == "posterior":
        value, variance = values._core.mean(asked, chance)
        std = float(np.sqrt(variance))
        return PolicyValue(value, std, (value - quantile * std, value + quantile * std), values)
    value = float(chance @ values.predict(asked))
    if interval is None:
        return PolicyValue(value, None, None, values)
    if n_bootstrap < 2:
        raise ValueError(f"n_bootstrap={n_bootstrap!r} must be 2 or more")
    episode = np.concatenate([[0], np.cumsum(ends[:-1])])
    again = KernelLSTD(**values.get_params(deep=False))
    begin(again, pairs.rows)
    drawn = np.empty(n_bootstrap)
    for k in range(n_bootstrap):
        pairs.solve(again, rng.exponential(size=episode[-1] + 1)[episode])
        drawn[k] = chance @ again.predict(asked)
    lower, upper = np.quantile(drawn, [(1 - coverage) / 2, (1 + coverage) / 2])
    return PolicyValue(value, float(drawn.std(ddof=1)), (float(lower), float(upper)), values)


class _Pairs:
    """Transitions between states with actions; one for each next action the policy may take, by its probability."""

    def __init__(self, batch: Batch, code: Coding, probabilities: Array) -> None:
        probabilities = probabilities.copy()
        probabilities[batch.terminated] = np.eye(1, probabilities.shape[1])  # no next action: one row is enough
        self.which, after = np.nonzero(probabilities)
        self.weight = probabilities[self.which, after]
        self.rows = code.rows(batch.states[self.which], batch.actions[self.which])
        self.after = code.rows(batch.next_states[self.which], after)
        self.rewards, self.terminated = batch.rewards[self.which], batch.terminated[self.which]

    def solve(self, values: KernelLSTD, weight: Array | None = None) -> None:
        """The fixed point for all of them, with a weight for each transition."""
        weight = self.weight if weight is None else self.weight * weight[self.which]
        values.refit(self.rows, self.rewards, self.after, terminated=self.terminated, importance=weight)


def _expanded(code: Coding, states: Array, probabilities: Array) -> tuple[Array, Array]:
    """States with the actions that may be taken in them, and the probabilities of these."""
    which, taken = np.nonzero(probabilities)
    return code.rows(states[which], taken), np.ascontiguousarray(probabilities[which, taken])


def _probabilities(policy: Any, states: Array, actions: Array) -> NDArray[Any]:
    """The probability of each action in each state, (n, n_actions)."""
    said = np.asarray(policy.predict(states) if isinstance(policy, KernelLSPI) else policy(states))
    n = len(states)
    if said.ndim == 2 and actions.ndim == 1:
        if said.shape != (n, len(actions)):
            raise ValueError(
                f"policy returned an array of shape {said.shape} for {n} states, expected {(n, len(actions))}: a "
                "probability for each action"
            )
        chance = said.astype(np.float64)
        bad = ~((chance >= 0).all(axis=1) & np.isclose(chance.sum(axis=1), 1, atol=1e-6))
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(f"policy returned {chance[row].tolist()} for state {row}: probabilities add to 1")
        return chance
    if len(said) != n:
        raise ValueError(f"policy returned {len(said)} actions for {n} states")
    return np.eye(len(actions))[numbers_of_actions(said, actions)]
