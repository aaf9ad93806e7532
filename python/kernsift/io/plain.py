"""An estimator's attributes as JSON and named arrays, and back: nothing but plain data, no code.

What JSON has no word for is an object with one key that begins with ``$``: ``$array`` (by name), ``$tuple``,
``$float`` (nan, inf), ``$scalar`` (a numpy number), ``$objects`` (an array of texts), ``$dict`` (keys that are no
texts), ``$object`` (a record, a nested estimator, a RandomState or a Generator, by number).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

_SCALARS = {t.__name__: t for t in (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.str_,
)}  # fmt: skip


# Parts of states that are not arrays themselves.  A name once given stays: old files carry it.
RECORDS: dict[str, type] = {}


def record(name: str) -> Callable[[type[T]], type[T]]:
    """Let instances of a dataclass be parts of saved models, under this name."""

    def register(kind: type[T]) -> type[T]:
        RECORDS[name] = kind
        return kind

    return register


class Encoder:
    """Turns values into JSON; arrays go to ``arrays``, shared and structured things to ``objects``."""

    def __init__(self, describe: Callable[[Any], dict[str, Any] | None]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.objects: list[dict[str, Any]] = []
        self._records = {t: name for name, t in RECORDS.items()}
        self._describe = describe  # a nested estimator's class and state, or None
        self._seen: dict[int, dict[str, Any]] = {}
        self._alive: list[Any] = []  # what ids in `_seen` belong to

    def encode(self, value: Any, where: str) -> Any:
        """Return `value` as JSON; `where` names it in errors and in the file."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if type(value) is list:
            return [self.encode(v, f"{where}.{i}") for i, v in enumerate(value)]
        if type(value) is tuple:
            return {"$tuple": [self.encode(v, f"{where}.{i}") for i, v in enumerate(value)]}
        if type(value) is dict:
            return self._dict(value, where)
        if id(value) not in self._seen:
            self._seen[id(value)] = self._shared(value, where)
            self._alive.append(value)
        return self._seen[id(value)]

    def _scalar(self, value: np.generic, where: str) -> Any:
        name = type(value).__name__
        if _SCALARS.get(name) is not type(value):
            raise _refusal(value, where)
        plain = value.item()
        return {"$scalar": [name, self.encode(plain, where)]}

    def _dict(self, value: dict[Any, Any], where: str) -> Any:
        if all(type(k) is str and not k.startswith("$") for k in value):
            return {k: self.encode(v, f"{where}.{k}") for k, v in value.items()}
        return {"$dict": [[self.encode(k, where), self.encode(v, f"{where}.{k}")] for k, v in value.items()]}

    def _shared(self, value: Any, where: str) -> dict[str, Any]:
        if type(value) is np.ndarray:
            return self._array(value, where)
        if isinstance(value, np.random.RandomState):
            state = value.get_state(legacy=False)
            assert isinstance(state, dict)
            if state["bit_generator"] != "MT19937":
                raise _refusal(value, where)
            return self._object({"random_state": self.encode(state, where)})
        if isinstance(value, np.random.Generator):
            place = dict(value.bit_generator.state)
            if place["bit_generator"] != "PCG64":
                raise _refusal(value, where)
            return self._object({"generator": self.encode(place, where)})
        if is_dataclass(value) and type(value) in self._records:
            content = {f.name: self.encode(getattr(value, f.name), f"{where}.{f.name}") for f in fields(value)}
            return self._object({"record": self._records[type(value)], "fields": content})
        described = self._describe(value)
        if described is None:
            raise _refusal(value, where)
        state = {k: self.encode(v, f"{where}.{k}") for k, v in described["state"].items()}
        return self._object({"estimator": described["class"], "state": state})

    def _object(self, content: dict[str, Any]) -> dict[str, Any]:
        self.objects.append(content)  # after its own parts: a reference always points backwards
        return {"$object": len(self.objects) - 1}

    def _array(self, value: NDArray[Any], where: str) -> dict[str, Any]:
        if value.dtype.kind == "O":
            parts = [self.encode(v, where) for v in value.ravel().tolist()]
            if not all(p is None or isinstance(p, (str, int, float)) for p in parts):
                raise _refusal(value, where)
            return {"$objects": {"shape": list(value.shape), "values": parts}}
        if value.dtype.kind not in "biufcSUmM" or value.dtype.fields:
            raise _refusal(value, where)
        name = base = re.sub(r"[^\w.-]", "-", where)
        number = 1
        while name in self.arrays:
            number += 1
            name = f"{base}-{number}"
        self.arrays[name] = value
        return {"$array": name}


