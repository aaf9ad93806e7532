"""One rival on one case, in its own process: told what to do by lines on its input, answers by lines of JSON.

    worker.py MODULE RIVAL CASE(JSON) ARRAYS(folder of .npy)

A rival is a function of the arrays and the case that answers two functions: the work, which is timed, and a judge of
what the work answered (errors, sizes, and `rows` or `seconds` where the time is by the row or the rival's own).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402


def status(key: str) -> float:
    """Megabytes of this process: VmRSS now, VmHWM at most since `forget_peak`."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(key)) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def forget_peak() -> None:
    with contextlib.suppress(OSError):  # then the peak is that of the process, and right in the first run
        Path("/proc/self/clear_refs").write_text("5")


def cpu() -> float:
    """Seconds of all threads, and of the programs this process has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    module, rival, case, folder = sys.argv[1:5]
    out, sys.stdout = sys.stdout, sys.stderr  # what rivals print is no answer

    def answer(**values: object) -> None:
        out.write(json.dumps(values) + "\n")
        out.flush()

    try:
        arrays = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
        work, judge = importlib.import_module(module).RIVALS[rival](arrays, json.loads(case))
    except (ImportError, FileNotFoundError, NotImplementedError) as reason:
        answer(absent=f"{reason}".splitlines()[0] if str(reason) else type(reason).__name__)
        return
    answer(ready=True)
    threads = int(os.environ.get("KERNSIFT_PEERS_THREADS", "1"))
    for _ in sys.stdin:
        forget_peak()
        before, begin, wall = status("VmRSS"), cpu(), time.perf_counter()
        done = work()
        spent, elapsed = cpu() - begin, time.perf_counter() - wall
        peak = status("VmHWM") - before
        found = judge(done)
        spent = found.pop("seconds", spent)
        peak = found.pop("megabytes", peak)
        answer(cpu=spent, wall=elapsed, peak=peak, threads=threads, **found)


if __name__ == "__main__":
    main()
