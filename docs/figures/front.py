"""The front page: the demo's stream, ours beside random features with a linear model by gradient steps."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, ORANGE, plain
from kernsift.cli import demo as _demo
from threadpoolctl import threadpool_limits

ROWS, SEED = 8000, 7
X, y = _demo.stream(ROWS, SEED)
head = ROWS // 10
figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 4.6), sharex=True, height_ratios=[2.2, 1])
width = 400
contenders = (
    (_demo.Kernsift, "kernsift:\nOnlineLSSVMRegressor", BLUE, "-", (400, 0.018)),
    (_demo.RandomFeaturesSGD, "scikit-learn:\nRBFSampler + SGDRegressor", ORANGE, "--", (4700, 0.2)),
)
for contender, name, colour, style, place in contenders:
    with threadpool_limits(1):
        settings = _demo.choose(contender, SEED, X[:head], y[:head], lambda n: None)
        run = _demo.race(name, contender(SEED, **settings), settings, X, y, lambda n: None)
    square = np.convolve(run.error[_demo.BLOCK :] ** 2, np.full(width, 1 / width), "valid")  # the first only teaches
    above.plot(np.arange(len(square)) + _demo.BLOCK + width, np.sqrt(square), style, color=colour)
    above.annotate(name, place, color=colour)
    below.plot(np.arange(len(run.sizes)) * _demo.BLOCK, run.sizes, style, color=colour)
for axes in (above, below):
    axes.axvline(ROWS // 2, color="0.5", linewidth=0.8)
    axes.set_yscale("log")
    axes.grid(alpha=0.25)
above.annotate("the stream changes", (ROWS // 2, 0.5), (-6, 0), textcoords="offset points", ha="right", color="0.35")
above.set_ylim(0.014, 0.9)
plain(above.yaxis, [0.03, 0.1, 0.3])
plain(below.yaxis, [50, 100, 200])
above.set_ylabel(f"RMSE of the last {width} rows")
below.set_ylabel("kernels or features")
below.set_xlabel("row")
