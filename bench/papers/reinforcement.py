"""Reinforcement learning on tasks of gymnasium: `KernelLSTD`, `KernelLSPI` and `evaluate_policy` beside their rivals.

Values are compared with Monte Carlo truth. Each method draws its parameters at random from a grid and is judged on
other seeds; `KernelLSTD` has one setting for all numbers of transitions.
"""

from __future__ import annotations

import importlib
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from kernsift import KernelLSPI, KernelLSTD, evaluate_policy

from .policies import TASKS, Task, batch, fitted_q, gym, monte_carlo, network, trees
from .registry import Line, Run, table
from .tiles import Tiles, lstd, sarsa, td

listed = partial(table, page="reinforcement", needs="gymnasium")


def chosen(grid: dict[str, list[Any]], budget: int, score: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    """Of so many random draws from the grid that of the lowest score."""
    rng = np.random.default_rng(7)
    tried = [{name: values[int(rng.integers(len(values)))] for name, values in grid.items()} for _ in range(budget)]
    return min(tried, key=score)


def timed(score: Callable[[int], float], seeds: int) -> tuple[np.ndarray, float]:
    """The score of each seed, and CPU seconds of one on average."""
    begin = time.process_time()
    found = np.array([score(seed) for seed in range(seeds)])
    return found, (time.process_time() - begin) / seeds


def error_of(found: np.ndarray) -> float:
    """Standard error of the mean."""
    return float(np.std(found, ddof=1) / np.sqrt(len(found)))


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


def kernel_lstd(data, *, kernel, gamma, alpha, decay, novelty_tol):
    model = KernelLSTD(kernel=kernel, gamma=gamma, alpha=alpha, discount=DISCOUNT, trace_decay=decay, max_basis=200,
                       novelty_tol=novelty_tol, uncertainty=False, random_state=0)  # fmt: skip
    S, r, S_next, terminal, start = data
    return model.fit(S, r, S_next, terminated=terminal, start=start).predict


def tile_lstd(data, *, tilings, tiles, ridge, decay):
    return lstd(Tiles(tilings, tiles, 2), data, DISCOUNT, ridge=ridge, decay=decay)


def tile_td(data, *, tilings, tiles, step, decay, passes):
    return td(Tiles(tilings, tiles, 2), data, DISCOUNT, step=step, decay=decay, passes=passes)


#: Of KernelLSTD, for all sizes: the best of 120 random draws of kernel, width, ridge, decay and novelty on the tuning
#: transitions of `values`, by the mean logarithm of the errors at the three sizes.
SETTING = {"kernel": "matern32", "gamma": 10.0, "alpha": 1e-3, "decay": 0.7, "novelty_tol": 1e-3}
TILES = {
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
    "method | transitions | RMSE of the value | ± standard error | median | largest | CPU seconds | parameters",
)
def values(run: Run) -> Iterator[Line]:
    check()
    tune_states, tune_values, _ = truth(200, 50, np.random.default_rng(101))
    states, expected, error = truth(300, 200, np.random.default_rng(202))
    seeds, budget = max(2, run.times(3, 20)), run.choose(2, 4, 24)
    sizes = run.choose([500], [500, 2000], [500, 2000, 12_000])
    tuning = {n: [transitions(n, np.random.default_rng(1000 + i)) for i in range(4)] for n in sizes}

    def tuned(method: Any, p: dict[str, Any], n: int) -> float:
        return float(np.mean([rmse(method(each, **p), tune_states, tune_values) for each in tuning[n]]))

    for n in sizes:
        for name, (method, grid) in {"KernelLSTD": (kernel_lstd, {}), **TILES}.items():
            if not run.wants(f"{name} {n}"):
                continue
            best = chosen(grid, budget, lambda p, f=method, n=n: tuned(f, p, n)) if grid else SETTING

            def score(seed: int, n: int = n, method: Any = method, best: Any = best) -> float:
                return rmse(method(transitions(n, np.random.default_rng(5000 + seed)), **best), states, expected)

            found, seconds = timed(score, seeds)
            yield (
                name, f"{n:,}", f"{found.mean():.2f}", f"{error_of(found):.2f}", f"{np.median(found):.2f}",
                f"{found.max():.2f}", f"{seconds:.2f}", f"`{json.dumps(best)}`",
            )  # fmt: skip
    yield (
        f"Discount {DISCOUNT}. The error is that over 300 states the policy visits, mean over {seeds} seeds. The "
        f"values themselves have a standard deviation of {np.std(expected):.1f}; the truth is 200 Monte Carlo rollouts "
        f"a state, standard error {error:.2f}. Tiles have the best of {budget} random draws from a grid for each size, "
        "judged on four other sets of transitions of that size and on other states; KernelLSTD one setting for all "
        "sizes, the best of 120 draws by the mean logarithm of its errors on the same. It keeps at most 200 kernels. "
        "The seconds contain the simulation of the transitions."
    )


# ---- control


def lspi(task: Task, n: int, seed: int, *, rounds: int, width: float, **parameters: Any) -> Callable[..., np.ndarray]:
    reward = None if task.reward_of_end is None else lambda s, a, paid, after, over: task.reward(over, paid)
    model = KernelLSPI(actions=task.actions, gamma=width / (task.high - task.low) ** 2, discount=task.discount,
                       max_basis=300, random_state=seed, **parameters)  # fmt: skip
    return model.learn(task.make(), n, rounds=rounds, reward=reward).q_values


def tile_sarsa(task: Task, n: int, seed: int, **parameters: Any) -> Callable[..., np.ndarray]:
    tiles = Tiles(task.tilings, task.tiles, len(task.low))
    Q = sarsa(task, tiles, n, np.random.default_rng(seed), **parameters)
    return lambda states: Q(task.scaled(states))


def dqn(task: Task, n: int, seed: int, **parameters: Any) -> Callable[..., np.ndarray]:
    """The deep network of stable-baselines3, on one thread, with the task's own rewards."""
    torch, networks = importlib.import_module("torch"), importlib.import_module("stable_baselines3")
    torch.set_num_threads(1)
    model = networks.DQN(
        "MlpPolicy", task.listed(), seed=seed, device="cpu", policy_kwargs={"net_arch": [256, 256]}, **parameters
    ).learn(n)

    def Q(states: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model.q_net(torch.as_tensor(states, dtype=torch.float32)).numpy()

    return Q


def returns(task: Task, Q: Callable[..., np.ndarray], seed: int, episodes: int = 20) -> float:
    """Mean undiscounted return of greedy episodes, many at once."""
    envs = [task.make() for _ in range(episodes)]
    states = np.array([env.reset(seed=seed + i)[0] for i, env in enumerate(envs)], float)
    alive, total = np.ones(episodes, bool), np.zeros(episodes)
    while alive.any():
        actions = Q(states).argmax(axis=1)
        for i in np.flatnonzero(alive):
            states[i], paid, terminal, truncated, _ = envs[i].step(int(actions[i]))
            total[i] += paid
            alive[i] = not (terminal or truncated)
    return float(total.mean())


#: Of KernelLSPI, for both sizes; MountainCar's width and epsilon are the better of two by three tuning seeds.
POLICY = {"kernel": "matern52", "width": 4.0, "epsilon": 0.3, "action_gamma": 0.3, "max_iter": 10, "rounds": 10}
CLIMBING = {"MountainCar-v0": {**POLICY, "width": 10.0, "epsilon": 0.2}}
#: Of DQN, those of RL Baselines3 Zoo; Pendulum, whose actions are continuous there, has Acrobot's.
LIKE_ACROBOT = {"learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0,
                "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1, "exploration_fraction": 0.12,
                "exploration_final_eps": 0.1}  # fmt: skip
NETWORKS = {
    "MountainCar-v0": {"learning_rate": 4e-3, "batch_size": 128, "buffer_size": 10_000, "learning_starts": 1000,
                       "gamma": 0.98, "target_update_interval": 600, "train_freq": 16, "gradient_steps": 8,
                       "exploration_fraction": 0.2, "exploration_final_eps": 0.07},
    "CartPole-v1": {"learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000,
                    "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128,
                    "exploration_fraction": 0.16, "exploration_final_eps": 0.04},
    "Acrobot-v1": LIKE_ACROBOT,
    "Pendulum-v1": LIKE_ACROBOT,
}  # fmt: skip
FIXED = {"KernelLSPI": dict.fromkeys(NETWORKS, POLICY) | CLIMBING, "DQN": NETWORKS}
CONTROLLERS = {"KernelLSPI": lspi, "sarsa(lambda), tiles": tile_sarsa, "DQN": dqn}
SARSA = {"step": [0.1, 0.3, 0.6, 1.0], "decay": [0.0, 0.5, 0.9], "explore": [0.0, 0.1]}


@listed(
    "CONTROL",
    "mean return of 20 greedy episodes after a fixed number of transitions",
    "task | transitions | method | return | ± standard error | CPU seconds | parameters",
)
def control(run: Run) -> Iterator[Line]:
    seeds, budget = max(2, run.times(3, 20)), run.choose(1, 2, 6)
    sizes = run.choose([500], [5000], [5000, 20_000])
    for task in TASKS[:1] if run.brief else TASKS:
        for name, method in CONTROLLERS.items():
            if not run.wants(f"{task.name} {name}") or (method is dqn and not find_spec("stable_baselines3")):
                continue

            def greedy(seed: int, first: int, n: int, p: dict[str, Any], task: Task = task, f: Any = method) -> float:
                return returns(task, f(task, n, seed, **p), first)

            def tuned(p: dict[str, Any], f: Any = greedy) -> float:
                return -float(np.mean([f(900 + i, 10_000 + 100 * i, sizes[0], p) for i in range(3)]))

            best = chosen(SARSA, budget, tuned) if method is tile_sarsa else FIXED[name][task.name]
            for n in sizes:
                count = min(seeds, 5) if method is dqn else seeds  # networks take minutes
                found, seconds = timed(lambda s, n=n, f=greedy, p=best: f(s, 50_000 + 100 * s, n, p), count)
                yield (
                    task.name, f"{n:,}", name, f"{found.mean():.1f}", f"{error_of(found):.1f}", f"{seconds:.1f}",
                    f"`{json.dumps(best)}`",
                )  # fmt: skip
    if not find_spec("stable_baselines3"):
        yield "DQN was skipped, without stable-baselines3."
    yield (
        f"Transitions from the task's own starting states; {seeds} seeds, of DQN {min(seeds, 5)}. sarsa has the "
        f"best of {budget} draws from a grid, judged on three other seeds of {sizes[0]:,} transitions; KernelLSPI one "
        "setting found on three other seeds of CartPole, but on MountainCar the better of two on three or four; DQN "
        "(stable-baselines3, on one thread) the settings of RL Baselines3 Zoo, found for 50,000 to 120,000 "
        "transitions, and on Pendulum Acrobot's. More is better everywhere: MountainCar and Acrobot pay -1 a step "
        "until they arrive (-200 and -500 at worst), CartPole 1 a step until it falls (500 at best), Pendulum minus "
        "its distance from standing still; its torques are -2, 0 and 2. KernelLSPI keeps at most 300 kernels for all "
        "of Q(s, a). On CartPole KernelLSPI and sarsa learn from -1 at the end in place of 1 a step. The seconds "
        "contain the simulation and the greedy episodes."
    )


# ---- off-policy evaluation

TARGET, ACTED = 0.9, 0.5  # parts of good actions: of the policy to evaluate, and of that which made the transitions


def lstd_q(task: Task, data: Any, chance: Any, first: np.ndarray, seed: int, rounds: int) -> float:
    return evaluate_policy(data, chance, initial_states=first, discount=task.discount, actions=task.actions,
                           random_state=seed).value  # fmt: skip


def fqe(task: Task, data: Any, chance: Any, first: np.ndarray, seed: int, rounds: int, *, model: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network of few epochs says that it has not converged
        return float(fitted_q(task, data, chance, rounds=rounds, model=model(seed))(first))


OFF_POLICY = {
    "evaluate_policy": lstd_q,
    "FQE, trees": partial(fqe, model=trees),
    "FQE, network": partial(fqe, model=network),
}


@listed(
    "OFFPOLICY",
    "the value of one policy from transitions of another: error against Monte Carlo",
    "task | transitions | method | mean absolute error | ± standard error | value | CPU seconds",
)
def off_policy(run: Run) -> Iterator[Line]:
    seeds, rounds = max(2, run.times(2, 3)), run.choose(3, 50, 300)
    worst = 0.0
    for task in TASKS[:1] if run.brief else TASKS:
        expected, error = monte_carlo(task, TARGET, run.choose(20, 200, 500), np.random.default_rng(1))
        worst = max(worst, error / abs(expected))
        first = np.array([task.make().reset(seed=i)[0] for i in range(100)], float)
        chance = partial(task.chances, good=TARGET)
        for n in run.choose([500], [1000], [1000, 5000]):
            sets = [batch(task, n, ACTED, np.random.default_rng(300 + seed)) for seed in range(seeds)]
            for name, method in OFF_POLICY.items():
                if not run.wants(f"{task.name} {n} {name}"):
                    continue
                asked = partial(method, task, chance=chance, first=first, rounds=rounds)
                found, seconds = timed(lambda seed, f=asked, sets=sets: f(data=sets[seed], seed=seed), seeds)
                errors = np.abs(found - expected)
                yield (
                    task.name, f"{n:,}", name, f"{errors.mean():.2f}", f"{error_of(errors):.2f}",
                    f"{expected:.2f}", f"{seconds:.2f}",
                )  # fmt: skip
    yield (
        f"The policy takes a good action with probability {TARGET} and any with the rest, that which made the "
        f"transitions {ACTED}; discount 0.99; {seeds} sets of transitions, in episodes of at most 200 steps. The "
        f"value is that of Monte Carlo, whose standard error is at most {100 * worst:.1f} % of it. evaluate_policy has "
        "its defaults, chosen on other transitions of these tasks, and its ridge by alpha='stable'; FQE is not tuned."
        f" FQE makes {rounds} regressions: 10 extremely randomised trees with leaves of ten "
        "(scikit-learn), or a network of two layers of 64 that goes on with five epochs in each."
    )
