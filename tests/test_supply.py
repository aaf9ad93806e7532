"""What comes in from outside: two dependencies, pinned tools and actions, and no network in use."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

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
    model = kind(gamma=0.5)
    if name == "KernelLSTD":
        model.partial_fit(X[:-1], y[:-1], X[1:])
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
    lines = (ROOT / ".ci" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    tools = [line for line in lines if line and not line.startswith("#")]
    assert [tool for tool in tools if not re.fullmatch(r"[\w.-]+(\[\w+\])?==[\w.]+", tool)] == []


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="pyproject.toml is not beside these tests")
def test_the_package_needs_numpy_and_scikit_learn_alone():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (needs,) = re.findall(r"^dependencies = \[(.*)\]$", text, re.M)
    assert re.findall(r'"([\w-]+)', needs) == ["numpy", "scikit-learn"]
