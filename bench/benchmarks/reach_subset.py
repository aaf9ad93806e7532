"""The subset benchmarks at full size: ``python -m benchmarks.reach_subset --data FOLDER [what ...]`` in ``bench/``.

what: fit memory efvs fvs pruned equal stream (default: all but stream, which takes minutes).  CPU seconds of one
thread, rivals in the same process one after the other.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_friedman1

from .bench_subset import dgemm, nystroem_ridge
from .common import Array, kernsift
from .selection_rivals import efvs, literal_fvs, ols59, ols59_gram_schmidt, rbf


def clock(work: Callable[[], object], rounds: int = 3) -> float:
    """Best CPU time of `rounds`."""
    best = np.inf
    for _ in range(rounds):
        begin = time.thread_time()
        work()
        best = min(best, time.thread_time() - begin)
    return best


def forest(data: Path, n: int) -> tuple[Array, Array, Array, Array]:
    """Class 2 against the rest as ±1, standardised; 20 000 of the 81 012 rows after the first 500 000 to test on."""
    with np.load(data / "covtype.npz") as file:
        X, y = file["X"].astype(np.float64), np.where(file["y"] == 2, 1.0, -1.0)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = (X - X.mean(0)) / X.std(0), y
    train, test = order[:n], order[500_000:520_000]
    return np.ascontiguousarray(X[train]), y[train], np.ascontiguousarray(X[test]), y[test]


def regression(data: Path, name: str, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """abalone as published or friedman1 drawn; standardised inputs and target, a fifth to test on."""
    if name == "friedman1":
        X, y = make_friedman1(12_500, noise=1.0, random_state=seed)
    else:
        with np.load(data / f"{name}.npz") as file:
            X, y = file["X"].astype(np.float64), file["y"].astype(np.float64)
    X, y = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    order = np.random.default_rng(seed).permutation(len(X))
    X, y, k = np.ascontiguousarray(X[order]), y[order], len(X) // 5
    return X[k:], y[k:], X[:k], y[:k]


def fit(data: Path) -> None:
    """m = 500 on the same landmarks as Nystroem and Ridge."""
    X, y, test, _ = forest(data, 50_000)
    rival = nystroem_ridge(X, 1 / 54, 500, 0.5).fit(X, y)
    ours = kernsift.SubsetLSSVMRegressor(gamma=1 / 54, alpha=0.5, basis=rival[0].component_indices_).fit(X, y)
    off = np.abs(ours.predict(test) - rival.predict(test)).max()
    peak = dgemm(1500)
    a, b = clock(lambda: ours.fit(X, y)), clock(lambda: rival.fit(X, y), 2)
    print(f"fit forest 50k m=500: {a:.3f} s, Nystroem+Ridge {b:.3f} s: {b / a:.2f}x; largest difference {off:.1e}")
    flops = len(X) * (2 * 500 * 54 + 500**2)
    print(f"  {flops / a / 1e9:.1f} GF/s on 2md + m², dgemm {1e-9 / peak:.1f}: {flops * peak / a:.2f} of it")
    c = clock(lambda: ours.accumulate(X, y))
    flops = len(X) * (2 * 500 * 54 + 2 * 500**2)
    print(f"  accumulate (orthonormal): {c:.3f} s, {flops * peak / c:.2f} of dgemm on 2md + 2m²")
    p, q = clock(lambda: ours.predict(test)), clock(lambda: rival.predict(test))
    print(f"  predict: {p / len(test) * 1e6:.2f} us a row, Nystroem+Ridge {q / len(test) * 1e6:.2f}: {q / p:.1f}x")


_PROBE = """
import sys
import numpy as np
from benchmarks.bench_subset import nystroem_ridge
from benchmarks.common import kernsift
def highest():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
rng = np.random.default_rng(0)
X, y = rng.standard_normal((50_000, 54)), rng.standard_normal(50_000)
if sys.argv[1] == "ours":
    model = kernsift.SubsetLSSVMRegressor(gamma=1 / 54, alpha=0.5, basis=np.arange(500))
else:
    model = nystroem_ridge(X, 1 / 54, 500, 0.5)
