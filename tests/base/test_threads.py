"""One model, many threads and processes: who reads while somebody learns gets the answer of one moment, or an error.

The promise (docs/streams.md): an answer is that of the model after some prefix of the rows, whole; of an online model a
prefix of at most 1024 rows more or less within a call, of a subset model whole calls.  One thread learns at a time.
"""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import kernsift
import numpy as np
import pytest
from kernsift import (
    KernelLSTD,
    OnlineLSSVMClassifier,
    OnlineLSSVMRegressor,
    SubsetLSSVMClassifier,
    SubsetLSSVMRegressor,
    _core,
)
from kernsift.base.threads import n_threads
from threadpoolctl import threadpool_limits

STEP = 1024  # rows the core learns without letting anybody else in


def drifting(n, d=3):
    """Rows whose targets move on, so that no two prefixes answer alike."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + np.arange(n) / 1000.0


def read_while(learn, read, readers=3):
    """What `read` answered on each thread until `learn` was over, in order; errors are answers too."""
    answers = [[] for _ in range(readers)]
    over, started = threading.Event(), threading.Barrier(readers + 1)

    def loop(mine):
        started.wait()
        while True:
            last = over.is_set()
            mine.append(read())
            if last:
                return

    threads = [threading.Thread(target=loop, args=(mine,)) for mine in answers]
    for thread in threads:
        thread.start()
    started.wait()
    try:
        learn()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return answers


def assert_are_moments(answers, moments, atol=1e-7):
    """Each answer is one of the moments, and no reader sees the stream go back; some were seen in between."""
    table = np.array([np.concatenate([np.ravel(part) for part in moment]) for moment in moments])
    # moments are told apart by far more than the rounding that reading in between changes
    apart = np.abs(np.diff(table, axis=0)).max(axis=1).min()
    assert apart > 100 * atol
    seen = set()
    for mine in answers:
        flat = np.array([np.concatenate([np.ravel(part) for part in answer]) for answer in mine])
        distance = np.abs(flat[:, None] - table[None]).max(axis=2)
        assert distance.min(axis=1).max() < atol, "an answer that no moment of the model gives"
        places = distance.argmin(axis=1)
        assert (np.diff(places) >= 0).all()
        seen |= set(places.tolist())
    assert seen - {0, len(moments) - 1}, "nobody read while rows were learned: make it longer"


ANSWERS = {
    "double": lambda X: (X, lambda m, at: (m.predict(at),)),
    "single": lambda X: (X.astype(np.float32), lambda m, at: (m.predict(at),)),
    "with spread": lambda X: (X, lambda m, at: m.predict(at, return_std=True)),
}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("parameters", [{}, {"exact_rows": 20}, {"window": 500}, {"forgetting": 0.999}], ids=str)
def test_answers_beside_a_learning_thread_are_those_of_a_prefix(parameters, kind):
    X, y = drifting(20 * STEP)
    at, read = ANSWERS[kind](X[:5])
    # a single-precision answer keeps six digits of targets up to 20
    atol = 1e-4 if kind == "single" else 1e-7
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=30, novelty_tol=0.05, **parameters)
    model.partial_fit(X[:STEP], y[:STEP])
    steps = OnlineLSSVMRegressor(gamma=0.5, max_basis=30, novelty_tol=0.05, **parameters)
    moments = [read(steps.partial_fit(X[i : i + STEP], y[i : i + STEP]), at) for i in range(0, len(X), STEP)]

    def learn():
        for i in range(STEP, len(X), 4 * STEP):  # in a call others read between its steps if they can, after it they do
            model.partial_fit(X[i : i + 4 * STEP], y[i : i + 4 * STEP])
            time.sleep(0.005)

    assert_are_moments(read_while(learn, lambda: read(model, at)), moments, atol)


def test_a_spread_takes_the_ridge_of_its_own_moment(monkeypatch):
    """Another thread may change it (alpha="gcv") between the call of the core and what follows."""
    X, y = drifting(600)
    model = OnlineLSSVMRegressor(gamma=0.5, alpha="gcv", max_basis=20).partial_fit(X, y)
    _, std = model.predict(X[:5] + 3, return_std=True)
    monkeypatch.setattr(OnlineLSSVMRegressor, "alpha_", property(lambda self: 1e6))
    np.testing.assert_array_equal(model.predict(X[:5] + 3, return_std=True)[1], std)


@pytest.mark.parametrize("kind", ["double", "with spread"])
def test_answers_of_a_subset_model_are_those_of_whole_calls(kind):
    X, y = drifting(6000)
    at, read = ANSWERS[kind](X[:5])
    blocks = [slice(i, i + 200) for i in range(0, 6000, 200)]
    model, steps = (SubsetLSSVMRegressor(gamma=0.5, alpha=0.1, basis=X[:40]) for _ in range(2))
    moments = [read(steps.partial_fit(X[b], y[b]), at) for b in blocks]
    model.partial_fit(X[blocks[0]], y[blocks[0]])

    def learn():
        for b in blocks[1:]:
            model.partial_fit(X[b], y[b])

    assert_are_moments(read_while(learn, lambda: read(model, at)), moments)


def test_resizing_and_fitting_a_subset_model_show_one_size_or_the_other():
    X, y = drifting(800)
    model = SubsetLSSVMRegressor(gamma=0.5, alpha=0.1, max_basis=40, size="max", random_state=0).fit(X, y)
    sizes = [40, 5, 60, 11]
    expected = {n: model.resize(n).predict(X[:5]) for n in sizes}

    def learn():
        for i in range(200):
            model.resize(sizes[i % 4])

    for mine in read_while(learn, lambda: model.predict(X[:5])):
        distance = [min(np.abs(answer - e).max() for e in expected.values()) for answer in mine]
        assert max(distance) < 1e-12


@pytest.mark.parametrize("kind", [OnlineLSSVMClassifier, SubsetLSSVMClassifier])
def test_probabilities_beside_a_learning_thread_are_probabilities(kind):
    X, _ = drifting(8 * STEP)
    labels = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    model = kind(gamma=0.5, max_basis=20).partial_fit(X[:STEP], labels[:STEP], classes=[0, 1, 2])

    def learn():
        for i in range(STEP, len(X), STEP):
            model.partial_fit(X[i : i + STEP], labels[i : i + STEP])

    for mine in read_while(learn, lambda: (model.predict(X[:9]), model.predict_proba(X[:9]))):
        for predicted, odds in mine:
            assert set(predicted.tolist()) <= {0, 1, 2}
            np.testing.assert_allclose(odds.sum(axis=1), 1)


def test_a_model_is_copied_whole_while_another_thread_learns():
    """pickle, save and health read one moment."""
    X, y = drifting(10 * STEP)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=30).partial_fit(X[:STEP], y[:STEP])
    steps = OnlineLSSVMRegressor(gamma=0.5, max_basis=30)
    moments = [(steps.partial_fit(X[i : i + STEP], y[i : i + STEP]).predict(X[:5]),) for i in range(0, len(X), STEP)]

    def copied():
        twin = type(model).__new__(type(model))
        twin.__setstate__(model.__getstate__())
        assert twin.health()["problems"] == []
        return (twin.predict(X[:5]),)

    def learn():
        for i in range(STEP, len(X), 3 * STEP):
            model.partial_fit(X[i : i + 3 * STEP], y[i : i + 3 * STEP])
            time.sleep(0.005)

    assert_are_moments(read_while(learn, copied, readers=2), moments)


def test_a_second_pass_shows_the_model_before_or_after_it():
    X, y = drifting(8 * STEP)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=30, exact_rows=0, swap_until=None).partial_fit(X, y)
    before = model.predict(X[:5])
    answers = read_while(lambda: [model.refit(X, y) for _ in range(3)], lambda: model.predict(X[:5]))
    after = model.predict(X[:5])
    assert np.abs(after - before).max() > 1e-3
    for mine in answers:
        distance = [min(np.abs(answer - e).max() for e in (before, after)) for answer in mine]
        assert max(distance) < 1e-7


def test_a_refused_block_is_not_seen_by_a_reader():
    """Putting attributes back after an error never takes away what a reader looks for."""
    X, y = drifting(300)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=10).fit(X, y)
    subset = SubsetLSSVMRegressor(gamma=0.5, alpha=0.1, basis=X[:10]).fit(X, y)
    expected = model.predict(X), subset.predict(X)
    bad = y.copy()
    bad[-1] = np.nan

    def learn():
        for each in (model, subset):
            for _ in range(300):
                with pytest.raises(ValueError, match="NaN"):
                    each.fit(X, bad)

    for mine in read_while(learn, lambda: (model.predict(X), subset.predict(X))):
        for answer in mine:
            np.testing.assert_array_equal(answer[0], expected[0])
            np.testing.assert_array_equal(answer[1], expected[1])


def test_two_threads_that_learn_lose_no_row():
    """Not promised in which order, but every row is learned once and the state is sound."""
    X, y = drifting(8000)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=15).partial_fit(X[:100], y[:100])

    def learn(part):
        for i in range(*part, 50):
            model.partial_fit(X[i : i + 50], y[i : i + 50])

    threads = [threading.Thread(target=learn, args=(part,)) for part in ((100, 4000), (4000, 8000))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_samples_seen_ == 8000
    assert model.health()["problems"] == []


def test_reading_between_blocks_changes_no_decision_and_no_digit_that_counts():
    X, y = drifting(4000)
    quiet, asked = (OnlineLSSVMRegressor(gamma=0.5, max_basis=25) for _ in range(2))
    for i in range(0, 4000, 100):
        quiet.partial_fit(X[i : i + 100], y[i : i + 100])
        asked.partial_fit(X[i : i + 100], y[i : i + 100]).predict(X[:3])
    np.testing.assert_array_equal(quiet.basis_indices_, asked.basis_indices_)
    np.testing.assert_allclose(asked.predict(X[:50]), quiet.predict(X[:50]), atol=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_same_calls_give_the_same_bits(n_jobs):
    X, y = drifting(12_000)
    bits = []
    for _ in range(2):
        model = OnlineLSSVMRegressor(gamma=0.5, max_basis=25, n_jobs=n_jobs).fit(X, y)
        model.refit(X, y)
        bits.append((model.basis_indices_.tobytes(), model.predict(X, return_std=True)[1].tobytes()))
    assert bits[0] == bits[1]


def moments_while(call):
    """When another Python thread had the GIL, which it wants every millisecond, and how long the call took."""
    moments, over = [], threading.Event()

    def tick():
        while not over.is_set():
            moments.append(time.perf_counter())
            time.sleep(0.001)

    ticking = threading.Thread(target=tick)
    ticking.start()
    begin = time.perf_counter()
    call()
    took = time.perf_counter() - begin
    over.set()
    ticking.join()
    return np.array(moments), took


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="as on POSIX")
def test_a_signal_handler_that_learns_during_a_second_pass_gets_an_error_and_no_deadlock():
    X, y = drifting(60_000)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=100).partial_fit(X[:2000], y[:2000])
    before = model.n_samples_seen_, model.predict(X[:5]).tobytes()
    old = signal.signal(signal.SIGALRM, lambda *_: model.update(X[0], 0.5))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(RuntimeError, match="this thread is learning"):
            model.refit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert (model.n_samples_seen_, model.predict(X[:5]).tobytes()) == before


def transitions(n):
    S = np.random.default_rng(0).normal(size=(n, 3))
    return S, np.sin(S[:, 0]), S + 0.1


LONG_CALLS = {
    "learn": lambda X, y: OnlineLSSVMRegressor(gamma=0.5, max_basis=200, novelty_tol=1e-3).partial_fit(X, y),
    "refit": lambda X, y: (
        OnlineLSSVMRegressor(gamma=0.5, max_basis=200).partial_fit(X[:2000], y[:2000]).refit(X, y)
    ),
    "prequential": lambda X, y: OnlineLSSVMRegressor(gamma=0.5, max_basis=100).prequential(X[:8000], y[:8000]),
    "predict": lambda X, y: OnlineLSSVMRegressor(gamma=0.5).partial_fit(X[:900], y[:900]).predict(
        np.tile(X, (20, 1)), return_std=True
    ),
    "subset": lambda X, y: SubsetLSSVMRegressor(gamma=0.5, basis=X[:300], alpha=0.1).fit(
        np.tile(X, (5, 1)), np.tile(y, 5)
    ),
    "policy": lambda X, y: KernelLSTD(gamma=0.5, max_basis=100).partial_fit(*transitions(10_000)),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_CALLS)
def test_other_threads_run_while_the_core_works(name):
    X, y = drifting(40_000)
    moments, took = moments_while(lambda: LONG_CALLS[name](X, y))
    # a millisecond's sleep takes about two on a busy machine; with the GIL held there would be a handful
    assert len(moments) > 0.05 * took * 1000, f"{len(moments)} ticks in {took:.2f} s"


ONE_ROW = {
    "nothing": lambda model, x: time.sleep(0.001),
    "update": lambda model, x: model.update(x, 0.5),
    "predict_one": lambda model, x: model.predict_one(x),
}


def longest_gap(name, model, X):
    """Seconds the ticking thread stood still at most while one thread predicts and another one calls `name`."""
    over = threading.Event()

    def loop():
        while not over.is_set():
            ONE_ROW[name](model, X[0])

    caller = threading.Thread(target=loop)

    def call():
        caller.start()
        model.predict(X, return_std=True)
        over.set()

    moments, took = moments_while(call)
    caller.join()
    return np.diff(moments).max(), took


@pytest.mark.parametrize("name", ["update", "predict_one"])
def test_a_thread_that_waits_for_a_model_keeps_no_other_thread_waiting(name):
    """The thread with the model's lock has it for seconds; who waits for it must not hold the GIL meanwhile."""
    X, y = drifting(1_000_000)
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=150, novelty_tol=1e-3).partial_fit(X[:3000], y[:3000])
    own, took = longest_gap("nothing", model, X)  # of the machine, whoever else uses it
    longest, _ = longest_gap(name, model, X)
    assert took > 0.5, "the lock was not held for long enough to show anything"
    assert longest < 0.05 + max(own, 0.1 * took), f"{longest:.3f} s, of a lock held for {took:.2f} s"


