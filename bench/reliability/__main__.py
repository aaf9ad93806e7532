"""Faults, drift and limits, measured: ``python bench/reliability`` writes docs/reliability.md.

Each table is one section of the page; running some of them replaces theirs and leaves the others.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]  # the oracles and the fuzzer are the tests' own

import core  # noqa: E402
import drift  # noqa: E402
import equations  # noqa: E402
import fuzz  # noqa: E402
import kill  # noqa: E402
import memory  # noqa: E402
import page  # noqa: E402
import sanitizers  # noqa: E402

TABLES: dict[str, Any] = {
    "core": core.run,
    "drift": drift.run,
    "equations": equations.run,
    "fuzz": fuzz.run_inputs,
    "files": fuzz.run_files,
    "kill": kill.run,
    "memory": memory.run,
    "sanitizers": sanitizers.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python bench/reliability", description=__doc__)
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES), help="only these")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", action="store_true", help="does it run: about two minutes")
    mode.add_argument(
        "--full", action="store_true", help="as the page has it: ten million rows, a million inputs: hours"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        help="drift, sanitizers: only what has one of these in its name; drift: other rows stay; equations: these tags",
    )
    parser.add_argument("--resume", action="store_true", help="drift: leave out what is whole in the page")
    parser.add_argument("--minutes", type=float, help="core, fuzz, files: begin nothing more after so many")
    parser.add_argument("--build", type=Path, help="core, equations: compile here, and keep it")
    parser.add_argument(
        "--objects", type=Path, help="equations: build folder of the package in this tree, not to compile it again"
    )
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "docs" / "reliability.md")
    args = parser.parse_args()
    size = "full" if args.full else "quick" if args.quick else "middle"
    for name in args.table:
        command = f"python bench/reliability --table {name}" + ("" if size == "middle" else f" --{size}")
        if args.only and name in ("drift", "equations", "sanitizers"):
            command += " --only " + shlex.join(args.only)
        if name == "drift":
            soak(args.out, size, args.only, command, args.resume)
            continue
        options: dict[str, Any] = {}
        if name == "sanitizers":
            options = {"only": args.only, "out": args.out}
        if name == "equations":
            options = {"only": args.only, "folder": args.build, "objects": args.objects}
        if name == "core":
            options["folder"] = args.build
        if name in ("core", "fuzz", "files") and args.minutes:
            options["minutes"] = args.minutes
            command += f" --minutes {args.minutes:g}"
        lines = TABLES[name](size, say, **options)
        if lines is None:  # it said why
            continue
        page.put(args.out, lines, command)
        print("\n".join(lines), flush=True)
        if name == "sanitizers" and sanitizers.found_something(lines):
            sys.exit("the sanitizers found something: see build/sanitizers")
        if name == "equations" and equations.found_something(lines):
            sys.exit("lines of equations that no test of their row guards")


def soak(out: Path, size: str, only: list[str] | None, command: str, resume: bool) -> None:
    """A row of the page grows at each checkpoint; with `only` or `resume`, rows of the others stay as they are."""
    stay = list(drift.CONFIGURATIONS) if only or resume else []
    names = drift.names(size, only)
    if not names:
        raise SystemExit(f"no configuration of the drift has one of {only} in its name")
    whole = page.whole_rows(out, drift.section(size, [])) if resume else set()
    for name in names:
        if name in whole:
            continue
        for lines in drift.run(size, say, name):
            page.put(out, lines, command, stay)
            stay = list(drift.CONFIGURATIONS)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
