"""The stream at full size: ``python -m benchmarks.reach_stream --data FOLDER [what ...]`` in ``bench/``.

what: cap quiet single forest threads memory long (default: all but long, which takes minutes).  CPU seconds of one
thread, rivals one after the other in the same run.  The C++ rivals (``bench/native``) are compiled with ``c++``:
the papers' algorithm with whole matrices, and dlib's ``krls`` (Debian's libdlib-dev), each skipped with a line if it
cannot be.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from .bench_blocks import NOISE, dgemm_peak
from .common import SEED, Array, kernsift
from .reach_subset import clock, forest
from .recursion import Recursion

NATIVE = Path(__file__).parents[1] / "native"
TOL1, TOL2, GAMMA = 1e-2, 1e-4, 1 / 54
PAPER = {"novelty_tol": TOL1, "usefulness_tol": TOL2, "exact_rows": 0, "swap_until": None, "fit_intercept": False}


@cache
def native(name: str, folder: str) -> Path | None:
    """The compiled rival, at the CPU level kernsift runs at, or None."""
    level = kernsift.build_config()["cpu_level"]
    out = Path(folder) / name
    command = ["c++", "-std=c++17", "-O3", "-DNDEBUG", "-w", f"-I{NATIVE}", "-DEIGEN_MPL2_ONLY"]
    command += ["-march=native" if level == "baseline" else f"-march=x86-64-{level}"]
    command += [f"-I{p}" for p in _eigen()] + [str(NATIVE / f"{name}.cpp")]
    if name == "dlib_krls":
        command += ["-DDLIB_USE_BLAS", "-DDLIB_USE_LAPACK", "-ldlib", "-lblas", "-llapack"]
    done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: skipped, it does not compile here ({(done.stderr.splitlines() or ['?'])[0]})")
        return None
    return out


def _eigen() -> list[str]:
    """Where Eigen's headers are: the system's, or those of the build requirement."""
    found = [Path("/usr/include/eigen3")]
    found += [Path(p) / "cmeel.prefix/include/eigen3" for p in sys.path]
    return [str(p) for p in found if p.exists()][:1]


def run_program(program: Path, X: Array, y: Array, *arguments: float, test: Array | None = None) -> list[float]:
    """The numbers a rival prints, given the rows in a file, and in another those of `test`."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, (rows, targets) in enumerate([(X, y)] + ([] if test is None else [(test, np.zeros(len(test)))])):
            files.append(Path(folder) / str(i))
            with files[-1].open("wb") as file:
                np.ascontiguousarray(rows).tofile(file)
                np.ascontiguousarray(targets).tofile(file)
        command = [str(program), str(files[0]), str(len(X)), str(X.shape[1]), *map(repr, arguments)]
        if test is not None:
            command += [str(files[1]), str(len(test))]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(word) for word in text.split()]


def run_native(name: str, X: Array, y: Array, *arguments: float) -> list[float] | None:
    """What the rival prints, or None where it cannot be compiled."""
    program = native(name, _compiled())
    return None if program is None else run_program(program, X, y, *arguments)


@cache
def _compiled() -> str:
    return tempfile.mkdtemp(prefix="kernsift-rivals-")


def cap(data: Path) -> None:
    """Growing and pruning: forest 10k by the papers' rule, against the literal algorithm in C++ and in numpy."""
    X, y, *_ = forest(data, 10_000)
    alpha = 0.1
    for m in (100, 300, 500):
        ours = kernsift.OnlineLSSVMRegressor(gamma=GAMMA, alpha=alpha, max_basis=m, **PAPER)
        a = clock(lambda ours=ours: ours.fit(X, y), 2)
        # L^-1 k, C w and the rank-one update of every row, two solves with L' for the scores of a candidate; a swap
        # turns .3 m coordinates of C and L on average and solves once more
        count = ours.audit_
        candidates, swaps = count["admitted"] + count["bounced"], count["evicted"]
        flops = len(X) * (2 * m * X.shape[1] + 4 * m * m) + m * m * (2 * candidates + 3.2 * swaps)
        line = (
            f"cap forest 10k m={m}: {a:.3f} s, {1e6 * a / len(X):.1f} us a row, {flops / a / dgemm_peak():.2f} of dgemm"
        )
        if literal := run_native("literal", X, y, GAMMA, alpha, TOL1, TOL2, m):
            b = min(literal[0], run_native("literal", X, y, GAMMA, alpha, TOL1, TOL2, m)[0])
            assert abs(literal[2] - ours.predict(X[:1])[0]) < 1e-6, "the same rule, the same model"
            line += f"; literal rows in C++ {b:.3f} s: {b / a:.1f}x"
        slow = Recursion(X.shape[1], GAMMA, alpha, TOL1, m, TOL2)
        c = clock(lambda slow=slow: slow.learn(X, y), 1)
        assert np.abs(slow.predict(X[:50]) - ours.predict(X[:50])).max() < 1e-6, "the same rule, the same model"
        print(f"{line}; numpy {c:.1f} s: {c / a:.0f}x")


