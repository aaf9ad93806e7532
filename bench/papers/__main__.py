"""python bench/papers [--table OROLS2 JPF1 ...] [--quick | --full] [--data DIR [--download]] [--out PAGE]

Without --table: everything. --download fetches the sets that DIR lacks; nothing is fetched without it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # run as a folder, the package has no name of its own

from measure.fair import lift  # noqa: E402

lift()

from measure.command import parser  # noqa: E402
from measure.data import download  # noqa: E402
from measure.page import row  # noqa: E402

from papers.registry import PAGES, TABLES, Head, Row, Run, markdown, write_results  # noqa: E402

for module in (
    "jung",
    "slides",
    "orols_classes",
    "orols",
    "efvs",
    "isls",
    "beyond",
    "beyond_tables",
    "choices",
    "coverage",
    "stream_noise",
    "uncertainty",
    "widths",
    "reinforcement",
):
    importlib.import_module(f"papers.{module}")  # each lists its tables, in the order of the page


def main(arguments: list[str] | None = None) -> int:
    drawn_by = {figure: name for name, table in TABLES.items() for figure in table.figures}
    names = dict.fromkeys([*TABLES, *drawn_by])
    options = parser(
        "bench/papers", "The papers' tables and figures, and ours.", names, "a minute", "the papers' protocol"
    )
    options.add_argument("--repetitions", type=int, help="in place of the mode's")
    options.add_argument("--download", action="store_true", help="fetch the sets that --data lacks, checked")
    asked = options.parse_args(arguments)
    if asked.download and asked.data is None:
        options.error("--download needs --data, the folder to fetch into")
    tables = list(dict.fromkeys(drawn_by.get(name, name) for name in asked.table or TABLES))
    if asked.download:
        for name in dict.fromkeys(name for table in tables for name in TABLES[table].data):
            download(name, asked.data)
    skipped: dict[str, list[str]] = {}
    for name in tables:
        if lacks := missing(name, asked.data):
            skipped[name] = lacks
            print(f"{name}: skipped, without {', '.join(lacks)}\n", flush=True)
        else:
            make(name, asked)
    if skipped:
        sets = sorted({name for names in skipped.values() for name in names})
        how = "give the folder of the data sets with --data, or add --download; install modules by pip"
        print(f"skipped: {', '.join(skipped)}; missing: {', '.join(sets)}: {how}", file=sys.stderr)
    return 1 if asked.table and skipped else 0


def missing(name: str, data: Path | None) -> list[str]:
    """The data sets and modules that a table lacks."""
    found = [n for n in TABLES[name].data if data is None or not (data / f"{n}.npz").is_file()]
    module = TABLES[name].needs
    return found + ([module] if module and importlib.util.find_spec(module) is None else [])


def make(name: str, asked: argparse.Namespace) -> None:
    """One table into its page, again after every line: the longest come last."""
    table = TABLES[name]
    path = asked.out or (None if asked.only else PAGES[table.page])  # a part of a table does not replace the whole
    figures = path and path.parent / "figures"
    run = Run(asked.mode, asked.data, figures, asked.repetitions, asked.only)
    stated = asked.mode if asked.repetitions is None else f"{asked.mode}, {asked.repetitions} repetitions"
    lines, begin = [], time.perf_counter()
    print(f"{name}: {table.title}\n" + row(table.columns), flush=True)
    for line in table.make(run):
        lines.append(line)
        shown = (
            line.cells() if isinstance(line, Row) else (line.title, *line.columns) if isinstance(line, Head) else line
        )
        print(shown if isinstance(shown, str) else row(shown), flush=True)
        if path:
            write_results(path, {name: markdown(table, lines, f"{stated} (unfinished)")})
    if path:
        write_results(path, {name: markdown(table, lines, stated, run.drawn)})
    print(f"{time.perf_counter() - begin:.0f} s\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
