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
KINDS = (
    "memories", "plain", "exact rows", "window", "forgetting", "gcv", "krls", "classes", "lstd", "default",
    "default classes",
)  # fmt: skip
KERNELS = ("rbf", "laplacian", "matern32", "matern52", "polynomial", "linear")


class Stream:
    """A model and its rows: the stream of the seed 0 as it has always been, of other seeds drawn from all there are."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        n, d = BLOCK * N_BLOCKS, int(rng.integers(1, 5)) if seed else 3
        self.X = np.random.default_rng(3 + seed).normal(size=(n, d))
        self.outputs = int(rng.integers(1, 8)) if seed else 1
        target = np.sin(self.X[:, 0]) * self.X[:, -2 if seed == 0 else -1]
        self.Y = np.column_stack([target * (i + 1) + np.sin(i * self.X[:, 0]) for i in range(self.outputs)])
        self.labels = np.digitize(target, np.linspace(-0.5, 0.5, self.outputs))
        self.weight = rng.uniform(0.1, 2.0, n) if seed % 2 else np.ones(n)
        self.settings: dict[str, Any] = {"gamma": 0.5, "max_basis": 40, "novelty_tol": 1e-3}
        if seed:
            self.settings |= {
                "kernel": str(rng.choice(KERNELS)),
                "gamma": float(rng.choice([0.1, 0.5, 2.0])),
                "alpha": float(rng.choice([1.0, 0.1, 1e-3])),
                "max_basis": int(rng.choice([10, 20, 40])),
                "novelty_tol": float(rng.choice([1e-1, 1e-2, 1e-4])),
            }
        few = int(rng.integers(2, 60))
        online = {"usefulness_tol": 0.0, "fit_intercept": seed % 3 != 1}
        self.settings |= {
            "memories": {"forgetting": [1.0, 0.999, 0.9], "linear": True, **online},
            "plain": {"forgetting": 1.0, "linear": False, **online},
            "exact rows": {"exact_rows": few, **online},
            "window": {"window": few, **online},
            "forgetting": {"forgetting": 0.99, **online},
            "gcv": {**online, "alpha": "gcv"},
            "krls": {},
            "classes": online,
            "lstd": {"trace_decay": 0.5},
            "default": {},
            "default classes": {},
        }[self.kind]
        if self.kind.startswith("default"):  # widths that are learned, trials, steps of the ridge
            self.settings = {"max_basis": self.settings["max_basis"]}

    def begin(self) -> Any:
        kinds = {
            "krls": kernsift.KRLSRegressor,
            "classes": kernsift.OnlineLSSVMClassifier,
            "default classes": kernsift.OnlineLSSVMClassifier,
            "lstd": kernsift.KernelLSTD,
        }
        return kinds.get(self.kind, kernsift.OnlineLSSVMRegressor)(**self.settings)

    def learn(self, model: Any, first: int, last: int) -> None:
        rows = slice(first, last)
        X, Y, weight = self.X[rows], self.Y[rows], self.weight[rows]
        if self.kind == "lstd":
            model.partial_fit(X, Y[:, 0], 0.9 * X)
        elif self.kind == "default classes":
            model.partial_fit(X, self.labels[rows], sample_weight=weight)
        elif self.kind == "classes":
            model.partial_fit(X, self.labels[rows], classes=range(self.outputs + 1), sample_weight=weight)
        elif self.kind == "krls":
            model.partial_fit(X, Y)
        elif first // BLOCK % 4 == 3 and self.kind != "gcv":  # some blocks row by row
            for x, y, v in zip(X, Y, weight, strict=True):
                model.update(x, y, v)
        else:
            model.partial_fit(X, Y, weight)


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Of the stream of the seed 0."""
    stream = Stream()
    return stream.X, stream.Y[:, 0]


def begin() -> Any:
    return Stream().begin()


def seen(model: Any) -> int:
    return int(model.n_samples_seen_ if hasattr(model, "n_samples_seen_") else model._core.rows_seen)


def stream(path: Path, seed: int = 0) -> Any:
    """Go on from the checkpoint, or begin; a checkpoint after every block."""
    what = Stream(seed)
    model = kernsift.load(path) if path.exists() else what.begin()
    done = seen(model) if path.exists() else 0
    assert done % BLOCK == 0
    for first in range(done, len(what.X), BLOCK):
        what.learn(model, first, first + BLOCK)
        model.save(path)
    return model


def killed_stream(path: Path, seed: int, longest: float, of: int = 0) -> tuple[int, int]:
    """Run the stream in forked processes killed at random moments up to `longest` seconds after their begin, until one
    comes to its end; how often it was killed, and how often before the first checkpoint."""
    rng = np.random.default_rng(seed)
    kills = early = 0
    while True:
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                stream(path, of)
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
            assert seen(model) % BLOCK == 0
        else:
            early += 1


def same_to_the_bit(path: Path, expected: Path) -> bool:
    return path.read_bytes() == expected.read_bytes()
