"""The online model of any interleaving of calls, dense: every row kept, every answer solved afresh.

Which rows became kernels and which kernels left is told from outside (the log); all else follows from the
definition (1.1) of `oracles.py`: the design K~ row by row, and one least-squares problem in the orthonormal basis of
the dictionary's span.  Nothing is shared with the core.
"""

from __future__ import annotations

import numpy as np

from .kernels import KernelFunction

Array = np.ndarray


class DenseStream:
    """Rows, their design and weights; `learn` with a decision, `prune`, `refit`, and the answers.

    exact_rows (r): a new kernel is exact on the last r learned rows, its column K~ a* before; 0 and 1: on its own row.
    window (w): only the last w rows count, all exact.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        alpha: float,
        n_features: int,
        n_outputs: int,
        *,
        fit_intercept: bool = True,
        exact_rows: int = 0,
        window: int | None = None,
    ) -> None:
        self.kernel, self.alpha, self.fit_intercept = kernel, alpha, fit_intercept
        self.exact_rows, self.window = exact_rows, window
        self.basis, self.ids = np.zeros((0, n_features)), []
        self.seen = 0
        self._no_rows(n_features, n_outputs)

    def _no_rows(self, n_features: int, n_outputs: int) -> None:
        self.X, self.Y, self.weight = np.zeros((0, n_features)), np.zeros((0, n_outputs)), np.zeros(0)
        self.design = np.zeros((0, len(self.ids)))
        self.ring = 0  # of the last rows, on how many a new kernel is exact
        self.effective = 0

    # --- what happens to it ---

    def learn(self, x: Array, y: Array, v: float, admitted: bool, evicted: int | None, keeps_ring: bool) -> None:
        """One row; `keeps_ring`: whether rows are kept for later kernels at this moment."""
        number = self.seen
        self.seen += 1
        if not v > 0:
            assert not admitted
            return
        self.X, self.Y = np.vstack([self.X, x]), np.vstack([self.Y, y])
        self.weight = np.append(self.weight, v)
        self.design = np.vstack([self.design, self.kernel(x[None], self.basis)])
        self.ring = min(self.ring + 1, self.exact_rows) if keeps_ring else self.ring
        if self.window is not None and len(self.X) > self.window:
            self.X, self.Y, self.weight, self.design = self.X[1:], self.Y[1:], self.weight[1:], self.design[1:]
        if admitted:
            self._admit(x, number)
        if evicted is not None:
            self._drop(self.ids.index(evicted))
        self.effective = self.effective + 1 if self.window is None else len(self.X)

    def _admit(self, x: Array, number: int) -> None:
        # K~ a*, a* = K^-1 k(x*)
        K, k = self.kernel(self.basis, self.basis), self.kernel(self.basis, x[None])
        column = self.design @ np.linalg.solve(K, k) if self.ids else np.zeros((len(self.X), 1))
        exact = len(self.X) if self.window is not None else max(self.ring, 1)
        column[-exact:] = self.kernel(self.X[-exact:], x[None])
        self.design = np.hstack([self.design, column])
        self.basis, self.ids = np.vstack([self.basis, x]), [*self.ids, number]

    def _drop(self, j: int) -> None:
        self.design = np.delete(self.design, j, axis=1)
        self.basis = np.delete(self.basis, j, axis=0)
        self.ids = [*self.ids[:j], *self.ids[j + 1 :]]

    def prune(self, gone: list[int], keeps_ring: bool) -> None:
        """Kernels of these row numbers leave."""
        self.ring = self.ring if keeps_ring else 0
        for number in gone:
            self._drop(self.ids.index(number))

    def refit(self, X: Array, Y: Array, v: Array) -> None:
        """Other rows instead of those so far, on the present kernels."""
        seen = self.seen
        self._no_rows(X.shape[1], Y.shape[1])
        for x, y, weight in zip(X, Y, v, strict=True):
            self.learn(x, y, weight, False, None, False)
        self.seen = seen

    # --- what it answers ---

    def _solve(self, keep: list[int] | None = None) -> tuple[Array, Array, Array, Array]:
        """Factor L, solution and cost (per output), and the matrix whose least-squares problem it is."""
        keep = list(range(len(self.ids))) if keep is None else keep
        basis, b, m = self.basis[keep], int(self.fit_intercept), len(keep)
        L = np.linalg.cholesky(self.kernel(basis, basis)) if m else np.zeros((0, 0))
        Z = np.linalg.solve(L, self.design[:, keep].T).T if m else np.zeros((len(self.X), 0))
        root = np.sqrt(self.weight)[:, None]
        ridge = np.hstack([np.zeros((m, b)), np.sqrt(self.alpha) * np.eye(m)])
        A = np.vstack([root * np.hstack([np.ones((len(Z), b)), Z]), ridge])
        B = np.vstack([root * self.Y, np.zeros((m, self.Y.shape[1]))])
        solution = np.linalg.lstsq(A, B, rcond=None)[0]
        return L, solution, ((B - A @ solution) ** 2).sum(axis=0), A

    def _coordinates(self, L: Array, X: Array) -> Array:
        w = np.linalg.solve(L, self.kernel(self.basis, X)).T if len(L) else np.zeros((len(X), 0))
        return np.hstack([np.ones((len(X), int(self.fit_intercept))), w])

    def predict(self, X: Array) -> Array:
        L, solution, _, _ = self._solve()
        return self._coordinates(L, X) @ solution

    def cost(self) -> Array:
        return self._solve()[2]

    def std(self, X: Array) -> Array:
        """Spread of a new observation (1.9)."""
        L, _, cost, A = self._solve()
        R = np.linalg.qr(A, mode="r")
        w = self._coordinates(L, X)
        inside = (np.linalg.solve(R.T, w.T) ** 2).sum(axis=0)
        own = w[:, int(self.fit_intercept) :]
        delta = np.maximum(np.array([self.kernel(x[None], x[None])[0, 0] for x in X]) - (own**2).sum(axis=1), 0)
        noise = cost / max(self.effective - int(self.fit_intercept), 1.0)
        return np.sqrt(np.multiply.outer(1 + inside + delta / self.alpha, noise))

    def falls(self, X: Array) -> Array:
        """What the cost, over all outputs, falls by when a kernel at a row joins: by solving with it."""
        whole = self._solve()[2].sum()
        kept = self.design, self.basis, self.ids
        found = []
        for x in X:
            self._admit(x, -1)
            found.append(whole - self._solve()[2].sum())
            self.design, self.basis, self.ids = kept
        return np.array(found)

    def rises(self) -> Array:
        """What the cost, over all outputs, rises by when one kernel leaves: by solving without it."""
        m, whole = len(self.ids), self._solve()[2].sum()
        return np.array([self._solve([i for i in range(m) if i != j])[2].sum() - whole for j in range(m)])
