"""Races: every rival of a case in a process of its own, their runs interleaved."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measure.fair import blas, without_handicaps

HERE = Path(__file__).resolve().parent
LONG = 10.0  # seconds: what takes longer runs once


@dataclass
class Case:
    """One race: its arrays, the task of the rivals, and who runs.  The first rival is the one compared with."""

    label: str
    arrays: dict[str, Any]
    task: dict[str, Any]
    rivals: list[str]


@dataclass
class Result:
    rival: str
    runs: list[dict[str, Any]] = field(default_factory=list)
    absent: str = ""
    blas: str = ""

    @property
    def seconds(self) -> float:
        """Best CPU time, by the row where the work is rows."""
        return min(run["cpu"] / run.get("rows", 1) for run in self.runs)

    @property
    def megabytes(self) -> float:
        return max(run["peak"] for run in self.runs)

    def ratio(self, ours: Result) -> float:
        """Time over ours: the median over the rounds both took part in."""
        per_row = lambda run: run["cpu"] / run.get("rows", 1)  # noqa: E731
        pairs = zip(self.runs, ours.runs, strict=False)
        return statistics.median(per_row(a) / per_row(b) for a, b in pairs)

    def __getitem__(self, name: str) -> Any:
        return self.runs[0].get(name)


class Rival:
    """The process of one rival."""

    def __init__(self, module: str, rival: str, case: Case, folder: str, threads: int, python: str) -> None:
        environment = {
            **without_handicaps(os.environ),
            "KERNSIFT_PEERS_THREADS": str(threads),
            "PYTHONWARNINGS": "ignore",
        }
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[name] = str(threads)
        self.python = python
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by `end`)
        command = [python, str(HERE / "worker.py"), module, rival, json.dumps(case.task), folder]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment
        )
        self.result = Result(rival)
        first = self.read()
        self.result.absent = first.get("absent", "")
        self.result.blas = first.get("blas", "")

    def read(self) -> dict[str, Any]:
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if line:
            return json.loads(line)
        self.log.seek(0)
        said = [text for text in self.log.read().splitlines() if text.strip()] or ["it ended without output"]
        return {"absent": f"failed: {said[-1]}"}

    def run(self) -> None:
        if self.result.absent or (self.result.runs and self.result.runs[0]["cpu"] > LONG):
            return
        self.process.stdin.write("go\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        found = self.read()
        if "absent" in found:
            self.result.absent = found["absent"]
        else:
            self.result.runs.append(found)

    def end(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()
        self.log.close()


def _same_blas(results: list[Result]) -> None:
    """Refuse a race in which a rival of this environment runs other kernels of BLAS than this process would."""
    here = blas()
    for result in results:
        if result.blas not in ("", here):
            raise RuntimeError(
                f"{result.rival} runs {result.blas}, and this process {here}: the race would not be fair"
            )


def race(module: str, case: Case, rounds: int, threads: int = 1, torch_python: str | None = None) -> list[Result]:
    """Run all rivals of a case, one after the other, `rounds` times over."""
    with tempfile.TemporaryDirectory(prefix="kernsift-peers-") as folder:
        for name, array in case.arrays.items():
            np.save(Path(folder) / f"{name}.npy", array)
        rivals = []
        try:
            for name in case.rivals:
                sgpr = name.startswith("gpytorch")
                python = torch_python if torch_python and sgpr else sys.executable
                rivals.append(Rival("sgpr" if sgpr else module, name, case, folder, threads, python))
            _same_blas([rival.result for rival in rivals if rival.python == sys.executable])
            for _ in range(rounds):
                for rival in rivals:
                    rival.run()
        finally:
            for rival in rivals:
                rival.end()
    return [rival.result for rival in rivals]
