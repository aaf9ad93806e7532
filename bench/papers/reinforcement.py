"""Reinforcement learning: `KernelLSTD` beside LSTD(λ), TD(λ) and sarsa(λ) on tile coding, on two tasks of gymnasium.

Values are compared with Monte Carlo truth; control is by least-squares policy iteration on one basis for Q(s, a).
Each method draws its parameters at random from a grid, as often as the others, and is judged on other seeds.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from kernsift import KernelLSTD

from .registry import Line, Run, table
from .tiles import Tiles, lstd, sarsa, td

listed = partial(table, page="reinforcement", needs="gymnasium")


def gym() -> Any:
    """gymnasium, which the two tables need and the others do not."""
    return importlib.import_module("gymnasium")


def chosen(grid: dict[str, list[Any]], budget: int, score: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    """Of so many random draws from the grid that of the lowest score."""
    rng = np.random.default_rng(7)
    tried = [{name: values[int(rng.integers(len(values)))] for name, values in grid.items()} for _ in range(budget)]
    return min(tried, key=score)


def over_seeds(score: Callable[[int], float], seeds: int) -> tuple[float, float, float]:
    """Mean, its standard error, and median."""
    found = [score(seed) for seed in range(seeds)]
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(seeds)), float(np.median(found))


# ---- values


DISCOUNT = 0.99
LOW, HIGH = np.array([-1.2, -0.07]), np.array([0.6, 0.07])


def scaled(states):
    return (states - LOW) / (HIGH - LOW)


def policy(states, rng):
    """Push the way the car rolls, one time in five at random."""
    actions = np.where(states[:, 1] >= 0, 2, 0)
    return np.where(rng.random(len(states)) < 0.2, rng.integers(0, 3, len(states)), actions)


def move(states, actions):
    """The car's dynamics for many cars at once: those of gymnasium, which `check` compares."""
    position, velocity = states.T
    velocity = np.clip(velocity + (actions - 1) * 0.001 - np.cos(3 * position) * 0.0025, -0.07, 0.07)
    position = np.clip(position + velocity, -1.2, 0.6)
    velocity = np.where((position <= -1.2) & (velocity < 0), 0.0, velocity)
    return np.column_stack([position, velocity]), (position >= 0.5) & (velocity >= 0)


def check():
    rng = np.random.default_rng(0)
    env = gym().make("MountainCar-v0").unwrapped
    env.reset(seed=0)
    for _ in range(1000):
        state = rng.uniform(LOW, HIGH)
        action = int(rng.integers(3))
        env.state = tuple(state)
        after, _, terminal, _, _ = env.step(action)
        ours, over = move(state[None], np.array([action]))
        assert np.allclose(after, ours[0], atol=1e-7), (state, action)  # gymnasium returns float32
        assert terminal == over[0] or abs(ours[0, 0] - 0.5) < 1e-6


def transitions(n, rng):
    """Episodes of the policy from states drawn anywhere, each cut off after 100 steps."""
    env = gym().make("MountainCar-v0").unwrapped
    env.reset(seed=int(rng.integers(2**31)))
    S, S_next, terminal, start = np.zeros((n, 2)), np.zeros((n, 2)), np.zeros(n, bool), np.zeros(n, bool)
    age = 0
    for t in range(n):
        if age == 0:
            env.state = tuple(rng.uniform([-1.2, -0.07], [0.5, 0.07]))
            start[t] = True
        S[t] = env.state
        _, _, terminal[t], _, _ = env.step(int(policy(S[t : t + 1], rng)[0]))
        S_next[t] = env.state
        age = 0 if terminal[t] or age == 99 else age + 1
    return scaled(S), np.full(n, -1.0), scaled(S_next), terminal, start


def truth(n_states, runs, rng):
    """States the policy visits, their values by `runs` rollouts each, and the mean standard error of these."""
    states = transitions(20 * n_states, rng)[0][::20] * (HIGH - LOW) + LOW
    cars = np.repeat(states, runs, axis=0)
    value, weight, alive = np.zeros(len(cars)), 1.0, np.ones(len(cars), bool)
    while alive.any() and weight > 1e-4:
        value[alive] -= weight
        cars[alive], over = move(cars[alive], policy(cars[alive], rng))
        alive[np.flatnonzero(alive)[over]] = False
        weight *= DISCOUNT
    value = value.reshape(n_states, runs)
    return scaled(states), value.mean(axis=1), float(value.std(axis=1, ddof=1).mean() / np.sqrt(runs))


def kernel_lstd(data, *, gamma, alpha, decay, novelty_tol, admission):
    model = KernelLSTD(gamma=gamma, alpha=alpha, discount=DISCOUNT, trace_decay=decay, max_basis=200,
                       novelty_tol=novelty_tol, admission=admission)  # fmt: skip
    S, r, S_next, terminal, start = data
    return model.partial_fit(S, r, S_next, terminal=terminal, start=start).predict


