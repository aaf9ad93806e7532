"""Saved models changed in their structure, under a right checksum, and every method of what loads.

`StructuredFuzzer(seed).step()` makes one file.  Allowed of `load`: a model, or a ValueError with a text.  Allowed of a
method of the model: a result, or an exception of Python's kind for bad data (`METHODS_MAY_RAISE`): the model may be
nonsense.  Never: a crash, a hang, a failed assertion or an error inside the core, or more memory than
`FACTOR` times the file and `ROOM`.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from kernsift import export
from kernsift.io import archive as _archive
from measure.clock import forget_peak, status
from sklearn.base import clone, is_classifier

from .calls import DTYPES, SPECIAL, VARIANTS, Fuzzer, Hang, WrongError, in_time, table
from .files import InFiles, members, places_of, zipped

#: Bytes in memory for each of the file, and besides: a list of JSON takes about sixty times its text.
FACTOR, ROOM = 64, 64 * 2**20
METHODS_MAY_RAISE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError)
#: With parts the VARIANTS of calls lack: a generator, nested estimators, records, labels that are texts.
MORE: list[tuple[str, dict[str, Any]]] = [
    ("SubsetLSSVMRegressor", {"max_basis": 5, "random_state": np.random.RandomState(3)}),
    (
        "SubsetLSSVMClassifier",
        {"max_basis": 5, "basis": kernsift.FeatureVectorSelector(n_components=4, random_state=0)},
    ),
    ("OROLSRegressor", {"max_basis": 4, "gammas": [0.1, 1.0]}),
    ("SparseLSSVMRegressor", {"keep_path": True}),
    ("OnlineLSSVMRegressor", {"max_basis": 6, "random_state": np.random.RandomState(1)}),
    ("SubsetLSSVMRegressor", {"max_basis": 4, "random_state": np.random.default_rng(2)}),
]
NUMBERS = [0, -1, 1, 2, 3, 7, 624, 625, 10**6, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.5, 1e-300, 1e300,
           1e-12, 5e-324, True, None, "", "rbf", "linear", "polynomial", "novelty", "gcv", [], {}, [0.5, 1, 2],
           {"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}]  # fmt: skip
DESCRIPTIONS = ["<U0", "|S0", "|V0", "|O", "<f2", "<f4", ">f8", "<f16", "<c16", "|b1", "<i8", "<u8", "<M8[s]", "|S3",
                "<m8[ns]", "<U5", "<U1000000", [("a", "<f8")], ("<f8", (3,)), "<f8,<f8", "V8", 3, None]  # fmt: skip
SHAPES = ["()", "(0,)", "(1,)", "(-1,)", "(10**12,)", "(1000000000000,)", "(4294967296, 4294967296)", "(True,)",
          "(1.0,)", "(0, 4611686018427387904)", "(4611686018427387904, 0)", "(1,)*70", "'a'", "(0, 1099511627776)",
          "(3, 0)"]  # fmt: skip


class StructuredFuzzer(InFiles):
    """One file after another, each from a sound model by one to three changes of its structure."""

    SPARE = 2**31

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.path = Path(self.folder.name) / "model.npz"
        self.files = []
        for name, parameters in VARIANTS + MORE:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Fuzzer._made(name, parameters).save(self.path)
            self.files.append(members(self.path.read_bytes()))
            self._use(kernsift.load(self.path))  # what is imported and compiled once is no file's
        self.confine()

    def step(self) -> None:
        """One file."""
        m = self.mutate
        parts = dict(m.one_of(self.files))
        ways = [self._values, self._values, self._values, self._shape, self._type, self._swap, self._lend, self._number,
                self._number, self._number, self._generator, self._rows, self._npy_header]  # fmt: skip
        done = []
        for _ in range(m.one_of([1, 1, 1, 2, 3])):
            way = m.one_of(ways)
            done.append(f"{way.__name__}: {way(parts)}")
        data = _overlapping(parts, self.rng) if m.chance(0.05) else zipped(parts)
        self.path.write_bytes(data)
        self.last = f"{json.loads(parts[_archive.HEADER]).get('class')}: {done}"
        before = forget_peak()
        with in_time(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = self.read(lambda: kernsift.load(self.path))
            self._check_memory(before, len(data), "load")
            if model is not None:
                self._use(model)
                self._check_memory(before, len(data), "the methods")

    def _check_memory(self, before: float, size: int, what: str) -> None:
        taken = status("VmHWM") - before
        if taken > FACTOR * size + ROOM:
            raise WrongError(f"{what} took {taken / 2**20:.0f} MiB for {size >> 10} KiB: {self.last}")

    def _use(self, model: Any) -> None:
        """Every public method with sound arguments."""
        X, y, labels = table()
        y = labels if is_classifier(model) else y
        pairs = (X[:-1], y[:-1], X[1:]) if isinstance(model, kernsift.KernelLSTD) else (X, y)
        calls: dict[str, tuple[Any, ...]] = dict.fromkeys(
            ("predict", "decision_function", "predict_proba", "transform", "get_feature_names_out", "health"), (X,)
        )
        calls |= {"get_feature_names_out": (), "health": (), "sparsify": (3,), "at_size": (2,), "resize": (3,)}
        calls |= {"predict_one": (X[0],), "update": (X[0], 0.5), "score": pairs, "merge": (model,)}
        calls |= dict.fromkeys(("prequential", "accumulate", "select_basis", "partial_fit", "refit"), pairs)
        calls |= {"fit_batches": ([pairs],), "prune": (2,), "fit": pairs, "fit_transform": (X,)}
        self._try("repr", lambda: repr(model))
        for name in ("basis_vectors_", "dual_coef_", "intercept_", "cost_", "gcv_", "log_evidence_", "noise_variance_"):
            self._try(name, lambda name=name: getattr(model, name))
        self._try("copy", lambda: copy.deepcopy(model))
        self._try("clone", lambda: clone(model))
        self._try("to_c", lambda: export.to_c(model))
        self._try("to_libsvm", lambda: export.to_libsvm(model))
        if hasattr(model, "predict") and not is_classifier(model):
            self._try("predict(return_std)", lambda: model.predict(X, return_std=True))
        for name, arguments in calls.items():
            if name != "fit":
                self._try(name, lambda n=name, a=arguments: getattr(model, n)(*a))
        self._try("save", lambda: model.save(self.path))
        self._try("fit", lambda: model.fit(*pairs))

    def _try(self, name: str, attempt: Any) -> None:
        try:
            attempt()
        except METHODS_MAY_RAISE:
            return
        except Hang:
            raise WrongError(f"no end of {name}: {self.last}") from None
        except Exception as error:
            raise WrongError(f"{name}: {type(error).__name__}: {error}: {self.last}") from error

    # --- changes

    def _array_name(self, parts: dict[str, bytes]) -> str:
        return self.mutate.one_of(sorted(n for n in parts if n.endswith(".npy")) or [""])

    def _values(self, parts: dict[str, bytes]) -> str:
        """Extreme numbers in one place or all."""
        name, m = self._array_name(parts), self.mutate
        values = _read(parts.get(name))
        if values is None or values.size == 0 or values.dtype.kind not in "biuf":
            return "nothing"
        special = m.one_of([*SPECIAL, 1.0, -1.0, 2.0**53, -(2.0**53), 1e6, 0.5])
        values = values.copy()
        square = values.ndim == 2 and values.shape[0] == values.shape[1]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            number = np.array(special).astype(values.dtype)
            if square and m.chance(0.3):
                np.fill_diagonal(values, number)
            elif m.chance(0.3) and values.dtype.kind == "f":
                values *= special
            else:
                values.flat[self.rng.integers(0, values.size, m.one_of([1, 1, values.size]))] = number
        parts[name] = _npy(values)
        return f"{name} {special}"

    def _shape(self, parts: dict[str, bytes]) -> str:
        name = self._array_name(parts)
        values = _read(parts.get(name))
        if values is None or values.ndim == 0:
            return "nothing"
        ways = [
            values.ravel(), values[None], values[..., None], values.T, values[:0], values[..., :0], values[:1],
            values[1:], values.ravel()[:1].reshape(()) if values.size else values,
            np.concatenate([values, values]), np.asfortranarray(values),
            np.zeros((0, 2**20)), np.zeros((2**20, 0)), values.reshape((1,) * 30 + values.shape),
        ]  # fmt: skip
        parts[name] = _npy(self.mutate.one_of(ways))
        return name

    def _type(self, parts: dict[str, bytes]) -> str:
        name = self._array_name(parts)
        values = _read(parts.get(name))
        kind = self.mutate.one_of([*DTYPES, "c16", "<U40", "i2", "u8", "V8"])
        if values is None:
            return "nothing"
        with contextlib.suppress(Exception), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            parts[name] = _npy(values.astype(kind))
        return f"{name} {kind}"

    def _swap(self, parts: dict[str, bytes]) -> str:
        a, b = self._array_name(parts), self._array_name(parts)
        if a:
            parts[a], parts[b] = parts[b], parts[a]
        return f"{a} {b}"

    def _lend(self, parts: dict[str, bytes]) -> str:
        """An array of another model."""
        other = self.mutate.one_of(self.files)
        name, source = self._array_name(parts), self._array_name(other)
        if name in other and self.mutate.chance(0.7):
            source = name
        if name and source:
            parts[name] = other[source]
        return f"{name} from {source}"

    def _rows(self, parts: dict[str, bytes]) -> str:
        """One more or one less of every side of a length, so that shapes still agree."""
        arrays = {n: v for n in parts if n.endswith(".npy") and (v := _read(parts[n])) is not None and 0 < v.ndim < 4}
        lengths = sorted({n for v in arrays.values() for n in v.shape if n > 0})
        if not lengths:
            return "nothing"
        length, more = self.mutate.one_of(lengths), self.mutate.chance(0.5)
        for name, values in arrays.items():
            for axis, n in enumerate(values.shape):
                if n == length:
                    where = np.r_[0:n, 0] if more else np.r_[1:n]
                    values = np.take(values, where, axis=axis)
            parts[name] = _npy(values)
        return f"{length} {'more' if more else 'less'}"

    def _number(self, parts: dict[str, bytes]) -> str:
        """Another scalar in the header, mostly of the same type."""
        header = json.loads(parts[_archive.HEADER])
        places = [(h, k) for h, k in places_of(header) if not isinstance(h[k], (dict, list))]
        holder, key = self.mutate.one_of(places)
        old = holder[key]
        others = [h[k] for h, k in places if type(h[k]) is type(old)]
        numeric = type(old) in (int, float)
        same = [n for n in NUMBERS if type(n) in (int, float)] if numeric else others
        holder[key] = self.mutate.one_of(same if self.mutate.chance(0.6) else NUMBERS)
        parts[_archive.HEADER] = json.dumps(header).encode()
        return f"{key}: {old!r:.40} -> {holder[key]!r:.40}"

    def _generator(self, parts: dict[str, bytes]) -> str:
        """A parameter or part of the state becomes a generator of random numbers, mostly in a state it cannot have."""
        m, header = self.mutate, json.loads(parts[_archive.HEADER])
        whole = np.arange(624, dtype=np.uint32)
        key = m.one_of([whole, whole, np.zeros_like(whole), whole[1:], whole[None], whole * 1.0, whole.astype(int) - 5])
        parts["key.npy"] = _npy(key)
        state = {
            "bit_generator": m.one_of(["MT19937"] * 4 + ["PCG64", None]),
            "state": {
                "key": {"$array": "key"},
                "pos": m.one_of([0, 1, 623, 624, 625, -1, 10**6, 2**40, 10**30, 1.5, "a"]),
            },
            "has_gauss": m.one_of([0, 1, 1, -1, 2**40]),
            "gauss": m.one_of([0.0, 1e300, {"$float": "nan"}, 3, "a"]),
        }
        header.setdefault("objects", []).append({"random_state": state})
        header["state"]["random_state"] = {"$object": len(header["objects"]) - 1}
        parts[_archive.HEADER] = json.dumps(header).encode()
        return repr(state)

    def _npy_header(self, parts: dict[str, bytes]) -> str:
        """A member that claims another type or shape than its bytes have."""
        name, m = self._array_name(parts), self.mutate
        values = _read(parts.get(name))
        if values is None:
            return "nothing"
        descr = repr(m.one_of([values.dtype.str] * 8 + DESCRIPTIONS))
        shape = m.one_of([repr(values.shape), *SHAPES, repr(values.shape[::-1]), repr((values.size,))])
        if m.chance(0.2):
            parts[name] = _header(descr, m.one_of(SHAPES), False) + b"x" * m.one_of([0, 0, 10**5])
            return f"{name} without its bytes"
        body = values.tobytes()[: m.one_of([None, None, 0, 8])]
        parts[name] = _header(descr, shape, m.chance(0.3)) + body
        return f"{name} {descr} {shape}"


def _read(data: bytes | None) -> Any:
    """The array, or None where another change has spoiled it."""
    try:
        values = np.load(io.BytesIO(data or b""), allow_pickle=False)
    except Exception:
        return None
    return values if max(values.shape, default=0) <= 2**20 else None


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


def _header(descr: str, shape: str, fortran: bool) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def _overlapping(parts: dict[str, bytes], rng: np.random.Generator) -> bytes:
    """A directory of which two members lie over one another, or one reaches further than it does."""
    data = bytearray(zipped(parts))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members, start = archive.infolist(), archive.start_dir
    place = start
    victim = int(rng.integers(len(members)))
    for i, info in enumerate(members):
        if i == victim:
            source = members[int(rng.integers(len(members)))]
            what = int(rng.integers(3))
            if what != 0:
                data[place + 42 : place + 46] = struct.pack("<L", source.header_offset)
            if what != 1:
                size = int(rng.choice([source.file_size, start - info.header_offset, start, 2**31, info.file_size + 1]))
                data[place + 20 : place + 28] = struct.pack("<LL", size, size)
        place += 46 + len(info.filename.encode()) + len(info.extra) + len(info.comment)
    file = io.BytesIO(data)
    _archive._seal(file)
    return file.getvalue()
