"""Write small saved models of the present format, once, when it is new: ``python tests/data/make.py``.

The files are kept for ever and loaded by ``tests/io/test_saving.py``; a folder that exists is not written again.
"""

from __future__ import annotations

from pathlib import Path

import kernsift
import numpy as np
from kernsift.io import archive as _archive


def main() -> None:
    """Write ``format<N>`` beside this file."""
    folder = Path(__file__).parent / f"format{_archive.FORMAT}"
    folder.mkdir()
    rng = np.random.default_rng(1)
    X = rng.normal(size=(16, 2)).round(3)
    y = np.sin(X[:, 0]).round(3)
    labels = np.array(["left", "middle", "right"])[(X[:, 0] > -0.4).astype(int) + (X[:, 0] > 0.4)]
    expected = {"X": X, "y": y}
    models = {n: getattr(kernsift, n)() for n in kernsift.__all__ if hasattr(getattr(kernsift, n), "get_params")}
    models["inverse"] = kernsift.OnlineLSSVMRegressor(engine="inverse", max_basis=6)
    models["exact-rows"] = kernsift.OnlineLSSVMRegressor(exact_rows=8, max_basis=6)
    models["memories"] = kernsift.OnlineLSSVMRegressor(max_basis=6, forgetting=[1.0, 0.9], linear=True)
    selector = kernsift.FeatureVectorSelector(n_components=5, random_state=0)
    models["selector"] = kernsift.SubsetLSSVMRegressor(basis=selector, random_state=np.random.RandomState(0))
    for name, model in models.items():
        if "alpha" in model.get_params():
            model.set_params(alpha=0.1)
        if name == "KernelLSTD":
            model.partial_fit(X[:-1], y[:-1], X[1:])
        elif name == "KernelLSPI":
            model.fit((X[:-1], labels[:-1], y[:-1], X[1:]))
        else:
            model.fit(X, labels if name.endswith("Classifier") else y)
        model.save(folder / f"{name}.npz")
        expected[name] = (model.transform if hasattr(model, "transform") else model.predict)(X)
        if (name.endswith("Regressor") and hasattr(model, "partial_fit")) or name in (
            "inverse",
            "exact-rows",
            "memories",
        ):
            expected[f"{name} resumed"] = model.partial_fit(X, y).predict(X)
    np.savez_compressed(folder / "expected.npz", allow_pickle=False, **expected)


if __name__ == "__main__":
    main()
