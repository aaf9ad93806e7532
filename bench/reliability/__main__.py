"""Faults, drift and limits, measured: ``python bench/reliability`` writes docs/reliability.md.

Each table is one section of the page; running some of them replaces theirs and leaves the others.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]  # the oracles and the fuzzer are the tests' own

import core  # noqa: E402
import drift  # noqa: E402
import fuzz  # noqa: E402
import kill  # noqa: E402
import memory  # noqa: E402
import page  # noqa: E402

TABLES = {
    "core": core.run,
    "drift": drift.run,
    "files": fuzz.run_files,
    "fuzz": fuzz.run_inputs,
    "kill": kill.run,
    "memory": memory.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python bench/reliability", description=__doc__)
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES), help="only these")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="does it run: about two minutes")
    mode.add_argument(
        "--full", action="store_true", help="as the page has it: ten million rows, a million inputs: hours"
    )
    parser.add_argument("--only", nargs="+", help="drift: only configurations whose name holds one of these")
    parser.add_argument("--minutes", type=float, help="core, fuzz, files: begin nothing more after so many")
    parser.add_argument("--build", type=Path, help="core: compile here, and keep it")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "docs" / "reliability.md")
    args = parser.parse_args()
    size = "full" if args.full else "quick" if args.quick else "middle"
    for name in args.table:
        options: dict[str, Any] = {"only": args.only} if name == "drift" else {}
        if name in ("core", "fuzz", "files") and args.minutes:
            options["minutes"] = args.minutes
        if name == "core":
            options["folder"] = args.build
        lines = TABLES[name](size, lambda text: print(text, flush=True), **options)
        if lines is None:  # it said why
            continue
        command = f"python bench/reliability --table {name}" + ("" if size == "middle" else f" --{size}")
        if name == "drift" and args.only:
            command += " --only " + " ".join(args.only)
        if "minutes" in options:
            command += f" --minutes {args.minutes:g}"
        page.put(args.out, lines, command)
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
