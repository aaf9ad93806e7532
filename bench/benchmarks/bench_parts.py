"""Parts of the core: the kernel block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from measure.clock import ratio
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel

from .common import SEED, Array, Timed, assert_close, setup  # noqa: F401

DEGREE, COEF0 = 3, 1.0


def rival(name: str, gamma: float) -> Callable[[Array, Array], Array]:
    """scikit-learn's function for the kernel `name`."""
    return {
        "rbf": lambda X, Y: rbf_kernel(X, Y, gamma=gamma),
        "laplacian": lambda X, Y: laplacian_kernel(X, Y, gamma=gamma),
        "matern32": Matern(length_scale=gamma**-0.5, nu=1.5),
        "matern52": Matern(length_scale=gamma**-0.5, nu=2.5),
        "polynomial": lambda X, Y: polynomial_kernel(X, Y, degree=DEGREE, gamma=gamma, coef0=COEF0),
        "linear": linear_kernel,
    }[name]


ROWS = 256


class KernelBlock(Timed):
    """Kernel values of 256 new rows against 300 basis vectors, `at_once` rows a call."""

    params = (
        ["rbf", "laplacian", "matern32", "matern52", "polynomial", "linear"],
        [8, 54],
        [1, ROWS],
    )
    param_names = ("kernel", "features", "at_once")

    def setup(self, name: str, d: int, at_once: int) -> None:
        from kernsift import _core  # here, since some CPU levels cannot be imported

        rng = np.random.default_rng(SEED)
        self.X = rng.standard_normal((ROWS, d))
        self.basis = rng.standard_normal((300, d))
        gamma = 0.5 / d
        self.kernel = _core.Kernel(name, np.full(d, gamma), DEGREE, COEF0, np.zeros(d))
        self.rival = rival(name, gamma)
        # Rounding only: both sides add about d products of size one, and the rival's expanded distance
        # loses a few more digits than the direct one.
        assert_close(self.kernel.matrix(self.X, self.basis), self.rival(self.X, self.basis), 1e-12)

    def ours_by_blocks(self, at_once: int) -> None:
        for i in range(0, ROWS, at_once):
            self.kernel.matrix(self.X[i : i + at_once], self.basis)

    def rival_by_blocks(self, at_once: int) -> None:
        for i in range(0, ROWS, at_once):
            self.rival(self.X[i : i + at_once], self.basis)

    def time_matrix(self, name: str, d: int, at_once: int) -> None:
        self.ours_by_blocks(at_once)

    def track_ratio_to_sklearn(self, name: str, d: int, at_once: int) -> float:
        return ratio(lambda _: self.ours_by_blocks(at_once), lambda _: self.rival_by_blocks(at_once))

    track_ratio_to_sklearn.unit = "ours/sklearn"
