"""Classes of a stream, which may come at any time: a column of targets 0 and 1 for each, in the order of first rows.

A class without rows would have targets 0, and coefficients and scores 0, throughout.  So a column that is added with
zeros is that of a class known from the beginning.  Estimators and river's adapter stand on this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from .. import _core
from ..base.arrays import Array
from ..base.probabilities import softmax
from ..base.sets import Sets, sets_of
from ..base.targets import IncrementalClassification, Rows, known_classes
from ..base.validation import ROWS, check_products, check_some_weight, check_weights, validate_data
from .course import Course


def _are_texts(labels: NDArray[Any]) -> bool:
    """Whether labels are texts, which data frames give as objects."""
    return labels.dtype.kind in "US" or (labels.dtype.kind == "O" and len(labels) > 0 and isinstance(labels[0], str))


class StreamClasses(Course):
    """Columns of classes, and the temperature learned on them."""

    # log temperature, its Fisher information, classes that had rows so far, numbers of the core's SetCoverage
    _calibration: tuple[float, ...] = (0.0, 1.0, 0)
    _exact_apriori = True

    def _add_columns(self, columns: int) -> None:
        """Add columns to the model and to its challenger, up to a number."""
        more = columns - self._core.n_outputs
        if more <= 0:
            return
        self._core = self._core.add_outputs(more)
        if self._challenger is not None:
            assert self._course is not None
            assert self._course.trial is not None
            self._challenger = self._challenger.add_outputs(more)
            trial = replace(self._course.trial, unit=np.append(self._course.trial.unit, np.ones(more)))
            self._course = replace(self._course, trial=trial)

    def _calibrated(self, calibration: Any, apriori: Array, rows: Rows) -> Any:
        """Learn the temperature among the classes that had rows by then, whatever columns there are."""
        states, met = self._calibrations(calibration, apriori, rows)
        temperature, information, *sets = states[-1].tolist()
        return (temperature, information, met, *sets)

    def _calibrations(self, calibration: Any, apriori: Array, rows: Rows) -> tuple[Array, int]:
        """The numbers of the calibration before each row and after the last, and the classes that had rows by then."""
        met = int(calibration[2]) if len(calibration) > 2 else rows.targets.shape[1]
        state = np.array([*calibration[:2], *calibration[3:]], dtype=np.float64)
        if 1 < met == rows.targets.shape[1] and not np.isnan(apriori[:, 0]).any():
            return _core.calibrate(2 * apriori - 1, 2 * rows.targets - 1, rows.weight, state), met
        known = ~np.isnan(apriori[:, 0]) & (rows.weight > 0)
        scores, targets, weight = 2 * apriori[known] - 1, 2 * rows.targets[known] - 1, rows.weight[known]
        met_by = np.maximum.accumulate(np.append(met, targets.argmax(axis=1) + 1))[1:] if len(targets) else targets
        states = _core.calibrate(scores[:0], targets[:0], weight[:0], state)
        for columns in np.unique(met_by).tolist():
            now = met_by == columns
            some, these = (np.ascontiguousarray(part[now][:, :columns]) for part in (scores, targets))
            if columns > 1:
                found = _core.calibrate(some, these, weight[now], states[-1])
            else:
                found = np.repeat(states[-1:], len(some) + 1, axis=0)
            states = np.concatenate([states, found[1:]])
            met = columns
        return states[np.append(0, np.cumsum(known))], met

    def _least(self, coverage: float) -> float:
        """What a class needs to be in a set of this coverage, by the calibration there is."""
        return _core.least_probabilities(np.array([self._calibration[3:]], dtype=np.float64), coverage).item()

    def _odds(self, scores: Array) -> Array:
        """Probabilities of the classes from the scores of all, (n, classes)."""
        if scores.shape[1] == 1:
            return np.ones_like(scores)
        return softmax(2 * scores - 1, float(np.exp(self._calibration[0])))


class Signed:
    """A core on targets 0 and 1, read as if they were -1 and 1: outputs in the order of the classes.

    Targets of a row add up to 1, so that those of -1 and 1 are twice them less their sum, and so is all that is linear
    in them.  Of two classes there is one output, the second less the first.
    """

    def __init__(self, core: Any, order: NDArray[np.intp], flat: bool) -> None:
        self._core, self._order, self._flat = core, order, flat

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def of_classes(self, values: Array) -> Array:
        """Values of each column as those of each class, 0 for one without rows."""
        if self._order.min() < 0:
            values = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return values[..., self._order]

    def signed(self, values: Array) -> Array:
        """What is linear in the targets, by columns, for targets of -1 and 1."""
        each = self.of_classes(values)
        signed = each[..., 1:] - each[..., :1] if self._flat else 2 * each - values.sum(axis=-1, keepdims=True)
        return np.ascontiguousarray(signed)

    def _squared(self, values: Array) -> Array:
        """Squares of errors, four times as large where targets are twice as far apart."""
        return 2 * values.sum(axis=0, keepdims=True) if self._flat else 4 * self.of_classes(values)

    @property
    def n_outputs(self) -> int:
        return 1 if self._flat else len(self._order)

    @property
    def coef(self) -> Array:
        return self.signed(self._core.coef)

    @property
    def intercept(self) -> Array:
        return self.signed(self._core.intercept)

    @property
    def slopes(self) -> Array:
        slopes = self._core.slopes
        return self.signed(slopes) if slopes.size else slopes

    @property
    def expansion(self) -> tuple[Array, Array, Array]:
        return self._core.basis, self.coef, self.intercept

    @property
    def cost(self) -> Array:
        return self._squared(self._core.cost)

    @property
    def gcv(self) -> Array:
        return self._squared(self._core.gcv)

    @property
    def noise_variance(self) -> Array:
        return self._squared(self._core.noise_variance)

    @property
    def log_evidence(self) -> Array:
        values = self.of_classes(self._core.log_evidence)
        return values[1:] if self._flat else values

    @property
    def memories(self) -> tuple[list[float], Array, Array]:
        kept, weights, errors = self._core.memories
        errors = 2 * self.of_classes(errors.T).T
        return kept, weights, errors[1:] if self._flat else errors

    def state(self) -> dict[str, Array]:
        state = self._core.state()
        return {**state, "theta": self.signed(state["theta"])} if "theta" in state else state

    def predict(self, X: Array, threads: int = 1) -> Array:
        return self.signed(self._core.predict(X, threads))

    def predict_one(self, x: Array) -> Array:
        return self.signed(self._core.predict_one(x))


class StreamLabels(IncrementalClassification, Sets, StreamClasses):
    """Labels of an estimator as columns."""

    _order: NDArray[np.intp] | None = None  # the column of each class, -1 for one without rows
    _closed = False  # whether classes= named them all
    _steps: list[Array] | None = None  # the calibration before each row, while sets are made of it
    _counts: Array | None = None  # with class_weight="balanced": the weight of each class so far

    def _least_probability(self, coverage: float) -> float:
        return self._least(coverage)

    def _after(self, apriori: Array, others: Array | None, rows: Rows) -> None:
        if self._steps is not None:
            self._steps.append(self._calibrations(self._calibration, apriori, rows)[0][:-1])
        super()._after(apriori, others, rows)

    def _sets_before(self, scores: Array, states: Array, coverage: float) -> NDArray[np.bool_]:
        """Sets by scores of the classes, and by the calibrations there were; no class of a score of -infinity."""
        known = np.isfinite(scores)
        some = known.any(axis=1)
        odds = np.zeros_like(scores)
        odds[some] = softmax(np.exp(states[some, :1]) * scores[some], 1.0)
        least = _core.least_probabilities(np.ascontiguousarray(states[:, 2:]), coverage)
        return sets_of(odds, least[:, None]) & known

    def _calibrations(self, calibration: Any, apriori: Array, rows: Rows) -> tuple[Array, int]:
        if self._order is not None:
            return super()._calibrations(calibration, apriori, rows)
        known = ~np.isnan(apriori[:, 0])
        part = Rows(*(part[known] for part in rows))
        state = np.array([*calibration[:2], *calibration[3:]], dtype=np.float64)
        states = _core.calibrate(np.ascontiguousarray(apriori[known]), part.targets, part.weight, state)
        return states[np.append(0, np.cumsum(known))], len(self.classes_)

    def _checked(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None, classes: Any = None, *, begin: bool = True
    ) -> Rows:
        return self._coded(X, y, sample_weight, classes, begin)[0]

    def _coded(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any, classes: Any, begin: bool, streams: bool = False
    ) -> tuple[Rows, NDArray[np.intp]]:
        """Checked rows and the columns of their classes; only a stream may begin with one class, or go on to others."""
        if not begin and self._order is None:  # a model of version 0.1, on targets of -1 and 1
            rows = super()._checked(X, y, sample_weight, classes, begin=False)
            return rows, super()._codes_of(rows.targets)
        given, labels = validate_data(self, X, y, reset=begin, **ROWS)
        check_classification_targets(labels)
        weight = check_weights(sample_weight, given)
        if isinstance(self.class_weight, dict):
            weight = self._class_weighted(labels, weight)
        if begin:
            if streams or sample_weight is not None or self.class_weight is not None:
                check_some_weight(weight)
            self._counts = None
            self._closed = classes is not None
            named = labels[weight > 0] if classes is None else np.asarray(classes)
            self.classes_ = np.unique(named) if streams and classes is None else known_classes(named)
            self._order = np.full(len(self.classes_), -1)
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes={classes!r} differs from the {self.classes_!r} this model began with")
        assert self._order is not None
        counted = labels[weight > 0]
        kinds = labels.dtype.kind, self.classes_.dtype.kind
        alike = kinds[0] == kinds[1] != "O" or _are_texts(labels) == _are_texts(self.classes_)
        new = counted[~np.isin(counted, self.classes_)] if alike else counted
        if len(new):
            self._name(np.unique(new), alike, streams)
        if (self._order < 0).any():  # columns in the order of first rows
            order, first = self._order.copy(), np.sort(np.unique(counted, return_index=True)[1])
            met = self.classes_.searchsorted(counted[first])
            fresh = met[order[met] < 0]
            order[fresh] = order.max() + 1 + np.arange(len(fresh))
            self._order = order
            if not begin:
                self._add_columns(int(order.max()) + 1)
        self._flat = len(self.classes_) == 2
        codes = np.minimum(self.classes_.searchsorted(labels), len(self.classes_) - 1)
        places = np.where(self.classes_[codes] == labels, self._order[codes], -1)
        targets = (places[:, None] == np.arange(self._order.max() + 1)).astype(np.float64)
        return Rows(given, targets, weight), places

    def _codes_of(self, targets: Array) -> NDArray[np.intp]:
        if self._order is None:
            return super()._codes_of(targets)
        return np.argsort(self._order)[np.count_nonzero(self._order < 0) + targets.argmax(axis=1)]

    def _balanced(self, rows: Rows) -> Rows:
        if self.class_weight == "balanced" and self._counts is None:  # in `fit`
            columns = rows.targets.argmax(axis=1)
            self._counts = np.bincount(columns, rows.weight, len(self.classes_)).astype(np.float64)
        return super()._balanced(rows)

    def _next(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, classes: Any = None) -> Rows:
        if self._core is not None:
            self._check_unchanged_params()
        rows, places = self._coded(X, y, sample_weight, classes, self._core is None, streams=True)
        weight, self._counts = self._as_balanced(places, rows.weight)
        return rows._replace(weight=weight)

    def _name(self, new: NDArray[Any], alike: bool, streams: bool) -> None:
        """Take labels that come for the first time among the classes."""
        if self._closed:
            why = "classes= named all labels in the first call: leave it out where others may come"
        elif not alike:
            why = "labels must be of one kind, texts or numbers"
        else:
            why = "" if streams else "learn them with partial_fit first"
        if why:
            known = self.classes_.tolist()
            raise ValueError(f"y holds labels {new.tolist()} that are not among the classes {known}; {why}")
        classes = np.union1d(self.classes_, new)
        order = np.full(len(classes), -1)
        order[classes.searchsorted(self.classes_)] = self._order
        self.classes_, self._order = classes, order

    def _as_balanced(self, places: NDArray[np.intp], weight: Array) -> tuple[Array, Array | None]:
        """Weights of the next rows of a stream, and the weights of the classes after them, for "balanced"."""
        if self.class_weight != "balanced":
            return weight, None
        known = np.empty(0) if self._counts is None else self._counts
        counts = np.append(known, np.zeros(max(len(self.classes_) - len(known), 0)))
        total = np.cumsum(np.append(counts.sum(), weight))[1:]
        own, seen = np.ones(len(weight)), np.zeros(len(weight))
        for place, before in enumerate(counts.tolist()):
            mine = (places == place) & (weight > 0)
            so_far = np.cumsum(np.append(before, np.where(mine, weight, 0.0)))
            own[mine] = so_far[1:][mine]
            seen += so_far[1:] > 0
            counts[place] = so_far[-1]
        factor = np.where(weight > 0, total / (np.maximum(seen, 1) * own), 0.0)
        return check_products(weight * factor, weight, "class_weight='balanced'"), counts

    def _place_of(self, y: Any) -> int:
        """The column of a label, or its place in `classes_` after `fit`; -1 for a label that is new."""
        place = int(self.classes_.searchsorted(y))
        if place == len(self.classes_) or self.classes_[place] != y:
            return -1
        return place if self._order is None else int(self._order[place])
