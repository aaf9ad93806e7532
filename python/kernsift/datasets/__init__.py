"""Small data sets for examples: generators, and three series of the world."""

from __future__ import annotations

from .generators import (
    electric_load,
    houses,
    mackey_glass,
    mackey_glass_drift,
    phase_jump,
    rotating_sine,
    uneven_noise,
    waves,
)
from .series import air_passengers, nile, sunspots

__all__ = [
    "air_passengers",
    "electric_load",
    "houses",
    "mackey_glass",
    "mackey_glass_drift",
    "nile",
    "phase_jump",
    "rotating_sine",
    "sunspots",
    "uneven_noise",
    "waves",
]
