"""``python -m kernsift`` as a user runs it, and the commands the README promises."""

from __future__ import annotations

import importlib.util
import math
import re
import subprocess
import sys
from pathlib import Path

import kernsift
import numpy as np
import pytest
from kernsift import __main__ as cli
from kernsift.cli import demo as _demo

ROOT = Path(__file__).resolve().parents[2]
has_matplotlib = importlib.util.find_spec("matplotlib") is not None


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernsift", *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )


# ---- as processes


def test_info_tells_versions_and_level(tmp_path):
    done = run("info", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    facts = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if len(line.split()) > 1)
    assert facts["kernsift"] == kernsift.__version__
    assert facts["numpy"] == np.__version__
    for key, value in kernsift.build_config().items():
        assert re.search(rf"^{re.escape(key)}\b", done.stdout, re.M), f"{key} is missing"
        if isinstance(value, str):
            assert value in done.stdout


def test_demo_prints_the_table_and_leaves_nothing(tmp_path):
    done = run("demo", "--rows", "1000", "--no-plot", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\r" not in done.stdout  # no progress bar where nobody looks
    for name in _demo.CONTENDERS:
        row = next(line for line in done.stdout.splitlines() if line.startswith(name))
        numbers = [float(word) for word in row.removeprefix(name).split()]
        assert len(numbers) == 5
        assert all(math.isfinite(number) and number > 0 for number in numbers)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not has_matplotlib, reason="matplotlib is not installed")
def test_demo_saves_the_plot_and_names_it(tmp_path):
    done = run("demo", "--rows", "1000", "--plot", "here.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "here.png" in done.stdout
    assert (tmp_path / "here.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "required"),
        (("demo", "--rows", "10"), "--rows is 10"),
        (("demo", "--seed", "-1"), "--seed is -1"),
        (("demo", "--rows", "many"), "invalid int"),
        (("demo", "--no-plot", "--plot", "x.png"), "not allowed"),
    ],
)
def test_wrong_use_is_exit_code_2(tmp_path, arguments, says):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


# ---- its parts


def test_a_plot_that_cannot_be_is_refused_before_the_run(tmp_path, monkeypatch, capsys):
    def no_run(*_):
        raise AssertionError("the demo ran")

    monkeypatch.setattr(_demo, "run_demo", no_run)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert cli.main(["demo", "--plot", str(tmp_path / "nowhere" / "x.png")]) == 1
    assert "no folder" in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli.main(["demo", "--plot", str(tmp_path / "x.png")]) == 1
    assert "kernsift[plot]" in capsys.readouterr().err


def test_without_matplotlib_the_table_still_comes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(_demo, "run_demo", lambda rows, seed: made_up_runs())
    assert cli.main(["demo"]) == 0
    assert "No plot" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_stopping_is_exit_code_130(monkeypatch, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo, "run_demo", stopped)
    assert cli.main(["demo", "--no-plot"]) == 130


def made_up_runs(n: int = 1000) -> list[_demo.Run]:
    error = np.concatenate([np.full(n // 2, 0.25), np.full(n // 2, -0.75)])
    return [_demo.Run(name, {"gamma": 0.5}, error, [17], seconds=2.0) for name in _demo.CONTENDERS]


def test_the_table_reports_what_was_measured():
    row = next(line for line in _demo.report(made_up_runs()).splitlines() if line.startswith("kernsift"))
    assert row.split()[-5:] == ["0.2500", "0.7500", "0.7500", "17", "500"]


def test_the_series_changes_half_way_and_follows_its_seed():
    first, again, other = (_demo.series(2000, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first[1000:].std() > 1.4 * first[:1000].std()  # 1.7: the higher gain widens the attractor


def test_every_block_is_predicted_before_it_is_learnt():
    seen: list[tuple[str, float]] = []

    class Spy:
        def predict(self, X):
            seen.append(("predict", X[0, 0]))
            return np.zeros(len(X))

        def learn(self, X, y):
            seen.append(("learn", X[0, 0]))

        def size(self):
            return 1

    X, y = np.arange(130.0)[:, None], np.ones(130)
    ticks: list[int] = []
    done = _demo.race("spy", Spy(), {}, X, y, ticks.append)
    assert seen == [("learn", 0), ("predict", 50), ("learn", 50), ("predict", 100), ("learn", 100)]
    assert ticks == [50, 50, 30]
    assert np.isnan(done.error[:50]).all()
    assert np.array_equal(done.error[50:], -np.ones(80))


def test_the_plain_bar_counts_to_the_end(capsys):
    advance = _demo._plain_bar(200)
    for _ in range(4):
        advance("learner", 50)
    shown = capsys.readouterr().out.split("\r")
    assert [part[-5:].strip() for part in shown[1:]] == ["25 %", "50 %", "75 %", "100 %"]


# ---- the README

needs_repository = pytest.mark.skipif(not (ROOT / ".ci" / "run").is_file(), reason=".ci/run is not beside these tests")


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("python3 -m venv")]


@needs_repository
def test_the_readme_holds_two_commands():
    demo, test = readme_commands()
    assert demo.endswith("-m kernsift demo")
    assert test.endswith("-m pytest")


@needs_repository
def test_ci_runs_the_readmes_test_command():
    printed = subprocess.run(
        ["bash", str(ROOT / ".ci" / "run"), "--print-test-command"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == readme_commands()[1] + "\n"


@needs_repository
def test_the_readmes_examples_run(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for example in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(example, names)
    score = float(re.search(r"R2 (\S+) with \d+ kernels", capsys.readouterr().out)[1])
    assert 0.8 < score < 1.0  # noise of variance 1 under a signal of variance 24 leaves 0.96 at best
    assert np.square(names["result"].error[-1000:]).mean() < 2.5  # noise of variance 1, signal of 24
    assert np.isfinite(names["mean"])
