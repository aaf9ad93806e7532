"""Drift of the orthonormal engine over long streams, against a reference in extended precision that keeps everything.

The reference is tests/soak/long_batch.cpp: the weighted information of all rows so far as a triangular factor in long
double (64 bits of mantissa on x86), changed by the definitions when a kernel joins or leaves, re-triangularised by
Householder reflections; of a memory that fades, mean and covariance of the coefficients, which return to the prior after
each row.  It shares nothing with the core but the log of who joined and left.  A test holds it against the
oracle in numpy; against itself in 113 bits (`Reference(..., quad=True)`) its own error is a hundredth of the core's or less.
"""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import kernsift
import numpy as np
import oracles
from kernsift.base.targets import Rows
from measure.command import wanted
from measure.page import head, row

from . import page
from .reference import MemoriesReference, Reference, WindowReference

AnyReference = Reference | MemoriesReference | WindowReference

CHECKPOINTS = {
    "quick": [20_000],
    "default": [10_000, 100_000, 300_000],
    "full": [10_000, 100_000, 1_000_000, 10_000_000],
}
BLOCK = 8192
GAMMA = 0.5

# name: parameters, and how the inputs move: "still", or "moving" so that the basis must follow for ever
CONFIGURATIONS: dict[str, tuple[dict[str, Any], str]] = {
    **{
        f"α={alpha:g} TOL1={tol:g}": ({"alpha": alpha, "novelty_tol": tol, "admission": "novelty"}, "still")
        for alpha, tol in [
            (1.0, 1e-1), (1.0, 1e-4), (1.0, 1e-8), (1e-2, 1e-2), (1e-4, 1e-1), (1e-4, 1e-4), (1e-4, 1e-8),
            (1e-8, 1e-1), (1e-8, 1e-2), (1e-8, 1e-4), (1e-8, 1e-6), (1e-8, 1e-8),
        ]
    },
    **{
        f"churn α={alpha:g} TOL1={tol:g}": (
            {"alpha": alpha, "novelty_tol": tol, "max_basis": 15, "usefulness_tol": 0.0, "hysteresis": 0.5}, "moving"
        )
        for alpha, tol in [(1.0, 1e-2), (1e-2, 1e-2), (1e-4, 1e-4), (1e-8, 1e-4)]
    },
    **{
        f"forgetting α={alpha:g} TOL1={tol:g}": (
            {"alpha": alpha, "novelty_tol": tol, "max_basis": 15, "usefulness_tol": 0.0, "forgetting": 0.999}, "moving"
        )
        for alpha, tol in [(1.0, 1e-2), (1e-4, 1e-4), (1e-8, 1e-4)]
    },
    **{
        f"memories α={alpha:g} TOL1={tol:g}": (
            {
                "alpha": alpha, "novelty_tol": tol, "max_basis": 15, "usefulness_tol": 0.0,
                "forgetting": [1.0, 0.9995, 0.998, 0.99],
            },
            "moving",
        )
        for alpha, tol in [(1.0, 1e-2), (0.1, 1e-2)]
    },
    **{
        f"window α={alpha:g} TOL1={tol:g}": (
            {"alpha": alpha, "novelty_tol": tol, "max_basis": 15, "usefulness_tol": 0.0, "window": 100}, "moving"
        )
        for alpha, tol in [(1.0, 1e-2), (1e-4, 1e-4), (1e-8, 1e-4)]
    },
}  # fmt: skip


