"""Every line that cpp/EQUATIONS.md maps, made wrong on purpose: a test named in the row must fail.

A line of an equation is a statement of a file in cpp/core with the tag in the comment behind it; comments on lines of
their own and in headers describe and are not counted. The sign of its right-hand side is turned (or it is doubled, where
the sign is squared away), that file alone is compiled again and linked to the other objects, and the row's tests run.
All of it happens in a copy of the tree; the tree itself is only read.
"""

# ruff: noqa: E501 - lines of the page
from __future__ import annotations

import ast
import datetime
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LEVEL = "v3" if platform.machine().lower() in ("x86_64", "amd64") else "baseline"
HEADING = "## Equations, made wrong"
SAMPLE = {"quick": 3, "middle": 12}  # rows; full: all
PATIENCE = 600  # seconds after which a test hangs
INDICES = ("i", "row", "last")  # arguments that are no quantity
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
    for path in sorted((tree / "tests").glob("test_*.py")):
        for name, node in _defined(ast.parse(path.read_text(encoding="utf-8")), f"tests/{path.name}"):
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
        blank = _without_comments(text)
        offset = 0
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            code, _, comment = line.partition("//")
            tags = re.findall(r"\[([A-Za-z]+ [\w.]+)\]", comment)
            statement = _statement(blank, offset + len(code) - len(code.lstrip())) if tags and code.strip() else None
            for tag in tags if statement else []:
                found.setdefault(tag, []).append(Place(path.relative_to(core).as_posix(), number, *statement))
            offset += len(line)
    return found


def _without_comments(text: str) -> str:
    """The text with spaces in the place of comments."""
    return re.sub(r"//[^\n]*", lambda match: " " * len(match[0]), text)


def _statement(text: str, at: int) -> tuple[int, int] | None:
    """First and last character of the statement that holds the position, None where a block begins."""
    begin, depth = at, 0
    while begin > 0 and (depth or text[begin - 1] not in ";{}"):
        begin -= 1
        depth += (text[begin] in ")]") - (text[begin] in "([")
    for end, char in _at_depth_0(text, begin):
        if end >= at and char == "{":
            return None
        if char == ";":
            while text[begin].isspace():
                begin += 1
            return begin, end
    return None


def _at_depth_0(text: str, begin: int = 0) -> Iterator[tuple[int, str]]:
    """Positions and characters outside parentheses and brackets."""
    depth = 0
    for i in range(begin, len(text)):
        depth -= text[i] in ")]}"
        if depth <= 0:
            yield i, text[i]
        depth += text[i] in "([{"


# --- mutants ---------------------------------------------------------------------------------------------------------


def mutants(statement: str) -> list[tuple[str, str]]:
    """(what was done, the statement made wrong), the strongest first. Some may not compile."""
    head, body = _split_head(statement)
    if match := re.match(r"return\b", body):
        at, operator = match.end() - 1, " "
        value = body[match.end() :]
        made = _of_value(body[: at + 1] + " ", value)
    elif assignment := _assignment(body):
        at, operator = assignment
        left, value = body[:at], body[at + len(operator) :]
        if operator in ("+=", "-="):
            other = "-=" if operator == "+=" else "+="
            made = [("sign", f"{left}{other}{value}"), ("doubled", f"{left}{operator} 2.0 * ({value.strip()})")]
        else:
            made = _of_value(f"{left}{operator} ", value)
    else:
        made = _of_call(body)
    result = [(what, head + wrong) for what, wrong in made]
    if match := re.match(r"if\s*\(", statement):
        close = _closing(statement, match.end() - 1)
        condition = statement[match.end() : close]
        result.append(("condition", f"if (!({condition})){statement[close + 1 :]}"))
    result.append(("left out", f"{head}(void)0"))
    return result


def _split_head(statement: str) -> tuple[str, str]:
    """`if (...)`, `for (...)`, `else`, `case x:` before a statement, and the statement."""
    at = 0
    while match := re.compile(
        r"\s*(?:(else|case [^:]*(?:::[^:]+)*:(?!:))|(?:if|for|while)\b(?:\s*constexpr)?\s*\()"
    ).match(statement, at):
        at = match.end() if match[1] else _closing(statement, match.end() - 1) + 1
    at += len(statement[at:]) - len(statement[at:].lstrip())
    return statement[:at], statement[at:]


