"""python bench/widths [--quick | --full] [--table NAME ...] --data DIR: what learned widths bring and cost."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # run as a folder, the package has no name of its own

from tables import PREAMBLE, TABLES, Run, machine  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python bench/widths", description="What learned widths bring and cost.")
    parser.add_argument("--table", nargs="+", choices=sorted(TABLES), default=list(TABLES), metavar="NAME")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_const", const="quick", dest="mode", help="a smoke test")
    amount.add_argument("--full", action="store_const", const="full", dest="mode", help="with the SVC on all rows")
    parser.add_argument("--data", type=Path, required=True, help="folder of the papers' data sets (.npz)")
    parser.add_argument("--results", type=Path, default=HERE / "RESULTS.md", help="page to write")
    options = parser.parse_args(arguments)
    run = Run(options.mode or "default", options.data)
    kept: dict[str, str] = {}
    if options.results.is_file():
        for part in options.results.read_text(encoding="utf-8").split("\n## ")[1:]:
            kept[part.partition(":")[0]] = f"## {part.rstrip()}\n"
    for name in options.table:
        title, headings, make = TABLES[name]
        begin = time.perf_counter()
        lines = [f"## {name}: {title}", "", f"Mode: {run.mode}. {machine()}.", ""]
        lines += ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
        print("\n".join(lines), flush=True)
        for row in make(run):
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
            kept[name] = "\n".join(lines) + "\n"  # after every row: the longest come last
            page = "\n".join(kept[n] for n in TABLES if n in kept)
            options.results.write_text(f"{PREAMBLE}\n{page}", encoding="utf-8")
        print(f"{time.perf_counter() - begin:.0f} s\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
