"""Transitions as they are given, checked and in the order of the core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.validation import as_targets, check_array, validate_data

#: Names of what may be said of transitions besides states and rewards, in the order of `checked`.
FLAGS = ("terminated", "truncated", "start", "importance", "terminal")


class Block(NamedTuple):
    """Checked transitions, in the order of the core's arguments; those of one environment after the other's."""

    S: Array
    r: Array
    S_next: Array
    terminal: NDArray[np.bool_]
    start: NDArray[np.bool_]
    weight: Array | None
    environments: int = 1

    def by_environment(self) -> Iterator[tuple[Any, ...]]:
        """Arguments of the core, for each environment."""
        steps = len(self.S) // self.environments
        for e in range(self.environments):
            mine = slice(e * steps, (e + 1) * steps)
            yield tuple(None if part is None else part[mine] for part in self[:6])

    def alone(self) -> tuple[Any, ...]:
        """Arguments of the core for all of them at once, none of which follows another environment's."""
        start = self.start.copy()
        start[:: len(self.S) // self.environments] = True
        return (self.S, self.r, self.S_next, self.terminal, start, self.weight)


def checked(
    model: Any,
    begin: bool,
    after_cut: tuple[bool, ...],
    S: ArrayLike | None,
    r: ArrayLike | None,
    S_next: ArrayLike | None,
    terminated: ArrayLike | None,
    truncated: ArrayLike | None,
    start: ArrayLike | None,
    importance: ArrayLike | None,
    terminal: ArrayLike | None,
) -> tuple[Block, tuple[bool, ...]]:
    """Return the transitions, and whether each environment's last was cut off; ``after_cut`` says that of those before.

    ``begin``: the model's number and names of features become those of S.
    """
    if S is None or r is None or S_next is None:
        raise ValueError("S, r and S_next belong together: give all of them")
    if terminal is not None:
        if terminated is not None:
            raise ValueError("terminal is another name of terminated: give one of them")
        terminated = terminal
    name = "terminated" if terminal is None else "terminal"
    environments = 1
    if np.ndim(S) == 3:
        if np.shape(S_next) != np.shape(S):
            raise ValueError(f"S has shape {np.shape(S)} but S_next has {np.shape(S_next)}: one next state for each")
        steps, environments = np.shape(S)[:2]
        S, S_next = (np.swapaxes(X, 0, 1).reshape(-1, np.shape(X)[2]) for X in (np.asarray(S), np.asarray(S_next)))
        r, terminated, truncated, start, importance = (
            None if part is None else _in_turn(part, (steps, environments), what)
            for part, what in (
                (r, "r"),
                (terminated, name),
                (truncated, "truncated"),
                (start, "start"),
                (importance, "importance"),
            )
        )
    states = validate_data(model, S, reset=begin, dtype=np.float64, order="C")
    after = check_array(S_next, dtype=np.float64, order="C", input_name="S_next")
    if after.shape != states.shape:
        raise ValueError(f"S has shape {states.shape} but S_next has {after.shape}: one next state for each state")
    n = len(states)
    assert r is not None
    rewards = numbers(r, "r")
    if rewards.shape != (n,):
        raise ValueError(f"r has shape {rewards.shape}, expected {(n,)}: one reward for each transition")
    as_targets(rewards)  # refuses what would overflow
    ends, starts = flags(terminated, n, name), flags(start, n, "start").copy()
    cut = flags(truncated, n, "truncated").reshape(environments, -1)
    before = np.roll(cut, 1, axis=1)
    before[:, 0] = ([bool(each) for each in after_cut] + [False] * environments)[:environments]
    starts |= before.ravel()
    weight = None if importance is None else _importance(importance, n)
    return Block(states, rewards, after, ends, starts, weight, environments), tuple(cut[:, -1].tolist())


def _in_turn(values: ArrayLike, shape: tuple[int, int], name: str) -> Array:
    """One environment's numbers after the other's."""
    if np.shape(values) != shape:
        raise ValueError(
            f"{name} has shape {np.shape(values)}, expected {shape}: a step a row, an environment a column"
        )
    return np.swapaxes(np.asarray(values), 0, 1).ravel()


def numbers(values: ArrayLike, name: str) -> Array:
    """Finite numbers; the first that is not is named."""
    numbers: Array = check_array(
        values, dtype=np.float64, ensure_2d=False, order="C", input_name=name, ensure_all_finite=False
    )
    if not np.isfinite(numbers).all():
        first = int(np.argmin(np.isfinite(numbers).ravel()))
        what = "NaN" if np.isnan(numbers.ravel()[first]) else "infinity"
        raise ValueError(f"{name} contains {what} in transition {first}: give finite numbers, or leave it out")
    return numbers


def _importance(values: ArrayLike, n: int) -> Array:
    weight = numbers(values, "importance")
    if weight.shape != (n,):
        raise ValueError(f"importance has shape {weight.shape}, expected {(n,)}: one ratio for each transition")
    if (weight < 0).any():
        first = int(np.argmax(weight < 0))
        raise ValueError(
            f"importance is {weight[first]:g} in transition {first}: a ratio of probabilities is not negative"
        )
    as_targets(weight)
    return weight


def flags(values: ArrayLike | None, n: int, name: str) -> NDArray[np.bool_]:
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
