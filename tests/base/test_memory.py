"""What is refused before it is allocated: requests against measured peaks, and models as they were after a refusal."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
import pytest
from kernsift import _core
from kernsift.base import memory as _memory
from kernsift.select.selectors import SELECTORS
from sklearn.base import BaseEstimator
from soak.memory import HIGHEST

# Estimators whose arrays grow with the kernels that are there, and why nothing is asked of max_basis.
GROWING = {
    "KRLSRegressor": "the dictionary doubles where a row is novel; max_basis only ends that",
    "KernelLSTD": "the same, of states",
    "OnlineLSSVMClassifier": "as the regressor",
    "OnlineLSSVMRegressor": "kernels come with rows that are novel; only the ring of recent rows is there at once",
}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="as on Linux")
def test_a_limit_of_address_space_is_refused_with_size_and_parameter():
    code = """
import resource
import numpy as np, kernsift
X = np.random.default_rng(0).normal(size=(6000, 3)); y = np.sin(X[:, 0])
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 200 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    kernsift.SubsetLSSVMRegressor(gamma=0.5, max_basis=5000, basis="random", alpha=1.0).fit(X, y)
except MemoryError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert "bytes" in out.stdout, out.stdout
    assert "max_basis" in out.stdout


@dataclass(frozen=True)
class Case:
    """One call that allocates by its size."""

    model: str  # of n rows and m kernels
    knob: str  # what the refusal names
    sizes: tuple[int, int] = (2000, 800)  # n, m: a square of doubles is more than the slack, a fit a second or so
    call: str = "model.fit(X, y)"
    before: str = "pass"
    kept: str = "0"  # doubles of arrays there already when the largest request comes


def subset(more: str, knob: str = "max_basis", **fields: Any) -> Case:
    return Case(f"SubsetLSSVMRegressor(max_basis=m, random_state=0, {more})", knob, **fields)


def selected(name: str, **fields: Any) -> Case:
    """Where the selector decides what is needed: the fit on what it chose takes one square."""
    return subset(f"gamma=0.1, basis='{name}', alpha=1.0, keep_sums=False", **fields)


def orols(more: str = "", knob: str = "max_basis", name: str = "OROLSRegressor", **fields: Any) -> Case:
    return Case(f"{name}(gamma=0.1, stop=None, max_basis=m, max_condition=1e99, {more})", knob, **fields)


