"""docs/reliability.md, section by section."""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import datetime
import platform
import re
from pathlib import Path

import kernsift

HEAD = [
    "# Reliability",
    "",
    "What was done to break it and what came of it. Each section is written by the command it names; the last says what",
    "was run by hand.",
    "",
]


def processor() -> str:
    """The model of the CPU."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="ascii"), re.M)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.machine()


def put(path: Path, lines: list[str], command: str) -> None:
    """Replace or add the section that begins with lines[0], a heading."""
    sections = _sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    built = kernsift.build_config()
    origin = f"*`{command}`, {today}, {processor()}, kernsift {kernsift.__version__} ({built['cpu_level']}).*"
    sections[lines[0]] = [lines[0], "", origin, "", *lines[1:]]
    order = sorted(sections, key=lambda heading: (heading.endswith("by hand"), heading))
    text = "\n".join(HEAD + [line for heading in order for line in [*sections[heading], ""]])
    path.write_text(re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n", encoding="utf-8")


def lines(path: Path, heading: str) -> list[str]:
    """The section's lines as they are, none if there is no such section."""
    return _sections(path.read_text(encoding="utf-8")).get(heading, []) if path.exists() else []


def _sections(text: str) -> dict[str, list[str]]:
    parts = re.split(r"^(?=## )", text, flags=re.M)[1:]
    return {part.splitlines()[0]: part.rstrip().splitlines() for part in parts}
