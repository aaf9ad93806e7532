"""A page about a stream that is being learned, written again and again while it runs."""

from __future__ import annotations

import html
import os
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import Array
from ..io.atomic_write import write_whole
from ._svg import Panel

# A page shows at most this many points a curve; beyond, two neighbours become one.
POINTS = 400
SMOOTH = 8  # points that a running error is the mean of
LATEST = 150  # last rows, shown one by one


@dataclass
class Point:
    """A stretch of rows: its errors, and the model after it."""

    end: int
    judged: int
    loss: float
    n_basis: int
    admitted: int
    evicted: int
    weights: tuple[float, ...]

    def merged(self, later: Point) -> Point:
        return Point(
            later.end,
            self.judged + later.judged,
            self.loss + later.loss,
            later.n_basis,
            self.admitted + later.admitted,
            self.evicted + later.evicted,
            later.weights,
        )


class StreamDashboard:
    """Write a page that shows a stream while a model learns it.

    The page is one file that needs nothing else: the running error, the last rows with their predictions, kernels kept,
    added and removed, the weights of the memories, and marks where drift was noted.  A browser that shows it loads it
    again every few seconds.  Its size and the memory taken do not grow with the stream.

    Parameters
    ----------
    path : str or path-like
        The page, an HTML file; it is replaced as a whole.
    seconds : float, default=2.0
        Time between two versions of the page, at least.
    title : str, optional
        The page's title; the model's class name by default.

    See Also
    --------
    MemoriesDisplay, AuditDisplay, PrequentialDisplay : the same as pictures of a stream that has been learned.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.display import StreamDashboard
    >>> X = np.random.default_rng(7).uniform(-3, 3, (500, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = OnlineLSSVMRegressor(max_basis=20).partial_fit(X[:1], y[:1])
    >>> with StreamDashboard("stream.html") as page:
    ...     for x, target in zip(X[1:], y[1:]):
    ...         predicted = model.predict_one(x)
    ...         model.update(x, target)
    ...         page.add(model, target, predicted)
    >>> page.n_rows_
    499
    >>> page.write(last=True)  # at once; the stream has ended
    """

    def __init__(self, path: str | os.PathLike[str], *, seconds: float = 2.0, title: str | None = None) -> None:
        if not seconds > 0:
            raise ValueError(f"seconds={seconds!r} must be more than 0")
        self.path, self.seconds, self.title = Path(path), float(seconds), title
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.path}: there is no folder {self.path.parent}")
        self.n_rows_ = 0
        self._points: list[Point] = []
        self._width = 1  # rows of a point
        self._judged, self._loss = 0, 0.0  # of the rows since the last point
        self._latest: deque[tuple[int, float, float, float, float]] = deque(maxlen=LATEST)
        self._counts = (0, 0)
        self._memories: list[float] = []
        self._drift: list[int] = []
        self._labels = False
        self._model = ""
        self._begin = time.perf_counter()
        self._written = -np.inf

    def add(
        self,
        model: Any,
        y: ArrayLike,
        y_pred: ArrayLike,
        *,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        """Note rows that were predicted and then learned, and write the page when it is time.

        Parameters
        ----------
        model : estimator
            The model, after it has learned the rows; a model of streams shows most.
        y, y_pred : scalar, label or array-like of shape (n_rows,) or (n_rows, n_outputs)
            Targets and the predictions made before them.  A row whose prediction is NaN is not judged.
        lower, upper : scalar or array-like of shape (n_rows,), optional
            Intervals of the predictions; of several outputs the first one's.
        """
        truth, found = _rows(y), _rows(y_pred)
        if truth.shape != found.shape:
            raise ValueError(f"y has the shape {truth.shape} but y_pred {found.shape}; they must agree")
        self._labels = hasattr(model, "classes_")
        if self._labels:
            losses = (truth != found).mean(axis=1, dtype=float)
        else:
            truth, found = truth.astype(float), found.astype(float)
            losses = ((truth - found) ** 2).mean(axis=1)
            bounds = (
                np.full(len(truth), np.nan) if b is None else _rows(b)[:, 0].astype(float) for b in (lower, upper)
            )
            numbers = range(self.n_rows_ + 1, self.n_rows_ + 1 + len(truth))
            self._latest.extend(zip(numbers, truth[:, 0], found[:, 0], *bounds, strict=True))
        self._model = type(model).__name__
        self._note(model, losses)
        now = time.perf_counter()
        if now - self._written >= self.seconds:
            self._written = now
            self.write()

    def write(self, *, last: bool = False) -> None:
        """Write the page now.

        Parameters
        ----------
        last : bool, default=False
            The stream has ended: browsers need not load the page again.
        """
        write_whole(self.path, self._page(last).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.write(last=True)

    def _note(self, model: Any, losses: Array) -> None:
        for loss in losses.tolist():
            self.n_rows_ += 1
            if loss == loss:
                self._judged, self._loss = self._judged + 1, self._loss + loss
            if self.n_rows_ % self._width == 0:
                self._close(model)

    def _close(self, model: Any) -> None:
        """End a point here; where there are too many, each becomes one with its neighbour."""
        audit = getattr(model, "audit_", {})
        counts = audit.get("admitted", 0), audit.get("evicted", 0)
        memories = getattr(model, "experts_", [])
        self._memories = [memory["forgetting"] for memory in memories]
        self._drift = list(getattr(model, "drift_", []))
        before = self._counts if self._points else counts
        if counts < before:  # the model has begun again, or another has taken its place
            before = (0, 0)
        self._points.append(
            Point(
                self.n_rows_,
                self._judged,
                self._loss,
                getattr(model, "n_basis_", 0),
                counts[0] - before[0],
                max(counts[1] - before[1], 0),
                tuple(memory["weight"] for memory in memories),
            )
        )
        self._counts, self._judged, self._loss = counts, 0, 0.0
        if len(self._points) == 2 * POINTS:
            pairs = zip(self._points[::2], self._points[1::2], strict=True)
            self._points = [first.merged(second) for first, second in pairs]
            self._width *= 2

    def _errors(self) -> tuple[list[int], list[float]]:
        """Rows, and the error of the last points before each."""
        rows, errors = [], []
        judged = np.array([p.judged for p in self._points], float)
        loss = np.array([p.loss for p in self._points])
        for i, point in enumerate(self._points):
            part = slice(max(0, i + 1 - SMOOTH), i + 1)
            if judged[part].sum() > 0:
                mean = float(loss[part].sum() / judged[part].sum())
                rows.append(point.end)
                errors.append(100 * mean if self._labels else float(np.sqrt(mean)))
        return rows, errors

    def _panels(self) -> list[str]:
        ends = [p.end for p in self._points]
        rows, errors = self._errors()
        unit = "% wrong" if self._labels else "RMSE"
        panel = Panel(
            f"{unit} of the last {SMOOTH * self._width} rows", (1, self.n_rows_), (0.0, max(errors, default=1))
        )
        shown = [panel.line(rows, errors, "a").marks(self._drift, "drift").svg()]
        if self._latest:
            number, truth, found, low, high = map(list, zip(*self._latest, strict=True))
            inside = [v for v in truth + found + low + high if np.isfinite(v)]
            if inside:
                panel = Panel(
                    "the last rows: targets, predictions", (number[0], number[-1]), (min(inside), max(inside))
                )
                panel.band(number, low, high, "a").dots(number, truth, "d").line(number, found, "a")
                shown.append(panel.svg())
        kernels = [p.n_basis for p in self._points]
        panel = Panel("kernels", (1, self.n_rows_), (0, max(kernels, default=1)))
        shown.append(panel.line(ends, kernels, "b").svg())
        changes = [p.admitted for p in self._points], [p.evicted for p in self._points]
        panel = Panel("kernels added and removed", (1, self.n_rows_), (0, max((*changes[0], *changes[1]), default=1)))
        shown.append(panel.line(ends, changes[0], "b", "added").line(ends, changes[1], "c", "removed").svg())
        if len(self._memories) > 1:
            panel = Panel("weights of the memories", (1, self.n_rows_), (0, 1))
            parts = [p for p in self._points if len(p.weights) == len(self._memories)]
            panel.stack([p.end for p in parts], np.array([p.weights for p in parts]), self._memories)
            shown.append(panel.marks(self._drift, "drift").svg())
        return shown

    def _page(self, last: bool) -> str:
        title = html.escape(self.title or self._model or "stream")
        _, errors = self._errors()
        facts = {
            "rows": f"{self.n_rows_:,}",
            "% wrong" if self._labels else "RMSE": f"{errors[-1]:.4g}" if errors else "",
            "kernels": f"{self._points[-1].n_basis}" if self._points else "",
            "rows a second": f"{self.n_rows_ / max(time.perf_counter() - self._begin, 1e-9):,.0f}",
            "drift noted": f"{len(self._drift)}",
        }
        again = "" if last else f'<meta http-equiv="refresh" content="{max(1, round(self.seconds))}">'
        cells = "".join(f"<div><b>{value}</b>{name}</div>" for name, value in facts.items() if value)
        state = "ended" if last else "running"
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">{again}'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title} <small>{state}</small></h1>"
            f'<div class="facts">{cells}</div>{"".join(self._panels())}</body></html>\n'
        )


def _rows(values: ArrayLike) -> Any:
    """Values as a table, a line a row."""
    found = np.atleast_1d(np.asarray(values))
    return found[:, None] if found.ndim == 1 else found


STYLE = """
:root { color-scheme: light dark; --text: #222; --quiet: #777; --line: #ddd; --ground: #fff;
  --a: #0072b2; --b: #009e73; --c: #d55e00; --d: #555; }
@media (prefers-color-scheme: dark) { :root { --text: #eee; --quiet: #999; --line: #383838; --ground: #16181c;
  --a: #56b4e9; --b: #2fc79a; --c: #f58a3c; --d: #bbb; } }
body { font: 15px/1.4 system-ui, sans-serif; color: var(--text); background: var(--ground); margin: 1.2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .6rem; } small { color: var(--quiet); font-weight: normal; }
.facts { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; margin-bottom: .8rem; color: var(--quiet); }
.facts b { display: block; font-size: 1.25rem; color: var(--text); font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; margin-bottom: .6rem; }
svg text { fill: var(--quiet); font-size: 12px; } svg text.title { fill: var(--text); font-size: 13px; }
svg .frame { stroke: var(--line); fill: none; }
"""
