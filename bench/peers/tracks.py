"""Streams that drift, and the tables of others that can be repeated offline: river's own track and its generators."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import Any

import kernsift
import numpy as np
from kernsift.datasets import mackey_glass_drift, rotating_sine
from measure import page

from . import drift_rivals
from .measures import Array

TITLE = "Streams: drift, and the tracks of others"
ABOUT = """Each row is predicted, then learned. Ours is the default model with 100 kernels, nothing chosen per stream.
Above, series with drift, seeds 0 to 4: beside the default the single memory that is best in hindsight, of seven. Then
filters and models fitted again on a window, each with the settings that are best for that very series. Below, river's
data sets and generators (seed 42), its models at their own settings behind a `StandardScaler`, and the best figure
published for that stream, on river's benchmark page or in KappaML's table. Error is RMSE in standard deviations of the
targets above, MAE below; classes in % right. Rows before the first prediction count as wrong, or as predicted by 0. In
brackets are microseconds of CPU time a row and, below, the kilobytes of the pickled model after the last row. Dates are
hours and days of the week; of the flow of water every model is also given the last target."""
KERNELS = 100
MEMORIES = (1.0, 0.9999, 0.9995, 0.999, 0.998, 0.995, 0.99)
ROWS = {"quick": 600, "default": 4000, "full": 10_000}


# --- series with drift ------------------------------------------------------------------------------------------------


def friedman_drift(n: int, seed: int) -> tuple[Array, Array]:
    from river.datasets import synth

    return arrays(synth.FriedmanDrift(position=(n // 4, n // 2, 3 * n // 4), seed=seed).take(n))


DRIFT: dict[str, Callable[[int, int], tuple[Array, Array]]] = {
    "Mackey-Glass with drift": lambda n, seed: mackey_glass_drift(n, random_state=seed),
    "Friedman drift (river)": friedman_drift,
    "rotating sine": lambda n, seed: rotating_sine(n, random_state=seed),
}


def error(X: Array, y: Array, **settings: Any) -> float:
    found = kernsift.OnlineLSSVMRegressor(max_basis=KERNELS, **settings).prequential(X, y)
    known = ~np.isnan(found.error)
    return float(np.sqrt(np.mean(found.error[known] ** 2)) / y.std())


def followed(mode: str) -> Iterator[str]:
    """The default beside rivals with the settings that were best for each stream, and microseconds a row."""
    absent = {name for name in drift_rivals.RIVALS if name.startswith("LightGBM") and not find_spec("lightgbm")}
    names = [name for name in drift_rivals.RIVALS if name not in absent]
    yield from page.head(("stream", "seed", "ours (µs a row)", *names))
    for name, make in DRIFT.items():
        for seed in range(1 if mode == "quick" else 5):
            X, y = make(ROWS[mode], seed)
            begin = time.process_time()
            own = error(X, y), 1e6 * (time.process_time() - begin) / len(y)
            found = [own, *(drift_rivals.tuned(rival, X, y)[:2] for rival in names)]
            yield page.row((name, str(seed), *(f"{e:.4f} ({spent:.0f})" for e, spent in found)))


def drifting(mode: str) -> Iterator[str]:
    yield from page.head(("stream", "seed", "default", "best single memory", "which", "no forgetting"))
    for name, make in DRIFT.items():
        for seed in range(1 if mode == "quick" else 5):
            X, y = make(ROWS[mode], seed)
            ours = error(X, y)
            single = {memory: error(X, y, forgetting=memory) for memory in MEMORIES}
            best = min(single, key=lambda memory: single[memory])
            cells = f"{ours:.4f}", f"{single[best]:.4f}", f"{best:g}", f"{single[1.0]:.4f}"
            yield page.row((name, str(seed), *cells))


# --- river's data sets and generators ---------------------------------------------------------------------------------


@dataclass
class Track:
    """A stream of river's, the best published figure for it, and whether that is of classes."""

    make: Callable[[], Any]
    published: float | None
    classes: bool = False
    whole: bool = False  # a data set, read to its end
    lags: int = 0  # last targets among the features


def tracks() -> dict[str, Track]:
    from river import datasets
    from river.datasets import synth

    data = {
        "TrumpApproval": Track(datasets.TrumpApproval, 0.269, whole=True),
        "ChickWeights": Track(datasets.ChickWeights, 23.1, whole=True),
        "WaterFlow": Track(datasets.WaterFlow, None, whole=True, lags=1),
        "Bananas": Track(datasets.Bananas, 88.94, classes=True, whole=True),
        "Phishing": Track(datasets.Phishing, 91.35, classes=True, whole=True),
    }
    made = {
        "Friedman": Track(lambda: synth.Friedman(seed=42), 2.073),
        "FriedmanDrift": Track(lambda: synth.FriedmanDrift(seed=42, position=(2500, 5000, 7500)), 2.373),
        "Planes2D": Track(lambda: synth.Planes2D(seed=42), 1.922),
        "Agrawal": Track(lambda: synth.Agrawal(seed=42), 98.3, classes=True),
        "Hyperplane": Track(lambda: synth.Hyperplane(seed=42, n_features=10), 88.4, classes=True),
        "LED": Track(lambda: synth.LED(seed=42), 98.2, classes=True),
        "Mixed": Track(lambda: synth.Mixed(seed=42), 97.8, classes=True),
        "RandomRBF": Track(lambda: synth.RandomRBF(seed_model=42, seed_sample=42), 93.2, classes=True),
        "SEA": Track(lambda: synth.SEA(seed=42), 98.4, classes=True),
        "Sine": Track(lambda: synth.Sine(seed=42), 98.4, classes=True),
        "Waveform": Track(lambda: synth.Waveform(seed=42), 80.6, classes=True),
    }
    return {**data, **made}


