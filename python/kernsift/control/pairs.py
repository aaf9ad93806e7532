"""States with actions as rows of numbers, and transitions as users give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.validation import check_array
from ..io.plain import record
from ..stream.transitions import flags, numbers

#: Names of what transitions hold, in the order of a tuple of them.
PARTS = ("states", "actions", "rewards", "next_states", "terminated", "truncated")

# Widths with which the kernel of two actions in one-of-n code is 0 in double precision.
_APART = {"rbf": 1e3, "laplacian": 1e3, "matern32": 4e5, "matern52": 4e5}
KERNELS = frozenset(_APART)


class Batch(NamedTuple):
    """Checked transitions; `actions` are numbers of actions."""

    states: Array
    actions: NDArray[np.intp]
    rewards: Array
    next_states: Array
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


def named_parts(transitions: Any) -> dict[str, Any]:
    """Return the parts of a mapping or a tuple of transitions by name."""
    if isinstance(transitions, Mapping):
        unknown = [name for name in transitions if name not in PARTS]
        if unknown:
            raise ValueError(f"transitions hold {unknown[0]!r}; they may hold {', '.join(PARTS)}")
        parts = dict(transitions)
    elif isinstance(transitions, Sequence) and not isinstance(transitions, (str, bytes)):
        if not 4 <= len(transitions) <= 6:
            raise ValueError(
                f"transitions are a tuple of {len(transitions)}: give (states, actions, rewards, next_states, "
                "terminated, truncated), the last two if there are any, or a dict of them"
            )
        parts = dict(zip(PARTS, transitions, strict=False))
    else:
        raise ValueError(f"transitions are a {type(transitions).__name__}: give a tuple or a dict of arrays")
    for name in PARTS[:4]:
        if parts.get(name) is None:
            raise ValueError(f"transitions lack {name!r}")
    return parts


def check_batch(transitions: Any, actions: Array) -> Batch:
    """Return transitions checked; `actions`: those there are, a number, a text or a row of numbers each."""
    parts = named_parts(transitions)
    states = check_array(parts["states"], dtype=np.float64, order="C", input_name="states")
    after = check_array(parts["next_states"], dtype=np.float64, order="C", input_name="next_states")
    if after.shape != states.shape:
        raise ValueError(
            f"states have shape {states.shape} but next_states {after.shape}: one next state for each state"
        )
    n = len(states)
    rewards = numbers(parts["rewards"], "rewards")
    if rewards.shape != (n,):
        raise ValueError(f"rewards have shape {rewards.shape}, expected {(n,)}: one for each transition")
    taken = numbers_of_actions(parts["actions"], actions)
    if taken.shape != (n,):
        raise ValueError(f"{len(taken)} actions for {n} states: one for each transition")
    ends = flags(parts.get("terminated"), n, "terminated")
    return Batch(states, taken, rewards, after, ends, flags(parts.get("truncated"), n, "truncated"))


def declared(actions: ArrayLike | int | None, taken: ArrayLike) -> NDArray[Any]:
    """Return the actions there are: a number of them, a list, or those that were taken."""
    if actions is None:
        return np.unique(np.asarray(taken), axis=0)
    if isinstance(actions, (int, np.integer)) and not isinstance(actions, bool):
        if actions < 1:
            raise ValueError(f"actions={actions!r}: give the number of actions, 1 or more, or a list of them")
        return np.arange(int(actions))
    found = np.asarray(actions)
    if found.ndim not in (1, 2) or len(found) == 0 or len(np.unique(found, axis=0)) != len(found):
        raise ValueError(f"actions={actions!r:.60}: give each action once, a number, a text or a row of numbers each")
    return found


def numbers_of_actions(taken: ArrayLike, actions: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each action among those declared."""
    given = np.asarray(taken)
    if given.ndim != actions.ndim or given.shape[1:] != actions.shape[1:]:
        raise ValueError(f"actions have shape {given.shape}, expected (n, {', '.join(map(str, actions.shape[1:]))})")
    same = given[:, None] == actions[None]
    same = same.all(axis=2) if actions.ndim == 2 else same
    known = same.any(axis=1)
    if not known.all():
        first = int(np.argmin(known))
        raise ValueError(
            f"action {given[first].tolist()!r} in transition {first} was never declared: the actions are "
            f"{actions.tolist()!r:.100}"
        )
    return np.argmax(same, axis=1)


@record("ActionCoding")
@dataclass(frozen=True)
class Coding:
    """How a state and an action become one row of numbers, and the widths of its columns."""

    codes: Array  # (n_actions, n_columns)
    widths: Array

    def rows(self, states: Array, taken: NDArray[np.intp]) -> Array:
        return np.ascontiguousarray(np.hstack([states, self.codes[taken]]))

    def all_rows(self, states: Array) -> Array:
        """Each state with every action, (n_states * n_actions, n_columns)."""
        n = len(self.codes)
        return self.rows(np.repeat(states, n, axis=0), np.tile(np.arange(n), len(states)))


def coding(actions: Array, kernel: str, state_widths: Array, action_gamma: float | None) -> Coding:
    """One-of-n code, or the numbers of the actions themselves where they are rows; None: a block for each action."""
    one_of_n = action_gamma is None or actions.ndim == 1
    codes = np.eye(len(actions)) if one_of_n else actions.astype(np.float64)
    width = _APART[kernel] if action_gamma is None else float(action_gamma)
    return Coding(codes, np.concatenate([state_widths, np.full(codes.shape[1], width)]))
