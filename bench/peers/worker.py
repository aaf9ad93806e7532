"""One rival on one case, in its own process: one run for each line of its input, its result a line of JSON.

    worker.py MODULE RIVAL CASE(JSON) ARRAYS(folder of .npy)

A rival is a function of the arrays and the task that returns two functions: the work, which is timed, and a judge of
its result (errors, sizes, and `rows` or `seconds` where the time is by the row or the rival's own).
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from measure.fair import blas, lift  # noqa: E402

lift()

import numpy as np  # noqa: E402
from measure.clock import cpu, peak_memory, timed  # noqa: E402


def main() -> None:
    module, rival, case, folder = sys.argv[1:5]
    out, sys.stdout = sys.stdout, sys.stderr  # what rivals print is not a result

    def answer(**values: object) -> None:
        out.write(json.dumps(values) + "\n")
        out.flush()

    try:
        arrays = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
        work, judge = importlib.import_module(f"peers.{module}").RIVALS[rival](arrays, json.loads(case))
    except (ImportError, FileNotFoundError, NotImplementedError) as reason:
        answer(absent=f"{reason}".splitlines()[0] if str(reason) else type(reason).__name__)
        return
    answer(ready=True, blas=blas())
    for _ in sys.stdin:
        with peak_memory() as peak:
            done, spent = timed(work, cpu)
        found = judge(done)
        spent = found.pop("seconds", spent)
        answer(cpu=spent, peak=found.pop("megabytes", peak[0] / 2**20), **found)


if __name__ == "__main__":
    main()
