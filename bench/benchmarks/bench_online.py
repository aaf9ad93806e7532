"""The online model, row by row: a stable dictionary, a growing one, one at its cap; and prediction."""

from __future__ import annotations

import copy
import os
import tempfile
import time

import numpy as np
from measure.clock import fraction_of_dgemm, ratio
from measure.rivals import Recursion
from peers.measures import forest
from peers.programs import run
from sklearn.base import BaseEstimator
from sklearn.kernel_ridge import KernelRidge

from .common import SEED, Array, Timed, assert_close, kernsift, setup, sizes, target  # noqa: F401

FEATURES = 8
GAMMA = 0.1
ALPHA = 0.1
NOVELTY_TOL = 1e-2
ROWS = 300


def make(engine: str, m: int, gamma: float = GAMMA) -> BaseEstimator:
    """The papers' form without a bias, every novel row a candidate: the same work as the rival's."""
    return kernsift.OnlineLSSVMRegressor(
        gamma=gamma,
        alpha=ALPHA,
        novelty_tol=NOVELTY_TOL,
        admission="novelty",
        max_basis=m,
        fit_intercept=False,
        engine=engine,
        forgetting=1.0,
        linear=False,
    )


class Stream(Timed):
    """Rows learned one after another by each engine; the rival does the same in numpy.

    stable: `m` kernels, the rows repeat their neighbourhoods and none is novel; growing: `m` novel rows,
    from no kernel to `m`; at the cap: `m` kernels, every row novel, so each one swaps or bounces.
    """

    params = (
        ["orthonormal", "inverse"],
        ["stable", "growing", "at the cap"],
        sizes(50, 100, 300, 500, 1000),
        [5, 54],
    )
    param_names = ("engine", "dictionary", "m", "d")

    def setup(self, engine: str, dictionary: str, m: int, d: int) -> None:
        rng = np.random.default_rng(SEED)
        spread = 1.5 * (m + ROWS) ** (1 / d)  # few features hold so many novel rows only if they lie further apart
        centres = spread * rng.standard_normal((m, d))
        if dictionary == "stable":
            # Close enough that the novelty, about 2 gamma d 0.01^2, stays far below its threshold.
            self.X = centres[rng.integers(m, size=ROWS)] + 0.01 * rng.standard_normal((ROWS, d))
        elif dictionary == "growing":
            self.X, centres = centres, centres[:0]
        else:
            self.X = spread * rng.standard_normal((ROWS, d))
        y, self.y = target(centres, rng), target(self.X, rng)
        self.gamma = GAMMA * 8 / d
        self.first = make(engine, m, self.gamma)
        self.rival = Recursion(d, self.gamma, ALPHA, NOVELTY_TOL, m)
        if len(centres):
            self.first.partial_fit(centres, y)
            self.rival.learn(centres, y)
        self.model = copy.deepcopy(self.first)
        self.check(dictionary, m, centres, y, spread)

    def check(self, dictionary: str, m: int, centres: Array, y: Array, spread: float) -> None:
        """The two recursions agree; without deletions both equal the batch solution of the same problem."""
        rng = np.random.default_rng(SEED + 1)
        new = spread * rng.standard_normal((50, self.X.shape[1]))
        ours = copy.deepcopy(self.first).partial_fit(self.X, self.y)
        rival = copy.deepcopy(self.rival)
        rival.learn(self.X, self.y)
        assert ours.n_basis_ == len(rival.beta) == m, f"{ours.n_basis_} kernels, {len(rival.beta)}, not {m}"
        assert np.array_equal(ours.basis_vectors_, rival.basis), "the dictionaries differ"
        # alpha = 0.1 keeps P well conditioned (below 1e5), so double precision leaves ten digits.
        assert_close(ours.predict(new), rival.predict(new), 1e-9)
        self.flops = self.count(dictionary, m, ours.audit_)
        if dictionary != "at the cap":
            # Every row that is not a kernel came after the last kernel, so all rows of the design are exact.
            X, Y = np.concatenate([centres, self.X]), np.concatenate([y, self.y])
            K = np.exp(-self.gamma * ((X[:, None] - ours.basis_vectors_) ** 2).sum(2))
            K_mm = np.exp(-self.gamma * ((ours.basis_vectors_[:, None] - ours.basis_vectors_) ** 2).sum(2))
            assert_close(ours.dual_coef_, np.linalg.solve(K.T @ K + ALPHA * K_mm, K.T @ Y), 1e-9)

    def count(self, dictionary: str, m: int, became: dict[str, int]) -> float:
        """Flops of the orthonormal engine: kernels, L^-1 k (m²), C w (2m²), its update (m²), and what a swap adds."""
        n, d = self.X.shape
        if dictionary == "growing":  # the same at every size up to m
            return d * m**2 + 4 * m**3 / 3
        candidates, swaps = became["admitted"] + became["bounced"], became["evicted"]
        in_scores = 0 if dictionary == "stable" else 2 * candidates + 3.2 * swaps
        return n * (2 * m * d + 4 * m**2) + m**2 * in_scores

    def time_partial_fit(self, engine: str, dictionary: str, m: int, d: int) -> None:
        self.model.partial_fit(self.X, self.y)

    def track_ratio_to_numpy(self, engine: str, dictionary: str, m: int, d: int) -> float:
        return ratio(
            lambda model: model.partial_fit(self.X, self.y),
            lambda model: model.learn(self.X, self.y),
            fresh=lambda: (copy.deepcopy(self.first), copy.deepcopy(self.rival)),
            rounds=5 if m < 500 else 1,
        )

    track_ratio_to_numpy.unit = "ours/numpy"

    def track_fraction_of_dgemm(self, engine: str, dictionary: str, m: int, d: int) -> float:
        if engine != "orthonormal":
            return float("nan")  # counted for the default engine
        fresh = [copy.deepcopy(self.first) for _ in range(3)]  # one a round
        return fraction_of_dgemm(lambda: fresh.pop().partial_fit(self.X, self.y), self.flops)


