"""Whether a matrix will fit, asked before it is allocated."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def _read_number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or "max"
        return None


def available_bytes() -> int | None:
    """Memory this process may still take, or None where the system does not say."""
    bounds = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                bounds.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError, IndexError):
        pass
    # a container's own limit
    for limit, usage in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        most, used = _read_number(limit), _read_number(usage)
        if most is not None and used is not None:
            bounds.append(max(most - used, 0))
    if not bounds and hasattr(os, "sysconf"):
        with contextlib.suppress(ValueError, OSError):
            bounds.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(bounds) if bounds else None


def check_memory(needed: int, what: str, instead: str) -> None:
    """Raise a MemoryError that says how much ``what`` needs, if that is more than there is."""
    available = available_bytes()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} needs about {needed} bytes ({needed / 2**30:.3g} GiB) and {available} "
            f"({available / 2**30:.3g} GiB) are available; {instead}"
        )
