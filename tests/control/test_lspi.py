"""Policy iteration and off-policy evaluation against dense Q on blocks, and problems solved by hand."""

from __future__ import annotations

import pickle

import numpy as np
import oracles
import pytest
from kernsift import KernelLSPI, _core, evaluate_policy, load
from kernsift.control import lspi
from kernsift.control.stable import Feedback
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

RBF = oracles.kernel_function("rbf", 1.0, dtype=float)
GAMMA, N = 0.9, 8


def moves(n=900, seed=0, cut=0.05):
    """A coin walks on 0, 1, ..., 7; a step right succeeds with 0.8; leaving on the right pays 1 and ends."""
    rng = np.random.default_rng(seed)
    s, a, after, cuts = np.zeros(n), rng.integers(0, 2, n), np.zeros(n), rng.random(n) < cut
    state = 3
    for t in range(n):
        s[t] = state
        after[t] = state + 1 if a[t] and rng.random() < 0.8 else max(state - 1, 0)
        state = int(rng.integers(N)) if after[t] == N or cuts[t] else int(after[t])
    ends = after == N
    return s[:, None], a, ends.astype(float), after[:, None], ends, cuts & ~ends


def truth(chance_of_right):
    """V and Q of a policy that goes right with that chance in each state, by hand."""
    P = np.zeros((2, N, N))
    r = np.zeros((2, N))
    for s in range(N):
        P[0, s, max(s - 1, 0)] = 1
        P[1, s, max(s - 1, 0)] += 0.2
        if s + 1 < N:
            P[1, s, s + 1] += 0.8
        else:
            r[1, s] = 0.8
    p = np.full(N, chance_of_right)
    V = np.linalg.solve(np.eye(N) - GAMMA * ((1 - p)[:, None] * P[0] + p[:, None] * P[1]), (1 - p) * r[0] + p * r[1])
    return V, np.stack([r[a] + GAMMA * P[a] @ V for a in (0, 1)], axis=1)


def estimator(**parameters):
    return KernelLSPI(**{"gamma": 1.0, "alpha": 1e-2, "discount": GAMMA, "random_state": 0, **parameters})


EVERY = np.arange(float(N))[:, None]


def elements_of(values):
    """States and actions of the kernels of Q."""
    vectors = values.basis_vectors_
    return vectors[:, :1], vectors[:, 1:].argmax(axis=1)


def dense_values(kernel, model, moved, policy):
    """Q of a policy on the kernels of a model, by the dense equations, of `EVERY` state and the next ones."""
    S, a, r, after, ends, _ = moved
    function = oracles.kernel_function(kernel, 1.0, dtype=float)
    elements = elements_of(model.model_)
    w = oracles.dense_action_values(function, elements, S, a, r, after, ends, np.eye(2)[policy], GAMMA, 1e-2)
    block = oracles.block_kernel(function)
    return [np.stack([block((x, np.full(len(x), b)), elements) @ w for b in (0, 1)], axis=1) for x in (EVERY, after)]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32", "matern52"])
def test_action_values_are_the_dense_fixed_point_of_their_policy(kernel):
    """The policy has stayed, so Q is LSTD-Q of its own best actions; at most 1e-9, as for V."""
    moved = moves()
    model = estimator(kernel=kernel).fit(moved)
    assert model.changed_[-1] == 0
    assert model.n_iter_ == len(model.changed_) < 20
    expected, _ = dense_values(kernel, model, moved, model.q_values(moved[3]).argmax(axis=1))
    np.testing.assert_allclose(model.q_values(EVERY), expected, atol=1e-9)


def test_until_then_they_are_the_mean_of_those_of_all_policies():
    """Each policy is the best for the mean so far, so fits of 1, 2, ... evaluations follow from one another."""
    moved = moves(20)
    mean = estimator(max_iter=1).fit(moved)
    for k in range(2, 6):
        policy = mean.q_values(moved[3]).argmax(axis=1)
        after = estimator(max_iter=k).fit(moved)
        new, ahead = dense_values("rbf", mean, moved, policy)
        assert after.n_iter_ == k
        assert (ahead.argmax(axis=1) != policy).any()  # not the best policy for its own values
        np.testing.assert_allclose(after.q_values(EVERY), ((k - 1) * mean.q_values(EVERY) + new) / k, atol=1e-9)
        mean = after


