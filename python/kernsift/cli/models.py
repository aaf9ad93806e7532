"""What the commands share: estimators by their names on the command line, columns, errors."""

from __future__ import annotations

import argparse
import ast
import csv
import inspect
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

import kernsift

from ..base.arrays import Array
from ..base.kernel import SCALES, resolve_gamma

#: Names on the command line: the regressor and the classifier of each.
MODELS: dict[str, tuple[str, str | None]] = {
    "table": ("KernelRegressor", "KernelClassifier"),
    "online": ("OnlineLSSVMRegressor", "OnlineLSSVMClassifier"),
    "krls": ("KRLSRegressor", None),
    "subset": ("SubsetLSSVMRegressor", "SubsetLSSVMClassifier"),
    "orols": ("OROLSRegressor", "OROLSClassifier"),
    "isls": ("SparseLSSVMRegressor", "SparseLSSVMClassifier"),
    "lssvm": ("LSSVMRegressor", "LSSVMClassifier"),
}
#: Those that learn a block of rows after the other.
STREAMS = ("online", "krls")


class CommandError(Exception):
    """An error shown without a traceback; the exit code is 1."""


def feature_names(options: argparse.Namespace, names: list[str]) -> list[str]:
    if options.features is None:
        return [name for name in names if name != options.target]
    wanted = _split(options.features) if isinstance(options.features, str) else options.features
    unknown = [name for name in wanted if name not in names]
    if unknown or options.target in wanted:
        raise CommandError(f"--features names {(unknown or [options.target])[0]!r}, which is no feature of the table")
    return wanted


def _split(text: str) -> list[str]:
    """Names between commas, as in a line of CSV: one with a comma stands in quotes."""
    return [name.strip() for line in csv.reader([text], skipinitialspace=True) for name in line]


def classes_of(options: argparse.Namespace, y: NDArray[Any] | None) -> NDArray[Any] | None:
    """Labels, or None for regression."""
    if options.classes is not None:
        return np.unique(_split(options.classes))
    return np.unique(y) if y is not None and y.dtype.kind not in "fiub" else None


def make_model(
    options: argparse.Namespace, X: Array, classes: NDArray[Any] | None, categories: Sequence[int] = ()
) -> Any:
    """The estimator; `categories` are the places of columns of texts."""
    name = MODELS[options.model][classes is not None]
    if name is None:
        raise CommandError(f"--model {options.model} has no classifier; use another, or a numeric target")
    kind = getattr(kernsift, name)
    given = {"alpha": options.alpha, "max_basis": options.max_basis}
    values = {key: _literal(text) for key, text in given.items() if text is not None}
    for entry in options.set:
        key, equals, text = entry.partition("=")
        if not equals:
            raise CommandError(f"--set {entry}: write NAME=VALUE")
        values[key] = _literal(text)
    known = set(inspect.signature(kind).parameters)
    if options.gamma is not None:
        values.setdefault("gamma", _literal(options.gamma))
    if options.model == "table":  # which chooses all this, and has it as settings of the model it chooses
        settings = {key: values.pop(key) for key in list(values) if key not in known}
        if categories:
            settings["categorical_features"] = sorted({*settings.get("categorical_features", ()), *categories})
        return kind(**{"random_state": options.seed, **values, "settings": settings or None})
    kind(**values)  # names a parameter that it has not
    values.setdefault("gamma", "standard")
    if "random_state" in known:
        values.setdefault("random_state", options.seed)
    if options.model in STREAMS and str(values["gamma"]) in SCALES:  # not those of the first block learned
        kernel = str(values.get("kernel", "rbf"))
        widths = resolve_gamma(values["gamma"], X, np.ones(len(X)), values["random_state"], kernel)
        values["gamma"] = widths if values["gamma"] == "standard" else float(widths[0])
    model = kind(**values)
    model._validate_params()
    return model


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def print_facts(facts: dict[str, Any], stream: TextIO) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}", file=stream)
