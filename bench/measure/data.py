"""The data sets: read from a folder, and fetched into it by `python bench/papers --download`, never otherwise.

A set is one .npz of the arrays as published. What is fetched must hash to the arrays behind `RESULTS.md`, or it is not
kept. The UCI files come from copies at fixed commits: OpenML's satimage lacks rows of the original, and its other sets
do not promise the order that makes the official split.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np

Array = np.ndarray
_UCI = (
    "https://raw.githubusercontent.com/Doctorado-ML/Stree_datasets/a04a75a28f483c858ca6234998655a8a8773c7c9/"
    "data/tanveer/"
)
_BOSTON = (
    "https://raw.githubusercontent.com/probml/pmtkdata/42bc2738a294382f9d6ffb1b0203404ffb10295a/housing/housing.data"
)
_USPS = "https://hastie.su.domains/ElemStatLearn/datasets/"
_MOTORCYCLE = "https://raw.githubusercontent.com/vincentarelbundock/Rdatasets/master/csv/MASS/mcycle.csv"

# sha256 over the arrays in alphabetical order of their names, see `fingerprint`
CHECKSUMS = {
    "abalone": "1e9e507b5d5168a58ddac39dee4c2701b73504a863e5e875b9733adf7e1ad869",
    "boston": "5448254606d842d70f7bca7dd0eeb027b2b5045a6728d6fb51d0d0f5bbc5c5e0",
    "covtype": "ee6572c19c8e1a07f1f920ad997a1e64a34ccaf629009a0a9c69a294311245c6",
    "letter": "71d6192a5f11dd2dfb8f8dcc133e5f576228cce42265ccc4cc481fa9fb6d4c59",
    "motorcycle": "a7f57474f1d342a4b0f5354797d1b931802d8425470768f3fb73d3b8e3700685",
    "optdigits": "fcfc7bd07d36e783e4cca685959a604b50972a2df36d54252635d04c8bb3a1e3",
    "pendigits": "13bfb595e6a0ce04570af459025ebded220157f008c89848b73d784a127a4034",
    "satimage": "f29def3b7eaa5007633d1df874ec1d7732cb54e11387df4883e33e6f0e9bd7a6",
    "usps": "94d07c05fe2361989b3c13a827d6456f00036ee96c91f88d18308b6dc778ea4f",
}


def load(folder: Path, name: str) -> dict[str, Array]:
    path = folder / f"{name}.npz"
    if not path.is_file():
        raise SystemExit(
            f"{path} is missing: give the folder of the papers' data sets with --data, or add --download to fetch it"
        )
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def standardised(train: Array, test: Array) -> tuple[Array, Array]:
    """By the moments of the training rows; constant columns keep their scale."""
    mean, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0] = 1
    return np.ascontiguousarray((train - mean) / scale), np.ascontiguousarray((test - mean) / scale)


def class_two(folder: Path) -> tuple[Array, Array]:
    """Forest cover: all rows, standardised together, and class 2 against the rest as ±1."""
    data = load(folder, "covtype")
    X = data["X"].astype(np.float64)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, np.where(data["y"] == 2, 1.0, -1.0)


def fingerprint(arrays: dict[str, Array]) -> str:
    """Hash of the inputs and targets: names, shapes and values, whatever the integer type or byte order."""
    digest = hashlib.sha256()
    for key in sorted(arrays):
        if key.partition("_")[0] not in ("X", "y", "sex"):
            continue
        values = arrays[key]
        plain = values.astype("<f8") if values.dtype.kind in "iuf" else np.char.encode(values.astype(str), "ascii")
        digest.update(f"{key} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(plain).tobytes())
    return digest.hexdigest()


def read_url(url: str) -> bytes:
    if not url.startswith("https://"):
        raise ValueError(f"{url} is not https")
    with urllib.request.urlopen(url, timeout=60) as answer:
        return bytes(answer.read())


def numbers(text: bytes) -> Array:
    return np.loadtxt(io.BytesIO(text), ndmin=2)


def _split(train: Array, test: Array, kind: type = np.uint8) -> dict[str, Array]:
    """Rows whose last entry is the class."""
    parts = (("train", train), ("test", test))
    X = {f"X_{part}": rows[:, :-1].astype(kind) for part, rows in parts}
    return {**X, **{f"y_{part}": rows[:, -1].astype(np.uint8) for part, rows in parts}}


def _boston() -> dict[str, Array]:
    rows = numbers(read_url(_BOSTON))
    return {"X": rows[:, :-1], "y": rows[:, -1]}


def _abalone() -> dict[str, Array]:
    fields = [line.split() for line in read_url(_UCI + "abalone/abalone.data").decode().splitlines()]
    sex = np.array([line[0] for line in fields])
    rest = np.array([line[1:] for line in fields], dtype=float)
    coded = np.array([{"M": 1.0, "F": 2.0, "I": 3.0}[s] for s in sex])
    return {"X": np.column_stack([coded, rest[:, :-1]]), "y": rest[:, -1], "sex": sex}


def _letter() -> dict[str, Array]:
    fields = [line.split() for line in read_url(_UCI + "letter/letter-recognition.data").decode().splitlines()]
    y, X = np.array([line[0] for line in fields]), np.array([line[1:] for line in fields], dtype=np.uint8)
    return {"X_train": X[:16000], "y_train": y[:16000], "X_test": X[16000:], "y_test": y[16000:]}


def _digits(stem: str) -> dict[str, Array]:
    return _split(*(numbers(read_url(f"{_UCI}{stem}.{part}")) for part in ("tra", "tes")))


def _satimage() -> dict[str, Array]:
    return _split(*(numbers(read_url(f"{_UCI}statlog-landsat/sat.{part}")) for part in ("trn", "tst")))


def _usps() -> dict[str, Array]:
    parts = (numbers(gzip.decompress(read_url(f"{_USPS}zip.{part}.gz"))) for part in ("train", "test"))
    return _split(*(np.roll(rows, -1, axis=1) for rows in parts), kind=float)  # the class comes first


def _motorcycle() -> dict[str, Array]:
    lines = read_url(_MOTORCYCLE).decode().split()[1:]
    rows = np.array([line.split(",")[-2:] for line in lines], dtype=float)
    return {"X": rows[:, :1], "y": rows[:, 1]}


def _covtype() -> dict[str, Array]:
    from sklearn.datasets import fetch_covtype

    X, y = fetch_covtype(return_X_y=True)
    return {"X": X.astype(np.int16), "y": y.astype(np.uint8)}


SOURCES: dict[str, Callable[[], dict[str, Array]]] = {
    "abalone": _abalone,
    "boston": _boston,
    "covtype": _covtype,
    "letter": _letter,
    "motorcycle": _motorcycle,
    "optdigits": lambda: _digits("optical/optdigits"),
    "pendigits": lambda: _digits("pendigits/pendigits"),
    "satimage": _satimage,
    "usps": _usps,
}


def download(name: str, folder: Path) -> None:
    """Fetch a set into the folder unless it is there; refuse what is not the set the results were made with."""
    path = folder / f"{name}.npz"
    if path.is_file():
        return
    print(f"fetching {name} into {folder}", flush=True)
    arrays = SOURCES[name]()
    found = fingerprint(arrays)
    if found != CHECKSUMS[name]:
        raise SystemExit(f"what was fetched as {name} hashes to {found}, not to {CHECKSUMS[name]}: it was not kept")
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
