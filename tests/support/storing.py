"""The usual ways to store a model and to get it back."""

from __future__ import annotations

import copy
import io
import pickle

import joblib
import skops.io


def through_skops(model):
    data = skops.io.dumps(model)
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


ROUND_TRIPS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "pickle protocol 0": lambda model: pickle.loads(pickle.dumps(model, protocol=0)),
    "pickle protocol 1": lambda model: pickle.loads(pickle.dumps(model, protocol=1)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "joblib": through_joblib,
    "skops": through_skops,
}
