"""The installation: levels, the picker, the stub, a clean import.  If only one file is run on a wheel, this one."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import kernsift
import numpy as np
import pytest
from kernsift import _core
from kernsift.base import loader as _loader
from scipy.linalg import cython_lapack

USABLE = _loader.usable_levels()


def run(code, **env):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
    )


def test_a_model_learns():
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, (500, 1))
    model = kernsift.OnlineLSSVMRegressor(gamma=1.0).fit(X, np.sin(X[:, 0]))
    assert np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.1


def test_imports_in_a_clean_process_without_optional_packages():
    code = "import sys, kernsift; bad = {'matplotlib', 'rich'} & set(sys.modules); assert not bad, bad"
    done = run(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("level", USABLE)
def test_every_level_loads_under_one_name(level):
    code = "import kernsift; print(kernsift.build_config()['cpu_level'], kernsift._core.OnlineLSSVM.__module__)"
    done = run(code, KERNSIFT_ISA=level)
    assert done.stdout.split() == [level, "kernsift._core"], done.stderr


def test_the_best_usable_level_is_the_default():
    done = run("import kernsift; print(kernsift.build_config()['cpu_level'])", KERNSIFT_ISA="")
    assert done.stdout.strip() == USABLE[0]


def test_an_unusable_level_is_an_error_that_names_the_others():
    done = run("import kernsift", KERNSIFT_ISA="v9")
    assert done.returncode != 0
    assert "KERNSIFT_ISA='v9'" in done.stderr
    assert f"this installation carries {_loader.built_levels()}" in done.stderr
    assert str(USABLE) in done.stderr


@pytest.mark.parametrize(
    ("built", "expected"),
    [(["v4", "v3", "v2"], "v3"), (["v4", "v2"], "v2"), (["v3"], "v3"), (["baseline"], "baseline"), (["v4"], None)],
)
def test_of_the_levels_built_the_best_that_runs_is_loaded(monkeypatch, built, expected):
    """Builds from source have one level, that of the machine that built them; here on a machine of level v3."""
    monkeypatch.delenv("KERNSIFT_ISA", raising=False)
    monkeypatch.setattr(_loader, "built_levels", lambda: built)
    monkeypatch.setattr(_loader._cpu, "levels", lambda: ["baseline", "v2", "v3"])
    if expected:
        assert _loader.choose_level() == expected
    else:
        with pytest.raises(ImportError, match=r"built for \['v4'\] but this CPU runs .*'v3'.*build from source"):
            _loader.choose_level()


def test_a_broken_build_raises_and_never_falls_back(tmp_path):
    """A copy of the package whose best level is damaged must not come up on another."""
    package = files("kernsift")
    if not isinstance(package, Path):
        pytest.skip("an editable install lies in two folders")
    for name in os.listdir(str(package)):
        if name != "__pycache__":
            os.symlink(str(package / name), tmp_path / name)
    package_copy = tmp_path / "kernsift"
    package_copy.mkdir()
    for name in os.listdir(tmp_path):
        if name != "kernsift":
            os.rename(tmp_path / name, package_copy / name)
    best = package_copy / f"_isa_{USABLE[0]}"
    shared_object = next(n for n in os.listdir(best) if n.startswith("_core"))
    best.unlink()
    best.mkdir()
    (best / shared_object).write_bytes(b"not a shared object")
    done = run("import kernsift", PYTHONPATH=str(tmp_path), KERNSIFT_ISA="")
    assert done.returncode != 0
    assert "ImportError" in done.stderr


def test_eigenvalues_by_scipy_are_those_of_the_core(rng):
    W, y = rng.standard_normal((300, 1000)), rng.standard_normal((1000, 1))
    sums = {"M": W @ W.T, "z": W @ y, "s": np.zeros(300), "y": np.zeros(1), "yy": (y**2).sum(axis=0)}
    sums |= {"offset": np.zeros(1), "weight": 1000.0, "count": 1000, "precision": 1e-13, "fit_intercept": False}
    routines = cython_lapack.__pyx_capi__

    def gcv():
        return _core.RidgeProblem(**sums, threads=1, factor=None, alpha=0.0).gcv(1e-3)

    lent = gcv()
    assert _core.use_dsyevd(None)
    try:
        own = gcv()
        np.testing.assert_allclose(lent, own, rtol=1e-11)  # eps times the condition of M and its size
        assert not _core.use_dsyevd(routines["dsyev"])  # a routine of another type is left alone
        assert gcv().tobytes() == own.tobytes()
    finally:
        assert _core.use_dsyevd(routines["dsyevd"])
    assert gcv().tobytes() == lent.tobytes()


def test_levels_agree_on_predictions():
    code = (
        "import numpy as np, kernsift; rng = np.random.default_rng(2); X = rng.uniform(-2, 2, (800, 2)); "
        "y = np.sin(X[:, 0]) * X[:, 1]; m = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=30).fit(X, y); "
        "print(m.basis_indices_.tolist()); print(repr(m.predict(X[:5]).tolist()))"
    )
    outputs = [run(code, KERNSIFT_ISA=level).stdout.splitlines() for level in USABLE]
    for indices, predicted in outputs:
        assert indices == outputs[0][0]
        np.testing.assert_allclose(ast.literal_eval(predicted), ast.literal_eval(outputs[0][1]), atol=1e-9)


def test_shared_objects_export_their_entry_point_only():
    if not sys.platform.startswith("linux"):
        pytest.skip("reads ELF symbols with nm")
    for level in _loader.built_levels():
        folder = files("kernsift") / f"_isa_{level}"
        path = next(str(folder / n) for n in os.listdir(str(folder)) if n.startswith("_core"))
        done = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip("nm is not installed")
        names = {line.split()[-1] for line in done.stdout.splitlines()}
        assert names == {"PyInit__core"}


@pytest.mark.parametrize("name", ["py.typed", "_core.pyi", "export/template.h"])
def test_what_is_no_python_is_installed_too(name):
    assert (files("kernsift") / name).is_file()


def stub_members(node):
    return {n.name for n in node.body if isinstance(n, ast.FunctionDef)} - {"__init__"}


def test_the_stub_names_what_the_core_has():
    stub = ast.parse((files("kernsift") / "_core.pyi").read_text())
    classes = {n.name: n for n in stub.body if isinstance(n, ast.ClassDef)}
    functions = {n.name for n in stub.body if isinstance(n, ast.FunctionDef)}
    constants = {n.target.id: n.annotation.id for n in stub.body if isinstance(n, ast.AnnAssign)}
    public = {n for n in vars(_core) if not n.startswith("_")}
    assert public == functions | set(constants) | {n for n in classes if not n.startswith("_")}
    assert constants == {n: type(getattr(_core, n)).__name__ for n in constants}

    def members(name):
        inherited = [members(b.id) for b in classes[name].bases if isinstance(b, ast.Name)]
        return stub_members(classes[name]).union(*inherited)

    for name in public - functions - set(constants):
        runtime = {n for n in vars(getattr(_core, name)) if not n.startswith("_")} | {"__reduce__"}
        assert members(name) == runtime, name


def test_stub_arguments_are_those_of_the_core():
    stub = ast.parse((files("kernsift") / "_core.pyi").read_text())
    for node in ast.walk(stub):
        if not isinstance(node, ast.ClassDef):
            continue
        shared = {
            "_Inverse": _core.SymmetricInverse,
            "_Online": _core.OnlineLSSVM,
            "_Problem": _core.DenseProblem,
        }.get(node.name)
        runtime = shared or getattr(_core, node.name, None)
        for function in (n for n in node.body if isinstance(n, ast.FunctionDef)):
            if function.decorator_list or function.name == "__reduce__":
                continue
            wanted = [a.arg for a in function.args.args[1:] + function.args.kwonlyargs]
            signature = getattr(runtime, function.name).__doc__.splitlines()[0]
            for argument in wanted:
                if argument != "i":
                    assert f"{argument}:" in signature, (node.name, function.name, argument, signature)


def test_settings_in_the_stub_are_those_of_the_core_s_tables():
    stub = ast.parse((files("kernsift") / "_core.pyi").read_text())
    typed = {
        node.name: {field.target.id: ast.unparse(field.annotation).partition("[")[0] for field in node.body}
        for node in stub.body
        if isinstance(node, ast.ClassDef) and [base.id for base in node.bases] == ["TypedDict"]
    }
    kernel = _core.Kernel("rbf", np.ones(2), 3, 1.0, np.zeros(2))
    online, literal, lstd = _core.OnlineLSSVM(kernel, 3), _core.OnlineInverse(kernel, 3), _core.KernelLSTD(kernel)
    assert online.settings == literal.settings
    assert online.settings["n_outputs"] == 3
    core = {"_OnlineSettings": {**online.settings}, "_LSTDSettings": lstd.settings}
    del core["_OnlineSettings"]["n_outputs"]
    assert typed == {name: {k: type(v).__name__ for k, v in table.items()} for name, table in core.items()}


def test_settings_cross_the_border_by_name():
    kernel = _core.Kernel("rbf", np.ones(2), 3, 1.0, np.zeros(2))
    online = {
        "alpha": 0.5,
        "novelty_tol": 0.125,
        "usefulness_tol": 0.25,
        "admission": "two-part",
        "max_basis": 7,
        "fit_intercept": False,
        "swap_until": 11,
        "exact_rows": 5,
        "forgetting": [1.0],
        "linear": [0.5, 0.25],
        "bounded": True,
        "error_forecast": True,
        "level": False,
        "on_full": "drop-oldest",
        "noise": "input",
        "window": True,
        "hysteresis": 0.75,
        "kept_rows": 12,
        "first_row": 3,
        "n_outputs": 2,
    }
    lstd = {
        "alpha": 0.5,
        "discount": 0.75,
        "trace_decay": 0.25,
        "novelty_tol": 0.125,
        "usefulness_tol": 0.0625,
        "admission": "novelty",
        "max_basis": 9,
        "residual": True,
        "forgetting": 0.75,
        "variance": True,
        "lspe": False,
        "fixed": True,
        "keep_last": 6,
    }
    for engine, settings in ((_core.OnlineLSSVM, online), (_core.KernelLSTD, lstd)):
        model = engine(kernel, **settings)
        assert model.settings == settings
        assert pickle.loads(pickle.dumps(model)).settings == settings
        others = {"n_outputs": 1} if engine is _core.OnlineLSSVM else {}
        with pytest.raises(TypeError, match="no setting is called 'ridge'; the settings are alpha, "):
            engine(kernel, **others, ridge=1.0)
        with pytest.raises(TypeError, match="max_basis cannot be 'many'"):
            engine(kernel, **others, max_basis="many")
        with pytest.raises(ValueError, match="admission 'ald' is unknown"):
            engine(kernel, **others, admission="ald")


def test_levels_are_those_of_the_processor():
    """The kernel's list of what the processor has, and the operating system allows, against our own question."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = [line for line in file if line.startswith("flags")]
    except OSError:
        lines = []
    if not lines:
        pytest.skip("no list of x86 flags here")
    flags = set(lines[0].split())
    needs = {
        "v2": "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
        "v3": "abm avx avx2 bmi1 bmi2 f16c fma movbe",
        "v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
    }
    expected = ["baseline"]
    for level, names in needs.items():
        if not flags.issuperset(names.split()):
            break
        expected.append(level)
    assert kernsift.build_config()["cpu_runs"] == expected
