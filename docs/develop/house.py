"""Draws the picture of the house in house.md from the tree: `python docs/develop/house.py`; `--check` only compares."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path(__file__).with_name("house.md")
WIDTH = 80  # between the walls

#: The rooms of cpp/core in the order of their includes, and what is in them.
CORE = {
    "base": "types, products, limits, arrays, threads",
    "simd": "packets, exponential, triangle passes",
    "linalg": "rotations, triangles, inverses, orthogonal bases",
    "kernel": "kernels, dictionary, Gram matrices, kernel span",
    "ridge": "GCV, leave-one-out, evidence, temperature",
    "select": "feature vectors, pivots, forward selection, pruning path",
    "stream": "online LS-SVM in blocks and rows, literal form; LSTD",
    "batch": "subset, dense, pruned and sparse LS-SVM, widths",
}
#: The rooms of python/kernsift; their words are the docstrings of the folders.
PYTHON = (
    *("table", "stream", "forecast", "control", "subset", "dense", "select", "widths"),
    *("export", "display", "blocks", "river", "kernels", "datasets", "cli", "io", "base"),
)


def line(text: str = "") -> str:
    assert len(text) <= WIDTH - 2, text
    return f"│ {text:<{WIDTH - 1}}│"


def row(room: str, folder: Path, endings: tuple[str, ...], words: str) -> str:
    files = sum(path.suffix in endings for path in folder.rglob("*"))
    return line(f" {room:<8}{files:>3} files  {words}")


def python_rooms(root: Path) -> list[str]:
    package = root / "python" / "kernsift"
    found = {path.parent.name for path in package.glob("*/__init__.py")}
    if found != set(PYTHON):
        raise SystemExit(f"PYTHON in {Path(__file__).name} differs from the folders: {sorted(found ^ set(PYTHON))}")
    rows = []
    for room in PYTHON:
        text = (package / room / "__init__.py").read_text(encoding="utf-8")
        words = re.sub(r" <[^>]*>`_|`", "", ast.get_docstring(ast.parse(text)) or "")
        rows.append(row(room, package / room, (".py",), re.split(r"[.:]\s", words + " ")[0]))
    return rows


def core_rooms(root: Path) -> list[str]:
    core = root / "cpp" / "core"
    found = {path.name for path in core.iterdir() if path.is_dir()}
    if found != set(CORE):
        raise SystemExit(f"CORE in {Path(__file__).name} differs from the folders: {sorted(found ^ set(CORE))}")
    return [row(room, core / room, (".cpp", ".hpp"), words) for room, words in CORE.items()]


def picture(root: Path = ROOT) -> str:
    top, floor = f"┌{'─' * 18}▼{'─' * (WIDTH - 19)}┐", f"└{'─' * 18}┬{'─' * (WIDTH - 19)}┘"
    drawn = [
        " " * 14 + "your program",
        " " * 19 + "│  numpy arrays, scikit-learn's methods",
        top,
        line("python/kernsift/   check once, call the core, explain errors, save arrays"),
        *python_rooms(root),
        floor,
        " " * 19 + "│  float64, C order, no copy              _core.pyi",
        top,
        line("cpp/bind/   the only files that include Python: shapes, GIL, one lock a model"),
        floor,
        " " * 19 + "│  Eigen maps on the same memory",
        top,
        line("cpp/core/   the mathematics: Eigen and the standard library, never Python"),
        *core_rooms(root),
        floor.replace("┬", "─"),
        "   beside it:  cpp/EQUATIONS.md  cpp/tests/  cpp/fuzz/  tests/  bench/  docs/",
    ]
    return "\n".join(drawn) + "\n"


def redrawn(text: str, root: Path = ROOT) -> str:
    """The page with the picture of the tree."""
    before, fence, rest = text.partition("```text\n")
    return before + fence + picture(root) + "```" + rest.partition("```")[2]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    new = redrawn(text)
    if "--check" in sys.argv[1:]:
        sys.exit("house.md differs from the tree: run docs/develop/house.py" if new != text else 0)
    PAGE.write_text(new, encoding="utf-8")
