"""The fitted model of every family, f(x) = intercept + Σᵢ coef[i] k(basis[i], x): its attributes and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from .. import _core
from ..io.plain import record
from .arrays import Array
from .estimator import Estimator
from .threads import n_threads
from .types import KernelSetting
from .validation import validate_data
from .warp import Warp, widths_of


@record("KernelExpansion")
@dataclass(frozen=True)
class KernelExpansion:
    """Vectors, coefficients and kernels of a model that needs nothing else to predict.

    A stream's core has the same attributes, so that both can stand behind an estimator.
    """

    kernel_arguments: tuple[Any, ...]  # name, gamma, degree, coef0, centre
    basis: Array
    indices: NDArray[np.int64]
    coef: Array  # (m, outputs)
    intercept: Array
    cost: Array
    noise_variance: Array
    gammas: Array | None = None  # several kernels that differ in gamma,
    which: NDArray[np.intp] | None = None  # and the number of that of each vector

    @property
    def n_basis(self) -> int:
        return len(self.basis)

    @property
    def kernel(self) -> _core.Kernel:
        """The kernel, or the first of several."""
        return _core.Kernel(*self.kernel_arguments)

    @property
    def expansion(self) -> tuple[Array, Array, Array]:
        """Arguments of the kernel's `expand` before the rows."""
        return self.basis, np.ascontiguousarray(self.coef), self.intercept

    def kernels(self) -> list[_core.Kernel]:
        """Return the kernels: one, or as many as there are widths."""
        name, gamma, *rest = self.kernel_arguments
        gammas = [gamma] if self.gammas is None else self.gammas
        return [_core.Kernel(name, np.ascontiguousarray(g), *rest) for g in gammas]

    def terms(self) -> list[tuple[_core.Kernel, Array, Array]]:
        """Return each kernel with its vectors and coefficients."""
        coef = np.ascontiguousarray(self.coef)
        if self.gammas is None:
            return [(self.kernel, self.basis, coef)]
        members = [self.which == g for g in range(len(self.gammas))]
        return [(k, self.basis[mine], coef[mine]) for k, mine in zip(self.kernels(), members, strict=True)]

    def predict(self, rows: NDArray[Any], threads: int = 1) -> Array:
        """Return f(x), (n, outputs)."""
        out, constant = None, self.intercept
        for kernel, basis, coef in self.terms():
            if out is None or len(basis):
                part = kernel.expand(basis, coef, constant, rows, threads)
                out, constant = (part if out is None else out + part), np.zeros_like(constant)
        if out is None:
            raise ValueError("this model has no kernel; fit it again")
        return out


# Attributes of a fitted model that predictions need, or that say what it is.
_TO_PREDICT = (
    "_flat", "n_features_in_", "feature_names_in_", "classes_", "alpha_", "gamma_", "gammas_", "n_samples_seen_",
    "search_", "_notes", "columns_", "_encodes", "_takes_missing",
)  # fmt: skip
_OF_WIDTHS = ("gamma", "relevance", "switched_off", "alpha", "error")


