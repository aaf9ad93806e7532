"""One evaluation of the leave-one-out error and its gradient, beside the same in numpy and this run's dgemm."""

from __future__ import annotations

import numpy as np
from measure.clock import fraction_of_dgemm, ratio

from .common import SEED, Array, Timed, assert_close, kernsift, setup  # noqa: F401

ROWS, KERNELS, FEATURES = 5000, 500, 54
JITTER = 1e-8


def numpy_evaluation(X: Array, Z: Array, y: Array, gamma: Array, alpha: float) -> tuple[float, Array]:
    """B1 to B3 with a bias and unit weights, 9 n m^2 + 6 n m d flops, all in products."""
    n, m = len(X), len(Z)
    A, B = X * np.sqrt(gamma), Z * np.sqrt(gamma)
    K = np.exp(-np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0))
    KZ = np.exp(-np.maximum((B**2).sum(1)[:, None] + (B**2).sum(1) - 2 * B @ B.T, 0))
    S, t = K - K.mean(0), y - y.mean()
    H = S @ np.linalg.inv(S.T @ S + alpha * KZ + JITTER * n * np.eye(m))
    b = H.T @ t
    rho = t - S @ b
    slack = 1 - np.einsum("ij,ij->i", H, S) - 1 / n
    total = float((rho**2 / slack**2).sum())
    p, q = 2 * rho / slack**2 / total, 2 * rho**2 / slack**3 / total
    u, N = H.T @ p, H.T @ (q[:, None] * H)
    G = -np.outer(p - S @ u, b) - np.outer(rho, u) + 2 * (q[:, None] * H - S @ N)
    G -= G.mean(0)
    G *= K
    GZ = alpha * (0.5 * (np.outer(u, b) + np.outer(b, u)) - N) * KZ
    slope = G.sum(1) @ A**2 + G.sum(0) @ B**2 - 2 * ((G.T @ A) * B).sum(0)
    slope += 2 * GZ.sum(0) @ B**2 - 2 * ((GZ @ B) * B).sum(0)
    return total / n, -slope


class Evaluation(Timed):
    """The value and the gradient with regard to every width."""

    params = (["rbf", "matern52", "laplacian"],)
    param_names = ("kernel",)
    rows, kernels = 2000, 200

    def setup(self, kernel: str) -> None:
        rng = np.random.default_rng(SEED)
        X, y = rng.standard_normal((self.rows, FEATURES)), rng.standard_normal((self.rows, 1))
        y[:, 0] += np.sin(X[:, 0])
        self.data = X, np.ascontiguousarray(X[: self.kernels]), y
        self.gamma, self.alpha = rng.uniform(0.2, 0.8, FEATURES) / FEATURES, 1e-3 * self.rows
        one = np.ones(self.rows)
        rows = dict(zip(("X", "landmarks", "Y"), self.data, strict=True), weight=one, within=0 * one)
        self.problem = kernsift._core.WidthProblem(kernel, **rows, fit_intercept=True, jitter=JITTER)
        value, slope, _, _ = self.evaluate()
        if kernel == "rbf":
            expected, expected_slope = self.rival()
            assert_close(np.array([value]), np.array([expected]), 1e-9)
            # numpy inverts A: its condition, some 1e6 here, times rounding
            assert_close(slope, expected_slope, 1e-7)

    def evaluate(self) -> tuple[float, Array, float, Array]:
        return self.problem.evaluate(self.gamma, self.alpha)

    def rival(self) -> tuple[float, Array]:
        X, Z, y = self.data
        return numpy_evaluation(X, Z, y[:, 0], self.gamma, self.alpha)

    def time_evaluation(self, kernel: str) -> None:
        self.evaluate()

    def track_ratio_to_numpy(self, kernel: str) -> float:
        """Our time over that of numpy with the rbf kernel, whatever ours is: the products are the same."""
        return ratio(lambda _: self.evaluate(), lambda _: self.rival(), rounds=3)

    track_ratio_to_numpy.unit = "ours/numpy"

    def track_fraction_of_dgemm(self, kernel: str) -> float:
        """9 n m² + 6 n m d flops, those of the numpy form, at the speed of this run's dgemm, over our time."""
        return fraction_of_dgemm(self.evaluate, self.rows * self.kernels * (9 * self.kernels + 6 * FEATURES))

    track_fraction_of_dgemm.unit = "of dgemm"


class FullSize(Evaluation):
    """At the size that learn_gamma works at."""

    rows, kernels = ROWS, KERNELS