GIVEN = "gamma=0.1, basis=np.arange(m)"
PRUNED = "gamma=0.1, basis='pruned'"
CHOSEN = "FeatureVectorSelector(gamma=0.1, n_components=m, random_state=0"
SPARSE = "gamma=0.1, max_start=m, max_basis=50, random_state=0"
CLASSES = "model.fit(X, y > 0)"
CASES = {
    "given, a number": subset(f"{GIVEN}, alpha=1.0", "keep_sums=False"),
    "given, no sums": subset(f"{GIVEN}, alpha=1.0, keep_sums=False"),
    "given, no ridge": subset(f"{GIVEN}, alpha=0", "keep_sums=False"),
    "given, gcv": subset(GIVEN, "keep_sums=False"),
    "given, gcv, no sums": subset(f"{GIVEN}, keep_sums=False", "a number for alpha"),
    "given, loo": subset(f"{GIVEN}, alpha='loo'", "keep_sums=False"),
    "given, threads": subset(f"{GIVEN}, alpha=1.0, n_jobs=2", "keep_sums=False", sizes=(9000, 800)),
    "given, classes": Case(f"SubsetLSSVMClassifier({GIVEN})", "keep_sums=False", call=CLASSES),
    "given, classes, no sums": Case(
        f"SubsetLSSVMClassifier({GIVEN}, alpha=1.0, keep_sums=False)", "max_basis", call=CLASSES
    ),
    "given, more rows": subset(
        f"{GIVEN}, alpha=1.0", before="model.partial_fit(X, y)", call="model.partial_fit(X[::-1], y)", kept="m * m"
    ),
    "given, in batches": subset(
        "gamma=0.1, basis=X[:m], alpha=1.0",
        "keep_sums=False",
        call="model.fit_batches((X[i::2], y[i::2]) for i in range(2))",
        kept="m * m",  # at first asked is what one batch needs; of another one there are sums too
    ),
    "given, polished": subset(f"{GIVEN}, alpha=1.0, polish=3", "polish=0", sizes=(2500, 400), kept="3 * m * m"),
    "learned widths": Case(
        "SubsetLSSVMRegressor(gamma='learn', alpha=1.0, basis=[0], random_state=0)",
        "n_rows or m of learn_gamma",
        (800, 0),
    ),
    "by feature vectors": subset(
        "basis=FeatureVectorSelector(n_components=m), gamma=0.1, alpha=1.0, keep_sums=False", "a smaller basis"
    ),
    "by ald": selected("ald"),
    "by csi": selected("csi"),
    "by efvs": selected("efvs"),
    "by efvs, lazily": selected("efvs", sizes=(32_000, 850), kept="14 * n"),  # 200 MB are 819 kernels; rows in order
    "by greedy": selected("greedy"),
    "by kmeans": selected("kmeans", sizes=(2000, 600)),
    "by online": selected("online", sizes=(60_000, 60)),
    "by orols": selected("orols", sizes=(2000, 400)),
    "by pruned": subset(PRUNED, "oversample", sizes=(2000, 270)),
    "by pruned, a number": subset(f"{PRUNED}, alpha=1.0", "oversample", sizes=(2000, 270)),
    "by pruned, of no more": subset(f"{PRUNED}, oversample=1", "oversample"),
    "by pruned, cycles": subset(f"{PRUNED}, cycles=2", "oversample", sizes=(2000, 270)),
    "by pruned, held out": subset(
        f"{PRUNED}, size='held-out'", "oversample", sizes=(2000, 270), kept="2 * (3 * m) ** 2"
    ),
    "by pruned, resized": subset(
        f"{PRUNED}, oversample=1", before="model.fit(X, y)", call="model.resize(m - 5)", sizes=(1000, 700)
    ),
    "by qr": selected("qr", sizes=(2000, 400)),
    "by random": selected("random"),
    "by rpcholesky": selected("rpcholesky"),
    "feature vectors, cached": Case(f"{CHOSEN})", "n_components"),
    "feature vectors, lazily": Case(f"{CHOSEN}, cache_size=0)", "n_components"),
    "feature vectors, of many": Case(f"{CHOSEN}, cache_size=0, n_candidates=n // 2)", "n_candidates", (1800, 300)),
    "feature vectors, of all": Case(f"{CHOSEN}, n_candidates=None, n_eval=None)", "n_candidates", (1500, 20)),
    "coordinates": Case(f"{CHOSEN})", "fewer rows", (20_000, 100), "model.transform(X)", "model.fit(X, y)"),
    "orols": orols(sizes=(2000, 400)),
    "orols, classes": orols(name="OROLSClassifier", sizes=(2000, 400), call=CLASSES),
    "orols, two widths": orols("gammas=[0.1, 0.2]", sizes=(2000, 400)),
    "ols, all": orols("selection='error-reduction'", "cache_size", sizes=(2000, 100)),
    "ols, some": orols("selection='error-reduction', n_candidates=n // 8", "n_candidates", sizes=(4000, 60)),
    "orols, pseudoinverse": orols(
        knob="fewer rows", sizes=(6000, 100), before="model.fit(X, y)", call="model.pseudoinverse(X)"
    ),
    "dense": Case("LSSVMRegressor(gamma=0.1)", "max_start", (1300, 0)),
    "dense, loo": Case("LSSVMRegressor(gamma=0.1, alpha='loo')", "max_start", (1000, 0)),
    "dense, classes": Case("LSSVMClassifier(gamma=0.1)", "max_start", (1300, 0), CLASSES),
    "dense, spread": Case(
        "LSSVMRegressor(gamma=0.1)",
        "subset of the rows",
        (1300, 0),
        "model.predict(X[:9], return_std=True)",
        "model.fit(X, y)",
    ),
    "isls": Case(f"SparseLSSVMRegressor({SPARSE})", "max_start", (2000, 500)),
    "isls, classes": Case(f"SparseLSSVMClassifier({SPARSE})", "max_start", (2000, 500), CLASSES),
    "isls, widths": Case(
        "SparseLSSVMRegressor(gamma='loo', gammas=[0.1, 0.2], alpha='loo', robust=True, max_start=m)",
        "max_start",
        (1500, 400),
    ),
    "sls": Case(f"SparseLSSVMRegressor({SPARSE}, method='sls')", "max_start", (1000, 800)),
    "sls, of few": Case(f"SparseLSSVMRegressor({SPARSE}, method='sls')", "max_start", (2500, 500)),
}

