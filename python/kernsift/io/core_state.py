"""Fitted cores as plain arrays: what pickle, joblib, skops and copies carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core

FORMAT = 2  # 1, of kernsift 0.1, has the settings in a list

_ENGINES = {"KernelLSTD": _core.KernelLSTD, "OnlineLSSVM": _core.OnlineLSSVM, "OnlineInverse": _core.OnlineInverse}
_RULE = "novelty_tol usefulness_tol admission max_basis"
_LISTED = {
    "KernelLSTD": f"alpha discount trace_decay {_RULE} residual",
    "Online": f"n_outputs alpha {_RULE} fit_intercept swap_until exact_rows forgetting on_full window hysteresis",
}


def pack(core: Any) -> dict[str, Any]:
    """Return the core's state as numbers, strings and arrays, with a format version."""
    _, (engine, kernel, settings, arrays) = core.__reduce__()
    _, kernel_arguments = kernel.__reduce__()
    return {
        "format": FORMAT,
        "engine": engine.__name__,
        "kernel": list(kernel_arguments),
        "settings": settings,
        "arrays": dict(arrays),
    }


def unpack(state: dict[str, Any]) -> Any:
    """Rebuild a core from what `pack` returned."""
    if state.get("format") not in (1, FORMAT):
        raise ValueError(
            f"this model was saved with state format {state.get('format')!r} and this kernsift reads 1 to {FORMAT}; "
            "load it with the version that saved it, or a newer one"
        )
    settings = state["settings"]
    if state["format"] == 1:
        settings = dict(zip(_LISTED.get(state["engine"], _LISTED["Online"]).split(), settings, strict=False))
        if settings.get("forgetting", 1.0) < 1:  # what fades is exact on no rows but its own
            settings["exact_rows"] = 0
    claimed, held = settings.get("n_outputs"), len(state["arrays"].get("target_mean", ()))
    if state["engine"] != "KernelLSTD" and claimed != held:  # checked before the core makes room for as many
        raise ValueError(f"this model's state claims {claimed!r} outputs and holds {held}")
    kernel, arrays = _core.Kernel(*state["kernel"]), state["arrays"]
    if arrays.get("basis", np.empty(1)).size == 0:  # a model without kernels was once written as of shape (0, 0)
        arrays = {**arrays, "basis": np.empty((0, len(kernel.gamma)))}
    return _core.rebuild(_ENGINES[state["engine"]], kernel, settings, arrays)