def _closing(text: str, opening: int) -> int:
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError(f"no closing parenthesis in {text!r}")


def _assignment(body: str) -> tuple[int, str] | None:
    """Position and operator of the first assignment outside parentheses."""
    for i, char in _at_depth_0(body):
        if char == "=" and body[i + 1 : i + 2] != "=" and body[i - 1] not in "=<>!":
            return (i - 1, body[i - 1 : i + 1]) if body[i - 1] in "+-*/" else (i, "=")
    return None


def _of_value(before: str, value: str) -> list[tuple[str, str]]:
    """The first of the values, should there be several, with its sign turned and doubled; of a comparison the contrary."""
    cut = next((i for i, char in _at_depth_0(value) if char == ","), len(value))
    value, rest = value[:cut].strip(), value[cut:]
    outside = "".join(char for _, char in _at_depth_0(value))
    if "?" not in outside and re.search(r"\s(?:[<>]=?|==|!=|&&|\|\|)\s|^!", outside):
        return [("contrary", f"{before}!({value}){rest}")]
    return [("sign", f"{before}-({value}){rest}"), ("doubled", f"{before}2.0 * ({value}){rest}")]


def _of_call(body: str) -> list[tuple[str, str]]:
    """A call with its last argument, or else its first, made wrong."""
    if not body.endswith(")"):
        return []
    opening = max(i for i, char in _at_depth_0(body) if char == "(")
    inside = body[opening + 1 : -1]
    cuts = [-1, *(i for i, char in _at_depth_0(inside) if char == ","), len(inside)]
    made = []
    for k in dict.fromkeys([len(cuts) - 2, 0]) if inside.strip() else []:
        first, argument, last = inside[: cuts[k] + 1], inside[cuts[k] + 1 : cuts[k + 1]].strip(), inside[cuts[k + 1] :]
        if argument in INDICES:
            continue
        for what, wrong in (("sign", f"-({argument})"), ("doubled", f"2.0 * ({argument})")):
            made.append((what, f"{body[: opening + 1]}{first} {wrong}{last})"))
    return made


# --- builds ----------------------------------------------------------------------------------------------------------