@pytest.mark.parametrize("alpha", [0.1, "gcv"])
def test_a_second_pass_loses_no_row_of_other_threads(alpha, monkeypatch):
    """Rows learned by others while `refit` runs are in the model, as if they had come before or after it."""
    X, _ = drifting(60_000)
    y = np.sin(X[:, 0])
    model = OnlineLSSVMRegressor(gamma=0.5, alpha=alpha, max_basis=None, novelty_tol=0.1)
    model.partial_fit(X[:2000], y[:2000])
    over, learned, before = threading.Event(), [0, 0, 0], []

    def counted(n_jobs):  # the last that happens before the core takes its lock
        before.append(sum(learned))
        return n_threads(n_jobs)

    monkeypatch.setattr("kernsift.stream.online_model.n_threads", counted)

    def learn(which):
        far = np.array([40.0 + 20 * which, 0.0, 0.0])  # each thread has its own place, and soon its own kernel
        while not over.is_set():
            model.update(far, 5.0)
            learned[which] += 1
            time.sleep(0.001)

    threads = [threading.Thread(target=learn, args=(which,)) for which in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        time.sleep(0.05)
        model.refit(X, y)
    time.sleep(0.05)
    over.set()
    for thread in threads:
        thread.join()
    after = sum(learned) - before[-1]
    assert len(before) == 2
    assert after > 30
    assert model.n_samples_seen_ == 2000 + sum(learned)
    # up to one a thread, then at work, and as many in the switch of threads: all others are beside the second pass
    assert model._core.rows_learned >= len(X) + after - 6
    assert model.health()["problems"] == []
    # each thread's own kernel has its value, of all those rows
    for which in range(3):
        assert abs(model.predict_one(np.array([40.0 + 20 * which, 0.0, 0.0])) - 5.0) < 0.5


FORK = """
import os, signal, sys, threading, time
import numpy as np, kernsift
rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 3)); y = np.sin(X[:, 0])
model = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=300, novelty_tol=1e-4).partial_fit(X[:100], y[:100])
thread = threading.Thread(target=model.partial_fit, args=(X, y))
thread.start()
outcomes = []
for _ in range(12):
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a deadlock would be ended by it
        try:
            model.predict(X[:3])
            os._exit(0)
        except RuntimeError as error:
            os._exit(1 if "forked while a thread was at work" in str(error) else 2)
    outcomes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
child = os.fork()  # and after it all is well
if child == 0:
    signal.alarm(20)
    model.predict(X[:3])
    os._exit(0)
outcomes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(outcomes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_beside_a_learning_thread_answers_or_says_why_not():
    out = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=300)
    outcomes = eval(out.stdout)
    assert set(outcomes) <= {0, 1}
    assert 1 in outcomes  # some forks met the thread at work
    assert outcomes[-1] == 0


def fitted(X, y, n_jobs):
    assert not X.flags.writeable  # a memory map, as large arrays come to a worker
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20, n_jobs=n_jobs).fit(X, y)
    return model.predict(X[:50]), SubsetLSSVMRegressor(gamma=0.5, basis=X[:20].copy(), alpha=0.1).fit(X, y).predict(
        X[:50]
    )


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_workers_learn_from_memory_maps(backend):
    X, y = drifting(3000)
    readonly = X.copy()
    readonly.setflags(write=False)
    expected = fitted(readonly, y, None)
    work = (joblib.delayed(fitted)(X, y, 2) for _ in range(2))
    for found in joblib.Parallel(n_jobs=2, backend=backend, max_nbytes=1000)(work):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="as on POSIX")
def test_a_process_out_of_memory_says_so_and_gives_no_half_learned_answers():
    """Allocations fail in the middle of learning: a MemoryError, and a model that refuses to answer, or is whole."""
    code = """
import resource, pickle
import numpy as np, kernsift
rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 3)); y = np.sin(X[:, 0])
whole = half = 0
said = set()
for spare in range(1, 30, 2):
    model = kernsift.OnlineLSSVMRegressor(gamma=50.0, max_basis=None, novelty_tol=1e-3, usefulness_tol=0, n_jobs=2)
    model.partial_fit(X[:200], y[:200])
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + spare * 2**20, old[1]))
    failed = False
    try:
        model.partial_fit(X, y)
    except MemoryError as error:
        failed = True
        said.add(str(error))
    resource.setrlimit(resource.RLIMIT_AS, old)
    assert failed, "not enough was asked for"
    try:
        model.predict(X[:5])
        assert model.health()["problems"] == [], model.health()
        whole += 1
    except RuntimeError as error:
        assert "memory ran out" in str(error)
        half += 1
