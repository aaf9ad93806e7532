"""What the tables of every paper share: rows, modes, the list of tables, and the page of results.

A paper is one module; a table is one function of a `Run` that yields `Row`s, put in the list by `@table`.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import kernsift
import numpy as np

Array = np.ndarray
MODES = ("quick", "default", "full")


@dataclass
class Row:
    """One number beside the paper's."""

    item: str
    paper: float | None
    ours: float
    spread: float | None = None  # standard deviation over the repetitions
    repetitions: int = 1
    standard_error: float | None = None  # of ours; by default from the spread
    paper_kernels: str = ""
    kernels: str = ""
    seconds: float = 0.0
    settings: str = ""
    note: str = ""

    @property
    def verdict(self) -> str:
        """Lower is better; a difference within two standard errors of ours is none."""
        error = self.standard_error
        if error is None:
            error = (self.spread or 0.0) / max(self.repetitions, 1) ** 0.5
        word = ""
        if self.paper is not None:
            difference = self.ours - self.paper
            word = "matches" if abs(difference) <= 2.0 * error else "better" if difference < 0 else "worse"
        return "; ".join(part for part in (word, self.note) if part)

    def cells(self) -> list[str]:
        spread = "" if self.spread is None else f" ± {self.spread:.3g}"
        return [
            self.item,
            "" if self.paper is None else f"{self.paper:g}",
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
    """How much to do, and where the data are."""

    mode: str
    data: Path

    def choose(self, quick: int, default: int, full: int) -> int:
        return {"quick": quick, "default": default, "full": full}[self.mode]

    def load(self, name: str) -> dict[str, Array]:
        path = self.data / f"{name}.npz"
        if not path.is_file():
            raise SystemExit(f"{path} is missing: give the folder of the papers' data sets with --data")
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}


@dataclass
class Table:
    name: str
    title: str
    make: Callable[[Run], Iterator[Row]]


TABLES: dict[str, Table] = {}


def table(name: str, title: str) -> Callable[[Callable[[Run], Iterator[Row]]], Callable[[Run], Iterator[Row]]]:
    """List a function under a name for the command line."""

    def add(make: Callable[[Run], Iterator[Row]]) -> Callable[[Run], Iterator[Row]]:
        TABLES[name] = Table(name, title, make)
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


def markdown(table: Table, rows: list[Row], mode: str) -> str:
    lines = [f"## {table.name}: {table.title}", "", f"Mode: {mode}. {machine()}.", ""]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    return "\n".join(lines) + "\n"


PREAMBLE = """# The papers' tables, and ours

Written by `python bench/papers`; see `--help`. Errors: lower is better. "matches" is within two standard errors of ours
(over the repetitions; of a single run, that of the test set's size). Seconds are processor time of fits and
cross-validation together.
"""


def write_results(path: Path, sections: dict[str, str]) -> None:
    """Replace these sections of the page and leave the others."""
    kept: dict[str, str] = {}
    if path.is_file():
        for part in re.split(r"(?m)^(?=## )", path.read_text(encoding="utf-8"))[1:]:
            kept[part[3:].partition(":")[0]] = part.rstrip() + "\n"
    kept.update(sections)
    path.write_text(PREAMBLE + "\n" + "\n".join(kept[name] for name in sorted(kept)), encoding="utf-8")
