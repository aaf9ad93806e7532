"""Peak memory of fit and predict against the formula in docs/streams.md, and whether anything grows."""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

ROWS = {"quick": 20_000, "middle": 200_000, "full": 1_000_000}
KERNELS = {"quick": 200, "middle": 1000, "full": 1000}
CALLS = {"quick": 20_000, "middle": 200_000, "full": 1_000_000}

PROBE = """
import resource
import numpy as np
import kernsift

n, m, d = {n}, {m}, 10

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng = np.random.default_rng(0)
X, y = rng.uniform(-2, 2, (n, d)), rng.standard_normal(n)
warm = slice(0, 2000)
{setup}
before = peak()
{work}
print(peak() - before, model.n_basis_)
"""

# name: setup, work, bytes allowed for n rows, m kernels, d features, one output (docs/streams.md)
CASES = {
    "online, fit": (
        "kernsift.OnlineLSSVMRegressor(gamma=0.1, max_basis=20).fit(X[warm], y[warm]).predict(X[warm])\n"
        "model = kernsift.OnlineLSSVMRegressor(gamma=0.1, alpha=1.0, max_basis=m, admission='novelty')",
        "model.fit(X, y)",
        lambda n, m, d: 8 * (10 * m * m + 4 * 500 * m + 8 * n) + 30e6,
    ),
    "online, predict": (
        "model = kernsift.OnlineLSSVMRegressor(gamma=0.1, alpha=1.0, max_basis=m, admission='novelty', exact_rows=0)\n"
        "model.partial_fit(X[: 2 * m], y[: 2 * m]).predict(X[warm])",
        "model.predict(X)",
        lambda n, m, d: 8 * (2 * n) + 30e6,
    ),
    "online, predict with spread": (
        "model = kernsift.OnlineLSSVMRegressor(gamma=0.1, alpha=1.0, max_basis=m, admission='novelty', exact_rows=0)\n"
        "model.partial_fit(X[: 2 * m], y[: 2 * m]).predict(X[warm], return_std=True)",
        "model.predict(X, return_std=True)",
        lambda n, m, d: 8 * (8 * n) + 30e6,
    ),
    "subset, fit on given kernels": (
        "model = kernsift.SubsetLSSVMRegressor(gamma=0.1, alpha=1.0, basis=X[:m]).fit(X[warm], y[warm])",
        "model.fit(X, y)",
        lambda n, m, d: 8 * (10 * m * m + 8 * n) + 30e6,
    ),
    "subset, predict": (
        "model = kernsift.SubsetLSSVMRegressor(gamma=0.1, alpha=1.0, basis=X[:m]).fit(X[: 2 * m], y[: 2 * m])\n"
        "model.predict(X[warm])",
        "model.predict(X)",
        lambda n, m, d: 8 * (2 * n) + 30e6,
    ),
}

GROWTH = """
import os, resource
import numpy as np
import kernsift

rng = np.random.default_rng(0)
X, y = rng.uniform(-2, 2, (1000, 3)), rng.standard_normal(1000)
model = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=20, usefulness_tol=0.0, {parameters}).partial_fit(X, y)
page = resource.getpagesize()

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * page

calls, first = {calls}, None
for i in range(calls):
    x = X[i % 1000]
    {work}
    if i == calls // 10:
        first = resident()
print(resident() - first, model.audit_["evicted"])
"""
GROWTHS = {
    "update and predict_one": ("", "model.predict_one(x); model.update(x, y[i % 1000])", 1.0),
    "update with a window": ("window=50", "model.update(x, y[i % 1000])", 1.0),
    "partial_fit and predict": (
        "",
        "model.partial_fit(x[None], y[i % 1000 : i % 1000 + 1]); model.predict(x[None])",
        0.1,
    ),
    "pickle and back": ("", "import pickle; model = pickle.loads(pickle.dumps(model))", 0.1),
}


def _ask(code: str) -> tuple[float, int]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    first, second = out.stdout.split()
    return float(first), int(second)


def run(size: str, say: Any) -> list[str]:
    """Each measurement in a process of its own."""
    n, m, calls = ROWS[size], KERNELS[size], CALLS[size]
    lines = [
        "## Memory",
        "",
        f"{n:,} rows of 10 features, {m} kernels: highest resident memory above that before the call (`ru_maxrss`; the rows",
        "themselves are there before), and what [streams.md](streams.md) allows.",
        "",
        "| call | kernels | peak, MB | allowed, MB | |",
        "|---|---|---|---|---|",
    ]
    for name, (setup, work, allowed) in CASES.items():
        say(f"memory: {name}")
        peak, kernels = _ask(PROBE.format(n=n, m=m, setup=setup, work=work))
        bound = allowed(n, m, 10)
        verdict = "holds" if peak <= bound else "**exceeded**"
        lines.append(f"| {name} | {kernels} | {peak / 1e6:.1f} | {bound / 1e6:.1f} | {verdict} |")
    lines += ["", "Growth of resident memory from a tenth of the calls to the last:", ""]
    lines += ["| calls | how many | growth, kB |", "|---|---|---|"]
    for name, (parameters, work, part) in GROWTHS.items():
        say(f"growth: {name}")
        grown, _ = _ask(GROWTH.format(parameters=parameters, work=work, calls=int(part * calls)))
        lines.append(f"| {name} | {int(part * calls):,} | {grown / 1e3:.0f} |")
    return lines
