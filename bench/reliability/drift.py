"""Drift of the orthonormal engine over long streams, against a reference in extended precision that keeps everything.

The reference is `BatchModel` of tests/oracles.py: the weighted information of all rows so far as a triangular factor in
long double (64 bits of mantissa on x86), changed by the definitions when a kernel joins or leaves, re-triangularised by
Householder reflections.  It shares nothing with the core but the log of who joined and left; its own rounding, 1e-19
times the condition, lies below the digits shown.  Fading multiplies its rows, and the ridge stays.
"""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import kernsift
import numpy as np
import oracles

CHECKPOINTS = {
    "quick": [20_000],
    "middle": [10_000, 100_000, 300_000],
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


class Reference:
    """The batch solution of the rows so far, by the core's log."""

    def __init__(self, alpha: float, forgetting: float) -> None:
        self.model = oracles.BatchModel(oracles.kernel_function("rbf", GAMMA), alpha, compress=True)
        self.model.basis = np.zeros((0, 2), self.model.dtype)
        self.forgetting = np.longdouble(forgetting)
        self.period = round(0.25 / (1 - forgetting)) if forgetting < 1 else None
        self.since = 0

    def learn(self, X: np.ndarray, y: np.ndarray, outcome: np.ndarray, victim: np.ndarray) -> None:
        model = self.model
        events = np.flatnonzero(np.isin(outcome, (oracles.ADMITTED, oracles.SWAPPED))).tolist()
        X, Y = X.astype(model.dtype), y[:, None].astype(model.dtype)
        place = 0
        for event in [*events, len(X)]:
            while place < event:  # rows that change no kernel, as far as the next fading
                n = event - place if self.period is None else min(event - place, self.period - self.since)
                part = slice(place, place + n)
                model._append(X[part], Y[part], self._weights(n))
                model.n_seen += n
                place += n
                self._age(n)
            if event < len(X):
                model._grow(X[event], Y[event], self._weights(1)[0])
                if outcome[event] == oracles.SWAPPED:
                    model._delete(int(victim[event]))
                model.n_seen += 1
                place += 1
                self._age(1)

    def _weights(self, n: int) -> np.ndarray:
        if self.period is None:
            return np.ones(n, self.model.dtype)
        return self.forgetting ** -(self.since + np.arange(n)).astype(np.longdouble)

    def _age(self, n: int) -> None:
        if self.period is not None:
            self.since += n
            if self.since == self.period:
                self.model._weights[: self.model._size] *= self.forgetting**self.period
                self.since = 0


def soak(name: str, stops: list[int], say: Any) -> list[str]:
    """The errors of one configuration at its checkpoints, as cells."""
    parameters, moves = CONFIGURATIONS[name]
    settings = {"max_basis": None, "usefulness_tol": 1e-4, "exact_rows": 0, "swap_until": None, **parameters}
    core = kernsift.OnlineLSSVMRegressor(gamma=GAMMA, **settings)._start(np.zeros((1, 2)), np.ones(1), 1)
    reference = Reference(parameters["alpha"], parameters.get("forgetting", 1.0))
    begin, seen, cells, last = time.process_time(), 0, [], None
    for X, y in stream(moves, stops[-1]):
        cut = [stop - seen for stop in stops if seen < stop <= seen + len(X)]
        for first, end in zip([0, *cut], [*cut, len(X)], strict=True):
            if first == end:
                continue
            _, outcome, victim = core.learn(X[first:end].copy(), y[first:end, None].copy(), np.ones(end - first), False)
            reference.learn(X[first:end], y[first:end], outcome, victim)
            seen += end - first
            if seen in stops and seen != last:
                last = seen
                cells.append(_error(core, reference, X, parameters))
                say(f"{name}: {seen:,} rows, {cells[-1]}, {time.process_time() - begin:.0f} s of CPU")
    counts = dict(zip(range(8), core.counters.tolist(), strict=True))
    kernels, gone = core.n_basis, counts[oracles.SWAPPED]
    return [name, str(kernels), f"{gone:,}", *cells]


def _error(core: Any, reference: Reference, X: np.ndarray, parameters: dict[str, Any]) -> str:
    """Largest error of predictions where the rows are now, relative to the largest prediction; or what is broken."""
    from kernsift._health import health

    report = health(core, parameters["alpha"], parameters.get("max_basis"))
    truth = reference.model.solve()
    at = X[-200:]
    assert core.indices.tolist() == truth.indices.tolist()
    expected = truth.predict(at)
    error = float(np.abs(core.predict(np.ascontiguousarray(at)) - expected).max() / np.abs(expected).max())
    return f"{error:.0e}" if report["sound"] else f"{error:.0e} **{report['problems'][0]}**"


def run(size: str, say: Any, only: list[str] | None = None) -> list[str]:
    """One row a configuration."""
    stops = CHECKPOINTS[size]
    names = [n for n in CONFIGURATIONS if only is None or any(part in n for part in only)]
    if size == "quick" and only is None:
        names = [names[1], *[n for n in names if " " in n and "=1 " in n and n[0] in "cf"]]
    assert oracles.EXTENDED, "the reference needs a long double wider than double"
    rows = [soak(name, stops, say) for name in names]
    return [
        "## Drift",
        "",
        "Two features, rbf of width 0.5: relative error of predictions against the batch solution in extended precision",
        "after so many rows (`bench/reliability/drift.py` says how it can know). Without a cap all kernels stay; with churn",
        "and with forgetting (0.999) there are 15 at most and the inputs wander, so that kernels leave for ever. `health()`",
        "is asked at every checkpoint, and what it finds is shown. Rounding the kernel values to double, which nobody can",
        "avoid, moves the exact solution too, the more the smaller α and TOL1 are.",
        "",
        "| configuration | kernels | left | " + " | ".join(f"{stop:,} rows" for stop in stops) + " |",
        "|---|---|---|" + "---|" * len(stops),
        *["| " + " | ".join(row) + " |" for row in rows],
    ]
