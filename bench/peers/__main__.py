"""python bench/peers [--table NAME ...] [--quick | --full] [--data DIR]: the same work on every rival."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # run as a folder, the package has no name of its own

from measure.fair import lift  # noqa: E402

lift()

from measure.command import parser, wanted  # noqa: E402
from measure.page import heading  # noqa: E402

from peers import page  # noqa: E402
from peers.runner import race  # noqa: E402

# kinds of work: the module of each
WORK = {
    "stream": "stream",
    "batch": "batch",
    "equal": "equal",
    "predict": "prediction",
    "select": "choose",
    "paths": "paths",
    "tune": "tuning",
    "scaling": "scaling",
    "large": "large",
    "river": "tracks",
    "front": "front",
    "forecast": "forecast",
    "parquet": "parquet",
}
ON_TWO = ("batch", "predict")  # work that has threads
ORDER = [name for work in WORK for name in (work, f"{work}, two threads")]


def section(name: str, options: argparse.Namespace, threads: int) -> Iterator[str]:
    """Lines of a section, as they become known."""
    module, mode = importlib.import_module(f"peers.{WORK[name]}"), options.mode
    two = ", two threads" if threads > 1 else ""
    yield from (heading(name + two, module.TITLE + two), "", f"Mode: {mode}. {page.machine(threads)}.", "")
    if not two:
        yield from (module.ABOUT, "")
    rounds = 1 if mode == "quick" else 3
    if name in ("scaling", "river", "front", "forecast"):
        yield from module.table(mode, rounds)
        yield ""
        return
    for case in module.cases(mode, options.data):
        if wanted(case.label, options.only) and not (two and case.task.get("kind") == "one"):
            yield from page.case_table(case.label, race(WORK[name], case, rounds, threads, options.torch_python))


def main(arguments: list[str] | None = None) -> int:
    options = parser("bench/peers", "The same work on every rival.", WORK, "does it run: two minutes", "hours")
    options.add_argument("--torch-python", help="interpreter that has gpytorch, where this one has not")
    asked = options.parse_args(arguments)
    # a part of a race does not replace the whole in the page
    path = asked.out or (None if asked.only else Path(__file__).resolve().parent / "RESULTS.md")
    with tempfile.TemporaryDirectory(prefix="kernsift-rivals-") as folder:
        os.environ["KERNSIFT_PEERS_BUILD"] = folder
        for name in asked.table or WORK:
            for threads in (1, 2) if name in ON_TWO and asked.mode != "quick" else (1,):
                begin, lines = time.perf_counter(), []
                for line in section(name, asked, threads):
                    print(line, flush=True)
                    lines.append(line)
                key = name + (", two threads" if threads > 1 else "")
                if path:
                    page.write(path, ORDER, {key: "\n".join(lines).rstrip() + "\n"})
                print(f"{time.perf_counter() - begin:.0f} s\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
