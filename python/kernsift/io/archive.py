"""The file of a saved model: a zip of .npy arrays and a JSON header, whole or refused.

Members are stored, not compressed, and do not overlap, so together they are no larger than the file; the archive's
comment is the SHA-256 of every byte before it, so that a changed bit anywhere is found.  ``numpy.load`` reads such a
file too.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .atomic_write import check_regular, whole_file

HEADER = "kernsift.json"
FORMAT = 1

_MARK = b"kernsift sha256 "
_DIGEST = len(_MARK) + 64
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes
_CHUNK = 1 << 20
# Kinds of numbers and texts an array may hold; "O" would need pickle.
_KINDS = "biufcSUmM"
# Older numpy has no limit of its own; a header of ours is about a hundred characters.
_NPY_HEADER = 10_000
_LOCAL_HEADER = 30  # bytes of a member before its name


class DamagedError(ValueError):
    """The checksum does not match: the file is damaged."""


# NotImplementedError: a flag of the zip format that Python does not know, in a member's own header.
_UNREADABLE = (
    DamagedError, zipfile.BadZipFile, NotImplementedError, RecursionError, UnicodeDecodeError, EOFError, OSError,
)  # fmt: skip


# --- writing ---


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write the file whole: the old one stays until all of the new is on the disk."""
    with whole_file(path) as file:
        _write_members(file, header, arrays)
        _seal(file)


def _write_members(file: BinaryIO, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    text = json.dumps({"format": FORMAT, **header}, allow_nan=False, ensure_ascii=True, indent=1)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, _WHEN), text)
        for name, values in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _WHEN), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
        archive.comment = _MARK + b"0" * 64


def _seal(file: BinaryIO) -> None:
    end = file.seek(0, os.SEEK_END) - 64
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest)


def _digest(file: BinaryIO, end: int) -> bytes:
    """SHA-256, in hexadecimal, of the first ``end`` bytes."""
    total, left = hashlib.sha256(), end
    file.seek(0)
    while left > 0 and (chunk := file.read(min(_CHUNK, left))):
        total.update(chunk)
        left -= len(chunk)
    return total.hexdigest().encode("ascii")


# --- reading ---


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays; nothing is allocated that the file does not hold, and no code runs."""
    name = os.fspath(path)
    check_regular(path, "a saved model is")
    with open(path, "rb") as file:
        archive = _open(file, name)
        try:
            with archive:
                _check_members(archive)
                header = _header(archive, name)
                return header, dict(_arrays(archive))
        except _UNREADABLE as error:
            raise ValueError(
                f"{name!r} is not a file as kernsift writes them ({error}); load another copy or save the model again"
            ) from error


def _open(file: BinaryIO, name: str) -> zipfile.ZipFile:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(4)
    if size == 0:
        raise ValueError(f"{name!r} is empty: saving it was interrupted; load another copy")
    if start != b"PK\x03\x04":
        raise ValueError(
            f"{name!r} is not a model saved by kernsift: it begins with {start!r}. est.save(path) writes such files; "
            "pickle, joblib and skops read their own"
        )
    file.seek(max(size - _DIGEST, 0))
    comment = file.read(_DIGEST)
    if not comment.startswith(_MARK):
        if _is_whole_zip(file):
            raise ValueError(
                f"{name!r} is a zip or npz archive but not a model saved by kernsift (or another program has rewritten "
                "it): est.save(path) writes such files"
            )
        raise ValueError(
            f"{name!r} is damaged: it begins as a saved model and its end is missing or changed, as after a copy that "
            "was cut short; load another copy or save the model again"
        )
    if _digest(file, size - 64) != comment[len(_MARK) :]:
        raise ValueError(
            f"{name!r} is damaged: its bytes do not match their checksum; load another copy or save the model again"
        )
    file.seek(0)
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is not a file as kernsift writes them ({error})") from error


def _is_whole_zip(file: BinaryIO) -> bool:
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            return HEADER not in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return False


def _check_members(archive: zipfile.ZipFile) -> None:
    """Each member is stored as it is and ends before the next begins: all together are no larger than the file."""
    members = sorted(archive.infolist(), key=lambda info: info.header_offset)
    ends = [info.header_offset for info in members[1:]] + [archive.start_dir]
    for info, end in zip(members, ends, strict=True):
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 0x1:
            raise DamagedError(f"member {info.filename!r} is compressed or encrypted")
        if info.header_offset < 0 or info.header_offset + _LOCAL_HEADER + info.file_size > end:
            raise DamagedError(f"member {info.filename!r} overlaps the next one")


def _header(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    try:
        header = json.loads(_member(archive, HEADER))
    except KeyError:
        raise ValueError(f"{name!r} is an archive without {HEADER}: not a model saved by kernsift") from None
    except (json.JSONDecodeError, ValueError) as error:
        raise DamagedError(f"its header is not JSON: {error}") from error
    if not isinstance(header, dict) or type(header.get("format")) is not int or header["format"] < 1:
        raise DamagedError("its header has no format number")
    if header["format"] > FORMAT:
        raise ValueError(
            f"{name!r} has format {header['format']}, written by kernsift {header.get('version')}, and this kernsift "
            f"reads up to {FORMAT}: update kernsift"
        )
    return header


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        return member.read()


def _arrays(archive: zipfile.ZipFile) -> Iterator[tuple[str, NDArray[Any]]]:
    names = archive.namelist()
    if len(set(names)) != len(names):
        raise DamagedError("two members have one name")
    for name in names:
        if name != HEADER:
            if not name.endswith(".npy"):
                raise DamagedError(f"member {name!r} is not an array")
            yield name.removesuffix(".npy"), _array(_member(archive, name), name, archive.start_dir)


def _array(data: bytes, name: str, most: int) -> NDArray[Any]:
    """Read a .npy without pickle, if its bytes are as many as its header says; no side or item may exceed `most`."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        reader = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}[version[0]]
        shape, fortran, dtype = reader(file, max_header_size=_NPY_HEADER)
    except Exception as error:  # numpy parses it as Python literals: tokens and syntax have errors of many kinds
        raise DamagedError(f"array {name!r} has no readable header: {error}") from error
    # an item of no bytes: any number of them fits into none
    if dtype.kind not in _KINDS or not 0 < dtype.itemsize <= most:
        raise DamagedError(f"array {name!r} holds {dtype}, which is not a plain number or text")
    count = 1
    for length in shape:  # whole numbers without overflow
        if type(length) is not int or not 0 <= length <= most:
            raise DamagedError(f"array {name!r} has a side of {length}")
        count *= length
    left = len(data) - file.tell()
    if count * dtype.itemsize != left or len(shape) > 32:
        raise DamagedError(f"array {name!r} claims shape {shape} of {dtype} and has {left} bytes")
    values = np.frombuffer(data, dtype=dtype, count=count, offset=file.tell()) if left else np.empty(count, dtype)
    return values.reshape(shape, order="F" if fortran else "C").copy(order="K")
