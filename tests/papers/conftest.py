"""Growing steps and a pruned model, solved once."""

from __future__ import annotations

import pytest
from support.growing_step import Candidate, Pruned, candidates


@pytest.fixture(scope="module")
def light() -> list[Candidate]:
    """A small ridge: alpha = 0.01."""
    return candidates(1e-2)


@pytest.fixture(scope="module")
def grown(light: list[Candidate]) -> Candidate:
    """A late candidate: about fifty kernels."""
    return light[-1]


@pytest.fixture(scope="module")
def pruned() -> Pruned:
    """Some twenty kernels, far enough apart that every element of P^-1 counts."""
    return Pruned(candidates(1e-2, novelty_tol=0.1)[-1])