def _refusal(value: Any, where: str) -> TypeError:
    what = (
        f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a value of type {type(value).__qualname__}"
    )
    name, _, inside = where.partition(".")
    place = f" (in {where})" if inside else ""
    return TypeError(
        f"save stores numbers, texts, arrays and kernsift's own estimators, and {name} holds {what}{place}: give "
        f"{name} as plain data (np.asarray for a series), or keep this model with pickle or joblib"
    )


# One array may stand in several places of a model, each of which may copy it: the copies may take at most this many
# times the memory of all arrays.
_MOST_COPIES = 16


class Decoder:
    """Turns JSON and arrays back into values, knowing nothing but plain data and the records named."""

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        objects: list[Any],
        rebuild: Callable[[str, dict[str, Any]], Any],
    ) -> None:
        self._arrays, self._rebuild = arrays, rebuild
        self._left = _MOST_COPIES * (sum(values.nbytes for values in arrays.values()) + 2**16)
        self._objects: list[Any] = []
        for content in objects:
            self._objects.append(self._object(content))

    def decode(self, value: Any) -> Any:
        """Return what `Encoder.encode` was given."""
        if isinstance(value, list):
            return [self.decode(v) for v in value]
        if not isinstance(value, dict):
            return value
        tag = next(iter(value), "")
        if not tag.startswith("$"):
            return {k: self.decode(v) for k, v in value.items()}
        if len(value) != 1:
            raise ValueError(f"{tag} beside other keys")
        return self._tagged(tag, value[tag])

    def _tagged(self, tag: str, content: Any) -> Any:
        match tag, content:
            case "$array", str(name):
                self._left -= self._arrays[name].nbytes
                if self._left < 0:
                    raise ValueError(f"array {name!r} stands in too many places")
                return self._arrays[name]
            case "$object", int(number) if number >= 0:
                return self._objects[number]
            case "$tuple", list(parts):
                return tuple(self.decode(parts))
            case "$float", "nan" | "inf" | "-inf":
                return float(content)
            case "$scalar", [str(name), plain]:
                return _SCALARS[name](self.decode(plain))
            case "$dict", list(pairs):
                return {self.decode(k): self.decode(v) for k, v in pairs}
            case "$objects", {"shape": list(shape), "values": list(values)}:
                if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) != len(values):
                    raise ValueError(f"an array of shape {shape} with {len(values)} values")
                out = np.empty(len(values), dtype=object)
                out[:] = self.decode(values)
                return out.reshape(shape)
        raise ValueError(f"{tag} with {content!r:.60}")

    def _object(self, content: Any) -> Any:
        match content:
            case {"random_state": state}:
                return _random_state(self.decode(state))
            case {"generator": state}:
                return _generator(self.decode(state))
            case {"record": str(name), "fields": dict(parts)}:
                kind: Any = RECORDS[name]
                return kind(**{k: self.decode(v) for k, v in parts.items()})
            case {"estimator": str(name), "state": dict(state)}:
                return self._rebuild(name, {k: self.decode(v) for k, v in state.items()})
        raise ValueError(f"an object of unknown kind: {content!r:.60}")


def _random_state(state: Any) -> np.random.RandomState:
    """A generator in that state, each part checked: numpy takes any, and draws beyond its key where the place is."""
    match state:
        case {
            "bit_generator": "MT19937",
            "state": {"key": np.ndarray() as key, "pos": int(place)},
            "has_gauss": 0 | 1,
            "gauss": int() | float() as gauss,
        } if key.dtype.kind == "u" and key.shape == (624,) and 0 <= place <= 624 and math.isfinite(gauss):
            if key[1:].any() or key[0] >> 31:  # of zeros come zeros for ever
                generator = np.random.RandomState()
                generator.set_state({**state, "state": {"key": key.astype(np.uint32), "pos": int(place)}})
                return generator
    raise ValueError("a RandomState that none can be in")


def _generator(state: Any) -> np.random.Generator:
    """The same for the one of ``default_rng``: its increment is odd, or the numbers repeat early."""
    match state:
        case {
            "bit_generator": "PCG64",
            "state": {"state": int(place), "inc": int(step)},
            "has_uint32": 0 | 1,
            "uinteger": int(half),
        } if 0 <= place < 2**128 and 0 <= step < 2**128 and step % 2 and 0 <= half < 2**32:
            bits = np.random.PCG64()
            bits.state = state
            return np.random.Generator(bits)
    raise ValueError("a Generator that none can be in")