model.fit(X[:1000], y[:1000])
before = highest()
model.fit(X, y)
print(highest() - before)
"""


def memory(data: Path) -> None:
    """Growth of the largest resident size by a fit of 50k rows, after a fit of 1000."""
    for who in ("ours", "Nystroem+Ridge"):
        out = subprocess.run([sys.executable, "-c", _PROBE, who], capture_output=True, text=True, check=True)
        print(f"memory n=50k m=500: {who} {float(out.stdout):.1f} MB")


def efvs_(data: Path) -> None:
    """EFVS on forest 10k, n = 500, rho = nu = 59."""
    X, *_ = forest(data, 10_000)
    rng = np.random.default_rng(0)
    for cache in (200.0, 1.0):
        ours = kernsift.FeatureVectorSelector(gamma=1 / 54, n_components=500, random_state=0, cache_size=cache)
        a, b = clock(lambda ours=ours: ours.fit(X)), clock(lambda: efvs(X, 1 / 54, 500, 59, 59, rng), 2)
        error = []
        for chosen in (ours.basis_indices_, efvs(X, 1 / 54, 500, 59, 59, rng)):
            L = np.linalg.cholesky(rbf(X[chosen], X[chosen], 1 / 54))
            error.append(1 - (np.linalg.solve(L, rbf(X[chosen], X, 1 / 54)) ** 2).sum(0).mean())
        print(f"efvs forest 10k n=500 cache {cache} MB: {a:.3f} s, numpy {b:.3f} s: {b / a:.2f}x; residual {error}")


def fvs(data: Path) -> None:
    """FVS on boston."""
    with np.load(data / "boston.npz") as file:
        X = file["X"].astype(np.float64)
    X = (X - X.mean(0)) / X.std(0)
    ours = kernsift.FeatureVectorSelector(gamma=1 / 13, n_components=20, n_candidates=None, n_eval=None)
    a = clock(lambda: ours.fit(X))
    K = rbf(X, X, 1 / 13)
    b = clock(lambda: literal_fvs(K, 20), 1)
    same = set(ours.basis_indices_.tolist()) == set(literal_fvs(K, 20))
    print(f"fvs boston n=20: {a * 1e3:.2f} ms, literal {b:.2f} s: {b / a:.0f}x; the same rows: {same}")


def pruned(data: Path) -> None:
    """Over-select, then delete, against OLS-59 with the same fit after it."""
    sets = {"forest 10k": forest(data, 10_000)}
    sets |= {name: regression(data, name) for name in ("friedman1", "abalone")}
    for name, (X, y, test, truth) in sets.items():
        for m in (100, 300, 500) if name.startswith("forest") else (100, 300):
            _race(name, X, y, test, truth, m)


def _race(name: str, X: Array, y: Array, test: Array, truth: Array, m: int, seeds: int = 3) -> None:
    """Seconds and error of every oversampling and every form of OLS-59: read the ratio where the errors meet."""
    gamma = 1 / 54 if name.startswith("forest") else 1 / (2 * X.shape[1])
    ridge = 1e-5 * len(X)

    def error(model: Any) -> float:
        e = model.predict(test) - truth
        return float(np.mean(np.abs(e) > 1) if name.startswith("forest") else np.sqrt(np.mean(e**2)))

    def ours(seed: int, oversample: float) -> Any:
        return kernsift.SubsetLSSVMRegressor(
            gamma=gamma, max_basis=m, random_state=seed, oversample=oversample, keep_path=False
        ).fit(X, y)

    def core(seed: int) -> NDArray[np.int64]:
        rival = kernsift.OROLSRegressor(
            gamma=gamma, selection="error-reduction", n_candidates=59, alpha=ridge, stop=None, max_basis=m,
            random_state=seed,
        )  # fmt: skip
        return rival.fit(X, y).basis_indices_

    rivals: dict[str, Callable[[int], Any]] = {
        "normal equations, numpy": lambda seed: ols59(X, y, gamma, m, ridge, np.random.default_rng(seed)),
        "Gram-Schmidt, numpy": lambda seed: ols59_gram_schmidt(X, y, gamma, m, ridge, np.random.default_rng(seed)),
        "Gram-Schmidt, OROLSRegressor": core,
    }
    spent: dict[str, float] = {}
    wrong: dict[str, float] = {}
    for oversample in (2.0, 2.5, 3.0):
        runs = [_cpu(lambda s=seed, o=oversample: ours(s, o)) for seed in range(seeds) for _ in range(2)]
        spent[f"{oversample}m"] = min(t for t, _ in runs)
        wrong[f"{oversample}m"] = float(np.mean([error(model) for _, model in runs]))
    for rival, choose in rivals.items():
        runs = [_cpu(lambda s=seed, c=choose: c(s)) for seed in range(seeds if rival.startswith("normal") else 1)]
        spent[rival] = min(t for t, _ in runs)
        fits = [kernsift.SubsetLSSVMRegressor(gamma=gamma, basis=np.array(chosen)).fit(X, y) for _, chosen in runs]
        wrong[rival] = float(np.mean([error(model) for model in fits]))
    for rival in rivals:
        print(f"pruned {name} m={m}: OLS-59 ({rival}) {spent[rival]:.3f} s, error {wrong[rival]:.4f}")
    for start in ("2.0m", "2.5m", "3.0m"):
        parts = ", ".join(f"1/{spent[rival] / spent[start]:.1f}" for rival in rivals)
        print(f"  from {start}: {spent[start]:.4f} s, error {wrong[start]:.4f}: {parts}", flush=True)


def _cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.thread_time()
    answer = work()
    return time.thread_time() - begin, answer


def equal(data: Path) -> None:
    """Seconds to the same error on forest 50k, and of a prediction."""
    X, y, test, truth = forest(data, 50_000)
    rows = []
    for m in (300, 400, 500):
        model = kernsift.SubsetLSSVMClassifier(gamma=1 / 54, max_basis=m, random_state=0)
        a = clock(lambda model=model: model.fit(X, y), 1)
        rows.append(
            (f"pruned m={m}", a, np.mean(model.predict(test) != truth), clock(lambda model=model: model.predict(test)))
        )
    for m in (500, 1000):
        rival = nystroem_ridge(X, 1 / 54, m, 0.5)
        a = clock(lambda rival=rival: rival.fit(X, y), 1)
        wrong = np.mean(np.sign(rival.predict(test)) != truth)
        rows.append((f"Nystroem+Ridge m={m}", a, wrong, clock(lambda rival=rival: rival.predict(test))))
    for name, a, error, p in rows:
        print(
            f"equal error forest 50k: {name}: {a:.2f} s, {100 * error:.2f} %, predict {p / len(test) * 1e6:.2f} us",
            flush=True,
        )


def _million(folder: str) -> str | None:
    """A Parquet file of a million rows, 20 features and a target; None without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return None
    X, y = _rows(1_000_000)
    columns = {f"x{j}": X[:, j] for j in range(20)} | {"y": y}
    pyarrow.parquet.write_table(pyarrow.table(columns), f"{folder}/rows.parquet", row_group_size=50_000)
    return f"{folder}/rows.parquet"


