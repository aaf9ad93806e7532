"""``est.save(path)`` and ``kernsift.load(path)``: every estimator in one file of plain arrays, without pickle."""

from __future__ import annotations

import importlib
import inspect
import os
from typing import Any

from sklearn import config_context
from sklearn.base import BaseEstimator

from . import archive as _archive
from .plain import Decoder, Encoder

PACKAGE = "kernsift"
# Modules with estimators beyond those of `kernsift` itself.
_ELSEWHERE = ("river", "forecast")

# What scikit-learn keeps on an estimator for its own use and is not the model.
_NOT_THE_MODEL = ("_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_parent_callback_ctx")
_REQUESTS = "_metadata_request"


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write `estimator` to `path`; see :meth:`Estimator.save`."""
    name = _name_of(type(estimator))
    if name is None:
        raise TypeError(
            f"save knows kernsift's own estimators and {type(estimator).__qualname__} is none of them (a subclass has "
            "code of its own): keep it with pickle or joblib"
        )
    encoder = Encoder(_describe)
    state = {k: encoder.encode(v, k) for k, v in sorted(_state(estimator).items())}
    header = {
        "library": "kernsift",
        "version": importlib.import_module(PACKAGE).__version__,
        "class": name,
        "state": state,
        "objects": encoder.objects,
    }
    _archive.write(path, header, encoder.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``est.save(path)`` wrote.

    The file holds numbers, texts and arrays under a checksum: no code of it runs, and nothing is allocated that it does
    not hold.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        Of the class that was saved, with its parameters; a stream resumes bit for bit.

    Raises
    ------
    ValueError
        If the file is no saved model, is damaged or cut short, or needs a newer kernsift.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import kernsift
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = kernsift.OnlineLSSVMRegressor(gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.npz")
    ...     model.save(path)
    ...     again = kernsift.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    header, arrays = _archive.read(path)
    name, version = header.get("class"), header.get("version")
    where = f"{os.fspath(path)!r} (written by kernsift {version})"
    if not isinstance(name, str) or _class_of(name) is None:
        raise ValueError(f"{where} holds a {name}, which this kernsift does not know: update kernsift")
    state = header.get("state")
    try:
        if not isinstance(state, dict):
            raise ValueError("it has no state")
        decoder = Decoder(arrays, header.get("objects", []), _rebuild)
        return _rebuild(name, {k: decoder.decode(v) for k, v in state.items()})
    except _UnknownParameterError as error:
        raise ValueError(f"{where} holds {error}: update kernsift") from error
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{where} does not hold a whole {name}: {error}") from error
    except MemoryError as error:
        raise ValueError(f"{where} holds a {name} that needs more memory than there is: {error}") from error


class _UnknownParameterError(ValueError):
    """The file's class has a parameter that ours has not."""


def _state(estimator: Any) -> dict[str, Any]:
    state = {k: v for k, v in estimator.__getstate__().items() if k not in _NOT_THE_MODEL}
    requests = state.pop(_REQUESTS, None)
    if requests is not None:
        state["$requests"] = requests._serialize()
    return state


def _describe(value: Any) -> dict[str, Any] | None:
    name = _name_of(type(value)) if isinstance(value, BaseEstimator) else None
    return None if name is None else {"class": name, "state": _state(value)}


def _name_of(kind: type) -> str | None:
    package, _, module = kind.__module__.partition(".")
    room = module.partition(".")[0]
    name = f"{room}.{kind.__name__}" if room in _ELSEWHERE else kind.__name__
    return name if package == PACKAGE and _class_of(name) is kind else None


def _class_of(name: str) -> type | None:
    """The public estimator of that name."""
    module, _, plain = name.rpartition(".")
    if module not in ("", *_ELSEWHERE):
        return None
    home = importlib.import_module(f"{PACKAGE}.{module}" if module else PACKAGE)
    kind = getattr(home, plain, None) if plain in home.__all__ else None
    return kind if isinstance(kind, type) and hasattr(kind, "save") else None


def _rebuild(name: str, state: dict[str, Any]) -> Any:
    kind: Any = _class_of(name)
    if kind is None:
        raise _UnknownParameterError(f"a {name}, which this kernsift does not know")
    parameters = {p.name: p.default for p in inspect.signature(kind).parameters.values() if p.kind is not p.VAR_KEYWORD}
    requests = state.pop("$requests", {})
    unknown = [k for k in state if not k.startswith("_") and not k.endswith("_") and k not in parameters]
    if unknown:
        raise _UnknownParameterError(f"parameter {unknown[0]!r}, which this kernsift's {name} does not have")
    hidden = [k for k in state if callable(getattr(kind, k, None))]
    if hidden:
        raise ValueError(f"{hidden[0]!r} would hide a method")
    estimator = kind.__new__(kind)
    # a parameter younger than the file has its default, with which estimators behave as before it came
    estimator.__setstate__({**{k: v for k, v in parameters.items() if k not in state}, **state})
    _set_requests(estimator, requests)
    return estimator


def _set_requests(estimator: Any, requests: dict[str, dict[str, Any]]) -> None:
    with config_context(enable_metadata_routing=True):
        for method, asked in requests.items():
            setter = getattr(estimator, f"set_{method}_request", None)
            if asked and setter is not None:
                setter(**asked)
