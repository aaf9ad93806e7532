"""Error and size of a model along a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Array
from ..base.axes import Display, axes_or_new
from ..base.kernel import parameters
from ._stream import copy_of_stream, running_mean


@parameters
class PrequentialDisplay(Display):
    """Error of predictions made before their row was learned, and the number of kernels.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Row numbers.
    loss : ndarray of shape (n,)
        Loss of each row: squared error, or 0 and 1 for classes.
    n_basis : ndarray of shape (n,) or None
        Kernels before each row.
    window : int
        Rows the running error is taken over.
    classes : bool
        Whether the loss is that of classes.
    estimator_name : str, optional
        For the legend.

    Attributes
    ----------
    ax_, figure_, line_
        Axes, figure and line of the running error.
    ax_basis_, line_basis_
        Axes and line of the number of kernels; None without.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.display import PrequentialDisplay
    >>> t = np.arange(1000) / 20
    >>> X, y = np.column_stack([np.sin(t), np.cos(t)]), np.sin(2 * t)
    >>> display = PrequentialDisplay.from_estimator(OnlineLSSVMRegressor(gamma=1.0), X, y)
    >>> display.plot(against="kernels", marker="o").ax_.get_xlabel()
    'number of kernels'

    Another model's predictions in the same picture:

    >>> last = PrequentialDisplay.from_predictions(y[1:], y[:-1], name="the last value", ax=display.ax_)
    >>> bool(display.running_error[-1] < last.running_error[-1])
    True
    """

    rows: NDArray[np.int64]
    loss: Array
    n_basis: NDArray[np.int64] | None = None
    window: int = 100
    classes: bool = False
    estimator_name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        window: int = 100,
        against: str = "rows",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Let a copy of an online estimator predict and then learn rows, and draw.

        Parameters
        ----------
        estimator : OnlineLSSVMRegressor, OnlineLSSVMClassifier or KRLSRegressor
            Goes on from where it is, fitted or not; stays as it is.
        X, y : array-like
            The stream.
        window : int, default=100
            Rows the running error is taken over.
        against, ax, **kwargs
            As in `plot`.
        name : str, optional
            For the legend; the class name by default.
        """
        model = copy_of_stream(estimator, cls.__name__)
        begin = model.n_samples_seen_ if model.__sklearn_is_fitted__() else 0
        classes = hasattr(model, "decision_function")
        result = model.prequential(X, y)
        loss = result.error if classes else result.error**2
        loss = loss.reshape(len(loss), -1).mean(axis=1)
        display = cls(
            rows=begin + np.arange(len(loss)),
            loss=loss,
            n_basis=result.n_basis,
            window=window,
            classes=classes,
            estimator_name=type(estimator).__name__ if name is None else name,
        )
        return display.plot(ax=ax, against=against, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        n_basis: ArrayLike | None = None,
        window: int = 100,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw predictions recorded elsewhere: what ``prequential`` answered, or another model's.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels if ``y_true`` holds no numbers, or whole numbers that ``y_pred`` holds too.
        n_basis : array-like of shape (n_samples,), optional
            Kernels before each row.
        window : int, default=100
        name, ax, **kwargs
            As in `plot`.
        """
        truth, said = np.asarray(y_true), np.asarray(y_pred)
        if truth.shape != said.shape or not len(truth):
            raise ValueError(f"y_true has shape {truth.shape} and y_pred {said.shape}: one prediction for each row")
        classes = truth.dtype.kind not in "f" and said.dtype.kind not in "f"
        if classes:
            loss = (truth != said).astype(np.float64).reshape(len(truth), -1).mean(axis=1)
        else:
            loss = ((truth - said) ** 2).reshape(len(truth), -1).mean(axis=1)
        sizes = None if n_basis is None else np.asarray(n_basis)
        if sizes is not None and sizes.shape != (len(truth),):
            raise ValueError(f"n_basis has shape {sizes.shape}, expected {(len(truth),)}: one number for each row")
        display = cls(
            rows=np.arange(len(truth)),
            loss=loss,
            n_basis=sizes,
            window=window,
            classes=classes,
            estimator_name=name,
        )
        return display.plot(ax=ax, **kwargs)

    @property
    def running_error(self) -> Array:
        """Root mean square error, or error rate, of the last ``window`` rows."""
        mean = running_mean(self.loss, self.window)
        return mean if self.classes else np.sqrt(mean)

    def plot(self, ax: Any = None, *, against: str = "rows", name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        against : {"rows", "kernels"}, default="rows"
            "rows": over time, the number of kernels on a second axis.  "kernels": the error when the model left each
            size, the growing path.
        name : str, optional
            For the legend.
        **kwargs : dict
            For ``ax.plot``.
        """
        if against not in ("rows", "kernels"):
            raise ValueError(f"against={against!r} must be 'rows' or 'kernels'")
        if against == "kernels" and self.n_basis is None:
            raise ValueError("against='kernels' needs the number of kernels before each row: give n_basis")
        error, sizes = self.running_error, self.n_basis
        ax = axes_or_new(ax)
        label = {"label": self.estimator_name if name is None else name}
        self.ax_basis_ = self.line_basis_ = None
        if against == "kernels":
            assert sizes is not None
            last = np.append(np.flatnonzero(np.diff(sizes)), len(sizes) - 1)
            (self.line_,) = ax.plot(sizes[last], error[last], **{**label, **kwargs})
            ax.set_xlabel("number of kernels")
        else:
            (self.line_,) = ax.plot(self.rows, error, **{**label, **kwargs})
            ax.set_xlabel("row")
            if sizes is not None:
                self.ax_basis_ = ax.twinx()
                (self.line_basis_,) = self.ax_basis_.plot(self.rows, sizes, color="0.6", linestyle="--", zorder=0)
                self.ax_basis_.set_ylabel("number of kernels (dashed)", color="0.4")
                self.ax_basis_.set_ylim(0, 1.3 * max(int(sizes.max()), 1))  # the legend goes above
        ax.set_ylabel(f"{'error rate' if self.classes else 'RMSE'} of the last {self.window} rows")
        highest = max(float(np.max(line.get_ydata())) for line in ax.get_lines())  # other models' too
        ax.set_ylim(0, 1.3 * max(highest, np.finfo(np.float64).tiny))
        if label["label"]:
            ax.legend(loc="upper center")
        return self._drawn(ax)
