"""MAPIE and crepes take our regressors as they are, and judge our intervals as well as their own."""

from __future__ import annotations

import numpy as np
import pytest
from kernsift import OROLSRegressor, SubsetLSSVMClassifier, SubsetLSSVMRegressor

MODELS = {
    "subset": lambda: SubsetLSSVMRegressor(gamma=1.0, max_basis=30, random_state=0),
    "orols": lambda: OROLSRegressor(gamma=1.0),
}
# Four standard deviations of the part of 4,000 new rows inside, and two of the multiple found on 300 rows.
SLACK = 4 * (0.09 / 4000) ** 0.5 + 2 * (0.09 / 300) ** 0.5


def rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + np.where(X[:, 0] > 0, 0.35, 0.05) * rng.standard_normal(n)


def parts(lower, upper, X, y):
    """Inside: all rows, and those where noise is large."""
    inside = (lower <= y) & (y <= upper)
    return inside.mean(), inside[X[:, 0] > 0.3].mean()


@pytest.mark.parametrize("family", MODELS)
def test_mapie_conforms_by_our_standard_deviations_and_ours_are_as_narrow(family):
    mapie = pytest.importorskip("mapie.regression", reason="needs MAPIE: pip install mapie")
    from mapie.metrics.regression import regression_coverage_score

    (X, y), (new, t) = rows(600, 0), rows(4000, 1)
    plain = mapie.CrossConformalRegressor(MODELS[family](), confidence_level=0.9, cv=10, random_state=0)
    theirs = plain.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0].T
    lower, upper = MODELS[family]().fit(X, y).predict_interval(new, 0.9)
    # their judge of coverage, on theirs and on ours
    for low, high in (theirs, (lower, upper)):
        covered = regression_coverage_score(t, np.stack([low, high], axis=1)[:, :, None])[0]
        assert covered == pytest.approx(0.9, abs=SLACK)
    # where noise is large theirs, of constant width, contain too few; ours hold and are no wider
    assert parts(*theirs, new, t)[1] < 0.86
    assert parts(lower, upper, new, t)[1] > 0.9 - 2 * SLACK
    assert (upper - lower).mean() < (theirs[1] - theirs[0]).mean()


@pytest.mark.parametrize("family", MODELS)
def test_crepes_normalises_by_our_standard_deviations(family):
    crepes = pytest.importorskip("crepes", reason="needs crepes: pip install crepes")
    from crepes.extras import DifficultyEstimator

    (X, y), (held, u), (new, t) = rows(300, 0), rows(300, 2), rows(4000, 1)
    wrapped = crepes.WrapRegressor(MODELS[family]())
    wrapped.fit(X, y)
    # a difficulty for each row: the standard deviation
    difficulty = DifficultyEstimator()
    difficulty.fit(X, f=lambda rows: wrapped.learner.predict(rows, return_std=True)[1])
    wrapped.calibrate(held, u, de=difficulty)
    whole, large = parts(*wrapped.predict_int(new, confidence=0.9).T, new, t)
    assert whole == pytest.approx(0.9, abs=SLACK)
    assert large > 0.9 - 2 * SLACK


def test_crepes_makes_sets_of_our_probabilities():
    crepes = pytest.importorskip("crepes", reason="needs crepes: pip install crepes")
    rng = np.random.default_rng(0)
    centres = np.array([[-1, -1], [-1, 1], [1, 0]])
    codes = rng.integers(3, size=1200)
    X = centres[codes] + 0.9 * rng.standard_normal((1200, 2))
    wrapped = crepes.WrapClassifier(SubsetLSSVMClassifier(gamma=0.5, max_basis=30, random_state=0))
    wrapped.fit(X[:300], codes[:300])
    wrapped.calibrate(X[300:600], codes[300:600])
    theirs = np.array([np.isin(np.arange(3), found) for found in wrapped.predict_set(X[600:], confidence=0.9)])
    ours = wrapped.learner.predict_set(X[600:], coverage=0.9)
    slack = 4 * (0.09 / 600) ** 0.5 + 2 * (0.09 / 300) ** 0.5
    for found in (theirs, ours):
        assert found[np.arange(600), codes[600:]].mean() == pytest.approx(0.9, abs=slack)
