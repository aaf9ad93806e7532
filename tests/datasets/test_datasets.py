"""The data of the examples: the same for the same seed, by the promised rule, and true where it is of the world."""

from __future__ import annotations

import numpy as np
import pytest
from kernsift import datasets

SERIES = {"mackey_glass", "electric_load", "air_passengers", "sunspots", "nile"}
FACTS = {"air_passengers", "sunspots", "nile"}
DRAWN = sorted(set(datasets.__all__) - FACTS)


def parts(found):
    return found if isinstance(found, tuple) else (found,)


def same(one, other):
    """Whether two draws are the same; NaN is NaN, in columns of objects too."""
    return all(repr(a.tolist()) == repr(b.tolist()) for a, b in zip(parts(one), parts(other), strict=True))


@pytest.mark.parametrize("name", DRAWN)
def test_the_seed_says_all(name):
    draw = getattr(datasets, name)
    assert same(draw(60), draw(60, random_state=0))
    assert not same(draw(60), draw(60, random_state=1))
    assert same(draw(60, random_state=np.random.default_rng(5)), draw(60, random_state=5))
    assert not same(draw(60, random_state=None), draw(60, random_state=None))


@pytest.mark.parametrize("name", datasets.__all__)
def test_shapes_and_numbers(name):
    found = parts(getattr(datasets, name)(*(() if name in FACTS else (70,))))
    assert len(found) == (1 if name in SERIES else 2)
    rows = {"air_passengers": 144, "sunspots": 309, "nile": 100, "electric_load": 24 * 70}.get(name, 70)
    assert {len(part) for part in found} == {rows}
    assert np.isfinite(found[-1]).all()
    if name not in SERIES:
        assert found[0].ndim == 2
        assert found[-1].ndim == 1


def test_rules_without_noise():
    X, y = datasets.waves(50, noise=0.0)
    np.testing.assert_allclose(y, np.sin(2 * X[:, 0]) + np.cos(X[:, 0] * X[:, 1]), rtol=0, atol=1e-15)
    X, y = datasets.phase_jump(50, shift=1.5, noise=0.0)
    phase = np.repeat([0.0, 1.5], 25)
    np.testing.assert_allclose(y, np.sin(2 * X[:, 0] + phase) * np.cos(1.5 * X[:, 1]), rtol=0, atol=1e-15)
    X, y = datasets.rotating_sine(80, noise=0.0)
    np.testing.assert_allclose(y[[0, 20]], np.sin(2 * X[[0, 20], [0, 1]]), rtol=0, atol=1e-12)  # a quarter turn
    X, y = datasets.uneven_noise(4000)
    off, above = y - np.sin(X[:, 0]), X[:, 0] > 0
    assert off[above].std() == pytest.approx(0.35, rel=0.1)  # four standard errors of 2,000 rows are 6 %
    assert off[~above].std() == pytest.approx(0.05, rel=0.1)


def test_the_columns_of_houses():
    X, y = datasets.houses(800, noise=0.0)
    area, year, storey, lift, place = X.T
    missing = np.array([value != value for value in year])
    assert 0.02 < missing.mean() < 0.09
    assert set(place) == {"harbour", "hill", "mill", "plain"}
    assert set(lift) == {True, False}
    worth = np.array([{"harbour": 2.2, "hill": 1.8, "mill": 1.1, "plain": 1.3}[one] for one in place])
    climb = np.where(lift.astype(bool), 5.0, -6.0) * storey.astype(float)
    age = np.where(missing, 0, 60 * ((np.where(missing, 1965, year).astype(float) - 1965) / 55) ** 2)
    rule = 40 + 1.1 * area.astype(float) * worth + age + climb
    np.testing.assert_allclose(y[~missing], rule[~missing], rtol=1e-12)


def test_the_series_of_mackey_and_glass_solves_its_equation():
    """By an integration of its own, in finer steps: the error of Euler's grows with the time."""
    series = datasets.mackey_glass(200, delay=17)
    assert 0.2 < series.min() < series.max() < 1.5
    change = (series[19:] - series[17:-2]) / 2  # in the middle of two units
    middle, late = series[18:-1], series[1:-18]
    np.testing.assert_allclose(change, 0.2 * late / (1 + late**10) - 0.1 * middle, atol=0.02)
    noisy = datasets.mackey_glass(200, delay=17, noise=0.1)
    assert (noisy - series).std() == pytest.approx(0.1, rel=0.25)  # four standard errors of 200


def test_the_drift_of_mackey_and_glass():
    """Column j is the first 6 j rows before, and the target that twelve rows later."""
    X, y = datasets.mackey_glass_drift(300)
    np.testing.assert_array_equal(X[6:, 1], X[:-6, 0])
    np.testing.assert_array_equal(X[12:, 0], y[:-12])


def test_the_series_of_the_world():
    """Sums of the values as published: a letter wrong in one is found."""
    assert datasets.nile().sum() == 91935
    assert datasets.nile()[42] == 456  # the lowest year, 1913
    assert datasets.air_passengers().sum() == 40363
    spots = datasets.sunspots()
    assert spots.sum() == pytest.approx(15373.4, abs=1e-9)
    assert spots[1957 - 1700] == 190.2
