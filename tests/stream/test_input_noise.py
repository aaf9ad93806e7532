"""Noise of streams that depends on the input: against its definition, and what intervals contain where it is large."""

from __future__ import annotations

import pickle

import kernsift
import numpy as np
import oracles
import pytest
from kernsift import OnlineLSSVMRegressor
from oracles.input_noise import InputNoise
from oracles.memories import Memories
from support.streams import KERNEL, core, stream, through_a_file

# C is off by eps times the prior, 10 at most, and a dictionary of novelty 0.05 has a condition of 1e4 at most: 1e-16 *
# 10 * 1e4 in double, in the core and in the oracle; errors are squared and e^-g is up to 400, for which a thousand.
SAME = 1e-8
FORMS = ["auto", "input"]


def uneven(n, seed=0, outputs=1, weights=True):
    rng = np.random.default_rng(seed)
    X, Y, v = stream(n, rng, outputs=outputs, weights=weights)
    X[:, 0] += np.sin(np.arange(n) / 80)
    return X, Y + 0.5 * (X[:, :1] > 0) * rng.standard_normal(Y.shape), v


def definition(form, outputs, linear, constant=True, factors=(1.0, 0.98), kernel=KERNEL):
    scale = [0.5, 0.5] if linear else []
    noise = InputNoise(int(constant) + len(scale), outputs)
    parts = {"scale": scale, "centre": np.zeros(2), "noise": noise, "weigh": form == "input"}
    return Memories(kernel, 0.1, list(factors), 2, outputs, fit_intercept=constant, **parts)


def cored(form, outputs=1, linear=True, constant=True, factors=(1.0, 0.98), **more):
    settings = {"max_basis": 9, "novelty_tol": 0.05, "forgetting": list(factors), "noise": form, **more}
    scale = [0.5, 0.5] if linear else []
    return core(n_outputs=outputs, linear=scale, fit_intercept=constant, **settings)


def follow(truth, log, X, Y, v):
    for x, y, weight, outcome, victim in zip(X, Y, v, log[1], log[2], strict=True):
        swapped = outcome == oracles.SWAPPED
        truth.learn(x, y, weight, swapped or outcome == oracles.ADMITTED, int(victim) if swapped else None)


def assert_equal_noise(model, truth, at):
    np.testing.assert_allclose(model.predict(at), truth.predict(at), atol=SAME)
    np.testing.assert_allclose(model.variance(at), truth.variance(at), rtol=100 * SAME)
    gains = [truth.noise.gain(o) for o in range(model.n_outputs)]
    np.testing.assert_allclose(model.state()["noise_levels"][:, -1], gains, atol=100 * SAME)
    assert model.uneven_noise == [truth.weigh or gain > 0 for gain in gains]


