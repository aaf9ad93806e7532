"""Beyond the papers: the same rows, the same number of kernels, every family at its best setting, and their rivals.

Everything is chosen on training rows. All methods share one isotropic width, by leave-one-out error of a dense LS-SVM
on `TUNING` training rows, unless their line says otherwise. The ridge is their own by GCV where they have one, else
GCV's choice for as many random kernels on all rows; of the dense machines that of the tuning, a row. Seconds are
processor time of the fit, and of what a method chose for itself; the shared width's time is in its own line. To add a
method, add a function to `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import kernsift
import numpy as np
from measure.clock import timed
from measure.data import standardised
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from .jung import forest
from .registry import AS_PRINTED, Array, Line, Row, Run, spread, table

TUNING = 1_000
DENSE_ROWS = 5_000  # kernel ridge and the dense LS-SVM stop here
SVM_ROWS = 20_000  # above which the support vector machine, minutes of CPU, is left to --full
LONG_ROWS = 20_000  # from which a long search for widths is shown
OLS_WORK = 2e11  # rows x kernels² x 59, above which forward selection with 59 candidates is left to --full


@dataclass
class Task:
    """A training and a test part, standardised on the training part, and what was tuned on it."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    classes: bool
    seed: int
    full: bool
    gamma: float = 0.0
    alpha: float = 0.0  # for all rows
    seconds: float = 0.0
    some: Array | None = None
    ridges: dict[int, float] = field(default_factory=dict)

    def tune(self, rows: int) -> None:
        """Width and ridge by leave-one-out on some of the rows."""
        self.some = np.random.default_rng([20068, self.seed]).permutation(len(self.X))[:rows]
        d = self.X.shape[1]
        model = self.make("LSSVM", gamma="loo", gammas=np.geomspace(0.02, 20, 10) / d, alpha="loo")
        _, self.seconds = timed(lambda: model.fit(self.X[self.some], self.y[self.some]))
        self.gamma = float(model.gamma_[0])
        self.alpha = float(model.alpha_) * len(self.X) / len(self.some)

    def ridge(self, m: int) -> float:
        """For methods without a criterion of their own: GCV's choice for m random kernels and all rows."""
        settings = {"basis": "random", "max_basis": m, "gamma": self.gamma, "alpha": "gcv", "random_state": self.seed}
        if m not in self.ridges:
            self.ridges[m] = float(self.make("SubsetLSSVM", **settings).fit(self.X, self.y).alpha_)
        return self.ridges[m]

    def make(self, family: str, **settings: Any) -> Any:
        """The regressor or classifier of a family."""
        return getattr(kernsift, family + ("Classifier" if self.classes else "Regressor"))(**settings)

    def error(self, model: Any) -> float:
        """Percent missed, or root mean squared error in units of the target's standard deviation."""
        found = model.predict(self.X_test)
        if self.classes:
            return 100.0 * float(np.mean(found != self.y_test))
        return float(np.sqrt(np.mean((found - self.y_test) ** 2)))


Fitted = tuple[Any, int]  # the model and its kernels
Method = Callable[[Task, int], Fitted | None]  # None: not on this task
METHODS: dict[str, Method] = {}


def method(name: str) -> Callable[[Method], Method]:
    def add(make: Method) -> Method:
        METHODS[name] = make
        return make

    return add


def counted(model: Any) -> Fitted:
    return model, model.n_basis_


def pruned(t: Task, m: int, gamma: Any, **more: Any) -> Any:
    return t.make("SubsetLSSVM", basis="pruned", max_basis=m, gamma=gamma, alpha="gcv", random_state=t.seed, **more)


def online(t: Task, m: int, **means: Any) -> Any:
    return t.make("OnlineLSSVM", gamma=t.gamma, alpha=t.ridge(m), max_basis=m, **means).fit(t.X, t.y)


@method("online, 000's rule")
def _literal(t: Task, m: int) -> Fitted:
    return counted(online(t, m, **AS_PRINTED))


def one_pass(t: Task, m: int) -> Any:
    return online(t, m)  # the defaults of fit: exact on recent rows, swaps until 20 m


@method("online, one pass")
def _one_pass(t: Task, m: int) -> Fitted:
    return counted(one_pass(t, m))


@method("online, refitted")
def _refitted(t: Task, m: int) -> Fitted:
    return counted(one_pass(t, m).refit(t.X, t.y))


@method("pruned subset, GCV")
def _pruned(t: Task, m: int) -> Fitted:
    return counted(pruned(t, m, t.gamma).fit(t.X, t.y))


@method("OROLS")
def _orols(t: Task, m: int) -> Fitted:
    shared = {"basis": "shared"} if t.classes else {}
    return counted(t.make("OROLS", gamma=t.gamma, stop=None, max_basis=m, **shared).fit(t.X, t.y))