def tile_lstd(data, *, tilings, tiles, ridge, decay):
    return lstd(Tiles(tilings, tiles, 2), data, DISCOUNT, ridge=ridge, decay=decay)


def tile_td(data, *, tilings, tiles, step, decay, passes):
    return td(Tiles(tilings, tiles, 2), data, DISCOUNT, step=step, decay=decay, passes=passes)


VALUES = {
    "KernelLSTD": (kernel_lstd, {
        "gamma": [3.0, 10.0, 30.0], "alpha": [1e-3, 1e-2, 0.1, 1.0], "decay": [0.0, 0.5, 0.9, 0.97],
        "novelty_tol": [1e-3, 1e-2], "admission": ["product", "novelty"]}),
    "LSTD on tiles": (tile_lstd, {
        "tilings": [4, 8], "tiles": [3, 5, 8], "ridge": [1e-2, 0.1, 1.0, 10.0], "decay": [0.0, 0.5, 0.9, 0.97]}),
    "TD on tiles": (tile_td, {
        "tilings": [4, 8, 16], "tiles": [3, 5, 8], "step": [0.03, 0.1, 0.3, 0.6], "decay": [0.0, 0.5, 0.9, 0.97],
        "passes": [1, 10]}),
}  # fmt: skip


def rmse(V, states, values):
    return float(np.sqrt(np.mean((V(states) - values) ** 2)))


@listed(
    "VALUES",
    "policy evaluation on MountainCar, a car pushed the way it rolls and one time in five at random",
    "method | transitions | RMSE of the value | ± standard error | median | parameters",
)
def values(run: Run) -> Iterator[Line]:
    check()
    tune_states, tune_values, _ = truth(200, 50, np.random.default_rng(101))
    states, expected, error = truth(300, 200, np.random.default_rng(202))
    seeds, budget = max(2, run.times(3, 20)), run.choose(2, 4, 24)
    for n in run.choose([500], [500, 2000], [500, 2000, 12_000]):
        tuning = [transitions(n, np.random.default_rng(1000 + i)) for i in range(4)]
        for name, (method, grid) in VALUES.items():
            best = chosen(
                grid,
                budget,
                lambda p, f=method, d=tuning: np.mean([rmse(f(each, **p), tune_states, tune_values) for each in d]),
            )

            def score(seed: int, n: int = n, method: Any = method, best: Any = best) -> float:
                return rmse(method(transitions(n, np.random.default_rng(5000 + seed)), **best), states, expected)

            mean, se, median = over_seeds(score, seeds)
            yield name, f"{n:,}", f"{mean:.2f}", f"{se:.2f}", f"{median:.2f}", f"`{json.dumps(best)}`"
    yield (
        f"Discount {DISCOUNT}. The error is that over 300 states the policy visits, mean over {seeds} seeds. The "
        f"values themselves have a standard deviation of {np.std(expected):.1f}; the truth is 200 Monte Carlo rollouts "
        f"a state, standard error {error:.2f}. Each method had {budget} random draws from its grid for each size, "
        "judged on four other sets of transitions and on other states. KernelLSTD keeps at most 200 kernels."
    )


# ---- control


@dataclass
class Task:
    name: str
    actions: int
    low: np.ndarray
    high: np.ndarray
    discount: float
    step_reward: float
    end_reward: float
    transitions: int
    tilings: int
    tiles: int

    def make(self):
        return gym().make(self.name)

    def scaled(self, states):
        return np.clip((states - self.low) / (self.high - self.low), 0, 1)

    def reward(self, terminal):
        return self.end_reward if terminal else self.step_reward


TASKS = [
    Task("MountainCar-v0", 3, np.array([-1.2, -0.07]), np.array([0.6, 0.07]), 0.99, -1.0, -1.0, 10_000, 8, 8),
    # gymnasium's reward is 1 a step; a penalty at the end is equivalent and lets the values start from 0
    Task("CartPole-v1", 2, np.array([-2.4, -3.0, -0.21, -3.0]), np.array([2.4, 3.0, 0.21, 3.0]), 0.98, 0.0, -1.0,
         5_000, 16, 4),
]  # fmt: skip


def with_action(task, states, actions):
    """(s, a) as one input: the action in one-of-n code, so that k((s,a),(s',a')) = k(s,s') e^-8 for a != a'."""
    return np.hstack([states, 2.0 * np.eye(task.actions)[actions]])


def q_values(task, model, states):
    asked = np.repeat(states, task.actions, axis=0)
    actions = np.tile(np.arange(task.actions), len(states))
    return model.predict(with_action(task, asked, actions)).reshape(len(states), task.actions)


