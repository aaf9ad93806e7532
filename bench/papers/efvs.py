"""Figure 1 of Cawley and Talbot (2002): FVS and EFVS on the Boston housing data.

``python papers/efvs.py --data FOLDER [--out FOLDER]`` in ``bench/`` prints run time and mean relative reconstruction
error against basis size, for several ρ (ν = all) and several ν (ρ = 59), and draws the figure if matplotlib is there.
The paper gives no numbers, so what is reproduced are its four claims, which are checked and printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from kernsift import FeatureVectorSelector
from numpy.typing import NDArray

Array = NDArray[np.float64]

SIZES = (10, 25, 50, 75, 100, 150, 200)
RHOS = (1, 10, 59, 200, None)
NUS = (10, 59, 200, None)
REPEATS = 5
GAMMA = 1 / 13


def boston(data: Path) -> Array:
    """The 13 inputs, standardised."""
    with np.load(data / "boston.npz") as file:
        X = file["X"].astype(np.float64)
    return (X - X.mean(0)) / X.std(0)


def measure(X: Array, rho: int | None, nu: int | None) -> tuple[Array, Array]:
    """Milliseconds of CPU for each size, and the exact error after each, means over the repeats."""
    spent, error = np.full(len(SIZES), np.inf), np.zeros(len(SIZES))
    for seed in range(REPEATS):
        for i, n in enumerate(SIZES):
            model = FeatureVectorSelector(
                gamma=GAMMA, n_components=n, n_candidates=rho, n_eval=nu, candidate_tol=1e-10, random_state=seed
            )
            begin = time.thread_time()
            model.fit(X)
            spent[i] = min(spent[i], 1e3 * (time.thread_time() - begin))
            error[i] += model.reconstruction_error_ / REPEATS
    return spent, error


def run(data: Path) -> dict[tuple[int | None, int | None], tuple[Array, Array]]:
    """All curves by (ρ, ν)."""
    X = boston(data)
    pairs = [(rho, None) for rho in RHOS] + [(59, nu) for nu in NUS if nu is not None]
    return {pair: measure(X, *pair) for pair in pairs}


def report(curves: dict[tuple[int | None, int | None], tuple[Array, Array]]) -> str:
    """The curves as a table, and what they say about the paper's claims."""
    head = "  ".join(f"{n:>13}" for n in SIZES)
    lines = [f"{'rho':>5} {'nu':>5}  {head}   (ms, error at each basis size)"]
    for (rho, nu), (spent, error) in curves.items():
        cells = "  ".join(f"{t:6.1f} {e:6.4f}" for t, e in zip(spent, error, strict=True))
        lines.append(f"{rho or 'all':>5} {nu or 'all':>5}  {cells}")
    full, fast, both = curves[None, None], curves[59, None], curves[59, 59]
    lines += [
        "",
        f"59 candidates, judged on all: error at most {max(fast[1] / full[1]):.2f} times that of all candidates",
        f"59 candidates on 59 rows: error at most {max(both[1] / full[1]):.2f} times",
        f"one candidate (random): error {curves[1, None][1][-1] / full[1][-1]:.1f} times at {SIZES[-1]} vectors",
    ]
    return "\n".join(lines)


def draw(curves: dict[tuple[int | None, int | None], tuple[Array, Array]], file: Path) -> None:
    """The four panels of the figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 7), sharex=True)
    rows: list[tuple[str, list[tuple[int | None, int | None]]]] = [
        ("ρ", [(rho, None) for rho in RHOS]),
        ("ν", [(59, nu) for nu in NUS]),
    ]
    for (name, pairs), line in zip(rows, axes, strict=True):
        panel: Any
        for panel, which, label in zip(line, (0, 1), ("CPU ms", "mean relative reconstruction error"), strict=True):
            for pair in pairs:
                value = pair[0] if name == "ρ" else pair[1]
                panel.semilogy(SIZES, curves[pair][which], ".-", label=f"{name} = {value or '∞'}")
            panel.set_ylabel(label)
            panel.legend(fontsize=8)
    for panel in axes[1]:
        panel.set_xlabel("basis vectors")
    figure.suptitle("FVS and EFVS on Boston housing (figure 1 of Cawley and Talbot, 2002)")
    figure.tight_layout()
    figure.savefig(file, dpi=120)


try:  # in the command of this folder; on its own the module needs nothing of it
    from registry import Row, Run, table
except ImportError:
    pass
else:

    @table("EFVS1", "003, figure 1: mean relative reconstruction error on boston against basis size")
    def _listed(command: Run) -> Iterator[Row]:
        for (rho, nu), (spent, error) in run(command.data).items():
            for n, milliseconds, e in zip(SIZES, spent, error, strict=True):
                yield Row(
                    item=f"ρ = {rho or 'all'}, ν = {nu or 'all'}",
                    paper=None,
                    ours=float(e),
                    repetitions=REPEATS,
                    kernels=str(n),
                    seconds=milliseconds / 1e3,
                    settings="gamma = 1/13",
                )


def main(data: Path, out: Path | None = None) -> str:
    """Everything: what a command that knows all papers calls."""
    curves = run(data)
    if out is not None:
        draw(curves, out / "efvs-figure-1.png")
    return report(curves)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the papers' data sets")
    parser.add_argument("--out", type=Path, help="folder for the picture")
    options = parser.parse_args()
    print(main(options.data, options.out))
