"""Moving kernels: their centres and widths together down the gradient of the leave-one-out error."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base.arrays import Array
from ..base.kernel import TABLE
from ..base.memory import ROW_VECTORS, check_memory
from ..base.warp import Warp
from ..select.task import Task
from ..widths.search import ALPHA_BOX, GAIN, JITTER, descend
from .state import Basis, SubsetState, error_on

# Rows the gradient is taken on, and rows held out to say where to stop: from the rest, or a fifth of those.
ROWS, HELD_OUT, PART = 10_000, 2500, 5
# log widths and, in units of the widths, centres stay this near to where they began.
BOX = 3.0


def check_polish(kernel: str, gamma: Any) -> None:
    """Refuse kernels that have no gradient with regard to their centres."""
    if isinstance(gamma, Warp) or (isinstance(gamma, str) and gamma == "warp"):
        raise ValueError(f"polish moves centres under plain widths, and gamma={gamma!r}: set polish=0")
    smooth = [name for name, facts in TABLE.items() if facts["smooth"] and facts["slope"]]
    if kernel not in smooth:
        raise ValueError(f"polish moves the centres of smooth kernels ({', '.join(map(repr, smooth))}), not {kernel!r}")


def polish(task: Task, basis: Basis, alpha: float, iterations: int) -> Basis | None:
    """A basis with moved centres and widths, or None if rows held out do better without."""
    assert task.targets is not None
    name, gamma, _, _, centre, *_ = basis.kernel_arguments
    which, n = task.rows.which, len(task.rows.which)
    if n < 2 * PART:
        return None
    m, width = basis.vectors.shape
    # Beside the core's problem: the rows held out as the model on trial sees them; and the points of the search, one an
    # iteration, with the steps it remembers.
    learned = n - min(HELD_OUT, n // PART) if n < ROWS + HELD_OUT else ROWS
    held_out = min(HELD_OUT, n - learned)
    points = (iterations + 80) * m * width
    problem_of_all = _core.WidthProblem.memory_needed(n=learned, m=m, d=width)
    check_memory(
        problem_of_all + 3 * held_out * m + _core.basis_coordinates_memory(m=m) + points + ROW_VECTORS * len(task.X),
        f"polishing {m} kernels on {learned} rows",
        "set polish=0, or take fewer kernels (max_basis)",
    )
    active = np.flatnonzero(gamma > 0)
    unit = np.sqrt(gamma[active])
    spread = task.weight[task.rows.used].sum()
    Y = task.mean_targets()
    Y = Y - np.average(Y, axis=0, weights=task.rows.weight)
    Y /= np.sqrt((task.rows.weight @ Y**2).sum() / spread) or 1.0

    parts = slice(0, learned), slice(learned, learned + HELD_OUT)
    (X, T, v), (held_X, held_T, held_v) = (
        (
            np.ascontiguousarray((task.X[which[part]][:, active] - centre[active]) * unit),
            np.ascontiguousarray(Y[part]),
            np.ascontiguousarray(task.rows.weight[part]),
        )
        for part in parts
    )
    Z = np.ascontiguousarray((basis.vectors[:, active] - centre[active]) * unit)
    d, total = len(active), float(v.sum())
    how: dict[str, Any] = {"fit_intercept": task.fit_intercept, "jitter": JITTER, "threads": task.threads}
    core = _core.WidthProblem(name, X=X, landmarks=Z, Y=T, weight=v, within=0 * v, **how)

    def f(x: Array) -> tuple[float, Array]:
        return core.objective(x, criterion="loo", toll=1.0, gradient=True)

    low, high = float(np.log(ALPHA_BOX[0])), float(np.log(ALPHA_BOX[1]))
    ridge = float(np.clip(np.log(max(alpha, 1e-300) / spread), low, high))
    start = np.concatenate([np.zeros(d), [ridge], Z.ravel()])
    about = [(float(c) - BOX, float(c) + BOX) for c in start]
    about[d] = (low, high)
    points, _ = descend(f, start, about, iterations, iterations)

    def error(x: Array) -> float:
        moved = np.ascontiguousarray(x[d + 1 :].reshape(Z.shape))
        kernel = _core.Kernel(name, np.exp(x[:d]), 1, 0.0, np.zeros(d))
        fitted = Basis.of(kernel, moved, np.arange(len(moved)))
        problem = SubsetState.of(fitted, X, T, v).problem(task.fit_intercept)
        return error_on(problem, fitted, float(np.exp(x[d]) * total), held_X, held_T, held_v)

    tried = sorted({0, len(points) // 4, len(points) // 2, 3 * len(points) // 4, len(points) - 1})
    errors = [error(points[k]) for k in tried]
    best = int(np.argmin(errors))
    if not errors[best] < (1 - GAIN) * errors[0]:
        return None
    x = points[tried[best]]
    widths, vectors = np.zeros_like(gamma), np.array(basis.vectors)
    widths[active] = gamma[active] * np.exp(x[:d])
    vectors[:, active] = x[d + 1 :].reshape(Z.shape) / unit + centre[active]
    kernel = _core.Kernel(name, widths, *basis.kernel_arguments[2:])
    return Basis.of(kernel, np.ascontiguousarray(vectors), np.full(len(vectors), -1))