@pytest.mark.parametrize("part", [0.3, 1.0])
def test_the_stable_ridge_is_the_least_that_lets_values_settle(part):
    """By the literal iteration of regressions from an error of one, in the oracle."""
    S, a, r, after, ends, _ = moves()
    chance = np.tile([1 - part, part], (len(S), 1))
    found = evaluate_policy((S, a, r, after, ends), chances(part), kernel="rbf", gamma=1.0, action_gamma=None,
                            discount=GAMMA, random_state=0).model  # fmt: skip
    growth = [
        oracles.feedback_of_values(RBF, elements_of(found), S, a, after, ends, chance, GAMMA, alpha)
        for alpha in (found.alpha, found.alpha / 2)
    ]
    assert growth[0] <= (1 + GAMMA) / 2
    assert found.alpha == 0.1 or growth[1] > (1 + GAMMA) / 2


def test_transitions_of_another_policy_can_take_a_larger_ridge():
    """Tsitsiklis and Van Roy: two states lean on one kernel, and the second, which leads to itself, is seen rarely.

    By hand: the regression of the next values multiplies an error by discount (190 p + 10) / (190 p² + 10 + alpha).
    """
    p = np.exp(-0.5)
    kernel = _core.Kernel("rbf", np.array([0.5]), 3, 1.0, np.zeros(1))
    rows, after = np.append(np.ones(190), np.full(10, 2.0))[:, None], np.full((200, 1), 2.0)
    feedback = Feedback(kernel, np.array([[2.0]]), rows)
    found = feedback.stable_ridge(after, np.zeros(200, bool), 0.99)

    def growth(alpha):
        return 0.99 * (190 * p + 10) / (190 * p**2 + 10 + alpha)

    assert growth(found) <= 0.995 < growth(found / 2)
    assert feedback.stable_ridge(after, np.ones(200, bool), 0.99) == 0.1


def test_it_finds_the_best_policy():
    model = estimator(alpha=1e-4, gamma=5.0).fit(moves(6000))
    np.testing.assert_array_equal(model.predict(EVERY), 1)
    _, Q = truth(1.0)  # to go right is best: its Q is that of the best policy
    assert (Q[:, 1] > Q[:, 0]).all()
    # 375 visits of a state and action: a standard error of the mean of 0.02, through (I - gP)^-1 of some 5
    np.testing.assert_allclose(model.q_values(EVERY), Q, atol=0.1)


def test_actions_are_numbers_texts_or_rows():
    S, a, r, after, ends, cuts = moves()
    plain = estimator(actions=2).fit((S, a, r, after, ends, cuts))
    words = np.array(["left", "right"])
    named = estimator(actions=["left", "right"]).fit(
        {"states": S, "actions": words[a], "rewards": r, "next_states": after, "terminated": ends, "truncated": cuts}
    )
    np.testing.assert_array_equal(named.q_values(EVERY), plain.q_values(EVERY))
    assert named.act([3.0]) == "right"
    forces = np.array([[-1.0, 0.0], [1.0, 0.0]])
    rows = estimator(actions=forces).fit((S, forces[a], r, after, ends, cuts))
    np.testing.assert_array_equal(rows.q_values(EVERY), plain.q_values(EVERY))
    np.testing.assert_array_equal(rows.act([3.0]), forces[1])
    found = estimator().fit((S, a + 5, r, after, ends, cuts))
    np.testing.assert_array_equal(found.actions_, [5, 6])


def test_what_is_learned_of_an_action_counts_for_those_near():
    """Action 1 is never taken: in blocks its Q is 0, over rows of numbers it lies between those of 0 and 2."""
    S, a, r, after, ends, cuts = moves()
    forces = np.array([[-1.0], [0.0], [1.0]])
    given = (S, forces[2 * a], r, after, ends, cuts)
    apart = estimator(actions=forces).fit(given)
    np.testing.assert_array_equal(apart.q_values(EVERY)[:, 1], 0.0)
    near = estimator(actions=forces, action_gamma=0.5).fit(given).q_values(EVERY)
    assert (near[:, 1] > 0.3 * near[:, 2]).all()


class Walk:
    """`moves` with the methods of gymnasium."""

    def __init__(self):
        self.rng, self.resets, self.asked = np.random.default_rng(0), 0, []

    def reset(self, seed=None):
        self.state, self.age, self.resets = 3, 0, self.resets + 1
        return np.array([3.0], np.float32), {}

    def step(self, action):
        self.asked.append(action)
        self.age += 1
        right = action == 1 and self.rng.random() < 0.8
        self.state = self.state + 1 if right else max(self.state - 1, 0)
        ends = self.state == N
        return np.array([self.state], np.float32), 5.0, ends, not ends and self.age == 50, {}


