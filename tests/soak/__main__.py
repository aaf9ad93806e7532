"""python tests/soak [--table NAME ...] [--quick | --full] [--only TEXT ...]: writes docs/develop/reliability.md.

Each table is one section of the page; running some of them replaces theirs and leaves the others.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / "tests"), str(ROOT / "bench")]  # run as a folder, the package has no name of its own

from measure.command import parser  # noqa: E402

from soak import core, drift, equations, fuzz, kill, memory, page, sanitizers  # noqa: E402

TABLES = {
    "calls": fuzz.calls,
    "core": core.run,
    "drift": drift.run,
    "equations": equations.run,
    "files": fuzz.files,
    "kill": kill.run,
    "memory": memory.run,
    "sanitizers": sanitizers.run,
}
# rows that stay in the page where a run leaves them out
ROWS = {"drift": list(drift.CONFIGURATIONS), "sanitizers": list(sanitizers.RUNS)}
ALARMS = {
    "sanitizers": "the sanitizers found something: see build/sanitizers",
    "equations": "lines of equations that no test of their row guards",
}


def main() -> None:
    options = parser("tests/soak", "Faults, drift and limits, measured.", TABLES, "does it run: two minutes", "hours")
    options.add_argument("--resume", action="store_true", help="drift: leave out what is whole in the page")
    options.add_argument("--minutes", type=float, help="core, calls, files: begin nothing more after so many")
    options.add_argument("--build", type=Path, help="core, equations: compile here, and keep it")
    options.add_argument("--objects", type=Path, help="equations: build folder of the package in this tree")
    asked = options.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    asked.out = asked.out or ROOT / "docs" / "develop" / "reliability.md"
    alarms = set()
    for name in asked.table or TABLES:
        command = f"python tests/soak --table {name}" + ("" if asked.mode == "default" else f" --{asked.mode}")
        command += f" --only {shlex.join(asked.only)}" if asked.only else ""
        command += f" --minutes {asked.minutes:g}" if asked.minutes else ""
        stay = [] if name == "drift" and not (asked.only or asked.resume) else ROWS.get(name, [])
        for lines in TABLES[name](asked):
            page.put(asked.out, lines, command, stay)
            print("\n".join(lines), flush=True)
            stay = ROWS.get(name, [])
            alarms |= {ALARMS[name]} if name in ALARMS and page.alarming(lines) else set()
    if alarms:
        sys.exit("; ".join(sorted(alarms)))


if __name__ == "__main__":
    main()
