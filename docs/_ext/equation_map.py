"""Links in the rendered map of equations: each place leads to the line that bears the tag, each test to its first."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]


def link_rows(text: str) -> str:
    """The map with links, as they are written from a page one folder below `docs`."""
    tests, files = {}, {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")) + sorted((ROOT / "cpp/tests").rglob("*.cpp")):
        files[path.name] = path.relative_to(ROOT).as_posix()
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M):
            tests.setdefault(name, path.relative_to(ROOT).as_posix())

    def place(tag: str, words: str) -> str:
        file, _, function = words.partition("::")
        return f"[{file}::{function}](../../cpp/core/{file}#{quote(f'[{tag}]')})"

    def test(words: str) -> str:
        file, _, name = words.rpartition("::")
        path = files[file] if file else tests.get(name)
        return f"[{Path(path).stem}](../../{path}#{quote(f'def {name}')})" if path else words

    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 5 and "::" in cells[2] and cells[0] != "tag":
            tag, identity, places, proofs, erratum = cells
            places = "; ".join(place(tag, words.strip()) for words in re.split("[;,]", places))
            proofs = "; ".join(test(words.strip()) for words in proofs.split(","))
            # a star or an underscore of a formula is no emphasis
            identity = re.sub(r"([*_])", r"\\\1", identity)
            line = f"| {tag} | {identity} | {places} | {proofs} | {erratum} |"
        rows.append(line)
    first = next(i for i, row in enumerate(rows) if row.startswith("| tag |"))
    after = next(i for i in range(first, len(rows)) if not rows[i].startswith("|"))
    rows[after:after] = [":::"]
    rows[first:first] = [":::{container} equation-map", ""]  # for the style sheet
    return "\n".join(rows) + "\n"


def setup(app):
    return {"parallel_read_safe": True, "parallel_write_safe": True}
