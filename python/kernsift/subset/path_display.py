"""The error of a pruned model against its size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.axes import Display, axes_or_new
from ..base.kernel import parameters
from ..base.validation import at_this_moment, check_is_fitted
from .base import SubsetBase


@parameters
class PruningPathDisplay(Display):
    """Error, score or cost along the path of a pruned model, against the number of kernels.

    Made by `from_estimator`; `plot` draws it again, on other axes too.

    Parameters
    ----------
    n_basis : ndarray of shape (n_recorded,)
        Sizes.
    values : ndarray of shape (n_recorded,)
        What is plotted.
    ylabel : str
    estimator_name : str, optional
        For the legend.
    chosen : int, optional
        Size of the model in use, marked.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import PruningPathDisplay, SparseLSSVMRegressor
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = SparseLSSVMRegressor(gamma=1.0, max_basis=10).fit(X, np.sinc(X[:, 0]))
    >>> display = PruningPathDisplay.from_estimator(model)
    """

    n_basis: NDArray[np.int64]
    values: Array
    ylabel: str
    estimator_name: str | None = None
    chosen: int | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        what: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the path of a fitted sparse LS-SVM, of a subset of regressors with basis="pruned", or of a front door.

        Parameters
        ----------
        estimator : SparseLSSVM*, SubsetLSSVM*, KernelRegressor or KernelClassifier
            Of a subset of regressors some twenty sizes up to twice ``n_basis_`` are drawn, the ridge of each as the
            estimator chooses it, or with what="held_out" those that were compared.
        X, y : array-like, optional
            Rows that took no part in the fit: the root mean square error (regression) or the error rate
            (classification) of every recorded model on them is plotted.
        what : {"loo_error", "cost", "gcv", "held_out"}, optional
            Without X: the root mean square leave-one-out error (sparse LS-SVM, the default there), the cost, or the
            generalised cross-validation score (subset of regressors, the default there); summed over outputs.
            "held_out", of a subset of regressors with max_basis="auto" or size="held-out": the root mean square error
            on rows held out, ``path_``, with the size that was chosen; the default where the path itself is not kept.
        name : str, optional
            For the legend; the class name by default.
        ax, **kwargs
            As in `plot`.
        """
        if X is not None and y is None:
            raise ValueError("y=None: give the targets of X, or neither")
        name = type(estimator).__name__ if name is None else name
        estimator = getattr(estimator, "model_", estimator)  # of a front door
        chosen = getattr(estimator, "n_basis_", None)
        if X is None and cls._is_held_out(estimator, what):
            sizes, values, ylabel, chosen = cls._held_out(estimator)
        elif isinstance(estimator, SubsetBase):
            sizes, values, ylabel = cls._of_subset(estimator, X, y, what)
        elif not isinstance(getattr(estimator, "path_", None), dict):
            raise ValueError(
                "estimator must be a fitted SparseLSSVMRegressor or SparseLSSVMClassifier, a SubsetLSSVM estimator, or "
                f"a front door that chose one, got {estimator!r}"
            )
        else:
            sizes = estimator.path_["n_basis"]
            if X is not None:
                values, ylabel = cls._errors((estimator.at_size(int(n)) for n in sizes), X, y)
            elif what in (None, "loo_error"):
                values, ylabel = np.sqrt(estimator.path_["loo_error"]), "leave-one-out RMSE"
            elif what == "cost":
                values, ylabel = estimator.path_["cost"].reshape(len(sizes), -1).sum(axis=1), "cost"
            else:
                raise ValueError(f"what={what!r} must be 'loo_error' or 'cost'")
        display = cls(n_basis=sizes, values=values, ylabel=ylabel, estimator_name=name, chosen=chosen)
        return display.plot(ax=ax, **kwargs)

    @staticmethod
    def _is_held_out(estimator: Any, what: str | None) -> bool:
        """Whether errors on rows held out are drawn: `what` says so, or there is nothing else."""
        if not isinstance(estimator, SubsetBase):
            return False
        return what == "held_out" or (what is None and estimator._path is None and _sizes_of(estimator) is not None)

    @staticmethod
    def _held_out(estimator: Any) -> tuple[NDArray[np.int64], Array, str, int | None]:
        check_is_fitted(estimator)
        path = _sizes_of(estimator)
        if path is None:
            raise ValueError(
                "what='held_out' needs sizes that were compared on rows held out: fit with max_basis='auto' or "
                "size='held-out'"
            )
        sizes: NDArray[np.int64] = path["n_basis"]
        targets = " of targets ±1" if hasattr(estimator, "classes_") else ""
        reached: list[int] = sizes[sizes >= estimator.n_basis_].tolist()  # fewer than chosen where the rows span less
        return sizes, np.sqrt(path["error"]), f"RMSE{targets} on rows held out", min(reached, default=None)

    @classmethod
    def _of_subset(
        cls, estimator: Any, X: ArrayLike | None, y: ArrayLike | None, what: str | None
    ) -> tuple[NDArray[np.int64], Array, str]:
        check_is_fitted(estimator)
        if estimator._path is None:
            raise ValueError(
                "the estimator has no path: fit it with basis='pruned' and keep_path=True, and learn no rows since"
            )
        most = min(len(estimator._path.order), 2 * estimator.n_basis_)
        sizes = np.unique(np.append(np.geomspace(1, most, 20).astype(np.int64), estimator.n_basis_))[::-1]
        # resize replaces what it changes, so that a shallow copy does not change the estimator
        models = (at_this_moment(estimator).resize(int(n)) for n in sizes)
        if X is not None:
            return sizes, *cls._errors(models, X, y)
        if what not in (None, "gcv", "cost"):
            raise ValueError(f"what={what!r} must be 'gcv', 'cost' or 'held_out'")
        name = "cost" if what == "cost" else "gcv"
        values = np.array([float(np.sum(getattr(m, f"{name}_"))) for m in models])
        return sizes, values, {"gcv": "GCV", "cost": "cost"}[name]

    @staticmethod
    def _errors(models: Iterable[Any], X: ArrayLike, y: Any) -> tuple[Array, str]:
        truth, errors, ylabel = np.asarray(y), [], "RMSE"
        for model in models:
            if hasattr(model, "classes_"):
                errors.append(np.mean(model.predict(X) != truth))
                ylabel = "error rate"
            else:
                errors.append(np.sqrt(np.mean((model.predict(X) - truth) ** 2)))
        return np.array(errors), ylabel

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        name : str, optional
            For the legend.
        **kwargs : dict
            For ``ax.plot``.
        """
        ax = axes_or_new(ax)
        label = self.estimator_name if name is None else name
        (self.line_,) = ax.plot(self.n_basis, self.values, **{"label": label, **kwargs})
        if self.chosen is not None:
            at = int(np.flatnonzero(self.n_basis == self.chosen)[0])
            ax.plot(self.chosen, self.values[at], "o", color=self.line_.get_color())
        ax.set(xlabel="number of kernels", ylabel=self.ylabel)
        if self.line_.get_label():
            ax.legend()
        return self._drawn(ax)


def _sizes_of(estimator: Any) -> dict[str, Any] | None:
    """Sizes and their errors on rows held out, if any were compared."""
    path: dict[str, Any] | None = getattr(estimator, "path_", None)
    return path if path and len(path["n_basis"]) else None
