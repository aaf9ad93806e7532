"""``python -m kernsift stream``: predict a row, then learn it, and keep the model on the disk now and then."""

from __future__ import annotations

import argparse
import csv
import io
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

import numpy as np

import kernsift

from ..base.arrays import Array
from ..display import StreamDashboard
from . import table as _table
from .models import CommandError, classes_of, feature_names, make_model, print_facts


class _Terminated(BaseException):
    """SIGTERM: the model is saved before the process ends."""


class Stream:
    """The model, what it has answered, and when it was saved last."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.classes = classes_of(options, None)
        self.model: Any = None
        self.waiting: list[tuple[Array, Any]] = []  # of the warm-up
        self.learned = self.saved = 0
        self.judged, self.loss = 0, 0.0
        self.page = None if options.dashboard is None else StreamDashboard(options.dashboard)

    def run(self, file: Iterable[str], out: TextIO) -> int:
        """Print a prediction for each row; return the exit code."""
        begin = time.perf_counter()
        code = 0
        # by default SIGTERM would end the process without a word
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, _terminate) if main else None
        try:
            skip = self._resume()
            for x, text in _rows_of(file, self.options):
                if skip > 0:
                    skip -= bool(text)
                    continue
                print(self._answer(x, text), file=out, flush=True)
                if self.options.out is not None and self.learned - self.saved >= self.options.every:
                    self._save()
        except KeyboardInterrupt:
            code = 130
        except _Terminated:
            code = 143
        finally:
            if main:
                signal.signal(signal.SIGTERM, before)
            if self.waiting:
                self._warm()
            if self.model is not None and self.options.out is not None:
                self._save()
            if self.page is not None:
                self.page.write(last=True)
        if not self.options.quiet:
            print_facts(self._facts(time.perf_counter() - begin), sys.stderr)
        return code

    def _resume(self) -> int:
        """Load the model to go on from; return how many rows it has learned."""
        if not (self.options.resume and self.options.out.exists()):
            return 0
        self.model = kernsift.load(self.options.out)
        if not hasattr(self.model, "update") and not hasattr(self.model, "classes_"):
            raise CommandError(f"{self.options.out} holds a {type(self.model).__name__}, which does not learn streams")
        if self.options.features is None:
            self.options.features = self.model.feature_names_in_.tolist()
        self.classes = getattr(self.model, "classes_", None)
        self.learned = self.saved = self.model.n_samples_seen_
        return self.learned

    def _target(self, text: str) -> Any:
        if self.classes is not None:
            if text not in self.classes:
                raise CommandError(f"label {text!r} is not among --classes {', '.join(self.classes)}")
            return text
        try:
            y = float(text)
        except ValueError:
            y = np.nan
        if not np.isfinite(y):
            raise CommandError(f"target {text!r} is no finite number; for labels give --classes")
        return y

    def _answer(self, x: Array, text: str) -> str:
        """The prediction, made before the row is learned; nothing while the model warms up."""
        predicted: Any = None
        others: list[Any] = []
        if self.model is not None:
            predicted = self.model.predict(x[None, :])[0] if self.classes is not None else self.model.predict_one(x)
            others = self._bounds(x)
        if text:
            y = self._target(text)
            if predicted is not None:
                self.judged += 1
                self.loss += float(predicted != y) if self.classes is not None else (predicted - y) ** 2
            self._learn(x, y)
            if self.page is not None and predicted is not None:
                self._show(y, predicted, others)
        if predicted is None:
            return ""
        if self.options.interval is None:
            return str(predicted) if self.classes is not None else repr(float(predicted))
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([predicted, *others])
        return line.getvalue()

    def _bounds(self, x: Array) -> list[Any]:
        """The interval of a row, or the labels it may have, where they were requested."""
        coverage = self.options.interval
        if coverage is None:
            return []
        if self.classes is None:
            return list(self.model.predict_interval_one(x, coverage))
        return self.model.classes_[self.model.predict_set_one(x, coverage)].tolist()

    def _show(self, y: Any, predicted: Any, others: list[Any]) -> None:
        assert self.page is not None
        bounds = dict(zip(("lower", "upper"), others, strict=True)) if others and self.classes is None else {}
        self.page.add(self.model, y, predicted, **bounds)

    def _learn(self, x: Array, y: Any) -> None:
        self.learned += 1
        if self.model is None:
            self.waiting.append((x, y))
            if len(self.waiting) >= self.options.warm_up:
                self._warm()
        elif self.classes is not None:
            self.model.partial_fit(x[None, :], np.array([y]))
        else:
            self.model.update(x, y)

    def _warm(self) -> None:
        X = np.array([x for x, _ in self.waiting])
        y = np.array([y for _, y in self.waiting])
        self.model = make_model(self.options, X, self.classes)
        self.model.partial_fit(X, y, **({} if self.classes is None else {"classes": self.classes}))
        self.model.feature_names_in_ = np.array(self.options.features, dtype=object)
        self.waiting = []

    def _save(self) -> None:
        if self.model is not None:
            self.model.save(self.options.out)
            self.saved = self.learned

    def _facts(self, seconds: float) -> dict[str, Any]:
        facts: dict[str, Any] = {"rows learned": self.learned}
        if self.model is not None:
            facts["kernels"] = self.model.n_basis_
        if self.judged:
            mean = self.loss / self.judged
            if self.classes is not None:
                facts["accuracy before learning"] = f"{1 - mean:.4f}"
            else:
                facts["RMSE before learning"] = f"{np.sqrt(mean):.4g}"
        facts["seconds"] = f"{seconds:.2f}"
        if self.options.out is not None and self.model is not None:
            facts["saved as"] = self.options.out
        return facts


def _terminate(*_: Any) -> None:
    raise _Terminated


def _rows_of(file: Iterable[str], options: argparse.Namespace) -> Iterator[tuple[Array, str]]:
    """Features and target text of each row, in the order of the features."""
    names, rows = _table.csv_rows(file, "standard input", options.delimiter)
    if options.target not in names:
        raise CommandError(f"standard input has no column {options.target!r}: it has {', '.join(names)}")
    features = feature_names(options, names)
    options.features = features
    where, target = [names.index(name) for name in features], names.index(options.target)
    for number, row in enumerate(rows, 1):
        try:
            x = np.array([float(row[i]) for i in where])
        except ValueError:
            x = np.array([np.nan])
        if not np.isfinite(x).all():
            raise CommandError(f"row {number} of standard input has a feature that is no finite number: {row}")
        yield x, row[target].strip()
