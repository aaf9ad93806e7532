"""docs/develop/reliability.md, section by section."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import kernsift
from measure import page


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def put(path: Path, lines: list[str], command: str, rows: Sequence[str] = ()) -> None:
    """Replace or add the section that begins with lines[0], a heading.

    Rows of its table named in `rows` stay if `lines` has none of that name under the same head, in the order of `rows`,
    and with them the commands that made them.
    """
    sections, name = page.sections(path), lines[0].removeprefix("## ")
    built = kernsift.build_config()
    kind = f"{built['cpu_level']}, checked" if built["assertions"] else built["cpu_level"]
    origins = [f"*`{command}`, {today()}, {page.processor()}, kernsift {kernsift.__version__} ({kind}).*"]
    body, old = lines[1:], sections.get(name, "").splitlines()
    if rows and old:
        now, before = _table(lines), _table(old)
        if now[0] == before[0] and any(row in before[1] and row not in now[1] for row in rows):
            origins = list(dict.fromkeys([*(line for line in old if line.startswith("*`")), *origins]))
            both = {**before[1], **now[1]}
            body = [line for line in body if line not in now[1].values()]
            body += [both[row] for row in rows if row in both]
    sections[name] = "\n".join([lines[0], "", *origins, *body]) + "\n"
    order = sorted(sections, key=lambda name: (name.endswith("by hand"), name))
    page.write(path, "Reliability", sections, order)


def whole_rows(path: Path, section: list[str]) -> set[str]:
    """First cells of the rows without an empty cell in the section of that heading, if its table has the same head."""
    old = page.sections(path).get(section[0].removeprefix("## "), "").splitlines()
    if not old or _table(old)[0] != _table(section)[0]:
        return set()
    return {name for name, row in _table(old)[1].items() if all(cell.strip() for cell in row.split("|")[1:-1])}


def alarming(lines: list[str]) -> bool:
    """Whether a row of the table holds a finding, which is in bold."""
    return any(line.startswith("|") and "**" in line for line in lines)


def _table(lines: list[str]) -> tuple[str, dict[str, str]]:
    """Head of the table and its rows by their first cell."""
    head, _, *rows = [line for line in lines if line.startswith("|")]
    return head, {row.split("|")[1].strip(): row for row in rows}