assert not any("bad_alloc" in words for words in said), said
assert any("bytes" in words and "kernels" in words and "max_basis" in words for words in said), said
print(whole, half)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert out.returncode == 0, out.stderr
    assert int(out.stdout.split()[1]) > 0


@pytest.mark.parametrize(
    "name",
    ["SubsetLSSVMRegressor", "SubsetLSSVMClassifier", "OROLSRegressor", "OROLSClassifier", "KRLSRegressor"]
    + ["OnlineLSSVMRegressor", "OnlineLSSVMClassifier"],
)
def test_no_threads_at_all_are_refused_in_one_way(name):
    X, y = drifting(60)
    model = getattr(kernsift, name)(gamma=0.5, n_jobs=0)
    with pytest.raises(ValueError, match=r"^n_jobs=0 has no meaning; use None for one thread or -1 for all$"):
        model.fit(X, y > 0 if "Classifier" in name else y)


def test_forward_selection_takes_no_more_threads_than_the_others(monkeypatch):
    taken = []
    selection = _core.forward_selection
    monkeypatch.setattr(_core, "forward_selection", lambda *a, **k: (taken.append(k["threads"]), selection(*a, **k))[1])
    X, y = drifting(60)
    for limit, n_jobs, expected in (("1", -1, 1), ("1", 2, 1), ("3", 2, 2), ("2", 5, 2)):
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        with threadpool_limits(None):
            kernsift.OROLSRegressor(gamma=0.5, n_jobs=n_jobs).fit(X, y)
        assert taken.pop() == min(expected, n_threads(n_jobs))


