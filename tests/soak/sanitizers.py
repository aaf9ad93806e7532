"""The C++ tests and Python's with the compiler's sanitizers in the core, and the C++ tests under valgrind.

A build for each under build/sanitizers, of the x86-64-v3 level where there are such (valgrind does not support AVX-512). What a
run reports goes to files, one for each process that reports anything: so none is lost in a test that starts programs.
"""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from measure.command import MODES, wanted
from measure.page import head, row

from . import LEVEL, ROOT, cmake, page, quietly

BUILDS = ROOT / "build" / "sanitizers"
REPORTS = BUILDS / "reports"

Command = tuple[list[str], dict[str, str]]  # and the environment besides ours


def _cmake(name: str, definition: str) -> str:
    """The C++ tests, built with a definition more."""
    folder = BUILDS / name
    cmake(ROOT, folder, definition, "KERNSIFT_BUILD_TESTS=ON")
    quietly(["cmake", "--build", str(folder), "--parallel", "1"])
    return str(folder / "kernsift_tests")


def _package(name: str, sanitizers: str) -> Path:
    """The package in a folder of its own, its core built with the sanitizers."""
    site = BUILDS / name / "site"
    shutil.rmtree(site, ignore_errors=True)
    settings = {
        "build-dir": BUILDS / name,
        "cmake.define.KERNSIFT_LEVELS": LEVEL,
        "cmake.define.KERNSIFT_SANITIZE": sanitizers,
        "build.tool-args": "-j1",
    }
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("scikit_build_core") else []
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *isolation, "--target", site, ROOT]
    subprocess.run([*command, *(f"--config-settings={k}={v}" for k, v in settings.items())], check=True)
    return site


def _library(name: str) -> str:
    out = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return os.path.realpath(out.stdout.strip())


def _python(name: str) -> Command:
    """libstdc++ must be among what is loaded first, or the first C++ exception aborts."""
    preload = " ".join(_library(each) for each in ("libasan.so", "libubsan.so", "libstdc++.so.6"))
    site = _package(name, "address,undefined")
    environment = {"PYTHONPATH": str(site), "LD_PRELOAD": preload, "OMP_NUM_THREADS": "2"}
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], environment


def _with_fixed_addresses(command: Command) -> Command:
    """ThreadSanitizer of GCC 12 ends at once where the kernel is generous with random addresses."""
    tool = shutil.which("setarch")
    return ([tool, platform.machine(), "--addr-no-randomize"] if tool else []) + command[0], command[1]


# name: how it is built and started, and the smallest run that has it
RUNS: dict[str, tuple[Callable[[], Command], str]] = {
    "C++ tests, AddressSanitizer and UBSan": (
        lambda: ([_cmake("address", "KERNSIFT_SANITIZE=address,undefined")], {}),
        "quick",
    ),
    "C++ tests, ThreadSanitizer": (
        lambda: _with_fixed_addresses(([_cmake("thread", "KERNSIFT_SANITIZE=thread")], {})),
        "default",
    ),
    "C++ tests with assertions, valgrind memcheck": (
        lambda: (["valgrind", "--quiet", f"--log-file={REPORTS}/r.%p", _cmake("checked", "KERNSIFT_CHECKED=ON")], {}),
        "default",
    ),
    "Python's tests, AddressSanitizer and UBSan": (
        lambda: _python("python-address"),
        "full",
    ),
}
# how each tool begins a finding
BEGINS = (
    r"ERROR: \w*Sanitizer|WARNING: ThreadSanitizer|: runtime error: "
    r"|^==\d+== (?:Conditional|Invalid|Mismatched|Source and|Syscall|Use of)"
)
ENDS = r"^(?:=+ )?(\d+ tests, .*|(?:\d+ \w+, )*\d+ (?:passed|failed|errors?)\b.*?)(?: in [\d.]+s.*)?(?: =+)?$"


def _run(name: str, start: Callable[[], Command]) -> str:
    """A row of the table."""
    begin = os.times()
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    command, environment = start()
    with_python = "LD_PRELOAD" in environment
    environment |= {
        # leaks: Python keeps what it has to its end; null: tests ask for more memory than there is
        "ASAN_OPTIONS": f"detect_leaks={0 if with_python else 1}:allocator_may_return_null=1:log_path={REPORTS}/r",
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:log_path={REPORTS}/r",
        "TSAN_OPTIONS": f"log_path={REPORTS}/r",
    }
    log = BUILDS / f"{re.sub('[^a-z]+', '-', name.lower())}.log"
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, env=os.environ | environment, cwd=ROOT, stdout=file, stderr=file, check=False)
    minutes = (time.monotonic() - started) / 60
    said = log.read_text(encoding="utf-8", errors="replace")
    reports = "\n".join(f.read_text(encoding="utf-8", errors="replace") for f in sorted(REPORTS.iterdir()))
    log.with_suffix(".reports").write_text(reports, encoding="utf-8")
    # UBSan alone writes to the log
    count = str(len(re.findall(BEGINS, reports + said, re.M)))
    if count != "0":
        count = f"**{count}**"
    last = (re.findall(ENDS, said, re.M) or [""])[-1]
    if done.returncode:
        last = f"**{last or 'no end'}, exit code {done.returncode}**"
    cpu = sum(os.times()[2:4]) - sum(begin[2:4])
    return row((name, last, count, page.today(), f"{minutes:.1f}", f"{cpu / 60:.1f}"))


def run(asked: argparse.Namespace) -> Iterator[list[str]]:
    """Rows of other runs stay as the page has them."""
    for name, (start, least) in RUNS.items():
        if not (wanted(name, asked.only) if asked.only else MODES.index(asked.mode) >= MODES.index(least)):
            continue
        print(f"sanitizers: {name}", flush=True)
        yield [
            "## Sanitizers",
            "",
            "A report is one finding of the tool, in the tests' own process or one they start. With Python in between, hypothesis",
            "tries 10 examples, and tests that bound time, memory or addresses are skipped (`tests/conftest.py` lists them with the reasons).",
            f"Built for {'x86-64-v3' if LEVEL == 'v3' else 'this processor'}. Minutes are the run's; CPU minutes the build's too, as far as it was not there.",
            "",
            *head(["what", "tests", "reports", "date", "minutes", "CPU minutes"]),
            _run(name, start),
        ]
