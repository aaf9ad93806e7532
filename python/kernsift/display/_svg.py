"""Small plots as SVG, for a page that must not wait for a plotting library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from ..base.arrays import Array

WIDTH, HEIGHT = 720, 150
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 22, 18  # around the plot


class Panel:
    """A plot: a title, the ends of its axes, and what is drawn. Colours are variables of the page's style."""

    def __init__(self, title: str, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.title, self.x, self.y = title, x, y if y[1] > y[0] else (y[0], y[0] + 1.0)
        self._drawn: list[str] = []
        self._names: list[tuple[str, str]] = []

    def line(self, xs: Sequence[float], ys: Sequence[float], colour: str, name: str = "") -> Self:
        """Draw a line through the points that are numbers."""
        pieces = [p for p in zip(xs, ys, strict=True) if math.isfinite(p[1])]
        if pieces:
            points = " ".join(self._pair(*p) for p in pieces)
            self._drawn.append(f'<polyline points="{points}" fill="none" stroke="var(--{colour})" stroke-width="1.6"/>')
        if name:
            self._names.append((name, f"var(--{colour})"))
        return self

    def dots(self, xs: Sequence[float], ys: Sequence[float], colour: str) -> Self:
        """Draw a dot at each point that is a number."""
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(y):
                cx, cy = self._place(x, y)
                self._drawn.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="1.9" fill="var(--{colour})"/>')
        return self

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str) -> Self:
        """Fill between two curves, where both are numbers."""
        inside = [(x, a, b) for x, a, b in zip(xs, low, high, strict=True) if math.isfinite(a) and math.isfinite(b)]
        if inside:
            points = [self._pair(x, b) for x, _, b in inside] + [self._pair(x, a) for x, a, _ in reversed(inside)]
            self._drawn.append(f'<polygon points="{" ".join(points)}" fill="var(--{colour})" opacity=".2"/>')
        return self

    def stack(self, xs: Sequence[float], shares: Array, names: Sequence[float]) -> Self:
        """Fill one above the other, the largest name at the bottom and darkest."""
        order = sorted(range(len(names)), key=lambda i: -names[i])
        below = [0.0] * len(xs)
        for place, i in enumerate(order):
            above = [b + float(s) for b, s in zip(below, shares[:, i], strict=True)]
            points = [self._pair(*p) for p in zip(xs, above, strict=True)]
            points += [self._pair(*p) for p in reversed(list(zip(xs, below, strict=True)))]
            opacity = 1 - 0.8 * place / max(len(names) - 1, 1)
            self._drawn.append(f'<polygon points="{" ".join(points)}" fill="var(--a)" opacity="{opacity:.2f}"/>')
            below = above
            self._names.append((f"{names[i]:g}", f"color-mix(in srgb, var(--a) {100 * opacity:.0f}%, transparent)"))
        return self

    def marks(self, xs: Sequence[float], name: str) -> Self:
        """Draw a dotted line upright at each place."""
        for x in xs:
            at, _ = self._place(x, self.y[0])
            self._drawn.append(
                f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="var(--c)" '
                f'stroke-dasharray="2 3">'
                f"<title>{name} at row {x:g}</title></line>"
            )
        if xs:
            self._names.append((name, "var(--c)"))
        return self

    def svg(self) -> str:
        """The plot."""
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        legend, at = "", right
        for name, colour in reversed(self._names):
            at -= 7 * len(name) + 18
            legend += f'<rect x="{at}" y="6" width="9" height="9" style="fill:{colour}"/><text x="{at + 12}" y="15">'
            legend += f"{name}</text>"
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{self.title}">'
            f'<text class="title" x="{LEFT}" y="15">{self.title}</text>{legend}'
            f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}"/>'
            f'<text x="{LEFT - 5}" y="{TOP + 10}" text-anchor="end">{self.y[1]:.3g}</text>'
            f'<text x="{LEFT - 5}" y="{bottom}" text-anchor="end">{self.y[0]:.3g}</text>'
            f'<text x="{LEFT}" y="{HEIGHT - 4}">{self.x[0]:,.0f}</text>'
            f'<text x="{right}" y="{HEIGHT - 4}" text-anchor="end">{self.x[1]:,.0f}</text>'
            f"{''.join(self._drawn)}</svg>"
        )

    def _pair(self, x: float, y: float) -> str:
        """Where a point lies, as SVG writes it."""
        across, down = self._place(x, y)
        return f"{across:.1f},{down:.1f}"

    def _place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies in the picture."""
        (x0, x1), (y0, y1) = self.x, self.y
        across = (x - x0) / (x1 - x0) if x1 > x0 else 0.0
        up = (y - y0) / (y1 - y0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)
