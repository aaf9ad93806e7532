"""Choosing a basis and fitting on it: each with the rival that does the same work."""

from __future__ import annotations

from unittest import mock

import numpy as np
from measure.clock import fraction_of_dgemm, ratio
from measure.rivals import efvs, literal_fvs, nystroem_ridge, ols59
from numpy.typing import NDArray
from scipy.linalg import cython_lapack

from .common import SEED, Timed, assert_close, kernsift, setup, sizes, table  # noqa: F401

FEATURES = 8
GAMMA = 1 / 8


class Fit(Timed):
    """The same model on the same landmarks as Nystroem and Ridge."""

    rows = 5000
    params = ([100, 300],)
    param_names = ("m",)

    def setup(self, m: int) -> None:
        self.X, self.y = table(self.rows, FEATURES)
        self.rival = nystroem_ridge(GAMMA, m, 0.1).fit(self.X, self.y)
        landmarks = self.rival[0].component_indices_
        self.ours = kernsift.SubsetLSSVMRegressor(gamma=GAMMA, alpha=0.1, basis=landmarks)
        # Both form normal equations in orthonormal coordinates: digits go with the condition of the kernel matrix.
        assert_close(self.ours.fit(self.X, self.y).predict(self.X), self.rival.predict(self.X), 1e-6)

    def time_fit(self, m: int) -> None:
        self.ours.fit(self.X, self.y)

    def track_ratio_to_nystroem_ridge(self, m: int) -> float:
        return ratio(lambda _: self.ours.fit(self.X, self.y), lambda _: self.rival.fit(self.X, self.y))

    track_ratio_to_nystroem_ridge.unit = "ours/scikit-learn"

    def track_ratio_of_predict(self, m: int) -> float:
        return ratio(lambda _: self.ours.predict(self.X), lambda _: self.rival.predict(self.X))

    track_ratio_of_predict.unit = "ours/scikit-learn"

    def track_fraction_of_dgemm(self, m: int) -> float:
        """Flops that the fit needs, 2md + m² a row, at the speed of this run's dgemm, over its time."""
        flops = self.rows * (2 * m * FEATURES + m * m)
        return fraction_of_dgemm(lambda: self.ours.fit(self.X, self.y), flops)

    track_fraction_of_dgemm.unit = "of dgemm"


class Large(Timed):
    """More kernels than a cache holds, in three squares of memory and in one: the predictions and the time."""

    params = ([False, True],)
    param_names = ("keep_sums",)

    def setup(self, keep_sums: bool) -> None:
        self.X, self.y = table(3000, FEATURES)
        model = kernsift.SubsetLSSVMRegressor(gamma=GAMMA, alpha=0.1, basis=np.arange(1200))
        self.kept = model.fit(self.X, self.y)
        self.ours = kernsift.SubsetLSSVMRegressor(**{**model.get_params(), "keep_sums": keep_sums}).fit(self.X, self.y)
        # the same sums and factors, rounded in another order at the condition of 1200 kernels
        assert_close(self.ours.predict(self.X), self.kept.predict(self.X), 1e-8)

    def time_fit(self, keep_sums: bool) -> None:
        self.ours.fit(self.X, self.y)

    def peakmem_fit(self, keep_sums: bool) -> None:
        self.ours.fit(self.X, self.y)

    def track_ratio_to_keeping_the_sums(self, keep_sums: bool) -> float:
        return ratio(lambda _: self.ours.fit(self.X, self.y), lambda _: self.kept.fit(self.X, self.y))

    track_ratio_to_keeping_the_sums.unit = "ours/kept"


class Select(Timed):
    """EFVS against numpy, and deletion from an over-selected start against OLS-59 at equal error."""

    rows = 3000
    params = ([150],)
    param_names = ("m",)

    def setup(self, m: int) -> None:
        self.X, self.y = table(self.rows, FEATURES)
        self.selector = kernsift.FeatureVectorSelector(gamma=GAMMA, n_components=m, random_state=0)
        self.pruned = kernsift.SubsetLSSVMRegressor(gamma=GAMMA, max_basis=m, random_state=0)
        self.rng = np.random.default_rng(0)
        # Random choices: equal quality on new rows, not equal rows.
        score = self.score(self.selector.fit(self.X).basis_indices_)
        rival = self.score(np.array(efvs(self.X, GAMMA, m, 59, 59, self.rng)))
        assert 1 - score < 1.25 * (1 - rival), f"R² {score}, numpy {rival}"
        score = self.score(self.pruned.fit(self.X, self.y).basis_indices_)
        rival = self.score(np.array(ols59(self.X, self.y, GAMMA, m, 1e-3, self.rng)))
        assert 1 - score < 1.25 * (1 - rival), f"R² {score}, OLS-59 {rival}"

    def score(self, chosen: NDArray[np.int64]) -> float:
        """R² on new rows of the exact fit on the chosen ones."""
        model = kernsift.SubsetLSSVMRegressor(gamma=GAMMA, basis=chosen).fit(self.X, self.y)
        return float(model.score(*table(self.rows, FEATURES, SEED + 1)))

    def time_efvs(self, m: int) -> None:
        self.selector.fit(self.X)

    def track_ratio_to_efvs_in_numpy(self, m: int) -> float:
        rival = lambda _: efvs(self.X, GAMMA, m, 59, 59, self.rng)  # noqa: E731
        return ratio(lambda _: self.selector.fit(self.X), rival, rounds=3)

    track_ratio_to_efvs_in_numpy.unit = "ours/numpy"

    def time_pruned(self, m: int) -> None:
        self.pruned.fit(self.X, self.y)

    def track_ratio_to_ols59(self, m: int) -> float:
        rival = lambda _: ols59(self.X, self.y, GAMMA, m, 1e-3, self.rng)  # noqa: E731
        return ratio(lambda _: self.pruned.fit(self.X, self.y), rival, rounds=3)

    track_ratio_to_ols59.unit = "ours/numpy"


