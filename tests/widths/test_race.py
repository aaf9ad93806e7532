"""kernel="auto" and max_basis="auto": what is tried, on which rows, and what it costs."""

from __future__ import annotations

import pickle
import time
import warnings

import kernsift
import numpy as np
import pytest
from kernsift import (
    KernelRegressor,
    LSSVMRegressor,
    OROLSRegressor,
    SparseLSSVMRegressor,
    SubsetLSSVMClassifier,
    SubsetLSSVMRegressor,
)
from kernsift.base.targets import Rows
from kernsift.widths import race
from kernsift.widths.race import KERNELS
from kernsift.widths.splits import splits

REGRESSORS = [
    SubsetLSSVMRegressor(max_basis=30, random_state=0),
    LSSVMRegressor(),
    SparseLSSVMRegressor(max_basis=30),
    OROLSRegressor(max_basis=30),
]


def smooth(rng, n=240):
    X = rng.uniform(-2, 2, (n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(n)


def rough(rng, n=240):
    X = rng.uniform(-2, 2, (n, 3))
    return X, (X[:, 0] > 0.3) * 2.0 + (X[:, 1] > -0.5) + 0.05 * rng.standard_normal(n)


def test_a_race_of_warps_ends_with_a_warp(rng):
    X, y = smooth(rng, 700)
    X[:, 0] = np.exp(3 * X[:, 0])  # what was even along the first column is crowded at one end
    pairs = [(np.arange(500), np.arange(500, 700))]
    model = SubsetLSSVMRegressor(kernel="auto", gamma="warp", max_basis=60, validation=pairs, random_state=0).fit(X, y)
    assert isinstance(model.gamma_, kernsift.Warp)
    assert model.search_[0]["gamma"] == "warp"
    widths = model.set_params(gamma="learn").fit(X, y)
    assert isinstance(widths.gamma_, kernsift.Warp)  # the best kernel is tried warped too
    assert {line["gamma"] for line in widths.search_} == {"learn", "warp"}
    assert isinstance(model.set_params(kernel=widths.kernel_).fit(X, y).gamma_, np.ndarray)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_the_errors_are_those_of_models_fitted_without_the_rows_held_out(rng, model):
    """The definition, by public names: each kernel alone, fitted to one part and judged on the other."""
    X, y = smooth(rng)
    order = rng.permutation(len(X))
    pairs = [(order[:150], order[150:]), (order[100:], order[:100])]
    model.set_params(kernel="auto", gamma="standard", validation=pairs).fit(X, y)
    assert len(model.search_) == 3
    for line in model.search_[:1] + [entry for entry in model.search_ if entry["splits"] == 2]:
        alone = type(model)(**{**model.get_params(), "kernel": line["kernel"]})
        squares = [(alone.fit(X[a], y[a]).predict(X[b]) - y[b]) ** 2 for a, b in pairs]
        assert line["error"] == pytest.approx(np.sqrt(np.concatenate(squares).mean()), rel=1e-9)
    assert model.search_[0]["chosen"]
    assert model.kernel_ == model.search_[0]["kernel"]
    complete = [entry["error"] for entry in model.search_ if entry["splits"] == 2]
    assert model.search_[0]["error"] == min(complete)
    named = type(model)(**{**model.get_params(), "kernel": model.kernel_}).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), model.predict(X))


def test_smooth_targets_want_smooth_kernels_and_steps_do_not(rng):
    model = SubsetLSSVMRegressor(kernel="auto", gamma="learn", max_basis=60, random_state=0)
    assert model.fit(*smooth(rng)).kernel_ == "rbf"
    assert model.fit(*rough(rng)).kernel_ == "laplacian"
    assert {line["kernel"] for line in model.search_} == set(KERNELS)
    assert {line["gamma"] for line in model.search_} == {"learn", "warp"}
    assert model.learned_gamma_["relevance"].shape == (3,)


def test_above_2500_rows_the_worst_are_dropped_after_a_short_search(rng):
    X, y = rough(rng, 3000)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="learn", max_basis=60, random_state=0).fit(X, y)
    stages = {line["kernel"]: line["stage"] for line in model.search_}
    assert model.kernel_ == "laplacian"
    assert stages["laplacian"] == "full"
    assert "short" in stages.values()
    assert all(line["splits"] == 1 and line["seconds"] > 0 for line in model.search_)
    assert all(np.isfinite([line["error"], line["standard_error"]]).all() for line in model.search_)


def curved(rng, n=600):
    """Steps in one column, and tails: what curves are for."""
    X = rng.uniform(-2, 2, (n, 3))
    return X, np.sign(X[:, 0]) + np.floor(2 * X[:, 1]) + 0.1 * rng.standard_normal(n)


