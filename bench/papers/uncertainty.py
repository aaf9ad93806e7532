"""Intervals beside MAPIE's and crepes', log scores beside Gaussian processes, probabilities beside calibrated ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import kernsift
import numpy as np
from scipy.stats import norm
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from .coverage import COVERAGE, of_splits, on_ten_tables, sets
from .registry import Array, Line, Run

# Slabs of a fifth of the rows and more, along so many directions.
_MASS, _DIRECTIONS = 0.2, 200


def splits_of(X: Array, n: int, times: int) -> Iterator[tuple[Array, Array]]:
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(len(X))
        yield order[:n], order[n : n + 1000]


def worst_slab(X: Array, inside: Array) -> float:
    """Part inside in the worst slab, chosen on half of the rows and judged on the others (Cauchois et al. 2021)."""
    rng = np.random.default_rng(0)
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    half = rng.random(len(X)) < 0.5
    worst, chosen = 2.0, None
    for direction in rng.standard_normal((_DIRECTIONS, X.shape[1])):
        along = Z @ direction
        cuts = np.quantile(along[half], np.linspace(0, 1, 11))
        for i in range(10):
            for j in range(i + round(10 * _MASS), 11):
                slab = (along >= cuts[i]) & (along <= cuts[j])
                part = inside[half & slab].mean()
                if part < worst:
                    worst, chosen = part, slab
    assert chosen is not None
    return float(inside[~half & chosen].mean())


@on_ten_tables(
    "CONFORMAL",
    "intervals of nominal 90 % beside MAPIE's (jackknife+ with 20 folds) and crepes' (a quarter held out) on our model",
    "rows | inside: ours, MAPIE, crepes | width over MAPIE's at its coverage | over crepes' | "
    "worst slab: ours, MAPIE, crepes",
)
def conformal(run: Run) -> Iterator[Line]:
    try:
        from crepes import WrapRegressor
        from mapie.regression import CrossConformalRegressor
    except ImportError:
        yield "Needs MAPIE and crepes: pip install mapie crepes."
        return

    def model() -> Any:
        return kernsift.SubsetLSSVMRegressor(gamma="standard", max_basis=100, random_state=0)

    for name, X, y in list(sets(run))[:: 5 if run.brief else 1]:
        found = []
        for train, new in splits_of(X, 300, run.times(3, 10)):
            mapie = CrossConformalRegressor(model(), confidence_level=COVERAGE, cv=20, random_state=0)
            mapie.fit_conformalize(X[train], y[train])
            theirs = mapie.predict_interval(X[new])[1][:, :, 0].T
            crepes = WrapRegressor(model())
            crepes.fit(X[train[75:]], y[train[75:]])
            crepes.calibrate(X[train[:75]], y[train[:75]])
            split = crepes.predict_int(X[new], confidence=COVERAGE).T
            lower, upper = model().fit(X[train], y[train]).predict_interval(X[new], COVERAGE)
            reach = np.abs(y[new] - (lower + upper) / 2) / (upper - lower) * 2
            line, slabs = [np.mean(reach <= 1)], [worst_slab(X[new], reach <= 1)]
            ratios = []
            for low, high in (theirs, split):
                hit = (low <= y[new]) & (y[new] <= high)
                line.append(hit.mean())
                slabs.append(worst_slab(X[new], hit))
                ratios.append(np.quantile(reach, hit.mean()) * np.mean(upper - lower) / np.mean(high - low))
            found.append([*line, *ratios, *slabs])
        mean = np.mean(found, axis=0)
        inside, slabs = (", ".join(f"{part:.3f}" for part in parts) for parts in (mean[:3], mean[5:]))
        yield f"{name}, 300", inside, f"{mean[3]:.3f}", f"{mean[4]:.3f}", slabs
    yield (
        "Ours are scaled to contain as many of the new rows as theirs before widths are compared. A slab contains a "
        "fifth of the rows or more; the worst of 200 directions is chosen on half of the new rows and judged on the "
        "others."
    )


def gaussian_process(d: int, each: bool = False) -> Any:
    """Of one width for the standardised columns, or one for each."""
    width = np.full(d, np.sqrt(d)) if each else np.sqrt(d)
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(width, (1e-2, 1e3)) + WhiteKernel(0.1, (1e-6, 1e2))
    process = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0)
    return make_pipeline(StandardScaler(), process)


def log_score(model: Any, X: Array, y: Array) -> tuple[float, float]:
    """Mean log density of new rows, and the part inside the normal band of 95 %."""
    mean, std = model.predict(X, return_std=True)
    z = (y - mean) / std
    return float(norm.logpdf(z).mean() - np.log(std).mean()), float(np.mean(np.abs(z) < norm.ppf(0.975)))


@on_ten_tables(
    "LOGSCORE",
    "mean log density of new rows beside a Gaussian process of scikit-learn's tuned by evidence; higher is better",
    "rows | LSSVM, learned widths, alpha by leave-one-out | KernelRegressor | process of one width | of one a column | "
    "KernelRegressor is",
)
def log_scores(run: Run) -> Iterator[Line]:
    for name, X, y in list(sets(run))[:: 5 if run.brief else 1]:
        models: list[Any] = [
            kernsift.LSSVMRegressor(gamma="learn", alpha="loo"),
            kernsift.KernelRegressor(random_state=0),
            gaussian_process(X.shape[1]),
            gaussian_process(X.shape[1], each=True),
        ]
        found = []
        for train, new in splits_of(X, 300, run.times(2, 5)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scales, and bounds of the process's kernel
                found.append([log_score(model.fit(X[train], y[train]), X[new], y[new])[0] for model in models])
        scores = np.mean(found, axis=0)
        rival = 2 + int(scores[2:].argmax())
        front, process = scores[1], scores[rival]
        differences = np.array(found)[:, 1] - np.array(found)[:, rival]
        error = 2 * differences.std(ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.inf
        word = "as good" if abs(front - process) <= error else "better" if front > process else "worse"
        yield f"{name}, 300", *(f"{score:.3f}" for score in scores), word
    yield "Beside the better of the two processes; as good: within two standard errors of the difference."


@of_splits(
    "OROLSBAND",
    "part of new rows inside the normal band of 95 % after few rows, beside a Gaussian process tuned by evidence",
    "rows | OROLS | Gaussian process | difference",
)
def few_rows(run: Run) -> Iterator[Line]:
    for n in (10, 20, 50):
        found = []
        for seed in range(run.times(20, 100)):
            rng = np.random.default_rng(seed)
            X, new = rng.uniform(-3, 3, (n, 1)), rng.uniform(-3, 3, (500, 1))
            y, t = (np.sin(2 * Z[:, 0]) + 0.2 * rng.standard_normal(len(Z)) for Z in (X, new))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                models = kernsift.OROLSRegressor(gamma=1.0), gaussian_process(1)
                found.append([log_score(model.fit(X, y), new, t)[1] for model in models])
        ours, process = np.mean(found, axis=0)
        yield str(n), f"{ours:.3f}", f"{process:.3f}", f"{ours - process:+.3f}"
    yield "A sine with noise of a fifth."


def classes_of(run: Run) -> Iterator[tuple[str, Array, Array]]:
    rng = np.random.default_rng(0)
    for name, load in (
        ("breast cancer", datasets.load_breast_cancer),
        ("wine", datasets.load_wine),
        ("digits", datasets.load_digits),
    ):
        yield name, *load(return_X_y=True)
    yield "moons", *datasets.make_moons(2000, noise=0.35, random_state=0)
    codes = rng.integers(4, size=2000)
    centres = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    yield "four overlapping", centres[codes] + 0.9 * rng.standard_normal((2000, 2)), codes


def calibration_error(probabilities: Array, codes: Array) -> float:
    """Mean over fifteen bins of the largest probability: how far it is from the part that is right."""
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    place = np.minimum((15 * sure).astype(int), 14)
    return float(sum(abs((sure - right)[place == b].sum()) for b in range(15)) / len(codes))


@of_splits(
    "CALIBRATION",
    "log loss and calibration error (in brackets) of probabilities beside CalibratedClassifierCV of an SVM",
    "rows | LSSVM | SparseLSSVM | SubsetLSSVM | KernelClassifier | OROLS | OnlineLSSVM | SVM, sigmoid | "
    "SVM, isotonic | OROLS in CalibratedClassifierCV",
)
def calibration(run: Run) -> Iterator[Line]:
    how: dict[str, Any] = {"gamma": "standard"}
    models: list[Any] = [
        kernsift.LSSVMClassifier(alpha="loo", **how),
        kernsift.SparseLSSVMClassifier(**how),
        kernsift.SubsetLSSVMClassifier(random_state=0, **how),
        kernsift.KernelClassifier(random_state=0),
        kernsift.OROLSClassifier(**how),
        make_pipeline(StandardScaler(), kernsift.OnlineLSSVMClassifier()),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), method="sigmoid")),
        make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), method="isotonic")),
        CalibratedClassifierCV(kernsift.OROLSClassifier(**how)),
    ]
    for name, X, labels in list(classes_of(run))[:: 4 if run.brief else 1]:
        classes, y = np.unique(labels, return_inverse=True)
        n = min(len(X) // 2, 600)
        found = []
        for train, new in splits_of(X, n, run.times(2, 5)):
            line = []
            for model in models:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    p = model.fit(X[train], y[train]).predict_proba(X[new])
                loss = log_loss(y[new], np.clip(p, 1e-15, 1), labels=range(len(classes)))
                line.append([loss, calibration_error(p, y[new])])
            found.append(line)
        yield f"{name}, {n}", *(f"{loss:.3f} ({error:.3f})" for loss, error in np.mean(found, axis=0))
