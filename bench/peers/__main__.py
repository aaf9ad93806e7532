"""python bench/peers [--quick | --full] [--work NAME ...] [--data DIR]: the same work on every rival."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # run as a folder, the package has no name of its own

import page  # noqa: E402
import scaling  # noqa: E402
from runner import race  # noqa: E402

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
}
ON_TWO = ("batch", "predict")  # work that has threads
ROUNDS = {"smoke": 1, "quick": 3, "default": 3, "full": 3}
ORDER = [name for work in WORK for name in (work, f"{work}, two threads")]


def scaling_rows(mode: str, rounds: int) -> Iterator[str]:
    yield "| " + " | ".join(scaling.HEADINGS) + " |"
    yield "|" + "---|" * len(scaling.HEADINGS)
    for work, axis, rival, sizes, (time_promised, memory_promised) in scaling.axes(mode):
        letter = axis[0]
        found = [race("scaling", scaling.case(size, rival), rounds)[0] for size in sizes]
        if missing := [r.absent for r in found if r.absent]:
            yield f"| {work} | {axis} | {missing[0]} |"
            continue
        steps = [size[letter] for size in sizes]
        slope = scaling.exponent(steps, [r.seconds for r in found])
        memory = scaling.exponent(steps, [max(r.megabytes, 0.5) for r in found])
        cells = (
            work,
            axis,
            f"{steps[0]:,} to {steps[-1]:,}",
            f"{slope:.2f}",
            time_promised,
            f"{memory:.2f}",
            memory_promised,
        )
        yield "| " + " | ".join(cells) + " |"


def section(name: str, mode: str, options: argparse.Namespace, threads: int) -> Iterator[str]:
    """Lines of a section, as they become known."""
    module = importlib.import_module(WORK[name])
    title = module.TITLE + (", two threads" if threads > 1 else "")
    yield f"## {name + (', two threads' if threads > 1 else '')}: {title}"
    yield ""
    yield f"Mode: {mode}. {page.machine(threads)}."
    yield ""
    if threads == 1:
        yield from (module.ABOUT, "")
    if name == "scaling":
        yield from scaling_rows(mode, ROUNDS[mode])
        yield ""
        return
    for case in module.cases(mode, options.data):
        if (options.case and options.case not in case.label) or (threads > 1 and case.told.get("kind") == "one"):
            continue
        results = race(WORK[name], case, ROUNDS[mode], threads, options.torch_python)
        yield from page.case_table(case.label, results)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python bench/peers", description="The same work on every rival.")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--smoke", action="store_const", const="smoke", dest="mode", help="does it run: half a minute")
    amount.add_argument("--quick", action="store_const", const="quick", dest="mode", help="smaller sizes: ten minutes")
    amount.add_argument("--full", action="store_const", const="full", dest="mode", help="with what takes an hour")
    parser.add_argument(
        "--work", nargs="+", choices=list(WORK), default=list(WORK), metavar="NAME", help=", ".join(WORK)
    )
    parser.add_argument("--case", help="only races whose label holds this (give --results elsewhere)")
    parser.add_argument("--data", type=Path, help="folder of the papers' data sets (.npz); without it a stand-in")
    parser.add_argument("--torch-python", help="interpreter that has gpytorch, where this one has not")
    parser.add_argument("--results", type=Path, default=HERE / "RESULTS.md", help="page to write")
    options = parser.parse_args(arguments)
    mode = options.mode or "default"
    with tempfile.TemporaryDirectory(prefix="kernsift-rivals-") as folder:
        os.environ["KERNSIFT_PEERS_BUILD"] = folder
        for name in options.work:
            for threads in (1, 2) if name in ON_TWO and mode != "smoke" else (1,):
                begin, lines = time.perf_counter(), []
                for line in section(name, mode, options, threads):
                    print(line, flush=True)
                    lines.append(line)
                key = name + (", two threads" if threads > 1 else "")
                page.write(options.results, ORDER, {key: "\n".join(lines).rstrip() + "\n"})
                print(f"{time.perf_counter() - begin:.0f} s\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
