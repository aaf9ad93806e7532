"""What the river adapters share: rows as dicts, features that come and go, the core and its state."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from ..base.arrays import Array
from ..base.kernel import TABLE, parameters
from ..base.targets import Rows
from ..base.validation import check_rows
from ..io import model_file
from ..io.core_state import pack, unpack
from ..stream.classifier import OnlineLSSVMClassifier
from ..stream.course import Course, CourseState
from ..stream.online import OnlineLSSVMRegressor

try:
    from river import base as base
    from river.conf.interval import Interval as Interval
    from river.utils import dataframe as dataframe
except ImportError as error:
    raise ImportError("kernsift.river needs river: pip install 'kernsift[river]'") from error

Row = Mapping[Hashable, float]


@parameters
class KernelFields:
    """Parameters of the kernel."""

    kernel: str = "rbf"
    gamma: float | str | None = "auto"
    degree: int = 3
    coef0: float = 1.0


@parameters
class OnlineFields(KernelFields):
    """Parameters of the online models."""

    alpha: float | str = "auto"
    max_basis: int | None = 500
    novelty_tol: float = 1e-2
    usefulness_tol: float = 1e-4
    admission: str = "product"
    fit_intercept: bool = True
    swap_until: int | None = None
    exact_rows: int = 0
    forgetting: float | str | Sequence[float] = "auto"
    linear: bool | str = "auto"
    error_forecast: bool | str = "auto"


@parameters
class RegressorFields(OnlineFields):
    """Parameters of the online regressor."""

    noise: str = "auto"


@parameters
class KRLSFields(KernelFields):
    """Parameters of kernel recursive least squares."""

    gamma: float | str | None = "scale"
    novelty_tol: float = 1e-3
    max_basis: int | None = None
    alpha: float | str = 0.0
    on_full: str = "stop"
    forgetting: float | str | Sequence[float] = 1.0


class RiverStream(Course):
    """Features by name, and the core."""

    _kind: ClassVar[type[OnlineLSSVMRegressor] | type[OnlineLSSVMClassifier]]
    _fields: ClassVar[type[KernelFields]] = OnlineFields

    kernel: str
    gamma: float | str | None

    def __post_init__(self) -> None:
        self._start_empty()

    def _start_empty(self) -> None:
        self._core: Any = None
        self._challenger = self._course = None
        self._names: list[Hashable] = []
        self._place: dict[Hashable, int] = {}
        self._take: Any = None  # x -> its values in the order of `_names`
        self._check_each = False  # kernels whose k(x, x) can overflow

    # --- rows ---

    def _values(self, x: Row) -> Array:
        """The row's values, zero for a feature that is missing; names not met so far are left out."""
        try:
            if len(x) == len(self._names):
                try:
                    return np.array(self._take(x), np.float64)
                except KeyError:
                    pass
            return np.array([x.get(name, 0.0) for name in self._names], np.float64)
        except (TypeError, ValueError):
            raise _complaint(x) from None

    def _predicted(self, x: Row, what: str = "predict_one", *how: float) -> Any:
        """What the core says of a row; one that holds NaN or infinity is refused."""
        values = self._values(x)
        try:
            return getattr(self._core, what)(values, *how)
        except ValueError:
            check_finite(values, x)
            raise

    def _row_to_learn(self, x: Row) -> Array:
        """The row's values, after room was made for features met for the first time.

        Nothing changes if the row is refused; whether a row of known features is finite is for the caller to ask.
        """
        if self._core is None or not (len(x) == len(self._names) and self._place.keys() == x.keys()):
            new = [name for name in x if name not in self._place]
            if new:
                check_finite(np.array([_number(x, name) for name in x]), x)
                self._make_room(new, np.array([float(x[name]) for name in new]))
        if self._core is None:
            raise ValueError("the first row has no features: there is nothing to learn from")
        row = self._values(x)
        if self._check_each:
            check_finite(row, x)
            check_rows(self._core.kernel, row[None, :])
        return row

    def _make_room(self, new: Sequence[Hashable], first: Array) -> None:
        if self._core is None:
            self._name(list(new))
            self._core = self._begin(Rows(first[None, :], np.zeros((1, 1)), np.ones(1)))
            self._course = CourseState() if isinstance(self.gamma, str) else None
            self._check_each = not TABLE[self.kernel]["stationary"]
        else:
            self._end_trial()
            widths = np.full(len(new), np.median(self._core.kernel.gamma))
            if isinstance(self.gamma, str):  # in units of its first value
                far = np.abs(first) if self.kernel == "laplacian" else first**2
                widths = np.divide(1.0 / (len(self._names) + len(new)), far, out=widths, where=far > 0)
            self._core = self._core.add_features(widths)
            self._name([*self._names, *new])

    def _name(self, names: list[Hashable]) -> None:
        self._names = names
        self._place = {name: i for i, name in enumerate(names)}
        # for a single name itemgetter would return the bare value
        self._take = itemgetter(*names) if len(names) > 1 else lambda x: (x[names[0]],)

    def _estimator(self) -> Any:
        """An estimator of the same parameters, which makes the cores."""
        given = {field.name: getattr(self, field.name) for field in fields(self._fields)}
        if self.gamma is None:
            given["gamma"] = 1.0 / len(self._names)
        estimator = self._kind(**given)
        estimator._validate_params()
        return estimator

    def _begin(self, rows: Rows, **how: Any) -> Any:
        return self._estimator()._begin(rows, **how)

    def _learns_widths(self) -> bool:
        return bool(self._estimator()._learns_widths())

    def _learn_frame(self, rows: Rows) -> None:
        """Learn the rows of a data frame, which `_frame` has made room for."""
        self._admit_to_trial(rows.X)
        for stretch in self._stretches(slice(0, len(rows.X)), rows.weight):
            self._learn_stretch(rows.part(stretch))

    def _frame(self, X: Any, n_targets: int | None = None) -> tuple[Array, Any]:
        """The rows of a data frame; to be learned, with a target each, if `n_targets` is given."""
        frame = dataframe.into_frame(X)
        names = list(frame.columns)
        columns = {}
        for name in names:
            if n_targets is None and name not in self._place:
                continue
            try:
                columns[name] = np.asarray(frame.get_column(name).to_numpy(), np.float64)
            except (TypeError, ValueError):
                raise ValueError(f"feature {name!r} holds values that are no numbers: encode it first") from None
            if not np.isfinite(columns[name]).all():
                raise ValueError(f"feature {name!r} holds NaN or infinity: fill it in (a missing feature counts as 0)")
        if n_targets is not None:
            if n_targets != len(frame):
                raise ValueError(f"y must hold one target for each of the {len(frame)} rows of X, and has {n_targets}")
            new = [name for name in names if name not in self._place]
            if new and len(frame):
                self._make_room(new, np.array([columns[name][0] for name in new]))
        out = np.zeros((len(frame), len(self._names)))
        for name, values in columns.items():
            if name in self._place:
                out[:, self._place[name]] = values
        if n_targets:
            check_rows(self._core.kernel, out, self._core.settings["linear"])
        return out, frame

    # --- river's interface ---

    @property
    def _raw_memory_usage(self) -> int:
        own: int = super()._raw_memory_usage  # type: ignore[misc]  # of river's Base
        held = 0 if self._core is None else sum(a.nbytes for a in self._core.state().values())
        return own + held

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_take", "_place")}
        for name in ("_core", "_challenger"):
            core = getattr(self, name)
            state[name] = None if core is None else pack(core)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._start_empty()
        self.__dict__.update(state)
        for name in ("_core", "_challenger"):
            if state.get(name) is not None:
                setattr(self, name, unpack(state[name]))
        self._name(list(self._names))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that :func:`kernsift.load` reads.

        Parameters
        ----------
        path : str or path-like
        """
        model_file.save(self, path)

    @property
    def n_basis(self) -> int:
        """Number of kernels."""
        return 0 if self._core is None else self._core.n_basis

    @property
    def features(self) -> list[Hashable]:
        """Names of the features met so far."""
        return list(self._names)


def _number(x: Row, name: Hashable) -> float:
    try:
        return float(x[name])
    except (TypeError, ValueError):
        raise _complaint(x) from None


def check_finite(row: Array, x: Row) -> None:
    if not np.isfinite(row).all():
        raise _complaint(x)


def _complaint(x: Row) -> ValueError:
    """What is wrong with a row."""
    for name, value in x.items():
        try:
            if math.isfinite(float(value)):
                continue
        except (TypeError, ValueError):
            pass
        return ValueError(
            f"feature {name!r} is {value!r}: give finite numbers (OneHotEncoder makes them of categories), or leave a "
            "missing feature out"
        )
    return ValueError("x holds values that are no numbers")
