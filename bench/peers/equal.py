"""Equal error: every method steps its size until the error is reached, and that size's cost counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernsift
from measure.clock import peak_memory, timed

from .batch import gaussian_process, kernel_ridge, linear_svc, nystroem, ridge, sampler, sgd
from .measures import THREADS, Arrays, Rival, Task, forest, predicted, synthetic
from .runner import Case

TITLE = "Batches at equal error"
ABOUT = """What each method needs to reach the error: sizes are stepped through, and the cost is that of a fit at the
first size that reaches it ("-": none of its sizes does; the last error is shown). Settings of the rivals are ordinary
ones, not searched; a size is kernels, features, rows (the kernel methods that keep all rows) or trees. "learn" and
"one width, learned" include the search for the widths. An SVM on all 50,000 rows reaches 17.76 % with 22,606 support
vectors and C=10: the last race shows at how many kernels sparse models do (the SVM itself by --full)."""
BUDGET = {"quick": 1.0, "default": 60.0, "full": 150.0}  # seconds of a fit, beyond which no size is tried


def cases(mode: str, data: Path | None) -> Iterator[Case]:
    small = mode == "quick"
    n = {"quick": 600}.get(mode, 50_000)
    task = {"gamma": 1 / 54, "alpha": 0.5, "measure": "%", "budget": BUDGET[mode], "small": small}
    goal = 45.0 if small else 19.7
    yield Case(f"forest {n} to {goal} %", forest(data, n), {**task, "goal": goal}, ALL)
    svm = {**task, "goal": 17.76}
    task = {**task, "gamma": 1 / 10, "alpha": 0.1, "measure": "rmse"}
    n, goal = (500, 0.9) if small else (10_000, 0.27)
    yield Case(f"synthetic {n} to rmse {goal}", synthetic(n), {**task, "goal": goal}, ALL)
    names = ["kernsift, LSSVM on fewer rows", "KernelRidge", "GaussianProcessRegressor", "SVC", "libsvm"]
    yield Case(f"synthetic {n} to rmse {goal}, a kernel on every row used", synthetic(n), {**task, "goal": goal}, names)
    if not small:
        some = ["kernsift, gamma='learn'", "kernsift, one width, learned", "kernsift", "Nystroem+Ridge", "lightgbm"]
        some += ["SVC, all rows"] * (mode == "full")
        yield Case("forest 50000 to 17.76 %, an SVM's on all rows", forest(data, 50_000), svm, some)


def stepped(sizes: list[int], make: Callable[[Arrays, Task, int], Any], rows: bool = False) -> Rival:
    def rival(a: Arrays, task: Task) -> tuple[Any, Any]:
        trial = dict(task)
        steps = [size for size in (sizes[:2] if task["small"] else sizes) if not rows or size <= len(a["X"])]
        make(a, task, steps[0])  # is it there?
        reached: list[tuple[int, dict[str, Any]]] = []

        def fit(size: int) -> tuple[Any, float, float]:
            some = slice(0, size if rows else len(a["X"]))
            with peak_memory() as peak:
                model, spent = timed(lambda: make(a, trial, size).fit(a["X"][some], a["y"][some]))
            return model, spent, peak[0] / 2**20

        def work() -> Any:
            if reached:  # the size is known: only its cost is measured again
                size, found = reached[0]
                return size, found, *fit(size)
            for size in steps:
                model, spent, peak = fit(size)
                found = predicted(model, a, task)
                if found["error"] <= task["goal"]:
                    break
                if spent > task["budget"]:
                    break
            reached.append((size, found))
            return size, found, model, spent, peak

        def judge(done: Any) -> dict[str, Any]:
            size, found, model, spent, peak = done
            kernels = getattr(model, "n_support_", None)
            more = {} if kernels is None else {"kernels": int(kernels.sum())}
            return {
                **found,
                **more,
                "seconds": spent,
                "megabytes": peak,
                "size": size,
                "reached": found["error"] <= task["goal"],
            }

        return work, judge

    return rival


def subset(gamma: Any = None) -> Callable[[Arrays, Task, int], Any]:
    def make(a: Arrays, task: Task, m: int) -> Any:
        return kernsift.SubsetLSSVMRegressor(gamma=gamma or task["gamma"], max_basis=m, random_state=0)

    return make


def learned(isotropic: bool) -> Callable[[Arrays, Task, int], Any]:
    class Learned:
        def __init__(self, m: int) -> None:
            self.m = m

        def fit(self, X: Any, y: Any) -> Any:
            widths = kernsift.learn_gamma(X, y, isotropic=isotropic, random_state=0)
            return kernsift.SubsetLSSVMRegressor(gamma=widths.gamma, max_basis=self.m, random_state=0).fit(X, y)

    return lambda a, task, m: Learned(m)


def online(a: Arrays, task: Task, m: int) -> Any:
    return kernsift.OnlineLSSVMRegressor(gamma=task["gamma"], alpha=1e-5 * len(a["X"]), max_basis=m)


def dense(a: Arrays, task: Task, size: int) -> Any:
    return kernsift.LSSVMRegressor(gamma=task["gamma"], alpha=task["alpha"])


def sized(make: Callable[[Arrays, Task], Any]) -> Callable[[Arrays, Task, int], Any]:
    return lambda a, task, m: make(a, {**task, "m": m})


def svm(a: Arrays, task: Task, size: int) -> Any:
    from sklearn.svm import SVC, SVR

    C = 10.0
    return SVC(C=C, gamma=task["gamma"], cache_size=500) if task["measure"] == "%" else SVR(C=C, gamma=task["gamma"])


def libsvm(a: Arrays, task: Task, size: int) -> Any:
    from libsvm import svmutil

    class Libsvm:
        def fit(self, X: Any, y: Any) -> Libsvm:
            kind = 0 if task["measure"] == "%" else 3
            self.model = svmutil.svm_train(y.tolist(), X, f"-s {kind} -t 2 -g {task['gamma']} -c 10 -m 500 -q")
            return self

        def predict(self, X: Any) -> Any:
            import numpy as np

            return np.array(svmutil.svm_predict([], X, self.model, "-q")[0])

    return Libsvm()


def trees(a: Arrays, task: Task, size: int) -> Any:
    import lightgbm

    return lightgbm.LGBMRegressor(n_estimators=size, n_jobs=THREADS, verbose=-1, random_state=0)


ROWS = [500, 1000, 2000, 3000, 5000, 7000, 10_000, 20_000, 50_000]
SIZES = [50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500]
FEATURES = [100, 200, 300, 500, 750, 1000, 1500, 2000]
RIVALS: dict[str, Rival] = {
    "kernsift": stepped(SIZES, subset()),
    "kernsift, one width, learned": stepped(SIZES, learned(True)),
    "kernsift, gamma='learn'": stepped(SIZES, learned(False)),
    "kernsift, online, one pass": stepped(SIZES, online),
    "kernsift, LSSVM on fewer rows": stepped(ROWS[:7], dense, rows=True),
    "Nystroem+Ridge": stepped(FEATURES, sized(nystroem(ridge))),
    "Nystroem+SGD": stepped(FEATURES[3::2], sized(nystroem(sgd))),
    "Nystroem+LinearSVC": stepped(FEATURES[3::2], sized(nystroem(linear_svc))),
    "RBFSampler+Ridge": stepped(FEATURES[3:], sized(sampler(ridge))),
    "RBFSampler+SGD": stepped(FEATURES[3::2], sized(sampler(sgd))),
    "KernelRidge": stepped(ROWS[:7], sized(kernel_ridge), rows=True),
    "GaussianProcessRegressor": stepped(ROWS[:6], sized(gaussian_process), rows=True),
    "SVC": stepped(ROWS, svm, rows=True),
    "SVC, all rows": stepped([50_000], svm, rows=True),
    "libsvm": stepped(ROWS, libsvm, rows=True),
    "lightgbm": stepped([5, 10, 20, 50, 100, 200, 400], trees),
}
ALL = [name for name in RIVALS if name != "SVC, all rows"]
