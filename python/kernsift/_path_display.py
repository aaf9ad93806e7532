"""The error of a pruned model against its size."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


class PruningPathDisplay:
    """Error or cost along the path of a pruned LS-SVM, against the number of kernels.

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
    >>> display = PruningPathDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        n_basis: NDArray[np.int64],
        values: NDArray[np.float64],
        ylabel: str,
        estimator_name: str | None = None,
        chosen: int | None = None,
    ) -> None:
        self.n_basis = n_basis
        self.values = values
        self.ylabel = ylabel
        self.estimator_name = estimator_name
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        what: str = "loo_error",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the path of a fitted sparse LS-SVM.

        Parameters
        ----------
        estimator : SparseLSSVMRegressor or SparseLSSVMClassifier
        X, y : array-like, optional
            Rows that took no part in the fit: the root mean square error (regression) or the error rate
            (classification) of every recorded model on them is plotted.
        what : {"loo_error", "cost"}, default="loo_error"
            Without X: the root mean square leave-one-out error, or the cost (summed over outputs).
        name : str, optional
            For the legend; the class name by default.
        ax : matplotlib Axes, optional
        **kwargs : dict
            For ``ax.plot``.
        """
        if not hasattr(estimator, "path_") or not hasattr(estimator, "at_size"):
            raise ValueError(
                f"estimator must be a fitted SparseLSSVMRegressor or SparseLSSVMClassifier, got {estimator!r}"
            )
        sizes = estimator.path_["n_basis"]
        if X is not None:
            if y is None:
                raise ValueError("y=None: give the targets of X, or neither")
            values, ylabel = cls._errors(estimator, sizes, X, y)
        elif what == "loo_error":
            values, ylabel = np.sqrt(estimator.path_["loo_error"]), "leave-one-out RMSE"
        elif what == "cost":
            cost = estimator.path_["cost"]
            values, ylabel = cost if cost.ndim == 1 else cost.sum(axis=1), "cost"
        else:
            raise ValueError(f"what={what!r} must be 'loo_error' or 'cost'")
        display = cls(
            n_basis=sizes,
            values=values,
            ylabel=ylabel,
            estimator_name=type(estimator).__name__ if name is None else name,
            chosen=estimator.n_basis_,
        )
        return display.plot(ax=ax, **kwargs)

    @staticmethod
    def _errors(
        estimator: Any, sizes: NDArray[np.int64], X: ArrayLike, y: ArrayLike
    ) -> tuple[NDArray[np.float64], str]:
        models = (estimator.at_size(int(n)) for n in sizes)
        truth = np.asarray(y)
        if hasattr(estimator, "classes_"):
            return np.array([np.mean(m.predict(X) != truth) for m in models]), "error rate"
        return np.array([np.sqrt(np.mean((m.predict(X) - truth) ** 2)) for m in models]), "RMSE"

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
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("PruningPathDisplay needs matplotlib: pip install kernsift[plot]") from error
        if ax is None:
            _, ax = plt.subplots()
        label = self.estimator_name if name is None else name
        (self.line_,) = ax.plot(self.n_basis, self.values, **{"label": label, **kwargs})
        if self.chosen is not None:
            at = int(np.flatnonzero(self.n_basis == self.chosen)[0])
            ax.plot(self.chosen, self.values[at], "o", color=self.line_.get_color())
        ax.set(xlabel="number of kernels", ylabel=self.ylabel)
        if self.line_.get_label():
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