@pytest.mark.parametrize("return_std", [False, True])
def test_subset_predictions_are_the_same_bits_on_threads_and_single_in_single(return_std, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    X, y = drifting(5000)
    one = SubsetLSSVMRegressor(gamma=0.5, max_basis=30, random_state=0, alpha=0.1).fit(X, y)
    two = copy.copy(one).set_params(n_jobs=3)
    found = [np.atleast_2d(m.predict(X, return_std=return_std)) for m in (one, two)]
    np.testing.assert_array_equal(found[0], found[1])
    single = np.atleast_2d(two.predict(X.astype(np.float32), return_std=return_std))
    assert single.dtype == np.float32
    # the rows themselves are rounded to 6e-8, times the slope of f
    np.testing.assert_allclose(single, found[0], atol=1e-4 * np.abs(found[0]).max())
    expanded = []
    kernel = type(one._basis.kernel)
    monkeypatch.setattr(_core, "Kernel", lambda *a: Watched(kernel(*a), expanded))
    two.predict(X[:10].astype(np.float32))
    assert expanded == ["expand_single"]  # not computed in double and rounded


class Watched:
    """A kernel that notes which expansion was called."""

    def __init__(self, kernel, called):
        self.kernel, self.called = kernel, called

    def __getattr__(self, name):
        if name.startswith("expand"):
            self.called.append(name)
        return getattr(self.kernel, name)
