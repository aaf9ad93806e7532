"""python bench/guard [BASE [HEAD]]: are the benchmarks of benchmarks/bench_guard.py slower at HEAD than at BASE?

asv builds both commits with the same settings, one CPU level, and takes their samples in turn on this machine. A
benchmark fails the guard where HEAD takes FACTOR times BASE's time and asv's test of the samples calls them different.

    python bench/guard                    the commit you are on against where it left main
    python bench/guard main HEAD          any two
    python bench/guard --check-itself     plants a slowdown of a fifth and sees it; changes nothing and sees it pass
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # run as a folder, the package has no name of its own

from measure.fair import without_handicaps  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FACTOR = 1.1
PLANTED = 0.2
# Every call of the streams' and tables' main verbs takes this much longer, by the clock the benchmarks use.
SLOWDOWN = f"""

def _slower(work):
    import time

    def call(*args, **keywords):
        begin = time.thread_time()
        out = work(*args, **keywords)
        end = time.thread_time()
        while time.thread_time() - end < {PLANTED} * (end - begin):
            pass
        return out

    return call


for _model in (OnlineLSSVMRegressor, SubsetLSSVMRegressor):
    for _verb in ("partial_fit", "fit", "predict"):
        setattr(_model, _verb, _slower(getattr(_model, _verb)))
"""


def git(*arguments: str, folder: Path = ROOT) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def compare(base: str, head: str, folder: Path, only: str) -> bool:
    """Whether no benchmark is slower at `head`."""
    asv = [sys.executable, "-m", "asv"]
    here = {"cwd": folder / "bench", "env": without_handicaps(os.environ), "check": False}
    subprocess.run([*asv, "machine", "--yes"], **here, stdout=subprocess.DEVNULL)  # type: ignore[call-overload]
    how = ["--factor", str(FACTOR), "--interleave-rounds", "--launch-method", "forkserver", "--show-stderr"]
    done = subprocess.run([*asv, "continuous", *how, "--split", "--bench", only, base, head], **here)  # type: ignore[call-overload]
    return done.returncode == 0


def check_itself(only: str) -> int:
    """The guard on commits made for it, in a clone."""
    with tempfile.TemporaryDirectory(prefix="kernsift-guard-") as temporary:
        clone = Path(temporary) / "kernsift"
        git("clone", "--quiet", str(ROOT), str(clone))
        name = ["-c", "user.name=guard", "-c", "user.email=guard@localhost"]
        base = git("rev-parse", "HEAD", folder=clone)
        git(*name, "commit", "--quiet", "--allow-empty", "-m", "Change nothing", folder=clone)
        same = git("rev-parse", "HEAD", folder=clone)
        package = clone / "python" / "kernsift" / "__init__.py"
        package.write_text(package.read_text(encoding="utf-8") + SLOWDOWN, encoding="utf-8")
        git(*name, "commit", "--quiet", "--all", "-m", "Plant a slowdown", folder=clone)
        slower = git("rev-parse", "HEAD", folder=clone)
        passed = compare(base, same, clone, only)
        caught = not compare(base, slower, clone, only)
    print(
        f"nothing changed: {'passed' if passed else 'FAILED'}; {PLANTED:.0%} slower: {'caught' if caught else 'MISSED'}"
    )
    return 0 if passed and caught else 1


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="bench/guard", description="Times of two commits, in turn.")
    options.add_argument("base", nargs="?", help="default: where HEAD left main")
    options.add_argument("head", nargs="?", default="HEAD")
    options.add_argument("--bench", default="^bench_guard", help="asv's pattern of benchmarks, default %(default)s")
    options.add_argument("--check-itself", action="store_true", help="plant a slowdown, and see it caught")
    asked = options.parse_args(arguments)
    if asked.check_itself:
        return check_itself(asked.bench)
    base = asked.base or git("merge-base", "main", asked.head)
    return 0 if compare(git("rev-parse", base), git("rev-parse", asked.head), ROOT, asked.bench) else 1


if __name__ == "__main__":
    sys.exit(main())