MEASURE = """
import ctypes, json, warnings
import scipy.linalg
import numpy as np
from kernsift import *
from kernsift.base import memory as _memory

PR_SET_THP_DISABLE = 41
ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
warnings.simplefilter("ignore")
_memory.NEGLIGIBLE = 1

{highest}
def problem(n, m, d=10):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, d))
    return X, X[:, 0] * X[:, 1] + rng.standard_normal(n)

def prepared(n, m):
    X, y = problem(n, m)
    model = {model}
    {before}
    return model, X, y

def measured(n, m):
    # The largest request, and the peak of the call, which needs it.
    most = 0
    while True:
        _memory.available_bytes = lambda: None
        model, X, y = prepared(n, m)
        _memory.available_bytes = lambda: most
        try:
            return most, highest(lambda: {call})
        except MemoryError as refusal:
            most = int(str(refusal).split(" bytes")[0].split()[-1])

# First use of libraries; and the buffer that a BLAS packs into and keeps, numpy's and scipy's.
measured(90, 20)
square = np.eye(700)
scipy.linalg.solve_triangular(square, square @ square)
del square
n, m = {sizes}
asked, peak = measured(n, m)
print(json.dumps([asked, 8 * ({kept}), peak]))
"""

# What the formulas leave out: the blocks that a product packs its factors into, for each thread, to fill a cache of a
# core (2 MiB are much), and the small objects of a call. (Large pages, of which every array might begin another, the
# probe does without.)
SLACK = 2 * 2**20
# A request is "about" what is taken: the formulas are bounds, and one of twice as much refuses what would fit.
LOOSE = 2.0


def ask(code: str) -> list[float]:
    """Run a probe in a process of its own, in which arrays that are given back are given to the system."""
    own = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    own["MALLOC_TRIM_THRESHOLD_"] = "65536"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **own}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


has_proc = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc to see a peak")


@has_proc
@pytest.mark.parametrize("name", CASES)
def test_a_peak_is_below_what_was_asked_for(name):
    case = CASES[name]
    asked, kept, peak = ask(MEASURE.format(highest=HIGHEST, **vars(case)))
    threads = 2 if "n_jobs" in case.model else 1
    assert peak <= asked + kept + threads * SLACK
    assert asked + kept <= LOOSE * peak


@pytest.fixture
def all_is_asked_for(monkeypatch):
    """Small models will do: no request is negligible."""
    monkeypatch.setattr(_memory, "NEGLIGIBLE", 0)


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 10))
    return X, X[:, 0] * X[:, 1] + rng.standard_normal(n)