class Cap(Timed):
    """The papers' rule at its cap, most rows novel, against a literal C++ program: growth, swaps and bounces."""

    params = (sizes(100, 300, 500),)
    param_names = ("m",)
    timeout = 600

    def setup(self, m: int) -> None:
        self.programs = tempfile.TemporaryDirectory()
        os.environ["KERNSIFT_PEERS_BUILD"] = self.programs.name
        rows = forest(None, 10_000)
        self.X, self.y = rows["X"], rows["y"]
        rule = {"alpha": ALPHA, "novelty_tol": NOVELTY_TOL, "usefulness_tol": 1e-4, "max_basis": m, "swap_until": None}
        self.model = kernsift.OnlineLSSVMRegressor(gamma=1 / 54, exact_rows=0, fit_intercept=False, **rule)
        self.arguments = (1 / 54, ALPHA, NOVELTY_TOL, 1e-4, m)
        _, size, first = run("literal", self.X, self.y, *self.arguments)
        assert self.model.fit(self.X, self.y).n_basis_ == size == m
        assert abs(self.model.predict(self.X[:1])[0] - first) < 1e-6, "the same rule, the same model"

    def time_fit(self, m: int) -> None:
        self.model.fit(self.X, self.y)

    def track_ratio_to_literal(self, m: int) -> float:
        ours, literal = [], []
        for _ in range(3):
            begin = time.thread_time()
            self.model.fit(self.X, self.y)
            ours.append(time.thread_time() - begin)
            literal.append(run("literal", self.X, self.y, *self.arguments)[0])
        return min(ours) / min(literal)

    track_ratio_to_literal.unit = "ours/literal"


class Predict(Timed):
    """`predict` of 500 rows, `at_once` a call, against `KernelRidge.predict` given the same expansion."""

    total = 500
    params = (["orthonormal", "inverse"], sizes(50, 100, 300, 500, 1000), [1, total])
    param_names = ("engine", "m", "at_once")

    def setup(self, engine: str, m: int, at_once: int) -> None:
        rng = np.random.default_rng(SEED)
        X = 1.5 * rng.standard_normal((m, FEATURES))
        self.model = make(engine, m).fit(X, target(X, rng))
        assert self.model.n_basis_ == m, f"{self.model.n_basis_} kernels, not {m}"
        self.rival = KernelRidge(kernel="rbf", gamma=GAMMA).fit(X, np.zeros(m))
        self.rival.X_fit_, self.rival.dual_coef_ = self.model.basis_vectors_, self.model.dual_coef_
        self.new = 1.5 * rng.standard_normal((self.total, FEATURES))
        # The same sum of m terms; only its rounding and that of the distances differ.
        assert_close(self.model.predict(self.new), self.rival.predict(self.new), 1e-11)

    def by_blocks(self, model: BaseEstimator, at_once: int) -> None:
        for i in range(0, self.total, at_once):
            model.predict(self.new[i : i + at_once])

    def time_predict(self, engine: str, m: int, at_once: int) -> None:
        self.by_blocks(self.model, at_once)

    def track_ratio_to_kernel_ridge(self, engine: str, m: int, at_once: int) -> float:
        return ratio(lambda _: self.by_blocks(self.model, at_once), lambda _: self.by_blocks(self.rival, at_once))

    track_ratio_to_kernel_ridge.unit = "ours/KernelRidge"


class PredictSingle(Timed):
    """`predict` of 2,000 rows of float32 and of float64, 54 features, beside a matrix product of 2 m d flops a row."""

    rows, features = 2_000, 54
    params = (["rbf", "matern52", "laplacian"], sizes(100, 500))
    param_names = ("kernel", "m")

    def setup(self, kernel: str, m: int) -> None:
        rng = np.random.default_rng(SEED)
        X = 1.5 * rng.standard_normal((m, self.features))
        self.model = make("orthonormal", m, 0.5 / self.features).set_params(kernel=kernel)
        self.model.fit(X, target(X, rng))
        assert self.model.n_basis_ == m, f"{self.model.n_basis_} kernels, not {m}"
        self.new = 1.5 * rng.standard_normal((self.rows, self.features))
        self.single = self.new.astype(np.float32)
        # Kernel values in single precision (6e-8 of the exponent, below 100 here), summed in double.
        size = np.abs(self.model.dual_coef_).sum() / np.abs(self.model.predict(self.new)).max()
        assert_close(self.model.predict(self.single), self.model.predict(self.new), 1e-5 * size)

    def track_single_over_double(self, kernel: str, m: int) -> float:
        return ratio(lambda _: self.model.predict(self.single), lambda _: self.model.predict(self.new))

    def track_fraction_of_dgemm(self, kernel: str, m: int) -> float:
        return fraction_of_dgemm(lambda: self.model.predict(self.new), 2.0 * self.rows * m * self.features)

    track_single_over_double.unit = "float32/float64"
    track_fraction_of_dgemm.unit = "of dgemm's flops/s"
