"""What every estimator of the package has beside scikit-learn's own: a file, and a link to its documentation."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ._validation import check_ridge


@cache
def documentation_url() -> str:
    """The documentation's address in the package's metadata (``Project-URL: Documentation, ...``), or nothing."""
    from importlib.metadata import PackageNotFoundError, metadata

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
    dtypes = getattr(X, "dtypes", None)  # pandas and polars
    if dtypes is None and hasattr(X, "schema"):
        dtypes = getattr(X.schema, "types", None)  # pyarrow, whose float has 32 bits
    names = {str(dtype).lower() for dtype in dtypes} if dtypes is not None else set()
    return names in ({"float32"}, {"float"})


def _precision_of_input(method: Callable[..., Any]) -> Callable[..., Any]:
    """Answer float32 rows in float32; all the arithmetic is in double."""

    @wraps(method)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = method(self, *args, **kwargs)
        if not is_float32(args[0] if args else next(iter(kwargs.values()), None)):
            return out
        parts = out if isinstance(out, tuple) else (out,)
        single = tuple(part.astype(np.float32, copy=False) for part in parts)  # where it was not done in single at once
        return single if isinstance(out, tuple) else single[0]

    answer._keeps_precision = True  # type: ignore[attr-defined]
    return answer


class Estimator(BaseEstimator):
    """Base of all estimators: float32 in, float32 out; a file; a link to the documentation."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("predict", "decision_function", "predict_proba"):
            method = getattr(cls, name, None)
            labels = name == "predict" and issubclass(cls, ClassifierMixin)
            if method is not None and not labels and not hasattr(method, "_keeps_precision"):
                setattr(cls, name, _precision_of_input(method))

    def _validate_params(self) -> None:
        super()._validate_params()
        check_ridge(getattr(self, "alpha", None))

    _doc_link_module = "kernsift"

    @property
    def _doc_link_template(self) -> str:
        return f"{documentation_url()}/api/generated/kernsift.{{estimator_name}}.html"

    def _get_doc_link(self) -> str:
        return super()._get_doc_link() if documentation_url() else ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that :func:`kernsift.load` reads: arrays under a checksum, no pickle.

        The file is written beside ``path`` and renamed when it is whole, so that a crash leaves the old one.

        Parameters
        ----------
        path : str or path-like
            Used as it is; ``.npz`` is a good ending.

        Raises
        ------
        TypeError
            If a parameter is not plain data (another library's estimator, a function).

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import kernsift
        >>> model = kernsift.OnlineLSSVMRegressor(gamma=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.npz")
        ...     again = kernsift.load(Path(folder) / "model.npz")
        >>> bool((again.predict([[1.5]]) == model.predict([[1.5]])).all())
        True
        """
        from ._saving import save

        save(self, path)