class ExactSelection(Timed):
    """FVS against its definition: an inverse for every candidate of every step."""

    def setup(self) -> None:
        self.X = np.random.default_rng(SEED).standard_normal((200, 13))
        self.K = np.exp(-((self.X[:, None] - self.X) ** 2).sum(2) / 13)
        self.ours = kernsift.FeatureVectorSelector(gamma=1 / 13, n_components=8, n_candidates=None, n_eval=None)
        assert self.ours.fit(self.X).basis_indices_.tolist() == literal_fvs(self.K, 8)

    def time_fvs(self) -> None:
        self.ours.fit(self.X)

    def track_ratio_to_literal(self) -> float:
        return ratio(lambda _: self.ours.fit(self.X), lambda _: literal_fvs(self.K, 8), rounds=1)

    track_ratio_to_literal.unit = "ours/literal"


class Stream(Timed):
    """Blocks of rows on a given basis, in orthonormal coordinates."""

    rows, m = 5000, 300

    def setup(self) -> None:
        self.X, self.y = table(self.rows, FEATURES)
        self.model = kernsift.SubsetLSSVMRegressor(gamma=GAMMA, alpha=0.1, basis=self.X[: self.m].copy())
        self.model.partial_fit(self.X, self.y)
        assert_close(self.model.predict(self.X), self.model.fit(self.X, self.y).predict(self.X), 1e-6)

    def time_accumulate(self) -> None:
        self.model.accumulate(self.X, self.y)

    def track_fraction_of_dgemm(self) -> float:
        """Flops that it needs, 2md + 2m² a row, at the speed of this run's dgemm, over its time."""
        flops = self.rows * (2 * self.m * FEATURES + 2 * self.m**2)
        return fraction_of_dgemm(lambda: self.model.accumulate(self.X, self.y), flops, rounds=1)

    track_fraction_of_dgemm.unit = "of dgemm"


class ManyRows(Timed):
    """Rows beyond those that decide on the deletions, against sums over all rows for every element of the start."""

    m = 100

    def setup(self) -> None:
        n = sizes(20_000, 20_000, 200_000)[-1]  # the last is left out of a smoke run
        self.X, self.y = table(n, FEATURES)
        self.ours, self.all_rows = self.fit(64), self.fit(n)
        test = table(5000, FEATURES, SEED + 1)
        error, least = (1 - model.score(*test) for model in (self.ours, self.all_rows))
        assert error < 1.05 * least, (error, least)  # the sample may cost a few percent of the error

    def fit(self, rows: int) -> kernsift.SubsetLSSVMRegressor:
        model = kernsift.SubsetLSSVMRegressor(gamma=GAMMA, alpha=0.1, max_basis=self.m, random_state=0)
        with mock.patch("kernsift.subset.pruned._ROWS", rows):
            return model.fit(self.X, self.y)

    def time_sampled(self) -> None:
        self.fit(64)

    def track_ratio_to_all_rows(self) -> float:
        return ratio(lambda _: self.fit(64), lambda _: self.fit(len(self.X)), rounds=3)

    track_ratio_to_all_rows.unit = "sample/all rows"


class Spectrum(Timed):
    """GCV over all ridges, by scipy's LAPACK against Eigen's eigenvalues."""

    params = sizes(300, 1000, 2000)
    param_names = ("m",)

    def setup(self, m: int) -> None:
        rng = np.random.default_rng(SEED)
        W, y = rng.standard_normal((m, 2 * m)), rng.standard_normal((2 * m, 1))
        self.sums = {"M": W @ W.T, "z": W @ y, "s": np.zeros(m), "y": np.zeros(1), "yy": (y**2).sum(axis=0)}
        self.sums |= {"offset": np.zeros(1), "weight": 2.0 * m, "count": 2 * m, "precision": 1e-13}
        assert abs(np.log(self.ridge() / self.without())) < 1e-6

    def ridge(self) -> float:
        how = {"fit_intercept": False, "threads": 1, "factor": None, "alpha": 0.0}
        return kernsift._core.RidgeProblem(**self.sums, **how).best_gcv()

    def without(self) -> float:
        kernsift._core.use_dsyevd(None)
        try:
            return self.ridge()
        finally:
            kernsift._core.use_dsyevd(cython_lapack.__pyx_capi__["dsyevd"])

    def time_gcv(self, m: int) -> None:
        self.ridge()

    def track_ratio_to_eigen(self, m: int) -> float:
        return ratio(lambda _: self.ridge(), lambda _: self.without(), rounds=3)

    track_ratio_to_eigen.unit = "LAPACK/Eigen"
