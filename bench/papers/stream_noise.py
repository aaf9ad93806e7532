"""Intervals of streams whose noise depends on the input: the worst inputs, any time, and what it costs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import kernsift
import numpy as np
from kernsift.datasets import mackey_glass_drift
from measure.clock import timed

from .coverage import COVERAGE, by_fifth, of_splits, on_ten_tables, uneven_sets
from .registry import Array, Line, Run

FORMS = ("constant", "auto", "input")


def update(model: Any, X: Array, y: Array) -> None:
    for x, target in zip(X, y.tolist(), strict=True):
        model.update(x, target)


LEARN = {"update": update, "partial_fit": kernsift.OnlineLSSVMRegressor.partial_fit}


def friedman(n: int, seed: int, uneven: bool) -> tuple[Array, Array]:
    """Friedman's function, whose columns change places twice (river's FriedmanDrift), and noise."""
    rng = np.random.default_rng(seed)
    X, out = rng.uniform(0, 1, (n, 5)), np.empty(n)
    orders = ((0, 1, 2, 3, 4), (3, 1, 4, 0, 2), (2, 0, 1, 4, 3))
    for part, order in zip(np.array_split(np.arange(n), 3), orders, strict=True):
        a, b, c, d, e = X[part][:, order].T
        out[part] = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    return X, out + np.exp(2 * X[:, 3] - 1 if uneven else 0) * rng.standard_normal(n)


def streams(run: Run, seed: int) -> Iterator[tuple[str, int | None, Array, Array]]:
    """A name, the column that the noise depends on or None, rows and targets."""
    order = np.random.default_rng(seed).permutation
    for name, _, column, X, y in uneven_sets(run):
        rows = order(len(X))
        yield name, column, X[rows], y[rows]
    rng = np.random.default_rng(seed)
    X, e, late = rng.uniform(-3, 3, (5000, 1)), rng.standard_normal(5000), np.arange(5000) > 2500
    yield "parabola, mean jumps", 0, X, np.sin(2 * X[:, 0] + 2 * late) + (0.05 + 0.08 * X[:, 0] ** 2) * e
    yield "parabola, heavy tails", 0, X, np.sin(2 * X[:, 0]) + (0.05 + 0.08 * X[:, 0] ** 2) * rng.standard_t(3, 5000)
    yield "Friedman drift, uneven", 3, *friedman(5000, seed, uneven=True)
    yield "Friedman drift", 3, *friedman(5000, seed, uneven=False)
    yield "Mackey-Glass with drift", None, *mackey_glass_drift(5000, random_state=seed)


def judged(X: Array, y: Array, column: int | None, noise: str) -> dict[str, Any]:
    """Of a stream, after its first rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kernsift.OnlineLSSVMRegressor(max_basis=100, noise=noise).prequential(
            X, y, return_std=True, coverage=COVERAGE
        )
    later = slice(500 if len(y) > 1000 else 150, None)
    inside = (found.lower <= y) & (y <= found.upper)
    z, place = found.error[later] / found.std[later], (found.y_pred if column is None else X[:, column])[later]
    whole = inside[200:] if len(y) > 1000 else inside[100:]
    rolling = np.convolve(whole, np.full(1000, 1e-3), "valid") if len(whole) >= 1000 else np.full(1, whole.mean())
    quarters = [part.mean() for part in np.array_split(whole, 4)]
    return {
        "fifths": by_fifth(place, inside[later]),
        "width": np.mean((found.upper - found.lower)[later]),
        "inside": whole.mean(),
        "least": (min(quarters), rolling.min()),
        "most": (max(quarters), rolling.max()),
        "density": np.mean(-0.5 * z**2 - np.log(found.std[later])),
        "error": np.sqrt(np.mean(found.error[later] ** 2)),
    }


@on_ten_tables(
    "STREAMNOISE",
    "nominal 90 % on streams, each row before it is learned: the worst fifth of the inputs, widths, and any time",
    "stream, rows | noise | worst fifth | width | inside | quarters | rolling 1,000 | log density | error",
)
def stream_noise(run: Run) -> Iterator[Line]:
    seeds = run.times(5, 20)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for seed in range(seeds):
        for name, column, X, y in list(streams(run, seed))[:: 4 if run.brief else 1]:
            if run.wants(name):
                of_name = found.setdefault(f"{name}, {len(y)}", {form: [] for form in FORMS})
                for form in FORMS:
                    of_name[form].append(judged(X, y, column, form))
    for name, forms in found.items():
        mean = {form: {key: np.mean([each[key] for each in of], axis=0) for key in of[0]} for form, of in forms.items()}
        least = {form: np.min([each["least"] for each in of], axis=0) for form, of in forms.items()}
        most = {form: np.max([each["most"] for each in of], axis=0) for form, of in forms.items()}
        for form in FORMS:
            one, constant = mean[form], mean["constant"]
            ranges = (f"{low:.3f}-{high:.3f}" for low, high in zip(least[form], most[form], strict=True))
            yield (
                name,
                form,
                f"{one['fifths'].min():.3f}",
                f"{one['width'] / constant['width']:.3f}",
                f"{one['inside']:.3f}",
                *ranges,
                f"{one['density'] - constant['density']:+.3f}",
                f"{one['error'] / constant['error']:.3f}",
            )
    yield (
        "The default stream with 100 kernels. Fifths of the inputs are along the column that the noise depends on, or "
        "by the prediction; a fifth's part inside, after the first 500 rows (150 of boston), is a mean over the seeds. "
        "Quarters and rolling: the lowest and highest of all seeds (boston has 100 rows a quarter, and no thousand). "
        'Width, log density and root mean square error beside noise="constant".'
    )


@of_splits(
    "STREAMCOST",
    "what noise that depends on the input costs: microseconds a row, of `update` and of `partial_fit` in blocks",
    "kernels | verb | constant | auto over constant | input over constant",
)
def stream_cost(run: Run) -> Iterator[Line]:
    rows, rounds = run.choose(500, 2000, 4000), run.times(5, 15)
    for m in (100, 500)[: 1 if run.brief else 2]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((4 * m + (rounds + 1) * rows, 10))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(len(X))
        models = {form: kernsift.OnlineLSSVMRegressor(gamma=0.1, max_basis=m, noise=form) for form in FORMS}
        for model in models.values():
            model.partial_fit(X[: 4 * m], y[: 4 * m])
        for verb in LEARN:
            spent: dict[str, list[float]] = {form: [] for form in FORMS}
            for number in range(rounds):
                part = slice(4 * m + number * rows, 4 * m + (number + 1) * rows)
                for form, model in models.items():
                    _, seconds = timed(partial(LEARN[verb], model, X[part], y[part]))
                    spent[form].append(1e6 * seconds / rows)
            ratios = (np.median(np.divide(spent[form], spent["constant"])) for form in FORMS[1:])
            yield str(m), verb, f"{np.median(spent['constant']):.1f}", *(f"{ratio:.2f}" for ratio in ratios)
    yield "Rows of ten features, widths given; the three models take turns. Medians; of ratios, within a turn."
