"""Control: least-squares policy iteration on one kernel basis for Q(s, a), beside sarsa(λ) with tile coding."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np
from kernsift import KernelLSTD
from tiles import Tiles, sarsa


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
        return gymnasium.make(self.name)

    def scaled(self, states):
        return np.clip((states - self.low) / (self.high - self.low), 0, 1)

    def reward(self, terminal):
        return self.end_reward if terminal else self.step_reward


TASKS = [
    Task("MountainCar-v0", 3, np.array([-1.2, -0.07]), np.array([0.6, 0.07]), 0.99, -1.0, -1.0, 10_000, 8, 8),
    # gymnasium pays 1 a step; a penalty at the end says the same and lets the values start from 0
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


GRIDS = {
    "policy iteration, KernelLSTD": (lspi, {
        "gamma": [3.0, 10.0, 30.0], "alpha": [1e-2, 0.1, 1.0], "explore": [0.0, 0.1], "novelty_tol": [1e-2, 0.1]}),
    "sarsa(lambda), tiles": (tile_sarsa, {
        "step": [0.1, 0.3, 0.6, 1.0], "decay": [0.0, 0.5, 0.9], "explore": [0.0, 0.1]}),
}  # fmt: skip


def run(n_seeds, budget, say):
    """Rows (task, method, mean, standard error, parameters)."""
    rows = []
    for task in TASKS:
        better = 1 if task.name == "CartPole-v1" else -1
        for name, (method, grid) in GRIDS.items():
            rng = np.random.default_rng(7)
            tried = [{k: v[int(rng.integers(len(v)))] for k, v in grid.items()} for _ in range(budget)]
            scores = [
                np.mean([
                    steps(task, method(task, task.transitions, np.random.default_rng(900 + i), **p), 10_000 + 100 * i)
                    for i in range(3)
                ])
                for p in tried
            ]  # fmt: skip
            best = tried[int(np.argmax(better * np.array(scores)))]
            scores = [
                steps(task, method(task, task.transitions, np.random.default_rng(seed), **best), 50_000 + 100 * seed)
                for seed in range(n_seeds)
            ]
            rows.append((task, name, np.mean(scores), np.std(scores, ddof=1) / np.sqrt(n_seeds), best))
            say(f"{task.name} {name} {rows[-1][2]:.1f} +- {rows[-1][3]:.1f} {best}")
    return rows
