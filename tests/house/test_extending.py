"""The recipes of docs/develop/extending.md, word for word, each in a copy of the repository."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from urllib.parse import unquote

import kernsift
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "develop" / "extending.md"
needs_page = pytest.mark.skipif(not PAGE.is_file(), reason="docs is not beside these tests")
pytestmark = needs_page
#: A sentence that says where a block goes, and the block.
STEP = re.compile(
    r"^(?:(Above|Below|Instead of) \[[^\]]*\]\(([^)#\s]+)#([^)\s]+)\)|New file `([^`]+)`"
    r"|Above `(\w+)` in `([^`]+)`)(?:[^\n]|\n(?!\n))*:\n\n"
    r"```\w+\n(.*?)^```",
    re.M | re.S,
)


def recipe(name: str) -> str:
    """The section of the page with that heading."""
    return re.split(r"^## ", PAGE.read_text(encoding="utf-8").partition(f"\n## {name}\n")[2], flags=re.M)[0]


def follow(text: str, root: Path) -> list[Path]:
    """Do what a recipe says under `root`; return the files it changed."""
    steps = STEP.findall(text)
    assert len(steps) == text.count("\n```") // 2 > 0, "a block without a place"
    changed = []
    for where, link, words, new, name, page, code in steps:
        if new:
            path = root / new
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
        elif page:
            path = root / page
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            lines.insert(lines.index(f"   {name}\n"), code)
            path.write_text("".join(lines), encoding="utf-8")
        else:
            path = root / (PAGE.parent / link).resolve().relative_to(ROOT)
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            (at, *_) = [i for i, line in enumerate(lines) if unquote(words) in line]
            code += "\n\n" * code.startswith("def ")
            lines[at + (where == "Below") : at + (where != "Above")] = [code]
            path.write_text("".join(lines), encoding="utf-8")
        changed.append(path)
    return changed


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources, and the compiled core of this installation in the package."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    shutil.copytree(ROOT / "python", tmp_path / "python", ignore=ignored)
    shutil.copytree(ROOT / "docs" / "api", tmp_path / "docs" / "api", ignore=shutil.ignore_patterns("generated"))
    if (ROOT / "cpp").is_dir():
        shutil.copytree(ROOT / "cpp", tmp_path / "cpp")
    # an editable installation keeps the core elsewhere
    folders = {*map(Path, kernsift.__path__), Path(kernsift._core.__file__).parent}
    for path in (p for folder in folders for p in folder.iterdir() if p.suffix in (".so", ".pyd") or p.is_dir()):
        place = tmp_path / "python" / "kernsift" / path.name
        if path.name != "__pycache__" and not place.exists():
            place.symlink_to(path)
    if not (place := tmp_path / "python" / "kernsift" / Path(kernsift._core.__file__).parent.name).exists():
        place.symlink_to(Path(kernsift._core.__file__).parent)
    return tmp_path


def run(code: str, root: Path) -> None:
    """Run Python with the copy's package."""
    begin = f"""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]  # none of an editable installation
import numpy as np, kernsift
from pathlib import Path
assert Path(kernsift.__file__).parents[1] == Path({str(root / "python")!r}), kernsift.__file__
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (400, 2)); y = np.sin(X[:, 0]); w = rng.integers(0, 3, 400).astype(float)
"""
    environment = {**os.environ, "PYTHONPATH": str(root / "python")}
    command = [sys.executable, "-c", begin + textwrap.dedent(code) + "\nprint('works')\n"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root)
    assert done.stdout.endswith("works\n"), done.stdout + done.stderr


