"""SLS with alpha chosen again at every step: nothing is shared between the steps, so each is a dense fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .lssvm import DenseProblem


def _step(options: tuple[bool, float, int], n: int) -> int:
    """Rows to drop at once, as in ``cpp/core/select/pruning_path.cpp``."""
    _, step, must_hit = options
    count = min(max(int(step * n if step < 1 else step), 1), n - 1)
    return min(count, n - must_hit) if n > must_hit > 0 else count


def reselected_path(
    whole: DenseProblem,
    v: NDArray[np.float64],
    alphas: NDArray[np.float64],
    alpha: float,
    options: tuple[bool, float, int],
) -> dict[str, Any]:
    """Return the path in the form of the core's; `alpha` is that of the first step."""
    kept = np.arange(len(v))
    removed: list[NDArray[np.intp]] = []
    sizes, costs, loos, coefs, intercepts, chosen = [], [], [], [], [], []
    while True:
        X, y, w = whole.X[kept], whole.y[kept], v[kept]
        problem = DenseProblem(whole.kernel, X, y, whole.fit_intercept, whole.part[kept])
        if removed and len(kept) > 2:
            grid = problem.loo_grid(w, alphas)
            if np.isfinite(grid).any():
                alpha = float(alphas[np.nanargmin(grid)])
        found = problem.solve(w, alpha, keep_factor=True)
        coef = found["coef"]
        slack = _core.dense_slack(found["factor"], w, alpha, whole.fit_intercept)
        errors = whole.y - whole.kernel.expand(X, coef, found["intercept"], whole.X)
        if len(kept) > 1:
            part = problem.part
            errors[kept] = alpha * coef / w[:, None] / ((1.0 - part) + part * slack)[:, None]
        sizes.append(len(kept))
        costs.append(found["cost"])
        intercepts.append(found["intercept"])
        loos.append(float((v @ errors**2).sum() / v.sum()))
        coefs.append(coef.ravel())
        chosen.append(alpha)
        if len(kept) == 1:
            break
        scores = (coef**2).sum(axis=1)
        if options[0]:
            scores = scores / (w * slack)  # alpha_i^2 / [M^-1]_ii up to the common factor alpha
        gone = np.argsort(scores, kind="stable")[: _step(options, len(kept))]
        removed.append(kept[gone])
        kept = np.delete(kept, gone)
    return {
        "order": np.concatenate([kept, *removed[::-1]]),
        "n_basis": np.array(sizes, dtype=np.int64),
        "cost": np.array(costs),
        "loo": np.array(loos),
        "coef": np.concatenate(coefs),
        "intercept": np.array(intercepts),
        "alpha": np.array(chosen),
    }
