"""RESULTS.md: a section a kind of work, those not run this time kept."""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
from pathlib import Path

from measure import page
from measure.fair import blas

from .runner import Result

BEHIND = "Where we are not ahead: what it would take"
EQUAL = 1.02  # errors within 2 % count as equal: less than the spread over draws of the rows
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
    "(bench/papers/WIDTHS.md), one width only with more",
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
    "in C++": "the same operations with whole matrices",
    "numpy": "the same operations without the checks, and without the sums kept for later",
}


def machine(threads: int) -> str:
    """The machine, and the versions of the rivals."""
    found = []
    for name in (
        "numpy",
        "scikit-learn",
        "river",
        "lightgbm",
        "krls",
        "libsvm-official",
        "statsforecast",
        "skforecast",
    ):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    header = Path("/usr/include/dlib/revision.h")
    if header.is_file():
        found.append("dlib " + ".".join(re.findall(r"#define DLIB_M\w+_VERSION\s+(\d+)", header.read_text())))
    return f"{page.machine()}, {blas()}, {threads} thread{'s' * (threads > 1)}, {', '.join(found)}"


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
        return "slower, better" if first.seconds <= result.seconds else "behind"
    return "faster, worse"


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
            "verdict": lambda r: verdict(r, [o for o in there if ours(o)]),
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
        }  # fmt: skip
        shown = {name: [make(r) for r in there] for name, make in columns.items()}
        shown = {name: cells for name, cells in shown.items() if any(c.strip(" ()-") for c in cells)}
        lines += page.head(["", *shown])
        for i, r in enumerate(there):
            lines.append(page.row([r.rival, *(cells[i] for cells in shown.values())]))
        lines.append("")
        for r in there:
            said = verdict(r, [o for o in there if ours(o)])
            if said in ("behind", "slower, better"):
                lines.append(
                    f"- **{said}** {r.rival} ({label}): × {number(r.ratio(there[0]))} our time; {note(r.rival)}"
                )
    for r in results:
        if r.absent:
            lines.append(f"- {r.rival}: skipped, {r.absent}")
    return [*lines, ""] if lines[-1] else lines


def write(path: Path, order: list[str], fresh: dict[str, str]) -> None:
    """The page: these sections, the others as they were, and first the rows that are behind."""
    kept = page.sections(path) | fresh
    kept.pop(BEHIND.partition(":")[0], None)
    lines = [line for name in order if name in kept for line in kept[name].splitlines() if line.startswith("- **")]
    behind = [f"## {BEHIND}", ""]
    for kind in ("behind", "slower, better"):
        behind += sorted({line for line in lines if line.startswith(f"- **{kind}**")}) or [f"- {kind}: none"]
        behind.append("")
    first = {BEHIND: "\n".join(behind)}
    page.write(path, "The race, measured by `python bench/peers`", first | kept, [BEHIND, *order])