def compile_only(paths: list[Path], root: Path) -> None:
    """Let the compiler look at changed C++ files, warnings as errors, as the build does."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    folders = [Path(p) / "cmeel.prefix/include/eigen3" for p in (*sys.path, os.environ.get("CMAKE_PREFIX_PATH", ""))]
    found = [folder for folder in (*folders, Path("/usr/include/eigen3")) if folder.is_dir()]
    if compiler is None or not found:
        pytest.skip("needs a C++ compiler and Eigen: pip install -r .ci/requirements.in")
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    options = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-ignored-attributes", "-Werror"]
    options += ["-march=x86-64-v3"] if x86 else []
    includes = [f"-I{root / 'cpp'}", f"-isystem{found[0]}"]
    for path in sorted({p for p in paths if p.suffix == ".cpp"}):
        done = subprocess.run([compiler, *options, *includes, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_selector(copy):
    follow(recipe("A selector"), copy)
    run(
        """
        for weight in (None, w):
            model = kernsift.SubsetLSSVMRegressor(basis="even", max_basis=20, gamma=1.0).fit(X, y, sample_weight=weight)
            assert model.n_basis_ <= 20 and model.score(X, y) > 0.9, model.score(X, y)
            kernsift.SubsetLSSVMClassifier(basis="even", max_basis=20).fit(X, y > 0, sample_weight=weight)
        found = kernsift.tune(kernsift.SubsetLSSVMRegressor(basis="even", max_basis=20), X, y, gammas=[0.5, 1.0])
        assert found.best_estimator_.basis == "even"
        kernsift.SubsetLSSVMRegressor(basis="even", max_basis=20).fit_batches([(X[:200], y[:200]), (X[200:], y[200:])])
        """,
        copy,
    )


@pytest.mark.skipif(not (ROOT / "cpp" / "core").is_dir(), reason="the C++ sources are not beside these tests")
def test_an_admission_rule(copy):
    compile_only(follow(recipe("An admission rule"), copy), copy)
    run(
        """
        for kind in (kernsift.OnlineLSSVMRegressor, kernsift.OnlineLSSVMClassifier, kernsift.KernelLSTD):
            kind(admission="warm")._validate_params()
        """,
        copy,
    )


@pytest.mark.skipif(not (ROOT / "cpp" / "core").is_dir(), reason="the C++ sources are not beside these tests")
def test_a_kernel(copy):
    compile_only(follow(recipe("A kernel"), copy), copy)


def test_an_estimator(copy):
    follow(recipe("An estimator"), copy)
    assert "   NystromRegressor\n   SparseLSSVMRegressor\n" in (copy / "docs/api/index.md").read_text(encoding="utf-8")
    run(
        """
        import doctest, pickle, sys
        from sklearn.utils.estimator_checks import check_estimator
        assert "NystromRegressor" in kernsift.__all__
        model = kernsift.NystromRegressor(max_basis=30, random_state=0).fit(X, y, sample_weight=w)
        assert model.n_basis_ <= 30 and model.score(X, y) > 0.99
        K = model._expansion.kernel.matrix(model.basis_vectors_, np.ascontiguousarray(X))
        A = (K * w) @ K.T + 0.1 * model._expansion.kernel.matrix(model.basis_vectors_, model.basis_vectors_)
        direct = np.linalg.solve(A, (K * w) @ (y - np.average(y, weights=w)))
        # rounding, times the condition of the normal equations
        assert np.abs(K.T @ direct + model.intercept_ - model.predict(X)).max() < 1e-8
        mean, std = model.predict(np.vstack([X[:1], X[:1] + 100]), return_std=True)
        assert 0 < std[0] < std[1]
        model.save("model.npz")
        for other in (kernsift.load("model.npz"), pickle.loads(pickle.dumps(model))):
            assert type(other) is kernsift.NystromRegressor
            for mine, theirs in zip(model.predict(X, return_std=True), other.predict(X, return_std=True)):
                assert np.array_equal(mine, theirs)
        before = model.predict(X)
        try:
            model.fit(X * np.nan, y)
        except ValueError:
            assert np.array_equal(before, model.predict(X))
        assert doctest.testmod(sys.modules[kernsift.NystromRegressor.__module__]).failed == 0
        check_estimator(kernsift.NystromRegressor(random_state=0))
        """,
        copy,
    )


def test_an_export(copy):
    follow(recipe("An export"), copy)
    run(
        """
        from kernsift.export import to_text
        model = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=30).fit(X, y)
        text = to_text(model, "model.txt")
        assert Path("model.txt").read_text() == text
        first, kernel, *lines = text.splitlines()
        assert kernel.split()[:2] == ["kernel", "rbf"]
        f = np.full(len(X), float(first.split()[1]))
        for line in lines:
            coef, vector = (np.array(part.split(), dtype=float) for part in line.split("|"))
            f += coef[0] * np.exp(-0.5 * ((X - vector) ** 2).sum(axis=1))
        # the sum of 30 terms in another order, larger than their sum
        assert np.abs(f - model.predict(X)).max() < 1e-13 * np.abs(model.dual_coef_).sum()
        """,
        copy,
    )


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "cpp" / "core").is_dir(), reason="the C++ sources are not beside these tests")
def test_a_rule_and_a_kernel_in_a_build(copy):
    """The whole core with both, compiled and used."""
    shutil.copy(ROOT / "CMakeLists.txt", copy)
    follow(recipe("An admission rule"), copy)
    follow(recipe("A kernel"), copy)
    from soak import cmake, quietly

    cmake(copy, copy / "build", "CMAKE_BUILD_TYPE=Release", "KERNSIFT_WERROR=ON", f"Python_EXECUTABLE={sys.executable}")
    quietly(["cmake", "--build", str(copy / "build"), "--parallel", "2"])
    for path in (copy / "python" / "kernsift").iterdir():
        if path.is_symlink():
            path.unlink()
    quietly(["cmake", "--install", str(copy / "build"), "--prefix", str(copy / "python")])
    run(
        """
        K = kernsift._core.Kernel("rational", np.ones(2), 3, 1.0, X[0]).matrix(X[:50].copy(), X[50:80].copy())
        r2 = ((X[:50, None] - X[None, 50:80]) ** 2).sum(axis=-1)
        assert np.abs(K - 1 / (1 + r2)).max() < 1e-14  # rounding of r2
        model = kernsift.OnlineLSSVMRegressor(kernel="rational", admission="warm", max_basis=50).fit(X, y)
        assert model.score(X, y) > 0.95
        assert np.array_equal(model.predict(X), model.predict(X.astype(np.float64)))
        assert kernsift.SubsetLSSVMRegressor(kernel="rational", max_basis=50).fit(X, y).score(X, y) > 0.95
        """,
        copy,
    )
