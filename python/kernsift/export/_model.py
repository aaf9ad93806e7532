"""What a fitted estimator computes, whatever its kind: the part all exports share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .. import _core
from ..base.arrays import Array
from ..base.expansion import Expansion, KernelExpansion
from ..base.kernel import TABLE
from ..base.pipeline import fold, is_pipeline
from ..base.steps import Coordinate, Steps
from ..base.validation import check_is_fitted
from ..base.warp import Warp, widths_of
from ..select.feature_vectors import FeatureVectorSelector

# Rows an export is compared with its estimator on.
_PROBES = 128


class Warping(NamedTuple):
    """w_j = sum_b slopes[j, b] clip((u_j - knots[j, b]) per_length[j, b], 0, 1); a missing bin has slope 0."""

    knots: Array
    per_length: Array
    slopes: Array

    @classmethod
    def of(cls, warp: Warp, centre: Array) -> Self:
        """Of a warp, for u = x - centre."""
        there = np.isfinite(warp.slopes)
        with np.errstate(invalid="ignore"):
            begin, length = warp.knots[:, :-1] - centre[:, None], np.diff(warp.knots, axis=1)
        return cls(*(np.where(there, part, 0.0) for part in (begin, 1.0 / length, warp.slopes)))


class Form(NamedTuple):
    """A stationary kernel as a function of z - vectors, z = (x - centre) scale, or w(x - centre) - scale if warped."""

    centre: Array
    scale: Array
    vectors: Array
    warping: Warping | None


@dataclass(frozen=True)
class Term:
    """Σᵢ coef[i] k(vectors[i], x): one kernel on its vectors, a column of coefficients an output."""

    kernel: _core.Kernel
    vectors: Array
    coef: Array
    slopes: bool = False  # the linear part beside the kernels: a linear kernel on the unit vectors

    @property
    def weights(self) -> Array:
        """Of a linear kernel: the (d, outputs) matrix its vectors collapse to."""
        return self.vectors.T @ self.coef

    def stationary_form(self, dtype: Any) -> Form:
        """Return the form whose centre is that of the vectors.

        Both it and the scale are numbers of `dtype`, so that a feature with a large offset loses nothing to rounding.
        """
        centre = self.vectors.mean(axis=0).astype(dtype).astype(np.float64)
        gamma = widths_of(self.kernel)
        if isinstance(gamma, Warp):
            warped = gamma.transform(self.vectors)
            middle = warped.mean(axis=0).astype(dtype).astype(np.float64)
            return Form(centre, middle, warped - middle, Warping.of(gamma, centre))
        scale = (gamma if self.kernel.name == "laplacian" else np.sqrt(gamma)).astype(dtype).astype(np.float64)
        return Form(centre, scale, (self.vectors - centre) * scale, None)


@dataclass(frozen=True)
class Model:
    """intercept + the sum of the terms, and what is made of it."""

    estimator: str
    kind: str  # "regressor", "classifier" or "transformer"
    terms: tuple[Term, ...]
    intercept: Array
    n_features: int
    classes: NDArray[Any] | None = None
    temperature: float | None = None  # of a classifier with probabilities
    steps: Steps | None = None  # for ONNX and C: what comes before the features
    bounds: Array | None = None  # least and largest output, (outputs, 2)

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)

    @property
    def n_columns(self) -> int:
        """Numbers in a row as it is given."""
        return self.n_features if self.steps is None else len(self.steps.names)

    @property
    def constants_of_steps(self) -> Array:
        """Numbers that the operations before the features take."""
        found: list[Any] = []
        for coordinate in () if self.steps is None else self.steps.columns:
            for kind, *how in coordinate.operations:
                found += [*how[0], *how[1], how[2]] if kind == "code" else how
        return np.array([value for value in found if value is not None], dtype=np.float64)

    @property
    def n_basis(self) -> int:
        return sum(len(t.vectors) for t in self.terms if not t.slopes)

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        return self.terms[0].kernel.name if self.terms else "linear"

    def scores(self, X: Array) -> Array:
        """Outputs in float64, (n, outputs)."""
        out = np.tile(self.intercept, (len(X), 1))
        rows = np.ascontiguousarray(X, dtype=np.float64)
        for term in self.terms:
            out += term.kernel.expand(term.vectors, term.coef, np.zeros(self.n_outputs), rows)
        return out if self.bounds is None else np.clip(out, *self.bounds.T)

    def rounding(self, rows: Array, dtype: str) -> float:
        """A bound of what arithmetic in `dtype` changes of the outputs on `rows`, relative to the largest output.

        A kernel value is off by a few units in the last place for each feature and each unit of its argument's size;
        the outputs add as many as there are vectors, each times its coefficient.
        """
        size = np.abs(self.intercept)
        units = float(self.n_features)
        for term in self.terms:
            kernel, coef = term.kernel, np.abs(term.coef)
            if not kernel.stationary:  # values of either sign: those of absolute values bound them
                vectors, x = np.ascontiguousarray(np.abs(term.vectors)), np.ascontiguousarray(np.abs(rows))
                units = max(units, float(self.n_features * (kernel.degree if kernel.name == "polynomial" else 1)))
                size = size + kernel.expand(vectors, coef, np.zeros(self.n_outputs), x).max(axis=0)
            else:
                form = term.stationary_form(dtype)
                units = max(units, float(np.abs(form.vectors).sum(axis=1).max()))
                if form.warping is not None:  # a knot is off by its own rounding, times the slope there
                    knots, per_length, slopes = form.warping
                    units = max(units, float((slopes * (1 + np.abs(knots) * per_length)).sum()))
                size = size + coef.sum(axis=0)
        scale = float(np.abs(self.scores(rows)).max())
        eps = float(np.finfo(np.dtype(dtype)).eps)
        return 32 * eps * (1 + units + self.n_basis) * float(size.max()) / (scale if scale > 0 else 1.0)

    def too_large(self, what: str, instead: str = "") -> ValueError:
        """The error of a model that does not fit on the target."""
        kernels = f"{self.n_basis} kernels on {self.n_features} features"
        return ValueError(f"{what}: {kernels}; fit with a smaller max_basis{instead}")

    @cached_property
    def probes(self) -> Array:
        """Rows to compare on: vectors of the basis and points between them."""
        if self.n_basis == 0:
            return np.zeros((1, self.n_features))
        vectors = np.concatenate([t.vectors for t in self.terms if not t.slopes])
        take = np.unique(np.linspace(0, len(vectors) - 1, _PROBES).astype(np.intp))
        vectors = vectors[take]
        return np.concatenate([vectors, 0.5 * (vectors + np.roll(vectors, 1, axis=0))])

    def error_of(self, outputs: Array, X: Array) -> float:
        """Largest difference of `outputs` from this model on X, relative to the largest output."""
        truth = self.scores(X)
        scale = float(np.abs(truth).max())
        difference = float(np.abs(outputs - truth).max())
        return difference / scale if scale > 0 else difference


def describe(estimator: Any, target: str | None = None) -> Model:
    """Read a fitted kernsift estimator; for an export to "ONNX", "C" or "LIBSVM" it must have the kernel.

    Of a pipeline, steps that are affine in each column become part of kernels and vectors.
    """
    estimator = fold(estimator) if is_pipeline(estimator) else estimator
    estimator = getattr(estimator, "model_", estimator)  # of the front door, what it has chosen
    if isinstance(estimator, FeatureVectorSelector):
        check_is_fitted(estimator)
        terms, intercept = _of_selector(estimator)
    elif isinstance(estimator, Expansion):
        terms, intercept = _of_model(estimator._fitted())
    else:
        raise TypeError(f"a fitted estimator of kernsift is needed, got {type(estimator).__name__}")
    columns = getattr(estimator, "columns_", None)
    steps = columns if isinstance(columns, Steps) else None
    affine = None if steps is None else steps.affine()
    computes = target in ("ONNX", "C")  # the steps of a pipeline, before the kernels
    fills = computes and getattr(estimator, "_takes_missing", False) and (columns is None or affine is not None)
    if fills:  # the front door fills in what is missing in a table of numbers
        steps, affine = _filled(estimator, steps), None
    shifted = any(t.kernel.name == "polynomial" for t in terms) and affine is not None and affine[2].any()
    if affine is not None and not (shifted and computes):
        terms, intercept = before(terms, intercept, int(estimator.n_features_in_), *affine, target or "a display")
        steps = None
    elif steps is not None and not computes:
        raise ValueError(
            f"{steps.described()}, and {target or 'a display'} takes numbers that are scaled at most: give rows that "
            "have passed the steps to the model behind them, pipeline[-1], or use to_onnx, which takes the pipeline"
        )
    elif steps is not None and target == "C" and steps.texts:
        raise ValueError(
            f"column {steps.names[min(steps.texts)]!r} holds texts, and C takes numbers: give rows that have passed "
            "the steps to the model behind them, pipeline[-1], or use to_onnx, which takes the pipeline"
        )
    elif columns is not None and steps is None and not fills:
        raise ValueError(
            f"{columns.described()} is encoded in this model, and {target or 'a display'} takes numbers: fit a model "
            "to the numbers model.columns_.encode(X), use that, and give it rows in the same coordinates"
        )
    names = [name for name, facts in TABLE.items() if target is None or facts[target.lower()]]
    for name in {t.kernel.name for t in terms if not t.slopes} - set(names):
        raise ValueError(
            f"kernel {name!r} has no export to {target}: there is no {name} kernel in it, but {', '.join(names)}; fit "
            "with one of them, or use another export"
        )
    classes = getattr(estimator, "classes_", None)
    if classes is not None and len(classes) == 1:
        raise ValueError("a stream of one class so far has nothing to export: learn rows of another first")
    kind = "regressor" if classes is None else "classifier"
    return Model(
        estimator=type(estimator).__name__,
        kind="transformer" if isinstance(estimator, FeatureVectorSelector) else kind,
        terms=tuple(t for t in terms if len(t.vectors)),
        intercept=intercept,
        n_features=int(estimator.n_features_in_) if steps is None else len(steps.columns),
        classes=classes,
        temperature=estimator.temperature_ if hasattr(estimator, "predict_proba") else None,
        steps=steps,
        bounds=_bounds(estimator),
    )


def _bounds(estimator: Any) -> Array | None:
    """Bounds of the predictions of a stream with a linear part."""
    found = getattr(getattr(estimator, "_core", None), "bounds", None)
    return None if found is None or not len(found) else np.asarray(found)


def _filled(estimator: Any, steps: Steps | None) -> Steps:
    """The steps before a model, and then the mean of its kernels' centres in place of what is missing."""
    if steps is None:
        names = tuple(getattr(estimator, "feature_names_in_", range(estimator.n_features_in_)))
        steps = Steps(names, tuple(Coordinate(j, str(name)) for j, name in enumerate(names)))
    means = estimator.basis_vectors_.mean(axis=0)
    filled = (c.then(("fill", None, float(mean))) for c, mean in zip(steps.columns, means, strict=True))
    return Steps(steps.names, tuple(filled))


