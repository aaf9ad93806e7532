"""What a chosen model says of itself, in plain text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import Array
from ..base.warp import Warp
from ..widths.race import candidate_name

# A column has heavy tails where its largest distance from the median is this many times that between its quartiles.
_FAR = 30.0
# A column drifts where this part of the last fifth of the rows lies beyond the range of the rows before.
_DRIFT = 0.1
# Columns shown.
_MOST = 10


def heavy_tails(values: Array) -> list[int]:
    """Columns with values far from the others: beyond the bulk a model has hardly any rows to learn from."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    far = np.abs(values - middle).max(axis=0)
    return [int(j) for j in np.flatnonzero((high > low) & (far > _FAR * (high - low)))]


def drifts(values: Array) -> dict[int, float]:
    """Columns in which the last rows lie beyond the range of those before, and which part of them does."""
    first = len(values) - len(values) // 5
    if not 0 < first < len(values):
        return {}
    before, last = values[:first], values[first:]
    part = ((last < before.min(axis=0)) | (last > before.max(axis=0))).mean(axis=0)
    return {int(j): float(part[j]) for j in np.flatnonzero(part > _DRIFT)}


def report(front: Any, model: Any) -> str:
    """The report of a front door on its chosen model."""
    names = [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]
    rows = f"on {model.n_samples_seen_:,} rows and {len(names)} columns"
    lines = [f"{type(front).__name__}: {model.n_basis_} kernels {model.kernel_!r} ({type(model).__name__}) {rows}"]
    search = getattr(model, "search_", [])
    classes = hasattr(model, "classes_")
    if search:
        best = search[0]
        lines += [f"error on rows held out: {_error(best, classes)} ({_how(front.validation, best['splits'])})"]
        if not classes and np.ndim(model.noise_variance_) == 0:
            lines += [f"noise, estimated by the model: {np.sqrt(model.noise_variance_):.4g}"]
        lines += ["tried:"]
        lines += [
            f"  {candidate_name(entry):<16} {_error(entry, classes):<24} {entry['seconds']:6.1f} s"
            + {"full": "", "short": "  (small model, dropped)", "not tried": "  (not tried)"}[entry["stage"]]
            for entry in search
        ]
    loss = getattr(model, "log_loss_", {})
    if "logistic" in loss:
        kept = min(loss, key=loss.__getitem__)
        values = ", ".join(f"{value:.4g} ({name})" for name, value in loss.items())
        lines += [f"coefficients by the {kept} loss; log loss of rows left out: {values}"]
    lines += [
        f"  {rival['family']} with {rival['n_basis']} kernels {rival['kernel']!r}: {_error(rival, classes)}"
        for rival in front.rivals_
    ]
    path = getattr(model, "path_", None)
    if path and len(path["n_basis"]):
        pairs = zip(path["n_basis"], np.sqrt(path["error"]), strict=True)
        lines += ["size: " + ", ".join(f"{n} kernels {error:.4g}" for n, error in pairs) + " (root mean squared error)"]
    outputs = 1 if model._flat else model.dual_coef_.shape[1]
    lines += [f"to predict: {8 * model.n_basis_ * (model.basis_vectors_.shape[1] + outputs) / 1000:.3g} kB of numbers"]
    found = getattr(model, "learned_gamma_", None)
    if found is not None:
        columns = getattr(model, "columns_", None)
        part = found["relevance"] if columns is None else columns.by_column(found["relevance"])
        order = np.argsort(-part, kind="stable")
        shown = [f"{names[j]} {100 * part[j]:.0f} %" for j in order[:_MOST] if part[j] > 0]
        lines += ["relevance (part of the distance): " + ", ".join(shown)]
    lines += [f"warning: {note}" for note in getattr(model, "_notes", [])]
    if front.tails_:
        columns = ", ".join(names[j] for j in front.tails_)
        lines += [f"warning: values far from the others in {columns}: predictions there rest on few rows"]
    drifting = getattr(front, "drifts_", {})
    if drifting:
        columns = ", ".join(f"{names[j]} ({100 * part:.0f} %)" for j, part in drifting.items())
        flat = "stay as at its end" if isinstance(model.gamma_, Warp) else "go to the constant"
        lines += [
            f"warning: the last fifth of the rows lies beyond the range of those before in {columns}: if new rows do, "
            f"predictions there {flat}; prefer differences to levels, and judge by validation='time'"
        ]
    return "\n".join(lines)


def _error(entry: dict[str, Any], classes: bool) -> str:
    if not np.isfinite(entry["error"]):
        return "-"
    if classes:
        return f"{100 * entry['error']:.2f} % ± {100 * entry['standard_error']:.2f} missed"
    return f"RMSE {entry['error']:.4g} ± {entry['standard_error']:.2g}"


def _how(validation: Any, splits: int) -> str:
    if isinstance(validation, str) and validation == "time":
        return "the last fifth"
    of = "at random" if isinstance(validation, str) else "as given"
    return f"a part {of}" if splits == 1 else f"{splits} parts in turn, {of}"
