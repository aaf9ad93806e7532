"""The examples of the gallery: what each page needs, and that they run without a warning and find what they claim."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "gallery"
EXAMPLES = sorted(FOLDER.glob("*.py"))
NAMES = [path.stem for path in EXAMPLES]

pytestmark = pytest.mark.skipif(not EXAMPLES, reason="the gallery is not beside these tests")


def test_names():
    """A number first, by which the pages are sorted, each of them once."""
    assert all(re.fullmatch(r"plot_\d\d_\w+", name) for name in NAMES)
    assert len({name[:7] for name in NAMES}) == len(NAMES) > 15


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_form(path):
    """A title, a paragraph, cells, at least one picture and one claim that is checked."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, line, empty, *rest = ast.get_docstring(tree).split("\n")
    assert line == "=" * len(title)
    assert not empty
    assert len(" ".join(rest)) > 80
    assert len(re.findall(r"^# %%$", text, re.M)) >= 2
    indented = [line for line in rest if line.startswith(" ")] + re.findall(r"^#  .*", text, re.M)
    assert not indented, "reST would take it for a definition"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    assert len(re.findall(r"plt\.subplots\(", text)) == len(re.findall(r"^plt\.show\(\)$", text, re.M)) > 0


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_names_exist(path):
    """Roles lead to what the package has: without the extra of a module, it is left to those who have it."""
    for name in re.findall(r":(?:class|func|meth):`(kernsift\.[\w.]+)`", path.read_text(encoding="utf-8")):
        module, found, rest = "kernsift", None, name.split(".")[1:]
        if rest[0] in ("dask", "display", "export", "river"):
            module += f".{rest.pop(0)}"
        try:
            found = importlib.import_module(module)
        except ImportError as missing:
            if "pip install 'kernsift[" not in str(missing):
                raise
            continue
        for part in rest:
            found = getattr(found, part)


def numbered(axis):
    """Whether numbers stand on an axis of a drawn figure (and not names, or nothing)."""
    ticks = [tick.get_text().replace("mathdefault", "") for tick in axis.get_ticklabels() if tick.get_visible()]
    return any(re.search(r"\d", text) and not re.search(r"[a-z]", text, re.I) for text in ticks)


def run(path, monkeypatch):
    """Run a script and look at its figures when it shows them."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = []
    plt.close("all")

    def look():
        for number in plt.get_fignums():
            figure = plt.figure(number)
            figure.canvas.draw()
            for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
                assert axis.get_label_text() or not numbered(axis), f"{figure}: numbers on an axis without a name"
            sizes.append(figure.get_size_inches())
        plt.close("all")

    monkeypatch.setattr(plt, "show", look)
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), {"__name__": "__main__"})
    assert sizes
    assert not plt.get_fignums(), "a figure after the last plt.show()"
    assert all(5 < width <= 8 and 2 < height <= 8.5 for width, height in sizes)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_runs(path, monkeypatch):
    """Warnings are errors (pyproject.toml), and so are claims that do not hold."""
    run(path, monkeypatch)


OPTIONAL = [path for path in EXAMPLES if "except ImportError" in path.read_text(encoding="utf-8")]


@pytest.mark.slow
@pytest.mark.parametrize("path", OPTIONAL, ids=[path.stem for path in OPTIONAL])
def test_goes_without_extras(path, monkeypatch, capsys):
    for name in ("dask", "kernsift.dask", "kernsift.river", "onnx", "onnxruntime", "pyarrow", "redis", "river"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    run(path, monkeypatch)
    assert "is not installed" in capsys.readouterr().out
