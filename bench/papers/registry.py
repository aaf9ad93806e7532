"""What the tables share: rows, how much to do, the list of tables and figures, and the pages they are on.

A subject is one module; a table is one function of a `Run`, listed by `@table`. It yields `Row`s beside the paper's or
tuples of cells, lines of text that stand below them, and a `Head` where a table with other columns begins. It may draw
figures with `Run.draw`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measure import data, page
from measure.command import wanted

# What `fit` of the online estimators adds to the papers by default, taken away again.
AS_PRINTED: dict[str, Any] = {"exact_rows": 0, "swap_until": None}

Array = np.ndarray
HERE = Path(__file__).resolve().parent


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
    variant: bool = False  # beside the line that answers the printed number: in parentheses, not counted

    @property
    def verdict(self) -> str:
        """Lower is better; a difference within two standard errors of the difference is none.

        A dictionary more than a tenth smaller or larger than the paper's is said.
        """
        error = self.standard_error
        if error is None:
            error = (self.spread or 0.0) / max(self.repetitions, 1) ** 0.5
        error = float(np.hypot(error, (self.paper_spread or 0.0) / max(self.paper_repetitions, 1) ** 0.5))
        word = self.ruling
        if self.paper is not None and not word:
            difference = self.ours - self.paper
            word = "matches" if abs(difference) <= 2.0 * error else "better" if difference < 0 else "worse"
            size, printed = (float(text.split()[0]) if text else 0.0 for text in (self.kernels, self.paper_kernels))
            if printed and size and abs(size - printed) > 0.1 * printed:
                word += f", {'more' if size > printed else 'fewer'} kernels"
        return f"({word})" if word and self.variant else word

    def cells(self) -> tuple[str, ...]:
        spread = "" if self.spread is None else f" ± {self.spread:.3g}"
        paper_spread = "" if self.paper_spread is None else f" ± {self.paper_spread:g}"
        return (
            self.item,
            self.verdict,
            "" if self.paper is None else f"{self.paper:g}{paper_spread}",
            f"{self.ours:.4g}{spread}",
            self.paper_kernels,
            self.kernels,
            f"{self.seconds:.3g}",
            self.settings,
            self.note,
        )


def spread(values: list[float]) -> float | None:
    """Standard deviation over the repetitions, None of a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


HEADINGS = ("item", "verdict", "paper", "ours", "paper's kernels", "our kernels", "seconds", "settings", "note")


@dataclass
class Head:
    """The columns of the table that begins here, and its title if it has one of its own."""

    columns: tuple[str, ...]
    title: str = ""


Line = Row | Head | tuple[str, ...] | str


@dataclass
class Run:
    """How much to do, where the data are, and where drawings go."""

    mode: str
    data: Path | None
    figures: Path | None = None
    repetitions: int | None = None
    only: list[str] | None = None
    drawn: list[str] = field(default_factory=list)

    def choose(self, quick: Any, default: Any, full: Any) -> Any:
        """An amount by mode."""
        return {"quick": quick, "default": default, "full": full}[self.mode]

    def times(self, default: int, full: int) -> int:
        """Repetitions: by mode, unless the command line says how many."""
        return self.repetitions or self.choose(1, default, full)

    @property
    def brief(self) -> bool:
        return self.mode == "quick"

    def wants(self, name: str) -> bool:
        """Whether --only leaves this part of a table in."""
        return wanted(name, self.only)

    def load(self, name: str) -> dict[str, Array]:
        return data.load(self.folder, name)

    @property
    def folder(self) -> Path:
        if self.data is None:
            raise SystemExit("this needs the papers' data sets: give their folder with --data")
        return self.data

    @contextlib.contextmanager
    def draw(self, name: str, rows: int = 1, columns: int = 1, **settings: Any) -> Iterator[Any]:
        """Axes to draw in, one or an array; written beside the page as NAME.png."""
        import matplotlib

        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        settings = {"figsize": (4.6 * columns, 3.4 * rows), **settings}
        drawing, axes = plt.subplots(rows, columns, layout="constrained", **settings)
        yield axes
        if self.figures is not None:
            self.figures.mkdir(parents=True, exist_ok=True)
            drawing.savefig(self.figures / f"{name}.png", dpi=90)
            self.drawn.append(name)
        plt.close(drawing)


