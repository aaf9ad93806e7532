"""What the tables of every paper share: rows, modes, the list of tables and figures, and the page of results.

A paper is one module; a table is one function of a `Run` that yields `Row`s, and lines of text to stand below them, put
in the list by `@table`. It may draw figures with `Run.draw`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from datasets import load

# What `fit` of the online estimators adds to the papers by default, taken away again.
AS_PRINTED: dict[str, Any] = {"exact_rows": 0, "swap_until": None}

Array = np.ndarray
MODES = ("smoke", "quick", "default", "full")


@dataclass
class Row:
    """One number beside the paper's."""

    item: str
    paper: float | None
    ours: float
    spread: float | None = None  # standard deviation over the repetitions
    repetitions: int = 1
    standard_error: float | None = None  # of ours; by default from the spread
    paper_spread: float | None = None
    paper_repetitions: int = 1
    paper_kernels: str = ""
    kernels: str = ""
    seconds: float = 0.0
    settings: str = ""
    note: str = ""
    ruling: str = ""  # in place of a comparison, where the printed number admits none

    @property
    def verdict(self) -> str:
        """Lower is better; a difference within two standard errors of the difference is none."""
        error = self.standard_error
        if error is None:
            error = (self.spread or 0.0) / max(self.repetitions, 1) ** 0.5
        error = float(np.hypot(error, (self.paper_spread or 0.0) / max(self.paper_repetitions, 1) ** 0.5))
        word = self.ruling
        if self.paper is not None and not word:
            difference = self.ours - self.paper
            word = "matches" if abs(difference) <= 2.0 * error else "better" if difference < 0 else "worse"
        return "; ".join(part for part in (word, self.note) if part)

    def cells(self) -> list[str]:
        spread = "" if self.spread is None else f" ± {self.spread:.3g}"
        paper_spread = "" if self.paper_spread is None else f" ± {self.paper_spread:g}"
        return [
            self.item,
            "" if self.paper is None else f"{self.paper:g}{paper_spread}",
            f"{self.ours:.4g}{spread}",
            self.paper_kernels,
            self.kernels,
            f"{self.seconds:.3g}",
            self.settings,
            self.verdict,
        ]


HEADINGS = ["item", "paper", "ours", "paper's kernels", "our kernels", "seconds", "settings", "verdict"]


@dataclass
class Run:
    """How much to do, where the data are, and where drawings go."""

    mode: str
    data: Path | None
    figures: Path | None = None
    repetitions: int | None = None
    drawn: list[str] = field(default_factory=list)

    def choose(self, quick: int, default: int, full: int, smoke: int | None = None) -> int:
        """An amount by mode."""
        return {"smoke": quick if smoke is None else smoke, "quick": quick, "default": default, "full": full}[self.mode]

    def times(self, quick: int, default: int, full: int) -> int:
        """Repetitions: by mode, unless the command line says how many."""
        return self.repetitions or self.choose(quick, default, full, smoke=1)

    @property
    def brief(self) -> bool:
        return self.mode in ("smoke", "quick")

    def load(self, name: str) -> dict[str, Array]:
        if self.data is None:
            raise SystemExit("this needs the papers' data sets: give their folder with --data")
        return load(self.data, name)

    @contextlib.contextmanager
    def draw(self, name: str, rows: int = 1, columns: int = 1, **settings: Any) -> Iterator[Any]:
        """Axes to draw in, one or an array; written beside the page as NAME.png."""
        import matplotlib

        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        size = (4.6 * columns, 3.4 * rows)
        drawing, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", **settings)
        yield axes
        if self.figures is not None:
            self.figures.mkdir(parents=True, exist_ok=True)
            drawing.savefig(self.figures / f"{name}.png", dpi=90)
            self.drawn.append(name)
        plt.close(drawing)


Maker = Callable[[Run], Iterator[Row | str]]


@dataclass
class Table:
    name: str
    title: str
    make: Maker
    figures: tuple[str, ...] = ()
    seeds: str = ""
    data: tuple[str, ...] = ()  # sets it reads


TABLES: dict[str, Table] = {}


def table(
    name: str, title: str, figures: tuple[str, ...] = (), seeds: str = "", data: tuple[str, ...] = ()
) -> Callable[[Maker], Maker]:
    """List a function under a name for the command line, with the figures it draws."""

    def add(make: Maker) -> Maker:
        TABLES[name] = Table(name, title, make, figures, seeds, data)
        return make

    return add


def machine() -> str:
    """The processor, for the page of results."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M)
        model = found[1] if found else model
    level = kernsift.build_config()["cpu_level"]
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, kernsift {kernsift.__version__} ({level})"


def _status(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+)", Path("/proc/self/status").read_text(), re.M)
    return int(found[1]) if found else 0


@contextlib.contextmanager
def peak_memory() -> Iterator[list[float]]:
    """Megabytes of memory in use at most, above those at the beginning; nan where the system does not tell (Linux)."""
    out = [float("nan")]
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
    except (OSError, AttributeError):
        yield out
        return
    yield out
    out[0] = (_status("VmHWM") - before) / 1024.0


def markdown(table: Table, rows: list[Row | str], mode: str, drawn: list[str] | None = None) -> str:
    seeds = f" Seeds: {table.seeds}." if table.seeds else ""
    lines = [f"## {table.name}: {table.title}", "", f"Mode: {mode}. {machine()}.{seeds}", ""]
    numbers = [row for row in rows if isinstance(row, Row)]
    if numbers:
        lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
        lines += ["| " + " | ".join(row.cells()) + " |" for row in numbers]
    for text in rows:
        if isinstance(text, str):
            lines += ["", text]
    for name in drawn or []:
        lines += ["", f"![{name}](figures/{name}.png)"]
    return "\n".join(lines) + "\n"


PREAMBLE = """# The papers' tables, and ours

Written by `python bench/papers`; see `--help`. Errors: lower is better; ± is the standard deviation over the
repetitions. "matches" is within two standard errors of the difference: ours over the repetitions (of a single run, that
of the test set's size) and the paper's where it prints a spread. Seconds are processor time of fits and
cross-validation together. Widths, ridges and thresholds are the paper's or were chosen on training rows; no number was
chosen by its test error.
"""


def write_results(path: Path, sections: dict[str, str]) -> None:
    """Replace these sections of the page and leave the others; in the order of the list."""
    kept: dict[str, str] = {}
    if path.is_file():
        for part in re.split(r"(?m)^(?=## )", path.read_text(encoding="utf-8"))[1:]:
            kept[part[3:].partition(":")[0]] = part.rstrip() + "\n"
    kept.update(sections)
    order = {name: place for place, name in enumerate(TABLES)}
    names = sorted(kept, key=lambda name: (order.get(name, len(order)), name))
    path.parent.mkdir(parents=True, exist_ok=True)
    # whole or not at all: another run may be reading the page to put its own section in
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(PREAMBLE + "\n" + "\n".join(kept[name] for name in names), encoding="utf-8")
    fresh.replace(path)