def _rows(n: int) -> tuple[Array, Array]:
    X = np.random.default_rng(0).standard_normal((n, 20))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def _batches(file: str | None, rows: int, sizes: list[int]) -> Iterator[tuple[Array, Array]]:
    """Blocks of 50 000 rows, from the file over and over; notes the resident size every million rows."""
    X, y = _rows(50_000)
    for _ in range(rows // 1_000_000):
        if file is None:
            for _ in range(20):
                yield X, y
        else:
            import pyarrow.parquet

            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=50_000):
                block = np.stack([column.to_numpy() for column in batch.columns], axis=1)
                yield np.ascontiguousarray(block[:, :-1]), np.ascontiguousarray(block[:, -1])
        with open("/proc/self/status") as status:
            sizes.append(next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS")))


def stream(data: Path, rows: int = 10_000_000) -> None:
    """Ten million rows, d = 20, m = 500, from Parquet where pyarrow is there, else from memory."""
    model = kernsift.SubsetLSSVMRegressor(gamma=1 / 20, basis=_rows(500)[0])
    peak = dgemm(1500)
    sizes: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        file = _million(folder)
        spent, _ = _cpu(lambda: model.fit_batches(_batches(file, rows, sizes)))
    flops = rows * (2 * 500 * 20 + 2 * 500**2)
    print(
        f"stream {rows} rows ({'Parquet' if file else 'memory'}): {spent:.1f} s with the reading, "
        f"{flops * peak / spent:.2f} of dgemm ({1e-9 / peak:.1f} GF/s); resident MB after each million rows {sizes}"
    )


PARTS = {"fit": fit, "memory": memory, "efvs": efvs_, "fvs": fvs, "pruned": pruned, "equal": equal, "stream": stream}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the papers' data sets")
    parser.add_argument("what", nargs="*", help=" ".join(PARTS))
    options = parser.parse_args()
    for what in options.what or [name for name in PARTS if name != "stream"]:
        PARTS[what](options.data)
