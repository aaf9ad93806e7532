"""What the online regressor and classifier share beside learning: attributes, `refit`, `prune` and `health`."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import Array
from ..base.kernel import wants_learning
from ..base.threads import n_threads
from ..base.validation import check_rows, check_some_weight, fit_context, forget, transaction
from .health import health
from .learning import Learning


class OnlineModel(Learning):
    """Attributes and deletion of kernels, for any targets."""

    @fit_context(prefer_skip_nested_validation=True)
    def refit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, new_widths: bool = False
    ) -> Self:
        """Learn the rows afresh on the present basis: a second pass that removes the loss of the first.

        The basis stays; the coefficients become those of the exact subset-of-regressors solution for these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        new_widths : bool, default=False
            With gamma="learn": learn the widths anew from these rows, and with them the basis.
        """
        self._fitted()
        self._check_unchanged_params()
        rows = self._checked(X, y, sample_weight, begin=False)
        if getattr(self, "class_weight", None) is not None:
            rows = self._balanced(rows)
        if self.engine == "inverse":
            raise ValueError("refit goes beyond the papers and engine='inverse' is their literal form")
        self._needs_ridge("refit")
        if self.window is not None:
            raise ValueError("refit learns all its rows and window keeps the last: fit again instead")
        check_some_weight(rows.weight)
        if new_widths:
            if not wants_learning(self.gamma):
                raise ValueError(f"new_widths=True learns the widths again, and gamma={self.gamma!r} gives them")
            with transaction(self, *self._former) as new:
                new._fit_rows(rows)
        core = self._core
        check_rows(core.kernel, rows.X, core.settings["linear"])
        core.refit(*rows, n_threads(self.n_jobs))
        forget(self, "_course", "_challenger")  # the widths are those of the basis that the rows were learned on
        if self.alpha == "gcv":
            core.choose_ridge()
        return self

    def prune(self, n_basis: int | None = None) -> Self:
        """Delete the kernels that lower the cost least, one by one; the model stays exact for the others.

        Parameters
        ----------
        n_basis : int, optional
            Kernels to keep; ``max_basis`` by default, which with ``oversample`` is fewer than there are.
        """
        core = self._fitted()
        self._needs_ridge("prune")
        keep = self.max_basis if n_basis is None else n_basis
        if not isinstance(keep, Integral) or keep < 1:
            raise ValueError(f"n_basis must be a number of kernels, 1 or more (or set max_basis); got {keep!r}")
        core.prune(int(keep))
        if self.alpha == "gcv":
            core.choose_ridge()
        return self

    def score_candidates(self, X: ArrayLike) -> Array:
        """Say how much a kernel at each row would lower the regularised cost of the rows seen.

        The kernel is exact on the recent rows kept (``exact_rows``, or ``window``), and for older rows it is what the
        basis makes of it; nothing is learned.  O(m²) a row, and O(m) for each row kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Candidates: rows of the stream or any others.

        Returns
        -------
        ndarray of shape (n_samples,)
            In units of y², summed over the outputs; 0 where double precision does not resolve the distance of a row to
            the basis.

        Raises
        ------
        ValueError
            If no recent row is kept.
        """
        core = self._fitted()
        if self.engine == "inverse":
            raise ValueError("score_candidates goes beyond the papers and engine='inverse' is their literal form")
        if core.settings["exact_rows"] == 0:
            raise ValueError(
                "score_candidates needs recent rows to be exact on, and this model keeps none: set exact_rows (with "
                "forgetting=1.0) or window, and fit again"
            )
        rows = self._rows(X)
        check_rows(core.kernel, rows, core.settings["linear"])
        return core.score_candidates(rows)

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score, per output."""
        return self._columns(self._fitted().gcv)

    @property
    def log_evidence_(self) -> Any:
        """Log marginal likelihood of the Gaussian process with this basis, at its best signal scale."""
        if self.alpha_ == 0:  # no such attribute, rather than an error where a page lists all there are
            raise AttributeError("log_evidence_ needs alpha > 0: without a ridge there is no prior; fit again with one")
        if list(self._fitted().memories[0]) != [1.0]:
            raise AttributeError("log_evidence_ has no meaning for a stream that forgets: fit with forgetting=1.0")
        return self._columns(self._fitted().log_evidence)

    @property
    def linear_coef_(self) -> Any:
        """Slopes of the linear part, (n_features_in_,) or (n_features_in_, outputs); zeros for a model without one."""
        slopes = self._fitted().slopes
        if slopes.size == 0:
            slopes = np.zeros((self.n_features_in_, len(self._fitted().intercept)))
        return self._columns(slopes)

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """The memories that compete, with ``forgetting``, ``weight`` and ``error``.

        The error is the root mean square of the last predictions made before their rows were learned, one an output; it
        is kept, and weights change, where there are two memories or more.
        """
        kept, weights, errors = self._fitted().memories
        return [
            {"forgetting": memory, "weight": weight, "error": self._columns(error)}
            for memory, weight, error in zip(kept, weights.tolist(), errors.T, strict=True)
        ]

    @property
    def drift_(self) -> list[int]:
        """Rows seen when the stream was found to have changed: half the mean memory, or four times the squared error.

        Looked at every 64 rows, on streams with widths that are learned; the last thousand are kept.  Nothing has to be
        done: shorter memories and new widths follow by themselves.
        """
        self._fitted()
        return [] if self._course is None else list(self._course.drift)

    def on_drift(self, function: Callable[[int], Any] | None) -> Self:
        """Call a function with the number of rows seen whenever drift is noted.

        Parameters
        ----------
        function : callable or None
            None calls nothing any more.  Copies and saved models do not take it along.
        """
        self._told = function
        return self

    @property
    def _in_single(self) -> bool:  # type: ignore[override]
        """The linear part of a row is computed in double."""
        return self._core is None or self._core.slopes.size == 0

    @property
    def n_refused_(self) -> int:
        """Rows refused as kernels, because double precision does not resolve their distance to the basis."""
        return self.audit_["refused"]

    @property
    def audit_(self) -> dict[str, int]:
        """What became of the rows.

        ``admitted`` (became a kernel; swaps included), ``evicted``, ``rejected_novelty`` and ``rejected_usefulness``
        (by which rule a row did not become a kernel), ``bounced`` (admitted at the cap but itself the least useful),
        ``refused`` (double precision does not resolve the distance to the basis), ``ignored`` (weight zero),
        ``frozen`` (learned after ``swap_until``).
        """
        return self._counted()

    def health(self) -> dict[str, Any]:
        """Whether the state is still what the mathematics says it must be, in O(m³).

        Returns
        -------
        dict
            ``sound``; ``problems``, a list of what is not; ``limits``, a list of what the arithmetic kept from being
            learned as configured; ``kernel_condition`` and ``inverse_condition``, of the kernel matrix and of the kept
            inverse; ``kernel_error``, how far the kept factor (or inverse) is from that matrix; and the counts of
            ``audit_``.  A model that is not sound should be fitted again.
        """
        limits = []
        if self.n_refused_ > 0:
            limits.append(
                f"{self.n_refused_} of {self.n_samples_seen_} rows were refused as kernels, because double precision "
                f"does not resolve their distance to the basis; novelty_tol={self.novelty_tol!r} is too small for "
                "these rows and this kernel: raise it, or make the kernel narrower (larger gamma)"
            )
        return {**health(self._fitted(), self.engine, self.alpha_, self.max_basis), "limits": limits, **self.audit_}
