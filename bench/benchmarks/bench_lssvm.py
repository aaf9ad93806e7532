"""LS-SVM on batches: the dense fit, the reduction path, its growth with the number of rows, and leave-one-out."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from measure.clock import best, ratio
from sklearn.metrics.pairwise import rbf_kernel

from .common import Array, Timed, assert_close, kernsift, setup, table  # noqa: F401

FEATURES = 13
GAMMA = 0.05
ALPHA = 0.3


class Dense(Timed):
    """One fit; the rival solves the same bordered system with LAPACK, `given` its kernel matrix or making it."""

    params = ([250, 500, 1000, 2000],)
    param_names = ("rows",)

    def setup(self, n: int) -> None:
        self.X, self.y = table(n, FEATURES)
        self.model = kernsift.LSSVMRegressor(gamma=GAMMA, alpha=ALPHA)
        self.right = np.column_stack([self.y, np.ones(n)])
        self.A = self.kernel()
        coef, intercept = self.solve(self.A)
        self.model.fit(self.X, self.y)
        # condition of A below (n + alpha)/alpha: twelve digits and more
        assert_close(self.model.dual_coef_, coef, 1e-10)
        assert_close(np.array(self.model.intercept_), np.array(intercept), 1e-10)

    def kernel(self) -> Array:
        A = rbf_kernel(self.X, gamma=GAMMA)
        A.flat[:: len(A) + 1] += ALPHA
        return A

    def solve(self, A: Array) -> tuple[Array, float]:
        factor = scipy.linalg.cho_factor(A, lower=True, check_finite=False)
        z, u = scipy.linalg.cho_solve(factor, self.right, check_finite=False).T
        b = z.sum() / u.sum()
        return z - b * u, b

    def time_fit(self, n: int) -> None:
        self.model.fit(self.X, self.y)

    def track_ratio_to_cho_solve(self, n: int) -> float:
        """Of a whole fit, kernels and checks included, to factor and solve of a matrix that is there."""
        return ratio(lambda _: self.model.fit(self.X, self.y), lambda _: self.solve(self.A))

    def track_ratio_to_kernel_and_cho_solve(self, n: int) -> float:
        return ratio(lambda _: self.model.fit(self.X, self.y), lambda _: self.solve(self.kernel()))


class Grid(Timed):
    """alpha="loo" over 21 values; the rival factors once a value and inverts for the residuals."""

    params = ([500],)
    param_names = ("rows",)

    def setup(self, n: int) -> None:
        self.X, self.y = table(n, FEATURES)
        self.alphas = np.logspace(-3, 2, 21)
        self.model = kernsift.LSSVMRegressor(gamma=GAMMA, alpha="loo", alphas=self.alphas)
        self.K = rbf_kernel(self.X, gamma=GAMMA)
        self.model.fit(self.X, self.y)
        assert_close(self.model.loo_grid_["error"][0], self.each(), 1e-7)

    def each(self) -> Array:
        errors, n = [], len(self.y)
        for alpha in self.alphas:
            M = np.zeros((n + 1, n + 1))
            M[:n, :n] = self.K + alpha * np.eye(n)
            M[n, :n] = M[:n, n] = 1.0
            inverse = np.linalg.inv(M)
            errors.append(np.mean(((inverse[:n, :n] @ self.y) / np.diag(inverse)[:n]) ** 2))
        return np.array(errors)

    def time_fit(self, n: int) -> None:
        self.model.fit(self.X, self.y)

    def track_ratio_to_one_inverse_a_value(self, n: int) -> float:
        return ratio(lambda _: self.model.fit(self.X, self.y), lambda _: self.each(), rounds=3)


def literal_path(K: Array, y: Array, pruning: str, rebuild: bool) -> Array:
    """The paper's algorithm, one kernel at a time: build Omega, solve, drop, again.  Rows in the order dropped.

    With ``rebuild`` Omega is summed over the rows at every step, as printed; without, it is cut out of one product.
    """
    n = len(y)
    S = np.arange(n)
    whole = K.T @ K
    sums, projected = K.sum(axis=0), K.T @ y
    dropped = []
    while len(S) > 1:
        m = len(S)
        H = np.empty((m + 1, m + 1))
        columns = K[:, S]
        H[:m, :m] = (columns.T @ columns if rebuild else whole[np.ix_(S, S)]) + ALPHA * K[np.ix_(S, S)]
        H[m, :m] = H[:m, m] = sums[S]
        H[m, m] = n
        right = np.append(projected[S], y.sum())
        if pruning == "cost":
            inverse = np.linalg.inv(H)
            score = (inverse @ right)[:m] ** 2 / np.diag(inverse)[:m]
        else:
            score = np.abs(np.linalg.solve(H, right)[:m])
        gone = int(np.argmin(score))
        dropped.append(S[gone])
        S = np.delete(S, gone)
    return np.array([*dropped, S[0]])


class Path(Timed):
    """From 506 kernels to 1, boston's size, every model and its leave-one-out error; the rival solves again each time.

    The rival gets no leave-one-out errors, and loses digits to H on the way (the order of the last half is compared:
    it is the same on these rows).
    """

    params = (["cost", "coefficient"],)
    param_names = ("pruning",)
    timeout = 600

    def setup(self, pruning: str) -> None:
        self.X, self.y = table(506, FEATURES)
        self.K = rbf_kernel(self.X, gamma=GAMMA)
        self.model = kernsift.SparseLSSVMRegressor(gamma=GAMMA, alpha=ALPHA, pruning=pruning)

    def time_fit(self, pruning: str) -> None:
        self.model.fit(self.X, self.y)

    def ratio_to_literal(self, pruning: str, rebuild: bool) -> float:
        fit, path = self.model.fit, literal_path
        return ratio(lambda _: fit(self.X, self.y), lambda _: path(self.K, self.y, pruning, rebuild), rounds=1)

    def track_ratio_to_literal(self, pruning: str) -> float:
        order = literal_path(self.K, self.y, pruning, rebuild=True)
        self.model.fit(self.X, self.y)
        assert np.array_equal(self.model.path_["kernels"], order[::-1]), "the paths differ"
        return self.ratio_to_literal(pruning, rebuild=True)

    def track_ratio_to_literal_with_omega_kept(self, pruning: str) -> float:
        return self.ratio_to_literal(pruning, rebuild=False)

    track_ratio_to_literal.timeout = 600  # type: ignore[attr-defined]
    track_ratio_to_literal_with_omega_kept.timeout = 600  # type: ignore[attr-defined]


class Growth:
    """Exponent of the time of a whole path against the number of rows: 3 where solving again each time has 4."""

    params = (["isls", "sls"],)
    param_names = ("method",)
    timeout = 600
    sizes = (250, 500, 1000, 2000)

    def track_exponent(self, method: str) -> float:
        times = []
        for n in self.sizes:
            X, y = table(n, FEATURES)
            model = kernsift.SparseLSSVMRegressor(gamma=GAMMA, alpha=ALPHA, max_start=None, method=method)
            times.append(best(lambda model=model, X=X, y=y: model.fit(X, y), 1))
            assert model.path_["n_basis"].tolist() == list(range(n, 0, -1))
        return float(np.polyfit(np.log(self.sizes), np.log(times), 1)[0])


class LeaveOneOut(Timed):
    """All leave-one-out residuals of 100 kernels on 2000 rows; the rival refits for ten rows, a two-hundredth."""

    def setup(self) -> None:
        self.X, self.y = table(2000, FEATURES)
        self.model = kernsift.SparseLSSVMRegressor(gamma=GAMMA, alpha=ALPHA, step=0.05).fit(self.X, self.y)
        self.ours()
        S = self.model.basis_indices_
        self.K, self.K_SS = rbf_kernel(self.X, self.X[S], gamma=GAMMA), rbf_kernel(self.X[S], gamma=GAMMA)
        assert_close(self.model.loo_residuals_[:10], self.refit(), 1e-8)

    def ours(self) -> Array:
        return self.model.at_size(100).loo_residuals_

    def refit(self) -> Array:
        out = []
        for i in range(10):
            design = np.column_stack([np.delete(self.K, i, axis=0), np.ones(len(self.y) - 1)])
            H = design.T @ design
            H[:-1, :-1] += ALPHA * self.K_SS
            solved = np.linalg.solve(H, design.T @ np.delete(self.y, i))
            out.append(self.y[i] - self.K[i] @ solved[:-1] - solved[-1])
        return np.array(out)

    def time_loo_residuals(self) -> None:
        self.ours()

    def track_ratio_to_refitting(self) -> float:
        return ratio(lambda _: self.ours(), lambda _: self.refit(), rounds=3) / 200.0
