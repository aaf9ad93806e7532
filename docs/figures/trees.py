"""Kernels against trees: error and bytes beside the best tree method of each table, from the measured page."""

import re

import matplotlib.pyplot as plt
import numpy as np
from common import BENCH, BLUE, GREY, ORANGE
from matplotlib.ticker import FuncFormatter, NullFormatter

PAGE = BENCH / "papers" / "TABLES.md"
found = {}  # set: method: errors, kilobytes, microseconds of each seed
for line in re.findall(r"(?m)^\| .*, seed \d+ \|.*\|$", PAGE.read_text(encoding="utf-8")):
    name, _, _, method, error, _, size, spent, _ = (cell.strip() for cell in line.strip("|").split("|"))
    runs = found.setdefault(name.rpartition(",")[0], {}).setdefault(method, [])
    runs.append((float(error.removesuffix("%")), float(size), float(spent)))
means = {name: {method: np.mean(runs, axis=0) for method, runs in methods.items()} for name, methods in found.items()}


def beside_the_best_tree(methods, ours):
    trees = [value for method, value in methods.items() if not method.startswith("ours")]
    return methods[ours] / min(trees, key=lambda value: value[0])


small = {name: beside_the_best_tree(methods, "ours") for name, methods in means.items()}
large = {name: beside_the_best_tree(methods, "ours, small=False") for name, methods in means.items()}
names = sorted(small, key=lambda name: -small[name][0])
figure, axes = plt.subplots(1, 3, figsize=(8.0, 1.4 + 0.22 * len(names)), sharey=True, width_ratios=[1.5, 1, 1])
places = np.arange(len(names))
labels = ("error", "bytes of what predicts", "time of a prediction")
for i, (ax, label) in enumerate(zip(axes, labels, strict=True)):
    ax.axvline(1, color="0.6", linewidth=0.8)
    if i == 0:
        ax.axvspan(1 / 1.02, 1.02, color="0.9", zorder=0)
    ax.plot([large[name][i] for name in names], places, "s", color=ORANGE, markersize=4, label="small=False")
    ax.plot([small[name][i] for name in names], places, "o", color=BLUE, markersize=6, label="at most 500 kernels")
    ax.set(xscale="log", xlabel=label)
    if i == 0:
        ax.set_xticks([0.1, 0.25, 0.5, 1.0, 1.5])
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.grid(axis="y", color="0.93")
axes[0].set_yticks(places, names, fontsize=8)
axes[0].set_ylim(-0.7, len(names) - 0.3)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
figure.suptitle("Ours over the best tree method of each table (left of 1: ours less)", fontsize=10, color=GREY)
