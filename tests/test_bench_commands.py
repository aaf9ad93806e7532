"""The benches and the soak have one command line and one kind of page, and the pages name commands that exist."""

from __future__ import annotations

import functools
import importlib
import re
import subprocess
import sys

import pytest
import soak

ROOT = soak.ROOT
BENCH = ROOT / "bench"
COMMANDS = ("bench/gate", "bench/papers", "bench/peers", "tests/soak")
SAME = {"--only", "--quick", "--full", "--data", "--out"}
pytestmark = pytest.mark.skipif(not BENCH.is_dir(), reason="bench is not beside these tests")


@functools.cache
def help_of(command: str) -> str:
    done = subprocess.run([sys.executable, ROOT / command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def options_of(command: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z-]*", help_of(command)))


@pytest.fixture
def page(from_bench):
    return from_bench("measure.page")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_bench_takes_the_same_options(command):
    assert options_of(command) >= SAME
    assert ("--table" in options_of(command)) == (command != "bench/gate")


@pytest.mark.parametrize("command", COMMANDS)
def test_documented_commands_have_the_options_and_tables_they_name(command):
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md", "cpp/EQUATIONS.md", ".ci/run")]
    pages += [*(ROOT / "docs").rglob("*.md"), *BENCH.rglob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    texts = [path.read_text(encoding="utf-8") for path in pages if path.is_file()]
    calls = [call for text in texts for call in re.findall(rf"python (?:-m )?{command}\b([^`\n|]*)", text)]
    assert calls
    words = set(re.findall(r"\w+", help_of(command)))
    for call in calls:
        assert set(re.findall(r"--[a-z][a-z-]*", call)) <= options_of(command), call
        tables = re.search(r"--table ((?:\w+ ?)+)", call)
        assert not tables or set(tables[1].split()) - {"NAME"} <= words, call


def test_a_page_keeps_its_words_and_the_sections_of_other_runs(page, tmp_path):
    path = tmp_path / "new" / "PAGE.md"
    page.write(path, "A title", {"B": "## Second (`B`)\n\nold\n", "A": "## First (`A`)\n"}, ["A", "B"])
    assert path.read_text(encoding="utf-8") == "# A title\n\n## First (`A`)\n\n## Second (`B`)\n\nold\n"
    path.write_text(path.read_text(encoding="utf-8").replace("# A title", "# Another\n\nWords."), encoding="utf-8")
    page.write(path, "A title", page.sections(path) | {"B": page.heading("B", "second") + "\n\nnew\n"}, ["A", "B"])
    assert path.read_text(encoding="utf-8") == "# Another\n\nWords.\n\n## First (`A`)\n\n## Second (`B`)\n\nnew\n"
    assert [file.name for file in path.parent.iterdir()] == ["PAGE.md"]


def test_a_part_of_a_table_does_not_replace_the_page(page, tmp_path):
    """A table of a paper with --only: printed, and written where --out says."""
    before = (BENCH / "papers" / "RESULTS.md").read_bytes()
    command = [sys.executable, BENCH / "papers", "--quick", "--table", "OROLS3", "--only", "nothing"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert "Andelić et al. 2007, table 3" in done.stdout
    assert (BENCH / "papers" / "RESULTS.md").read_bytes() == before
    subprocess.run([*command, "--out", tmp_path / "PAGE.md"], capture_output=True, check=True, timeout=300)
    assert "## Andelić et al. 2007, table 3" in (tmp_path / "PAGE.md").read_text(encoding="utf-8")


def test_a_ratio_is_of_interleaved_rounds_with_fresh_states(page):
    clock = importlib.import_module("measure.clock")
    order = []

    def spend(name, rows):
        order.append(name)
        sum(range(rows))

    states = iter(range(10))
    ratio = clock.ratio(
        lambda state: spend(("ours", state), 400_000),
        lambda state: spend(("rival", state), 40_000),
        fresh=lambda: (next(states), next(states)),
        rounds=3,
    )
    assert order == [("ours", 0), ("rival", 1), ("ours", 2), ("rival", 3), ("ours", 4), ("rival", 5)]
    assert ratio > 2  # ten times the work; other processes disturb the clock of this thread little
