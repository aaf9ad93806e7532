"""Faults, drift and limits: what runs for minutes or hours, and what the tests share with it."""

import platform
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # the page and the command line of every bench

#: The CPU level built for: valgrind knows no AVX-512.
LEVEL = "v3" if platform.machine().lower() in ("x86_64", "amd64") else "baseline"
