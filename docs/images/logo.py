"""Draws the logo: rows in a line, the few that are kept, and the sum of their kernels. `python docs/images/logo.py`.

`--check` only compares.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "_static"
KEPT = ((15, 0.62), (33, 1.0), (49, 0.78))  # places of the kernels kept, and their coefficients
WIDTH = 6.0
FLOOR, HEIGHT = 47, 34
COLOURS = {"logo.svg": ("#0072b2", "#5b6670", "#009e73"), "logo-dark.svg": ("#56b4e9", "#aab4bd", "#2fc79a")}


def bump(x: float, centre: float, size: float) -> float:
    return size * math.exp(-(((x - centre) / WIDTH) ** 2))


def curve(values: list[float]) -> str:
    return " ".join(f"{4 + i * 56 / (len(values) - 1):.1f},{FLOOR - HEIGHT * v:.1f}" for i, v in enumerate(values))


def drawn(curve_colour: str, rows_colour: str, kept_colour: str) -> str:
    xs = [4 + i * 56 / 80 for i in range(81)]
    total = [sum(bump(x, *kernel) for kernel in KEPT) for x in xs]
    lines = [
        f'<polyline points="{curve(total)}" fill="none" stroke="{curve_colour}" stroke-width="4" '
        'stroke-linejoin="round" stroke-linecap="round"/>'
    ]
    kept = [centre for centre, _ in KEPT]
    for x in range(6, 61, 3):
        if min(abs(x - centre) for centre in kept) > 3:
            lines.append(f'<circle cx="{x}" cy="56" r="1.1" fill="{rows_colour}"/>')
    lines += [f'<circle cx="{x}" cy="56" r="3.4" fill="{kept_colour}"/>' for x in kept]
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">{"".join(lines)}</svg>\n'


if __name__ == "__main__":
    stale = []
    for name, colours in COLOURS.items():
        path, text = FOLDER / name, drawn(*colours)
        if "--check" in sys.argv:
            stale += [name] * (path.read_text(encoding="utf-8") != text)
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.exit(f"{', '.join(stale)}: run docs/images/logo.py")