def largest_request(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """The memory with which nothing is refused."""
    there = [0]
    monkeypatch.setattr(_memory, "available_bytes", lambda: there[0])
    while True:
        try:
            call()
            return there[0]
        except MemoryError as refusal:
            there[0] = int(str(refusal).split(" bytes")[0].split()[-1])


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_names_the_knob_and_leaves_the_model(name, monkeypatch, all_is_asked_for):
    case, n, m = CASES[name], 240, 40
    names = {**vars(kernsift), "np": np, "n": n, "m": m}
    names["X"], names["y"] = problem(n)

    def made() -> Any:
        monkeypatch.setattr(_memory, "available_bytes", lambda: None)
        names["model"] = eval(case.model, names)
        exec(case.before, names)
        return names["model"]

    def call(what: str = case.call) -> Any:
        return eval(what, names)

    def from_the_start() -> Any:
        available = _memory.available_bytes
        made()
        monkeypatch.setattr(_memory, "available_bytes", available)
        return call()

    asked = largest_request(from_the_start, monkeypatch)
    model = made()
    if case.before == "pass":  # a fitted model, refused another fit
        call()
    before = pickle.dumps(model.__getstate__())
    monkeypatch.setattr(_memory, "available_bytes", lambda: asked - 1)
    with pytest.raises(MemoryError, match=rf"needs about {asked} bytes .* {asked - 1} .* are available; .*{case.knob}"):
        call()
    assert pickle.dumps(model.__getstate__()) == before
    monkeypatch.setattr(_memory, "available_bytes", lambda: asked)
    call()


def test_every_estimator_asks_or_grows():
    public = {
        name
        for name in kernsift.__all__
        if isinstance(getattr(kernsift, name), type) and issubclass(getattr(kernsift, name), BaseEstimator)
    }
    asking = {case.model.split("(")[0] for case in CASES.values()}
    assert asking.isdisjoint(GROWING)
    fitting_one_of_them = {"KernelRegressor", "KernelClassifier", "KernelLSPI"}
    assert asking | set(GROWING) | fitting_one_of_them == public
    assert all(f"basis='{name}'" in "".join(c.model for c in CASES.values()) for name in SELECTORS)


GROWTHS = {
    "KRLSRegressor": ("KRLSRegressor(gamma=0.1, max_basis=m)", "model.fit(X, y)", 10),
    "KernelLSTD": ("KernelLSTD(gamma=0.1, max_basis=m)", "model.partial_fit(X, y, X[::-1])", 10),
    "OnlineLSSVMClassifier": (
        "OnlineLSSVMClassifier(gamma=0.1, max_basis=m, admission='novelty')",
        "model.partial_fit(X, y > 0, classes=[False, True])",
        10,
    ),
    "OnlineLSSVMRegressor": (
        "OnlineLSSVMRegressor(gamma=0.1, max_basis=m, admission='novelty', exact_rows=0)",
        "model.fit(X, y)",
        10,
    ),
    "OnlineLSSVMRegressor, gcv": (
        "OnlineLSSVMRegressor(gamma=0.1, max_basis=m, admission='novelty', exact_rows=0, alpha='gcv')",
        "model.fit(X, y)",
        16,
    ),
}


def test_every_growing_one_is_measured():
    assert {name.split(",")[0] for name in GROWTHS} == set(GROWING)


@has_proc
@pytest.mark.parametrize("name", GROWTHS)
def test_a_huge_cap_takes_nothing_ahead(name):
    model, call, squares = GROWTHS[name]
    code = MEASURE.format(highest=HIGHEST, model=model, call=call, before="pass", sizes=(600, 10**9), kept="0")
    asked, _, peak = ask(code)
    n, d = 600, 10  # every row becomes a kernel, or two (of a transition)
    assert asked == 0
    kernels = n
    assert peak <= 8 * (squares * kernels**2 + 2 * kernels * (d + 2) + n * (2 + 7)) + SLACK


@pytest.mark.parametrize("name", ["window", "exact_rows"])
def test_a_full_ring_of_recent_rows_must_fit(name, monkeypatch):
    X, y = problem(50)
    model = kernsift.OnlineLSSVMRegressor(gamma=0.1, max_basis=5).fit(X, y)
    before = model.predict(X)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2**30)
    with pytest.raises(
        MemoryError, match=rf"{name}=100000000 needs about 8\d+ bytes .*keep fewer recent rows \({name}\)"
    ):
        model.set_params(**{name: 10**8}).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the resident memory of Linux")
def test_a_ring_of_recent_rows_takes_memory_as_rows_come():
    """The number comes from a parameter, or from a file: a million rows of 40 kernels would be 320 MB."""
    X, y = problem(200)
    model = kernsift.OnlineLSSVMRegressor(gamma=5.0, max_basis=40, exact_rows=10**6, swap_until=None)

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    model.partial_fit(X[:2], y[:2])
    before = resident()
    model.partial_fit(X[2:], y[2:])
    assert model.n_basis_ > 30
    assert resident() - before < 2**24


def test_the_exact_solution_of_tune_is_asked_for(monkeypatch, all_is_asked_for):
    X, y = problem(100)
    online = kernsift.OnlineLSSVMRegressor(max_basis=20, exact_rows=0)

    def search() -> Any:
        return kernsift.tune(online, X, y, gammas=[0.1], alphas=[0.1, 1.0])

    asked = largest_request(search, monkeypatch)
    monkeypatch.setattr(_memory, "available_bytes", lambda: asked - 1)
    with pytest.raises(MemoryError, match=r"tune on \d+ kernels .*max_basis"):
        search()


