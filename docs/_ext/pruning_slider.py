"""A model in the page: a slider removes kernels, and the browser predicts from their places and coefficients.

```{pruning-slider}``` fits the models when the pages are built; the page needs no network and nothing but JavaScript.
"""

from __future__ import annotations

import json

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

LARGEST = 16
PAGE = """<div class="pruning-slider">
<svg viewBox="-3.15 -1.65 6.3 3.3" role="img"
 aria-label="Rows, the model's curve, and its kernels along the bottom"></svg>
<label>kernels <input type="range" min="1" max="{largest}" value="{largest}"> <output></output></label>
<script type="application/json">{models}</script>
<noscript>The slider needs JavaScript.</noscript>
</div>
"""


def curve(x):
    return np.sin(2.5 * x) * np.exp(-0.15 * x**2) + 0.25 * x


def models():
    """Noisy rows of a curve, and the models of 1, 2, ... kernels along one pruning path."""
    from kernsift import SubsetLSSVMRegressor

    rng = np.random.default_rng(7)
    x = np.sort(rng.uniform(-3, 3, 160)).round(3)
    y = (curve(x) + 0.15 * rng.standard_normal(len(x))).round(3)
    model = SubsetLSSVMRegressor(max_basis=LARGEST, gamma=1.0, basis="pruned", random_state=0).fit(x[:, None], y)
    found = []
    for size in range(1, LARGEST + 1):
        model.resize(size)
        found.append({
            "centres": model.basis_vectors_[:, 0].tolist(),
            "coefficients": model.dual_coef_.ravel().tolist(),
            "intercept": float(np.ravel(model.intercept_)[0]),
            "error": float(np.sqrt(np.mean((model.predict(x[:, None]) - curve(x)) ** 2))),
        })  # fmt: skip
    (gamma,) = np.ravel(model.gamma_)
    return {"gamma": float(gamma), "rows": np.column_stack([x, y]).tolist(), "models": found}


class PruningSlider(SphinxDirective):
    def run(self):
        return [nodes.raw("", PAGE.format(largest=LARGEST, models=json.dumps(models())), format="html")]


def setup(app):
    app.add_directive("pruning-slider", PruningSlider)
    app.add_js_file("pruning_slider.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
