"""Four tasks of gymnasium with policies to evaluate, and fitted Q evaluation, the rival there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.neural_network import MLPRegressor

Array = np.ndarray


def gym() -> Any:
    """gymnasium, which these tables need and the others do not."""
    return importlib.import_module("gymnasium")


@dataclass
class Task:
    """A task, its actions as they are given to it, and the range of its states for those who need one."""

    name: str
    given: list[Any]
    low: Array
    high: Array
    discount: float
    good: Callable[[Array], Array]  # numbers of actions that do well
    tilings: int = 8
    tiles: int = 8
    reward_of_end: tuple[float, float] | None = None  # a step's and the last one's, for control

    @property
    def actions(self) -> int:
        return len(self.given)

    def make(self, **more: Any) -> Any:
        return Numbered(gym().make(self.name, **more), self.given)

    def listed(self) -> Any:
        """The task for those who need an environment of gymnasium."""

        class Listed(gym().ActionWrapper):
            action_space = gym().spaces.Discrete(len(self.given))

            def action(_, number: Any) -> Any:
                return self.given[int(number)]

        return Listed(gym().make(self.name))

    def scaled(self, states: Array) -> Array:
        return np.clip((states - self.low) / (self.high - self.low), 0, 1)

    def reward(self, terminal: bool, paid: float) -> float:
        return paid if self.reward_of_end is None else self.reward_of_end[int(terminal)]

    def chances(self, states: Array, good: float) -> Array:
        """The probability of each action: the good one with that probability, else any."""
        best = np.eye(self.actions)[self.good(states)]
        return good * best + (1 - good) / self.actions


class Numbered:
    """An environment whose actions are 0, 1, ..."""

    def __init__(self, env: Any, given: list[Any]) -> None:
        self.env, self.given = env, given

    def reset(self, seed: int | None = None) -> Any:
        return self.env.reset(seed=seed)

    def step(self, action: int) -> Any:
        return self.env.step(self.given[action])


def _swing(states: Array) -> Array:
    """Pump energy into the pendulum, and hold it when it is up; torques -2, 0, 2."""
    angle = np.arctan2(states[:, 1], states[:, 0])
    up = np.abs(angle) < 0.5
    torque = np.where(up, -10 * angle - 2 * states[:, 2], 2 * np.sign(states[:, 2] + 1e-9))
    return np.where(torque > 1, 2, np.where(torque < -1, 0, 1))


TASKS = [
    Task("MountainCar-v0", [0, 1, 2], np.array([-1.2, -0.07]), np.array([0.6, 0.07]), 0.99,
         lambda S: np.where(S[:, 1] >= 0, 2, 0)),
    # gymnasium's reward is 1 a step; a penalty at the end is equivalent and lets the values start from 0
    Task("CartPole-v1", [0, 1], np.array([-2.4, -3.0, -0.21, -3.0]), np.array([2.4, 3.0, 0.21, 3.0]), 0.99,
         lambda S: (S[:, 2] + 0.3 * S[:, 3] + 0.05 * S[:, 0] + 0.1 * S[:, 1] > 0).astype(int), 16, 4, (0.0, -1.0)),
    Task("Acrobot-v1", [0, 1, 2], np.array([-1, -1, -1, -1, -12.6, -28.3]), np.array([1, 1, 1, 1, 12.6, 28.3]), 0.99,
         lambda S: np.where(S[:, 5] >= 0, 2, 0), 16, 3),
    Task("Pendulum-v1", [np.array([-2.0]), np.array([0.0]), np.array([2.0])], np.array([-1, -1, -8.0]),
         np.array([1, 1, 8.0]), 0.99, _swing, 8, 6),
]  # fmt: skip


def batch(task: Task, n: int, good: float, rng: np.random.Generator, horizon: int = 200) -> tuple[Array, ...]:
    """n transitions of the policy that does well with that probability, in episodes of so many steps at most."""
    env, age, state = task.make(max_episode_steps=10**6), 0, None
    S, A, R, S_next = [], np.zeros(n, int), np.zeros(n), []
    terminated, truncated = np.zeros(n, bool), np.zeros(n, bool)
    for t in range(n):
        if state is None:
            state, age = env.reset(seed=int(rng.integers(2**31)))[0], 0
        A[t] = rng.choice(task.actions, p=task.chances(np.array([state]), good)[0])
        after, R[t], terminated[t], _, _ = env.step(int(A[t]))
        S.append(state)
        S_next.append(after)
        age += 1
        truncated[t] = age == horizon and not terminated[t]
        state = None if terminated[t] or truncated[t] else after
    return np.array(S, float), A, R, np.array(S_next, float), terminated, truncated


def monte_carlo(task: Task, good: float, episodes: int, rng: np.random.Generator) -> tuple[float, float]:
    """The value of the policy from the starting states, and its standard error."""
    steps = int(np.ceil(np.log(1e-3) / np.log(task.discount)))
    envs = [task.make(max_episode_steps=10**6) for _ in range(episodes)]
    states = np.array([env.reset(seed=int(rng.integers(2**31)))[0] for env in envs], float)
    total, alive = np.zeros(episodes), np.ones(episodes, bool)
    for t in range(steps):
        chance = task.chances(states, good).cumsum(axis=1)
        actions = (rng.random((episodes, 1)) > chance).sum(axis=1)
        for i in np.flatnonzero(alive):
            states[i], paid, over, _, _ = envs[i].step(int(min(actions[i], task.actions - 1)))
            total[i] += task.discount**t * paid
            alive[i] = not over
    return float(total.mean()), float(total.std(ddof=1) / np.sqrt(episodes))


def fitted_q(task: Task, data: tuple[Array, ...], chance: Callable[[Array], Array], *, rounds: int, model: Any) -> Any:
    """FQE: regress r + gQ(s', policy) on (s, a) again and again.  Returns the mean value of states."""
    S, A, R, S_next, terminated, _ = data
    code = np.eye(task.actions)
    rows = np.hstack([task.scaled(S), code[A]])
    every = [np.hstack([task.scaled(S_next), np.tile(code[a], (len(S), 1))]) for a in range(task.actions)]
    p, going = chance(S_next), np.where(terminated, 0.0, task.discount)
    size = max(float(np.abs(R).max()), 1e-12) / (1 - task.discount)  # networks want targets of order one
    targets = R / size
    for _ in range(rounds):
        model.fit(rows, targets)
        targets = R / size + going * sum(p[:, a] * model.predict(every[a]) for a in range(task.actions))

    def value(states: Array) -> float:
        q = [
            model.predict(np.hstack([task.scaled(states), np.tile(code[a], (len(states), 1))]))
            for a in range(len(code))
        ]
        return size * float(np.mean(np.sum(chance(states) * np.stack(q, axis=1), axis=1)))

    return value


def trees(seed: int) -> Any:
    return ExtraTreesRegressor(10, min_samples_leaf=10, random_state=seed)


def network(seed: int) -> Any:
    return MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=5, warm_start=True, batch_size=256, random_state=seed)
