"""The rivals in C++ of the folder native, compiled on the way and run on arrays."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import kernsift
import numpy as np

from .measures import Array

NATIVE = Path(__file__).parent / "native"


def compiled(name: str) -> Path:
    """The program at the CPU level kernsift runs at, made once a race in the folder the race gives."""
    folder = os.environ.get("KERNSIFT_PEERS_BUILD") or tempfile.mkdtemp(prefix="kernsift-rivals-")
    program = Path(folder) / name
    if program.is_file():
        return program
    level = kernsift.build_config()["cpu_level"]
    headers = [Path("/usr/include/eigen3"), *(Path(p) / "cmeel.prefix/include/eigen3" for p in sys.path)]
    command = ["c++", "-std=c++17", "-O3", "-DNDEBUG", "-w", f"-I{NATIVE}", "-DEIGEN_MPL2_ONLY"]
    command += ["-march=native" if level == "baseline" else f"-march=x86-64-{level}"]
    command += [f"-I{path}" for path in headers if path.exists()][:1] + [str(NATIVE / f"{name}.cpp")]
    if name == "dlib_krls":
        command += ["-DDLIB_USE_BLAS", "-DDLIB_USE_LAPACK", "-ldlib", "-lblas", "-llapack"]
    done = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    if done.returncode:
        needed = "libdlib-dev" if name.startswith("dlib") else "libeigen3-dev"
        raise NotImplementedError(f"it does not compile here: apt-get install {needed}")
    return program


def run(name: str, X: Array, y: Array, *arguments: float, test: Array | None = None) -> list[float]:
    """The numbers it prints, given the rows in a file, and in another those of `test`."""
    tables = [(X, y)] + ([] if test is None else [(test, np.zeros(len(test)))])
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(i) for i in range(len(tables))]
        for path, table in zip(files, tables, strict=True):
            path.write_bytes(b"".join(np.ascontiguousarray(part).tobytes() for part in table))
        command = [str(compiled(name)), str(files[0]), str(len(X)), str(X.shape[1]), *map(repr, arguments)]
        if test is not None:
            command += [str(files[1]), str(len(test))]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(word) for word in text.split()]