def numbers(x: dict[str, Any]) -> list[float]:
    """A row's numbers; of a date the hour and the day of the week."""
    found = []
    for value in x.values():
        if isinstance(value, datetime):
            found += [value.hour + value.minute / 60, float(value.weekday())]
        elif isinstance(value, (bool, int, float)):
            found.append(float(value))
    return found


def arrays(rows: Any) -> tuple[Array, Any]:
    """Numbers of the rows, a column a feature, and targets."""
    pairs = list(rows)
    return np.array([numbers(x) for x, _ in pairs]), np.array([y for _, y in pairs])


def rivals(classes: bool, mode: str) -> dict[str, Callable[[], Any]]:
    """river's models; those that take minutes only where everything is measured."""
    from river import forest, neighbors, preprocessing, rules, tree

    def scaled(make: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: preprocessing.StandardScaler() | make()

    if classes:
        quick = {"tree": tree.HoeffdingAdaptiveTreeClassifier, "kNN": neighbors.KNNClassifier}
        slow = {"forest": forest.ARFClassifier}
    else:
        quick = {"tree": tree.HoeffdingAdaptiveTreeRegressor, "kNN": neighbors.KNNRegressor, "rules": rules.AMRules}
        slow = {"forest": forest.ARFRegressor}
    return {name: scaled(make) for name, make in {**quick, **(slow if mode == "full" else {})}.items()}


def score(truth: Any, predicted: Any, classes: bool) -> float:
    """% right, or mean absolute error; a row that is not predicted counts as wrong, or as predicted by 0."""
    if classes:
        return 100.0 * float(np.mean([p == t for p, t in zip(predicted, truth, strict=True)]))
    known = np.array([0.0 if p is None or np.isnan(p) else p for p in predicted])
    return float(np.mean(np.abs(truth - known)))


Found = tuple[float, float, float]  # score, microseconds a row, kilobytes of the pickled model


def ours(X: Array, y: Any, track: Track) -> Found:
    kind = kernsift.OnlineLSSVMClassifier if track.classes else kernsift.OnlineLSSVMRegressor
    model, lags = kind(max_basis=KERNELS), {"target_lags": track.lags} if track.lags else {}
    begin = time.process_time()
    predicted = model.prequential(X, y, **lags).y_pred
    spent = time.process_time() - begin
    return score(y, predicted, track.classes), 1e6 * spent / len(y), len(pickle.dumps(model)) / 1e3


def followed_by(model: Any, X: Array, y: Any) -> tuple[float, list[Any]]:
    """Microseconds a row, and the predictions of a model of river's, made before each row was learned."""
    rows, predicted = [dict(enumerate(row)) for row in X.tolist()], []
    begin = time.process_time()
    for x, target in zip(rows, y.tolist(), strict=True):
        predicted.append(model.predict_one(x))
        model.learn_one(x, target)
    return 1e6 * (time.process_time() - begin) / len(y), predicted


def theirs(make: Callable[[], Any], X: Array, y: Any, track: Track) -> Found:
    if track.lags:
        last = [np.concatenate([np.zeros(lag), y[:-lag]]) for lag in range(1, track.lags + 1)]
        X = np.column_stack([X, *last])
    model = make()
    spent, predicted = followed_by(model, X, y)
    return score(y, predicted, track.classes), spent, len(pickle.dumps(model)) / 1e3


def published(mode: str) -> Iterator[str]:
    names = ("tree", "kNN", "rules", "forest")
    rivals_of = [f"river {name}" for name in names]
    yield from page.head(("stream", "rows", "ours (µs a row, kB)", *rivals_of, "last value", "best published"))
    for name, track in tracks().items():
        rows = track.make()
        X, y = arrays(rows if track.whole and mode != "quick" else rows.take(ROWS[mode]))
        found = {"ours": ours(X, y, track)}
        for rival, make in rivals(track.classes, mode).items():
            found[rival] = theirs(make, X, y, track)
        cells = ["{:.4g} ({:.0f}, {:.0f})".format(*found[k]) if k in found else "" for k in ("ours", *names)]
        last = score(y, [None, *y[:-1].tolist()], track.classes)
        yield page.row((name, str(len(y)), *cells, f"{last:.4g}", str(track.published or "")))


def table(mode: str, rounds: int) -> Iterator[str]:
    """The lines of the page, as they become known."""
    yield from drifting(mode)
    yield ""
    yield from followed(mode)
    yield ""
    yield from published(mode)
