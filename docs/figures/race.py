"""The front page's race as it was measured, and its two panels: error over the stream, and what a row costs."""

import re

import numpy as np
from common import BENCH, BLUE, GREEN, ORANGE, PURPLE

PAGE = BENCH / "peers" / "RESULTS.md"
STYLES = [(BLUE, "-", 2.2), (GREEN, "-.", 1.4), (ORANGE, "--", 1.4), (PURPLE, ":", 1.6)]

section = re.search(r"(?ms)^## [^\n]*\(`front`\)$.*?(?=^## |\Z)", PAGE.read_text(encoding="utf-8"))[0]
lines = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in re.findall(r"(?m)^\|.*\|$", section)]
names, cost, table = lines[0][1:], lines[2][1:], lines[3:]
rows = np.array([int(line[0]) for line in table])
errors = np.array([[float(cell) for cell in line[1:]] for line in table])
microseconds = [float(cell.replace(",", "")) for cell in cost]


def draw_errors(axis):
    for curve, (colour, style, width) in zip(errors.T, STYLES, strict=True):
        axis.plot(rows, curve, style, color=colour, linewidth=width)
    change = rows[-1] // 2
    axis.axvline(change, color="0.6", linewidth=0.8)
    axis.set(xlabel="row", ylabel="error, in deviations of the target", ylim=(0, None), xlim=(0, rows[-1]))
    place = (change, axis.get_ylim()[1])
    axis.annotate("the series changes", place, (-4, -10), textcoords="offset points", ha="right", color="0.35")


def draw_costs(axis):
    places = np.arange(len(names))[::-1]
    axis.barh(places, microseconds, color=[colour for colour, *_ in STYLES], height=0.5)
    axis.set_ylim(-0.4, len(names) - 0.2)
    for place, name, spent in zip(places, names, microseconds, strict=True):
        axis.annotate(name, (0, place + 0.3), xycoords=("axes fraction", "data"), va="bottom")
        axis.annotate(f"{spent:,.0f} µs", (spent, place), (3, 0), textcoords="offset points", va="center")
    axis.set(
        xscale="log",
        xlabel="µs a row, learned and predicted",
        yticks=[],
        xlim=(min(microseconds) / 3, 8 * max(microseconds)),
    )
    axis.spines["left"].set_visible(False)
