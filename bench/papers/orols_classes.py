"""Andelić et al., "Order-recursive updates for nonlinear discriminants", table 2: classification.

The kernel is exp(-|x - x'|² / (2σ²)); σ by 5-fold cross-validation on training rows only, as in the paper. Ours may
keep as many kernels as the paper's models and no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from kernsift import LSSVMClassifier, OROLSClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from .registry import Array, Line, Row, Run, table

FOLDS = 5
Folds = list[tuple[Array, Array]]


def width(sigma: float) -> float:
    return 1.0 / (2.0 * sigma**2)


# name: errors of OROLS and of the SVM in the paper, fraction of rows per class in %, σ to compare, rows that do
# unless --full
SETS = {
    "pendigits": (1.66, 2.5, 1.9, [25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 60.0], 10_000),
    "optdigits": (1.11, 2.73, 10.2, [13.0, 15.0, 16.5, 18.0, 21.0, 25.0], 10_000),
    "satimage": (8.2, 7.8, 7.5, [15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 22.0, 24.0], 10_000),
    "usps": (4.4, 4.3, 10.0, [5.0, 6.0, 6.5, 7.0, 7.5, 8.5], 3_000),
    "letter": (2.61, 2.75, 4.3, [1.5, 2.0, 2.5, 3.0, 4.0], 4_000),
}
# Work, in units of rows x kernels² x classes, above which only --full runs a variant.
MOST_WIDE, MOST_OLS, MOST_CV = 2e10, 6e9, 3e9
MOST_SHARED = 1_500  # kernels of one dictionary
DENSE_ROWS = 7_500
TUNING_ROWS = 1_000  # of the rivals


def wrong(model: object, X: Array, y: Array) -> float:
    return 100.0 * float(np.mean(model.predict(X) != y))  # type: ignore[attr-defined]


def fit(sigma: float, X: Array, y: Array, share: float, basis: str, rule: str, factors: tuple[float, ...]) -> object:
    many = {"n_candidates": 59, "random_state": 0} if rule == "error-reduction" else {}
    widths = [width(f * sigma) for f in factors]
    return OROLSClassifier(basis=basis, gammas=widths, stop=None, max_basis=share / 100.0, selection=rule, **many).fit(
        X, y
    )


def best_sigma(
    fit: Callable[[float, Array, Array], object],
    error: Callable[[object, Array, Array], float],
    sigmas: list[float],
    X: Array,
    y: Array,
    folds: Folds,
) -> float:
    """The σ of the least mean error over the folds."""
    scores = [
        np.mean([error(fit(sigma, X[train], y[train]), X[test], y[test]) for train, test in folds]) for sigma in sigmas
    ]
    return sigmas[int(np.argmin(scores))]


def rivals(run: Run, X: Array, y: Array, sigmas: list[float]) -> Iterator[tuple[str, float | None, object, str]]:
    """Machines with a kernel on every row, tuned on training rows."""
    some = np.random.default_rng(20025).permutation(len(X))[: run.choose(600, TUNING_ROWS, TUNING_ROWS)]
    grid = {"C": [1.0, 3.0, 10.0, 30.0], "gamma": [width(sigma) for sigma in sigmas]}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=20021)
    search = GridSearchCV(SVC(), grid, cv=folds, refit=False).fit(X[some], y[some])
    best = search.best_params_
    model = SVC(**best).fit(X, y)
    yield "SVM", len(model.support_), model, f"C = {best['C']:g}, σ = {(2 * best['gamma']) ** -0.5:.3g}"
    if len(X) <= DENSE_ROWS:
        tuned = LSSVMClassifier(gamma="loo", gammas=grid["gamma"], alpha="loo").fit(X[some], y[some])
        gamma = float(tuned.gamma_[0])
        dense = LSSVMClassifier(gamma=gamma, alpha=tuned.alpha_).fit(X, y)
        yield "dense LS-SVM", len(X), dense, f"α = {tuned.alpha_:.2g}, σ = {(2 * gamma) ** -0.5:.3g}"


@table(
    "OROLS2",
    "Andelić et al. 2007, table 2: test error in %, one against the rest",
    seeds="folds 20021, rows that compare σ 20022, rivals' rows 20025, candidates 0",
    data=tuple(SETS),
)
def classification(run: Run) -> Iterator[Line]:
    names = ["satimage"] if run.brief else list(SETS)
    for name in names:
        paper, svm, percent, sigmas, comparing = SETS[name]
        data = run.load(name)
        X, T = data["X_train"].astype(float), data["X_test"].astype(float)
        y, t = data["y_train"], data["y_test"]
        if run.brief:
            few = np.random.default_rng(20026).permutation(len(X))[:1500]
            X, y, sigmas = X[few], y[few], sigmas[1::3]
        some = np.random.default_rng(20022).permutation(len(X))[: run.choose(600, comparing, 10**9)]
        folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=20021).split(X[some], y[some]))
        work = len(X) * (percent / 100.0 * len(X)) ** 2 * len(np.unique(y))
        # label, basis, rule, percent of rows, factors of σ, σ to compare (none: the σ of the line before). One
        # dictionary for all classes wants wider kernels.
        one = (1.0,)
        variants = [("", "per-class", "residual", percent, one, sigmas)]
        if run.mode == "full" or work <= MOST_WIDE:
            compared = [] if run.mode != "full" and work > MOST_CV else sigmas
            variants.append((", OLS-59", "per-class", "error-reduction", percent, one, compared))
        if run.mode == "full" or work <= MOST_OLS:
            variants.append((", three widths", "per-class", "residual", percent, (0.7, 1.0, 1.4), []))
        variants.append((", shared basis", "shared", "residual", percent, one, [1.5 * sigma for sigma in sigmas]))
        if run.mode == "full" or 3 * percent / 100.0 * len(X) <= MOST_SHARED:
            variants.append((", shared basis × 3", "shared", "residual", 3 * percent, one, []))
        sigma, first = 0.0, np.zeros(len(t), dtype=bool)
        for label, basis, rule, share, factors, compared in variants:
            begin = time.process_time()
            if compared:
                sigma = best_sigma(
                    partial(fit, share=share, basis=basis, rule=rule, factors=factors),
                    wrong,
                    compared,
                    X[some],
                    y[some],
                    folds,
                )
            estimator = fit(sigma, X, y, share, basis, rule, factors)
            missed = estimator.predict(T) != t  # type: ignore[attr-defined]
            if not label:
                first = missed
            per_class = 100.0 * estimator.n_basis_per_class_.mean() / len(X)  # type: ignore[attr-defined]
            yield Row(
                name + label,
                paper,
                100.0 * missed.mean(),
                paper_kernels=f"{percent:g} % a class",
                kernels=f"{per_class:.1f} % a class, {estimator.n_basis_} in all",  # type: ignore[attr-defined]
                seconds=time.process_time() - begin,
                settings=f"σ = {sigma:g}{' · ' + str(factors) if len(factors) > 1 else ''}, by CV on {len(some)} rows",
                standard_error=binomial(missed),
                note="" if label else "the paper's protocol",
            )
        distances = []
        begin = time.process_time()
        for label, kernels, model, settings in rivals(run, X, y, sigmas):
            missed = model.predict(T) != t  # type: ignore[attr-defined]
            yield Row(
                f"{name}, {label}",
                svm if label == "SVM" else None,
                100.0 * missed.mean(),
                kernels=f"{kernels}",
                seconds=time.process_time() - begin,
                settings=settings,
                standard_error=binomial(missed),
                note="scikit-learn's SVC" if label == "SVM" else "every row",
            )
            difference = first.astype(float) - missed
            distances.append(
                f"{100 * difference.mean():+.2f} ± {100 * difference.std() / len(t) ** 0.5:.2f} against the {label}"
            )
        yield (
            f"{name}: {first.sum()} of {len(t)} test rows missed by the first line, "
            f"{round(paper / 100 * len(t))} by the paper's; standard error {binomial(first):.2f} points. "
            f"On the same rows: {', '.join(distances)}."
        )


def binomial(missed: Array) -> float:
    """Standard error of an error rate in %, from the size of the test set."""
    return 100.0 * float(missed.std() / len(missed) ** 0.5)
