"""One pass over a stream: error and time with the settings that go beyond the papers.

``python stream_table.py --data FOLDER --out FILE``

Six data sets, the rows in random order, the first pass only.  Times are CPU seconds of one thread, errors those of
test rows, means over the seeds.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor
from selector_table import load
from threadpoolctl import threadpool_limits

SETS = ("covtype", "letter", "pendigits", "satimage", "abalone", "friedman1")
SIZES = (100, 300)
SEEDS = 3

#: What a stream of n rows at a cap of m kernels is given.
SETTINGS: dict[str, Any] = {
    "the papers'": lambda n, m: {"exact_rows": 0, "swap_until": None},
    "hysteresis 0.1": lambda n, m: {"exact_rows": 0, "swap_until": None, "hysteresis": 0.1},
    "swap until 20 m": lambda n, m: {"exact_rows": 0, "swap_until": min(20 * m, n // 2)},
    "exact on 500 rows": lambda n, m: {"exact_rows": 500, "swap_until": None},
    "exact on 500 rows, swap until 20 m": lambda n, m: {"exact_rows": 500, "swap_until": min(20 * m, n // 2)},
    "twice the kernels, pruned at the end": lambda n, m: {"exact_rows": 0, "swap_until": None, "oversample": 2},
    "twice, exact on 500 rows, swap until 20 m": lambda n, m: {
        "exact_rows": 500,
        "swap_until": min(40 * m, n // 2),
        "oversample": 2,
    },
}


def table(data: Path, name: str, seeds: int) -> list[str]:
    """One data set."""
    X, y, test, truth, classes, gamma = load(data, name)
    kind = "error %" if classes else "RMSE (target's SD)"
    lines = [
        f"## {name}: {len(X)} rows, {X.shape[1]} features, gamma {gamma:.3g}, {kind}",
        "",
        "| settings | " + " | ".join(f"m = {m}" for m in SIZES) + " |",
        "|---|" + "---|" * len(SIZES),
    ]
    make = OnlineLSSVMClassifier if classes else OnlineLSSVMRegressor
    for what, settings in SETTINGS.items():
        cells = []
        for m in SIZES:
            errors, spent = [], []
            for seed in range(seeds):
                order = np.random.default_rng(seed).permutation(len(X))
                model = make(gamma=gamma, max_basis=m, **settings(len(X), m))
                begin = time.thread_time()
                model.fit(X[order], y[order])
                spent.append(time.thread_time() - begin)
                guess = model.predict(test)
                wrong = 100 * np.mean(guess != truth) if classes else np.sqrt(np.mean((guess - truth) ** 2))
                errors.append(wrong)
            cells.append(f"{np.mean(errors):.{2 if classes else 3}f} ± {np.std(errors):.1g} · {min(spent):.2f} s")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return [*lines, ""]


INTRO = """# One pass over a stream, and what goes beyond the papers

Written by `bench/stream_table.py`; run it again to check it on your machine.  Each cell is the error on test rows
after one pass (mean and spread of {seeds} orders of the rows) and the CPU seconds of one thread.  Widths are round
numbers and the ridge is the default: compare inside one table.

{machine}
"""


def main(data: Path, out: Path, seeds: int) -> None:
    """All tables into one page."""
    threadpool_limits(1)
    built = kernsift.build_config()
    machine = f"kernsift {kernsift.__version__} ({built['cpu_level']}), Python {platform.python_version()}, one thread."
    lines = [INTRO.format(seeds=seeds, machine=machine)]
    for name in SETS:
        print(name, flush=True)
        lines += table(data, name, seeds)
    out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the papers' data sets")
    parser.add_argument("--out", type=Path, required=True, help="the page to write")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    main(options.data, options.out, options.seeds)
