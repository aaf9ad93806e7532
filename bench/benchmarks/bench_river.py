"""A row through the river adapter, against the core's own cost of it and against the converted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from measure.clock import ratio

from .common import SEED, Timed, assert_close, kernsift, setup  # noqa: F401

ROWS = 1000


class River(Timed):
    """Predict and learn row after row at a full dictionary of m kernels."""

    params = ([50, 200, 500], [10])
    param_names = ("m", "d")

    def setup(self, m: int, d: int) -> None:
        try:
            from kernsift.river import OnlineLSSVMRegressor
            from river import compat
        except ImportError:
            raise NotImplementedError("needs river") from None
        rng = np.random.default_rng(SEED)
        self.X = rng.standard_normal((m + 2 * ROWS, d))
        self.y = np.sin(self.X[:, 0]) + 0.1 * rng.standard_normal(len(self.X))
        self.rows = [{f"feature_{j}": value for j, value in enumerate(row)} for row in self.X.tolist()]
        parameters: dict[str, Any] = {"gamma": 1.0 / d, "max_basis": m, "novelty_tol": 1e-4, "admission": "novelty"}
        parameters |= {"forgetting": 1.0, "linear": False}  # what the adapter adds is in units of a row
        self.native = OnlineLSSVMRegressor(**parameters)
        estimator = kernsift.OnlineLSSVMRegressor(**parameters)
        self.converted = compat.convert_sklearn_to_river(estimator)
        self.core = estimator.fit(self.X[: m + ROWS], self.y[: m + ROWS])._core
        for model in (self.native, self.converted):
            for x, target in zip(self.rows[: m + ROWS], self.y.tolist(), strict=False):
                model.learn_one(x, target)
        assert self.native.n_basis == m
        predicted = [[model.predict_one(x) for x in self.rows[-50:]] for model in (self.native, self.converted)]
        assert_close(np.array(predicted[0]), np.array(predicted[1]), 1e-8)
        self.place = m + ROWS

    def pairs(self, model: Any, count: int = ROWS) -> None:
        for x, target in zip(self.rows[self.place : self.place + count], self.y.tolist(), strict=False):
            model.predict_one(x)
            model.learn_one(x, target)

    def conversions(self) -> None:
        for x in self.rows[self.place : self.place + ROWS]:
            np.array(list(x.values()), np.float64)
            np.array(list(x.values()), np.float64)

    def core_rows(self) -> None:
        targets = self.y[:, None]
        for i in range(self.place, self.place + ROWS):
            self.core.predict_one(self.X[i])
            self.core.update(self.X[i], targets[i], 1.0)

    def track_ratio_to_core_and_dict(self, m: int, d: int) -> float:
        """Over the core's own predict and update of a row plus two conversions of its dict."""

        def limit(_: Any) -> None:
            self.core_rows()
            self.conversions()

        return ratio(lambda _: self.pairs(self.native), limit, rounds=5)

    track_ratio_to_core_and_dict.unit = "ours/limit"  # type: ignore[attr-defined]

    def track_ratio_to_converted(self, m: int, d: int) -> float:
        """Over ``river.compat.convert_sklearn_to_river(estimator)``, the same rows."""
        return ratio(lambda _: self.pairs(self.native, 300), lambda _: self.pairs(self.converted, 300), rounds=3)

    track_ratio_to_converted.unit = "ours/converted"  # type: ignore[attr-defined]
