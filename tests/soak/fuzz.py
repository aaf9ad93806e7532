"""Mutated calls and files, in processes of their own so that a crash is counted, not suffered."""

from __future__ import annotations

import argparse
import collections
import importlib
import multiprocessing
import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from measure.page import head, row

# the fuzzer, and its steps by mode
FUZZERS = {
    "all methods": ("calls.Fuzzer", {"quick": 4000, "default": 50_000, "full": 1_000_000}),
    "saved models": ("files.FileFuzzer", {"quick": 2000, "default": 20_000, "full": 200_000}),
    "saved models, structure": ("structures.StructuredFuzzer", {"quick": 1000, "default": 20_000, "full": 100_000}),
    "tables": ("files.TableFuzzer", {"quick": 2000, "default": 10_000, "full": 50_000}),
}
CHUNK = 10_000  # steps of one process: a crash loses no more


def _chunk(kind: str, seed: int, steps: int, answers: Any) -> None:
    import faulthandler

    module, _, name = kind.rpartition(".")
    faulthandler.enable()
    fuzzer = getattr(importlib.import_module(f"soak.{module}"), name)(seed)
    wrong = []
    for step in range(steps):
        try:
            fuzzer.step()
        except Exception as error:
            wrong.append(f"seed {seed}, step {step}: {type(error).__name__}: {error}"[:400])
    answers.send(({**fuzzer.counts, "made": steps}, wrong))


def _run(kind: str, total: int, minutes: float) -> tuple[collections.Counter[str], list[str], float]:
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    context, begin = multiprocessing.get_context("spawn"), time.time()
    seeds, running = iter(range(-(-total // CHUNK))), []
    together = min(2, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else 2
    while True:
        while (
            len(running) < together and time.time() - begin < 60 * minutes and (seed := next(seeds, None)) is not None
        ):
            here, there = context.Pipe(False)
            process = context.Process(target=_chunk, args=(kind, seed, min(CHUNK, total), there))
            process.start()
            there.close()
            running.append((seed, process, here))
        if not running:
            break
        seed, process, here = running.pop(0)
        try:
            found, bad = here.recv()
            counts.update(found)
            wrong += bad
            for text in bad:
                print(f"WRONG {text}")
        except EOFError:
            process.join()
            counts["crashed"] += 1
            wrong.append(f"seed {seed}: the process ended with {process.exitcode}")
            print(f"WRONG {wrong[-1]}")
        process.join()
        if seed % 5 == 4:
            print(f"{kind}: {counts['made']:,} in {time.time() - begin:.0f} s, {len(wrong)} wrong")
    return counts, wrong, time.time() - begin


# A section: its heading, what it says, what is counted, and the fuzzers.
CALLS = (
    "Mutated inputs",
    """Shapes, strides, types, values (NaN, infinities, denormals, 1e±300 and what lies between), layouts, read-only
memory maps, containers and parameters, through every public method of every estimator. Allowed are a result, or a
ValueError, TypeError or MemoryError with a text, after which the model is the same to the byte. "Else" is another
exception, a hang, an error that changed the model, NaN or infinity in a state. (Targets and values of
the kernel above 1e100, and weights and ridges outside 1e-100 .. 1e100 are errors: products of three of them must be
numbers.)""",
    "calls",
    ["all methods"],
)
FILES = (
    "Mutated files",
    """Saved models with bytes, members, headers and arrays changed, half of them under a checksum made right again, and
tables of the command line (CSV; Parquet, by pyarrow) with bytes and cells changed, read where the process may take
1 GiB of address space more and start no program, open no socket, look up no pickled name. Allowed are a model or a
table, or a ValueError with a text; a model that loads predicts, learns and is pruned. Kernsift reads nothing
else: ONNX, LIBSVM's format and C it only writes, and pickles are Python's (SECURITY.md). Saved models of changed
structure have arrays of other values, shapes and types, exchanged or of another model, members that overlap, extreme
settings and generators in states that cannot be, all under a right checksum; each that loads is put through every
method, of which an error in the core or a failed assertion is wrong too, as is memory beyond 64 times the file and
64 MiB.""",
    "files",
    [name for name in FUZZERS if name != "all methods"],
)


def section(title: str, about: str, counted: str, names: list[str], asked: argparse.Namespace) -> Iterator[list[str]]:
    """Run the fuzzers of a section of the page."""
    columns = [counted, "how many", "seeds", "answered", "refused", "crashed processes", "else", "minutes"]
    lines = [f"## {title}", "", *about.splitlines(), f"A process makes {CHUNK} and has a seed.", "", *head(columns)]
    for name in names:
        kind, steps = FUZZERS[name]
        lines.append(_row(name, *_run(kind, steps[asked.mode], asked.minutes or float("inf"))))
    yield lines


calls, files = partial(section, *CALLS), partial(section, *FILES)


def _row(name: str, counts: collections.Counter[str], wrong: list[str], seconds: float) -> str:
    crashed, made = counts["crashed"], counts["made"]
    cells = [f"{n:,}" for n in (counts["answered"], counts["refused"], crashed, len(wrong) - crashed)]
    seeds = -(-made // CHUNK) + crashed
    return row((name, f"{made:,}", f"0 to {seeds - 1}", *cells, f"{seconds / 60:.0f}"))
