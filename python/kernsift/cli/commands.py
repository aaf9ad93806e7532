"""``python -m kernsift fit``, ``predict`` and ``stream``: thin commands over the estimators."""

from __future__ import annotations

import argparse
import csv
import inspect
import io
import os
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

import kernsift

from ..base.left_out import check_coverage
from ..base.progress import progress
from ..io.atomic_write import check_regular, whole_file
from ..table.front import Front
from . import table as _table
from .models import MODELS, STREAMS, CommandError, classes_of, feature_names, make_model, print_facts
from .stream import Stream

#: Rows between two steps of the bar.
BLOCK = 1000


def add_commands(commands: Any) -> None:
    """Describe the three commands to argparse."""
    fit = commands.add_parser(
        "fit",
        help="fit a model to a CSV or Parquet table",
        description="Fit a model to a table whose first line names the columns, and save it.",
    )
    fit.add_argument("table", type=Path)
    fit.add_argument("--out", type=Path, required=True, metavar="MODEL", help="file for kernsift.load")
    fit.add_argument(
        "--model",
        choices=MODELS,
        default="table",
        help="default %(default)s: it chooses kernel, widths, size and ridge, and takes texts and empty cells",
    )
    fit.add_argument("--test", type=float, default=0.1, metavar="PART", help="held out for the error (default 0.1)")
    _describe_model(fit)
    predict = commands.add_parser("predict", help="predict the rows of a table with a saved model")
    predict.add_argument("model", type=Path)
    predict.add_argument("table", type=Path)
    predict.add_argument("--out", type=Path, metavar="CSV", help="default: standard output")
    _describe_table(predict)
    how = predict.add_mutually_exclusive_group()
    how.add_argument("--std", action="store_true", help="also the standard deviation of a new observation")
    how.add_argument("--proba", action="store_true", help="also the probability of each class")
    how.add_argument(
        "--interval",
        type=float,
        metavar="COVERAGE",
        help="also an interval that contains a new observation with this probability, such as 0.9; of classes, which "
        "ones a row may have",
    )
    stream = commands.add_parser(
        "stream",
        help="rows on standard input: predict each, then learn it",
        description="Read CSV rows on standard input; print for each a prediction made before the row is learned. "
        "A row with an empty target is predicted only.",
    )
    stream.add_argument("--out", type=Path, metavar="MODEL", help="file for the model, at the end and every N rows")
    stream.add_argument("--every", type=int, default=1000, metavar="N", help="rows between checkpoints (default 1000)")
    stream.add_argument(
        "--resume", action="store_true", help="go on from --out if it is there, skipping the rows it has learned"
    )
    stream.add_argument(
        "--warm-up", type=int, default=50, metavar="N", help="rows that set the widths, not predicted (default 50)"
    )
    stream.add_argument(
        "--interval",
        type=float,
        metavar="COVERAGE",
        help="print the prediction and the lower and upper end of an interval that contains this part of the targets, "
        "such as 0.9, with commas between; of classes, the label and all labels the row may have",
    )
    stream.add_argument(
        "--dashboard",
        type=Path,
        metavar="PAGE",
        help="HTML file that shows the running error, the last rows, kernels, memories and drift; written every few "
        "seconds, and loaded again by the browser that shows it",
    )
    stream.add_argument("--model", choices=STREAMS, default="online", help="default %(default)s")
    _describe_model(stream)


def _describe_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--delimiter", type=_delimiter, default=",", metavar="CHAR", help='between cells of CSV, such as ";" or tab'
    )


