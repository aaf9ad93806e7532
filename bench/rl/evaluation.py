"""Policy evaluation on MountainCar: values from a few transitions, against Monte Carlo truth."""

from __future__ import annotations

import gymnasium
import numpy as np
from kernsift import KernelLSTD
from tiles import Tiles, lstd, td

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
    env = gymnasium.make("MountainCar-v0").unwrapped
    env.reset(seed=0)
    for _ in range(1000):
        state = rng.uniform(LOW, HIGH)
        action = int(rng.integers(3))
        env.state = tuple(state)
        after, _, terminal, _, _ = env.step(action)
        ours, over = move(state[None], np.array([action]))
        assert np.allclose(after, ours[0], atol=1e-7), (state, action)  # gymnasium answers in float32
        assert terminal == over[0] or abs(ours[0, 0] - 0.5) < 1e-6


def transitions(n, rng):
    """Episodes of the policy from states drawn anywhere, each cut off after 100 steps."""
    env = gymnasium.make("MountainCar-v0").unwrapped
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


GRIDS = {
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


def draw(grid, rng):
    return {name: choices[int(rng.integers(len(choices)))] for name, choices in grid.items()}


def run(sizes, n_seeds, budget, say):
    """Rows (method, size, mean, its standard error, median, parameters); the truth's standard error and spread."""
    check()
    tune_states, tune_values, _ = truth(200, 50, np.random.default_rng(101))
    states, values, error = truth(300, 200, np.random.default_rng(202))
    rows = []
    for n in sizes:
        tuning = [transitions(n, np.random.default_rng(1000 + i)) for i in range(4)]
        for name, (method, grid) in GRIDS.items():
            rng = np.random.default_rng(7)
            tried = [draw(grid, rng) for _ in range(budget)]
            scores = [np.mean([rmse(method(d, **p), tune_states, tune_values) for d in tuning]) for p in tried]
            best = tried[int(np.argmin(scores))]
            scores = [
                rmse(method(transitions(n, np.random.default_rng(5000 + seed)), **best), states, values)
                for seed in range(n_seeds)
            ]
            error_of_mean = np.std(scores, ddof=1) / np.sqrt(n_seeds)
            rows.append((name, n, np.mean(scores), error_of_mean, np.median(scores), best))
            say(f"{name:14s} {n:6d} {np.mean(scores):7.3f} +- {error_of_mean:.3f} ({np.median(scores):.3f})  {best}")
    return rows, error, float(np.std(values))
