"""Checks that an allocation fits into memory before it is made."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

# Requests below this many bytes are not checked: a check reads three small files, which would slow a fit on fifty
# kernels, and a process with so little memory left could hardly have imported numpy, several times as large.
NEGLIGIBLE = 16 * 2**20
# Vectors of one number per row that a fit allocates for a time: weights, targets, and for the canonical form keys,
# sorting indices and groups.
ROW_VECTORS = 12


def _read_number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or "max"
        return None


def _pages_mapped() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
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
    if resource is not None:  # the process's own limit of address space
        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = _pages_mapped()
        if most != resource.RLIM_INFINITY and used is not None:
            bounds.append(max(most - used * resource.getpagesize(), 0))
    if not bounds and hasattr(os, "sysconf"):
        with contextlib.suppress(ValueError, OSError):
            bounds.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(bounds) if bounds else None


def check_memory(doubles: float, what: str, instead: str) -> None:
    """Raise a MemoryError that says how much ``what`` needs, if that many doubles exceed the free memory.

    Arrays already allocated are not counted: they are not free memory.
    """
    needed = 8 * int(doubles)
    if needed < NEGLIGIBLE:
        return
    available = available_bytes()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} needs about {needed} bytes ({needed / 2**30:.3g} GiB) and {available} "
            f"({available / 2**30:.3g} GiB) are available; {instead}"
        )
