"""The command line of every bench: which tables, how much of them, on which data, into which page."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

MODES = ("quick", "default", "full")


def parser(
    name: str, about: str, tables: Iterable[str] = (), quick: str = "does it run", full: str = "hours"
) -> argparse.ArgumentParser:
    """Options that mean the same everywhere; `name` is that of the folder that is run."""
    found = argparse.ArgumentParser(prog=f"python {name}", description=about)
    if names := list(tables):
        found.add_argument("--table", nargs="+", choices=names, default=[], metavar="NAME", help=", ".join(names))
    found.add_argument("--only", nargs="+", metavar="TEXT", help="only what has one of these in its name")
    amount = found.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_const", const="quick", dest="mode", default="default", help=quick)
    amount.add_argument("--full", action="store_const", const="full", dest="mode", help=full)
    found.add_argument("--data", type=Path, help="folder of the papers' data sets (.npz)")
    found.add_argument("--out", type=Path, help="file to write, in place of the committed one")
    return found


def wanted(name: str, only: list[str] | None) -> bool:
    """Whether --only leaves the name in."""
    return only is None or any(text in name for text in only)
