"""A file of a model, to be damaged or written over."""

from __future__ import annotations

import kernsift
import pytest
from support.saved_models import table


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.npz"
    X, y, _ = table(20)
    kernsift.OnlineLSSVMRegressor(max_basis=4).fit(X, y).save(path)
    return path
