"""Faults, drift and limits: what runs for minutes or hours, and what the tests share with it."""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The CPU level built for: valgrind does not support AVX-512.
LEVEL = "v3" if platform.machine().lower() in ("x86_64", "amd64") else "baseline"

sys.path.append(str(ROOT / "bench"))  # the page and the command line of every bench


def quietly(command: list[str]) -> None:
    """Run a program; end with what it printed if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed\n{done.stdout}{done.stderr}")


def cmake(source: Path, build: Path, *definitions: str, level: str = LEVEL) -> None:
    """Configure a build folder with ninja for one CPU level; Eigen may come from pip."""
    found = [path for path in sys.path if (Path(path) / "cmeel.prefix").is_dir()] or [sysconfig.get_path("purelib")]
    options = (*definitions, f"KERNSIFT_LEVELS={level}", f"CMAKE_PREFIX_PATH={';'.join(found)}")
    quietly(["cmake", "-S", str(source), "-B", str(build), "-G", "Ninja", *(f"-D{each}" for each in options)])
