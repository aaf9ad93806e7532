"""What comes in from outside: two dependencies, pinned tools and actions, and no network in use."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

QUIET = """
import sys

def look(event, arguments):
    # fork_exec of joblib's and numpy's own probes at import is not ours to forbid: a socket is
    if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")) and event != "socket.__new__":
        raise SystemExit(f"{event} {arguments!r:.200}")
    if event == "socket.__new__" and arguments[1:2] and int(arguments[1]) in (2, 10):  # AF_INET, AF_INET6
        raise SystemExit(f"{event} {arguments!r:.200}")

sys.addaudithook(look)
import os, pickle, tempfile
import numpy as np
import kernsift, kernsift.export
from sklearn.base import is_classifier

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2)); y = np.sin(X[:, 0]); labels = (y > 0).astype(int)
path = os.path.join(tempfile.mkdtemp(), "m.npz")
for name in kernsift.__all__:
    kind = getattr(kernsift, name)
    if not hasattr(kind, "get_params"):
        continue
    of_front = name in ("KernelClassifier", "KernelRegressor")
    model = kind(settings={"gamma": 0.5}) if of_front else kind(gamma=0.5)
    if name == "KernelLSTD":
        model.partial_fit(X[:-1], y[:-1], X[1:])
    elif name == "KernelLSPI":
        model.fit((X[:-1], labels[:-1], y[:-1], X[1:]))
    else:
        model.fit(X, labels if is_classifier(model) else y)
    (model.transform if hasattr(model, "transform") else model.predict)(X)
    model.save(path)
    pickle.loads(pickle.dumps(kernsift.load(path)))
    repr(model), model._repr_html_()
