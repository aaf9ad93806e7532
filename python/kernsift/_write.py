"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write under a temporary name beside `path`, then rename: nobody ever sees half a file."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
