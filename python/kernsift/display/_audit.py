"""What became of the rows of a stream, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..base.axes import axes_or_new
from ..base.kernel import parameters
from ._stream import StreamDisplay, Watched

# Shown by default: what changes the dictionary, and what nearly did.
DEFAULT = ("admitted", "evicted", "bounced")


@parameters
class AuditDisplay(StreamDisplay):
    """Admissions and evictions over time: the counts of ``audit_``, block by block.

    Parameters
    ----------
    rows : ndarray of shape (n_blocks + 1,)
        Rows seen at each count, the beginning included.
    counts : dict of str to ndarray of shape (n_blocks + 1,)
        The entries of ``audit_``.
    n_basis : ndarray of shape (n_blocks + 1,)
        Kernels.
    estimator_name : str, optional
        For the title.

    Attributes
    ----------
    ax_, figure_
        What was drawn on.
    lines_ : dict of str to Line2D
        The counts, and "kernels".

    Examples
    --------
    >>> import numpy as np
    >>> from kernsift import OnlineLSSVMRegressor
    >>> from kernsift.display import AuditDisplay
    >>> X = np.random.default_rng(7).uniform(-3, 3, (1000, 1))
    >>> model = OnlineLSSVMRegressor(gamma=1.0, max_basis=10)
    >>> display = AuditDisplay.from_estimator(model, X, np.sin(X[:, 0]), block=50)
    >>> rules = ("rejected_novelty", "rejected_usefulness")  # what kept rows from being kernels
    >>> sorted(display.plot(counts=rules, name="ten kernels").lines_)
    ['kernels', 'rejected_novelty', 'rejected_usefulness']
    """

    rows: NDArray[np.int64]
    counts: dict[str, NDArray[np.int64]]
    n_basis: NDArray[np.int64]

    @classmethod
    def _read(cls, stream: Watched, block: int | None) -> dict[str, Any]:
        rows = [stream.model.n_samples_seen_ if stream.begun else 0]
        audits = [stream.model.audit_ if stream.begun else {}]
        sizes = [stream.n_basis]
        for part in stream.parts(block):
            stream.learn(part)
            rows.append(stream.model.n_samples_seen_)
            audits.append(stream.model.audit_)
            sizes.append(stream.n_basis)
        counts = {key: np.array([audit.get(key, 0) for audit in audits]) for key in audits[-1]}
        return {"rows": np.array(rows), "counts": counts, "n_basis": np.array(sizes)}

    def plot(self, ax: Any = None, *, counts: Sequence[str] = DEFAULT, name: str | None = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        counts : sequence of str, default=("admitted", "evicted", "bounced")
            Entries of ``audit_``; those that stay zero are left out of the default.
        name : str, optional
            For the title.
        **kwargs : dict
            For ``ax.plot``.
        """
        unknown = [c for c in counts if c not in self.counts]
        if unknown or not len(counts):
            raise ValueError(f"counts={counts!r} must be one or more of {list(self.counts)}")
        ax = axes_or_new(ax)
        shown = [c for c in counts if counts is not DEFAULT or self.counts[c].any() or c == "admitted"]
        self.lines_ = {}
        for key in shown:
            (self.lines_[key],) = ax.plot(self.rows, self.counts[key], **{"label": key.replace("_", " by "), **kwargs})
        (self.lines_["kernels"],) = ax.plot(self.rows, self.n_basis, color="0.3", linestyle="--", label="kernels")
        ax.set(xlabel="row", ylabel="rows so far")
        ax.set_ylim(bottom=0)
        return self._titled(ax, name)
