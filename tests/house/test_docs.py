"""The documentation against the package: every public name has its page, pages name no file that is not there."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from urllib.parse import unquote

import kernsift
import pytest
from support.public import PUBLIC

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="docs is not beside these tests")
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")


def listed(text: str) -> set[str]:
    """The names of the autosummary lists of a page, in full."""
    names = set()
    for block in re.findall(r"^```{eval-rst}\n(.*?)^```", text, re.M | re.S):
        module = re.search(r"currentmodule:: (\S+)", block)[1]
        names |= {f"{module}.{name}" for name in re.findall(r"^   ([A-Za-z][\w.]*)$", block, re.M)}
    return names


def public(module: str) -> set[str]:
    """`__all__` of a module read from its text: of extras that are not installed too."""
    path = ROOT / "python" / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return {f"{module}.{name}" for name in ast.literal_eval(node.value) if not name.startswith("__")}
    raise AssertionError(f"{module} has no __all__")


def missing(text: str) -> set[str]:
    wanted = set().union(*map(public, PUBLIC)) - {"kernsift.PruningPathDisplay"}  # listed in kernsift.display
    return wanted ^ listed(text)


def test_every_public_name_is_in_the_api_reference():
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert missing(text) == set()
    assert missing(text.replace("   lag_embed\n", "")) == {"kernsift.lag_embed"}  # and the rule can fail


def test_classes_are_shown_with_their_parameters(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    shown = importlib.import_module("docstrings").constructor
    of_new = "(*args, **kwargs)"
    for name in kernsift.__all__:
        thing = getattr(kernsift, name)
        if inspect.isclass(thing) and hasattr(thing, "get_params"):
            signature, _ = shown(None, "class", name, thing, None, of_new, None)
            assert signature.startswith("(*, "), name
            assert {f"{part}=" for part in thing._get_param_names()} <= set(re.findall(r"\w+=", signature)), name
    assert shown(None, "function", "f", len, None, of_new, None) is None


def dead_links(folder: Path) -> list[str]:
    """Relative links of Markdown files that lead nowhere in a checkout."""
    dead = []
    for path in [*folder.glob("*.md"), *(folder / "docs").rglob("*.md")]:
        if "_build" in path.parts or "generated" in path.parts or "auto_examples" in path.parts:
            continue
        text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in LINK.findall(text):
            if not (path.parent / link).exists():
                dead.append(f"{path.relative_to(folder)}: {link}")
    return dead


ANCHOR = re.compile(r"\]\(([^)#\s:]+)#([^)\s]+)\)")


def dead_anchors(folder: Path) -> list[str]:
    """Links to a line of the code, by words in it, where no line holds the words."""
    dead = []
    for path in sorted((folder / "docs").rglob("*.md")):
        for link, words in ANCHOR.findall(path.read_text(encoding="utf-8")):
            target = path.parent / link
            if target.suffix == ".md" or not target.is_file():
                continue  # a heading; a dead link
            if not any(unquote(words) in line for line in target.read_text(encoding="utf-8").splitlines()):
                dead.append(f"{path.relative_to(folder)}: {link}#{unquote(words)}")
    return dead


def test_links_work_in_a_checkout_too():
    assert dead_links(ROOT) == []
    assert dead_anchors(ROOT) == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("[one](a.md) [two](b.md#there)\n```\n[x](c.md)\n```\n[web](https://a.b)")
    assert dead_links(tmp_path) == ["docs/a.md: b.md"]


def test_a_dead_anchor_is_found(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.py").write_text("def f():\n    pass\n")
    (tmp_path / "docs" / "a.md").write_text("[one](a.py#def%20f) [two](a.py#def%20g)")
    assert dead_anchors(tmp_path) == ["docs/a.md: a.py#def g"]


#: Pages of the guide that are about one thing which every other page uses.
SHARED = {"index.md", "objective.md", "pitfalls.md"}


def order_of_questions(text: str) -> list[str]:
    """What a page says first: "what" are words between title and first heading, the others are headings."""
    found = ["what"] if re.match(r"# .+\n\n(?!#)\S", text) else []
    for heading in re.findall(r"^## (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        question = re.match(r"When|How|What goes wrong", heading)
        if question and question[0].lower() not in found:
            found.append(question[0].lower())
    return found


#: Pages of the guide that lie above it.
ABOVE = ("distributed.md", "export.md", "persistence.md", "streams.md", "tuning.md", "widths.md")
GUIDE = [f"guide/{p.name}" for p in sorted((DOCS / "guide").glob("*.md")) if p.name not in SHARED] + [*ABOVE]


@pytest.mark.parametrize("page", GUIDE)
def test_a_page_says_what_when_how_and_what_goes_wrong(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert order_of_questions(text) == ["what", "when", "how", "what goes wrong"]
    assert order_of_questions(text.replace("## When", "## Now")) != ["what", "when", "how", "what goes wrong"]


def figures_of(page: str, command: str) -> list[str]:
    """The measured figures in the line of the front page that ends with the command."""
    line = next(line for line in page.splitlines() if command in line and line.startswith("|"))
    return re.findall(r"\d[\d.,]*\d|\d", line.split("|")[2])


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_figures_of_the_front_page_are_those_of_the_measured_page(name):
    page = (ROOT / name).read_text(encoding="utf-8")
    results = (ROOT / "bench" / "peers" / "RESULTS.md").read_text(encoding="utf-8")
    for table in ("parquet", "front"):
        section = re.search(rf"^## [^\n]*\(`{table}`\)$.*?(?=^## |\Z)", results, re.M | re.S)[0]
        measured = [float(x.replace(",", "")) for x in re.findall(r"\d[\d,]*\.?\d*", section)]
        measured += [x / 1000 for x in measured]  # MB as GB
        for figure in figures_of(page, f"--table {table}"):
            digits = len(figure.partition(".")[2])
            assert any(f"{x:.{digits}f}" == figure for x in measured), (table, figure)
    assert figures_of("| a | 1.5 s and 20 MB | `x` |", "`x`") == ["1.5", "20"]
