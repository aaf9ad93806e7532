"""python bench/papers --table OROLS2 OROLS3 [--quick | --full] --data DIR"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # run as a folder, the package has no name of its own

import efvs  # noqa: E402, F401  (each lists its tables)
import isls  # noqa: E402, F401
import jung  # noqa: E402, F401
import orols  # noqa: E402, F401
from registry import HEADINGS, TABLES, Run, markdown, write_results  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python bench/papers", description="The papers' tables, and ours.")
    parser.add_argument("--table", nargs="+", choices=sorted(TABLES), default=sorted(TABLES), metavar="NAME")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_const", const="quick", dest="mode", help="a smoke test")
    amount.add_argument("--full", action="store_const", const="full", dest="mode", help="the papers' protocol in full")
    parser.add_argument("--data", type=Path, required=True, help="folder of the papers' data sets (.npz)")
    parser.add_argument("--results", type=Path, default=HERE / "RESULTS.md", help="page to write")
    options = parser.parse_args(arguments)
    run = Run(options.mode or "default", options.data)
    for name in options.table:
        rows, begin = [], time.perf_counter()
        print(f"{name}: {TABLES[name].title}\n" + " | ".join(HEADINGS), flush=True)
        for row in TABLES[name].make(run):
            rows.append(row)
            print(" | ".join(row.cells()), flush=True)
        write_results(options.results, {name: markdown(TABLES[name], rows, run.mode)})
        print(f"{time.perf_counter() - begin:.0f} s\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