def quiet_row(m: int, engine: str, X: Array, y: Array, rows: int) -> float:
    """Seconds a row of m kernels that nothing is added to."""
    model = kernsift.OnlineLSSVMRegressor(
        gamma=5.0 / X.shape[1],
        alpha=1.0,
        novelty_tol=0.5,
        admission="novelty",
        max_basis=None,
        fit_intercept=False,
        engine=engine,
    )
    model.partial_fit(X[:m], y[:m])
    if engine == "orthonormal":
        model.partial_fit(X[m : 4 * m], y[m : 4 * m])  # long enough to be known as quiet
    few = slice(m, m + rows)
    seconds = clock(lambda: model.partial_fit(X[few], y[few]))
    assert model.n_basis_ == m
    return seconds / rows


def quiet(data: Path) -> None:
    """A stable dictionary: against the explicit recursion row by row, dlib, and the dgemm of the same run."""
    rng = np.random.default_rng(SEED)
    d, n = 54, 20_000
    for m in (100, 300, 500, 1000):
        centres = 3.0 * rng.standard_normal((m, d))
        X = centres[rng.integers(m, size=n)] + NOISE * rng.standard_normal((n, d)) / np.sqrt(d)
        X, y = np.concatenate([centres, X]), np.sin(np.concatenate([centres[:, 0], X[:, 0]]))
        ours, rows = quiet_row(m, "orthonormal", X, y, n), quiet_row(m, "inverse", X, y, 1000)
        fraction = (2 * m * d + 2 * m * m) / ours / dgemm_peak()
        line = f"quiet m={m} d={d}: {1e6 * ours:.2f} us a row, {fraction:.2f} of dgemm; row by row {rows / ours:.1f}x"
        few = slice(0, m + 1000)
        if rival := run_native("dlib_krls", X[few], y[few], 5.0 / d, 0.5, m):
            assert rival[1] == m, "dlib keeps the same centres"
            line += f"; dlib::krls {1e6 * rival[0]:.1f} us: {rival[0] / ours:.0f}x"
        print(line)


def one_pass(
    data: Path, n: int, sizes: tuple[int, ...] = (100, 300, 500), seeds: tuple[int, ...] = (0, 1, 2), most: int = 3
) -> None:
    """Test error of one pass and after a second one, and the seconds, over orders of the rows."""
    X, y, test, truth = forest(data, n)
    for m, oversample in product(sizes, range(1, most + 1)):
        errors, again, spent = [], [], []
        for seed in seeds:
            order = np.random.default_rng(seed).permutation(n)
            model = kernsift.OnlineLSSVMRegressor(
                gamma=GAMMA, alpha=1e-5 * n, max_basis=m, oversample=oversample, fit_intercept=False
            )
            begin = time.thread_time()
            model.fit(X[order], y[order])
            spent.append(time.thread_time() - begin)
            assert model.n_basis_ == m
            errors.append(100 * np.mean(np.sign(model.predict(test)) != truth))
            model.refit(X, y)
            again.append(100 * np.mean(np.sign(model.predict(test)) != truth))
        print(
            f"forest {n // 1000}k m={m} oversample={oversample}: {np.mean(errors):.2f} ± {np.std(errors):.2f} % in one "
            f"pass ({min(spent):.2f} s), {np.mean(again):.2f} % after refit"
        )


def forest_(data: Path) -> None:
    """10k and 50k rows, defaults but for the width and the ridge, and two or three times the kernels until the end."""
    one_pass(data, 10_000)
    one_pass(data, 50_000)


