"""The rivals, in numpy: tile coding, and on it TD(λ), least-squares TD(λ) and sarsa(λ)."""

from __future__ import annotations

import numpy as np


class Tiles:
    """`tilings` grids of `tiles` cells a dimension over the unit cube, displaced by (1, 3, 5, ...)/tilings."""

    def __init__(self, tilings: int, tiles: int, dimension: int) -> None:
        self.tilings, self.tiles = tilings, tiles
        self.side = tiles + 1
        self.size = tilings * self.side**dimension
        self.offsets = np.outer(np.arange(tilings), 2 * np.arange(dimension) + 1) % tilings / tilings
        self.strides = self.side ** np.arange(dimension)
        self.first = np.arange(tilings) * self.side**dimension

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """Indices of the active features, (n, tilings), for states (n, dimension) in the unit cube."""
        cells = np.clip(states, 0, 1 - 1e-9)[:, None, :] * self.tiles + self.offsets
        return cells.astype(np.int64) @ self.strides + self.first


def td(tiles, data, discount, *, step, decay, passes):
    """TD(λ), accumulating traces, `passes` times over the transitions in their order. Returns V as a function."""
    S, r, S_next, terminal, start = data
    here, there = tiles(S), tiles(S_next)
    w, z, step = np.zeros(tiles.size), np.zeros(tiles.size), step / tiles.tilings
    for _ in range(passes):
        for t in range(len(r)):
            z *= 0.0 if start[t] else discount * decay
            z[here[t]] += 1
            future = 0.0 if terminal[t] else discount * w[there[t]].sum()
            w += step * (r[t] + future - w[here[t]].sum()) * z
            if not abs(w[here[t][0]]) < 1e6:
                return lambda states: np.full(len(states), np.inf)  # diverged
    return lambda states: w[tiles(states)].sum(axis=1)


def lstd(tiles, data, discount, *, ridge, decay):
    """LSTD(λ) on the tiles, by one dense solve."""
    S, r, S_next, terminal, start = data
    here, there = tiles(S), tiles(S_next)
    transposed, b, z = ridge * np.eye(tiles.size), np.zeros(tiles.size), np.zeros(tiles.size)
    for t in range(len(r)):
        z *= 0.0 if start[t] else discount * decay
        z[here[t]] += 1
        transposed[here[t]] += z
        if not terminal[t]:
            transposed[there[t]] -= discount * z
        b += r[t] * z
    w = np.linalg.solve(transposed.T, b)
    return lambda states: w[tiles(states)].sum(axis=1)


def sarsa(task, tiles, transitions, rng, *, step, decay, explore):
    """Sarsa(λ) with replacing traces for a number of transitions. Returns Q as a function, (n, actions)."""
    w, z = np.zeros((task.actions, tiles.size)), np.zeros((task.actions, tiles.size))
    step, env, t = step / tiles.tilings, task.make(), 0

    def choose(active):
        q = w[:, active].sum(axis=1)
        if rng.random() < explore:
            return int(rng.integers(task.actions))
        return int(rng.choice(np.flatnonzero(q == q.max())))

    while t < transitions:
        active = tiles(task.scaled(env.reset(seed=int(rng.integers(2**31)))[0][None]))[0]
        action, over = choose(active), False
        z[:] = 0
        while not over and t < transitions:
            state, paid, terminal, truncated, _ = env.step(action)
            t += 1
            over = terminal or truncated
            error = task.reward(terminal, paid) - w[action, active].sum()
            z *= task.discount * decay
            z[:, active] = 0
            z[action, active] = 1
            if not terminal:
                active = tiles(task.scaled(state[None]))[0]
                action = choose(active)
                error += task.discount * w[action, active].sum()
            w += step * error * z
    return lambda states: w[:, tiles(states)].sum(axis=2).T
