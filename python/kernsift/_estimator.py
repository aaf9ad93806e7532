"""What every estimator of the package has beside scikit-learn's own: a file, and a link to its documentation."""

from __future__ import annotations

import os
from functools import cache

from sklearn.base import BaseEstimator


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


class Estimator(BaseEstimator):
    """Base of all estimators."""

    _doc_link_module = "kernsift"

    @property
    def _doc_link_template(self) -> str:
        return f"{documentation_url()}/generated/kernsift.{{estimator_name}}.html"

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
        """
        from ._saving import save

        save(self, path)
