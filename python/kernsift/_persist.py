"""Fitted cores as plain arrays: what pickle, joblib, skops and copies carry."""

from __future__ import annotations

from typing import Any

from . import _core

FORMAT = 1

_ENGINES = {"KernelLSTD": _core.KernelLSTD, "OnlineLSSVM": _core.OnlineLSSVM, "OnlineInverse": _core.OnlineInverse}


def pack(core: Any) -> dict[str, Any]:
    """Return the core's state as numbers, strings and arrays, with a format version."""
    _, (engine, (kernel, *settings), arrays) = core.__reduce__()
    _, kernel_arguments = kernel.__reduce__()
    return {
        "format": FORMAT,
        "engine": engine.__name__,
        "kernel": list(kernel_arguments),
        "settings": settings,
        "arrays": dict(arrays),
    }


def unpack(state: dict[str, Any]) -> Any:
    """Rebuild a core from `pack`'s answer."""
    if state.get("format") != FORMAT:
        raise ValueError(
            f"this model was saved with state format {state.get('format')!r} and this kernsift reads {FORMAT}; "
            "load it with the version that saved it, or a newer one"
        )
    claimed, held = state["settings"][0], len(state["arrays"].get("target_mean", ()))
    if state["engine"] != "KernelLSTD" and claimed != held:  # asked before the core makes room for as many
        raise ValueError(f"this model's state claims {claimed!r} outputs and holds {held}")
    arguments = (_core.Kernel(*state["kernel"]), *state["settings"])
    return _core.rebuild(_ENGINES[state["engine"]], arguments, state["arrays"])
