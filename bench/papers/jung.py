"""Jung & Polani, "Sequential learning with LS-SVM for large-scale data sets": tables 1 and 2, figure 1.

The kernels are not printed. Table 1's are those whose KRLS keeps as many kernels as the paper's: exp(-|x - x'|²/16) on
standardised boston and abalone (Sex coded 1 to 3), 4.2 on standardised sinc. Forest is exp(-|x - x'|²/54), which gives
the paper's OLS-59. No width, ridge or threshold was chosen on test rows. Where the text has two readings, the one that
gives the printed dictionary sizes (table 1) or the behaviour of the printed figures (table 2) stands for the paper's
method, the other beside it in parentheses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor, OROLSClassifier, OROLSRegressor
from measure import data
from measure.clock import peak_memory, timed

from .registry import AS_PRINTED, Array, Line, Row, Run, spread, table

TOL1, TOL2 = 1e-2, 1e-4
Model = OnlineLSSVMRegressor | OROLSRegressor


@dataclass
class Problem:
    """A training and a test part, inputs and (but for sinc) targets standardised on the training part."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    gamma: float


def scaled(X: Array, y: Array, train: Array, test: Array, gamma: float) -> Problem:
    target = (y - y[train].mean()) / y[train].std()
    A, B = data.standardised(X[train], X[test])
    return Problem(A, target[train], B, target[test], gamma)


def problem(name: str, run: Run, rng: np.random.Generator) -> Problem:
    if name == "sinc":
        x = rng.uniform(-10, 10, 2000)
        noise = 0.2 * rng.standard_normal(1000)
        scale = x[:1000].std()
        z = (x / scale)[:, None]
        # the test is on the function itself, as an error of 5e-4 beside a noise variance of 0.04 shows
        return Problem(z[:1000], np.sinc(x[:1000] / np.pi) + noise, z[1000:], np.sinc(x[1000:] / np.pi), 4.2)
    table = run.load(name)
    X, y = table["X"].astype(float), table["y"].astype(float)
    order = rng.permutation(len(X))
    train = {"boston": 400, "abalone": 3000}[name]
    return scaled(X, y, order[:train], order[train:], 1 / 16)


def online(gamma: float, **settings: Any) -> OnlineLSSVMRegressor:
    """The paper's method: both thresholds, no limit of kernels, and nothing that `fit` adds."""
    printed = {"alpha": 0.3, "novelty_tol": TOL1, "usefulness_tol": TOL2, "max_basis": None, **AS_PRINTED}
    return OnlineLSSVMRegressor(gamma=gamma, fit_intercept=False, **{**printed, **settings})


METHODS: dict[str, Callable[[float], Model]] = {
    "OLS+GCV": lambda gamma: OROLSRegressor(gamma=gamma, selection="error-reduction", alpha="gcv", fit_intercept=False),
    "KRLS": lambda gamma: online(gamma, alpha=0.0, admission="novelty"),
    "ours, product rule": lambda gamma: online(gamma),
    "ours, per sample": lambda gamma: online(gamma, admission="per-sample"),
}
# (error, spread, kernels) of table 1; both our rules stand beside the paper's one line
PAPER: dict[str, dict[str, tuple[float, float | None, str]]] = {
    "sinc": {
        "OLS+GCV": (5.6e-4, None, "10"),
        "KRLS": (9.1e-4, 1.5e-4, "14.36"),
        "ours": (7.5e-4, 3.1e-4, "11.06"),
    },
    "boston": {"OLS+GCV": (0.88, None, "44"), "KRLS": (0.65, 0.039, "220.65"), "ours": (0.63, 0.2, "59.24")},
    "abalone": {"OLS+GCV": (0.35, None, "62"), "KRLS": (0.35, 0.014, "124.3"), "ours": (0.37, 0.05, "31.54")},
}


