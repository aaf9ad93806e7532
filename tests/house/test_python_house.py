"""The plan of the package: who imports whom, what is defined once, how short the way to the core is."""

from __future__ import annotations

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import kernsift
import numpy as np
import pytest
from kernsift import _core
from kernsift.base import estimator
from kernsift.base import kernel as base_kernel
from sklearn.base import is_classifier

PACKAGE = Path(estimator.__file__).parents[1]
#: Packages of an extra or of a later scikit-learn, and slow ones that one option needs: imported where they are used.
OPTIONAL = {
    "dask", "matplotlib", "narwhals", "onnx", "onnxruntime", "pandas", "pyarrow", "rich", "scipy.optimize",
    "sklearn.callback", "sklearn.cluster", "skl2onnx", "threadpoolctl",
}  # fmt: skip
#: Members that every family's model has.
SHARED = {
    "basis_indices_", "basis_vectors_", "cost_", "decision_function", "dual_coef_", "intercept_", "n_basis_",
    "noise_variance_", "predict", "predict_proba", "_rows", "_scores",
}  # fmt: skip


def module_name(path: Path, package: Path) -> str:
    parts = ("kernsift", *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def imports(package: Path) -> dict[str, list[tuple[str, bool]]]:
    """For each module what it imports, in full, and whether a function does so."""
    found: dict[str, list[tuple[str, bool]]] = {}
    paths = {module_name(path, package): path for path in package.rglob("*.py")}
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        home = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
        found[name] = []
        for node in ast.walk(tree):
            targets = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                start = home[: len(home) - node.level + 1] if node.level else []
                module = ".".join([*start, *([node.module] if node.module else [])])
                members = [f"{module}.{alias.name}" for alias in node.names]
                compiled = (f"{module}._core", f"{module}._cpu")
                targets = [m if m in paths or m in compiled else module for m in members]
            found[name] += [(target, id(node) in inside) for target in targets]
    return found


def circle(package: Path) -> list[str]:
    """A circle of imports within the package, those inside functions counted."""
    graph = imports(package)
    edges = {name: {t for t, _ in found if t in graph and t != name} for name, found in graph.items()}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def late_imports(package: Path) -> list[str]:
    """Imports inside functions that are not of optional packages."""
    return [
        f"{name} imports {target}"
        for name, found in imports(package).items()
        for target, late in found
        if late and not any(target == o or target.startswith(o + ".") for o in OPTIONAL)
    ]


def test_no_module_imports_in_a_circle():
    assert circle(PACKAGE) == []


def test_functions_import_only_what_is_optional():
    assert late_imports(PACKAGE) == []


def test_a_planted_circle_and_a_late_import_are_found(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a.py").write_text("def f():\n    from ..base import b\n")
    (tmp_path / "base" / "b.py").write_text("from .a import f\n")
    assert circle(tmp_path)
    assert late_imports(tmp_path) == ["kernsift.base.a imports kernsift.base.b"]


def test_few_modules_stand_at_the_front_door():
    assert {path.name for path in PACKAGE.glob("*.py")} <= {"__init__.py", "__main__.py", "blocks.py", "dask.py"}


def test_attributes_are_replaced_in_one_place():
    """`__dict__` stands where transactions are made, and in river's adapters, which are no estimators of ours."""
    where = {p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py") if "__dict__" in p.read_text("utf-8")}
    assert where <= {"base/validation.py", "river/_rows.py"}


def test_the_members_of_all_models_are_defined_once():
    """Each once, but `predict`, which regressors, classifiers and `KernelLSTD` (values of states) have.

    `Signed` stands for a core, as `KernelExpansion` does.
    """
    found = []
    for path in PACKAGE.rglob("*.py"):
        for kind in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            elsewhere = path.parent.name in (
                "blocks",
                "cli",
                "control",
                "forecast",
                "table",
            )  # no models on kernels, or one of another room
            if not isinstance(kind, ast.ClassDef) or kind.name in ("KernelExpansion", "Signed") or elsewhere:
                continue
            members = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)} & SHARED
            found += [f"{kind.name}.{name}" for name in members]
    assert {name.rpartition(".")[2] for name in found} == SHARED
    assert len(found) <= 14, sorted(found)


# --- the way to the core ---------------------------------------------------------------------------------------------

ESTIMATORS = [
    kernsift.OnlineLSSVMRegressor(),
    kernsift.OnlineLSSVMClassifier(),
    kernsift.KRLSRegressor(),
    kernsift.SubsetLSSVMRegressor(max_basis=20),
    kernsift.SubsetLSSVMRegressor(max_basis=20, gamma="learn"),
    kernsift.SubsetLSSVMClassifier(max_basis=20),
    kernsift.OROLSRegressor(),
    kernsift.OROLSClassifier(),
    kernsift.LSSVMRegressor(),
    kernsift.LSSVMClassifier(),
    kernsift.SparseLSSVMRegressor(),
    kernsift.SparseLSSVMClassifier(),
    kernsift.FeatureVectorSelector(),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'gamma', '')}")
def test_a_fit_reaches_the_core_in_few_steps(model, monkeypatch, rng):
    """15 frames of the package in 5 files at most before the first call of the core."""
    X = rng.normal(size=(100, 3))
    y = X[:, 0] > 0 if is_classifier(model) else X[:, 0]
    frames: list[tuple[str, str]] = []
    before: list[list[tuple[str, str]]] = []

    def reached() -> None:
        if not before:
            before.append(list(frames))

    def kernel(*arguments):  # a class of the core: making one is no call that a profile reports
        reached()
        return _core.Kernel(*arguments)

    def profile(frame, event, argument):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(PACKAGE)):
            frames.append((file, frame.f_code.co_name))
        elif event == "c_call" and "pybind11" in repr(argument):
            reached()

    monkeypatch.setattr(base_kernel, "Kernel", kernel)
    sys.setprofile(profile)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    (way,) = before
    assert len(way) <= 15, [name for _, name in way]
    assert len({file for file, _ in way}) <= 5, sorted({Path(file).name for file, _ in way})
    assert np.isfinite(model.predict(X) if hasattr(model, "predict") else model.transform(X)).all()