Maker = Callable[[Run], Iterator[Line]]


@dataclass
class Table:
    name: str
    title: str
    make: Maker
    figures: tuple[str, ...] = ()
    seeds: str = ""
    data: tuple[str, ...] = ()  # sets it reads
    page: str = "papers"
    columns: tuple[str, ...] = HEADINGS
    needs: str = ""  # a module besides numpy and scikit-learn


DOCS = HERE.parents[1] / "docs"
PAGES = {
    "papers": HERE / "RESULTS.md",
    "widths": HERE / "WIDTHS.md",
    "coverage": HERE / "COVERAGE.md",
    "reinforcement": HERE / "REINFORCEMENT.md",
    "tables": HERE / "TABLES.md",
    "selectors": DOCS / "selectors.md",
    "streams": DOCS / "stream_settings.md",
}
TABLES: dict[str, Table] = {}


def table(name: str, title: str, columns: str = "", **more: Any) -> Callable[[Maker], Maker]:
    """List a function under a name for the command line; `columns`, between bars, and `more` as in `Table`."""
    if columns:
        more["columns"] = tuple(columns.split(" | "))

    def add(make: Maker) -> Maker:
        TABLES[name] = Table(name, title, make, **more)
        return make

    return add


def markdown(table: Table, lines: list[Line], mode: str, drawn: list[str] | None = None) -> str:
    """The section of a table: rows first, then the text below them."""
    seeds = f" Seeds: {table.seeds}." if table.seeds else ""
    out = [page.heading(table.name, table.title), "", f"Mode: {mode}. {page.machine()}.{seeds}", ""]
    parts: list[tuple[Head, list[Line]]] = [(Head(table.columns), [])]
    for line in lines:
        if isinstance(line, Head):
            parts.append((line, []))
        else:
            parts[-1][1].append(line)
    for head, below in parts:
        cells = [line.cells() if isinstance(line, Row) else line for line in below if not isinstance(line, str)]
        out += [f"### {head.title}", ""] if head.title else []
        out += [*page.head(head.columns), *map(page.row, cells), ""] if cells else []
        for text in below:
            out += [text, ""] if isinstance(text, str) else []
    for name in drawn or []:
        out += [f"![{name}](figures/{name}.png)", ""]
    return "\n".join(out).rstrip() + "\n"


def write_results(path: Path, fresh: dict[str, str]) -> None:
    """Replace these sections of a page and leave the others, in the order of the list; verdicts are counted first."""
    found = page.sections(path) | fresh
    found.pop("SUMMARY", None)
    if counted := summary(found):
        found["SUMMARY"] = counted
    page.write(path, "Measured by `python bench/papers`", found, ["SUMMARY", *TABLES])


WORDS = ("better", "matches", "worse", "not identified")


def summary(sections: dict[str, str]) -> str:
    """The verdicts on a page, counted by table; those in parentheses are of variants and are left out."""
    lines, total = [], [0] * (len(WORDS) + 3)
    for name, text in sections.items():
        cells = [re.split(r" *\| *", line)[2:4] for line in text.splitlines() if line.startswith("| ")]
        words = [word for word, paper in cells if paper and word.partition(",")[0] in WORDS]
        sizes = [sum(f", {size} " in word for word in words) for size in ("fewer", "more")]
        counts = [len(words), *(sum(word.partition(",")[0] == w for word in words) for w in WORDS), *sizes]
        if words:
            lines.append(page.row([name, *map(str, counts)]))
            total = [a + b for a, b in zip(total, counts, strict=True)]
    if not lines:
        return ""
    head = page.head(["table", "numbers printed", *WORDS, "with fewer kernels", "with more kernels"])
    title = page.heading("SUMMARY", f"of {total[0]} printed numbers {total[1] + total[2]} are matched or bettered")
    return "\n".join([title, "", *head, *lines, page.row(["all", *map(str, total)])]) + "\n"