@table(
    "JP1",
    "Jung and Polani 2006, table 1: mean squared error, subset chosen online or by OLS",
    seeds="splits (20061, split), the first of which is permuted (20064, permutation)",
    data=("boston", "abalone"),
)
def subset_selection(run: Run) -> Iterator[Line]:
    times = run.times(100, 100)
    means: dict[tuple[str, str], float] = {}
    sizes: dict[str, list[str]] = {method: [] for method in METHODS}
    for name in PAPER:
        splits = [problem(name, run, np.random.default_rng([20061, seed])) for seed in range(max(2, times))]
        orders = [np.random.default_rng([20064, seed]).permutation(len(splits[0].X)) for seed in range(times)]
        for method, make in METHODS.items():
            p, batch = splits[0], method == "OLS+GCV"  # which no order changes
            mixed = [Problem(p.X[o], p.y[o], p.X_test, p.y_test, p.gamma) for o in orders[: 1 if batch else times]]
            runs, seconds = timed(lambda make=make, mixed=mixed: [judged(make, each) for each in mixed])
            errors, kernels = (list(column) for column in zip(*runs, strict=True))
            redrawn, others = np.array([judged(make, each) for each in splits]).T
            means[name, method] = float(np.mean(errors))
            paper, paper_spread, printed = PAPER[name]["ours" if method.startswith("ours") else method]
            sizes[method].append(f"{others.mean():.1f} (printed {printed})")
            yield Row(
                item=f"{name}, {method}",
                paper=paper,
                paper_spread=paper_spread,
                paper_repetitions=100,
                ours=means[name, method],
                spread=spread(errors),
                # two means over orders, each of a split of its own: the split is most of what they differ by
                standard_error=2**0.5 * float(redrawn.std(ddof=1)),
                paper_kernels=printed,
                kernels=f"{np.mean(kernels):.1f}",
                seconds=seconds / len(mixed),
                settings=f"gamma={p.gamma:g}, TOL1={TOL1:g}, TOL2={TOL2:g}",
                ruling="" if name == "sinc" else "not identified",
                note=f"{len(splits)} splits: {redrawn.mean():.4g} ± {np.std(redrawn):.2g}, {others.mean():.1f} kept",
                variant=method == "ours, product rule",
            )
    root = {name: np.sqrt(means[name, "KRLS"]) for name in PAPER}
    yield (
        "As in the paper one split and permutations of its training rows; the error of a difference is that of drawing "
        "two splits. The sizes identify the rule: with the threshold TOL2 for the cost per sample the dictionaries of "
        f"sinc, boston and abalone have {', '.join(sizes['ours, per sample'])} kernels; with the product as printed "
        f"{', '.join(sizes['ours, product rule'])}. Boston's and abalone's errors cannot be compared as printed: KRLS "
        "has no parameter but the kernel and TOL1, and with a kernel whose KRLS keeps the paper's number of kernels on "
        f"all three sets, its error is {means['boston', 'KRLS']:.2f} on boston (printed 0.65) and "
        f"{means['abalone', 'KRLS']:.2f} on abalone (printed 0.35): one a fraction of the print, the other above it, "
        f"so no common scale of the targets mends both. Our root mean squared errors are {root['boston']:.2f} and "
        f"{root['abalone']:.2f}; read as such, with its two rows exchanged, the print would be 0.35 and 0.65, for the "
        "paper's own method 0.37 and 0.63: near, but a guess, and 0.88 for OLS fits no reading."
    )


def judged(make: Callable[[float], Model], p: Problem) -> tuple[float, int]:
    """Test error and kernels."""
    model = make(p.gamma).fit(p.X, p.y)
    return float(np.mean((model.predict(p.X_test) - p.y_test) ** 2)), model.n_basis_


FOREST = {  # (rows, kernels): (ours, OLS-59) of table 2 with their spreads over 10 repetitions
    (10_000, 100): ((24.61, 2.31), (22.80, 0.18)),
    (10_000, 300): ((22.33, 0.51), (21.26, 0.23)),
    (10_000, 500): ((21.77, 0.34), (20.35, 0.11)),
    (50_000, 100): ((23.99, 1.96), (22.63, 0.11)),
    (50_000, 300): ((21.93, 0.36), (20.58, 0.15)),
    (50_000, 500): ((21.24, 0.42), (19.63, 0.12)),
    (200_000, 100): ((24.49, 1.64), None),
    (200_000, 300): ((21.83, 0.36), None),
    (200_000, 500): ((21.19, 0.30), None),
    (500_000, 100): ((23.80, 0.64), None),
    (500_000, 300): ((21.77, 0.39), None),
    (500_000, 500): ((21.17, 0.32), None),
}
LITERAL, FROZEN = "the paper's rule, swaps for ever", "the paper's rule, frozen when full"
ONE_PASS, OLS = "one pass", "OLS-59"
#: What `fit` does beyond the paper, taken away.
AS_WRITTEN = {LITERAL: AS_PRINTED, FROZEN: {**AS_PRINTED, "swap_until": 1}}


def forest(run: Run) -> tuple[Array, Array, Array, Array]:
    """Class 2 against the rest; 81,012 random rows are the test, inputs standardised on all rows as in the paper."""
    X, y = data.class_two(run.folder)
    order = np.random.default_rng(20062).permutation(len(X))
    test, train = order[:81_012], order[81_012:]
    return X[train], y[train], X[test], y[test]


def forest_model(method: str, n: int, m: int, seed: int) -> OnlineLSSVMClassifier | OROLSClassifier:
    common = {"gamma": 1 / 54, "fit_intercept": False, "max_basis": m}
    if method == OLS:
        # the paper's ridge is "for our approach", on the norm of f; here it is on the orthogonal weights, by GCV
        many = {"selection": "error-reduction", "n_candidates": 59, "random_state": seed}
        return OROLSClassifier(alpha="gcv", stop=None, basis="shared", **many, **common)
    common["alpha"] = 1e-5 * n
    # by default fit is exact on recent rows and stops swapping in time: one pass as good as two
    return OnlineLSSVMClassifier(**common, **AS_WRITTEN.get(method, {}))


@dataclass
class Trial:
    """What the repetitions of one method on one size gave."""

    error: float
    spread: float | None
    seconds: float
    memory: float


