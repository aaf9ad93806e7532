"""The C++ rivals of bench/native, run on arrays."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.reach_stream import native, run_program
from numpy.typing import NDArray

Array = NDArray[np.float64]


def compiled(name: str) -> Path:
    """The program, made once a race in the folder the race gives."""
    folder = os.environ.get("KERNSIFT_PEERS_BUILD") or tempfile.mkdtemp(prefix="kernsift-rivals-")
    made = Path(folder) / name
    program = made if made.is_file() else native(name, folder)
    if program is None:
        raise NotImplementedError("it does not compile here: apt-get install libdlib-dev")
    return program


def run(name: str, X: Array, y: Array, *arguments: float, test: Array | None = None) -> list[float]:
    """The numbers it prints."""
    return run_program(compiled(name), X, y, *arguments, test=test)