class Expansion(Estimator):
    """Attributes and scores of a fitted model, which is an expansion unless a family has another (`_model`)."""

    _flat: bool | None = None  # whether one output was given as a vector: predictions are vectors too
    _encodes = False  # whether `columns_` are the steps of a pipeline, before every row
    _takes_missing = False  # whether NaN in a table of numbers is a missing value
    _in_single = False  # whether rows of float32 are predicted in single precision
    _to_judge = False  # whether errors on rows held out are wanted where there is nothing to choose
    keep: Literal["all", "predict"] = "all"  # or "predict": what a fit leaves
    n_jobs: int | None = None
    kernel: KernelSetting
    max_basis: Any = None
    # attributes that `fit` leaves behind
    _former: tuple[str, ...] = ("learned_gamma_", "search_", "_notes", "_only_predicts", "_temperature")

    _expansion: KernelExpansion | None = None
    _history: tuple[str, ...] = ()  # attributes that say how the model was chosen
    _only_predicts = False  # whether the rest was left out of its file
    _temperature: float | None = None  # of such a classifier
    learned_gamma_: dict[str, Any]

    def _model(self) -> Any:
        """The expansion or, of a stream, its core; None before a fit."""
        return self._expansion

    def _checked(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None, *, begin: bool = True) -> Any:
        """Rows that begin a model, or go on with it."""
        raise NotImplementedError

    def _prepare(self, rows: Any) -> None:
        """Choose what is left open before a model begins with checked rows."""

    def _fit_rows(self, rows: Any) -> None:
        """Fit the model to checked rows."""
        raise NotImplementedError

    def _to_predict(self) -> Self:
        model = self._fitted()
        if not isinstance(model, KernelExpansion):
            return super()._to_predict()
        small = type(self).__new__(type(self))
        for name in (*self.get_params(deep=False), *_TO_PREDICT, *self._history):
            if hasattr(self, name) and not isinstance(getattr(type(self), name, None), property):
                setattr(small, name, getattr(self, name))
        small._expansion, small._only_predicts = model, True
        if hasattr(self, "temperature_"):
            kept = isinstance(getattr(type(self), "temperature_", None), property)
            setattr(small, "_temperature" if kept else "temperature_", float(self.temperature_))
        if hasattr(self, "learned_gamma_"):
            small.learned_gamma_ = {name: self.learned_gamma_[name] for name in _OF_WIDTHS}
        return small

    def _needs_all(self, what: str) -> None:
        """Refuse what a model that was saved to predict cannot do."""
        if self._only_predicts:
            raise ValueError(
                f"{what} needs more than predictions do, which is all that what='predict' of save or keep='predict' of "
                "a fit has left"
            )

    def _go_on(self, X: ArrayLike, y: ArrayLike, sample_weight: Any, *classes: Any) -> None:
        """Learn further rows, where a family can."""
        raise NotImplementedError

    def _fitted(self) -> Any:
        model = self._model()
        if model is None:
            verbs = [f"'{verb}'" for verb in ("fit", "partial_fit") if hasattr(self, verb)]
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call {' or '.join(verbs)} first."
            )
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return self._model() is not None

    def _columns(self, values: Array) -> Any:
        """Values of each output, the only one's as a vector or a number where y was a vector."""
        if not self._flat:
            return values
        return values[:, 0] if values.ndim == 2 else float(values[0])

    @property
    def basis_vectors_(self) -> Array:
        """The kernels' centres, (n_basis_, n_features_in_); in the coordinates of ``columns_`` where there is one."""
        return self._fitted().basis

    @property
    def basis_indices_(self) -> NDArray[np.int64]:
        """Row numbers of the kernels' centres in the order seen; -1 for vectors that are no rows."""
        return self._fitted().indices

    @property
    def n_basis_(self) -> int:
        """Number of kernels."""
        return self._fitted().n_basis

    @property
    def kernel_(self) -> str:
        """Name of the kernel in use; of kernel="auto" the one that was chosen."""
        name: str = self._fitted().kernel.name
        return name

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the kernels, (n_basis_,) or (n_basis_, outputs)."""
        return self._columns(self._fitted().coef)

    @property
    def intercept_(self) -> Any:
        """The constant, one per output."""
        return self._columns(self._fitted().intercept)

    @property
    def feature_importances_(self) -> Array:
        """Part that each column of X has in distances: of the rows widths were learned on, or of the kernels' centres.

        Squared distances, of the laplacian kernel absolute ones; of the linear kernel the changes that a column makes
        to predictions.  The parts add up to one.
        """
        model = self._fitted()
        learned = getattr(self, "learned_gamma_", None)
        parts = _importances(model) if learned is None else np.asarray(learned["relevance"], dtype=np.float64)
        columns = getattr(self, "columns_", None)
        return parts if columns is None else columns.by_column(parts)

    @property
    def cost_(self) -> Any:
        """Regularised cost ξ, per output."""
        return self._columns(self._fitted().cost)

    @property
    def noise_variance_(self) -> Any:
        """Estimate of the noise variance, per output."""
        return self._columns(self._fitted().noise_variance)

    def _rows(self, X: ArrayLike) -> Array:
        self._fitted()
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")

    def _scores(self, X: ArrayLike) -> NDArray[Any]:
        """f(x), (n, outputs)."""
        model, threads = self._fitted(), n_threads(self.n_jobs)
        dtypes = [np.float64, np.float32] if self._in_single else np.float64
        rows = validate_data(self, X, reset=False, dtype=dtypes, order="C")
        if rows.dtype == np.float32:
            return model.kernel.expand_single(*model.expansion, rows, threads)
        return model.predict(rows, threads)


def _importances(model: Any) -> Array:
    """Parts of the features in the mean distance of the kernels' centres."""
    kernel, centres = model.kernel, model.basis
    if kernel.name == "polynomial":
        raise AttributeError(
            "feature_importances_ needs a kernel of distances, or the linear one: of the polynomial kernel use "
            "sklearn.inspection.permutation_importance"
        )
    metric = widths_of(kernel)
    if isinstance(metric, Warp):
        centres, metric = metric.transform(centres), np.ones(centres.shape[1])
    if kernel.name == "linear":
        parts = np.abs(centres.T @ model.coef).sum(axis=1) * centres.std(axis=0)
    elif kernel.name == "laplacian":
        m = len(centres)
        order = 2.0 * np.arange(m) - m + 1.0
        parts = metric * (order @ np.sort(centres, axis=0)) / max(m, 1) ** 2
    else:
        parts = metric * centres.var(axis=0)
    return parts / parts.sum() if parts.any() else parts