def trial(method: str, n: int, m: int, times: int, rows: tuple[Array, Array, Array, Array]) -> Trial:
    X, y, X_test, y_test = rows
    errors, seconds, memory = [], 0.0, []
    for seed in range(times):
        chosen = np.random.default_rng([20063, seed]).permutation(len(X))[:n]
        A, b = X[chosen], y[chosen]
        begin = time.process_time()
        with peak_memory(trim=True) as peak:
            model = forest_model(method, n, m, seed).fit(A, b)
        seconds += time.process_time() - begin
        memory.append(peak[0] / 2**20)
        errors.append(100.0 * float(np.mean(model.predict(X_test) != y_test)))
    return Trial(float(np.mean(errors)), spread(errors), seconds / times, max(memory))


@table(
    "JP2",
    "Jung and Polani 2006, table 2 and figure 1: forest, class 2 against the rest, test error in %",
    figures=("JPF1",),
    seeds="test rows 20062, training rows (20063, repetition)",
    data=("covtype",),
)
def large_scale(run: Run) -> Iterator[Line]:
    rows = forest(run)
    if run.brief:
        rows = (*rows[:2], rows[2][:20_000], rows[3][:20_000])
    most = run.choose(10_000, 50_000, 500_000)
    found: dict[tuple[str, int, int], Trial] = {}
    for (n, m), (ours, ols) in FOREST.items():
        if n > most or (run.brief and m > 100):
            continue
        for method in (LITERAL, FROZEN, ONE_PASS, OLS):
            paper = ols if method == OLS else ours
            if paper is None or (method == OLS and run.brief):
                continue
            times = run.times(3, 10)
            t = found[method, n, m] = trial(method, n, m, times, rows)
            yield Row(
                item=f"forest {n // 1000}k, {m} kernels, {method}",
                paper=paper[0],
                paper_spread=paper[1],
                paper_repetitions=10,
                ours=t.error,
                spread=t.spread,
                standard_error=None if times > 1 else 100.0 * (0.21 * 0.79 / len(rows[3])) ** 0.5,
                repetitions=times,
                paper_kernels=str(m),
                kernels=str(m),
                seconds=t.seconds,
                settings=f"gamma=1/54, alpha {'by GCV' if method == OLS else f'{1e-5 * n:g}'}; {t.memory:.0f} MB",
                variant=method in (LITERAL, ONE_PASS),
            )
    said = {}
    for method in (LITERAL, FROZEN):
        gaps = {(n, m): t.error - FOREST[n, m][0][0] for (name, n, m), t in found.items() if name == method}
        above = [f"{n // 1000}k with {m}" for (n, m), gap in gaps.items() if gap > FOREST[n, m][0][1]]
        sizes = ", ".join(above) or "no size"
        said[method] = f"above the print by more than its spread at {sizes}, by {max(gaps.values()):.2g} points at most"
    yield (
        "A kernel enters when novelty times usefulness exceeds TOL2 var(y). What a full dictionary does has two "
        "readings. The text supports the first: it describes pruning, by which the newcomer enters and the least "
        f"useful kernel leaves, for ever. That is {said[LITERAL]}. A dictionary frozen when it is full (swap_until=1) "
        f"is {said[FROZEN]}. Neither gives every figure; the line that is nearer at its worst is counted, that of "
        "freezing, and the other stands in parentheses. 'One pass' is what `fit` does: new kernels exact on the last "
        "500 rows (exact_rows) and no swaps after the first min(20 m, n/2) rows (swap_until), both fixed before these "
        "runs. The megabytes are the most in use during the fit above those before it: of the online methods they do "
        "not grow with the rows but for the targets and weights of scikit-learn's interface, of OLS they are 8 n m "
        "bytes and more."
    )
    if not run.brief:
        draw_forest(run, found)


def draw_forest(run: Run, found: dict[tuple[str, int, int], Trial]) -> None:
    sizes = sorted({n for _, n, _ in found})
    with run.draw("JPF1", len(sizes), 3) as axes:
        for line, n in zip(np.atleast_2d(axes), sizes, strict=True):
            for method in (LITERAL, FROZEN, ONE_PASS, OLS):
                kernels = [m for m in (100, 300, 500) if (method, n, m) in found]
                trials = [found[method, n, m] for m in kernels]
                for ax, values in zip(
                    line, ([getattr(t, what) for t in trials] for what in ("error", "seconds", "memory")), strict=True
                ):
                    ax.plot(kernels, values, ".-", label=method)
            for which, style in ((0, "k:"), (1, "k--")):
                paper = [(m, FOREST[n, m][which]) for m in (100, 300, 500) if FOREST[n, m][which] is not None]
                if paper:
                    label = ("online", "OLS-59")[which]
                    line[0].plot([m for m, _ in paper], [p[0] for _, p in paper], style, label=f"paper, {label}")  # type: ignore[index]
            line[0].set(ylabel=f"forest {n // 1000}k: test error, %")
            line[1].set(ylabel="seconds of CPU", yscale="log")
            line[2].set(ylabel="MB", yscale="log")
            line[0].legend(fontsize=7)
        for ax in np.atleast_2d(axes)[-1]:
            ax.set_xlabel("kernels")
