"""The C++ rivals of bench/native, run on arrays."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.reach_stream import native
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
    program = compiled(name)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, (rows, targets) in enumerate([(X, y)] + ([] if test is None else [(test, np.zeros(len(test)))])):
            files.append(Path(folder) / str(i))
            with files[-1].open("wb") as file:
                np.ascontiguousarray(rows).tofile(file)
                np.ascontiguousarray(targets).tofile(file)
        command = [str(program), str(files[0]), str(len(X)), str(X.shape[1]), *map(repr, arguments)]
        if test is not None:
            command += [str(files[1]), str(len(test))]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(word) for word in text.split()]