@method("OROLS, best of 59")
def _orols59(t: Task, m: int) -> Fitted | None:
    if 59 * len(t.X) * m**2 > OLS_WORK and not t.full:
        return None
    shared = {"basis": "shared"} if t.classes else {}
    many = {"selection": "error-reduction", "n_candidates": 59, "random_state": t.seed}
    return counted(t.make("OROLS", gamma=t.gamma, stop=None, max_basis=m, **many, **shared).fit(t.X, t.y))


@method("sparse LS-SVM (ISLS)")
def _sparse(t: Task, m: int) -> Fitted:
    settings = {"gamma": t.gamma, "alpha": t.ridge(m), "max_basis": m, "max_start": 3 * m, "step": 0.05}
    return counted(t.make("SparseLSSVM", random_state=t.seed, keep_path=False, **settings).fit(t.X, t.y))


@method("RPCholesky landmarks, GCV")
def _rpcholesky(t: Task, m: int) -> Fitted:
    settings = {"basis": "rpcholesky", "max_basis": m, "gamma": t.gamma, "alpha": "gcv", "random_state": t.seed}
    return counted(t.make("SubsetLSSVM", **settings).fit(t.X, t.y))


@method("scikit-learn: Nystroem + RidgeCV")
def _nystroem(t: Task, m: int) -> Fitted:
    ridge = (RidgeClassifierCV if t.classes else RidgeCV)(alphas=np.geomspace(1e-6, 1e2, 17))
    model = make_pipeline(Nystroem(gamma=t.gamma, n_components=m, random_state=t.seed), ridge)
    return model.fit(t.X, t.y), m


@method("pruned subset, GCV, learned widths")
def _learned(t: Task, m: int) -> Fitted:
    return counted(pruned(t, m, "learn").fit(t.X, t.y))


@method("the same, ten times the time")
def _longer(t: Task, m: int) -> Fitted | None:
    """Widths for a larger model than will be kept, and three rounds of choosing from four times the kernels."""
    if len(t.X) < LONG_ROWS:
        return None
    y = 2.0 * (t.y == np.unique(t.y)[1]) - 1.0 if t.classes else t.y
    widths = kernsift.learn_gamma(t.X, y, m=1000, max_iter=30, random_state=t.seed).gamma
    return counted(pruned(t, m, widths, oversample=4.0, cycles=3).fit(t.X, t.y))


# Machines with a kernel on every row, or on as many as they like: one line each, whatever m.


@method("scikit-learn: KernelRidge, every row")
def _kernel_ridge(t: Task, m: int) -> Fitted | None:
    if len(t.X) > DENSE_ROWS:
        return None
    y = t.y
    if t.classes:
        labels = np.unique(y)
        model = KernelRidge(kernel="rbf", gamma=t.gamma, alpha=t.alpha).fit(t.X, 2.0 * (y[:, None] == labels) - 1.0)
        return _Largest(model, labels), len(t.X)
    return KernelRidge(kernel="rbf", gamma=t.gamma, alpha=t.alpha).fit(t.X, y), len(t.X)


@dataclass
class _Largest:
    """One column a class: the class of the largest."""

    model: Any
    labels: Array

    def predict(self, X: Array) -> Array:
        return self.labels[self.model.predict(X).argmax(axis=1)]


@method("scikit-learn: SVM, C and width by CV")
def _svm(t: Task, m: int) -> Fitted | None:
    if len(t.X) > SVM_ROWS and not t.full:
        return None
    widths = t.gamma * np.array([0.25, 0.5, 1.0, 2.0, 4.0])
    machine, grid = (SVC(), {}) if t.classes else (SVR(), {"epsilon": [0.05, 0.2]})
    search = GridSearchCV(machine, {"C": [1.0, 10.0, 100.0], "gamma": widths, **grid}, cv=3, refit=False)
    search.fit(t.X[t.some], t.y[t.some])
    model = machine.set_params(**search.best_params_).fit(t.X, t.y)
    return model, len(model.support_)


DENSE = ("scikit-learn: KernelRidge, every row", "scikit-learn: SVM, C and width by CV")


# ---- the sets


def split(run: Run, name: str, train: int, seed: int) -> Task:
    data = run.load(name)
    classes = "X_train" in data
    if classes:
        # shuffled: satimage lies as its fields do on the ground, and some methods read rows in their order
        order = np.random.default_rng([20067, seed]).permutation(len(data["X_train"]))
        X, T = data["X_train"][order].astype(float), data["X_test"].astype(float)
        y, s = data["y_train"][order], data["y_test"]
    else:
        order = np.random.default_rng([20067, seed]).permutation(len(data["X"]))
        X, T = data["X"][order[:train]].astype(float), data["X"][order[train:]].astype(float)
        y, s = data["y"][order[:train]], data["y"][order[train:]]
        y, s = (y - y.mean()) / y.std(), (s - y.mean()) / y.std()
    X, T = standardised(X, T)
    return Task(X, y, T, s, classes, seed, run.mode == "full")


def forest_task(run: Run, rows: int, seed: int) -> Task:
    X, y, T, s = forest(run)
    chosen = np.random.default_rng([20063, seed]).permutation(len(X))[:rows]
    return Task(X[chosen], y[chosen], T[:20_000], s[:20_000], True, seed, run.mode == "full")