def test_the_best_kernel_is_tried_warped_and_must_win_by_a_standard_error(rng):
    X, y = curved(rng)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="learn", max_basis=40, random_state=0).fit(X, y)
    warped = [line for line in model.search_ if line["gamma"] == "warp"]
    plain = next(line for line in model.search_ if line["gamma"] == "learn")
    assert len(warped) == 1
    assert warped[0]["kernel"] == plain["kernel"] == model.kernel_
    assert warped[0]["chosen"]
    assert warped[0]["error"] < plain["error"]
    assert isinstance(model.gamma_, kernsift.Warp)
    test_X, test_y = curved(rng, 2000)
    without = SubsetLSSVMRegressor(kernel=model.kernel_, gamma="learn", max_basis=40, random_state=0).fit(X, y)
    assert np.mean((model.predict(test_X) - test_y) ** 2) < np.mean((without.predict(test_X) - test_y) ** 2)
    assert "warped" in KernelRegressor(random_state=0, settings={"max_basis": 40}).fit(X, y).report()


@pytest.mark.parametrize("settings", [{"gamma": "standard"}, {"kernel": "rbf"}, {"gamma": "learn", "polish": 2}])
def test_nothing_is_warped_where_widths_are_not_learned_or_the_kernel_is_named(settings, rng):
    X, y = curved(rng, 300)
    how = {"kernel": "auto", "gamma": "learn", "max_basis": 20, "random_state": 0} | settings
    model = SubsetLSSVMRegressor(**how).fit(X, y)
    assert all(line["gamma"] != "warp" for line in getattr(model, "search_", []))


