"""``python -m kernsift``: a demonstration, facts about this installation, and models from the command line."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy
import sklearn

import kernsift
from kernsift.base.threads import cpus
from kernsift.cli import commands as _cli
from kernsift.cli import demo as _demo


def info() -> int:
    """Print versions, the CPU level in use and how the core was built."""
    facts = {
        "kernsift": kernsift.__version__,
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "threads": f"{cpus()} usable; the core works in the thread that calls it",
        "KERNSIFT_ISA": os.environ.get("KERNSIFT_ISA", "(not set)"),
        **kernsift.build_config(),
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple | set) else value
        print(f"{name:<{width}}  {text}")
    return 0


def demo(rows: int, seed: int, path: Path | None, asked: bool) -> int:
    """Run the demonstration; `path` is where the plot goes, `asked` whether the user named it."""
    drawable = importlib.util.find_spec("matplotlib") is not None
    if path is not None and asked:
        # Found out now, not after the run.
        if not drawable:
            print("error: --plot needs matplotlib: pip install 'kernsift[plot]'", file=sys.stderr)
            return 1
        if not path.parent.is_dir():
            print(f"error: --plot {path}: there is no folder {path.parent}", file=sys.stderr)
            return 1

    runs = _demo.run_demo(rows, seed)
    print(_demo.report(runs))
    if path is None:
        return 0
    if not drawable:
        print("\nNo plot: matplotlib is not installed (pip install 'kernsift[plot]').")
        return 0
    try:
        _demo.plot(runs, path)
    except (OSError, ValueError) as error:  # not writable; not a picture format
        print(f"error: the plot could not be written to {path}: {error}", file=sys.stderr)
        return 1
    print(f"\nPlot: {path}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` and return the exit code."""
    name = "kernsift" if argv is None and Path(sys.argv[0]).stem == "kernsift" else "python -m kernsift"
    codes = "Exit codes: 0 done; 1 what was given is wrong, said on standard error; 2 wrong usage; 130 and 143 stopped."
    parser = argparse.ArgumentParser(prog=name, description=__doc__, epilog=codes)
    parser.add_argument("--version", action="version", version=f"kernsift {kernsift.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="versions, CPU level, threads", description=info.__doc__)
    run = commands.add_parser(
        "demo",
        help="stream a series that changes half-way, beside scikit-learn's ways",
        description="Stream a built-in series that changes half-way through kernsift and through what "
        "scikit-learn offers, and print error, size and speed of each.",
    )
    run.add_argument("--rows", type=int, default=20000, help="length of the stream (default %(default)s)")
    run.add_argument("--seed", type=int, default=7, help="seed of noise and random features")
    where = run.add_mutually_exclusive_group()
    where.add_argument("--plot", type=Path, metavar="PATH", help="picture file (default kernsift-demo.png)")
    where.add_argument("--no-plot", action="store_true", help="print the table only")
    _cli.add_commands(commands)
    options = parser.parse_args(argv)
    if options.command == "info":
        return info()
    if options.command == "demo" and options.rows < 1000:
        run.error(f"--rows is {options.rows}; the stream needs at least 1000 rows, half before the change")
    if options.command == "demo" and options.seed < 0:
        run.error(f"--seed is {options.seed}; it must be 0 or more")
    try:
        if options.command != "demo":
            return _cli.run(options)
        path = None if options.no_plot else options.plot or Path("kernsift-demo.png")
        return demo(options.rows, options.seed, path, options.plot is not None)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
