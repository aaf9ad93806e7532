"""Plain English: words and phrases that do not stand in comments, docstrings, error texts and pages."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "cpp").is_dir(), reason="the sources are not beside these tests")

#: What not to say, and what to say.
PHRASES = {
    r"learnt": "learned",
    r"answer(?:s|ed)? with": "returns, may return",
    r"owe[sd]?|owing": "pending, to be applied",
    r"asked for|asks|asked(?= again)": "requested; calls, needs, checks",
    r"told(?! apart)": "given, known; reported",
    r"nobody's choice": "undefined",
    r"nobody (?:asks|looks|knows)": "it is not used, not known",
    r"to the letter": "literally",
    r"dearer|dearest": "slower, more expensive",
    r"knobs?": "parameter",
    r"(?:has|have|take|takes) no part in (?:it|this)": "is independent of",
    r"refused by name": "raises an error that names",
    r"nothing to win": "no setting helps",
    r"(?:is|are|be) felt": "matters",
    r"spread(?:s)?": "standard deviation, variance; put, lie",
    r"unless told|told otherwise": "by default",
    r"(?<!\d )00[0-5](?![\d]|[,.]\d| 000)": "authors and year, as in Jung & Polani (2006)",
}
#: `spread` is also a variable of the core: it is checked in pages only.
PROSE_ONLY = {r"spread(?:s)?"}


def prose_of_python(text: str) -> str:
    """Comments and texts, line by line where they stand."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            for i, line in enumerate(token.string.split("\n")):
                lines[token.start[0] - 1 + i] += " " + re.sub(r"``.*?``", "", line)
    return "\n".join(lines)


def prose_of_cpp(text: str) -> str:
    """Comments."""
    return "\n".join(line.partition("//")[2] for line in text.split("\n"))


def prose_of_markdown(text: str) -> str:
    """All but code, links' targets and formulas."""
    text = re.sub(r"\w+(?:/\w+)*\.\w+::\w+|test_\w+", "", text)  # places and tests of the map
    text = re.sub(r"^( *)(```|~~~).*?^\1\2", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`|\]\([^)\n]*\)|\$[^$\n]*\$", "", text)


PROSE = {
    ".py": prose_of_python,
    ".md": prose_of_markdown,
    ".cpp": prose_of_cpp,
    ".hpp": prose_of_cpp,
    ".c": prose_of_cpp,
}


def hits(path: Path) -> list[str]:
    """Phrases of the list in one file, with what to say."""
    found = []
    for number, line in enumerate(PROSE[path.suffix](path.read_text(encoding="utf-8")).split("\n"), 1):
        for phrase, plain in PHRASES.items():
            if phrase in PROSE_ONLY and path.suffix != ".md":
                continue
            if match := re.search(rf"(?<![\w,.-])(?:{phrase})(?!\w)", line, re.I):
                found.append(f"{path.name}:{number}: {match[0]!r}: say {plain}")
    return found


def files() -> list[Path]:
    folders = {"python/kernsift": ("*.py",), "cpp": ("*.cpp", "*.hpp", "*.c", "*.md"), "docs": ("*.md", "*.py")}
    folders |= {"examples": ("*.py",), "bench": ("README.md",)}
    paths = [p for folder, globs in folders.items() for glob in globs for p in (ROOT / folder).rglob(glob)]
    made = {"_build", "generated", "auto_examples", "backreferences"}
    paths = [p for p in paths if not made & set(p.parts)]
    return sorted(paths) + [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]


def test_the_language_is_plain():
    found = [hit for path in files() for hit in hits(path)]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.py", 'x = 1\n"""Rows learnt."""\n', "a.py:2: 'learnt': say learned"),
        ("a.py", "asks = owed = 1\n", None),
        ("a.cpp", "int owed;  // what is owed\n", "a.cpp:1: 'owed': say pending, to be applied"),
        ("a.cpp", "int owed;\n", None),
        ("a.md", "A knob.\n```python\nknob\n```\n`knob`\n", "a.md:1: 'knob': say parameter"),
        ("a.md", "1,000,000 rows\n", None),
        ("a.md", "as in 001, fast\n", "a.md:1: '001': say authors and year, as in Jung & Polani (2006)"),
    ],
)
def test_a_phrase_is_found(tmp_path, name, text, complaint):
    (tmp_path / name).write_text(text)
    assert hits(tmp_path / name) == ([] if complaint is None else [complaint])