def lspi(task, transitions, rng, *, gamma, alpha, explore, novelty_tol, iterations=2, rounds=10):
    """Collects `rounds` batches with the present policy; after each, improves it on all transitions there are."""
    S, A, R, S_next, ends = [], [], [], [], []
    env, model, over = task.make(), None, True
    widths = np.append(np.full(len(task.low), gamma), np.ones(task.actions))
    for _ in range(rounds):
        for _ in range(transitions // rounds):
            if over:
                state = env.reset(seed=int(rng.integers(2**31)))[0]
            here = task.scaled(state[None])
            if model is None or rng.random() < explore:
                action = int(rng.integers(task.actions))
            else:
                q = q_values(task, model, here)[0]
                action = int(rng.choice(np.flatnonzero(q == q.max())))
            state, _, terminal, truncated, _ = env.step(action)
            over = terminal or truncated
            S.append(here[0])
            A.append(action)
            R.append(task.reward(terminal))
            S_next.append(task.scaled(state[None])[0])
            ends.append(terminal)
        before, after, actions = np.array(S), np.array(S_next), np.array(A)
        for _ in range(iterations):
            if model is None:
                policy = rng.integers(0, task.actions, len(after))
            else:
                policy = q_values(task, model, after).argmax(axis=1)
            model = KernelLSTD(gamma=widths, alpha=alpha, discount=task.discount, max_basis=150,
                               novelty_tol=novelty_tol, admission="novelty")  # fmt: skip
            model.partial_fit(with_action(task, before, actions), R, with_action(task, after, policy),
                              terminal=np.array(ends))  # fmt: skip
    return lambda states: q_values(task, model, states)


def tile_sarsa(task, transitions, rng, *, step, decay, explore):
    return sarsa(task, Tiles(task.tilings, task.tiles, len(task.low)), transitions, rng, step=step, decay=decay,
                 explore=explore)  # fmt: skip


def steps(task, Q, seed, episodes=20):
    """Mean length of greedy episodes, many at once."""
    envs = [task.make() for _ in range(episodes)]
    states = np.array([env.reset(seed=seed + i)[0] for i, env in enumerate(envs)])
    alive, length = np.ones(episodes, bool), np.zeros(episodes)
    while alive.any():
        actions = Q(task.scaled(states)).argmax(axis=1)
        for i in np.flatnonzero(alive):
            states[i], _, terminal, truncated, _ = envs[i].step(int(actions[i]))
            length[i] += 1
            alive[i] = not (terminal or truncated)
    return float(length.mean())


CONTROL = {
    "policy iteration, KernelLSTD": (lspi, {
        "gamma": [3.0, 10.0, 30.0], "alpha": [1e-2, 0.1, 1.0], "explore": [0.0, 0.1], "novelty_tol": [1e-2, 0.1]}),
    "sarsa(lambda), tiles": (tile_sarsa, {
        "step": [0.1, 0.3, 0.6, 1.0], "decay": [0.0, 0.5, 0.9], "explore": [0.0, 0.1]}),
}  # fmt: skip


@listed(
    "CONTROL",
    "mean steps of 20 greedy episodes after a fixed number of transitions",
    "task | transitions | method | steps | ± standard error | parameters",
)
def control(run: Run) -> Iterator[Line]:
    seeds, budget = max(2, run.times(3, 20)), run.choose(1, 2, 12)
    for task in TASKS[:1] if run.brief else TASKS:
        better = 1 if task.name == "CartPole-v1" else -1
        n = min(task.transitions, run.choose(1000, 10**6, 10**6))
        for name, (method, grid) in CONTROL.items():

            def greedy(
                seed: int, first: int, p: dict[str, Any], task: Task = task, n: int = n, f: Any = method
            ) -> float:
                return steps(task, f(task, n, np.random.default_rng(seed), **p), first)

            best = chosen(
                grid,
                budget,
                lambda p, f=greedy, b=better: -b * np.mean([f(900 + i, 10_000 + 100 * i, p) for i in range(3)]),
            )
            mean, se, _ = over_seeds(lambda s, f=greedy, p=best: f(s, 50_000 + 100 * s, p), seeds)
            yield task.name, f"{n:,}", name, f"{mean:.0f}", f"{se:.0f}", f"`{json.dumps(best)}`"
    yield (
        f"Transitions from the task's own starting states; {seeds} seeds; {budget} draws from each grid, judged on "
        "three other seeds. MountainCar: fewer is better, 200 is never arriving. CartPole: more is better, 500 is "
        "never falling. Policy iteration keeps at most 150 kernels for all of Q(s, a), the action being part of the "
        "input."
    )
