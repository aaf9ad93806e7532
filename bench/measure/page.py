"""Pages of results: Markdown in sections, of which one run replaces its own and leaves the others."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def processor() -> str:
    """The model of the CPU."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M) if info.is_file() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def machine() -> str:
    """The processor, its cores, the system, and the build of kernsift."""
    import kernsift

    level = kernsift.build_config()["cpu_level"]
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()}, kernsift {kernsift.__version__} ({level})"


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def head(columns: Sequence[str]) -> list[str]:
    """The first two lines of a table."""
    return [row(columns), "|" + "---|" * len(columns)]


def _parts(path: Path) -> list[str]:
    """What is above the first section, and the sections."""
    return re.split(r"(?m)^(?=## )", path.read_text(encoding="utf-8")) if path.is_file() else [""]


def heading(name: str, title: str) -> str:
    """The heading of a section that a command makes by this name."""
    return f"## {title[0].upper()}{title[1:]} (`{name}`)"


def _name(heading: str) -> str:
    found = re.search(r"\(`([^`]+)`\)$", heading)
    return found[1] if found else heading.partition(":")[0]


def sections(path: Path) -> dict[str, str]:
    """The sections of a page by name, or by their heading up to a colon."""
    return {_name(part[3:].splitlines()[0]): part.rstrip() + "\n" for part in _parts(path)[1:]}


def write(path: Path, title: str, found: Mapping[str, str], order: Iterable[str]) -> None:
    """The sections in the order of the list, those it lacks after them, below the words that the page begins with.

    The page is replaced as a whole: another run may be reading it.
    """
    names = [name for name in order if name in found]
    names += sorted(name for name in found if name not in names)
    above = _parts(path)[0].strip() or f"# {title}"
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text("\n".join([above + "\n", *(found[name] for name in names)]), encoding="utf-8")
    fresh.replace(path)
