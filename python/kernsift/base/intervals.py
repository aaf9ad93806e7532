"""Intervals of regressors, and noise that depends on the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .estimator import in_precision_of
from .left_out import LeftOut, check_coverage
from .noise import NoiseField, NoiseParameter
from .targets import Regression
from .threads import n_threads
from .validation import at_this_moment


class Intervals(NoiseParameter, Regression):
    """Standard deviations and intervals calibrated by rows of the fit, each left out."""

    _calibration: LeftOut | None = None
    _cache: dict[str, Any]

    def _left_out(self) -> LeftOut | None:
        """Standardised errors of these rows; None of a model saved by an older version."""
        return self._calibration

    def _left_out_rows(self) -> Array:
        """These rows themselves."""
        raise NotImplementedError

    def _noise_field(self) -> NoiseField | None:
        """How the noise depends on the input, by these rows; None where they cannot say."""
        if "noise" not in self._cache:
            left_out = self._left_out()
            assert left_out is not None
            self._cache["noise"] = NoiseField.of(self._fitted(), self._left_out_rows(), left_out)
        field: NoiseField | None = self._cache["noise"]
        return field

    def _calibrated(self) -> tuple[NoiseField | None, LeftOut | None]:
        """What is used of both, by the parameter ``noise``."""
        left_out = self._left_out()
        field = None if self.noise == "constant" or left_out is None else self._noise_field()
        if field is None or left_out is None or not field.outputs(self.noise).any():
            return None, left_out
        return field, field.standardised(left_out, self.noise)

    def _std_factors(self, X: Array, mean: Array) -> Array:
        field, left_out = self._calibrated()
        if left_out is None:
            return super()._std_factors(X, mean)
        rms: Array = left_out.rms[None, :]
        return rms if field is None else rms * field.at(X, mean, self.noise, n_threads(self.n_jobs))

    @property
    def noise_(self) -> str:
        """What is in use of ``noise``: "input" where that of an output depends on the input, else "constant"."""
        self._fitted()
        self._needs_all("noise_")
        return "constant" if self._calibrated()[0] is None else "input"

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return an interval for a new observation at each row.

        It is as many standard deviations wide to both sides as contain ``coverage`` of the rows of the fit, each
        left out, whatever the distribution of the errors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability with which an interval contains its observation, on average over rows like those of the fit.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        coverage = check_coverage(coverage)
        self = at_this_moment(self)
        self._fitted()
        self._needs_all("predict_interval")
        rows = self._rows(X)
        mean, variance = self._mean_and_variance(rows)
        field, left_out = self._calibrated()
        if left_out is None:
            raise ValueError(
                "predict_interval needs errors of rows left out, which this model does not have: it was saved by an "
                "older version; fit it again"
            )
        half = np.sqrt(variance) * left_out.quantile(coverage)
        if field is not None:
            half *= field.at(rows, mean, self.noise, n_threads(self.n_jobs))
        return in_precision_of(X, self._columns(mean - half), self._columns(mean + half))