kernsift.learn_gamma(X, y)
kernsift.tune(kernsift.SubsetLSSVMRegressor(max_basis=9), X, y)
print("quiet")
"""


def test_nothing_opens_a_connection():
    out = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=False, timeout=300)
    assert out.stdout.strip().endswith("quiet"), out.stdout + out.stderr


def test_the_watch_would_see_a_connection():
    code = QUIET.split("rng =")[0] + "import socket\nsocket.create_connection(('127.0.0.1', 9))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert "socket." in out.stderr
    assert "AddressFamily" in out.stderr or "127.0.0.1" in out.stderr


@pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="the workflows are not beside these tests")
def test_actions_and_tools_are_pinned():
    uses = [
        (path.name, line)
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in re.findall(r"uses:\s*(\S+)", path.read_text(encoding="utf-8"))
    ]
    assert len(uses) > 5
    assert [use for use in uses if not re.search(r"@[0-9a-f]{40}$", use[1])] == []
    assert [name for name in LOCKS if not locked(name)] == []


LOCKS = ("build", "requirements", "wheels")


def locked(name):
    """The tools of a lock by name and version: each that is wanted, and whatever they need, with hashes."""
    lines = (ROOT / ".ci" / f"{name}.in").read_text(encoding="utf-8").splitlines()
    tools = [line for line in lines if line and not line.startswith("#")]
    assert [tool for tool in tools if not re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+", tool)] == []
    lock = (ROOT / ".ci" / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z])", re.sub(r"^ *#.*\n", "", lock, flags=re.M), flags=re.M)[1:]
    found = {re.split(r"[ ;]", re.sub(r"\[.*?\]", "", entry))[0] for entry in entries}
    assert {re.sub(r"\[.*\]", "", tool) for tool in tools} <= found
    assert len(entries) > len(tools)
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    return dict(entry.split("==") for entry in found)


@pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="the workflows are not beside these tests")
def test_what_is_published_is_built_with_locked_tools_alone():
    """Neither the frontend nor what a build requires is taken as the index has it that day."""
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    installs = re.findall(r"pip install (.*)", text)
    assert len(installs) >= 3
    assert [i for i in installs if "--require-hashes" not in i and not i.startswith("--no-build-isolation dist/")] == []
    assert [b for b in re.findall(r"-m build (.*)", text) if "--no-isolation" not in b] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheels = project["tool"]["cibuildwheel"]
    assert wheels["build-frontend"] == {"name": "pip", "args": ["--no-build-isolation"]}
    assert wheels["before-build"] == "pip install --require-hashes -r {project}/.ci/build.txt"
    assert wheels["config-settings"] == {"cmake.define.KERNSIFT_LEVELS": "all"}, "a wheel runs on other machines"
    required = {re.match(r"[\w-]+", need)[0] for need in project["build-system"]["requires"]}
    assert required <= set(locked("build"))
    assert {"build", "cibuildwheel"} <= set(locked("wheels"))
    watched = re.findall(r"package-ecosystem: (\S+)", (ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    assert set(watched) == {"github-actions", "pip"}


@pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="the workflows are not beside these tests")
def test_wheels_are_for_every_supported_python_and_system_and_attested():
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    systems = set(re.findall(r"\{ name: ([\w-]+), runs-on", text))
    assert systems == {f"{s}-{m}" for s, m in (
        ("linux", "x86_64"), ("linux", "aarch64"), ("macos", "x86_64"), ("macos", "arm64"),
        ("windows", "amd64"), ("windows", "arm64"),
    )}  # fmt: skip
    assert "attestations: true" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheels = project["tool"]["cibuildwheel"]
    oldest = int(re.search(r">=3\.(\d+)", project["project"]["requires-python"])[1])
    with_gil = {int(tag) for tag in re.findall(r"cp3(\d+)-\*", " ".join(wheels["build"]))}
    without = {int(tag) for tag in re.findall(r"cp3(\d+)t-\*", " ".join(wheels["build"]))}
    assert with_gil == set(range(oldest, max(with_gil) + 1)) >= {11, 15}
    assert without == {14, 15}
    assert "skip" not in wheels  # neither musl nor anything else
    of_musl = {tag: tag.replace("-*", "-musllinux_x86_64") for tag in wheels["build"]}
    tested = [tag for tag, name in of_musl.items() if not any(fnmatch(name, skip) for skip in wheels["test-skip"])]
    assert tested == ["cp313-*"]


@pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="the licences and locks are not beside these tests")
def test_licences_of_what_is_compiled_in_come_with_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "BSD-3-Clause AND MPL-2.0"
    names = sorted(str(p.relative_to(ROOT)) for pattern in project["license-files"] for p in ROOT.glob(pattern))
    assert names == ["LICENSE", "LICENSES/Eigen.txt", "LICENSES/MPL-2.0.txt", "LICENSES/pybind11.txt"]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    assert "Mozilla Public License Version 2.0" in texts["LICENSES/MPL-2.0.txt"]
    assert "Exhibit B" in texts["LICENSES/MPL-2.0.txt"]  # to the end
    assert "Wenzel Jakob" in texts["LICENSES/pybind11.txt"]
    assert "source code" in texts["LICENSES/Eigen.txt"].lower()
    # the version whose source the notice names is the one compiled in
    assert f"Eigen {locked('build')['cmeel-eigen']}" in texts["LICENSES/Eigen.txt"]


KNOWN, UNKNOWN = {"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "not found"}
BROKEN = {"name": "c", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": []}]}
# what pip-audit writes and ends with, and then: what the check says and ends with, and how it ends if it is strict
AUDITS = {
    "all looked up": (json.dumps({"dependencies": [KNOWN]}), 0, "1 of 1 tools looked up", 0, 0),
    "a hole": (json.dumps({"dependencies": [KNOWN, BROKEN, UNKNOWN]}), 1, "c 2: PYSEC-1", 1, 1),
    # an index without advisories: pip-audit says that no holes are known and ends with 0
    "none looked up": (json.dumps({"dependencies": [UNKNOWN]}), 0, "skipped: no advisory service", 0, 1),
    "some looked up": (json.dumps({"dependencies": [KNOWN, UNKNOWN]}), 0, "not looked up: b", 0, 1),
    "no network": ("requests.exceptions.ConnectionError: no", 1, "skipped: no advisory service", 0, 1),
    "no answer": (None, 0, "skipped: no advisory service", 0, 1),
    "no lock": ("ERROR: requirements.txt: unhashed requirement", 1, "unhashed", 1, 1),
}


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.skipif(not (ROOT / ".ci" / "audit").is_file(), reason=".ci is not beside these tests")
@pytest.mark.parametrize("case", AUDITS)
def test_an_audit_that_looked_at_nothing_says_so_and_holes_fail(case, tmp_path):
    written, code, said, ends, ends_strictly = AUDITS[case]
    fake = tmp_path / "pip-audit"
    stream = "2" if code and not (written or "").startswith("{") else "1"
    body = "sleep 5" if written is None else f"cat {tmp_path / 'said'} >&{stream}; exit {code}"
    fake.write_text(f"#!/bin/sh\n{body}\n")
    fake.chmod(0o755)
    (tmp_path / "said").write_text(written or "")
    for options, expected in (([], ends), (["--strict"], ends_strictly)):
        wait = "1" if written is None else "50"
        command = [sys.executable, ROOT / ".ci" / "audit", "--pip-audit", fake, "--seconds", wait, *options]
        out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert said in out.stdout + out.stderr
        assert out.returncode == expected


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="pyproject.toml is not beside these tests")
def test_the_package_needs_numpy_and_scikit_learn_alone():
    """And what scikit-learn brings in any case; whatever is imported is named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = {re.match(r"[\w-]+", need)[0] for need in project["dependencies"]}
    brought = {re.match(r"[\w-]+", need)[0] for need in metadata.requires("scikit-learn") if "extra ==" not in need}
    assert {"numpy", "scikit-learn"} <= needs <= {"numpy", "scikit-learn"} | brought
    extras = {re.match(r"[\w-]+", need)[0] for needs in project["optional-dependencies"].values() for need in needs}
    known = {"scikit-learn": "sklearn"}
    allowed = {known.get(name, name) for name in needs | extras} | sys.stdlib_module_names
    imported = set()
    for path in (ROOT / "python" / "kernsift").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.split(".")[0])
    assert imported - allowed - {"kernsift"} == set()
