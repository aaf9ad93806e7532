"""RESULTS.md: a section a kind of work, those not run this time kept."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from pathlib import Path

from runner import Result

EQUAL = 1.02  # errors within 2 % count as equal: less than the spread over draws of the rows
PREAMBLE = """# The race, measured

Written by `python bench/peers`. Every rival in a process of its own, their runs interleaved; times are CPU seconds of
all threads, the best of the rounds, and "× ours" is the median over the rounds of the rival's time over that of the
first row. MB is the largest growth of the resident memory during the work. "of limit" is ours alone: flops counted from
the operations over time, as a part of dgemm's speed in the same process, or bytes as a part of the speed of reading.

The verdict looks at all rows of kernsift: *ahead*, one of them is at least as fast at an error at most 2 % (relative)
larger; *behind*, the rival is faster at an equal or smaller error; *dearer, better* and *cheaper, worse*, neither is.
"""

# What it would take, where a rival is ahead or more exact; the first name that is part of the rival's.
EVERY_ROW = (
    "a kernel on every row it is given, which takes more kernels to match; LSSVMRegressor does the same in less than "
    "half its time"
)
NOTES = {
    "uniform random": "drawing costs nothing: a selection pays where the kernels it saves are used often",
    "lightgbm": "trees split on single features, which suits this set; kernels with learned widths come nearest "
    "(gamma='learn'), and a cheaper search for the widths is what is missing",
    "SVC": "every row may be a kernel; widths learned a feature go below its error with 500 kernels "
    "(bench/widths/RESULTS.md), one width only with more",
    "SVR": "every row may be a kernel; it takes more kernels, or learned widths",
    "libsvm": "every row may be a kernel; it takes more kernels, or learned widths",
    "RBFSampler": "random features cost one product and a cosine and choose nothing",
    "river": "a row of a linear model costs d operations, ours m (d + m); it is right where the target is linear",
    "dlib::krls": "at a full dictionary dlib drops its oldest centre without judging any",
    "dlib subset": "one pass that keeps what is furthest from the rest",
    "KernelRidge": EVERY_ROW,
    "GaussianProcess": EVERY_ROW,
    "MiniBatchKMeans": "means instead of rows, which basis='kmeans' takes too",
    "OrthogonalMatchingPursuit": "it keeps the kernel matrix whole, which ours makes anew beyond its cache",
    "Nystroem": "the same model on random rows: the choice of the rows is what costs more",
    "numpy, blocked": "sums in kernel coordinates, half the operations, whatever digits nearly dependent kernels cost; "
    "ours sees that they would and takes orthonormal ones",
    "numpy": "the same operations without the checks, and without the sums kept for later",
}


def machine(threads: int) -> str:
    model, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.is_file() and (found := re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.M)):
        model = found[1]
    import kernsift

    level = kernsift.build_config()["cpu_level"]
    names = ("numpy", "scikit-learn", "river", "lightgbm", "krls", "libsvm-official")
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    header = Path("/usr/include/dlib/revision.h")
    if header.is_file():
        parts = re.findall(r"#define DLIB_M\w+_VERSION\s+(\d+)", header.read_text())
        found.append("dlib " + ".".join(parts))
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, {threads} thread{'s' * (threads > 1)}; "
        f"kernsift {kernsift.__version__} ({level}), {', '.join(found)}"
    )


def number(value: float | None, digits: int = 3) -> str:
    if value is None or value != value:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def seconds(value: float, rows: bool) -> str:
    """In microseconds by the row."""
    return f"{number(1e6 * value)} µs" if rows else f"{number(value)} s"


def ours(result: Result) -> bool:
    return result.rival.startswith("kernsift")


def reached(result: Result) -> bool:
    return result["reached"] is not False


def verdict(result: Result, own: list[Result]) -> str:
    """Against all rows of kernsift."""
    if ours(result):
        return ""
    own = [o for o in own if o.runs and reached(o)]
    if not own:
        return ""
    if not reached(result):
        return "ahead: it does not reach it"
    e = result["error"] if result["reached"] is None else None  # at equal error sizes differ, errors do not count
    for o in own:
        as_exact = e is None or o["error"] is None or o["error"] <= EQUAL * e
        if as_exact and o.seconds <= result.seconds:
            return "ahead"
    first = own[0]
    if e is None or first["error"] is None or e <= EQUAL * first["error"]:
        return "dearer, better" if first.seconds <= result.seconds else "behind"
    return "cheaper, worse"


def limit(result: Result) -> str:
    if result["flops"]:
        return f"{result['flops'] / (result.seconds * result.runs[0].get('rows', 1)) / result['dgemm']:.2f} of dgemm"
    if result["bytes"]:
        return f"{result['bytes'] / result.seconds / result['bandwidth']:.2f} of read bandwidth"
    return ""


def note(rival: str) -> str:
    return next((text for name, text in NOTES.items() if name in rival), "no note yet")


def case_table(label: str, results: list[Result]) -> list[str]:
    """The rows of one race, and after them a line for each rival we are not ahead of."""
    there = [r for r in results if not r.absent and r.runs]
    lines = [f"### {label}", ""]
    if there:
        by_row = "rows" in there[0].runs[0]
        columns = {
            "time" + " a row" * by_row: lambda r: seconds(r.seconds, by_row),
            "× ours": lambda r: number(r.ratio(there[0])),
            "error": lambda r: number(r["error"], 4) + ("" if reached(r) else " (-)"),
            "size": lambda r: number(r["size"], 6),
            "kernels": lambda r: number(r["kernels"], 6),
            "MB": lambda r: number(r.megabytes),
            "× 8m²": lambda r: number(r.megabytes / r["square"]) if r["square"] else "",
            "predict, µs a row": lambda r: number(r["predict"]),
            **{
                f"{kind} {q}, µs": (lambda r, k=f"{kind} {q}": number(r[k]))
                for kind in ("predicted", "learned") for q in ("p50", "p99")
            },
            "of limit": limit,
            "verdict": lambda r: verdict(r, [o for o in there if ours(o)]),
        }  # fmt: skip
        shown = {name: [make(r) for r in there] for name, make in columns.items()}
        shown = {name: cells for name, cells in shown.items() if any(c.strip(" ()-") for c in cells)}
        lines += ["| | " + " | ".join(shown) + " |", "|---|" + "---|" * len(shown)]
        for i, r in enumerate(there):
            lines.append(f"| {r.rival} | " + " | ".join(cells[i] for cells in shown.values()) + " |")
        lines.append("")
        for r in there:
            said = verdict(r, [o for o in there if ours(o)])
            if said in ("behind", "dearer, better"):
                lines.append(
                    f"- **{said}** {r.rival} ({label}): × {number(r.ratio(there[0]))} our time; {note(r.rival)}"
                )
    for r in results:
        if r.absent:
            lines.append(f"- {r.rival}: skipped, {r.absent}")
    return [*lines, ""] if lines[-1] else lines


def write(path: Path, order: list[str], sections: dict[str, str]) -> None:
    """The page: the sections given, the others as they were, and first the rows that are behind."""
    kept: dict[str, str] = {}
    if path.is_file():
        for part in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            kept[part.partition(":")[0]] = f"## {part.rstrip()}\n"
    kept |= sections
    kept.pop("Where we are not ahead", None)
    lines = [line for name in order if name in kept for line in kept[name].splitlines() if line.startswith("- **")]
    behind = ["## Where we are not ahead: what it would take", ""]
    for kind in ("behind", "dearer, better"):
        behind += sorted({line for line in lines if line.startswith(f"- **{kind}**")}) or [f"- {kind}: none"]
        behind.append("")
    body = "\n".join(kept[name] for name in order if name in kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([PREAMBLE, *behind, body]).rstrip() + "\n", encoding="utf-8")
