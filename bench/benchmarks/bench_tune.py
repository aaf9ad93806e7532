"""Choosing width and ridge: leave-one-out from one eigen-decomposition a width, against a grid search over folds."""

from __future__ import annotations

import numpy as np
from measure.clock import best, ratio
from sklearn.model_selection import GridSearchCV

from .common import SEED, Timed, kernsift, setup, table  # noqa: F401

FEATURES = 8
GAMMAS = [factor / FEATURES for factor in (0.25, 1.0, 4.0)]
ALPHAS = np.logspace(-4, 2, 13)


class Tune(Timed):
    """Every pair of three widths and thirteen ridges."""

    rows = 2000
    params = ([50, 100],)
    param_names = ("m",)

    def setup(self, m: int) -> None:
        self.X, self.y = table(self.rows, FEATURES)
        self.estimator = kernsift.SubsetLSSVMRegressor(max_basis=m, random_state=0)
        self.found = self.ours()
        # Equal error on new rows, of the pair each search would have taken: five per cent, for the choices of the
        # two differ by what forty noisy scores differ.
        X, y = table(self.rows, FEATURES, SEED + 1)
        self.rival = self.search()
        self.rival_seconds = best(lambda: self.rival.fit(self.X, self.y), 1)
        ours, theirs = (np.mean((model.predict(X) - y) ** 2) for model in (self.found.best_estimator_, self.rival))
        assert ours < 1.05 * theirs, f"error {ours}, of the grid search {theirs}"

    def ours(self) -> object:
        return kernsift.tune(self.estimator, self.X, self.y, gammas=GAMMAS, alphas=ALPHAS)

    def search(self) -> GridSearchCV:
        grid = {"gamma": GAMMAS, "alpha": ALPHAS.tolist()}
        return GridSearchCV(self.estimator, grid, cv=5, scoring="neg_mean_squared_error")

    def time_tune(self, m: int) -> None:
        self.ours()

    def track_ratio_to_grid_search(self, m: int) -> float:
        """Of one run of the grid search: it takes hundreds of fits."""
        return float(f"{best(self.ours) / self.rival_seconds:.3g}")

    track_ratio_to_grid_search.unit = "ours/scikit-learn"

    def track_ratio_to_one_fit(self, m: int) -> float:
        return ratio(lambda _: self.ours(), lambda _: self.estimator.fit(self.X, self.y), rounds=3)

    track_ratio_to_one_fit.unit = "searches/fit"


class Ridges(Timed):
    """Fifty ridges on one basis, by GCV from the sums and by leave-one-out from the rows, in fits."""

    rows, m = 8000, 200
    alphas = np.logspace(-6, 2, 50)

    def setup(self) -> None:
        self.X, self.y = table(self.rows, FEATURES)
        self.estimator = kernsift.SubsetLSSVMRegressor(
            gamma=1 / FEATURES, alpha=0.1, basis=self.X[: self.m].copy(), max_basis=self.m
        )
        X, y = table(self.rows, FEATURES, SEED + 1)
        errors = {}
        for criterion in ("loo", "gcv"):
            found = self.search(criterion)
            errors[criterion] = np.mean((found.best_estimator_.predict(X) - y) ** 2)
        least = min(np.mean((self.estimator.set_params(alpha=a).fit(self.X, self.y).predict(X) - y) ** 2) for a in
                   self.alphas[::7])  # fmt: skip
        assert max(errors.values()) < 1.02 * least, f"{errors}, the best of seven ridges {least}"
        self.estimator.set_params(alpha=0.1)

    def search(self, criterion: str):  # type: ignore[no-untyped-def]
        return kernsift.tune(
            self.estimator, self.X, self.y, gammas=[1 / FEATURES], alphas=self.alphas, criterion=criterion
        )

    def in_fits(self, criterion: str) -> float:
        return ratio(lambda _: self.search(criterion), lambda _: self.estimator.fit(self.X, self.y))

    def track_gcv_in_fits(self) -> float:
        return self.in_fits("gcv")

    def track_loo_in_fits(self) -> float:
        return self.in_fits("loo")

    track_gcv_in_fits.unit = track_loo_in_fits.unit = "searches/fit"
