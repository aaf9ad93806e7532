"""The code base under test: the map of equations, the house rules, the version.

The rules are functions that return what is wrong under a root folder, so that they can be shown to fail: on a
small house with one fault of each kind.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import re
import runpy
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import kernsift
import pytest

ROOT = Path(__file__).resolve().parents[2]
needs_sources = pytest.mark.skipif(
    not (ROOT / "cpp" / "core").is_dir(), reason="the C++ sources are not beside these tests"
)

PAPERS = ("JPs", "JP", "OROLS", "EFVS", "ISLS", "Engel", "LSTD", "MATH", "BEYOND")
TAG = re.compile(rf"\[((?:{'|'.join(PAPERS)}) [\w.]+)\]")
LOOKS_LIKE_TAG = re.compile(rf"\[(?:{'|'.join(PAPERS)})\b[^\]\n]*\]")
#: The rooms of cpp/core: a file includes its own room and those before it.
ROOMS = ("base", "simd", "linalg", "kernel", "ridge", "select", "stream", "batch")
LONGEST = 450  # lines: a file much over 400 holds more than one thing
MOST_MEMBERS, MOST_PRIVATE_METHODS = 15, 12  # of a class: one with more is made of parts that have names


def sources(folder: Path, *endings: str) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in endings and p.is_file())


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def names(cell: str) -> list[str]:
    """The entries of a table cell: one or more, separated by commas, semicolons or breaks."""
    return [name.strip(" `") for name in re.split(r"[,;]|<br\s*/?>", cell) if name.strip(" `")]


def table(root: Path) -> dict[str, list[str]]:
    """Rows of the map by tag. Rows are the lines whose first cell is a tag."""
    rows: dict[str, list[str]] = {}
    for line in (root / "cpp" / "EQUATIONS.md").read_text(encoding="utf-8").splitlines():
        row = cells(line) if line.lstrip().startswith("|") else [""]
        tag = row[0].strip("`[]")
        if TAG.fullmatch(f"[{tag}]"):
            assert tag not in rows, f"EQUATIONS.md: two rows for {tag}"
            assert len(row) == 5, f"EQUATIONS.md: the row of {tag} has {len(row)} cells, not 5"
            rows[tag] = row
    return rows


def known_tests(root: Path) -> dict[str, set[str]]:
    """Names of the test functions and C++ test cases of each test file."""
    found = {
        p.name: set(re.findall(r"^\s*(?:async )?def (test_\w+)", p.read_text(encoding="utf-8"), re.M))
        for p in sources(root / "tests", ".py")
    }
    for p in sources(root / "cpp" / "tests", ".cpp", ".hpp"):
        cases = re.findall(r"^\s*TEST\w*\(\s*([^)\n]+)\)", p.read_text(encoding="utf-8"), re.M)
        found[p.name] = {re.sub(r"\W+", "_", case).strip("_") for case in cases}
    return found


def named_after(test: str, tag: str) -> bool:
    """Whether `test` carries `tag`: JP 14 is JP_14, and neither JP_1 nor JP_141 is."""
    word = re.escape(re.sub(r"[ .]", "_", tag))
    return re.search(rf"(?:^|_){word}(?=_(?!\d)|$)", test) is not None


def tag_problems(root: Path) -> list[str]:
    """Tags in the core without a row in the map, and brackets that look like a tag but are none."""
    rows, problems = table(root), []
    for path in sources(root / "cpp" / "core", ".cpp", ".hpp", ".h"):
        text = path.read_text(encoding="utf-8")
        for bracket in LOOKS_LIKE_TAG.findall(text):
            match = TAG.fullmatch(bracket)
            if not match:
                problems.append(f"{path.name}: {bracket} is not of the form [JP 14]")
            elif match[1] not in rows:
                problems.append(f"{path.name}: {bracket} has no row in EQUATIONS.md")
    return problems


def row_problems(root: Path) -> list[str]:
    """Rows of the map whose place or test is not there."""
    problems, tests = [], known_tests(root)
    for tag, (_, identity, places, proofs, _) in table(root).items():
        if not identity:
            problems.append(f"{tag}: no identity")
        if not names(places):
            problems.append(f"{tag}: no place")
        for place in names(places):
            problems += place_problems(root, tag, place)
        known = []
        for proof in names(proofs):
            file, _, test = proof.rpartition("::")
            test = re.sub(r"\W+", "_", test.partition("[")[0]).strip("_")
            where = [Path(file).name] if file else list(tests)
            if any(test in tests.get(name, ()) for name in where):
                known.append(test)
            else:
                problems.append(f"{tag}: no test {proof}")
        if not any(named_after(test, tag) for test in known):
            problems.append(f"{tag}: none of its tests carries its name")
    return problems


def place_problems(root: Path, tag: str, place: str) -> list[str]:
    file, _, function = place.partition("::")
    function = function.rpartition("::")[2].removesuffix("()")
    paths = [p for p in (root / file, root / "cpp" / file, root / "cpp" / "core" / file) if p.is_file()]
    if not paths or not function:
        return [f"{tag}: no such place as {place}"]
    text, problems = paths[0].read_text(encoding="utf-8"), []
    if f"[{tag}]" not in text:
        problems.append(f"{tag}: {file} does not hold [{tag}]")
    if not re.search(rf"\b{re.escape(function)}\b", text):
        problems.append(f"{tag}: {file} does not hold {function}")
    return problems


def house_problems(root: Path) -> list[str]:
    """Files that are too long, and Python in the core."""
    problems = []
    files = sources(root / "cpp", ".cpp", ".hpp", ".h", ".c") + sources(
        root / "python", ".py"
    )  # a stub has a line for each argument
    for path in files:
        text = path.read_text(encoding="utf-8")
        if len(text.splitlines()) > LONGEST:
            problems.append(f"{path.name}: {len(text.splitlines())} lines")
        if "core" in path.relative_to(root).parts and re.search(r'#\s*include\s*[<"](?:Python\.h|pybind11)', text):
            problems.append(f"{path.name}: the core includes Python")
    return problems


def constant_problems(root: Path) -> list[str]:
    """Constants and types of unnamed namespaces that two files of a room have: wheels compile a room at once."""
    problems, places = [], {}
    for path in sources(root / "cpp" / "core", ".cpp"):
        text = path.read_text(encoding="utf-8")
        unnamed = "\n".join(re.findall(r"^namespace \{$(.*?)^\}", text, re.M | re.S))
        for name in re.findall(r"^(?:constexpr .*?|struct |class )(\w+)(?= =|\{| \{|\[| :)", unnamed, re.M):
            first = places.setdefault((path.parent, name), path)
            if first is not path:
                problems.append(f"{path.name}: {name} is in {first.name} too")
    return problems


def include_problems(root: Path) -> list[str]:
    """Files of the core outside a room, includes that break the order of the rooms, and circles of includes."""
    core, problems, graph = root / "cpp" / "core", [], {}
    for path in sources(core, ".cpp", ".hpp", ".h"):
        name, room = path.relative_to(core).as_posix(), path.relative_to(core).parts[0]
        if room not in ROOMS:
            problems.append(f"{name}: not in a room")
            continue
        found = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(encoding="utf-8"), re.M)
        graph[name] = [include.removeprefix("core/") for include in found]
        for include in found:
            other = include.removeprefix("core/").partition("/")[0]
            if not include.startswith("core/") or other not in ROOMS:
                problems.append(f"{name}: includes {include}, which is in no room of the core")
            elif ROOMS.index(other) > ROOMS.index(room):
                problems.append(f"{name}: includes {include}, of a room below its own")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        problems.append(f"a circle of includes: {' -> '.join(error.args[1])}")
    return problems


def innermost_emptied(text: str) -> str:
    """C++ with nothing inside its braces: a class body as a list of declarations."""
    kept, depth = [], 0
    for letter in text:
        depth -= letter == "}"
        if depth == 0:
            kept.append(letter)
        depth += letter == "{"
    return "".join(kept)


def class_bodies(text: str) -> dict[str, tuple[str, bool]]:
    """What stands between the braces of each class and struct, nested ones included; whether it begins as private."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", text, flags=re.M | re.S)
    bodies = {}
    for match in re.finditer(r"\b(?<!enum )(class|struct)\s+(\w+)(?:\s+final)?(?:\s*:[^;{(]*)?\s*\{", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        bodies[match[2]] = (text[match.end() : end - 1], match[1] == "class")
    return bodies


def members_and_private_methods(body: str, private: bool) -> tuple[int, int]:
    members = methods = 0
    body = innermost_emptied(body)
    while (flat := re.sub(r"<[^<>;(){}]*(?:\([^()]*\)[^<>;(){}]*)?>", "", body)) != body:
        body = flat  # template arguments, the innermost first
    # a function ends with its body, anything else with a semicolon
    for statement in re.findall(r"\s*(?:(?:public|protected|private)\s*:|[^;{}]*\([^;{}]*\{\}|[^;]*;)", body):
        statement = re.sub(r"\btemplate\b|\[\[\w+\]\]|\bmutable\b", "", statement).strip(" ;\n")
        if label := re.fullmatch(r"(public|protected|private)\s*:", statement):
            private = label[1] != "public"
        elif re.match(r"(using|typedef|friend|enum|static_assert|static\s+constexpr|struct|class)\b", statement):
            pass
        elif "(" in statement.partition("=")[0]:
            methods += private
        elif statement:
            members += 1 + statement.count(",")
    return members, methods


def class_problems(root: Path) -> list[str]:
    """Classes of the core with too many data members or private methods."""
    problems = []
    for path in sources(root / "cpp" / "core", ".hpp", ".h"):
        for name, (body, private) in class_bodies(path.read_text(encoding="utf-8")).items():
            members, methods = members_and_private_methods(body, private)
            if members > MOST_MEMBERS or methods > MOST_PRIVATE_METHODS:
                problems.append(f"{path.name}: {name} has {members} data members and {methods} private methods")
    return problems


@needs_sources
def test_classes_of_the_core_are_made_of_parts():
    assert class_problems(ROOT) == []


@needs_sources
def test_a_room_of_the_core_includes_itself_and_rooms_above_it():
    assert {p.name for p in (ROOT / "cpp" / "core").iterdir()} == set(ROOMS)
    assert include_problems(ROOT) == []
    assert constant_problems(ROOT) == []


@needs_sources
def test_the_tests_of_the_core_are_in_its_rooms():
    folders = {p.name for p in (ROOT / "cpp" / "tests").iterdir() if p.is_dir()}
    assert folders <= set(ROOMS)


@needs_sources
def test_the_picture_of_the_house_is_drawn_from_the_tree():
    script = ROOT / "docs" / "develop" / "house.py"
    if not script.is_file():
        pytest.skip("docs are not beside these tests")
    house = runpy.run_path(str(script))
    page = script.with_suffix(".md").read_text(encoding="utf-8")
    assert house["redrawn"](page) == page, "run docs/develop/house.py"
    assert tuple(house["CORE"]) == ROOMS
    other = re.sub(r"(│  kernel +)\d+", r"\g<1>99", page)  # and the rule can fail
    assert page != other != house["redrawn"](other) == page


@needs_sources
def test_every_tag_in_the_core_has_a_row():
    assert tag_problems(ROOT) == []


@needs_sources
def test_every_row_of_the_map_has_its_line_and_its_test():
    assert len(table(ROOT)) > 0
    assert row_problems(ROOT) == []


NUMBERED = {"JP": 19, "OROLS": 32, "EFVS": 1, "ISLS": 3}  # printed equations that have a number, by paper


@needs_sources
def test_every_numbered_equation_of_the_papers_has_a_row_or_a_reason():
    rows, _, reasons = (
        (ROOT / "cpp" / "EQUATIONS.md").read_text(encoding="utf-8").partition("## Printed equations without")
    )
    for paper, last in NUMBERED.items():
        found = {int(n) for n in re.findall(rf"(?m)^\| {paper} (\d+) \|", rows)}
        for listed in re.findall(rf"(?m)^\| {paper} ([^|]*)\|", reasons):
            for first, to in re.findall(r"\((\d+)\)(?: - \((\d+)\))?", listed):
                found |= set(range(int(first), int(to or first) + 1))
        assert found >= set(range(1, last + 1)), (paper, set(range(1, last + 1)) - found)


@needs_sources
def test_files_are_short_and_the_core_knows_no_python():
    assert len(sources(ROOT / "cpp" / "core", ".cpp")) > 0
    assert house_problems(ROOT) == []


def test_everything_public_is_documented():
    assert kernsift.__all__
    for name in kernsift.__all__:
        thing = getattr(kernsift, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert (thing.__doc__ or "").strip(), f"{name} has no docstring"


def test_one_version():
    assert kernsift.__version__ == importlib.metadata.version("kernsift")
    pyproject = ROOT / "pyproject.toml"
    if not pyproject.is_file():
        pytest.skip("pyproject.toml is not beside these tests")
    assert kernsift.__version__ == tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {kernsift.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


# ---- the rules can fail

ROW = "| JP 14 | w_b = a + (delta / Delta) g | core/stream/online.cpp::Online::grow | test_JP_14_growth | none |\n"
HEAD = "| tag | identity | file::function | test | erratum |\n|---|---|---|---|---|\n"


@pytest.fixture
def house(tmp_path):
    """A house without fault."""
    for folder in ("cpp/core/base", "cpp/core/stream", "cpp/tests", "python", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "cpp/EQUATIONS.md").write_text(HEAD + ROW)
    (tmp_path / "cpp/core/base/types.hpp").write_text("")
    (tmp_path / "cpp/core/stream/online.hpp").write_text('#include "core/base/types.hpp"\n')
    (tmp_path / "cpp/core/stream/online.cpp").write_text("void Online::grow() {\n  w_b = a;  // [JP 14]\n}\n")
    (tmp_path / "cpp/core/stream/wider.cpp").write_text("namespace {\nconstexpr int kWide = 3;\n}\n")
    (tmp_path / "tests/test_online.py").write_text("def test_JP_14_growth():\n    pass\n")
    return tmp_path


def problems_of(root: Path) -> list[str]:
    checks = (tag_problems, row_problems, house_problems, constant_problems, include_problems, class_problems)
    return [problem for check in checks for problem in check(root)]


def test_a_house_without_fault_passes(house):
    assert problems_of(house) == []


@pytest.mark.parametrize(
    ("file", "before", "after", "complaint"),
    [
        ("cpp/core/stream/online.cpp", "[JP 14]", "[JP 14] [JP 15]", r"\[JP 15\] has no row"),
        ("cpp/core/stream/online.cpp", "[JP 14]", "[JP 14] [JP, 14]", "not of the form"),
        ("cpp/core/stream/online.cpp", "[JP 14]", "", r"does not hold \[JP 14\]"),
        ("cpp/core/stream/online.cpp", "grow", "shrink", "does not hold grow"),
        ("cpp/core/stream/online.cpp", "void", "#include <pybind11/pybind11.h>\nvoid", "includes Python"),
        ("cpp/core/stream/online.cpp", "void", "\n" * LONGEST + "void", "lines"),
        ("cpp/core/stream/online.cpp", "void", "namespace {\nconstexpr double kWide = 2;\n}\nvoid", "kWide is in"),
        ("cpp/core/base/types.hpp", "", '#include "core/stream/online.hpp"\n', "of a room below its own"),
        ("cpp/core/base/types.hpp", "", '#include "core/base/types.hpp"\n', "a circle of includes: base/types.hpp"),
        ("cpp/core/stream/online.hpp", "core/base", "core", "in no room"),
        ("cpp/core/base/types.hpp", "", f"class A {{ int a{', b' * MOST_MEMBERS}; }};\n", "16 data members"),
        ("cpp/core/base/types.hpp", "", f"class A {{{'void f();' * 13}}};\n", "13 private methods"),
        ("cpp/EQUATIONS.md", "core/stream/online.cpp", "core/stream/offline.cpp", "no such place"),
        ("cpp/EQUATIONS.md", "test_JP_14_growth", "test_JP_14_other", "no test"),
        ("cpp/EQUATIONS.md", "w_b = a + (delta / Delta) g", "", "no identity"),
        ("tests/test_online.py", "test_JP_14_growth", "test_growth", "no test"),
    ],
)
def test_a_planted_fault_is_found(house, file, before, after, complaint):
    text = (house / file).read_text()
    assert before in text
    (house / file).write_text(text.replace(before, after))
    assert re.search(complaint, "\n".join(problems_of(house)))


@pytest.mark.parametrize(
    ("test", "tag", "expected"),
    [
        ("test_JP_14", "JP 14", True),
        ("test_JP_14_growth", "JP 14", True),
        ("test_MATH_1_5_grow", "MATH 1.5", True),
        ("test_JP_14_and_JP_16", "JP 16", True),
        ("test_JPs_grow", "JPs grow", True),
        ("test_JP_141", "JP 14", False),
        ("test_JP_14", "JP 1", False),
        ("test_MATH_1_5", "MATH 1", False),
        ("test_JPs_14", "JP 14", False),
        ("test_growth", "JP 14", False),
    ],
)
def test_a_test_is_named_after_its_tag(test, tag, expected):
    assert named_after(test, tag) is expected


def test_members_and_private_methods_are_counted():
    text = """
    template <class T> class Model : public Base<T> {
     public:
      explicit Model(int n) : n_(n), x_{1} {}
      int size() const { return n_; }  // int not_this;
      static constexpr int kMost = 3;
      struct Part { double a = 0, b = 0; std::map<int, std::vector<double>> c; };
     private:
      friend class Other;
      template <class Work> void each(const Work& work) const { for (int i = 0; i < 3; ++i) work(i); }
      void two(std::map<int, int> x, int y);
      int n_, x_ = f(3);
      std::function<void(int, int)> hook_{nullptr};
      std::map<int, int> table_;
      mutable double scales_[3] = {};
    };
    """
    bodies = class_bodies(text)
    assert members_and_private_methods(*bodies["Model"]) == (5, 2)
    assert members_and_private_methods(*bodies["Part"]) == (3, 0)


def test_cpp_cases_count_as_tests(house):
    (house / "cpp/tests/test_parts.cpp").write_text('TEST_CASE("JP 14: growth") {\n}\nTEST(JP_15_prune) {\n}\n')
    assert known_tests(house)["test_parts.cpp"] == {"JP_14_growth", "JP_15_prune"}
