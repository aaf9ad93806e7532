"""docs/reliability.md, section by section."""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import datetime
import platform
import re
from collections.abc import Sequence
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


def put(path: Path, lines: list[str], command: str, rows: Sequence[str] = ()) -> None:
    """Replace or add the section that begins with lines[0], a heading.

    Rows of its table named in `rows` stay if `lines` has none of that name under the same head, in the order of `rows`,
    and with them the commands that made them.
    """
    sections = _sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    built = kernsift.build_config()
    kind = f"{built['cpu_level']}, checked" if built["assertions"] else built["cpu_level"]
    origins = [f"*`{command}`, {today}, {processor()}, kernsift {kernsift.__version__} ({kind}).*"]
    heading, body, old = lines[0], lines[1:], sections.get(lines[0], [])
    if rows and old:
        now, before = _table(lines), _table(old)
        if now[0] == before[0] and any(name in before[1] and name not in now[1] for name in rows):
            origins = list(dict.fromkeys([*(line for line in old if line.startswith("*`")), *origins]))
            both = {**before[1], **now[1]}
            body = [line for line in body if line not in now[1].values()]
            body += [both[name] for name in rows if name in both]
    sections[heading] = [heading, "", *origins, "", *body]
    order = sorted(sections, key=lambda heading: (heading.endswith("by hand"), heading))
    text = "\n".join(HEAD + [line for heading in order for line in [*sections[heading], ""]])
    path.write_text(re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n", encoding="utf-8")


def lines(path: Path, heading: str) -> list[str]:
    """The section's lines as they are, none if there is no such section."""
    return _sections(path.read_text(encoding="utf-8")).get(heading, []) if path.exists() else []


def whole_rows(path: Path, section: list[str]) -> set[str]:
    """First cells of the rows without an empty cell in the section of that heading, if its table has the same head."""
    old = lines(path, section[0])
    if not old or _table(old)[0] != _table(section)[0]:
        return set()
    return {name for name, row in _table(old)[1].items() if all(cell.strip() for cell in row.split("|")[1:-1])}


def _table(lines: list[str]) -> tuple[str, dict[str, str]]:
    """Head of the table and its rows by their first cell."""
    head, _, *rows = [line for line in lines if line.startswith("|")]
    return head, {row.split("|")[1].strip(): row for row in rows}


def _sections(text: str) -> dict[str, list[str]]:
    parts = re.split(r"^(?=## )", text, flags=re.M)[1:]
    return {part.splitlines()[0]: part.rstrip().splitlines() for part in parts}
