"""The example of a microcontroller: the emulated program predicts what Python does, and what it needs is named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "microcontroller"
PAGE = ROOT / "docs" / "measured" / "microcontroller.md"
pytestmark = pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the examples are not beside these tests")
TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")


def run(*options, **environment):
    command = [sys.executable, EXAMPLE, *options]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=300
    )


@pytest.mark.skipif(any(map(shutil.which, TOOLS)) and not all(map(shutil.which, TOOLS)), reason="one tool of two")
@pytest.mark.skipif(shutil.which(TOOLS[0]) is None, reason="needs a compiler for Cortex-M and QEMU")
def test_the_emulated_program_learns_as_python_does():
    done = run("--quick")  # it fails where predictions differ
    assert done.returncode == 0, done.stderr
    kernels, flash, ram, predict, learn, frozen, learning, _ = [
        float(cell.replace(",", "")) for cell in done.stdout.splitlines()[-1].strip("| ").split("|")
    ]
    assert kernels == 10
    assert 10 * 3 * 4 / 1024 < flash < 4
    # the covariance and the coefficients at least, and less than the header's bound of them and the stack twice over
    assert (11 * 12 / 2 + 11) * 4 / 1024 < ram < 2
    assert predict < learn < 10_000
    assert learning < frozen


def test_what_is_missing_is_named_with_how_to_get_it():
    done = run("--quick", PATH=str(Path(sys.executable).parent))
    assert done.returncode == 1
    assert all(tool in done.stderr for tool in TOOLS)
    assert "apt-get install gcc-arm-none-eabi" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not PAGE.is_file(), reason="the pages are not beside these tests")
def test_the_page_has_a_line_for_each_size():
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", text, re.M) == ["10", "20", "40", "80"]
