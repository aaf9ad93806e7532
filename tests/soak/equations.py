"""Every line that cpp/EQUATIONS.md maps, made wrong on purpose: a test named in the row must fail.

A line of an equation is a statement of a file in cpp/core with the tag in the comment behind it; comments on lines of
their own and in headers describe and are not counted. The sign of its right-hand side is turned (or it is doubled, where
the sign is squared away), that file alone is compiled again and linked to the other objects, and the row's tests run until
one fails; of a failure of hypothesis the first example is enough.
All of it happens in a copy of the tree; the tree itself is only read.
"""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measure.page import head, row

from . import LEVEL, ROOT, cmake, page, quietly
from .mutants import mutants, statement_at, without_comments

SAMPLE = {"quick": 3, "default": 12}  # rows; full: all
PATIENCE = 600  # seconds after which a test hangs
ROW = re.compile(r"^\|([^|]+)\|[^|]*\|[^|]*\|([^|]*)\|[^|]*\|$", re.M)


class Place(NamedTuple):
    """A tagged statement: its file below cpp/core, its line, and where it begins and ends in the text."""

    file: str
    line: int
    begin: int
    end: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


# --- the map ---------------------------------------------------------------------------------------------------------


def rows(tree: Path) -> dict[str, list[str]]:
    """Tests of each row, as pytest takes them."""
    where: dict[str, list[str]] = {}
    for path in sorted((tree / "tests").rglob("test_*.py")):
        where_it_is = path.relative_to(tree).as_posix()
        for name, node in _defined(ast.parse(path.read_text(encoding="utf-8")), where_it_is):
            where.setdefault(name, []).append(node)
    found: dict[str, list[str]] = {}
    for tag, proofs in ROW.findall((tree / "cpp" / "EQUATIONS.md").read_text(encoding="utf-8")):
        tests = re.findall(r"(?:(test_\w+\.py)::)?(test_\w+)\b(?!\.py)", proofs)
        if tests:
            found[tag.strip()] = [node for file, test in tests for node in where[test] if f"/{file}" in node]
    return found


def _defined(tree: ast.Module | ast.ClassDef, where: str) -> Iterator[tuple[str, str]]:
    """Names of the tests of a file or a class, and how pytest finds each. Rules of a state machine are tests of the class
    that runs the machine."""
    runs = {
        ast.unparse(node.value).removesuffix(".TestCase"): ast.unparse(node.targets[0])
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".TestCase")
    }
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in runs:
            yield from ((name, f"{where}::{runs[node.name]}") for name, _ in _defined(node, ""))
        elif isinstance(node, ast.ClassDef):
            yield from _defined(node, f"{where}::{node.name}")
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, f"{where}::{node.name}"


