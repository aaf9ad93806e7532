"""The core under libFuzzer (cpp/fuzz): compiled with Clang and its sanitizers, run on so many inputs of its own making."""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from . import ROOT, cmake, quietly

RUNS = {"quick": 20_000, "default": 200_000, "full": 2_000_000}
LENGTH = 512  # bytes an input has at most
PATIENCE = 60  # seconds after which an input hangs
MOST_WRONG = 20  # after so many inputs that ended the process it is time to mend
COMPILERS = ("clang++", *(f"clang++-{n}" for n in range(22, 12, -1)))


def build(folder: Path) -> Path | None:
    """The fuzzer, compiled in a folder, or None where there is no Clang or CMake."""
    compiler = next((c for c in COMPILERS if shutil.which(c)), None)
    if compiler is None or not (shutil.which("cmake") and shutil.which("ninja")):
        print("core: skipped, it needs cmake, ninja and clang++ with libFuzzer")
        return None
    print(f"core: compiling with {compiler}, some minutes of one core")
    if not (folder / "CMakeCache.txt").exists():
        cmake(ROOT, folder, "KERNSIFT_BUILD_FUZZER=ON", f"CMAKE_CXX_COMPILER={compiler}")
    quietly(["cmake", "--build", str(folder)])
    return folder / "kernsift_fuzzer"


def run(asked: argparse.Namespace) -> Iterator[list[str]]:
    """One section of the page; none where it cannot be compiled."""
    with tempfile.TemporaryDirectory() as temporary:
        if program := build(asked.build or Path(temporary)):
            yield _page(*_fuzz(program, RUNS[asked.mode], asked.minutes or float("inf")))


def _fuzz(program: Path, runs: int, minutes: float) -> tuple[int, int, list[str], float]:
    """Inputs run, branches reached, what ended the process, seconds."""
    done, reached, wrong, begin = 0, 0, [], time.time()
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Path(temporary) / "corpus"
        corpus.mkdir()
        while done < runs and len(wrong) < MOST_WRONG and (left := 60 * minutes - (time.time() - begin)) > 0:
            seconds = [] if left == float("inf") else [f"-max_total_time={max(int(left), 1)}"]
            flags = [f"-runs={runs - done}", f"-seed={len(wrong) + 1}", f"-max_len={LENGTH}", f"-timeout={PATIENCE}"]
            flags += ["-len_control=20", "-rss_limit_mb=2048", "-print_final_stats=1", f"-artifact_prefix={temporary}/"]
            command = [program, *flags, *seconds, corpus]
            out = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stderr
            units = re.findall(r"stat::number_of_executed_units:\s*(\d+)", out)
            done += int(units[-1]) if units else 0
            reached = max([reached, *map(int, re.findall(r"\bcov: (\d+)", out))])
            if re.search(r"^Done \d+ runs", out, re.M):
                break
            found = re.search(r"^(the core broke .*|.*Eigen asserts.*|.*runtime error: .*|.*ERROR: .*)$", out, re.M)
            wrong.append(found.group(1) if found else out[-300:])
            print(f"WRONG {wrong[-1]}")
            for artifact in Path(temporary).glob("*-*"):
                print(f"      input {artifact.read_bytes().hex()}")
                artifact.unlink()
    return done, reached, wrong, time.time() - begin


def _page(done: int, reached: int, wrong: list[str], seconds: float) -> list[str]:
    return [
        "## Mutated bytes into the core",
        "",
        "libFuzzer, which keeps what reaches new branches, drives the C++ core under AddressSanitizer and UBSan with Eigen's",
        "assertions (`cpp/fuzz`): bytes become a kernel, parameters, rows and calls on the online models of both engines",
        "(learn in blocks, row by row and prequentially, predict, prune, change the ridge, refit, save, load, load foreign",
        "arrays), on the value function, and on what batch models compute. Wrong is a crash, a hang, memory that is not its own,",
        "a number beyond its type, NaN or infinity in a state, more kernels than the cap, a row not counted, or a saved model",
        f"that comes back different. At most {LENGTH} bytes an input, seed 1.",
        "",
        "| inputs | branches reached | wrong | minutes |",
        "|---|---|---|---|",
        f"| {done:,} | {reached:,} | {len(wrong)} | {seconds / 60:.0f} |",
    ]
