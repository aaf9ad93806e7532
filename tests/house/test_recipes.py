"""Every block of code in the pages, word for word: Python and commands run, C is compiled, or a reason says why not."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import kernsift
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="docs is not beside these tests")
FENCE = re.compile(r"^( *)```(\w*|\{[^\n]*)\n(.*?)^\1```", re.M | re.S)
GENERATED = {"_build", "generated", "auto_examples"}

#: Packages of the extras a page needs.
NEEDS = {
    "docs/distributed.md": ("pandas", "pyarrow", "dask"),
    "docs/export.md": ("onnx", "skl2onnx"),
    "docs/guide/tables.md": ("pandas",),
    "docs/persistence.md": ("skops",),
    "docs/tuning.md": ("pandas",),
}
#: ... and a block, by words in it.
NEEDED = {"import optuna": "optuna", "from river import": "river", "from kernsift.display": "matplotlib"}

NETWORK = "installs from a package index, over the network; .ci/run runs the README's test command"
BUILD = "builds the core, which takes minutes; .ci/run and the nightly workflow build the same"
#: Blocks that are not run, by words in them, and why.
NOT_RUN = {
    "spark.sparkContext": "needs Spark; tests/adapters/test_engines.py runs it where that is installed",
    "ray.put(model)": "needs Ray; tests/adapters/test_engines.py runs it where that is installed",
    "-m kernsift demo": NETWORK,
    "-m pytest": NETWORK,
    "scikit-build-core>=1.0": NETWORK,
    "pip install .": NETWORK,
    "pip wheel": BUILD,
    "git tag --sign": "publishes a release",
    "cmake --preset": BUILD,
    "-DKERNSIFT_BUILD_LIBRARY=ON": BUILD,
}


class Block(NamedTuple):
    page: str
    number: int
    language: str
    code: str


def blocks_of(path: Path, name: str) -> list[Block]:
    found = FENCE.findall(path.read_text(encoding="utf-8"))
    return [Block(name, n, language, textwrap.dedent(code)) for n, (_, language, code) in enumerate(found)]


def all_blocks() -> list[Block]:
    pages = [p for p in sorted(DOCS.rglob("*.md")) if not GENERATED & set(p.parts)] if DOCS.is_dir() else []
    pages += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"] if pages else []
    pages = [p for p in pages if p.name != "extending.md"]  # test_extending.py
    return [b for p in pages for b in blocks_of(p, p.relative_to(ROOT).as_posix()) if b.language.isalpha()]


BLOCKS = all_blocks()
PAGES = sorted({b.page for b in BLOCKS if b.language == "python"})


def reason(block: Block) -> str | None:
    return next((why for words, why in NOT_RUN.items() if words in block.code), None)


def run_alone(block: Block) -> bool:
    """Run a Python block as a reader would who copies it, and no other; False where something it needs is missing."""
    package = next((p for words, p in NEEDED.items() if words in block.code), None)
    code = compile(block.code, f"{block.page}, block {block.number}", "exec")  # what is not run is Python at least
    if reason(block) or (package and importlib.util.find_spec(package) is None):
        return False
    exec(code, {"__name__": "page"})
    return True


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pandas 3.1 of dask
@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_word_for_word_and_alone(page, tmp_path, monkeypatch):
    for package in NEEDS.get(page, ()):
        pytest.importorskip(package, reason=f"{page} needs {package}")
    blocks = [b for b in BLOCKS if b.page == page and b.language == "python"]
    ran = 0
    for block in blocks:
        folder = tmp_path / str(block.number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        ran += run_alone(block)
    assert ran or all(reason(b) for b in blocks)


def test_every_block_has_a_way_to_be_tested():
    known = {"python", "bash", "c", "cmake", "text"}
    assert {b.language for b in BLOCKS} <= known
    assert [
        b for b in BLOCKS if b.language == "bash" and reason(b) is None and "python -m kernsift" not in b.code
    ] == []
    unused = [words for words in NOT_RUN if not any(words in b.code for b in BLOCKS)]
    assert unused == []  # no reason outlives its block
    assert len(BLOCKS) > 20


def test_cmake_blocks_are_of_the_program_that_ci_builds():
    program = (ROOT / "examples" / "cpp" / "CMakeLists.txt").read_text(encoding="utf-8")
    found = [b.code for b in BLOCKS if b.language == "cmake"]
    assert found
    assert [code for code in found if code not in program] == []


def test_a_block_that_fails_is_found(tmp_path):
    (tmp_path / "a.md").write_text("```python\nz = 1\n```\n\n- item\n\n  ```python\n  y = z\n  ```\n")
    blocks = blocks_of(tmp_path / "a.md", "a.md")
    assert run_alone(blocks[0])
    with pytest.raises(NameError, match="'z'"):  # and no block has what another made
        run_alone(blocks[1])
    assert not run_alone(blocks[0]._replace(code="import spark.sparkContext"))


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language == "bash" and reason(b) is None], ids=lambda b: b.page
)
def test_commands_run_word_for_word(block, tmp_path):
    if os.name != "posix":
        pytest.skip("a shell of POSIX")
    rng = np.random.default_rng(1)
    rows = "".join(f"{a},{b},{a - b}\n" for a, b in rng.normal(size=(80, 2)).round(3).tolist())
    (tmp_path / "rows.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "bin" / "python").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", block.code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_c_blocks_compile_and_run_word_for_word(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler: gcc or clang")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3)) + [20, 3, 1]
    model = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=10).fit(X, X[:, 0])
    for block in (b for b in BLOCKS if b.language == "c"):
        learns = "pump_begin" in block.code
        kernsift.export.to_c(model, tmp_path / "pump.h", name="pump", learn=learns)
        given = '#include "pump.h"\n' if learns else ""
        before = "float x[3] = {20.1f, 3.5f, 0.7f}, measured = 20.0f;\n" if learns else ""
        lines = block.code.splitlines()
        heads = [line for line in lines if line.startswith("#include")]
        body = "\n".join(line for line in lines if not line.startswith("#include"))
        source = given + "\n".join(heads) + f"\nint main(void) {{\n{before}{body}\nreturn !(level == level); }}\n"
        (tmp_path / "main.c").write_text(source)
        subprocess.run([compiler, "-std=c99", "main.c", "-o", "main"], cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "main"], check=True)
