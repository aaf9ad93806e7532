"""Memories that compete on one dictionary: against beliefs about the function's values, and for what they promise."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import oracles
import pytest
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor
from kernsift.stream.parameters import MEMORIES
from support.memories import SAME, assert_equal_beliefs, learned, moving, oracle_of
from support.streams import KERNEL, KERNELS, PLAIN, core, through_a_file

BANKS = {
    "one that fades": [0.98],
    "two": [1.0, 0.9],
    "three": [1.0, 0.9995, 0.99],
    "short ones": [0.9, 0.5, 1e-3],
    "equal ones": [0.99, 0.99],
}


@pytest.mark.parametrize("block", [1, 7, 64, 500])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("bank", BANKS)
def test_BEYOND_B7_BEYOND_B8_BEYOND_B9_a_bank_is_its_beliefs(bank, linear, block):
    """Growth, swaps, weights of rows, blocks of any size, two outputs."""
    X, Y, v = moving(500, outputs=2)
    more = {"linear": [0.5, 0.3]} if linear else {}
    model = core(n_outputs=2, max_basis=9, novelty_tol=0.05, forgetting=BANKS[bank], **more)
    log = learned(model, X, Y, v, block)
    assert (log[1] == oracles.SWAPPED).sum() > 5
    truth = oracle_of(model, X, log, Y, v)
    np.testing.assert_allclose(log[0][1:], apriori_of(model, X, log, Y, v), atol=100 * SAME)
    assert_equal_beliefs(model, truth, X[-40:])


def apriori_of(model, X, log, Y, v):
    """What the oracle predicts of each row but the first before that row is learned."""
    truth = oracle_of(model, X[:1], [part[:1] for part in log], Y[:1], v[:1])
    found = []
    for i in range(1, len(X)):
        found.append(truth.predict(X[i : i + 1])[0])
        swapped = log[1][i] == oracles.SWAPPED
        grew = swapped or log[1][i] == oracles.ADMITTED
        truth.learn(X[i], Y[i], v[i], grew, int(log[2][i]) if swapped else None)
    return np.array(found)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("admission", ["product", "two-part", "per-sample", "novelty"])
@pytest.mark.parametrize("max_basis", [0, 6])
def test_BEYOND_B7_every_rule_with_and_without_constant_and_cap(max_basis, admission, linear, fit_intercept):
    X, Y, v = moving(300, seed=1)
    settings = {"fit_intercept": fit_intercept, "linear": [0.6, 0.6] if linear else []}
    model = core(
        max_basis=max_basis, admission=admission, novelty_tol=0.05, forgetting=[1.0, 0.99, 0.7], alpha=0.5, **settings
    )
    log = learned(model, X, Y, v, 50)
    assert_equal_beliefs(model, oracle_of(model, X, log, Y, v), X[:40])


@pytest.mark.parametrize("name", KERNELS)
def test_BEYOND_B9_a_bank_of_every_kernel(name):
    X, Y, v = moving(200, seed=2)
    # of rows with a k(x, x) of 1e4 the prior is as much larger
    same = 1e3 * SAME if name == "polynomial" else SAME
    tol = 0.2 if name == "laplacian" else 0.05
    settings = {"gamma": KERNELS[name], "novelty_tol": tol, "admission": "novelty", "max_basis": 8}
    model = core(name=name, forgetting=[1.0, 0.95], linear=[0.5, 0.5], **settings)
    log = learned(model, X, Y, v, 33)
    assert_equal_beliefs(model, oracle_of(model, X, log, Y, v, name), X[:30], same)


@pytest.mark.parametrize("gone", [1, 3, 6])
def test_BEYOND_B7_pruning_takes_from_every_memory(gone):
    X, Y, v = moving(300, seed=3)
    model = core(max_basis=8, novelty_tol=0.05, forgetting=[1.0, 0.98, 0.8], linear=[0.5, 0.5])
    log = learned(model, X, Y, v, 64)
    truth = oracle_of(model, X, log, Y, v)
    for _ in range(gone):  # what the memory that decides loses least by
        rises, before = truth.rises(), list(truth.ids)
        model.prune(len(before) - 1)
        (lost,) = set(before) - set(model.indices.tolist())
        assert rises[before.index(lost)] <= rises.min() * (1 + 1e-6)
        truth.drop(lost)
    assert_equal_beliefs(model, truth, X[:40])
    again = learned(model, X, Y, v, 64)  # and the stream goes on
    assert np.isfinite(again[0]).all()


@pytest.mark.parametrize("settings", [{}, {"linear": [0.5, 0.5]}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("bank", BANKS)
def test_BEYOND_B8_rows_cut_into_blocks_are_the_same_rows(bank, settings):
    """The same decisions, and predictions but for rounding, however the stream is cut."""
    X, Y, v = moving(900, seed=4)
    X[450:, 1] += 6.0  # the inputs leave the dictionary behind: another memory decides for a while
    make = lambda: core(max_basis=10, novelty_tol=0.05, forgetting=BANKS[bank], **settings)  # noqa: E731
    one = make()
    rows = learned(one, X, Y, v, 1)
    assert (rows[1] == oracles.SWAPPED).sum() > 10
    cuts = np.sort(np.random.default_rng(5).integers(0, 900, 25))
    for block in (2, 5, 63, 64, 65, 300, 900, "drawn"):
        other = make()
        bounds = [0, *cuts, 900] if block == "drawn" else [*range(0, 900, block), 900]
        parts = [other.learn(X[a:b], Y[a:b], v[a:b]) for a, b in pairwise(bounds)]
        log = [np.concatenate([part[k] for part in parts]) for k in range(3)]
        np.testing.assert_array_equal(log[1], rows[1])
        np.testing.assert_array_equal(log[2], rows[2])
        np.testing.assert_allclose(log[0], rows[0], atol=10 * SAME)
        np.testing.assert_allclose(other.predict(X), one.predict(X), atol=10 * SAME)
        np.testing.assert_allclose(other.memories[1], one.memories[1], atol=10 * SAME)


@pytest.mark.parametrize("verb", ["partial_fit", "update", "prequential"])
def test_BEYOND_B8_every_verb_is_the_same_stream(verb):
    X, Y, _ = moving(400, seed=6)
    whole = OnlineLSSVMRegressor(gamma=0.5, max_basis=12).partial_fit(X, Y[:, 0])
    other = OnlineLSSVMRegressor(gamma=0.5, max_basis=12)
    if verb == "partial_fit":
        for i in range(0, 400, 37):
            other.partial_fit(X[i : i + 37], Y[i : i + 37, 0])
    elif verb == "update":
        for x, y in zip(X, Y[:, 0], strict=True):
            other.update(x, y)
    else:
        other.prequential(X, Y[:, 0])
    np.testing.assert_array_equal(other.basis_indices_, whole.basis_indices_)
    np.testing.assert_allclose(other.predict(X), whole.predict(X), atol=10 * SAME)
    assert len(whole.experts_) == len(MEMORIES)


@pytest.mark.parametrize(
    "copy", [lambda model: pickle.loads(pickle.dumps(model)), through_a_file], ids=["pickle", "file"]
)
@pytest.mark.parametrize("at", [1, 2, 99, 100, 257, 600])
@pytest.mark.parametrize("kind", [OnlineLSSVMRegressor, OnlineLSSVMClassifier])
def test_a_bank_resumes_to_the_last_bit(kind, at, copy):
    """In the middle of any block, of the rows from which the width comes, and between two rebases."""
    X, Y, v = moving(900, seed=7)
    v = np.maximum(v, 0.1)
    y = Y[:, 0] if kind is OnlineLSSVMRegressor else Y[:, 0] > 1
    first = {"classes": [False, True]} if kind is OnlineLSSVMClassifier else {}
    model = kind(max_basis=12).partial_fit(X[:at], y[:at], sample_weight=v[:at], **first)
    again = copy(model)
    for each in (model, again):
        each.partial_fit(X[at:700], y[at:700], sample_weight=v[at:700])
        for i in range(700, 730):
            each.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=v[i : i + 1])
        each.prequential(X[730:], y[730:])
    ours, theirs = model._core.state(), again._core.state()
    assert ours.keys() == theirs.keys()
    assert not [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()]
    assert model.experts_ == again.experts_ or kind is OnlineLSSVMClassifier


@pytest.mark.parametrize("block", [1, 50, 400])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"max_basis": 0}, {"exact_rows": 30}], ids=str)
def test_a_bank_of_one_memory_of_one_is_the_plain_model_to_the_last_bit(settings, block):
    X, Y, v = moving(400, seed=8, outputs=2)
    models = [core(n_outputs=2, **{"max_basis": 9, **settings}, **bank) for bank in ({}, {"forgetting": [1.0]})]
    logs = [learned(model, X, Y, v, block) for model in models]
    for ours, theirs in zip(*logs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    ours, theirs = (model.state() for model in models)
    assert not [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()]
    assert ours["inverse_scale"] == 1
    assert ours["inverse_shift"] == 0
    X, y = X[:200], Y[:200]
    by_number = OnlineLSSVMRegressor(gamma=0.5, forgetting=1.0, linear=False).partial_fit(X, y)
    by_bank = OnlineLSSVMRegressor(gamma=0.5, forgetting=[1.0], linear=False).partial_fit(X, y)
    np.testing.assert_array_equal(by_number.predict(X), by_bank.predict(X))


@pytest.mark.parametrize(
    "settings", [{}, {"forgetting": 0.98}, {"linear": False}, PLAIN, {"forgetting": [1.0, 0.9]}], ids=str
)
def test_targets_in_another_unit_and_from_another_zero_are_predicted_in_those(settings):
    """1e6 added to targets leaves them 10 of the 16 digits, and the first one is subtracted again: 1e-10 of their size
    1, to which decisions and weights add some. A power of two changes no digit of a memory, and the last of the weights
    of several, which are sums of logarithms; another factor changes the last of all."""
    X, Y, _ = moving(600, seed=9)
    y = Y[:, 0]
    one, doubled, scaled, moved = (OnlineLSSVMRegressor(gamma=0.5, max_basis=15, **settings) for _ in range(4))
    one.partial_fit(X, y)
    expected, std = one.predict(X, return_std=True)
    several = len(one.experts_) > 1
    np.testing.assert_allclose(
        doubled.partial_fit(X, 1024 * y).predict(X), 1024 * expected, rtol=0, atol=1024 * SAME if several else 0
    )
    found, found_std = scaled.partial_fit(X, -3e4 * y).predict(X, return_std=True)
    np.testing.assert_allclose(found, -3e4 * expected, rtol=0, atol=3e4 * SAME)
    np.testing.assert_allclose(found_std, 3e4 * std, rtol=SAME)
    found, found_std = moved.partial_fit(X, y + 1e6).predict(X, return_std=True)
    for other in (doubled, scaled, moved):
        np.testing.assert_array_equal(other.basis_indices_, one.basis_indices_)
    np.testing.assert_allclose(found, expected + 1e6, rtol=1e-9)
    # and far better than that: what is lost of the targets is all that may be
    np.testing.assert_allclose(found - 1e6, expected, atol=1e-6)
    np.testing.assert_allclose(found_std, std, rtol=1e-6)


# --- for long ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.9995, 0.99, 0.5])
def test_BEYOND_B7_a_hundred_thousand_rows_with_churn_do_not_drift(factor):
    """The state against one in extended precision, kept by the definition: tests/soak/long_batch.cpp."""
    reference = pytest.importorskip("soak.reference")
    try:
        reference.library()
    except reference.CannotCompile as why:
        pytest.skip(str(why))
    settings = {"max_basis": 15, "novelty_tol": 1e-2, "usefulness_tol": 0.0, "alpha": 0.1}
    alone = core(forgetting=[factor], **settings)
    # the same memory in a bank, on the dictionary that the bank chooses
    bank = core(forgetting=[factor, 1.0], **settings)
    references = [reference.Reference(2, 0.5, 0.1, factor) for _ in range(2)]
    rng, seen = np.random.default_rng(23), 0
    for block in range(20):
        X = rng.uniform(-1, 1, (5000, 2))
        t = (seen + np.arange(5000)) / 20_000
        X += 3 * np.column_stack([np.sin(t), np.sin(1.37 * t)])
        y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(5000)
        for model, truth in zip((alone, bank), references, strict=True):
            _, outcome, victim = model.learn(X, y[:, None], np.ones(5000), block % 2 == 0)
            truth.learn(X, y, outcome, victim)
        seen += 5000
    assert alone.counters[oracles.SWAPPED] > 400
    at = np.ascontiguousarray(X[-200:])
    expected = [np.asarray(truth.predict(at), np.float64) for truth in references]
    size = np.abs(expected[0]).max()
    assert alone.indices.tolist() == references[0].indices.tolist()
    # TOL1 is 1e-2 and alpha 0.1: some units of 1e-13 (tests/soak/drift.py measures 3e-14 and 4e-13)
    np.testing.assert_allclose(alone.predict(at)[:, 0], expected[0], atol=1e-9 * size)
    state = bank.state()
    basis = at[:0] if not len(bank.indices) else bank.basis
    L = np.linalg.cholesky(KERNEL(basis, basis))
    w = np.vstack([np.ones(len(at)), np.linalg.solve(L, KERNEL(basis, at))])
    own = w.T @ state["theta"][:, 0] + state["level"][0]
    np.testing.assert_allclose(own, expected[1], atol=1e-9 * size)


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_bank_without_constant_and_kernels_predicts_nothing(outputs):
    X, _, _ = moving(60, seed=25)
    y = np.zeros((60, outputs)) if outputs > 1 else np.zeros(60)
    model = OnlineLSSVMRegressor(gamma=0.5, fit_intercept=False, linear=False).partial_fit(X, y)
    assert model.n_basis_ == 0
    mean, _ = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, y)
    np.testing.assert_array_equal(model.predict_one(X[0]), y[0])
    model.prune(3)
    for x, target in zip(X, y, strict=True):
        model.update(x, target if outputs > 1 else float(target))
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("return_std", [False, True])
@pytest.mark.parametrize("delay", [1, 4, 40])
def test_late_targets_weigh_memories_by_what_they_predicted_when_the_row_came(delay, return_std):
    X, Y, v = moving(150, outputs=2)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=8, forgetting=[0.97, 0.9, 0.8])
    model.partial_fit(X[:30], Y[:30], v[:30])
    rows = type(model._core)(model._core.kernel, **model._core.settings)
    truth = oracle_of(rows, X[:30], learned(rows, X[:30], Y[:30], v[:30], 30), Y[:30], v[:30])
    log = pickle.loads(pickle.dumps(rows))  # who joins and leaves, row by row
    got = model.prequential(X[30:], Y[30:], v[30:], delay=delay, return_std=return_std)
    predicted = {}
    for i in range(30, 150 + delay):
        if i < 150:
            predicted[i] = truth.predictions(X[i : i + 1])[:, 0]
            mean = np.tensordot(truth.weights, predicted[i], axes=1)
            np.testing.assert_allclose(got.y_pred[i - 30], mean, atol=SAME * (1 + np.abs(Y).max()))
        late = i - delay
        if late >= 30:
            row = slice(late, late + 1)
            _, (outcome,), (victim,) = log.learn(X[row], Y[row], v[row])[:3]
            joined = outcome in (oracles.ADMITTED, oracles.SWAPPED)
            gone = int(victim) if outcome == oracles.SWAPPED else None
            truth.learn(X[late], Y[late], v[late], joined, gone, predicted=predicted[late])
    assert_equal_beliefs(model._core, truth, X[:20])
    at_once = log.memories[1]  # the weights, had nothing been late
    changed = [np.log(each["weight"] / weight) for each, weight in zip(model.experts_, at_once, strict=True)]
    assert np.abs(changed).max() > 0.1


def test_predictions_of_a_row_that_is_not_learned_weigh_no_other():
    X, Y, v = moving(120, weights=False)
    v[99] = 0.0
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=8, forgetting=[1.0, 0.99, 0.9]).partial_fit(X[:30], Y[:30, 0])
    model.prequential(X[30:100], Y[30:100, 0], v[30:100], delay=5)
    again = pickle.loads(pickle.dumps(model))
    for x, y in zip(X[100:], Y[100:, 0].tolist(), strict=True):
        model.update(x, y)
        again.update(x, y)
    np.testing.assert_array_equal(model._core.memories[1], again._core.memories[1])
