"""Mutated files: saved models, and tables of the command line."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from kernsift.cli import table as _table
from kernsift.io import archive as _archive
from sklearn.base import is_classifier

from .calls import MEMORY, VARIANTS, Fuzzer, Mutator, in_time, judged, table


class InFiles:
    """A fuzzer of files: they lie in memory where there is such a folder, and the process is confined."""

    SPARE = 2**30

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.mutate = Mutator(self.rng, Path(self.folder.name))
        self.counts = {"answered": 0, "refused": 0}
        self.last = ""

    def confine(self) -> None:
        """From now on; what was made before may need more."""
        limit_memory(self.SPARE)
        forbid_running()

    def read(self, attempt: Callable[[], Any]) -> Any:
        """What the attempt makes of the file, or None where it raises; the caller uses in_time()."""
        return judged(self, attempt, (ValueError,))


class FileFuzzer(InFiles):
    """Saved models with bytes, members, headers and claims changed, under a checksum that is made right half the time.

    Allowed: a model, or a ValueError (OSError for what is no file).  No code runs, and the process may take a gigabyte
    of address space more than it has, of which a file of kilobytes needs nothing.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.path = Path(self.folder.name) / "model.npz"
        self.files = []
        for name, parameters in VARIANTS:
            Fuzzer._made(name, parameters).save(self.path)
            self.files.append(self.path.read_bytes())
        self.confine()

    def step(self) -> None:
        """One file."""
        m = self.mutate
        whole = m.one_of(self.files)
        way = m.one_of([self._bytes, self._members, self._header, self._header, self._arrays, self._cut])
        data = way(whole)
        self.last = f"{way.__name__} of {len(whole)} bytes"
        self.path.write_bytes(data)
        with in_time():
            model = self.read(lambda: kernsift.load(self.path))
            if model is None:
                return
            with contextlib.suppress(Exception), warnings.catch_warnings():  # nonsense in, an exception out
                warnings.simplefilter("ignore")
                X, y, labels = table()
                (model.transform if hasattr(model, "transform") else model.predict)(X)
                model.partial_fit(X, labels if is_classifier(model) else y)
                model.prune(2)

    def _bytes(self, whole: bytes) -> bytes:
        data = self.mutate.splice(whole)
        return self._sealed(data[:-80]) if self.mutate.chance(0.5) else data

    def _cut(self, whole: bytes) -> bytes:
        data = whole[: int(self.rng.integers(len(whole)))]
        return self._sealed(data) if self.mutate.chance(0.5) else data

    def _members(self, whole: bytes) -> bytes:
        parts = members(whole)
        name = self.mutate.one_of(sorted(parts))
        if self.mutate.chance(0.2):
            parts[self.mutate.one_of(["../x.npy", "a.npy", "/etc/x", name + ".npy", "kernsift.json/x"])] = parts[name]
        elif self.mutate.chance(0.2):
            del parts[name]
        else:
            parts[name] = self.mutate.splice(parts[name])
        return zipped(parts, deflated=self.mutate.chance(0.1))

    def _header(self, whole: bytes) -> bytes:

        parts = members(whole)
        header = json.loads(parts["kernsift.json"])
        places = list(places_of(header))
        for _ in range(self.mutate.one_of([1, 1, 2, 4])):
            holder, key = self.mutate.one_of(places)
            holder[key] = self.mutate.one_of(
                [None, -1, 0, 1, 10**12, 10**30, 2**63, 1e300, "", "os.system", [], {}, [[[]]], True, {"$array": "a"},
                 {"$object": 0}, {"$object": 10**9}, {"$tuple": []}, {"$dict": [[[], []]]},
                 {"$scalar": ["int8", 10**9]},
                 {"$objects": {"shape": [10**12], "values": []}}, {"$float": "nan"}, {"$call": "print"}, "x" * 10**5]
            )  # fmt: skip
            places = list(places_of(header))
            if not places:
                break
        parts["kernsift.json"] = json.dumps(header).encode()
        return zipped(parts)

    def _arrays(self, whole: bytes) -> bytes:
        """A right .npy of wrong content."""

        parts = members(whole)
        names = [n for n in sorted(parts) if n.endswith(".npy")]
        if not names:
            return whole
        file = io.BytesIO()
        values = self.mutate.spoil(self.rng.normal(size=self.mutate.one_of([(), 0, 3, (3, 3), (70, 3), (2, 3, 4)])))
        with contextlib.suppress(Exception):
            np.save(file, np.asarray(values), allow_pickle=True)
        parts[self.mutate.one_of(names)] = file.getvalue()
        return zipped(parts)

    def _sealed(self, data: bytes) -> bytes:

        mark = b"kernsift sha256 "
        return data + mark + hashlib.sha256(data + mark).hexdigest().encode()


class TableFuzzer(InFiles):
    """Tables of the command line, CSV and Parquet, with bytes and cells changed; memory as for files.

    Allowed: a table of which columns make a matrix, or a ValueError with a text.
    """

    CELLS = [
        "",
        "nan",
        "1e999",
        "-inf",
        "1_0",
        "0x1",
        "1,2",
        '"',
        '"a\nb"',
        "\x00",
        "\r",
        "١",
        "9" * 5000,
        "x" * 200_000,
    ]

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.files = {"table.csv": ["a,b,y\n" + "".join(f"{x},{x / 3},{x % 2}\n" for x in range(12))]}
        with contextlib.suppress(ImportError):
            self.files["table.parquet"] = [_parquet({"a": [1.0, 2.0], "b": [1, 2]}), _parquet({"a": [1.0], "c": ["x"]})]
        self.confine()

    def step(self) -> None:
        """One table."""

        def matrix_of(table: Any) -> Any:
            return table.matrix(table.columns)

        m = self.mutate
        name = m.one_of(sorted(self.files))
        data = m.one_of(self.files[name])
        if isinstance(data, str):
            for _ in range(m.one_of([0, 1, 1, 3])):
                lines = [line.split(",") for line in data.splitlines()]
                line = m.one_of(lines)
                line[int(self.rng.integers(len(line)))] = m.one_of(self.CELLS)
                data = m.one_of(["\n", "\r\n", "\r"]).join(",".join(line) for line in lines)
            data = data.encode(m.one_of(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
        data = m.one_of([data, data, m.splice(data), data[: int(self.rng.integers(len(data) + 1))]])
        path = Path(self.folder.name) / name
        path.write_bytes(data)
        self.last = f"{name} {data[:200]!r}"
        with in_time():
            self.read(lambda: matrix_of(_table.read(path)))


def _parquet(columns: dict[str, list[Any]]) -> bytes:

    import pyarrow
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def places_of(value: Any) -> Any:
    """Every entry of nested dictionaries and lists, as (holder, key)."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in list(entries):
        yield value, key
        yield from places_of(below)


def members(whole: bytes) -> dict[str, bytes]:

    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: dict[str, bytes], deflated: bool = False) -> bytes:

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        archive.comment = _archive._MARK + b"0" * 64
    _archive._seal(file)
    return file.getvalue()


def limit_memory(spare: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + spare, resource.getrlimit(resource.RLIMIT_AS)[1]))


def forbid_running() -> None:
    """From here on the process may start no program, open no connection and compile no code of a file's."""

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(("subprocess.", "os.system", "os.exec", "os.posix_spawn", "socket.", "pickle.")):
            raise SystemExit(f"{event}{arguments!r:.200} while a file was read")

    sys.addaudithook(look)
