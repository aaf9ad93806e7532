"""Mutated inputs and files (tests/fuzzing.py), in processes of their own so that a crash is counted, not suffered."""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import collections
import multiprocessing
import time
from typing import Any

import numpy as np

STEPS = {"quick": 4000, "middle": 50_000, "full": 1_000_000}
FILES = {"quick": 2000, "middle": 20_000, "full": 200_000}
CHUNK = 2000  # steps of one process: a crash loses no more


def _chunk(kind: str, seed: int, steps: int, answers: Any) -> None:
    import faulthandler

    import fuzzing

    faulthandler.enable()
    fuzzer = getattr(fuzzing, kind)(seed)
    wrong = []
    for _ in range(steps):
        try:
            fuzzer.step()
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}"[:300])
    answers.send((fuzzer.counts, wrong))


def _run(kind: str, total: int, say: Any, minutes: float) -> tuple[collections.Counter[str], list[str], float]:
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    context, begin = multiprocessing.get_context("spawn"), time.time()
    seeds, running = iter(range(-(-total // CHUNK))), []
    while True:
        while len(running) < 2 and time.time() - begin < 60 * minutes and (seed := next(seeds, None)) is not None:
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
        except EOFError:
            process.join()
            counts["crashed"] += 1
            wrong.append(f"seed {seed}: the process ended with {process.exitcode}")
        process.join()
        if seed % 20 == 19:
            say(f"{kind}: {sum(counts.values()):,} in {time.time() - begin:.0f} s, {len(wrong)} wrong")
    for text in dict.fromkeys(wrong):
        say(f"WRONG {text}")
    return counts, wrong, time.time() - begin


def run_inputs(size: str, say: Any, minutes: float = np.inf) -> list[str]:
    """Inputs through every public method of every estimator."""
    about = [
        "Shapes, strides, types, values (NaN, infinities, denormals, 1e±300), layouts, read-only memory maps,",
        "containers and parameters, through every public method of every estimator. Right is an answer, or a",
        "ValueError, TypeError or MemoryError with a text, after which the model is the same to the byte. Else is",
        "another exception, a hang, a refusal that changed the model, NaN or infinity in a state.",
    ]
    found = _run("Fuzzer", STEPS[size], say, minutes)
    return _section("Mutated inputs", about, "calls | answered", *found)


def run_files(size: str, say: Any, minutes: float = np.inf) -> list[str]:
    """Files through `load`."""
    about = [
        "Saved models with bytes, members, headers and arrays changed, half of them under a checksum made right again,",
        "loaded where the process may take 1 GiB of address space more and start no program, open no socket, look up no",
        "pickled name. Right is a model, or a ValueError with a text.",
    ]
    found = _run("FileFuzzer", FILES[size], say, minutes)
    return _section("Mutated files", about, "files | loaded", *found)


def _section(
    title: str, about: list[str], counted: str, counts: collections.Counter[str], wrong: list[str], seconds: float
) -> list[str]:
    headings = f"| {counted} | refused | crashed processes | else | minutes |"
    return [f"## {title}", "", *about, "", headings, "|---|---|---|---|---|---|", _row(counts, wrong, seconds)]


def _row(counts: collections.Counter[str], wrong: list[str], seconds: float) -> str:
    answered, refused, crashed = counts["answered"], counts["refused"], counts["crashed"]
    cells = [answered + refused + len(wrong), answered, refused, crashed, len(wrong) - crashed]
    return "| " + " | ".join(f"{n:,}" for n in cells) + f" | {seconds / 60:.0f} |"
