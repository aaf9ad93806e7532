"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_regular(path: str | os.PathLike[str], what: str) -> None:
    """Refuse a path to anything but a regular file; symbolic links are followed, a new path is fine."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "something else")
            raise ValueError(f"{os.fspath(path)!r} is {kind}, and {what} a regular file: give the path of a file")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file beside `path` to write to, renamed when all is on the disk: the old one stays whole until then.

    Until then only its owner can read it.  Owner and mode of the old file are kept (the owner where the system permits
    it); a new one has the mode of any new file.  A symbolic link stays, and the file it leads to is replaced.
    """
    check_regular(path, "what is written becomes")
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _new_file(temporary, 0o600) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.name == "posix":
            _set_owner_and_mode(temporary, target)
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None:  # of the temporary file, or of no name at all
            raise OSError(error.errno, f"{error.strerror} (nothing was changed)", str(target)) from error
        raise
    _sync_folder(target.parent)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of a file, or nothing."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}")
    with whole_file(target) as file:
        file.write(data)


def _new_file(path: Path, mode: int) -> BinaryIO:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, mode), "w+b")


def _set_owner_and_mode(temporary: Path, target: Path) -> None:
    """Those of the file that is replaced, or those of a new file."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        # os.umask would change the mask for every thread: the mode of an empty file shows it too
        probe = temporary.with_suffix(".probe.tmp")
        try:
            with _new_file(probe, 0o666) as file:
                mode = os.fstat(file.fileno()).st_mode
        finally:
            with contextlib.suppress(FileNotFoundError):
                probe.unlink()
    else:
        mode = old.st_mode
        for owner in ((old.st_uid, old.st_gid), (-1, old.st_gid)):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, *owner)
                break
    os.chmod(temporary, stat.S_IMODE(mode) & 0o777)  # after the owner


def _sync_folder(folder: Path) -> None:
    """Let the new name reach the disk too, where folders can be synchronised (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
