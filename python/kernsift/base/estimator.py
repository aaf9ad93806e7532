"""What every estimator of the package adds to scikit-learn's: `save`, and a link to its documentation."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..io import model_file
from .validation import CheckedParameters, did_you_mean, types_of


@cache
def documentation_url() -> str:
    """The documentation's address in the package's metadata (``Project-URL: Documentation, ...``), or nothing."""
    try:
        entries: list[str] = metadata("kernsift").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    for label, _, url in (entry.partition(",") for entry in entries):
        if label.strip().lower() == "documentation":
            return url.strip().rstrip("/")
    return ""


def is_float32(X: Any) -> bool:
    """Whether an array is of float32, or every column of a table."""
    if hasattr(X, "dtype"):
        return bool(X.dtype == np.float32)
    return {str(dtype).lower() for _, dtype in types_of(X)} in ({"float32"}, {"float"})  # pyarrow's float has 32 bits


def in_precision_of(X: Any, *parts: NDArray[Any]) -> Any:
    """Return the part, or a tuple of them, in float32 for rows of float32, as scikit-learn's estimators do."""
    if is_float32(X):
        parts = tuple(part.astype(np.float32, copy=False) for part in parts)  # where it was not done in single at once
    return parts if len(parts) > 1 else parts[0]


class Estimator(CheckedParameters):
    """Base of all estimators: `save`, and a link to the documentation."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # the constructor may be a base's, whose name Python would give
        if cls.__init__.__module__.partition(".")[0] == "kernsift":
            known = cls._get_param_names()
            if args:
                raise TypeError(f"{cls.__name__} takes its parameters by name, such as {cls.__name__}({known[0]}=...)")
            unknown = next((name for name in kwargs if name not in known), None)
            if unknown is not None:
                raise TypeError(cls._no_parameter(unknown))
        return super().__new__(cls)

    @classmethod
    def _no_parameter(cls, name: str) -> str:
        """What to say of a parameter that there is not."""
        known = cls._get_param_names()
        return f"{cls.__name__} has no parameter {name!r}{did_you_mean(name, known)}; it has {', '.join(known)}"

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Those of an estimator inside by its name and two underscores, such as ``estimator__gamma``.

        Examples
        --------
        >>> from kernsift import LSSVMRegressor
        >>> LSSVMRegressor().set_params(alpha=0.5).alpha
        0.5
        """
        known = self._get_param_names()
        unknown = next((name for name in params if name.partition("__")[0] not in known), None)
        if unknown is not None:
            raise ValueError(self._no_parameter(unknown))
        super().set_params(**params)
        return self

    _doc_link_module = "kernsift"

    @property
    def _doc_link_template(self) -> str:
        return f"{documentation_url()}/api/generated/kernsift.{{estimator_name}}.html"

    def _get_doc_link(self) -> str:
        return super()._get_doc_link() if documentation_url() else ""

    def save(self, path: str | os.PathLike[str], what: str = "all") -> None:
        """Write the model to a file that :func:`kernsift.load` reads: arrays under a checksum, no pickle.

        The file is written beside ``path`` and renamed when it is whole, so that a crash leaves the old one.

        Parameters
        ----------
        path : str or path-like
            Used as it is; ``.npz`` is a good ending.
        what : {"all", "predict"}, default="all"
            "predict" leaves out all that only learning, standard deviations and errors of rows need: a few kilobytes.
            Not of streams.

        Raises
        ------
        ValueError
            If ``what`` is another word, or the model cannot predict without the rest.
        TypeError
            If a parameter is not plain data (another library's estimator, a function).
        """
        if what not in ("all", "predict"):
            raise ValueError(f"what={what!r} must be 'all' or 'predict'{did_you_mean(str(what), ('all', 'predict'))}")
        if callable(getattr(self, "kernel", None)):
            raise TypeError("save stores plain data, and kernel is a function: keep this model with pickle or joblib")
        model_file.save(self if what == "all" else self._to_predict(), path)

    def _to_predict(self) -> Self:
        """The model as far as predictions go."""
        raise ValueError(f"{type(self).__name__} goes on learning with all it has: save it with what='all'")
