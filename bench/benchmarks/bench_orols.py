"""OROLS against the memory's speed, OLS against orthogonal matching pursuit, OLS-59 against dgemm."""

from __future__ import annotations

import statistics

import numpy as np
from measure.clock import best, fraction_of_dgemm, ratio
from sklearn.base import BaseEstimator
from sklearn.linear_model import OrthogonalMatchingPursuit
from sklearn.metrics.pairwise import rbf_kernel

from .common import Array, Timed, assert_close, kernsift, setup, table  # noqa: F401

GAMMA = 0.1
ROUNDS = 3


def make(m: int, **settings: object) -> BaseEstimator:
    return kernsift.OROLSRegressor(gamma=GAMMA, stop=None, max_basis=m, **settings)


def check_fit(model: BaseEstimator, X: Array, y: Array) -> None:
    """With a ridge of 0 the fit is the least squares fit on the columns chosen."""
    model = model.set_params(alpha=0.0).fit(X, y)
    design = np.column_stack([np.ones(len(X)), rbf_kernel(X, model.basis_vectors_, gamma=GAMMA)])
    fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    # Both project y on one span; the columns are far from dependent (gamma = 0.1 in 8 dimensions).
    assert_close(model.predict(X), fit, 1e-8)


class Residual(Timed):
    """OROLS: m columns of n rows. Q (8 n m bytes) is read twice a column, 8 n m² bytes in all."""

    params = ([5_000, 50_000], [300])
    param_names = ("rows", "kernels")

    def setup(self, n: int, m: int) -> None:
        self.X, self.y = table(n)
        check_fit(make(20), self.X[:2000], self.y[:2000])
        self.model = make(m)
        # As many bytes as Q at the end, on large pages like it.
        self.memory = np.ones(max(n * m, 1 << 22) // 2 * 2)

    def read(self) -> None:
        half = len(self.memory) // 2
        np.dot(self.memory[:half], self.memory[half:])

    def time_fit(self, n: int, m: int) -> None:
        self.model.fit(self.X, self.y)

    def track_fraction_of_read_bandwidth(self, n: int, m: int) -> float:
        """Bytes of Q read a second over those of BLAS ddot now; more is better. At 5,000 rows Q is cached."""
        fractions = []
        for _ in range(ROUNDS):
            read = best(self.read) / self.memory.nbytes
            fractions.append(8.0 * n * m**2 * read / best(lambda: self.model.fit(self.X, self.y), 1))
        return float(f"{statistics.median(fractions):.4g}")

    track_fraction_of_read_bandwidth.unit = "of ddot's bytes/s"


class AllCandidates(Timed):
    """OLS over all rows against scikit-learn's orthogonal matching pursuit on the Gram matrix of the kernel columns.

    Both start from X and choose m columns; the pursuit's criterion is the weaker one, and its error must not be lower.
    """

    params = ([1_000, 4_000], [100])
    param_names = ("rows", "kernels")

    def setup(self, n: int, m: int) -> None:
        self.X, self.y = table(n)
        self.model = make(m, selection="error-reduction", alpha=0.0)
        check_fit(make(10, selection="error-reduction"), self.X[:500], self.y[:500])
        self.model.fit(self.X, self.y)
        ours = np.mean((self.model.predict(self.X) - self.y) ** 2)
        pursuit = self.pursue(m)
        theirs = np.mean((pursuit.predict(rbf_kernel(self.X, gamma=GAMMA)) - self.y) ** 2)
        assert self.model.n_basis_ == m
        assert ours <= theirs, f"error {ours:.4g}, orthogonal matching pursuit {theirs:.4g}"

    def pursue(self, m: int) -> OrthogonalMatchingPursuit:
        pursuit = OrthogonalMatchingPursuit(n_nonzero_coefs=m, precompute=True)
        return pursuit.fit(rbf_kernel(self.X, gamma=GAMMA), self.y)

    def time_fit(self, n: int, m: int) -> None:
        self.model.fit(self.X, self.y)

    def track_ratio_to_matching_pursuit(self, n: int, m: int) -> float:
        return ratio(lambda _: self.model.fit(self.X, self.y), lambda _: self.pursue(m), rounds=ROUNDS)

    track_ratio_to_matching_pursuit.unit = "ours/OMP"


class RandomCandidates(Timed):
    """OLS-59: 59 n m² flops in all, kernel values and the winner's orthogonalisation not counted."""

    params = ([2_000, 10_000], [300])
    param_names = ("rows", "kernels")

    def setup(self, n: int, m: int) -> None:
        self.X, self.y = table(n)
        settings = {"selection": "error-reduction", "n_candidates": 59, "random_state": 0}
        check_fit(make(20, **settings), self.X[:2000], self.y[:2000])
        self.model = make(m, **settings)

    def time_fit(self, n: int, m: int) -> None:
        self.model.fit(self.X, self.y)

    def track_fraction_of_dgemm(self, n: int, m: int) -> float:
        """Flops a second over those of BLAS dgemm in this run; more is better."""
        return fraction_of_dgemm(lambda: self.model.fit(self.X, self.y), 59.0 * n * m**2, ROUNDS)

    track_fraction_of_dgemm.unit = "of dgemm's flops/s"
