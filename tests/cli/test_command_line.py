"""``fit``, ``predict`` and ``stream`` as processes: what users type, what they get, exit codes."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import kernsift
import numpy as np
import pytest
from kernsift import datasets
from kernsift.__main__ import main


class Done(NamedTuple):
    stdout: str
    stderr: str


def run(*arguments, text=None, code=0):
    """What the command prints, in this process: starting another takes a second."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.StringIO(text))
        try:
            answered = main([str(a) for a in arguments])
        except SystemExit as stopped:  # argparse
            answered = stopped.code
    assert answered == code, err.getvalue() + out.getvalue()
    return Done(out.getvalue(), err.getvalue())


def run_process(*arguments, text=None, code=0):
    """The same as users type it."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "kernsift", *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return Done(done.stdout, done.stderr)


def test_as_processes(table, tmp_path):
    out = tmp_path / "m.npz"
    assert "kernels" in run_process("fit", table, "--target", "y", "--out", out).stdout
    assert run_process("predict", out, table).stdout == run("predict", out, table).stdout
    assert "no column 'z'" in run_process("fit", table, "--target", "z", "--out", out, code=1).stderr
    assert "usage" in run_process("fit", code=2).stderr
    text = lines()
    assert run_process("stream", "--target", "y", text=text).stdout == run("stream", "--target", "y", text=text).stdout


def data(n=200):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=n), 1000 * rng.normal(size=n)]).round(4)
    return X, (np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] / 1000).round(5)


def lines(n=200, labels=None, header="a,b,y"):
    X, y = data(n)
    y = y if labels is None else np.where(y > 0, *labels)
    return "\n".join([header, *(f"{a},{b},{t}" for (a, b), t in zip(X.tolist(), y.tolist(), strict=True))]) + "\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(lines())
    return path


def column(text, name="prediction"):
    return [row[name] for row in csv.DictReader(text.splitlines())]


@pytest.mark.parametrize("model", ["online", "krls", "subset", "orols", "isls", "lssvm"])
def test_fit_and_predict_regression(model, table, tmp_path):
    out = tmp_path / "m.npz"
    more = [] if model == "krls" else ["--alpha", "0.01"]
    done = run("fit", table, "--target", "y", "--model", model, "--out", out, *more)
    facts = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    held = int(next(key for key in facts if key.startswith("R2 on") and "held out" in key).split()[2])
    assert int(facts["rows learned"]) + held == 200
    assert float(next(v for k, v in facts.items() if k.startswith("R2 on") and "held out" in k)) > 0.9
    predicted = np.array(column(run("predict", out, table).stdout), float)
    np.testing.assert_array_equal(predicted, [float(v) for v in kernsift_predict(out)])
    assert np.corrcoef(predicted, data()[1])[0, 1] > 0.97
    if model == "krls":
        return  # no ridge, no prior, no spread
    run("predict", out, table, "--out", tmp_path / "p.csv", "--std")
    spread = column((tmp_path / "p.csv").read_text(), "std")
    assert len(spread) == 200
    assert min(map(float, spread)) > 0


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def kernsift_predict(path):
    model = kernsift.load(path)
    model.__dict__.pop("feature_names_in_")
    return model.predict(data()[0]).tolist()


def test_fit_and_predict_classes(tmp_path):
    table, out = tmp_path / "data.csv", tmp_path / "m.npz"
    table.write_text(lines(labels=("up", "down")))
    for model in ("online", "subset", "orols", "isls", "lssvm"):
        done = run("fit", table, "--target", "y", "--model", model, "--out", out, "--quiet")
        assert done.stdout == ""
        answer = run("predict", out, table, "--proba").stdout
        truth = np.where(data()[1] > 0, "up", "down")
        assert np.mean(np.array(column(answer)) == truth) > 0.95
        total = np.array(column(answer, "p(up)"), float) + np.array(column(answer, "p(down)"), float)
        np.testing.assert_allclose(total, 1.0)
    table.write_text(lines(labels=(1, 0)))
    run("fit", table, "--target", "y", "--classes", "0,1", "--out", out)
    assert set(column(run("predict", out, table).stdout)) == {"0", "1"}


def test_columns_are_found_by_name(table, tmp_path):
    out, other = tmp_path / "m.npz", tmp_path / "other.csv"
    run("fit", table, "--target", "y", "--out", out)
    X, _ = data()
    other.write_text("\n".join(["extra,b,a", *(f"x,{b},{a}" for a, b in X.tolist())]))
    assert run("predict", out, other).stdout == run("predict", out, table).stdout


def test_parquet(table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    arrow = pytest.importorskip("pyarrow.csv", reason="needs pyarrow")
    path = tmp_path / "data.parquet"
    parquet.write_table(arrow.read_csv(table), path)
    run("fit", path, "--target", "y", "--out", tmp_path / "a.npz", "--quiet", "--model", "subset")
    run("fit", table, "--target", "y", "--out", tmp_path / "b.npz", "--quiet", "--model", "subset")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_settings_reach_the_estimator(table, tmp_path):
    out = tmp_path / "m.npz"
    run("fit", table, "--target", "y", "--model", "online", "--out", out, "--max-basis", "7",
        "--gamma", "0.25", "--set", "kernel=matern32", "--set", "novelty_tol=1e-4", "--test", "0")  # fmt: skip
    model = kernsift.load(out)
    assert (model.max_basis, model.gamma, model.kernel, model.novelty_tol) == (7, 0.25, "matern32", 1e-4)
    assert model.n_samples_seen_ == 200
    run("fit", table, "--target", "y", "--out", out, "--test", "0", "--model", "subset")
    X, _ = data()
    # "standard": as if every feature had variance one
    np.testing.assert_allclose(kernsift.load(out).gamma_, 1 / (2 * X.var(axis=0)))


@pytest.mark.parametrize("model", ["online", "krls"])
@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_widths_of_a_fit_are_those_of_all_its_rows(model, gamma, tmp_path):
    """Not those of the first row, which has no scale."""
    table, out = tmp_path / "data.csv", tmp_path / "m.npz"
    X = np.random.default_rng(0).uniform(-30, 30, (300, 2)).round(4)
    table.write_text("a,b,y\n" + "".join(f"{a},{b},{np.sin(a / 9):.4f}\n" for a, b in X.tolist()))
    for options in (["--gamma", gamma], ["--set", f"gamma={gamma}"]):
        run("fit", table, "--target", "y", "--model", model, "--out", out, "--test", "0", *options)
        expected = kernsift.OnlineLSSVMRegressor(gamma=gamma, random_state=0).fit(X, X[:, 0]).gamma_
        np.testing.assert_allclose(kernsift.load(out).gamma_, expected, rtol=1e-12)
        assert expected[0] < 0.01


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "z"], "no column 'z': it has a, b, y"),
        (["--target", "y", "--features", "a,q"], "'q'"),
        (["--target", "y", "--features", "a,y"], "'y'"),
        (["--target", "y", "--alpha", "-1"], "alpha"),
        (["--target", "y", "--set", "nonsense=1"], "'nonsense', no parameter"),
        (["--target", "y", "--model", "subset", "--set", "gama=1"], "no parameter 'gama' (did you mean 'gamma'?)"),
        (["--target", "y", "--set", "kernel=poly"], "did you mean 'polynomial'?"),
        (["--target", "y", "--set", "nonsense"], "NAME=VALUE"),
        (["--target", "y", "--test", "1"], "--test"),
        (["--target", "y", "--model", "krls", "--classes", "a,b"], "no classifier"),
        (["--target", "y", "--gamma", "wide"], "gamma"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(arguments, said, table, tmp_path):
    done = run("fit", table, "--out", tmp_path / "m.npz", *arguments, code=1)
    assert said in done.stderr
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,y\n1,2,3\n1,2\n", "line 3"),
        ("1,2,3\n1,2,3\n", "must name the columns"),
        ("a,a,y\n1,2,3\n", "twice"),
        ("a,b,y\n", "no rows"),
        ("", "is empty"),
        ("a,b,y\n1,red,3\n2,blue,4\n", "column 'b'"),
        ("a,b,y\n1,,3\n2,1,4\n", "column 'b' of"),
        ("a,b,y\n1,1,\n2,1,4\n", "target 'y' is empty"),
    ],
)
def test_bad_tables_are_named(text, said, tmp_path):
    (tmp_path / "data.csv").write_text(text)
    out = tmp_path / "m.npz"
    done = run("fit", tmp_path / "data.csv", "--target", "y", "--out", out, "--model", "subset", code=1)
    assert said in done.stderr


def test_other_exit_codes(table, tmp_path):
    run("fit", tmp_path / "nothing.csv", "--target", "y", "--out", tmp_path / "m.npz", code=1)
    assert "no folder" in run("fit", table, "--target", "y", "--out", tmp_path / "no" / "m.npz", code=1).stderr
    assert "not a model" in run("predict", table, table, code=1).stderr
    run("fit", table, code=2)
    run("predict", table, table, "--std", "--proba", code=2)
    run("fit", table, "--target", "y", "--out", tmp_path / "r.npz", "--quiet")
    assert "has no classes" in run("predict", tmp_path / "r.npz", table, "--proba", code=1).stderr
    (tmp_path / "bad.parquet").write_text("no")
    assert run("fit", tmp_path / "bad.parquet", "--target", "y", "--out", tmp_path / "m.npz", code=1).stderr


HOUSES = ["area", "year of, say, construction", "storey", "lift", "place"]


@pytest.fixture
def houses(tmp_path):
    """A table with texts, empty cells, and names with commas and quotes."""
    X, y = datasets.houses(300, random_state=0)
    path = tmp_path / "houses.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        write.writerow([*HOUSES, 'the "price"'])
        for row, price in zip(X.tolist(), y.tolist(), strict=True):
            write.writerow(["" if value != value else value for value in row] + [price])
    return path


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_default_is_the_front_door_and_takes_texts_and_empty_cells(houses, tmp_path):
    out = tmp_path / "m.npz"
    done = run("fit", houses, "--target", 'the "price"', "--out", out, "--set", "kernel=rbf", "--test", "0.2")
    assert "KernelRegressor, saved as" in done.stdout
    held = next(line for line in done.stdout.splitlines() if line.startswith("R2 on") and "held out" in line)
    assert float(held.split()[-1]) > 0.8
    model = kernsift.load(out)
    assert model.feature_names_in_.tolist() == HOUSES
    assert [column.kind for column in model.columns_.columns] == ["number"] * 3 + ["category"] * 2
    X, _ = datasets.houses(300, random_state=0)
    X[:, 3] = [str(value) for value in X[:, 3]]
    found = list(csv.reader(io.StringIO(run("predict", out, houses, "--interval", "0.9").stdout)))
    expected = np.column_stack([model.predict(X), *model.predict_interval(X, 0.9)])
    np.testing.assert_array_equal(np.array(found[1:], dtype=float), expected)
    other = tmp_path / "one.csv"  # columns of texts in which all cells are numbers, or in another order
    other.write_text('place,lift,storey,"year of, say, construction",area\n7,,2,1990,100\nhill,True,2,,90\n')
    assert len(column(run("predict", out, other).stdout)) == 2
    other.write_text('place,lift,storey,"year of, say, construction",area\nhill,True,top,1990,100\n')
    said = run("predict", out, other, code=1).stderr
    assert "column 'storey'" in said
    assert "'top'" in said
    assert "did you mean 'area'" in run("fit", houses, "--target", "arae", "--out", out, code=1).stderr
    quoted = '"year of, say, construction",place'
    run("fit", houses, "--target", 'the "price"', "--out", out, "--features", quoted, "--set", "kernel=rbf")
    assert kernsift.load(out).feature_names_in_.tolist() == ["year of, say, construction", "place"]


def test_classes_of_the_front_door(houses, tmp_path):
    out = tmp_path / "m.npz"
    done = run("fit", houses, "--target", "place", "--out", out, "--set", "kernel=rbf", "--set", "max_basis=40")
    assert "KernelClassifier" in done.stdout
    found = list(csv.DictReader(io.StringIO(run("predict", out, houses, "--proba").stdout)))
    assert list(found[0]) == ["prediction", "p(harbour)", "p(hill)", "p(mill)", "p(plain)"]
    sets = list(csv.DictReader(io.StringIO(run("predict", out, houses, "--interval", "0.9").stdout)))
    assert set(sets[0]) == {"prediction", "in(harbour)", "in(hill)", "in(mill)", "in(plain)"}


def test_exit_codes_are_documented():
    """0 and 1 are tested above, 2 by `test_other_exit_codes`, 130 and 143 where streams are stopped."""
    assert all(f" {code}" in run("--help").stdout for code in (0, 1, 2, 130, 143))


# --- stream


def test_stream_predicts_before_it_learns(tmp_path):
    out = tmp_path / "m.npz"
    done = run("stream", "--target", "y", "--out", out, "--warm-up", "20", text=lines())
    answers = done.stdout.split("\n")[:-1]
    X, y = data()
    assert answers[:20] == [""] * 20
    model = kernsift.OnlineLSSVMRegressor(gamma=1 / (2 * X[:20].var(axis=0)), random_state=0)
    model.partial_fit(X[:20], y[:20])
    # the same rows in one block: only the last bits differ
    expected = model.prequential(X[20:], y[20:]).y_pred
    np.testing.assert_allclose(np.array(answers[20:], float), expected, rtol=0, atol=1e-11)
    assert "RMSE before learning" in done.stderr
    assert kernsift.load(out).n_samples_seen_ == 200


def test_rows_without_target_are_predicted_only(tmp_path):
    out = tmp_path / "m.npz"
    text = lines() + "0.1,2.0,\n0.3,-500,\n"
    answers = run("stream", "--target", "y", "--out", out, text=text).stdout.split("\n")[:-1]
    model = kernsift.load(out)
    assert model.n_samples_seen_ == 200
    # the first row that is read after an update is predicted by its coordinates, the next by coefficients
    np.testing.assert_allclose(float(answers[-1]), model.predict_one(np.array([0.3, -500.0])), rtol=1e-12)


def test_stream_of_classes(tmp_path):
    done = run("stream", "--target", "y", "--classes", "up,down", text=lines(labels=("up", "down")))
    truth = np.where(data()[1] > 0, "up", "down")
    answers = np.array(done.stdout.split("\n")[:-1])
    assert np.mean(answers[50:] == truth[50:]) > 0.85
    assert "accuracy before learning" in done.stderr


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_intervals_and_sets_of_predict(table, tmp_path):
    out = tmp_path / "m.npz"
    run("fit", table, "--target", "y", "--out", out, "--quiet", "--model", "subset")
    found = list(csv.reader(io.StringIO(run("predict", out, table, "--interval", "0.9").stdout)))
    assert found[0] == ["prediction", "lower", "upper"]
    model, (X, _) = kernsift.load(out), data()
    lower, upper = model.predict_interval(X, 0.9)
    expected = np.column_stack([model.predict(X), lower, upper])
    np.testing.assert_array_equal(np.array(found[1:], dtype=float), expected)
    assert "coverage=1.5" in run("predict", out, table, "--interval", "1.5", code=1).stderr
    table.write_text(lines(labels=("up", "down")))
    run("fit", table, "--target", "y", "--out", out, "--quiet", "--model", "subset")
    found = list(csv.reader(io.StringIO(run("predict", out, table, "--interval", "0.9").stdout)))
    assert found[0] == ["prediction", "in(down)", "in(up)"]
    sets = kernsift.load(out).predict_set(X, 0.9)
    np.testing.assert_array_equal(np.array([line[1:] for line in found[1:]]).astype(int), sets)


def test_a_stream_writes_a_page_about_itself(tmp_path):
    page = tmp_path / "page.html"
    found = run("stream", "--target", "y", "--interval", "0.9", "--dashboard", page, "--quiet", text=lines())
    text = page.read_text(encoding="utf-8")
    assert f"<b>{sum(map(bool, found.stdout.splitlines()))}</b>rows" in text
    assert "ended" in text
    missing = tmp_path / "nowhere" / "page.html"
    assert "no folder" in run("stream", "--target", "y", "--dashboard", missing, text=lines(), code=1).stderr


def test_intervals_and_sets_of_a_stream():
    found = run("stream", "--target", "y", "--interval", "0.9", "--quiet", text=lines()).stdout.splitlines()
    alone = run("stream", "--target", "y", "--quiet", text=lines()).stdout.splitlines()
    assert found[:50] == [""] * 50
    parts = [line.split(",") for line in found[50:]]
    assert [part[0] for part in parts] == alone[50:]
    mean, lower, upper = np.array(parts, dtype=float).T
    np.testing.assert_allclose((lower + upper) / 2, mean, atol=1e-9)
    y = data()[1][50:]
    inside = (lower <= y) & (y <= upper)
    assert abs(inside.mean() - 0.9) < 4 * np.sqrt(0.9 * 0.1 / len(y))
    asked = ("stream", "--target", "y", "--classes", "up,down", "--interval", "0.9", "--quiet")
    labelled = run(*asked, text=lines(labels=("up", "down"))).stdout.splitlines()[50:]
    for line in labelled:
        label, *others = line.split(",")
        assert label in others
        assert set(others) <= {"up", "down"}
    assert "coverage=0" in run("stream", "--target", "y", "--interval", "0", text=lines(), code=1).stderr


def test_a_stream_resumes_where_it_stopped(tmp_path):
    whole, parts = tmp_path / "whole.npz", tmp_path / "parts.npz"
    text = lines()
    expected = run("stream", "--target", "y", "--out", whole, text=text).stdout.split("\n")
    first = run("stream", "--target", "y", "--out", parts, "--resume", text="\n".join(text.split("\n")[:121]) + "\n")
    second = run("stream", "--target", "y", "--out", parts, "--resume", text=text)
    assert (first.stdout + second.stdout).split("\n") == expected
    assert parts.read_bytes() == whole.read_bytes()


def test_columns_and_classes_with_a_comma_in_their_name(tmp_path):
    """The names of a saved stream were cut at the comma, and it could not be resumed."""
    text = lines(labels=('"up, or so"', "down"), header='"a,b",c,y')
    out, table = tmp_path / "m.npz", tmp_path / "data.csv"
    stream = ("stream", "--target", "y", "--out", out, "--classes", '"up, or so",down', "--resume")
    run(*stream, text="\n".join(text.split("\n")[:121]) + "\n")
    assert kernsift.load(out).feature_names_in_.tolist() == ["a,b", "c"]
    run(*stream, text=text)
    assert kernsift.load(out).n_samples_seen_ == 200
    assert kernsift.load(out).classes_.tolist() == ["down", "up, or so"]
    table.write_text(text)
    run("fit", table, "--target", "y", "--out", out, "--features", '"a,b"')
    assert kernsift.load(out).feature_names_in_.tolist() == ["a,b"]
    run("predict", out, table)
    assert "'a'" in run("fit", table, "--target", "y", "--out", out, "--features", "a,b", code=1).stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
def test_only_a_regular_file_is_replaced(table, tmp_path):
    pipe, out = tmp_path / "pipe", tmp_path / "m.npz"
    os.mkfifo(pipe)
    run("fit", table, "--target", "y", "--out", out)
    for path, kind in ((pipe, "a pipe"), ("/dev/null", "a device"), (tmp_path, "a folder")):
        before = os.stat(path)
        for command in (["fit", table, "--target", "y"], ["predict", out, table], ["stream", "--target", "y"]):
            done = run(*command, "--out", path, text=lines(), code=1)
            assert f"is {kind}" in done.stderr
            assert done.stdout == ""  # found out before the work
        assert os.stat(path) == before


def test_a_bad_row_stops_the_stream_and_keeps_what_was_learned(tmp_path):
    out = tmp_path / "m.npz"
    for bad, said in (("1,red,2", "row 201"), ("1,2,lots", "'lots' is no finite number"), ("1,2", "line 202")):
        done = run("stream", "--target", "y", "--out", out, text=lines() + bad + "\n", code=1)
        assert said in done.stderr
        assert kernsift.load(out).n_samples_seen_ == 200
    run("stream", "--target", "y", "--resume", text=lines(), code=1)
    run("stream", "--target", "y", "--every", "0", text=lines(), code=1)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_stream_that_is_stopped_leaves_its_model(number, code, tmp_path):
    out = tmp_path / "m.npz"
    text = lines(1000).split("\n")
    command = [sys.executable, "-m", "kernsift", "stream", "--target", "y", "--out", str(out), "--every", "100"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as p:
        p.stdin.write("\n".join(text[:551]) + "\n")
        p.stdin.flush()
        answers = [p.stdout.readline() for _ in range(550)]
        time.sleep(0.2)
        p.send_signal(number)
        p.stdin.close()
        p.wait(20)
        assert "Traceback" not in p.stderr.read()
    assert p.returncode == code
    assert all(answers[50:])
    seen = kernsift.load(out).n_samples_seen_
    assert seen == (500 if number == signal.SIGKILL else 550)
    run("stream", "--target", "y", "--out", out, "--resume", text=lines(1000))
    run("stream", "--target", "y", "--out", tmp_path / "whole.npz", text=lines(1000))
    assert out.read_bytes() == (tmp_path / "whole.npz").read_bytes()


@pytest.mark.parametrize(("word", "character"), [(";", ";"), ("tab", "\t"), ("|", "|")])
def test_another_delimiter_gives_the_same_model(tmp_path, word, character):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    lines = [["left", '"a, b"' if character != "," else "b", "y"]] + [
        [f"{v!r}" for v in (*x, x[0])] for x in X.tolist()
    ]
    for name, between in (("comma.csv", ","), ("other.csv", character)):
        (tmp_path / name).write_text("\n".join(between.join(line) for line in lines) + "\n")
    fit = ("--target", "y", "--quiet", "--model", "subset", "--out")
    run("fit", tmp_path / "comma.csv", *fit, tmp_path / "one.npz")
    run("fit", tmp_path / "other.csv", *fit, tmp_path / "two.npz", "--delimiter", word)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    one = run("predict", tmp_path / "one.npz", tmp_path / "comma.csv").stdout
    assert run("predict", tmp_path / "two.npz", tmp_path / "other.csv", "--delimiter", word).stdout == one
    stream = run("stream", "--target", "y", text=(tmp_path / "comma.csv").read_text()).stdout
    other = (tmp_path / "other.csv").read_text()
    assert run("stream", "--target", "y", "--delimiter", word, text=other).stdout == stream
    refused = run("fit", "x.csv", "--target", "y", "--out", "m", "--delimiter", "ab", code=2).stderr
    assert "'ab' is not one character" in refused


def test_the_version_and_the_script():
    assert run("--version").stdout.strip() == f"kernsift {kernsift.__version__}"
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"kernsift": "kernsift.__main__:main"}