def before(
    terms: list[Term],
    intercept: Array,
    width: int,
    places: NDArray[np.intp],
    slopes: Array,
    constants: Array,
    target: str,
) -> tuple[list[Term], Array]:
    """Terms and intercept for rows x of `width` columns, of those for coordinates z = slopes x[places] + constants."""

    def spread(values: Array, rest: float = 0.0) -> Array:
        out = np.full((*values.shape[:-1], width), rest)
        out[..., places] = values
        return out

    found = []
    for term in terms:
        old, linear = term.kernel, term.kernel.name == "linear"
        centred = spread(term.vectors * slopes if linear else (term.vectors - constants) / slopes)
        if linear:
            intercept = intercept + (term.vectors @ constants) @ term.coef
        elif old.name == "polynomial" and constants.any():
            raise ValueError(
                f"the polynomial kernel of shifted columns is none of their own, and {target} has no other: fit the "
                "scaler with with_mean=False (MaxAbsScaler), or another kernel"
            )
        gamma = spread(old.gamma * (np.abs(slopes) if old.name == "laplacian" else slopes**2))
        warp: tuple[Any, ...] = ()
        if old.warp is not None:
            gamma, warp = np.ones(width), (_warp_before(*old.warp, width, places, slopes, constants),)
        centre = centred.mean(axis=0) if len(centred) else np.zeros(width)
        kernel = _core.Kernel(old.name, gamma, old.degree, old.coef0, np.ascontiguousarray(centre), *warp)
        found.append(Term(kernel, np.ascontiguousarray(centred), term.coef, term.slopes))
    return found, intercept