SETS: dict[str, tuple[Callable[[Run, int], Task], tuple[int, ...], tuple[int, int]]] = {
    # task, kernels, repetitions by mode
    "boston": (lambda run, seed: split(run, "boston", 400, seed), (10, 25, 50, 100), (10, 20)),
    "abalone": (lambda run, seed: split(run, "abalone", 3000, seed), (10, 25, 50, 100), (5, 10)),
    "satimage": (lambda run, seed: split(run, "satimage", 0, seed), (50, 100, 200, 300), (2, 5)),
    "pendigits": (lambda run, seed: split(run, "pendigits", 0, seed), (50, 100, 200, 400), (2, 5)),
    "forest 50k": (lambda run, seed: forest_task(run, 50_000, seed), (100, 300, 500), (1, 3)),
}

LARGE = ("pendigits", "forest 50k")  # not with --quick


@table(
    "BEYOND",
    "beyond the papers: same rows, same number of kernels",
    figures=("BEYOND",),
    seeds="splits (20067, repetition), forest as in JP2, tuning rows (20068, repetition), landmarks the repetition",
    data=("boston", "abalone", "satimage", "pendigits", "covtype"),
)
def beyond(run: Run) -> Iterator[Line]:
    curves: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for name, (make, sizes, repetitions) in SETS.items():
        if not run.wants(name) or (run.brief and name in LARGE):
            continue
        times = run.times(*repetitions)
        tasks = [make(run, seed) for seed in range(times)]
        for t in tasks:
            t.tune(400 if run.brief else TUNING)
        for label, fit in METHODS.items():
            for m in sizes[-1:] if label in DENSE else sizes[::3] if run.brief else sizes:
                errors, kernels, seconds = [], [], 0.0
                for t in tasks:
                    found, spent = timed(lambda fit=fit, t=t, m=m: fit(t, m))
                    seconds += spent
                    if found is not None:
                        errors.append(t.error(found[0]))
                        kernels.append(found[1])
                if not errors:
                    continue
                mean, median, worst = float(np.mean(errors)), float(np.median(errors)), int(np.argmax(errors))
                # a wide kernel is nearly a polynomial: its value at a row far outside is arbitrary
                outside = float(np.abs(tasks[worst].X_test).max())
                note = f"median {median:.4g}; one split tests a row {outside:.0f} deviations from the mean"
                curves.setdefault(name, {}).setdefault(label, []).append(
                    (float(np.mean(kernels)), mean, seconds / times)
                )
                yield Row(
                    f"{name}, {label}",
                    None,
                    mean,
                    spread=spread(errors),
                    repetitions=times,
                    kernels=f"{np.mean(kernels):.0f}",
                    seconds=seconds / times,
                    settings=note if errors[worst] > 1.3 * median and outside > 10 else "",
                )
        gammas = sorted({f"{t.gamma * t.X.shape[1]:.3g}" for t in tasks})
        yield (
            f"{name}: {len(tasks[0].X)} training rows, {len(tasks[0].X_test)} test rows, "
            f"{'error in %' if tasks[0].classes else 'RMSE in standard deviations'}; shared width gamma = "
            f"{' or '.join(gammas)} over the number of features, chosen in {np.mean([t.seconds for t in tasks]):.2g} s."
        )
    yield (
        f"Test rows of forest: 20,000. Kernel ridge stops at {DENSE_ROWS:,} rows; the SVM at {SVM_ROWS:,} rows and "
        f"'OROLS, best of 59' at {OLS_WORK:.0e} operations, but for --full. One isotropic width limits every line of "
        "forest: see the documentation for one width per feature."
    )
    draw(run, curves)


def draw(run: Run, curves: dict[str, dict[str, list[tuple[float, float, float]]]]) -> None:
    """Error against kernels and against seconds."""
    with run.draw("BEYOND", len(curves), 2) as axes:
        for (name, lines), (left, right) in zip(curves.items(), np.atleast_2d(axes), strict=True):
            every = [error for points in lines.values() for _, error, _ in points]
            limits = 0.95 * min(every), min(2.2 * min(every), 1.02 * max(every))
            for place, (label, points) in enumerate(lines.items()):
                kernels, errors, seconds = zip(*points, strict=True)
                style = {"color": f"C{place % 10}", "label": label}
                if label in DENSE:
                    style = {"color": "k", "ls": ("-", ":")[DENSE.index(label)], "label": label}
                    left.axhline(errors[0], lw=0.8, **style)
                    right.plot(seconds, errors, "*" if label == DENSE[0] else "x", color="k", label=label)
                else:
                    left.plot(kernels, errors, ".-", **style)
                    right.plot(seconds, errors, ".-", **style)
            left.set(ylabel=f"{name}: error", xlabel="kernels", ylim=limits)
            right.set(xlabel="seconds of CPU", xscale="log", ylim=limits)
        np.atleast_2d(axes)[0, 1].legend(fontsize=6)
