"""python bench/gate [--quick] [--objects DIR]: instructions of fixed pieces of the core against the committed baseline.

The driver work.cpp is linked to the core as it is built for the wheel at CPU level v3 (valgrind does not
support AVX-512), and callgrind counts what each piece executes: the same number every time. Fails where a piece takes
more than 3 % more. Beside the count stands CPU time over that of a fixed loop of multiplications in the same process,
and that of the baseline's machine: it fails nothing, for it depends on the processor.

    python bench/gate --update --reason "why more is right"     moves the baseline

--objects DIR takes the objects of a build of the package in DIR; without it they are built, in build/gate. --quick runs
the pieces without counting; --only some of them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)  # run as a folder, the package has no name of its own

from gate.comparison import LIMIT, differences, moved, verdicts  # noqa: E402
from measure.command import parser, wanted  # noqa: E402

ROOT = HERE.parents[1]
CORE = ("models_v3", "numerics_v3")  # targets of CMakeLists.txt
LEVEL = "x86-64-v3"


class CannotCount(Exception):
    """There is nothing to compare here, and why."""


def output(*command: str | Path, **options: object) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise CannotCount(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout


def compiler(build: Path) -> str:
    """The one CMake took, or would take."""
    cache = build / "CMakeCache.txt"
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache.read_text(), re.M) if cache.is_file() else None
    return found[1] if found else os.environ.get("CXX", "c++")


def eigen() -> Path:
    folders = [Path(p) / "cmeel.prefix/include/eigen3" for p in sys.path] + [Path("/usr/include/eigen3")]
    for folder in folders:
        if folder.is_dir():
            return folder
    raise CannotCount("no Eigen: pip install the build requirements")


def eigen_version() -> str:
    text = (eigen() / "Eigen/src/Core/util/Macros.h").read_text()
    parts = (re.search(rf"#define EIGEN_{part}_VERSION (\d+)", text) for part in ("WORLD", "MAJOR", "MINOR"))
    return ".".join(part[1] for part in parts if part)


def valgrind(folder: Path) -> tuple[Path, dict[str, str]]:
    """The program and the environment it needs; fetched into `folder`, not installed, where there is none."""
    here = shutil.which("valgrind")
    if here:
        return Path(here), {}
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise CannotCount("no valgrind, and no apt-get to fetch it with")
    try:
        output("apt-get", "download", "valgrind", cwd=folder)
    except CannotCount:
        output("apt-get", "update", "-qq")
        output("apt-get", "download", "valgrind", cwd=folder)
    output("dpkg", "-x", next(folder.glob("valgrind*.deb")), folder)
    return folder / "usr/bin/valgrind.bin", {"VALGRIND_LIB": str(folder / "usr/libexec/valgrind")}


def objects(build: Path, given: bool) -> list[Path]:
    """The core's objects as they go into the module of level v3."""
    if not given:
        cmake, ninja = shutil.which("cmake", path=search_path()), shutil.which("ninja", path=search_path())
        if not cmake or not ninja:
            raise CannotCount("no cmake or no ninja: pip install the build requirements")
        options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DKERNSIFT_LEVELS=v3", "-DCMAKE_UNITY_BUILD=ON"]
        options += [f"-DCMAKE_PREFIX_PATH={sysconfig.get_path('purelib')}", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
        options += [f"-DPython_EXECUTABLE={sys.executable}"]
        output(cmake, "-S", ROOT, "-B", build, *options)
        output(ninja, "-C", build, "-j2", *CORE)
    found = sorted(path for part in CORE for path in (build / "CMakeFiles" / f"{part}.dir").rglob("*.o"))
    if not found:
        raise CannotCount(f"the build given with --objects holds no objects of {' and '.join(CORE)}")
    return found


def search_path() -> str:
    """The programs of this environment first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def driver(folder: Path, build: Path, given: bool) -> Path:
    """Link the pieces to the core."""
    parts = objects(build, given)
    program, common = folder / "work", ["-std=c++17", "-O3", "-DNDEBUG", f"-march={LEVEL}", "-fPIC", "-w"]
    include = [f"-I{ROOT / 'cpp'}", f"-I{eigen()}", "-DEIGEN_MPL2_ONLY", "-DEIGEN_DONT_PARALLELIZE"]
    try:
        output(compiler(build), *common, *include, "-c", HERE / "work.cpp", "-o", folder / "work.o")
        output(compiler(build), *common, folder / "work.o", *parts, "-pthread", "-o", program)
    except CannotCount as error:  # the pieces have to follow the core
        raise RuntimeError(str(error)) from None
    return program


def count(program: Path, checker: Path, environment: dict[str, str], name: str) -> int:
    """Instructions between entering and leaving `measured`.  In a bare environment: its size moves the stack."""
    command = [checker, "--tool=callgrind", "--toggle-collect=measured", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*map(str, command), str(program), name], env=environment, capture_output=True, text=True, check=False
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found or found[1] == "0":
        raise RuntimeError(f"{name} counted nothing: {done.stderr.strip()[-800:]}")
    return int(found[1])


def time_of(program: Path, name: str) -> float:
    """CPU time of a piece in those of the reference loop, the least of a few runs of both in turn."""
    return float(output(program, name, "7"))


def same_tools(baseline: dict[str, Any], here: dict[str, str]) -> None:
    if baseline and (other := differences(baseline["tools"], here)):
        raise CannotCount("; ".join(other))


def counts(build: Path, given: bool, baseline: dict[str, Any], asked: argparse.Namespace) -> tuple[Any, Any]:
    """The tools, and instructions and relative time of each piece; with --quick none: it runs them."""
    with tempfile.TemporaryDirectory(prefix="kernsift-gate-") as temporary:
        folder = Path(temporary)
        if asked.mode == "quick":
            program = driver(folder, build, given)
            for name in filter(lambda name: wanted(name, asked.only), output(program).split()):
                output(program, name)
            return {}, {}
        if platform.machine() not in ("x86_64", "AMD64") or sys.platform != "linux":
            raise CannotCount("the baseline is of Linux on x86-64")
        version = output(compiler(build), "--version").splitlines()[0]
        version = re.sub(r"^\S*[cg]\+\+\S* (?=\()", "g++ ", version)  # by whatever name it was called
        tools = {"compiler": version, "Eigen": eigen_version()}
        same_tools(baseline, tools)
        checker, environment = valgrind(folder)
        tools["valgrind"] = output(checker, "--version", env={**os.environ, **environment}).strip()
        same_tools(baseline, tools)
        program = driver(folder, build, given)
        names = [name for name in output(program).split() if wanted(name, asked.only)]
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda name: count(program, checker, environment, name), names))
        return tools, {name: (n, time_of(program, name)) for name, n in zip(names, found, strict=True)}


def main(arguments: list[str] | None = None) -> int:
    options = parser("bench/gate", "Instruction counts against the baseline.", (), "run, do not count", "the default")
    options.add_argument("--objects", type=Path, metavar="DIR", help="build of the package to take the objects from")
    options.add_argument("--update", action="store_true", help="move the baseline to what is counted now")
    options.add_argument("--reason", help="why, for --update; kept in the baseline")
    asked = options.parse_args(arguments)
    if asked.update != bool(asked.reason):
        options.error("--update needs --reason, and the other way round")
    if asked.update and (asked.only or asked.mode == "quick"):
        options.error("--update counts every piece")
    path = asked.out or HERE / "baseline.json"
    baseline = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    build = asked.objects or ROOT / "build/gate"
    try:
        tools, found = counts(build, asked.objects is not None, {} if asked.update else baseline, asked)
    except CannotCount as reason:
        if asked.update:
            raise SystemExit(f"cannot count here: {reason}") from None
        print(f"instructions not compared: {reason}")
        return 0
    if asked.mode == "quick":
        return 0
    old, times = baseline.get("instructions", {}), baseline.get("times", {})
    counted = {name: number for name, (number, _) in found.items()}
    print(f"{'':26}{'instructions':>14}  {'change':>8}  {'time':>7}  baseline's")
    for name, (number, time) in found.items():
        change = f"{100 * (number / old[name] - 1):+.2f} %" if name in old else "new"
        print(f"{name:26}{number:>14,}  {change:>8}  {time:>7.3f}  {times.get(name, '-'):>10}")
    if asked.update:
        new = {**moved(baseline, counted, tools, asked.reason), "times": {name: t for name, (_, t) in found.items()}}
        text = json.dumps(new, indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
        return 0
    failed = verdicts({name: n for name, n in old.items() if wanted(name, asked.only)}, counted)
    for line in failed:
        print(f"FAILED {line}")
    if failed:
        print(f'more than {100 * LIMIT:.0f} %: make it cheaper, or python bench/gate --update --reason "..."')
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
