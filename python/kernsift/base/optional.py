"""Packages that an extra brings: imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any


def optional(module: str, what: str, extra: str) -> Any:
    """Import a module, or say what needs it and which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} needs {package}: pip install 'kernsift[{extra}]'") from error
