"""What the state machines over the estimators share."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path

import joblib
from hypothesis import settings
from hypothesis import strategies as st
from support.streams import through_a_file

SEEDS = st.integers(0, 2**32 - 1)
GAMMA = {"rbf": 0.5, "laplacian": 0.3, "matern32": 0.2, "matern52": 0.2, "polynomial": 0.2, "linear": 1.0}
BLOCKS = st.one_of(st.integers(0, 6), st.integers(7, 70))  # 64 rows are learned together in the core
# alpha and novelty_tol are 1e-2 at least: MATH 8.1 measures 1e-13 there, and the oracle, in double with weights from
# 0.3 to 3 in a frame of up to 4/3, solves with a condition of at most 1e4: six digits to spare.
TOLERANCE = 1e-8


def through_joblib(model):
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(model, Path(folder) / "model.joblib")
        return joblib.load(Path(folder) / "model.joblib")


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "pickle 0": lambda model: pickle.loads(pickle.dumps(model, protocol=0)),
    "deepcopy": copy.deepcopy,
    "save and load": through_a_file,
    "joblib": through_joblib,
}


def of_profile(**others):
    """As many examples as the profile says: 100, or what ``--hypothesis-profile nightly`` has."""
    return settings(deadline=None, **others)
