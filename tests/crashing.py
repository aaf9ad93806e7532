"""A stream with checkpoints in a process that is killed, again and again, until it has come to its end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import kernsift
import numpy as np

BLOCK, N_BLOCKS = 25, 60


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(BLOCK * N_BLOCKS, 3))
    return X, np.sin(X[:, 0]) * X[:, 1]


def begin() -> Any:
    return kernsift.OnlineLSSVMRegressor(
        gamma=0.5, max_basis=40, novelty_tol=1e-3, usefulness_tol=0.0, exact_rows=20, forgetting=0.999
    )


def stream(path: Path, pause: float = 0.0) -> Any:
    """Go on from the checkpoint, or begin; a checkpoint after every block."""
    X, y = rows()
    model = kernsift.load(path) if path.exists() else begin()
    seen = model.n_samples_seen_ if path.exists() else 0
    assert seen % BLOCK == 0
    for first in range(seen, len(X), BLOCK):
        model.partial_fit(X[first : first + BLOCK], y[first : first + BLOCK])
        model.save(path)
        time.sleep(pause)
    return model


def killed_stream(path: Path, seed: int, longest: float) -> tuple[int, int]:
    """Run the stream in forked processes killed at random moments up to `longest` seconds after their begin, until one
    comes to its end; how often it was killed, and how often before the first checkpoint."""
    rng = np.random.default_rng(seed)
    kills = early = 0
    while True:
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                stream(path)
                code = 0
            os._exit(code)
        time.sleep(float(rng.uniform(0, longest)))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, "a resumed stream failed"
            return kills, early
        kills += 1
        if path.exists():
            model = kernsift.load(path)  # whole, whenever it was
            assert model.n_samples_seen_ % BLOCK == 0
        else:
            early += 1


def same_to_the_bit(path: Path, expected: Path) -> bool:
    return path.read_bytes() == expected.read_bytes()
