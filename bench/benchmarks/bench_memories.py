"""What memories that compete cost beside one, and a row of the default model in microseconds."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np
from kernsift.base.targets import Rows
from kernsift.widths.brief import learn_briefly
from measure.clock import ratio

from .common import SEED, Array, Timed, kernsift, setup, sizes  # noqa: F401

FEATURES, ROWS = 10, 2000
ONE = {"forgetting": 1.0, "linear": False}


class Memories(Timed):
    """Rows of a full dictionary of m kernels; the function changes half-way, so that memories differ."""

    params = (sizes(100, 500),)
    param_names = ("m",)

    def setup(self, m: int) -> None:
        rng = np.random.default_rng(SEED)
        n = 4 * m + 2 * ROWS
        self.X = rng.standard_normal((n, FEATURES))
        sign = np.where(np.arange(n) < n - ROWS, 1.0, -1.0)
        self.y = sign * np.sin(2 * self.X[:, 0]) + self.X[:, 1] * self.X[:, 2] + 0.1 * rng.standard_normal(n)
        self.rows = slice(n - ROWS, n)
        self.bank, self.one, self.even = (self.begun(m, **settings) for settings in ({}, ONE, {"noise": "constant"}))
        found = copy.deepcopy(self.bank).prequential(self.X[self.rows], self.y[self.rows])
        alone = [
            self.begun(m, forgetting=each["forgetting"]).prequential(self.X[self.rows], self.y[self.rows])
            for each in self.bank.experts_
        ]
        # about as good as the best of its memories would be alone, in hindsight
        errors = [self.rms(each.error) for each in alone]
        assert self.rms(found.error) < min(1.1 * min(errors), 0.95 * errors[0])

    def begun(self, m: int, **settings: Any) -> Any:
        model = kernsift.OnlineLSSVMRegressor(gamma=1.0 / FEATURES, max_basis=m, **settings)
        model.partial_fit(self.X[: self.rows.start], self.y[: self.rows.start])
        assert model.n_basis_ == m
        return model

    @staticmethod
    def rms(error: Array) -> float:
        return float(np.sqrt(np.mean(error**2)))

    def time_partial_fit(self, m: int) -> None:
        self.bank.partial_fit(self.X[self.rows], self.y[self.rows])

    def track_ratio_of_the_default_to_one_memory(self, m: int) -> float:
        learn = lambda model: model.partial_fit(self.X[self.rows], self.y[self.rows])  # noqa: E731
        return ratio(learn, learn, lambda: (copy.deepcopy(self.bank), copy.deepcopy(self.one)))

    def updates(self, model: Any) -> Array:
        """Microseconds of each of the rows, the call included."""
        took = np.empty(ROWS)
        targets = self.y[self.rows].tolist()
        for i, (x, y) in enumerate(zip(self.X[self.rows], targets, strict=True)):
            begin = time.thread_time()
            model.update(x, y)
            took[i] = time.thread_time() - begin
        return took * 1e6

    def track_ratio_of_an_update_to_one_memory(self, m: int) -> float:
        rows = lambda model: self.updates(model)  # noqa: E731
        return ratio(rows, rows, lambda: (copy.deepcopy(self.bank), copy.deepcopy(self.one)))

    def track_ratio_of_an_update_to_that_with_constant_noise(self, m: int) -> float:
        rows = lambda model: self.updates(model)  # noqa: E731
        return ratio(rows, rows, lambda: (copy.deepcopy(self.bank), copy.deepcopy(self.even)))

    def track_median_microseconds_of_an_update(self, m: int) -> float:
        return float(np.median(self.updates(copy.deepcopy(self.bank))))

    def track_p999_microseconds_of_an_update(self, m: int) -> float:
        return float(np.quantile(self.updates(copy.deepcopy(self.bank)), 0.999))


class LearnedWidths(Timed):
    """A stream that learns its widths while it runs; two of ten features say something."""

    params = (sizes(100),)
    param_names = ("m",)

    def setup(self, m: int) -> None:
        rng = np.random.default_rng(SEED)
        self.X = rng.standard_normal((2 * ROWS, FEATURES))
        self.y = np.sin(2 * self.X[:, 0]) * self.X[:, 1] + 0.1 * rng.standard_normal(len(self.X))
        learned, fixed = (self.streamed(m, gamma) for gamma in ("auto", "standard"))
        assert np.mean(learned[ROWS:] ** 2) < 0.2 * np.mean(fixed[ROWS:] ** 2)

    def streamed(self, m: int, gamma: str) -> Array:
        return kernsift.OnlineLSSVMRegressor(gamma=gamma, max_basis=m).prequential(self.X, self.y).error

    def time_prequential(self, m: int) -> None:
        self.streamed(m, "auto")

    def track_ratio_to_widths_of_the_first_rows(self, m: int) -> float:
        return ratio(lambda gamma: self.streamed(m, gamma), lambda gamma: self.streamed(m, gamma),
                     lambda: ("auto", "standard"))  # fmt: skip

    def track_milliseconds_of_learning_widths(self, m: int) -> float:
        rows = Rows(self.X[:1000], self.y[:1000, None], np.ones(1000))
        begin = time.thread_time()
        found = learn_briefly(rows, "rbf", True)
        took = 1e3 * (time.thread_time() - begin)
        assert found is not None
        assert found.relevance[:2].sum() > 0.5
        return took