def _warp_before(
    knots: Array, rises: Array, width: int, places: NDArray[np.intp], slopes: Array, constants: Array
) -> tuple[Array, Array]:
    """The warp of x whose values are those of a warp of z = slopes x + constants; slopes of scalers are positive."""
    new_knots, new_rises = np.full((width, knots.shape[1]), np.nan), np.full((width, rises.shape[1]), np.nan)
    new_knots[:, 0] = 0.0  # one knot: switched off
    new_knots[places], new_rises[places] = (knots - constants[:, None]) / slopes[:, None], rises
    return new_knots, new_rises


def _of_model(model: Any) -> tuple[list[Term], Array]:
    if isinstance(model, KernelExpansion):
        return [Term(*term) for term in model.terms()], model.intercept
    coef = np.ascontiguousarray(model.coef.reshape(model.n_basis, getattr(model, "n_outputs", 1)))
    terms, slopes = [Term(model.kernel, model.basis, coef)], getattr(model, "slopes", np.zeros((0, 1)))
    if len(slopes):
        linear = _core.Kernel("linear", np.ones(len(slopes)), 3, 1.0, np.zeros(len(slopes)))
        terms.append(Term(linear, np.eye(len(slopes)), slopes, slopes=True))
    return terms, getattr(model, "intercept", np.zeros(1))  # KernelLSTD has none


def _of_selector(estimator: Any) -> tuple[list[Term], Array]:
    # w(x) = L^-1 k(x), so output i has column i of L^-T for coefficients
    m = len(estimator.basis_vectors_)
    inverse = solve_triangular(estimator._factor, np.eye(m), lower=True, trans="T")
    kernel = _core.Kernel(*estimator._kernel_arguments)
    return [Term(kernel, estimator.basis_vectors_, np.ascontiguousarray(inverse))], np.zeros(m)