def stream(moves: str, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows in two features; moving ones wander over a square many widths wide."""
    rng = np.random.default_rng(11)
    for first in range(0, rows, BLOCK):
        n = min(BLOCK, rows - first)
        X = rng.uniform(-1, 1, (n, 2))
        if moves == "moving":
            t = np.arange(first, first + n) / 20_000
            X += 3 * np.column_stack([np.sin(t), np.sin(1.37 * t)])
        yield X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)


def start(name: str) -> tuple[Any, AnyReference, dict[str, Any], str]:
    """An untrained core, its reference, its parameters, and how the inputs move."""
    parameters, moves = CONFIGURATIONS[name]
    plain = {"exact_rows": 0, "swap_until": None, "forgetting": 1.0, "linear": False}
    settings = {"max_basis": None, "usefulness_tol": 1e-4, **plain, **parameters}
    core = kernsift.OnlineLSSVMRegressor(gamma=GAMMA, **settings)._begin(
        Rows(np.zeros((1, 2)), np.zeros((1, 1)), np.ones(1))
    )
    if "window" in parameters:
        return core, WindowReference(GAMMA, parameters["alpha"], parameters["window"]), parameters, moves
    forgetting = parameters.get("forgetting")
    if isinstance(forgetting, list):
        return core, MemoriesReference(core, 2, GAMMA, parameters["alpha"], forgetting), parameters, moves
    return core, Reference(2, GAMMA, parameters["alpha"], forgetting), parameters, moves


def soak(name: str, stops: list[int]) -> Iterator[list[str]]:
    """The errors of one configuration, as cells: at each of its checkpoints what is known by then."""
    core, reference, parameters, moves = start(name)
    begin, seen, cells = time.process_time(), 0, []
    for X, y in stream(moves, stops[-1]):
        cut = [stop - seen for stop in stops if seen < stop <= seen + len(X)]
        for first, end in zip([0, *cut], [*cut, len(X)], strict=True):
            if first == end:
                continue
            try:
                _, outcome, victim = core.learn(X[first:end], y[first:end, None], np.ones(end - first), False)
            except RuntimeError as error:  # a checked build found the state broken
                print(f"{name}: after {seen:,} rows {error}")
                cells += [f"**after {seen:,} rows: {error}**", *["-"] * len(stops)]
                yield [name, str(len(reference.indices)), "-", *cells[: len(stops)]]
                return
            reference.learn(X[first:end], y[first:end], outcome, victim)
            seen += end - first
            if seen in stops:
                cells.append(_error(core, reference, X, parameters))
                print(f"{name}: {seen:,} rows, {cells[-1]}, {time.process_time() - begin:.0f} s of CPU", flush=True)
                gone = core.counters.tolist()[oracles.SWAPPED]
                yield [name, str(core.n_basis), f"{gone:,}", *cells, *[""] * (len(stops) - len(cells))]


def _error(core: Any, reference: AnyReference, X: np.ndarray, parameters: dict[str, Any]) -> str:
    """Largest error of predictions where the rows are now, relative to the largest prediction; or what is broken."""
    from kernsift.stream.health import health

    report = health(core, "orthonormal", parameters["alpha"], parameters.get("max_basis"))
    at = np.ascontiguousarray(X[-200:])
    assert core.indices.tolist() == reference.indices.tolist()
    expected = reference.predict(at)
    error = float(np.abs(core.predict(at)[:, 0] - expected).max() / np.abs(expected).max())
    return f"{error:.0e}" if report["sound"] else f"{error:.0e} **{report['problems'][0]}**"


def names(size: str, only: list[str] | None = None) -> list[str]:
    """The configurations of a size, or those whose name holds one of `only`; those with the fewest kernels first."""
    found = [name for name in CONFIGURATIONS if wanted(name, only)]
    if size == "quick" and only is None:
        found = [found[1], *[n for n in found if " " in n and "=1 " in n and n[0] in "cfmw"]]
    if not found:
        raise SystemExit(f"no configuration of the drift has one of {only} in its name")
    return sorted(found, key=lambda name: -CONFIGURATIONS[name][0]["novelty_tol"])


def run(asked: argparse.Namespace) -> Iterator[list[str]]:
    """The section with one row, again at each checkpoint of each configuration."""
    whole = page.whole_rows(asked.out, section(asked.mode, [])) if asked.resume else set()
    for name in names(asked.mode, asked.only):
        for cells in soak(name, CHECKPOINTS[asked.mode]) if name not in whole else ():
            yield section(asked.mode, [cells])


def section(size: str, rows: list[list[str]]) -> list[str]:
    stops = CHECKPOINTS[size]
    return [
        "## Drift",
        "",
        "Two features, rbf of width 0.5: relative error of predictions against the definition in extended precision",
        "after the number of rows in the table (`tests/soak/drift.py` describes the reference). Without a cap all",
        "kernels stay; with churn, with forgetting (0.999), with the default's four memories (each against a reference of its",
        "own, mixed by the core's weights) and with a window (100 rows, solved afresh by the reference) there are 15 at",
        "most and the inputs wander, so that kernels leave for ever. Problems found by `health()`",
        "at a checkpoint are shown. Rounding the kernel values to double, which nobody can",
        "avoid, moves the exact solution too, the more the smaller α and TOL1 are. Where the line above says *checked*, the",
        "core also held its state against the invariants after every row or run of rows ([testing](testing.md)); a",
        "row that broke one would be named here.",
        "",
        *head(["configuration", "kernels", "left", *(f"{stop:,} rows" for stop in stops)]),
        *map(row, rows),
    ]
