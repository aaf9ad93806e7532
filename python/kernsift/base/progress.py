"""A progress bar: drawn by rich if installed, else as plain text; none if the output is no terminal."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def progress(total: int, stream: TextIO | None = None, *, hidden: bool = False) -> Iterator[Callable[[str, int], None]]:
    """Yield ``advance(label, rows)``; `total` rows fill the bar (0: unknown), drawn on a terminal only."""
    stream = sys.stdout if stream is None else stream
    if hidden or not stream.isatty():
        yield lambda label, rows: None
        return
    if importlib.util.find_spec("rich") is None:
        yield plain_bar(total, stream)
        print("\r" + " " * 78, end="\r", flush=True, file=stream)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(transient=True, console=Console(file=stream)) as bar:
        task = bar.add_task("", total=total or None)
        yield lambda label, rows: bar.update(task, advance=rows, description=label)


def plain_bar(total: int, stream: TextIO | None = None) -> Callable[[str, int], None]:
    """Return ``advance(label, rows)`` that draws with characters."""
    done, shown = 0, -1

    def advance(label: str, rows: int) -> None:
        nonlocal done, shown
        done += rows
        percent = 100 * done // total if total else done
        if percent != shown:
            shown = percent
            drawn = f"[{'#' * (percent // 4):<25}] {percent:3d} %" if total else f"{done} rows"
            print(f"\r{label:<32} {drawn}", end="", flush=True, file=stream)

    return advance
