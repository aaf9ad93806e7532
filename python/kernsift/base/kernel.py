"""From an estimator's kernel parameters to the core's kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from .._core import Kernel, kernel_table
from .arrays import Array
from .columns import Columns, coordinate_names
from .draws import random_numbers
from .types import GammaSetting, KernelSetting
from .validation import NOT_NEGATIVE, POSITIVE, Interval, StrOptions
from .warp import Warp

#: What the core knows of each kernel: where it can be learned, moved, exported (cpp/core/kernel/kernels.cpp).
TABLE = kernel_table()
KERNELS = tuple(TABLE)

# Words for a gamma that follows from the rows alone.
SCALES = ("scale", "standard", "median")
# Words for a gamma with which the scales of the columns have no effect.
SCALE_FREE = ("learn", "standard")

T = TypeVar("T")


def parameter(*allowed: Any, default: Any) -> Any:
    """Declare a parameter: what it may be (a set of texts, or a constraint of scikit-learn), and its default."""
    constraints = [StrOptions(one) if isinstance(one, set) else one for one in allowed]
    return field(default=default, metadata={"constraints": constraints})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def parameters(kind: type[T]) -> type[T]:
    """Make a constructor, by names only, and constraints from the annotated attributes of a class and its bases."""
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(kind)
    declared = {f.name: f.metadata["constraints"] for f in fields(made) if f.metadata}
    if declared and "_parameter_constraints" not in vars(kind):
        made._parameter_constraints = declared
    return made


@parameters
class KernelParameters:
    """Parameters of every estimator with a kernel."""

    kernel: KernelSetting = parameter(set(KERNELS), default="rbf")
    gamma: GammaSetting | float | ArrayLike | Warp = parameter(
        set(SCALES), POSITIVE, "array-like", Warp, default="scale"
    )
    degree: int = parameter(Interval(Integral, 1, 1000, closed="both"), default=3)
    coef0: float = parameter(NOT_NEGATIVE, default=1.0)

    _parameter_constraints: ClassVar[dict[str, list[Any]]]


@parameters
class LearningParameters(KernelParameters):
    """Those of an estimator that can learn its metric: `widths.learn_gamma.learned_width` finds it."""

    gamma: GammaSetting | float | ArrayLike | Warp = parameter(
        {"learn", "warp", *SCALES}, POSITIVE, "array-like", Warp, default="scale"
    )


KERNEL_CONSTRAINTS = KernelParameters._parameter_constraints
LEARNING_CONSTRAINTS = LearningParameters._parameter_constraints


# Rows compared with each other by gamma="median".
_MEDIAN_ROWS = 500
# Ratio of the largest standard deviation of a column to the smallest from which one width for all is a mistake.
_FAR_APART = 100.0
# Rows that it takes to tell that, where fewer differ by chance, and that are enough.
_LEAST_ROWS, _ROWS_LOOKED_AT = 10, 10_000
# Part of a column's largest value below which its standard deviation is rounding: the column is constant.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ChosenKernel:
    """What a race has found: the kernel, widths if they are learned, and sizes if the model can have several."""

    kernel: str
    learned: dict[str, Any] | None = None  # as of `learn_gamma`
    sizes: dict[str, Array] | None = None  # numbers of kernels and their errors on rows held out
    most: int | None = None  # kernels at most, for max_basis="auto"
    warp: bool = False  # whether a curve for each feature is learned with the widths

    def with_widths(self, learned: dict[str, Any]) -> ChosenKernel:
        """The same with widths that were learned since."""
        return replace(self, learned=learned)


def kernel_name(model: KernelParameters) -> str:
    """Name of the kernel: the parameter, or what was chosen for "auto"."""
    chosen: ChosenKernel | None = getattr(model, "_chosen", None)
    name = model.kernel if chosen is None else chosen.kernel
    return name if isinstance(name, str) and name != "precomputed" else "linear"  # on coordinates


def wants_learning(gamma: Any) -> bool:
    """Whether gamma is learned: widths, or a warp."""
    return isinstance(gamma, str) and gamma in ("learn", "warp")


def is_scale_free(gamma: Any) -> bool:
    """Whether columns may be multiplied by any number and the model stays the same."""
    return isinstance(gamma, str) and gamma in SCALE_FREE


def warn_of_scales(model: Any, X: Array) -> None:
    """Warn where one width for all features meets columns on very different scales."""
    gamma = getattr(model, "gamma", None)
    if (
        gamma is None
        or is_scale_free(gamma)
        or isinstance(gamma, Warp)
        or np.ndim(gamma)
        or kernel_name(model) == "linear"
        or len(X) < _LEAST_ROWS
    ):
        return
    if getattr(model, "gammas", None) is not None:
        return
    X = X[:: -(-len(X) // _ROWS_LOOKED_AT)]
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = X.std(axis=0)
        rounding = _ROUNDING * np.abs(X).max(axis=0)
    varies = np.flatnonzero((deviation > rounding) & np.isfinite(deviation))
    if varies.size < 2:
        return
    widest, narrowest = (int(varies[place(deviation[varies])]) for place in (np.argmax, np.argmin))
    ratio = deviation[widest] / deviation[narrowest]
    if ratio <= _FAR_APART:
        return
    names = coordinate_names(model, X.shape[1])
    warnings.warn(
        f"columns {names[widest]!r} and {names[narrowest]!r} have standard deviations {deviation[widest]:.3g} and "
        f"{deviation[narrowest]:.3g}, and gamma={gamma!r} is one width for all columns: those of small numbers have "
        "nearly no effect; use gamma='standard' or 'learn', or standardise the columns (StandardScaler)",
        UserWarning,
        stacklevel=3,
    )


def make_kernel(
    model: KernelParameters, gamma: Any, X: Array, weight: Array, random_state: Any = None, centre: Array | None = None
) -> Kernel:
    """Build an estimator's kernel, with a gamma, for data that begins with X; its centre is the first row if not given.

    Rows of X and their weights are what "scale" and "median" are taken from.
    """
    chosen: ChosenKernel | None = getattr(model, "_chosen", None)
    name = model.kernel if chosen is None else chosen.kernel
    if not isinstance(name, str) or name == "precomputed":
        name = "linear"  # on coordinates
    columns: Columns | None = getattr(model, "columns_", None)
    if columns is not None and not isinstance(gamma, (str, Warp)) and np.shape(gamma) == (len(columns.columns),):
        gamma = np.asarray(gamma)[columns.owner]  # one width a column
    metric = resolve_gamma(gamma, X, weight, random_state, name)
    more: tuple[Any, ...] = ()
    if isinstance(metric, Warp):
        more = ((metric.knots, metric.slopes),)
        metric = np.ones(metric.n_features)
    centre = np.ascontiguousarray(X[0] if centre is None else centre)
    return Kernel(name, metric, int(model.degree), float(model.coef0), centre, *more)


def resolve_gamma(gamma: Any, X: Array, sample_weight: Array, random_state: Any = None, kernel: str = "rbf") -> Any:
    """Return one width per feature, or the warp that was given.

    ``"scale"`` is one over the sum of the features' variances: scikit-learn's 1 / (d var(X)) on centred features,
    but unmoved by their offsets, like the kernels.  ``"standard"`` is 1 / d of the features that vary, each in units of
    its own variance (of its standard deviation for the laplacian, whose distance is not squared), and 0 for the others.
    ``"median"`` is 1 / (2 s^2) with s the median distance between distinct rows.  Weights count and rows of weight zero
    do not.  Where no rows differ there is nothing to measure and all give 1 / d, right for standardised features.
    """
    d = X.shape[1]
    if isinstance(gamma, Warp):
        if gamma.n_features != d:
            raise ValueError(f"gamma is a Warp of {gamma.n_features} features and X has {d}")
        return gamma
    if not isinstance(gamma, str):
        return _given_gamma(gamma, d)
    if gamma in ("learn", "warp"):
        raise ValueError(f"gamma={gamma!r} needs rows with targets here: fit first, or give gamma as a number")
    counts, weight = sample_weight > 0, sample_weight
    if not counts.all():
        X, weight = X[counts], sample_weight[counts]
    if len(X) == 0:
        raise ValueError(f"gamma={gamma!r} needs a row of positive weight; give gamma as a number")
    with np.errstate(over="ignore", invalid="ignore"):
        if gamma == "standard":
            return _standard(X, weight, kernel)
        if gamma == "scale":
            Z = X - X[0]  # about a row, so that a large common offset loses nothing
            part = weight / weight.sum()
            Z -= np.einsum("i,ij->j", part, Z)
            total = float(np.einsum("i,ij->j", part, np.square(Z, out=Z)).sum())
            value = 1.0 / total if total > 0 else 1.0 / d
        else:
            value = _median(X, random_state)
    if not np.isfinite(value) or value <= 0:
        raise ValueError(f"gamma={gamma!r} came out as {value}: the scale of X overflows; rescale X or give gamma")
    return np.full(d, value)


def _standard(X: Array, weight: Array, kernel: str) -> Array:
    Z = X - X[0]
    largest = np.abs(Z).max(axis=0)
    Z /= np.where(largest > 0, largest, 1.0)  # squares neither over- nor underflow
    mean = np.average(Z, axis=0, weights=weight)
    deviation = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weight))
    varies = (deviation > 0) & (largest > 0)
    if not varies.any():
        return np.full(len(varies), 1.0 / len(varies))
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies) / np.where(varies, largest, 1.0)
    widths = (inverse if kernel == "laplacian" else inverse**2) / varies.sum()
    if not (np.isfinite(widths[varies]) & (widths[varies] > 0)).all():
        j = int(np.flatnonzero(varies & ~(np.isfinite(widths) & (widths > 0)))[0])
        raise ValueError(
            f"gamma='standard' came out as {widths[j]} for column {j}: the scale of X overflows; rescale it"
        )
    return widths


def _given_gamma(gamma: float | ArrayLike, d: int) -> Array:
    try:
        widths = np.asarray(gamma, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"gamma must be one number or one per feature, got {gamma!r:.60}") from None
    if widths.ndim == 0:
        widths = np.full(d, float(widths))
    if widths.shape != (d,):
        raise ValueError(f"gamma has shape {widths.shape} but X has {d} features; give one number or one per feature")
    if not np.isfinite(widths).all() or (widths < 0).any() or not (widths > 0).any():
        raise ValueError(f"gamma must be finite, not negative and not all zero, got {gamma!r}")
    return np.ascontiguousarray(widths)


def _median(X: Array, random_state: Any) -> float:
    if len(X) > _MEDIAN_ROWS:
        X = X[random_numbers(random_state).choice(len(X), _MEDIAN_ROWS, replace=False)]
    Z = X - X[0]
    norms = (Z**2).sum(axis=1)
    squares = np.maximum(norms[:, None] + norms - 2.0 * Z @ Z.T, 0.0)[np.triu_indices(len(X), 1)]
    squares = squares[squares > 0]
    return 1.0 / (2.0 * float(np.median(squares))) if squares.size else 1.0 / X.shape[1]
