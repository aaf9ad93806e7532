"""What moving and breaking the baseline of instruction counts means."""

from __future__ import annotations

from typing import Any

LIMIT = 0.03  # more instructions than the baseline's; counts repeat exactly, so this is room for small changes only


def verdicts(baseline: dict[str, int], counted: dict[str, int]) -> list[str]:
    """One line for every piece of work that fails the gate."""
    lines = []
    for name in sorted(baseline.keys() | counted.keys()):
        if name not in counted or name not in baseline:
            known = "the baseline" if name in baseline else "the driver"
            lines.append(f"{name}: only in {known}; move the baseline")
        elif counted[name] > (1 + LIMIT) * baseline[name]:
            more = 100 * (counted[name] / baseline[name] - 1)
            lines.append(f"{name}: {counted[name]:,} instructions, {more:.1f} % more than {baseline[name]:,}")
    return lines


def differences(recorded: dict[str, str], here: dict[str, str]) -> list[str]:
    """Which tools are others than the baseline was counted with: counts compare with the same ones only."""
    return [
        f"{tool} is {found}, not {recorded.get(tool)}" for tool, found in here.items() if found != recorded.get(tool)
    ]


def moved(baseline: dict[str, Any], counted: dict[str, int], tools: dict[str, str], reason: str) -> dict[str, Any]:
    """Put what was counted in the baseline's place, with the reason and what it changed by more than a tenth of a %."""
    old = baseline.get("instructions", {})
    changed = {
        name: f"{100 * (counted[name] / old[name] - 1):+.1f} %"
        for name in sorted(counted.keys() & old.keys())
        if abs(counted[name] / old[name] - 1) > 1e-3
    }
    if old:
        changed |= dict.fromkeys(sorted(counted.keys() - old.keys()), "new")
        changed |= dict.fromkeys(sorted(old.keys() - counted.keys()), "gone")
    moves = [*baseline.get("moves", []), {"reason": reason, "changed": changed}]
    return {"tools": tools, "instructions": counted, "moves": moves}