def test_where_no_curve_is_better_nothing_is_fitted_again(rng, monkeypatch):
    X = rng.uniform(-2, 2, (500, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(500)
    pairs = [(np.arange(400), np.arange(400, 500))]
    model = SubsetLSSVMRegressor(kernel="auto", gamma="learn", max_basis=20, random_state=0, validation=pairs)
    models = []
    fitted = race._Race.fitted
    monkeypatch.setattr(race._Race, "fitted", lambda self, *how: models.append(how[1]) or fitted(self, *how))
    learn = race._Race.learn
    plain = {}

    def widths_only(self, e, *how, **more):
        if e.candidate.gamma != "warp":
            plain[e.candidate.kernel] = learn(self, e, *how, **more)
        return plain[e.candidate.kernel]

    monkeypatch.setattr(race._Race, "learn", widths_only)
    model.fit(X, y)
    warped = next(line for line in model.search_ if line["gamma"] == "warp")
    same = next(line for line in model.search_ if line["gamma"] == "learn" and line["kernel"] == warped["kernel"])
    assert not warped["chosen"]
    assert (warped["error"], warped["standard_error"]) == (same["error"], same["standard_error"])
    assert len(models) == 3  # one a kernel


def test_noise_is_not_warped(rng):
    X = rng.uniform(-2, 2, (400, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(400)
    plain = SubsetLSSVMRegressor(kernel="auto", gamma="learn", max_basis=20, random_state=0).fit(X, y)
    (warped,) = [line for line in plain.search_ if line["gamma"] == "warp"]
    assert not warped["chosen"]
    assert not isinstance(plain.gamma_, kernsift.Warp)


def test_classes_are_judged_by_labels_missed_and_ties_by_squared_errors(rng):
    X, y = rough(rng, 300)
    pair = [(np.arange(200), np.arange(200, 300))]
    model = SubsetLSSVMClassifier(kernel="auto", gamma=0.5, max_basis=20, random_state=0, validation=pair)
    model.fit(X, y > 1)
    found = {}
    for kernel in KERNELS:
        alone = SubsetLSSVMClassifier(kernel=kernel, gamma=0.5, max_basis=20, random_state=0).fit(X[:200], y[:200] > 1)
        missed = np.mean(alone.predict(X[200:]) != (y[200:] > 1))
        squared = np.mean((np.where(y[200:] > 1, 1, -1) - alone.decision_function(X[200:])) ** 2)
        found[kernel] = (missed, squared)
    assert model.kernel_ == min(found, key=found.get)
    for line in model.search_:
        assert line["error"] == pytest.approx(found[line["kernel"]][0])


@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_the_size_is_where_doubling_stops_to_pay(rng, kernel):
    X = rng.uniform(-3, 3, (700, 1))
    few = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(700)
    model = SubsetLSSVMRegressor(kernel=kernel, gamma="standard", max_basis="auto", random_state=0).fit(X, few)
    sizes, errors = model.path_["n_basis"], model.path_["error"]
    assert model.n_basis_ <= sizes[0]  # fewer where the rows span less
    assert (errors[1:] >= 0.98 * errors[0]).all()
    # 1,400 bumps of width .02: every kernel counts
    X = rng.uniform(0, 1, (2600, 1))
    many = np.sin(700 * X[:, 0])
    wide = SubsetLSSVMRegressor(kernel=kernel, gamma=2e5, max_basis="auto", max_basis_limit=1000, random_state=0)
    wide.fit(X, many)
    assert wide.path_["n_basis"][-1] == 1000
    assert wide.n_basis_ > 500
    assert wide.path_["error"][-1] < 0.5 * wide.path_["error"][0]


def test_the_path_holds_errors_of_models_of_these_sizes(rng):
    X, y = smooth(rng, 400)
    pair = [(np.arange(300), np.arange(300, 400))]
    model = SubsetLSSVMRegressor(gamma=0.5, max_basis="auto", max_basis_limit=200, random_state=0, validation=pair)
    model.fit(X, y)
    whole = SubsetLSSVMRegressor(gamma=0.5, max_basis=200, random_state=0).fit(X[:300], y[:300])
    for n, error in zip(model.path_["n_basis"], model.path_["error"], strict=True):
        assert error == pytest.approx(np.mean((whole.resize(int(n)).predict(X[300:]) - y[300:]) ** 2), rel=1e-6)


# --- which rows are held out ---


def rows_of(X, weight=None):
    return Rows(X, np.zeros((len(X), 1)), np.ones(len(X)) if weight is None else weight)


def test_random_parts_hold_every_row_out_once_and_keep_repetitions_together(rng):
    X = rng.standard_normal((50, 2)).repeat(3, axis=0)
    found = splits("random", rows_of(X), 0, False)
    assert len(found) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([s.test for s in found])), np.arange(150))
    for train, test in found:
        assert not {tuple(x) for x in X[train]} & {tuple(x) for x in X[test]}
    shuffled = rng.permutation(150)
    again = splits("random", rows_of(X[shuffled]), 0, False)
    for one, other in zip(found, again, strict=True):  # whatever the order of the rows
        assert {tuple(x) for x in X[one.test]} == {tuple(x) for x in X[shuffled][other.test]}
    many = splits("random", rows_of(rng.standard_normal((3000, 2))), 0, True)
    assert [len(part) for part in many[0]] == [2400, 600]
    assert len(many) == 1


def test_time_holds_the_last_fifth_out_and_groups_stay_whole(rng):
    X = rng.standard_normal((100, 2))
    weight = np.ones(100)
    weight[:50] = 0
    [(train, test)] = splits("time", rows_of(X, weight), 0, False)
    np.testing.assert_array_equal(train, np.arange(50, 90))
    np.testing.assert_array_equal(test, np.arange(90, 100))
    groups = np.repeat(list("abcdefg"), [20, 10, 10, 20, 10, 20, 10])
    parts = splits(groups, rows_of(X), 0, False)
    assert len(parts) == 5
    for train, test in parts:
        assert not set(groups[train]) & set(groups[test])


def test_the_last_fifth_decides_for_rows_in_order(rng):
    """A walk: neighbours say nearly all at random, and nothing of what comes."""
    t = np.arange(400.0)
    X = np.column_stack([t, rng.standard_normal(400)])
    y = np.sin(t / 8) + X[:, 1] + 0.1 * rng.standard_normal(400)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="standard", max_basis=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordered = model.set_params(validation="time").fit(X, y).search_[0]["error"]
    with pytest.warns(UserWarning, match=r"the rows look ordered: .* correlation of 0\.\d\d"):
        at_random = model.set_params(validation="random").fit(X, y).search_[0]["error"]
    assert ordered > at_random
    with warnings.catch_warnings():  # in another order there is nothing to say
        warnings.simplefilter("error")
        shuffled = rng.permutation(400)
        model.fit(X[shuffled], y[shuffled])


# --- what stays as it is elsewhere ---


def test_the_choice_does_not_depend_on_the_order_of_the_rows(rng):
    X, y = smooth(rng, 200)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="learn", max_basis="auto", random_state=0)
    here = model.fit(X, y).predict(X)
    order = rng.permutation(200)
    np.testing.assert_array_equal(model.fit(X[order], y[order]).predict(X), here)


@pytest.mark.parametrize("gamma", ["learn", "standard"])
def test_the_units_of_the_columns_change_nothing(rng, gamma):
    X, y = rough(rng, 200)
    units = 10.0 ** np.array([6, -6, 2])
    model = SubsetLSSVMRegressor(kernel="auto", gamma=gamma, max_basis=40, random_state=0)
    here, there = model.fit(X, y).predict(X), model.fit(X * units, y).predict(X * units)
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-6)