@pytest.mark.parametrize("block", [1, 7, 400])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_BEYOND_B15_BEYOND_B16_the_noise_is_its_definition(form, outputs, linear, block):
    """Growth, swaps, weights of rows, blocks of any size, several outputs."""
    X, Y, v = uneven(300, outputs=outputs)
    model, truth = cored(form, outputs, linear), definition(form, outputs, linear)
    swaps = 0
    for first in range(0, 300, block):
        part = slice(first, first + block)
        log = model.learn(X[part], Y[part], v[part])
        swaps += (log[1] == oracles.SWAPPED).sum()
        follow(truth, log, X[part], Y[part], v[part])
        if block > 1 or first % 50 == 0:
            assert_equal_noise(model, truth, X[:20])
    assert swaps > 5
    levels = np.array([truth.noise.level(truth.of_noise(x)) for x in X[-100:]])
    assert np.ptp(levels, axis=0).min() > 1  # it says something


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cap", [26, 70])
def test_BEYOND_B15_on_the_first_of_many_kernels(form, cap):
    """Kernels that span log s² and others leave, and the next of those there are join, in blocks and row by row."""
    X, Y, v = uneven(240)
    narrow = {"name": "laplacian", "gamma": 2.0, "max_basis": cap}
    model = cored(form, linear=False, **narrow)
    truth = definition(form, 1, linear=False, kernel=oracles.kernel_function("laplacian", 2.0, dtype=np.float64))
    swaps = {True: 0, False: 0}
    for part in (slice(0, 40), *(slice(i, i + 1) for i in range(40, 180)), slice(180, 240)):
        before, spanning = model.indices.tolist(), len(model.state()["noise_theta"]) - 1
        log = model.learn(X[part], Y[part], v[part])
        if len(log[1]) == 1 and log[1][0] == oracles.SWAPPED:
            swaps[before.index(log[2][0]) < spanning] += 1
        follow(truth, log, X[part], Y[part], v[part])
        if part.start % 20 == 0:
            assert_equal_noise(model, truth, X[:20])
    assert len(model.state()["noise_theta"]) == 1 + max(20, -(-cap // 3))
    assert swaps[True] > 1
    assert swaps[False] > 1
    while len(truth.ids) > 15:  # the order matters: the next join in the place of those that leave
        model.prune(len(truth.ids) - 1)
        (gone,) = set(truth.ids) - set(model.indices.tolist())
        truth.drop(gone)
    assert_equal_noise(model, truth, X[:20])


@pytest.mark.parametrize("form", FORMS)
def test_BEYOND_B15_without_a_constant_and_pruned(form):
    X, Y, v = uneven(200, seed=1)
    model = cored(form, linear=False, constant=False, factors=[0.99])
    truth = definition(form, 1, linear=False, constant=False, factors=[0.99])
    follow(truth, model.learn(X, Y, v), X, Y, v)
    before = list(truth.ids)
    model.prune(5)
    for number in before:
        if number not in model.indices.tolist():
            truth.drop(number)
    assert_equal_noise(model, truth, X[:20])


@pytest.mark.parametrize("form", FORMS)
def test_a_second_pass_takes_weights_from_the_first_and_leaves_the_noise(form):
    X, Y, v = uneven(300, seed=2, outputs=2)
    model, truth = cored(form, 2), definition(form, 2, linear=True)
    follow(truth, model.learn(X, Y, v), X, Y, v)
    model.refit(X[:200], Y[:200], v[:200])
    truth.refit(X[:200], Y[:200], v[:200])
    assert_equal_noise(model, truth, X[:20])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_second_pass_of_many_rows_is_that_of_weighted_rows(threads):
    """As sums in parts: noise="input" is the model of constant noise with other weights of the rows."""
    X, Y, _ = uneven(6000, seed=3)
    settings = {"gamma": 0.5, "max_basis": 30, "forgetting": 1.0, "linear": False, "alpha": 0.1, "n_jobs": threads}
    model = OnlineLSSVMRegressor(noise="input", **settings).partial_fit(X[:500], Y[:500, 0])
    weights = np.array([_weight(model, x) for x in X])
    assert weights.max() > 2 * weights.min()
    plain = OnlineLSSVMRegressor(noise="constant", **settings)
    plain.__setstate__(pickle.loads(pickle.dumps(model)).__getstate__())
    plain._core = core(**{**_settings_of(model), "noise": "constant"})
    state = model._core.state()
    plain._core.restore({name: value for name, value in state.items() if not name.startswith("noise_")})
    plain.set_params(noise="constant")
    plain._begun_with = {**plain._begun_with, "noise": "constant"}
    model.refit(X, Y[:, 0])
    plain.refit(X, Y[:, 0], sample_weight=weights)
    np.testing.assert_allclose(model.predict(X[:50]), plain.predict(X[:50]), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.noise_variance_, plain.noise_variance_, rtol=1e-8)


def _settings_of(model):
    return {name: value for name, value in model._core.settings.items() if name != "alpha"} | {"alpha": 0.1}


def _weight(model, x):
    """1/s² beside what it was lately."""
    state = model._core.state()
    k = model._core.kernel.matrix(model._core.basis, x[None])[:, 0]
    w, theta = np.r_[1.0, np.linalg.solve(np.tril(state["factor"]), k)], state["noise_theta"][:, 0]
    low, high, lately = state["noise_levels"][0, :3]
    return np.clip(np.exp(lately - np.clip(w[: len(theta)] @ theta, low, high)), 1 / 3, 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delay", [1, 9])
def test_late_targets_are_compared_with_what_was_said_when_their_rows_came(form, delay):
    X, Y, _ = uneven(160, seed=4, weights=False)
    settings = {"gamma": 0.5, "alpha": 0.1, "max_basis": None, "linear": False, "forgetting": [1.0, 0.98]}
    settings["error_forecast"] = False
    model = OnlineLSSVMRegressor(noise=form, **settings)
    found = model.prequential(X, Y[:, 0], coverage=0.9, return_std=True, delay=delay)
    truth, said = definition(form, 1, linear=False), []
    kernels = set(model.basis_indices_.tolist())
    for i in range(160 + delay):
        if i < 160:
            at = X[i : i + 1]
            members = truth.predictions(at)[:, 0] if i >= delay else np.zeros((2, 1))
            mean = truth.predict(at)[0] if i >= delay else np.zeros(1)
            h, apart = (truth._observation(X[i]), max(truth._distance(X[i]), 0.0))
            said.append((members, mean, truth._base(h, apart, 1.0) if i >= delay else np.zeros(1)))
            if i >= delay:
                np.testing.assert_allclose(found.std[i], truth.std(at)[0, 0], rtol=1e-6, atol=1e-12)
        if i >= delay:
            row = i - delay
            members, *before = said[row]
            truth.learn(X[row], Y[row], 1.0, row in kernels, None, predicted=members, said=tuple(before))
    assert_equal_noise(model._core, truth, X[:20])


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_resumes_to_the_last_bit(form):
    X, Y, _ = uneven(400, seed=5)
    y = Y[:, 0]
    model = OnlineLSSVMRegressor(noise=form, max_basis=30).partial_fit(X[:250], y[:250])
    for copy in (through_a_file(model), pickle.loads(pickle.dumps(model))):
        expected = pickle.loads(pickle.dumps(model)).prequential(X[250:], y[250:], coverage=0.8)
        found = copy.prequential(X[250:], y[250:], coverage=0.8)
        for part in ("y_pred", "lower", "upper"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
        assert copy.noise_ == "input"


@pytest.mark.parametrize("form", FORMS)
def test_features_and_outputs_that_come_later_were_zero_before(form):
    X, Y, v = uneven(200, seed=6, outputs=2)
    X[:120, 1] = 0.0
    Y[:120, 1] = 0.0
    # the first row is the centre of linear parts and the level of targets
    settings = {"max_basis": 12, "novelty_tol": 0.05, "forgetting": [1.0, 0.98], "noise": form}
    whole = core(n_outputs=2, linear=[0.5, 0.5], level=False, **settings)
    later = core(d=1, n_outputs=1, linear=[0.5], level=False, **settings)
    whole.learn(X[:120], Y[:120], v[:120])
    later.learn(np.ascontiguousarray(X[:120, :1]), np.ascontiguousarray(Y[:120, :1]), v[:120])
    later = later.add_features(np.array([0.5])).add_outputs(1)
    if form == "auto":  # the weight of a row is of all outputs, one of which was not there
        np.testing.assert_allclose(later.variance(X), whole.variance(X), rtol=1e-9, atol=1e-12)
    for model in (whole, later):
        model.learn(X[120:], Y[120:], v[120:])
    assert np.isfinite(later.variance(X)).all()
    if form == "auto":
        np.testing.assert_allclose(later.predict(X), whole.predict(X), atol=1e-9)
        np.testing.assert_allclose(later.variance(X), whole.variance(X), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("window", [None, 80])
def test_covariances_and_deviations_agree(window):
    X, Y, _ = uneven(300, seed=7, outputs=2)
    settings = {"window": window, "forgetting": 1.0, "linear": False} if window else {}
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20, noise="input", **settings).partial_fit(X, Y)
    std, cov = (model.predict(X[:30], **{how: True})[1] for how in ("return_std", "return_cov"))
    for o in range(2):
        np.testing.assert_allclose(np.sqrt(np.diag(cov[:, :, o])), std[:, o], rtol=1e-9)
        assert np.linalg.eigvalsh(cov[:, :, o]).min() > 0
    assert np.abs(std[:, 0] / std[:, 1] - std[0, 0] / std[0, 1]).max() > 1e-3


def toy(name, n, seed):
    rng = np.random.default_rng(seed)
    X, e = rng.uniform(-3, 3, (n, 1)), rng.standard_normal(n)
    if name == "step":
        return X, np.sin(X[:, 0]) + (0.05 + 0.3 * (X[:, 0] > 0)) * e, X[:, 0]
    if name == "parabola":
        return X, np.sin(2 * X[:, 0]) + (0.05 + 0.08 * X[:, 0] ** 2) * e, X[:, 0]
    if name == "jump":  # of the mean, halfway
        moved = np.arange(n) > n // 2
        return X, np.sin(2 * X[:, 0] + 2 * moved) + (0.05 + 0.08 * X[:, 0] ** 2) * e, X[:, 0]
    X = rng.uniform(-1, 1, (n, 4))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + np.exp(1.2 * X[:, 2] - 1.5) * e, X[:, 2]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["step", "parabola", "jump", "four columns"])
def test_the_worst_fifth_of_the_inputs_is_covered_by_intervals_no_wider(name, form):
    worst, width = {"constant": [], form: []}, {"constant": [], form: []}
    for seed in range(4):
        X, y, place = toy(name, 4000, seed)
        fifth = np.argsort(np.argsort(place[500:])) // 700
        for noise in worst:
            found = OnlineLSSVMRegressor(max_basis=60, noise=noise).prequential(X, y, coverage=0.9)
            inside = (found.lower <= y) & (y <= found.upper)
            worst[noise].append(min(inside[500:][fifth == k].mean() for k in range(5)))
            width[noise].append(np.mean((found.upper - found.lower)[500:]))
            inside = inside[200:]
            assert 0.89 < inside.mean() < 0.91
            assert all(0.87 < quarter.mean() < 0.93 for quarter in np.array_split(inside, 4))
            rolling = np.convolve(inside, np.full(1000, 1e-3), "valid")
            assert 0.85 < rolling.min() <= rolling.max() < 0.95
    assert np.mean(worst["constant"]) < 0.82
    # of four times 700 rows a part of .88 has a standard error of .006
    assert np.mean(worst[form]) > 0.86 - 0.006
    assert np.mean(width[form]) < np.mean(width["constant"])


def test_auto_is_the_model_of_constant_noise_where_noise_is_constant():
    rng = np.random.default_rng(9)
    X = rng.uniform(-2, 2, (3000, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.standard_normal(3000)
    expected = OnlineLSSVMRegressor(max_basis=40, noise="constant").prequential(X, y, coverage=0.9)
    model = OnlineLSSVMRegressor(max_basis=40)
    found = model.prequential(X, y, coverage=0.9)
    np.testing.assert_array_equal(found.y_pred, expected.y_pred)  # predictions do not depend on it
    assert np.mean(found.upper[1000:] == expected.upper[1000:]) > 0.9
    assert model.noise_ == "constant"


def test_weights_lower_the_error_of_the_mean_where_noise_is_uneven():
    errors = {}
    for noise in ("constant", "input"):
        found = []
        for seed in range(3):
            X, y, _ = toy("four columns", 2000, seed)
            truth = X[:, 0] + np.sin(3 * X[:, 1])
            off = OnlineLSSVMRegressor(max_basis=60, noise=noise).prequential(X, y).y_pred - truth
            found.append(np.sqrt(np.mean(off[500:] ** 2)))
        errors[noise] = np.mean(found)
    assert errors["input"] < 0.95 * errors["constant"]


@pytest.mark.parametrize("form", FORMS)
def test_targets_without_noise_or_information(form):
    rng = np.random.default_rng(10)
    X = rng.uniform(-2, 2, (300, 2))
    for y in (np.zeros(300), np.ones(300), np.sin(X[:, 0]), 1e90 * np.sin(X[:, 0]), np.r_[np.zeros(299), 1e60]):
        model = OnlineLSSVMRegressor(max_basis=20, noise=form).partial_fit(X, y)
        mean, std = model.predict(X, return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (std >= 0).all()
        assert model.health()["sound"]


def test_what_it_cannot_be_used_with_is_named():
    X, Y, _ = uneven(50, weights=False)
    for settings, complaint in (
        ({"noise": "input", "engine": "inverse"}, "noise='input'.*engine"),
        ({"noise": "input", "alpha": 0.0, "forgetting": 1.0, "linear": False}, "noise='input'.*alpha > 0"),
        ({"noise": "seen"}, "noise"),
    ):
        with pytest.raises(ValueError, match=complaint):
            OnlineLSSVMRegressor(**settings).partial_fit(X, Y[:, 0])
    model = OnlineLSSVMRegressor(noise="auto").partial_fit(X, Y[:, 0])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="noise"):
        model.set_params(noise="constant").partial_fit(X, Y[:, 0])
    assert pickle.dumps(model.set_params(noise="auto")) == before


@pytest.mark.parametrize("form", ["constant", "auto", "input"])
def test_arrays_of_a_stream_grow_by_what_the_docs_say(form):
    """docs/develop/memory.md: 24 m² bytes for the first third of the kernels, or 20, and those of a linear part."""
    X, Y, _ = uneven(400)
    model = OnlineLSSVMRegressor(gamma=3.0, max_basis=60, noise=form).partial_fit(X, Y[:, 0])
    own = sum(value.nbytes for name, value in model._core.state().items() if name.startswith("noise_"))
    m = max(20, -(-model.n_basis_ // 3)) + 3
    assert own <= 24 * m**2
    assert (own > 0) == (form != "constant")


def test_river_and_the_file_of_its_model(tmp_path):
    pytest.importorskip("river")
    from kernsift import river

    X, Y, _ = uneven(300, weights=False)
    model = river.OnlineLSSVMRegressor(noise="auto", max_basis=30)
    for x, y in zip(X, Y[:, 0], strict=True):
        model.learn_one({"a": x[0], "b": x[1]}, y)
    wide, narrow = (model.predict_one({"a": a, "b": 0.0}, with_interval=True).width for a in (1.5, -1.5))
    assert wide > 1.5 * narrow
    model.save(tmp_path / "model.npz")
    again = kernsift.load(tmp_path / "model.npz")
    assert again.predict_one({"a": 1.5, "b": 0.0}, with_interval=True).width == wide


def test_a_question_changes_nothing_of_what_is_learned():
    X, Y, v = uneven(400, outputs=2)
    asked, silent = (OnlineLSSVMRegressor(gamma=0.5, max_basis=30) for _ in range(2))
    for first in range(0, 400, 50):
        part = slice(first, first + 50)
        for model in (asked, silent):
            model.partial_fit(X[part], Y[part], v[part])
        asked.predict_interval(X[:5])
        asked.predict(X[:5], return_std=True)
        asked.sample_y(X[:5], 2, random_state=0)
        asked.predict_interval_one(X[0])
    assert asked.noise_ == "input"
    for name, value in asked._core.state().items():
        np.testing.assert_array_equal(value, silent._core.state()[name], err_msg=name)


def test_predictions_are_those_of_constant_noise():
    X, y, _ = toy("step", 1000, 3)
    auto, constant = (
        OnlineLSSVMRegressor(max_basis=30, **how).partial_fit(X, y) for how in ({}, {"noise": "constant"})
    )
    assert auto.noise_ == "input"
    np.testing.assert_array_equal(auto.predict(X), constant.predict(X))
    assert auto.predict_one(X[0]) == constant.predict_one(X[0])


@pytest.mark.parametrize("how", [{"alpha": 0.0, "forgetting": 1.0, "linear": False}, {"engine": "inverse"}], ids=str)
def test_models_without_standard_deviations_or_beyond_the_papers_have_constant_noise(how):
    X, Y, _ = uneven(100, weights=False)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20, **how).partial_fit(X, Y[:, 0])
    assert model.noise_ == "constant"
    assert model.get_params()["noise"] == "auto"
    assert not [name for name in model._core.state() if name.startswith("noise_")]


@pytest.mark.parametrize("name", ["step", "parabola", "four columns"])
def test_intervals_after_fit_follow_the_noise_too(name):
    """Default against constant noise on 3,000 new rows: a fifth of them has a standard error of .012."""
    worst, width = {}, {}
    for noise in ("constant", "auto"):
        X, y, place = toy(name, 5000, 11)
        model = OnlineLSSVMRegressor(max_basis=60, noise=noise).fit(X[:2000], y[:2000])
        lower, upper = model.predict_interval(X[2000:])
        inside = (lower <= y[2000:]) & (y[2000:] <= upper)
        fifth = np.argsort(np.argsort(place[2000:])) // 600
        worst[noise], width[noise] = min(inside[fifth == k].mean() for k in range(5)), np.mean(upper - lower)
    assert worst["constant"] < 0.82
    assert worst["auto"] > 0.86 - 0.024
    assert width["auto"] < width["constant"]