def test_it_learns_beside_an_environment():
    env = Walk()
    model = estimator(actions=2, alpha=1e-3).learn(env, 1500, rounds=5, reward=lambda s, a, r, after, over: float(over))
    assert len(env.asked) == 1500
    assert all(type(action) is int for action in env.asked)
    np.testing.assert_array_equal(model.predict(EVERY), 1)
    found = model.collect(env, 200, epsilon=0.0)
    np.testing.assert_array_equal(found["actions"], 1)
    np.testing.assert_array_equal(found["rewards"], 5.0)
    over = found["terminated"] | found["truncated"]
    assert over[-1]
    np.testing.assert_array_equal(found["states"][1:][~over[:-1]], found["next_states"][:-1][~over[:-1]])
    assert (found["states"][1:][over[:-1]] == 3).all()
    half = model.collect(env, 400, epsilon=1.0)["actions"].mean()
    assert 0.4 < half < 0.6  # standard error 0.025
    with pytest.raises(ValueError, match="give actions"):
        estimator().learn(env, 10)
    with pytest.raises(ValueError, match="rounds=20 must be"):
        estimator(actions=2).learn(env, 10, rounds=20)


def test_it_is_an_estimator_that_is_saved(tmp_path):
    model = estimator()
    with pytest.raises(NotFittedError, match="Call 'fit' or 'learn' first"):
        model.q_values(EVERY)
    model.fit(moves())
    model.save(tmp_path / "policy.npz")
    for other in (load(tmp_path / "policy.npz"), pickle.loads(pickle.dumps(model)), clone(model).fit(moves())):
        np.testing.assert_array_equal(other.q_values(EVERY), model.q_values(EVERY))
        np.testing.assert_array_equal(other.actions_, model.actions_)
    with pytest.raises(ValueError, match="S has 2 features, but KernelLSPI is expecting 1"):
        model.q_values(np.zeros((3, 2)))


@pytest.mark.parametrize(("earned", "kept"), [([9, 1, 4, 2, 3], 1), ([9, 1, 2, 3, 3], 3), ([9, 4, 2, 3, 1], 0)])
def test_the_policy_that_earned_most_is_kept(monkeypatch, earned, kept):
    """The first round acts at random and has no policy; of equals the later one, which has seen more."""
    fits, fit, said = [], KernelLSPI._fit, iter(earned)

    def recorded(self, *given):
        fit(self, *given)
        fits.append(self.q_values(EVERY))

    monkeypatch.setattr(KernelLSPI, "_fit", recorded)
    monkeypatch.setattr(lspi, "mean_return", lambda parts, discount: next(said))
    model = estimator(actions=2, alpha=1e-2).learn(Walk(), 500, rounds=5)
    assert len(fits) == 4  # a last policy would never act
    np.testing.assert_array_equal(model.q_values(EVERY), fits[kept])


def test_what_a_round_earned_is_the_mean_of_its_episodes():
    r, no = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.zeros(5, bool)
    ends, last = np.array([0, 1, 0, 0, 0], bool), np.array([0, 0, 0, 0, 1], bool)
    parts = {"rewards": r, "terminated": ends, "truncated": last}
    assert lspi.mean_return(parts, 0.5) == 2.0  # 1 + 2/2; that which was cut is left out
    assert lspi.mean_return({**parts, "terminated": ends | last, "truncated": no}, 0.5) == (2 + 4 + 4 + 4) / 2
    assert lspi.mean_return({**parts, "terminated": no}, 1.0) == 31.0


# --- off-policy evaluation


def chances(p):
    return lambda S: np.tile([1 - p, p], (len(S), 1))


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_a_policy_is_evaluated_as_by_the_dense_equations(p):
    S, a, r, after, ends, cuts = moves()
    given = (S, a, r, after, ends, cuts)
    found = evaluate_policy(
        given, chances(p), kernel="rbf", gamma=1.0, action_gamma=None, alpha=1e-2, discount=GAMMA, random_state=0
    )
    elements = elements_of(found.model)
    w = oracles.dense_action_values(RBF, elements, S, a, r, after, ends, chances(p)(S), GAMMA, 1e-2)
    block = oracles.block_kernel(RBF)
    first = S[np.append(True, (ends | cuts)[:-1])]  # where episodes begin
    left, right = (block((first, np.full(len(first), b)), elements) @ w for b in (0, 1))
    assert found.value == pytest.approx(((1 - p) * left + p * right).mean(), abs=1e-9)
    assert found.interval is found.std is None


def test_a_policy_of_actions_is_one_of_probabilities():
    given = moves()
    ones = evaluate_policy(given, lambda S: np.ones(len(S), int), gamma=1.0, discount=GAMMA, random_state=0)
    assert ones.value == evaluate_policy(given, chances(1.0), gamma=1.0, discount=GAMMA, random_state=0).value
    best = estimator().fit(given)
    assert ones.value == evaluate_policy(given, best, gamma=1.0, discount=GAMMA, random_state=0).value