def long(data: Path) -> None:
    """500k rows in one pass, beside OLS-59 on 50k."""
    one_pass(data, 500_000, sizes=(500,), seeds=(0,), most=2)
    X, y, test, truth = forest(data, 50_000)
    rival = kernsift.OROLSRegressor(
        gamma=GAMMA, alpha=0.5, selection="error-reduction", n_candidates=59, max_basis=500, stop=None,
        fit_intercept=False, random_state=0,
    )  # fmt: skip
    seconds = clock(lambda: rival.fit(X, y), 1)
    error = 100 * np.mean(np.sign(rival.predict(test)) != truth)
    print(f"OLS-59 forest 50k m=500: {error:.2f} %, {seconds:.1f} s")


def single(data: Path) -> None:
    """A row by `update`, the Python call included, beside the linear model of river in the same run."""
    try:
        from river import linear_model
    except ImportError:
        print("single: skipped, river is not installed")
        return
    X, y, *_ = forest(data, 4000)
    rows = {i: dict(enumerate(map(float, x))) for i, x in enumerate(X)}
    few = range(2000, 4000)
    for m in (50, 100):
        ours = kernsift.OnlineLSSVMRegressor(gamma=GAMMA, max_basis=m, swap_until=1).partial_fit(X[:2000], y[:2000])
        assert ours.n_basis_ == m
        rivals = {
            "LinearRegression": linear_model.LinearRegression(),
            "LogisticRegression": linear_model.LogisticRegression(),
        }
        a = clock(lambda ours=ours: [ours.update(X[i], y[i]) for i in few])
        line = f"single m={m} d={X.shape[1]}: update {1e6 * a / len(few):.1f} us"
        for name, rival in rivals.items():
            b = clock(lambda rival=rival: [rival.learn_one(rows[i], y[i] > 0) for i in few])
            line += f"; river's {name} {1e6 * b / len(few):.1f} us: {a / b:.2f} of it"
        print(line)


def threads(data: Path) -> None:
    """CPU seconds of the process on two threads over one, and the same bits."""
    X, y, *_ = forest(data, 50_000)
    model = kernsift.OnlineLSSVMRegressor(gamma=GAMMA, alpha=0.5, max_basis=500).fit(X[:10_000], y[:10_000])
    for what in ("refit", "predict"):
        spent, answers = {}, {}
        for _ in range(3):
            for jobs in (1, 2):
                model.set_params(n_jobs=jobs)
                begin = time.process_time()
                if what == "refit":
                    model.refit(X, y)
                answers[jobs] = model.predict(X[:2000] if what == "refit" else X)
                spent[jobs] = min(spent.get(jobs, np.inf), time.process_time() - begin)
        assert np.array_equal(answers[1], answers[2])
        print(f"threads {what} forest 50k m=500: CPU {spent[2] / spent[1]:.3f} of one thread's, the same bits")


_PROBE = """
import sys
import numpy as np
from benchmarks.common import kernsift
def highest():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
rng = np.random.default_rng(0)
X, y = rng.standard_normal((1_000_000, 5)), rng.standard_normal(1_000_000)
model = kernsift.OnlineLSSVMRegressor(gamma=1.0, alpha=1.0, max_basis=500, swap_until=2000).fit(X[:3000], y[:3000])
assert model.n_basis_ == 500
model.partial_fit(X[:3000], y[:3000]).predict(X[:3000])
before = highest()
getattr(model, sys.argv[1])(*((X,) if sys.argv[1] == "predict" else (X, y)))
print(highest() - before)
"""


def memory(data: Path) -> None:
    """Growth of the largest resident size on a million rows with 500 kernels, the answers included."""
    for what in ("partial_fit", "refit", "predict"):
        out = subprocess.run([sys.executable, "-c", _PROBE, what], capture_output=True, text=True, check=True)
        print(f"memory n=10^6 m=500 {what}: {float(out.stdout):.1f} MB")


WORK = {
    "cap": cap, "quiet": quiet, "single": single, "forest": forest_, "threads": threads, "memory": memory, "long": long
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the papers' data sets")
    parser.add_argument("what", nargs="*", default=[w for w in WORK if w != "long"], help=" ".join(WORK))
    options = parser.parse_args()
    for what in options.what:
        WORK[what](options.data)