def places(tree: Path) -> dict[str, list[Place]]:
    """Tagged statements of each tag."""
    found: dict[str, list[Place]] = {}
    core = tree / "cpp" / "core"
    for path in sorted(core.rglob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        blank = without_comments(text)
        offset = 0
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            code, _, comment = line.partition("//")
            tags = re.findall(r"\[([A-Za-z]+ [\w.]+)\]", comment)
            statement = statement_at(blank, offset + len(code) - len(code.lstrip())) if tags and code.strip() else None
            for tag in tags if statement else []:
                found.setdefault(tag, []).append(Place(path.relative_to(core).as_posix(), number, *statement))
            offset += len(line)
    return found


# --- builds ----------------------------------------------------------------------------------------------------------


def _level_of(objects: Path) -> str:
    """The CPU level of a build folder of the package."""
    for folder in objects.glob("CMakeFiles/models_*.dir/cpp"):
        return folder.parent.name.removeprefix("models_").removesuffix(".dir")
    raise SystemExit(f"equations: {objects} holds no objects of single files")


class Copy:
    """A copy of the tree, its core built, and an environment whose Python imports the copy."""

    def __init__(self, folder: Path, objects: Path | None) -> None:
        self.tree, self.build = folder / "tree", folder / "build"
        self._copy_tree()
        self.level = _level_of(objects) if objects else LEVEL
        self._configure()
        self._parts = [f"CMakeFiles/{part}_{self.level}.dir" for part in ("models", "numerics")]
        if objects:
            self._take(objects)
        else:
            print("equations: compiling the core, some minutes of one core")
            quietly(["cmake", "--build", str(self.build), "--parallel", "1"])
        quietly(["cmake", "--build", str(self.build), "--target", "_cpu"])
        self._link_command = self._command(f"isa_{self.level}/{self._library()}")
        for cpu in self.build.glob("_cpu.*"):
            shutil.copy2(cpu, self.tree / "python" / "kernsift")
        self.python = self._environment(folder / "venv")
        self.link()

    def _copy_tree(self) -> None:
        """The files that git tracks or would add, with its times, so that a kept folder compiles only what is new."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        for name in listed.stdout.decode().split("\0"):
            source, target = ROOT / name, self.tree / name
            if name and source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)

    def _configure(self) -> None:
        import pybind11  # of the build; the tests that read the map do without

        definitions = f"Python_EXECUTABLE={sys.executable}", f"pybind11_DIR={pybind11.get_cmake_dir()}"
        cmake(self.tree, self.build, *definitions, level=self.level)

    def _take(self, objects: Path) -> None:
        """Objects of a build folder of this very tree."""
        for folder in (*self._parts, f"CMakeFiles/_core_{self.level}.dir"):
            shutil.copytree(objects / folder, self.build / folder, dirs_exist_ok=True)

    def _library(self) -> str:
        listed = self._output(["ninja", "-C", str(self.build), "-t", "targets", "all"])
        found = re.search(rf"^isa_{self.level}/(_core\.\S+): ", listed, re.M)
        if not found:
            raise SystemExit("equations: the build has no module of the core")
        return found[1]

    def _command(self, target: str) -> str:
        """How ninja makes a target, the last step."""
        return self._output(["ninja", "-C", str(self.build), "-t", "commands", "-s", target]).strip().splitlines()[-1]

    def _environment(self, folder: Path) -> Path:
        """No packages of its own: the copy first, then those in use, whose own hooks for kernsift do not run."""
        venv.create(folder, clear=True, with_pip=False, symlinks=os.name != "nt")
        site = next(folder.glob("lib*/python*/site-packages"))
        packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
        (site / "copy.pth").write_text("\n".join([str(self.tree / "python"), *packages]) + "\n", encoding="utf-8")
        return folder / "bin" / "python"

    def compile(self, place: Place, wrong: str) -> bool:
        """Compile the place's file with another statement there, and link; False where it does not compile."""
        source = self.tree / "cpp" / "core" / place.file
        targets = (f"{part}/cpp/core/{place.file}.o" for part in self._parts)
        target = next(target for target in targets if (self.build / target).exists())
        command, text = self._command(target), source.read_text(encoding="utf-8")
        stamp = source.stat()
        try:
            source.write_text(text[: place.begin] + wrong + text[place.end :], encoding="utf-8")
            done = subprocess.run(
                command.replace(f"-o {target}", "-o mutant.o"), shell=True, cwd=self.build, capture_output=True
            )
        finally:
            source.write_text(text, encoding="utf-8")
            os.utime(source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        if done.returncode == 0:
            self.link(target)
        return done.returncode == 0

    def link(self, instead: str | None = None) -> None:
        """The module for the copy's package, an object replaced by the mutant."""
        command = self._link_command
        if instead:
            command = re.sub(rf"(?<=\s){re.escape(instead)}(?=\s)", "mutant.o", command)
        subprocess.run(command, shell=True, cwd=self.build, check=True, capture_output=True)
        folder = self.tree / "python" / "kernsift" / f"_isa_{self.level}"
        folder.mkdir(exist_ok=True)
        library = self.build / f"isa_{self.level}" / self._library()
        (folder / library.name).unlink(missing_ok=True)
        shutil.copy2(library, folder)

    def test(self, tests: list[str]) -> str | None:
        """The first of the tests that fails, None where all pass."""
        options = ["-q", "-x", "--run-slow", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
        # what hypothesis imports to report a failure may warn, which is no failure of ours
        options += ["--hypothesis-profile", "unshrunk", "-W", "ignore::DeprecationWarning"]
        try:
            done = subprocess.run(
                [self.python, "-m", "pytest", *options, *tests],
                cwd=self.tree,
                env=os.environ | {"KERNSIFT_ISA": self.level, "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return "hangs"
        if done.returncode == 0:
            return None
        if done.returncode < 0:
            return f"the process ends by signal {-done.returncode}"
        failed = re.search(r"^(?:FAILED|ERROR) \S*?::(\S+)", done.stdout, re.M)
        if done.returncode != 1 or not failed:
            raise SystemExit(f"equations: pytest cannot run {' '.join(tests)}\n{done.stdout}{done.stderr}")
        return failed[1]

    @staticmethod
    def _output(command: list[str]) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# --- the run ---------------------------------------------------------------------------------------------------------


def chosen(tree: Path, size: str, only: list[str] | None, commit: str) -> list[str]:
    """Tags to try, in the order of the map. A sample has the rows of one line that come first when tags are ordered by the SHA-256
    of the commit and the tag: each commit has its own, and everybody finds the same."""
    tags, lines = list(rows(tree)), places(tree)
    if only:
        return [tag for tag in tags if any(tag == word or tag.startswith(f"{word} ") for word in only)]
    if size not in SAMPLE:
        return tags
    cheap = [tag for tag in tags if len(lines.get(tag, ())) == 1] if size == "quick" else tags
    drawn = sorted(cheap, key=lambda tag: hashlib.sha256(f"{commit} {tag}".encode()).hexdigest())[: SAMPLE[size]]
    return [tag for tag in tags if tag in drawn]


def run(asked: argparse.Namespace) -> Iterator[list[str]]:
    """One section of the page."""
    commit = Copy._output(["git", "-C", str(ROOT), "rev-parse", "HEAD"]).strip()
    tags = chosen(ROOT, asked.mode, asked.only, commit)
    if not tags:
        raise SystemExit(f"equations: no row has one of the tags {asked.only}")
    with tempfile.TemporaryDirectory() as temporary:
        copy = Copy((asked.build or Path(temporary)).resolve(), asked.objects and asked.objects.resolve())
        tests, lines = rows(copy.tree), places(copy.tree)
        every = list(dict.fromkeys(test for tag in tags for test in tests[tag]))
        if failed := copy.test(every):
            raise SystemExit(f"equations: {failed} fails in a tree without a fault")
        table = []
        for tag in tags:
            for place in lines.get(tag, ()):
                table.append(_try(copy, tag, place, tests[tag]))
                print(table[-1], flush=True)
            if tag not in lines:
                table.append(row((tag, "", "**no statement carries the tag**", "", "")))
        yield _page(tags, len(tags) == len(tests), table, commit)


def _try(copy: Copy, tag: str, place: Place, tests: list[str]) -> str:
    """A line of the table: mutants one after the other until a test fails. The last two kinds only if nothing else compiles."""
    begin, compiled = time.monotonic(), []
    text = (copy.tree / "cpp" / "core" / place.file).read_text(encoding="utf-8")
    failed = None
    for what, wrong in mutants(without_comments(text)[place.begin : place.end]):
        if compiled and (what in compiled or what in ("condition", "left out")):
            continue
        if copy.compile(place, wrong):
            compiled.append(what)
            if failed := copy.test(tests):
                break
    done = ", ".join(compiled) or "**nothing compiles**"
    return row((tag, str(place), done, failed or "**all pass**", f"{time.monotonic() - begin:.0f}"))


def _page(tags: list[str], whole: bool, table: list[str], commit: str) -> list[str]:
    wrong = sum("**" in line for line in table)
    return [
        "## Equations, made wrong",
        "",
        "Each statement that `cpp/EQUATIONS.md` maps with the sign of its right-hand side turned, doubled where tests pass with the",
        "other sign, and the test of its row that fails then. Where all pass, nothing named in the row guards the line.",
        f"{len(tags)} rows{'' if whole else ', a sample,'} of commit {commit[:10]}, {page.today()}: {len(table)} lines, {wrong} not guarded.",
        "",
        *head(["row", "line", "made wrong", "fails", "seconds"]),
        *table,
    ]
