"""The front page: error over a stream that drifts, and what a row costs, from the measured race."""

import re

import matplotlib.pyplot as plt
import numpy as np
from common import BENCH, BLUE, GREEN, ORANGE, PURPLE

PAGE = BENCH / "peers" / "RESULTS.md"
section = re.search(r"(?ms)^## front: .*?(?=^## |\Z)", PAGE.read_text(encoding="utf-8"))[0]
lines = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in re.findall(r"(?m)^\|.*\|$", section)]
names, cost, table = lines[0][1:], lines[2][1:], lines[3:]
rows = np.array([int(line[0]) for line in table])
errors = np.array([[float(cell) for cell in line[1:]] for line in table])
microseconds = [float(cell.replace(",", "")) for cell in cost]

figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.4), width_ratios=[1.9, 1])
styles = [(BLUE, "-", 2.2), (GREEN, "-.", 1.4), (ORANGE, "--", 1.4), (PURPLE, ":", 1.6)]
for curve, (colour, style, width) in zip(errors.T, styles, strict=True):
    left.plot(rows, curve, style, color=colour, linewidth=width)
change = rows[-1] // 2
left.axvline(change, color="0.6", linewidth=0.8)
left.set(xlabel="row", ylabel="error, in deviations of the target", ylim=(0, None), xlim=(0, rows[-1]))
left.annotate("the series changes", (change, left.get_ylim()[1]), (4, -10), textcoords="offset points", color="0.35")
places = np.arange(len(names))[::-1]
right.barh(places, microseconds, color=[colour for colour, *_ in styles], height=0.5)
right.set_ylim(-0.4, len(names) - 0.2)
for place, name, spent in zip(places, names, microseconds, strict=True):
    right.annotate(name, (0, place + 0.3), xycoords=("axes fraction", "data"), va="bottom")
    right.annotate(f"{spent:,.0f} µs", (spent, place), (3, 0), textcoords="offset points", va="center")
right.set(
    xscale="log",
    xlabel="µs a row, learned and predicted",
    yticks=[],
    xlim=(min(microseconds) / 3, 8 * max(microseconds)),
)
right.spines["left"].set_visible(False)