def test_saved_and_pickled_models_keep_what_was_tried(rng, tmp_path):
    X, y = smooth(rng, 120)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="learn", max_basis="auto", random_state=0).fit(X, y)
    model.save(tmp_path / "model.npz")
    for again in (kernsift.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        assert again.search_ == model.search_
        assert again.kernel_ == model.kernel_
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        again.partial_fit(X[:5], y[:5])
        assert again.n_samples_seen_ == 125


def test_streams_of_blocks_choose_on_the_first(rng):
    X, y = rough(rng, 300)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="standard", max_basis=30, random_state=0)
    chosen = model.fit(X[:200], y[:200]).kernel_
    assert model.partial_fit(X[200:], y[200:]).kernel_ == chosen
    parts = SubsetLSSVMRegressor(kernel="auto", gamma="standard", max_basis=30, random_state=0)
    assert parts.partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:]).kernel_ == chosen
    assert parts.select_basis(X[:200], y[:200]).merge(parts.accumulate(X, y)).kernel_ == chosen
    batches = parts.fit_batches([(X[:200], y[:200]), (X[200:], y[200:])])
    assert batches.kernel_ == chosen


# --- bad input ---


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ("tme", "validation"),
        (
            [(np.arange(10), np.array([300]))],
            r"validation\[0\] holds row 300 in its second part but X has",
        ),
        ([(np.arange(10), np.arange(5, 20))], r"validation\[0\] has row 5 in both parts"),
        ([(np.arange(10), np.array([], dtype=int))], "leaves 10 rows to learn from and 0 to judge on"),
        ([(np.arange(10.0), np.arange(10))], r"validation\[0\] holds float64 of shape \(10,\): give row numbers"),
        ([], "validation is empty|validation has 0 entries"),
        (np.zeros(240), "validation holds one group only"),
        (np.zeros(7), "validation has 7 entries and X has 240 rows"),
        ([1, 2, (3, 4)], "validation"),
    ],
)
def test_wrong_validation_says_what_is_wrong_and_changes_nothing(rng, validation, message):
    X, y = smooth(rng)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="standard", max_basis=10, random_state=0).fit(X, y)
    before = pickle.dumps(model)
    state = pickle.dumps(model.set_params(validation=validation))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert pickle.dumps(model) == state != before


def test_other_bad_input(rng):
    X, y = smooth(rng, 60)
    with pytest.raises(ValueError, match="did you mean 'laplacian'"):
        SubsetLSSVMRegressor(kernel="laplace").fit(X, y)
    with pytest.raises(ValueError, match="max_basis='auto' needs basis='pruned', got basis='efvs'"):
        SubsetLSSVMRegressor(max_basis="auto", basis="efvs").fit(X, y)
    with pytest.raises(ValueError, match="basis='pruned' looks at y"):
        SubsetLSSVMRegressor(kernel="auto").select_basis(X)
    with pytest.raises(ValueError, match="kernel='auto' looks at y"):
        SubsetLSSVMRegressor(kernel="auto", basis="efvs").select_basis(X)
    with pytest.raises(ValueError, match="name the kernel"):
        kernsift.tune(SubsetLSSVMRegressor(kernel="auto"), X, y)
    with pytest.warns(UserWarning, match="6 rows are too few to compare kernels on: 'rbf' was taken"):
        few = SubsetLSSVMRegressor(kernel="auto", max_basis=4).fit(X[:6], y[:6])
    assert few.kernel_ == "rbf"
    assert few.search_ == []
    smooth_only = SubsetLSSVMRegressor(kernel="auto", gamma="standard", max_basis=8, polish=2, random_state=0)
    assert {line["kernel"] for line in smooth_only.fit(X, y).search_} == {"rbf", "matern32"}


def test_a_moment_that_has_passed_leaves_the_first_candidate(rng):
    X, y = rough(rng)
    model = SubsetLSSVMRegressor(kernel="auto", gamma="standard", max_basis=20, random_state=0)
    model._until = time.perf_counter()
    with pytest.warns(UserWarning, match="time_budget ended before 'laplacian', 'matern32' could be tried"):
        model.fit(X, y)
    assert model.kernel_ == "rbf"
    assert [line["stage"] for line in model.search_] == ["full", "not tried", "not tried"]
