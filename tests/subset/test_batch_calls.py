"""What every long batch call owes its caller: Ctrl-C ends it, and memory stays bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import kernsift
import numpy as np
import pytest
from kernsift import _core

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and resource as on POSIX")


def table(n, d=6):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


def long_calls():
    """Each takes seconds here and minutes under a sanitizer, unless it is ended."""
    X, y = table(60_000, 30)
    few, few_y = X[:6000], y[:6000]
    kernel = _core.Kernel("rbf", np.full(30, 0.02), 3, 1.0, np.zeros(30))
    which, ones = np.arange(len(X)), np.ones(len(X))
    regressor, sparse = kernsift.SubsetLSSVMRegressor, kernsift.SparseLSSVMRegressor
    G = np.diag(np.arange(1.0, 2501.0))
    L = np.eye(2500)
    tolerances = {"candidate_tol": 1e-8, "reconstruction_tol": 0.0, "seed": 1}
    return {
        "fit on given rows": lambda: regressor(gamma=0.02, basis=np.arange(2500), alpha=1.0).fit(X, y),
        "pruned": lambda: regressor(gamma=0.02, max_basis=1200).fit(X, y),
        "deletion": lambda: _core.deletion_order(
            kernel, vectors=X[:2500].copy(), M=G, z=np.ones((2500, 1)), s=np.zeros(2500), y=np.zeros(1),
            offset=np.zeros(1), weight=1.0, fit_intercept=True, alpha=0.1, target=1, fraction=0.001),
        "coordinates": lambda: _core.basis_coordinates(kernel, vectors=X[:2500].copy(), L=L, X=X),
        "efvs": lambda: _core.select_feature_vectors(
            kernel, X, which, weight=ones, n_candidates=59, n_eval=59, max_basis=3000, form="lazy", **tolerances),
        "efvs cached": lambda: _core.select_feature_vectors(
            kernel, few, which[:6000], weight=ones[:6000], n_candidates=900, n_eval=900, max_basis=2500, form="cached",
            **tolerances),
        "fvs": lambda: _core.select_feature_vectors(
            kernel, few, which[:6000], weight=ones[:6000], n_candidates=0, n_eval=0, max_basis=2500, form="dense",
            **tolerances),
        "ald": lambda: _core.select_independent(kernel, X, which, tol=1e-8, max_basis=6000),
        "greedy": lambda: _core.select_greedy(kernel, X, which, tol=1e-8, max_basis=1000),
        "rpcholesky": lambda: _core.select_rpcholesky(
            kernel, X, which, weight=ones, tol=1e-8, max_basis=1500, block=16, seed=1),
        "csi": lambda: _core.select_side_information(
            kernel, X, which, Y=np.ascontiguousarray(y[:, None]), weight=ones, tol=1e-8, max_basis=400, ahead=40,
            balance=0.99, fit_intercept=True),
        "sls": lambda: sparse(gamma=0.02, method="sls", alpha=1.0).fit(few[:3500], few_y[:3500]),
        "isls": lambda: sparse(gamma=0.02, method="isls", alpha=1.0).fit(few[:3500], few_y[:3500]),
    }  # fmt: skip


def call_until_pressed(call, presser) -> None:
    """The join is for a call that is over too soon: Ctrl-C then comes here, and the test says that it came late."""
    call()
    presser.join()
    raise AssertionError("the call ended before Ctrl-C: make it longer")


@pytest.mark.parametrize("name", sorted(long_calls()))
def test_ctrl_c_ends_a_batch_call(name):
    """CPU time from the key to the exception: one block of work, where the whole call takes seconds."""
    call = long_calls()[name]
    pressed: list[float] = []

    def press() -> None:
        time.sleep(0.3)  # the core is at work, and has let go of the GIL, or this thread would not wake before its end
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        presser.start()
        with pytest.raises(KeyboardInterrupt):
            call_until_pressed(call, presser)
        answered = time.process_time()
        presser.join()
    finally:
        signal.signal(signal.SIGINT, old)
    assert answered - pressed[0] < 0.75


def test_an_ended_fit_leaves_the_model_as_it_was():
    X, y = table(60_000, 30)
    model = kernsift.SubsetLSSVMRegressor(gamma=0.02, max_basis=20, random_state=0).fit(X[:500], y[:500])
    before = model.predict(X[:50])
    model.set_params(basis=np.arange(2500), alpha=1.0)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, old)
    np.testing.assert_array_equal(model.predict(X[:50]), before)


_PROBE = """
import resource, sys
import numpy as np
import kernsift
def highest():  # of this process's own pages, in MB
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
n, m = 50_000, 300
rng = np.random.default_rng(0)
X, y = rng.standard_normal((n, 10)), rng.standard_normal(n)
{setup}
X[:2000].copy()
before = highest()
{work}
print(highest() - before)
"""
_CASES = {
    "fit": (
        "model = kernsift.SubsetLSSVMRegressor(gamma=0.1, alpha=0.5, basis=np.arange(m)).fit(X[:2000], y[:2000])",
        "model.fit(X, y)",
    ),
    "pruned": (
        "model = kernsift.SubsetLSSVMRegressor(gamma=0.1, max_basis=m // 3, random_state=0).fit(X[:2000], y[:2000])",
        "model.fit(X, y)",
    ),
    "predict": (
        "model = kernsift.SubsetLSSVMRegressor(gamma=0.1, alpha=0.5, basis=np.arange(m)).fit(X[:2000], y[:2000])\n"
        "model.predict(X[:2000], return_std=True)",
        "model.predict(X, return_std=True)",
    ),
    "loo": (
        "model = kernsift.SubsetLSSVMRegressor(gamma=0.1, alpha='loo', basis=np.arange(m)).fit(X[:2000], y[:2000])",
        "model.fit(X, y)",
    ),
    "classifier": (
        "y = y > 0\n"
        "model = kernsift.SubsetLSSVMClassifier(gamma=0.1, alpha=0.5, basis=np.arange(m)).fit(X[:2000], y[:2000])",
        "model.fit(X, y)",
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_no_temporary_of_rows_times_kernels(case):
    """One such matrix would be 114 MB; targets, weights and keys of 50 000 rows are 0.4 MB each."""
    pytest.importorskip("resource")
    setup, work = _CASES[case]
    probe = _PROBE.format(setup=setup, work=work)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=300, env=environment
    )
    assert float(out.stdout) < 15.0
