"""How the CPU time grows with rows, kernels, features and classes; measured while the page is built."""

import os
import platform
import time

import kernsift
import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREEN, ORANGE, plain
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor, SubsetLSSVMRegressor
from threadpoolctl import threadpool_limits

rng = np.random.default_rng(7)


def data(n, d):
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0] * 2) + X[:, min(1, d - 1)] + 0.1 * rng.standard_normal(n)


def seconds(make, *rows):
    """The least CPU time of three fits."""
    taken = []
    for _ in range(3):
        model = make()
        begin = time.process_time()
        model.fit(*rows)
        taken.append(time.process_time() - begin)
    return min(taken)


def online(m, **more):
    # a small novelty_tol, so that the basis is full
    return lambda: OnlineLSSVMRegressor(max_basis=m, novelty_tol=1e-6, admission="novelty", gamma=0.2, **more)


def subset(m):
    return lambda: SubsetLSSVMRegressor(max_basis=m, gamma=0.2, basis="random", random_state=0)


def lines(axes, at, found, slope, name):
    for label, (values, colour, style) in found.items():
        axes.loglog(at, values, style, color=colour, label=label)
    first = np.asarray(at, float)
    guide = found[next(iter(found))][0][-1] * (first / first[-1]) ** slope
    axes.loglog(at, guide, color="0.75", linewidth=0.9, zorder=0, label=f"slope {slope}")
    plain(axes.xaxis, at)
    axes.set(xlabel=name)
    axes.legend(fontsize=7)
    axes.grid(alpha=0.2)
    plain(axes.yaxis, [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3])


figure, ((a, b), (c, d)) = plt.subplots(2, 2, figsize=(8.4, 5.6))
with threadpool_limits(1):
    rows = [1000, 3000, 10000, 30000]
    both = {"online": (online(100), BLUE, "o-"), "subset": (subset(100), ORANGE, "s--")}
    found = {k: ([seconds(f, *data(n, 8)) for n in rows], col, st) for k, (f, col, st) in both.items()}
    lines(a, rows, found, 1, "rows n  (100 kernels, 8 features)")
    sizes = [25, 50, 100, 200, 400]
    X, y = data(5000, 8)
    found = {
        "online": ([seconds(online(m), X, y) for m in sizes], BLUE, "o-"),
        "subset": ([seconds(subset(m), X, y) for m in sizes], ORANGE, "s--"),
    }
    lines(b, sizes, found, 2, "kernels m  (5000 rows, 8 features)")
    features = [4, 16, 64, 256]
    found = {
        "online": ([seconds(online(100), *data(5000, k)) for k in features], BLUE, "o-"),
        "subset": ([seconds(subset(100), *data(5000, k)) for k in features], ORANGE, "s--"),
    }
    lines(c, features, found, 1, "features d  (5000 rows, 100 kernels)")
    classes = [2, 4, 8, 16, 32]
    labels = [rng.integers(0, k, 5000) for k in classes]
    X = data(5000, 8)[0]

    def many():
        return OnlineLSSVMClassifier(max_basis=100, novelty_tol=1e-6, admission="novelty", gamma=0.2)

    found = {"online": ([seconds(many, X, label) for label in labels], GREEN, "^-")}
    lines(d, classes, found, 1, "classes  (5000 rows, 100 kernels)")
figure.suptitle(
    f"kernsift {kernsift.__version__} ({kernsift.build_config()['cpu_level']}), Python {platform.python_version()}, "
    f"numpy {np.__version__}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    fontsize=8,
    color="0.35",
)
for axes in (a, c):
    axes.set_ylabel("CPU seconds of fit")
