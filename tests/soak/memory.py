"""Peak memory of fit and predict against the formula in docs/develop/memory.md, and whether anything grows."""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measure.page import head, row

ROWS = {"quick": 20_000, "default": 200_000, "full": 1_000_000}
KERNELS = {"quick": 200, "default": 1000, "full": 1000}
CALLS = {"quick": 20_000, "default": 200_000, "full": 1_000_000}

# Of code that runs in a process of its own; the tests of memory too.
HIGHEST = f"""
import sys
sys.path.append({str(Path(__file__).resolve().parents[2] / "bench")!r})
from measure.clock import highest
"""

PROBE = """
import numpy as np
import kernsift
{highest}
d = 10

def peak_of(n, m):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-2, 2, (n, d)), rng.standard_normal(n)
    {setup}
    peak = highest(lambda: {work})
    assert model.n_basis_ == m, model.n_basis_
    return peak

small = peak_of({small_n}, {small_m})
print(small, peak_of({n}, {m}))
"""

# The small call, the first of its kind in its process: what libraries and the allocator take at first use.
SMALL_ROWS, SMALL_KERNELS = 2000, 20


def _state(m: int, d: int, c: int = 1, r: int = 0) -> float:
    """What an online model keeps and works in, in doubles (docs/develop/memory.md)."""
    return 10 * m * m + 2 * m * (d + c) + r * (2.5 * m + d + c)


_ONLINE = "model = kernsift.OnlineLSSVMRegressor(gamma=0.1, alpha=1.0, max_basis=m, admission='novelty'"
_FULL = f"{_ONLINE}, exact_rows=0).partial_fit(X[: 2 * m], y[: 2 * m])"
_GIVEN = "model = kernsift.SubsetLSSVMRegressor(gamma=0.1, alpha=1.0, basis=X[:m])"

# name: setup, work, doubles for n rows, m kernels, d features, one output (docs/develop/memory.md)
CASES = {
    "online, fit": (f"{_ONLINE})", "model.fit(X, y)", lambda n, m, d: _state(m, d, r=500) + 8 * n),
    "online, predict": (_FULL, "model.predict(X)", lambda n, m, d: 2 * n),
    "online, predict with standard deviation": (_FULL, "model.predict(X, return_std=True)", lambda n, m, d: 8 * n),
    "subset, fit on given kernels": (_GIVEN, "model.fit(X, y)", lambda n, m, d: _state(m, d) + 8 * n),
    "subset, predict": (f"{_GIVEN}.fit(X[: 2 * m], y[: 2 * m])", "model.predict(X)", lambda n, m, d: 2 * n),
}

GROWTH = """
import numpy as np
import kernsift
{highest}
from measure.clock import status

rng = np.random.default_rng(0)
X, y = rng.uniform(-2, 2, (1000, 3)), rng.standard_normal(1000)
model = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=20, usefulness_tol=0.0, {parameters}).partial_fit(X, y)
calls, first = {calls}, None
for i in range(calls):
    x = X[i % 1000]
    {work}
    if i == calls // 10:
        first = status("VmRSS")
print(status("VmRSS") - first, model.audit_["evicted"])
"""
GROWTHS = {
    "update and predict_one": ("", "model.predict_one(x); model.update(x, y[i % 1000])", 1.0),
    "update with a window": ("window=50", "model.update(x, y[i % 1000])", 1.0),
    "partial_fit and predict": ("", "model.partial_fit(x[None], y[i % 1000][None]); model.predict(x[None])", 0.1),
    "pickle and back": ("", "import pickle; model = pickle.loads(pickle.dumps(model))", 0.1),
}


def _ask(code: str) -> tuple[float, float]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    first, second = out.stdout.split()
    return float(first), float(second)


def run(asked: argparse.Namespace) -> Iterator[list[str]]:
    """Each measurement in a process of its own."""
    n, m, calls = ROWS[asked.mode], KERNELS[asked.mode], CALLS[asked.mode]
    lines = [
        "## Memory",
        "",
        f"{n:,} rows of 10 features, {m} kernels: highest resident memory during the call above that before it (`VmHWM`, which",
        "`ru_maxrss` tells, begun again before the call; the rows themselves are there before). Allowed is the formula of",
        f"[memory.md](memory.md), and beside it what the first call of the kind takes in the same process, with {SMALL_ROWS:,} rows and",
        f"{SMALL_KERNELS} kernels: first use of libraries, and the allocator.",
        "",
        *head(["call", "peak, MB", "formula, MB", "first small call, MB", ""]),
    ]
    for name, (setup, work, doubles) in CASES.items():
        print(f"memory: {name}")
        sizes = {"n": n, "m": m, "small_n": SMALL_ROWS, "small_m": SMALL_KERNELS}
        small, peak = _ask(PROBE.format(highest=HIGHEST, setup=setup, work=work, **sizes))
        bound = 8 * doubles(n, m, 10)
        verdict = "holds" if peak <= bound + small else "**exceeded**"
        lines.append(row((name, *(f"{size / 1e6:.1f}" for size in (peak, bound, small)), verdict)))
    lines += ["", "Growth of resident memory from a tenth of the calls to the last:", ""]
    lines += head(["calls", "how many", "growth, kB"])
    for name, (parameters, work, part) in GROWTHS.items():
        print(f"growth: {name}")
        grown, _ = _ask(GROWTH.format(highest=HIGHEST, parameters=parameters, work=work, calls=int(part * calls)))
        lines.append(row((name, f"{int(part * calls):,}", f"{grown / 1e3:.0f}")))
    yield lines
