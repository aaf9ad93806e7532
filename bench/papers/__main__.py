"""python bench/papers [--table OROLS2 OROLS3 ... | --figure JPF1 ...] [--quick | --full] --data DIR [--download]

Without --table or --figure: everything. --download fetches the sets that DIR lacks; nothing is fetched without it.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # run as a folder, the package has no name of its own

from datasets import download  # noqa: E402
from registry import HEADINGS, TABLES, Row, Run, markdown, write_results  # noqa: E402

for module in ("jung", "slides", "orols_classes", "orols", "efvs", "isls", "beyond"):
    importlib.import_module(module)  # each lists its tables, in the order of the page


def main(arguments: list[str] | None = None) -> int:
    drawn_by = {figure: name for name, table in TABLES.items() for figure in table.figures}
    parser = argparse.ArgumentParser(
        prog="python bench/papers", description="The papers' tables and figures, and ours."
    )
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=[], metavar="NAME", help=", ".join(TABLES))
    parser.add_argument(
        "--figure", nargs="+", choices=list(drawn_by), default=[], metavar="NAME", help=", ".join(drawn_by)
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--smoke", action="store_const", const="smoke", dest="mode", help="does it run: a minute")
    amount.add_argument("--quick", action="store_const", const="quick", dest="mode", help="everything in five minutes")
    amount.add_argument("--full", action="store_const", const="full", dest="mode", help="the papers' protocol in full")
    parser.add_argument("--repetitions", type=int, help="in place of the mode's")
    parser.add_argument("--data", type=Path, help="folder of the papers' data sets (.npz)")
    parser.add_argument("--download", action="store_true", help="fetch the sets that folder lacks, checked")
    parser.add_argument("--results", type=Path, default=HERE / "RESULTS.md", help="page to write; drawings beside it")
    options = parser.parse_args(arguments)
    if options.download and options.data is None:
        parser.error("--download needs --data, the folder to fetch into")
    asked = options.table + [drawn_by[figure] for figure in options.figure] or list(TABLES)
    asked = list(dict.fromkeys(asked))
    if options.download:
        for name in dict.fromkeys(name for table in asked for name in TABLES[table].data):
            download(name, options.data)
    mode = options.mode or "default"
    skipped = {}
    for name in asked:
        absent = [n for n in TABLES[name].data if options.data is None or not (options.data / f"{n}.npz").is_file()]
        if absent:
            skipped[name] = absent
            print(f"{name}: skipped, {options.data or '--data'} lacks {', '.join(absent)}\n", flush=True)
            continue
        run = Run(mode, options.data, options.results.parent / "figures", options.repetitions)
        rows, begin = [], time.perf_counter()
        print(f"{name}: {TABLES[name].title}\n" + " | ".join(HEADINGS), flush=True)
        stated = mode if options.repetitions is None else f"{mode}, {options.repetitions} repetitions"
        for row in TABLES[name].make(run):
            rows.append(row)
            print(" | ".join(row.cells()) if isinstance(row, Row) else row, flush=True)
            write_results(options.results, {name: markdown(TABLES[name], rows, f"{stated} (unfinished)")})
        write_results(options.results, {name: markdown(TABLES[name], rows, stated, run.drawn)})
        print(f"{time.perf_counter() - begin:.0f} s\n", flush=True)
    if skipped:
        sets = sorted({name for names in skipped.values() for name in names})
        how = "give their folder with --data, or add --download"
        print(f"skipped: {', '.join(skipped)}; missing: {', '.join(sets)}: {how}", file=sys.stderr)
    named = set(options.table + [drawn_by[figure] for figure in options.figure])
    return 1 if named & set(skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
