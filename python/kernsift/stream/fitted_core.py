"""Estimators whose fitted model is a C++ core kept between calls: storing it, and reading what every core has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from ..base.estimator import Estimator
from ..base.validation import check_unchanged, validate_data
from ..io.core_state import pack, unpack


class FittedCore(Estimator):
    """Holds the core in ``_core`` and the parameters it began with in ``_begun_with``."""

    def _check_unchanged_params(self) -> None:
        """A stream keeps the parameters it began with: widths and ridge are in its state."""
        again = "call fit" if hasattr(self, "fit") else "take a clone"
        check_unchanged(self, self._begun_with, "this stream began", again)

    # --- state ---

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_core" in state:
            state["_core"] = pack(state["_core"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_core" in state:
            state["_core"] = unpack(state["_core"])
        self.__dict__.update(state)

    def _fitted(self) -> Any:
        core = self.__dict__.get("_core")
        if core is None:
            how = "'fit' or 'partial_fit'" if hasattr(self, "fit") else "'partial_fit'"
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call {how} first.")
        return core

    @property
    def basis_vectors_(self) -> NDArray[np.float64]:
        """The kernels' centres, (n_basis_, n_features_in_)."""
        return self._fitted().basis

    @property
    def basis_indices_(self) -> NDArray[np.int64]:
        """Row numbers of the kernels' centres in the order seen."""
        return self._fitted().indices

    @property
    def n_basis_(self) -> int:
        """Number of kernels."""
        return self._fitted().n_basis

    @property
    def n_samples_seen_(self) -> int:
        """Rows seen, those of weight zero included."""
        return self._fitted().rows_seen

    @property
    def alpha_(self) -> float:
        """The ridge in use."""
        self._fitted()
        return float(self._begun_with["alpha"])

    @property
    def gamma_(self) -> NDArray[np.float64]:
        """Width in use, one per feature."""
        return self._fitted().kernel.gamma

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")
