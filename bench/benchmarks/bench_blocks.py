"""The stream at the machine's speed: quiet blocks, a second pass, predictions and single rows, against limits.

Flops counted: 2md for the kernels of a row, m^2 for its coordinates, m^2 for the cross product; exp is not counted.
The limit is numpy's dgemm on one thread in the same run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from measure.clock import best, fraction_of_dgemm, ratio
from sklearn.linear_model import SGDRegressor

from .common import SEED, Array, Timed, assert_close, kernsift, setup, sizes  # noqa: F401

NOISE = 0.05  # of the rows about their centres: far below the novelty threshold
ROWS = 20_000


class Quiet(Timed):
    """A dictionary of m kernels and rows that repeat their neighbourhoods."""

    params = (sizes(50, 100, 300, 500, 1000), [5, 54])
    param_names = ("m", "d")

    def setup(self, m: int, d: int) -> None:
        rng = np.random.default_rng(SEED)
        centres = 3.0 * max(1.0, m / 500) ** (1 / d) * rng.standard_normal((m, d))  # no denser than 500 are
        self.X = centres[rng.integers(m, size=ROWS)] + NOISE * rng.standard_normal((ROWS, d)) / np.sqrt(d)
        self.y = np.sin(self.X[:, 0])
        self.models = {}
        for engine in ("orthonormal", "inverse"):
            model = kernsift.OnlineLSSVMRegressor(
                gamma=5.0 / d, alpha=1.0, novelty_tol=0.5, admission="novelty", max_basis=None, fit_intercept=False,
                engine=engine, forgetting=1.0, linear=False,
            )  # fmt: skip
            self.models[engine] = model.partial_fit(centres, np.sin(centres[:, 0]))
            assert model.n_basis_ == m
        few = slice(0, 200)
        for model in self.models.values():
            model.partial_fit(self.X[few], self.y[few])
            assert model.n_basis_ == m
        # The same 200 rows, learned in the same order; alpha = 1 keeps both engines at ten digits and better.
        assert_close(*(model.predict(self.X[:50]) for model in self.models.values()), 1e-9)
        self.models["orthonormal"].partial_fit(self.X, self.y)  # long enough to be known as quiet
        self.flops = 2.0 * ROWS * m * (d + m)

    def learn(self) -> None:
        self.models["orthonormal"].partial_fit(self.X, self.y)

    def track_fraction_of_dgemm(self, m: int, d: int) -> float:
        return fraction_of_dgemm(self.learn, self.flops)

    def track_ratio_to_rows(self, m: int, d: int) -> float:
        """Our time a row over the explicit recursion's, row by row."""
        few = slice(0, 1000)
        rows = self.models["inverse"]
        raw = ratio(lambda _: self.learn(), lambda _: rows.partial_fit(self.X[few], self.y[few]), rounds=3)
        return float(f"{raw * 1000 / ROWS:.3g}")

    def track_refit_fraction_of_dgemm(self, m: int, d: int) -> float:
        model = self.models["orthonormal"]
        return fraction_of_dgemm(lambda: model.refit(self.X, self.y), self.flops)

    def track_predict_fraction_of_dgemm(self, m: int, d: int) -> float:
        model = self.models["orthonormal"]
        return fraction_of_dgemm(lambda: model.predict(self.X), 2.0 * ROWS * m * d)


class OneRow(Timed):
    """`update` and `predict_one` of single rows beside a linear `partial_fit` of scikit-learn's, and numpy's f(x)."""

    params = (sizes(50, 100, 300, 500, 1000), [5, 54])
    param_names = ("m", "d")

    def setup(self, m: int, d: int) -> None:
        rng = np.random.default_rng(SEED)
        centres = 3.0 * max(1.0, m / 100) ** (1 / d) * rng.standard_normal((m, d))
        self.X = centres[rng.integers(m, size=500)] + NOISE * rng.standard_normal((500, d)) / np.sqrt(d)
        self.y = np.sin(self.X[:, 0])
        self.gamma = 5.0 / d
        one = {"forgetting": 1.0, "linear": False}
        self.model = kernsift.OnlineLSSVMRegressor(gamma=self.gamma, novelty_tol=0.5, max_basis=None, **one)
        self.model.partial_fit(centres, np.sin(centres[:, 0]))
        self.rival = SGDRegressor().fit(self.X, self.y)
        mean = np.array([self.model.predict_one(x) for x in self.X])
        assert_close(mean, self.model.predict(self.X), 1e-10)
        self.parts = self.model.basis_vectors_, self.model.dual_coef_, self.model.intercept_
        assert_close(np.array([self.by_hand(x) for x in self.X]), mean, 1e-9)

    def by_hand(self, x: Array) -> float:
        basis, coef, intercept = self.parts
        difference = basis - x
        return float(np.exp(-self.gamma * np.einsum("ij,ij->i", difference, difference)) @ coef + intercept)

    def by_rows(self, learn: Callable[[Array, float], object]) -> None:
        for x, y in zip(self.X, self.y, strict=True):
            learn(x, y)

    def time_update(self, m: int, d: int) -> None:
        self.by_rows(self.model.update)

    def track_microseconds_a_row(self, m: int, d: int) -> float:
        return float(f"{1e6 * best(lambda: self.by_rows(self.model.update)) / len(self.X):.3g}")

    def track_update_ratio_to_sgd(self, m: int, d: int) -> float:
        return ratio(
            lambda _: self.by_rows(self.model.update),
            lambda _: self.by_rows(lambda x, y: self.rival.partial_fit(x[None], [y])),
            rounds=3,
        )

    def track_update_ratio_to_river(self, m: int, d: int) -> float:
        """A linear model of river, given the row as the dict that it wants."""
        try:
            from river.linear_model import LinearRegression
        except ImportError:
            return float("nan")
        rows, linear = [dict(enumerate(x)) for x in self.X.tolist()], LinearRegression()
        return ratio(
            lambda _: self.by_rows(self.model.update),
            lambda _: [linear.learn_one(x, y) for x, y in zip(rows, self.y, strict=True)],
            rounds=3,
        )

    def track_predict_one_ratio_to_numpy(self, m: int, d: int) -> float:
        return ratio(
            lambda _: [self.model.predict_one(x) for x in self.X], lambda _: [self.by_hand(x) for x in self.X], rounds=3
        )