class Copy:
    """A copy of the tree, its core built, and an environment whose Python imports the copy."""

    def __init__(self, folder: Path, objects: Path | None, say: Any) -> None:
        self.tree, self.build = folder / "tree", folder / "build"
        self._copy_tree()
        self._configure()
        self._module = f"_core_{LEVEL}"
        if objects:
            self._take(objects)
        else:
            say("equations: compiling the core, some minutes of one core")
            self._quiet(["cmake", "--build", str(self.build), "--parallel", "1"])
        self._quiet(["cmake", "--build", str(self.build), "--target", "_cpu"])
        self._link_command = self._command(f"isa_{LEVEL}/{self._library()}")
        for cpu in self.build.glob("_cpu.*"):
            shutil.copy2(cpu, self.tree / "python" / "kernsift")
        self.python = self._environment(folder / "venv")
        self.link()

    def _copy_tree(self) -> None:
        """What git knows or would add, with its times, so that a kept folder compiles only what is new."""
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

        packages = [path for path in sys.path if (Path(path) / "cmeel.prefix").is_dir()]  # Eigen, by pip
        self._quiet(
            [
                *["cmake", "-S", str(self.tree), "-B", str(self.build), "-G", "Ninja", f"-DKERNSIFT_LEVELS={LEVEL}"],
                *[f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"],
                *([f"-DCMAKE_PREFIX_PATH={';'.join(packages)}"] if packages else []),
            ]
        )

    def _take(self, objects: Path) -> None:
        """Objects of a build folder of this very tree."""
        source = objects / "CMakeFiles" / f"{self._module}.dir"
        if not source.is_dir():
            raise SystemExit(f"equations: {objects} holds no objects of the level {LEVEL}")
        shutil.copytree(source, self.build / "CMakeFiles" / source.name, dirs_exist_ok=True)

    def _library(self) -> str:
        listed = self._output(["ninja", "-C", str(self.build), "-t", "targets", "all"])
        found = re.search(rf"^isa_{LEVEL}/(_core\.\S+): ", listed, re.M)
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
        target = f"CMakeFiles/{self._module}.dir/cpp/core/{place.file}.o"
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
        folder = self.tree / "python" / "kernsift" / f"_isa_{LEVEL}"
        folder.mkdir(exist_ok=True)
        library = self.build / f"isa_{LEVEL}" / self._library()
        (folder / library.name).unlink(missing_ok=True)
        shutil.copy2(library, folder)

    def test(self, tests: list[str]) -> str | None:
        """The first of the tests that fails, None where all pass."""
        options = ["-q", "-x", "--run-slow", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
        try:
            done = subprocess.run(
                [self.python, "-m", "pytest", *options, *tests],
                cwd=self.tree,
                env=os.environ | {"KERNSIFT_ISA": LEVEL, "PYTHONDONTWRITEBYTECODE": "1"},
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

    @staticmethod
    def _quiet(command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"equations: {' '.join(command)} failed\n{done.stdout}{done.stderr}")


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


def run(
    size: str, say: Any, only: list[str] | None = None, folder: Path | None = None, objects: Path | None = None
) -> list[str]:
    """One section of the page."""
    commit = Copy._output(["git", "-C", str(ROOT), "rev-parse", "HEAD"]).strip()
    tags = chosen(ROOT, size, only, commit)
    if not tags:
        raise SystemExit(f"equations: no row has one of the tags {only}")
    with tempfile.TemporaryDirectory() as temporary:
        copy = Copy((folder or Path(temporary)).resolve(), objects and objects.resolve(), say)
        tests, lines = rows(copy.tree), places(copy.tree)
        every = list(dict.fromkeys(test for tag in tags for test in tests[tag]))
        if failed := copy.test(every):
            raise SystemExit(f"equations: {failed} fails in a tree without a fault")
        table = []
        for tag in tags:
            for place in lines.get(tag, ()):
                table.append(_try(copy, tag, place, tests[tag]))
                say(table[-1])
            if tag not in lines:
                table.append(f"| {tag} | | **no statement carries the tag** | | |")
                say(table[-1])
        return _page(tags, len(tags) == len(tests), table, commit)


def _try(copy: Copy, tag: str, place: Place, tests: list[str]) -> str:
    """A line of the table: mutants one after the other until a test fails. The last two kinds only if nothing else compiles."""
    begin, compiled = time.monotonic(), []
    text = (copy.tree / "cpp" / "core" / place.file).read_text(encoding="utf-8")
    failed = None
    for what, wrong in mutants(_without_comments(text)[place.begin : place.end]):
        if compiled and (what in compiled or what in ("condition", "left out")):
            continue
        if copy.compile(place, wrong):
            compiled.append(what)
            if failed := copy.test(tests):
                break
    done = ", ".join(compiled) or "**nothing compiles**"
    return f"| {tag} | {place} | {done} | {failed or '**all pass**'} | {time.monotonic() - begin:.0f} |"


def _page(tags: list[str], whole: bool, table: list[str], commit: str) -> list[str]:
    wrong = sum("**" in line for line in table)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return [
        HEADING,
        "",
        "Each statement that `cpp/EQUATIONS.md` maps with the sign of its right-hand side turned, doubled where tests pass with the",
        "other sign, and the test of its row that fails then. Where all pass, nothing named in the row guards the line.",
        f"{len(tags)} rows{'' if whole else ', a sample,'} of commit {commit[:10]}, {today}: {len(table)} lines, {wrong} not guarded.",
        "",
        "| row | line | made wrong | fails | seconds |",
        "|---|---|---|---|---|",
        *table,
    ]


def found_something(lines: list[str]) -> bool:
    """Whether a line is not guarded."""
    return any(line.startswith("|") and "**" in line for line in lines)