def test_a_merge_is_asked_for(monkeypatch, all_is_asked_for):
    X, y = problem(200)
    model = kernsift.SubsetLSSVMRegressor(gamma=0.1, basis=np.arange(20), alpha=1.0).fit(X, y)
    state, before = model.accumulate(X, y), pickle.dumps(model.__getstate__())
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2 * 8 * 20**2 - 1)  # M of both rows, and the ridge's factor
    with pytest.raises(MemoryError, match=r"merging sums on 20 kernels .*max_basis"):
        model.merge(state)
    with pytest.raises(MemoryError, match=r"sums of 200 rows on 20 kernels .*fewer rows at a time"):
        model.accumulate(X, y)
    assert pickle.dumps(model.__getstate__()) == before
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2 * 8 * 20**2)
    assert model.merge(state).n_samples_seen_ == 400


def test_eigenvectors_in_the_place_of_a_factor_are_asked_for(monkeypatch, all_is_asked_for):
    X, y = problem(200)
    model = kernsift.SubsetLSSVMRegressor(gamma=0.1, basis=np.arange(40), alpha=1.0).fit(X, y)
    before = pickle.dumps(model.__getstate__())
    asked = 8 * int(_core.RidgeProblem.memory_needed(m=40, outputs=1, spectrum=True))
    monkeypatch.setattr(_memory, "available_bytes", lambda: asked - 1)
    with pytest.raises(MemoryError, match=r"eigenvectors .* 40 kernels .*larger alpha"):
        model.set_params(alpha=0.0).merge()  # the sums solved again
    assert pickle.dumps(model.set_params(alpha=1.0).__getstate__()) == before
    monkeypatch.setattr(_memory, "available_bytes", lambda: asked)
    assert model.set_params(alpha=0.0).merge().alpha_ == 0.0


def test_a_selection_without_a_cap_asks_for_what_is_certain(monkeypatch):
    X, y = problem(200)
    rows = np.arange(2e6)[:, None]
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2**20 * 256)
    kernsift.OROLSRegressor(gamma=0.1, max_basis=None).fit(X, y)
    with pytest.raises(MemoryError, match=r"up to 2000000 kernels .*with None memory grows with the columns"):
        kernsift.OROLSRegressor(gamma=1.0, max_basis=2_000_000).fit(rows, rows[:, 0])


def test_what_is_negligible_reads_no_file(monkeypatch):
    def read() -> int:
        raise AssertionError("asked the system")

    monkeypatch.setattr(_memory, "available_bytes", read)
    X, y = problem(1000)
    for name in SELECTORS:
        kernsift.SubsetLSSVMRegressor(basis=name, max_basis=50, random_state=0).fit(X, y).predict(X)
    _memory.check_memory(_memory.NEGLIGIBLE / 8 - 1, "this", "that")
    with pytest.raises(AssertionError, match="asked"):
        _memory.check_memory(_memory.NEGLIGIBLE / 8, "this", "that")


@pytest.mark.parametrize(
    ("model", "knob"),
    [
        (kernsift.LSSVMRegressor(gamma=1.0), "SparseLSSVM.*subset"),
        (kernsift.SparseLSSVMRegressor(gamma=1.0, max_start=None), "max_start"),
    ],
)
def test_no_machine_allocates_it_by_accident(model, knob):
    rows = np.arange(2e6)[:, None]  # 32 TB
    with pytest.raises(MemoryError, match=rf"needs about \d{{14,}} bytes .*{knob}"):
        model.fit(rows, rows[:, 0])


def test_memory_is_what_the_system_says(monkeypatch):
    available = _memory.available_bytes()
    assert available is None or available > 0
    monkeypatch.setattr(_memory, "available_bytes", lambda: None)
    _memory.check_memory(10**30, "this", "that")  # unknown: the allocation itself decides
    enough = 8 * 10**8
    monkeypatch.setattr(_memory, "available_bytes", lambda: enough)
    _memory.check_memory(10**8, "this", "that")
    with pytest.raises(MemoryError, match=f"this needs about {enough + 8} bytes .*; that"):
        _memory.check_memory(10**8 + 1, "this", "that")