def _delimiter(text: str) -> str:
    """A character, or the word for one that is hard to type."""
    text = {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character: give one such as ';', or tab or space")
    return text


def _describe_model(parser: argparse.ArgumentParser) -> None:
    _describe_table(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN")
    parser.add_argument("--features", metavar="A,B,...", help="default: all other columns; quotes as in CSV")
    parser.add_argument("--classes", metavar="A,B,...", help="labels: the target is a class (default: if it is text)")
    parser.add_argument(
        "--gamma",
        metavar="WIDTH",
        help='a number, "scale", "median", "learn", "warp", or "standard": as if each had variance one; default '
        '"standard", of --model table "learn"',
    )
    parser.add_argument("--alpha", metavar="RIDGE", help="a number, or what the model offers (gcv, loo)")
    parser.add_argument("--max-basis", metavar="M", help="most kernels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="any other parameter of the estimator"
    )
    parser.add_argument("--quiet", action="store_true", help="no bar, no table")


def run(options: argparse.Namespace) -> int:
    """Run a command and return its exit code."""
    try:
        with warnings.catch_warnings():
            # columns are matched by name here, and rows handed on without
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return {"fit": _fit, "predict": _predict, "stream": _stream}[options.command](options)
    except (CommandError, _table.TableError, OSError, ValueError, TypeError, MemoryError, AttributeError) as error:
        if isinstance(error, BrokenPipeError):  # the reader has gone, as with head
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # closed by the interpreter
            return 1
        print(f"error: {error}", file=sys.stderr)
        return 1


# --- fit ---


def _fit(options: argparse.Namespace) -> int:
    if not 0 <= options.test < 1:
        raise CommandError(f"--test is {options.test}: give the part of the rows held out, from 0 to less than 1")
    _check_out(options.out)
    table = _table.read(options.table, options.delimiter)
    y = table.column(options.target)
    names = feature_names(options, list(table.columns))
    texts = {name for name in names if table.is_text(name)} if options.model == "table" else set()
    X = table.rows(names, texts) if options.model == "table" else table.matrix(names)
    classes = classes_of(options, y)
    y = _checked_target(y, classes, options)
    held = np.random.default_rng(options.seed).random(len(X)) < options.test
    if held.all() or not held.any():
        held[:] = False
    model = make_model(options, X[~held], classes, [j for j, name in enumerate(names) if name in texts])
    begin = time.perf_counter()
    rows, targets = X[~held], y[~held]
    if options.model in STREAMS:
        with progress(len(rows), sys.stderr, hidden=options.quiet) as advance:
            model.partial_fit(rows[:1], targets[:1], **({} if classes is None else {"classes": classes}))
            for first in range(1, len(rows), BLOCK):
                model.partial_fit(rows[first : first + BLOCK], targets[first : first + BLOCK])
                advance("learning", min(BLOCK, len(rows) - first))
    else:
        model.fit(rows, targets)
    seconds = time.perf_counter() - begin
    model.feature_names_in_ = np.array(names, dtype=object)
    model.save(options.out)
    if not options.quiet:
        facts = {"rows learned": len(rows), "features": len(names), **_facts(model), "seconds": f"{seconds:.2f}"}
        facts |= _errors(model, rows, targets, "on these rows")
        if held.any():
            facts |= _errors(model, X[held], y[held], f"on {held.sum()} rows held out")
        print_facts({"model": f"{type(model).__name__}, saved as {options.out}", **facts}, sys.stdout)
    return 0


def _check_out(path: Path) -> None:
    if not path.absolute().parent.is_dir():  # found out now, not after the run
        raise CommandError(f"--out {path}: there is no folder {path.absolute().parent}")
    check_regular(path, "--out becomes")


def _checked_target(y: NDArray[Any], classes: NDArray[Any] | None, options: argparse.Namespace) -> NDArray[Any]:
    if classes is not None:
        return np.array([_label(value) for value in y.tolist()])
    bad = np.flatnonzero(~np.isfinite(y.astype(np.float64)))
    if len(bad):
        raise CommandError(f"the target {options.target!r} is empty or not finite in row {bad[0] + 1}")
    return y.astype(np.float64)


def _label(value: Any) -> str:
    """A label as it stands in the table: 1 for the number 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _facts(model: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"kernels": model.n_basis_}
    alpha = getattr(model, "alpha_", None)
    if alpha is not None:
        facts["alpha"] = ", ".join(f"{a:.4g}" for a in np.atleast_1d(alpha))
    return facts


def _errors(model: Any, X: NDArray[Any], y: NDArray[Any], where: str) -> dict[str, str]:
    predicted = model.predict(X)
    if is_classifier(model):
        return {f"accuracy {where}": f"{np.mean(predicted == y):.4f}"}
    error = np.sqrt(np.mean((predicted - y) ** 2))
    return {f"RMSE {where}": f"{error:.4g}", f"R2 {where}": f"{1 - error**2 / max(y.var(), 1e-300):.4f}"}


# --- predict ---


def _predict(options: argparse.Namespace) -> int:
    model = kernsift.load(options.model)
    names = getattr(model, "feature_names_in_", None)
    if not hasattr(model, "predict") or names is None:
        raise CommandError(f"{options.model} was not saved by `python -m kernsift fit`: it does not know its columns")
    if isinstance(model, Front):
        kinds = getattr(model, "columns_", None)  # none where all are numbers
        texts = (
            set() if kinds is None else {n for n, c in zip(names, kinds.columns, strict=True) if c.kind == "category"}
        )
        X = _table.read(options.table, options.delimiter, texts).rows(list(names), texts)
    else:
        X = _table.read(options.table, options.delimiter).matrix(names)
    header, columns = ["prediction"], [model.predict(X)]
    if options.std:
        if "return_std" not in inspect.signature(model.predict).parameters:
            raise CommandError(f"--std: a {type(model).__name__} has no standard deviation")
        columns = list(model.predict(X, return_std=True))
        header.append("std")
    elif options.interval is not None:
        more, names_of = _bounds(model, X, options.interval)
        columns += more
        header += names_of
    elif options.proba:
        if not hasattr(model, "predict_proba"):
            raise CommandError(f"--proba: a {type(model).__name__} has no classes")
        columns += list(model.predict_proba(X).T)
        header += [f"p({label})" for label in model.classes_]
    lines = zip(*(column.tolist() for column in columns), strict=True)
    if options.out is None:
        _write_csv(sys.stdout, header, lines)
        return 0
    _check_out(options.out)
    with whole_file(options.out) as file:
        text = io.TextIOWrapper(file, newline="", encoding="utf-8")
        _write_csv(text, header, lines)
        text.detach()  # flushed; the file is closed by those who opened it
    return 0


def _bounds(model: Any, X: NDArray[Any], coverage: float) -> tuple[list[NDArray[Any]], list[str]]:
    """Columns of intervals, or of which classes a row may have, 1 or 0; with their names."""
    if hasattr(model, "predict_interval"):
        return list(model.predict_interval(X, coverage)), ["lower", "upper"]
    if hasattr(model, "predict_set"):
        sets = model.predict_set(X, coverage).astype(np.int64)
        return list(sets.T), [f"in({label})" for label in model.classes_]
    raise CommandError(f"--interval: a {type(model).__name__} has neither intervals nor sets of classes")


def _write_csv(file: TextIO, header: list[str], lines: Iterable[tuple[Any, ...]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)


# --- stream ---


def _stream(options: argparse.Namespace) -> int:
    if options.every < 1 or options.warm_up < 1:
        raise CommandError("--every and --warm-up count rows: give 1 or more")
    if options.resume and options.out is None:
        raise CommandError("--resume needs --out, the file to go on from")
    if options.interval is not None:
        check_coverage(options.interval)
    if options.out is not None:
        _check_out(options.out)
    return Stream(options).run(sys.stdin, sys.stdout)
