"""Crashes, full disks and folders that may not be written to: the last checkpoint is whole, and the stream goes on."""

from __future__ import annotations

import os
import signal
import stat
import tempfile
import time
import traceback
from pathlib import Path

import kernsift
import numpy as np
import pytest
from soak import crashing

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="as on POSIX"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_a_stream_of_any_kind_killed_at_any_moment_ends_as_if_it_had_not_been(seed, tmp_path):
    kills = 0
    for kind in range(len(crashing.KINDS)):
        of = kind + seed * len(crashing.KINDS)
        whole, path = tmp_path / f"whole-{of}.npz", tmp_path / f"killed-{of}.npz"
        begin = time.perf_counter()
        crashing.stream(whole, of)
        kills += crashing.killed_stream(path, of, (time.perf_counter() - begin) / 2, of)[0]
        assert crashing.same_to_the_bit(path, whole), crashing.KINDS[kind]
    assert kills > len(crashing.KINDS)  # each stream is killed some four times
    left = {p.name for p in tmp_path.iterdir() if not p.name.startswith(("whole-", "killed-"))}
    assert all(name.startswith(".killed-") and name.endswith(".tmp") for name in left)  # of the killed, never read


def in_a_child(work):
    """What `work` raised in a process of its own, or None."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(here)
        try:
            work()
            text = ""
        except BaseException as error:
            text = "".join(traceback.format_exception_only(error))
        os.write(there, text.encode()[:4000])
        os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the process ended with {status}"
    return text or None


@pytest.fixture
def saved():
    """A model in a file, and a larger one that is to take its place; in a folder that other users may enter."""
    X, y = crashing.rows()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(os.path.realpath(folder)) / "model.npz"
        crashing.begin().partial_fit(X[:50], y[:50]).save(path)
        yield path, crashing.begin().partial_fit(X, y)


@pytest.mark.parametrize("limit", [0, 1, 1000, 20_000])
def test_a_full_disk_is_an_error_with_a_name_and_the_old_file_stays(limit, saved):
    resource = pytest.importorskip("resource")
    path, model = saved
    before = path.read_bytes()

    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        model.save(path)

    said = in_a_child(work)
    assert "OSError" in said
    assert str(path) in said
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    assert kernsift.load(path).n_samples_seen_ == 50


def test_a_folder_that_may_not_be_written_to(saved):
    path, model = saved
    before = path.read_bytes()
    path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR | stat.S_IROTH | stat.S_IXOTH)

    def work():
        if os.geteuid() == 0:  # whom no folder stops
            os.setuid(65534)
        model.save(path)

    try:
        said = in_a_child(work)
    finally:
        path.parent.chmod(stat.S_IRWXU)
    assert "PermissionError" in said
    assert str(path) in said
    assert path.read_bytes() == before


def test_a_model_in_a_file_that_vanished_is_a_plain_error(tmp_path):
    model = kernsift.OnlineLSSVMRegressor(gamma=1.0).fit(np.zeros((2, 1)), [0.0, 1.0])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        model.save(tmp_path / "nowhere" / "model.npz")