def test_intervals_contain_the_value_as_often_as_they_say():
    """40 sets of transitions; 90 % intervals contain the true value 36 times, with a deviation of 2."""
    V, _ = truth(0.5)
    hits = {"bootstrap": 0, "posterior": 0}
    for seed in range(40):
        given = moves(700, seed + 10)
        for interval in hits:
            found = evaluate_policy(
                given, chances(0.5), gamma=5.0, alpha=1e-3, discount=GAMMA, interval=interval, n_bootstrap=60,
                initial_states=[[3.0]], random_state=seed,
            )  # fmt: skip
            lower, upper = found.interval
            assert lower < found.value < upper
            assert found.std > 0
            hits[interval] += lower <= V[3] <= upper
    assert 31 <= hits["bootstrap"] <= 40
    assert hits["posterior"] >= 31


def test_the_posterior_of_a_mean_is_that_of_the_covariance():
    given = moves()
    starts = np.array([[2.0], [3.0], [3.5]])
    found = evaluate_policy(
        given, chances(1.0), gamma=1.0, discount=GAMMA, interval="posterior", initial_states=starts, random_state=0
    )
    values = found.model
    rows = np.hstack([starts, np.zeros((3, 1)), np.ones((3, 1))])
    each = values.predict(rows, return_std=True)[1]
    assert found.std <= each.mean() + 1e-12  # by Cauchy and Schwarz, with equality for one state
    one = evaluate_policy(
        given, chances(1.0), gamma=1.0, discount=GAMMA, interval="posterior", initial_states=starts[:1], random_state=0
    )
    assert one.std == pytest.approx(each[0], rel=1e-9)
    quantile = 1.6448536269514722
    assert one.interval == pytest.approx((one.value - quantile * one.std, one.value + quantile * one.std))


# --- bad input


def changed(**parts):
    S, a, r, after, ends, cuts = moves(20)
    whole = {"states": S, "actions": a, "rewards": r, "next_states": after, "terminated": ends, "truncated": cuts}
    return {**whole, **parts}


BAD = {
    "no next states": (changed(next_states=None), "transitions lack 'next_states'"),
    "shapes": (changed(next_states=np.zeros((19, 1))), r"states have shape \(20, 1\) but next_states \(19, 1\)"),
    "rewards": (changed(rewards=np.zeros(3)), r"rewards have shape \(3,\), expected \(20,\)"),
    "NaN reward": (changed(rewards=np.where(np.arange(20) == 7, np.nan, 0)), "rewards contains NaN in transition 7"),
    "undeclared": (changed(actions=np.where(np.arange(20) == 5, 9, 0)), "action 9 in transition 5 was never declared"),
    "too few actions": (changed(actions=np.zeros(3, int)), "3 actions for 20 states"),
    "terminated": (changed(terminated=np.full(20, 2)), "terminated holds .*give True or 1"),
    "another part": ({**changed(), "importance": np.ones(20)}, "transitions hold 'importance'"),
    "short tuple": (moves(20)[:3], "a tuple of 3"),
    "no arrays": ("moves", "transitions are a str"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_transitions_are_named_and_change_nothing(case):
    given, message = BAD[case]
    model = estimator(actions=2).fit(moves(300))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.fit(given)
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=message):
        evaluate_policy(given, chances(0.5), actions=2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discount": 1.5}, "discount"),
        ({"kernel": "polynomial"}, "kernel"),
        ({"alpha": 0.0}, "alpha"),
        ({"actions": [0, 0]}, "each action once"),
        ({"epsilon": 2.0}, "epsilon"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(moves(50))


@pytest.mark.parametrize(
    ("policy", "more", "message"),
    [
        (lambda S: np.full((len(S), 2), 0.7), {}, "policy returned .* for state 0: probabilities add to 1"),
        (lambda S: np.ones((len(S), 3)), {}, "expected .* a probability for each action"),
        (lambda S: np.ones(3, int), {}, "policy returned 3 actions"),
        (lambda S: np.full(len(S), 4), {}, "action 4 in transition 0 was never declared"),
        (chances(0.5), {"interval": "normal"}, "interval='normal' must be"),
        (chances(0.5), {"coverage": 1.5}, "coverage"),
        (chances(0.5), {"interval": "bootstrap", "n_bootstrap": 1}, "n_bootstrap=1 must be 2 or more"),
        (chances(0.5), {"initial_states": np.zeros((2, 3))}, "initial_states have 3 features"),
        (chances(0.5), {"discount": -0.1}, "discount"),
    ],
)
def test_bad_policies_and_questions_are_named(policy, more, message):
    with pytest.raises(ValueError, match=message):
        evaluate_policy(moves(60), policy, **more)
