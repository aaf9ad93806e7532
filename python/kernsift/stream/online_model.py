"""What the online regressor and classifier have in common beside learning: attributes, health, fewer kernels."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

from .health import health
from .learning import Learning


class OnlineModel(Learning):
    """Attributes and deletion of kernels, for any targets."""

    def prune(self, n_basis: int | None = None) -> Self:
        """Delete the kernels that lower the cost least, one by one, and stay exact for those that are left.

        Parameters
        ----------
        n_basis : int, optional
            Kernels to keep; ``max_basis`` by default, which with ``oversample`` is fewer than there are.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> X = np.random.default_rng(7).uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0])
        >>> model = OnlineLSSVMRegressor(gamma=1.0).fit(X, y)
        >>> model.prune(8).n_basis_
        8
        >>> bool(model.score(X, y) > 0.95)
        True
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

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score, per output."""
        return self._columns(self._fitted().gcv)

    @property
    def log_evidence_(self) -> Any:
        """Log marginal likelihood of the Gaussian process with this basis, at its best signal scale."""
        if self.alpha_ == 0:  # no such attribute, rather than an error where a page lists all there are
            raise AttributeError("log_evidence_ needs alpha > 0: without a ridge there is no prior; fit again with one")
        if self.forgetting < 1:
            raise AttributeError("log_evidence_ has no meaning for a stream that forgets (forgetting < 1)")
        return self._columns(self._fitted().log_evidence)

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

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> X = np.random.default_rng(7).uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0])
        >>> found = OnlineLSSVMRegressor(gamma=1.0).fit(X, y).health()
        >>> found["sound"], found["problems"]
        (True, [])
        """
        limits = []
        if self.n_refused_ > 0:
            limits.append(
                f"{self.n_refused_} of {self.n_samples_seen_} rows were refused as kernels, because double precision "
                f"does not resolve their distance to the basis; novelty_tol={self.novelty_tol!r} is too small for "
                "these rows and this kernel: raise it, or make the kernel narrower (larger gamma)"
            )
        return {**health(self._fitted(), self.engine, self.alpha_, self.max_basis), "limits": limits, **self.audit_}
