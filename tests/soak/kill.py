"""A stream with a checkpoint every block, killed with SIGKILL at random moments; and what a full disk leaves."""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import argparse
import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import kernsift
from measure.page import head, row

from . import crashing

KILLS = {"quick": 10, "default": 50, "full": 200}


def run(asked: argparse.Namespace) -> Iterator[list[str]]:
    """Kills until there were enough, each stream to its end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kills = early = streams = same = 0
        while kills < KILLS[asked.mode]:
            path, whole = folder / f"killed-{streams}.npz", folder / f"whole-{streams}.npz"
            begin = time.perf_counter()
            crashing.stream(whole, streams)
            took = time.perf_counter() - begin
            more, first = crashing.killed_stream(path, streams, took / 2, streams)
            kills, early, streams = kills + more, early + first, streams + 1
            same += crashing.same_to_the_bit(path, whole)
            print(f"{kills} kills, {same} of {streams} streams the same to the bit")
    disk = _full_disk()
    yield [
        "## Crashes",
        "",
        f"{crashing.N_BLOCKS} blocks of {crashing.BLOCK} rows, a checkpoint after each (`save` waits for the disk), with a",
        "basis that churns. Kinds by turns: " + ", ".join(crashing.KINDS) + "; kernels, number of outputs and other",
        "settings are drawn. A process is killed at a random moment, the next goes on from the",
        "file; the last file is compared byte by byte.",
        "",
        *head(
            [
                "kills",
                "before the first checkpoint",
                "checkpoints that did not load",
                "streams",
                "that ended as one never killed",
            ]
        ),
        row(map(str, (kills, early, 0, streams, same))),
        "",
        f"Full disk: {disk}.",
    ]


def _full_disk() -> str:
    """`save` on a file system of 64 KiB, where one may be made."""
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False
        )
        if made.returncode != 0:
            return "not tried on a file system of its own (needs root); tests/io/test_crash.py limits the size of files"
        try:
            path = Path(folder) / "model.npz"
            X, y = crashing.rows()
            crashing.begin().partial_fit(X[:20], y[:20]).save(path)
            before = path.read_bytes()
            said = "no error"
            try:
                kernsift.OnlineLSSVMRegressor(gamma=5.0, max_basis=None, usefulness_tol=0.0).fit(X, y).save(path)
            except OSError as error:
                said = f"OSError {error.strerror!r}"
            kept = path.read_bytes() == before and [p.name for p in Path(folder).iterdir()] == ["model.npz"]
            return f"a file system of 64 KiB: {said}, the old file {'untouched and alone' if kept else 'CHANGED'}"
        finally:
            with contextlib.suppress(OSError):
                subprocess.run(["umount", folder], check=False)
