"""Models in files: every estimator comes back bit for bit, and a file that is not whole is refused, with the reason."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import kernsift
import numpy as np
import pytest
import skops.io
from kernsift.io import archive as _archive
from kernsift.io import model_file as _saving
from sklearn.base import is_classifier
from support.saved_models import PUBLIC, VARIANTS, answers, learn, made, table

DATA = Path(__file__).parents[1] / "data"
DOCS = Path(__file__).resolve().parents[2] / "docs"


def plain_repr(model):
    return re.sub(r" at 0x\w+", "", repr(model))  # of a RandomState or a Generator


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_estimator_comes_back_bit_for_bit_and_resumes(variant, tmp_path):
    model = made(variant)
    path = tmp_path / "model.npz"
    model.save(path)
    again = kernsift.load(path)
    assert type(again) is type(model)
    assert plain_repr(again) == plain_repr(model)
    for old, new in zip(answers(model), answers(again), strict=True):
        np.testing.assert_array_equal(new, old)
    # the file is the whole state: what was loaded writes the same bytes ...
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    # ... and goes on as if it had never been away
    for each in (model, again):
        learn(each, slice(40, 60), first=False)
    model.save(tmp_path / "a.npz")
    again.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("name", PUBLIC)
def test_an_estimator_that_has_learned_nothing_is_saved_too(name, tmp_path):
    model = getattr(kernsift, name)()
    model.save(tmp_path / "empty.npz")
    assert plain_repr(kernsift.load(tmp_path / "empty.npz")) == plain_repr(model)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-3, 2**40]),
        np.array([0.5, 2.5]).round(),
    ],
    ids=["texts", "objects", "truths", "large", "floats"],
)
def test_classes_keep_their_type(labels, tmp_path):
    X, y, _ = table()
    model = kernsift.OnlineLSSVMClassifier().fit(X, labels[(y > 0).astype(int)])
    model.save(tmp_path / "m.npz")
    again = kernsift.load(tmp_path / "m.npz")
    assert again.classes_.dtype == model.classes_.dtype
    assert [type(c) for c in again.classes_] == [type(c) for c in model.classes_]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_feature_names_output_and_requests_are_kept(tmp_path):
    pd = pytest.importorskip("pandas", reason="needs pandas")
    from sklearn import config_context

    X, y, _ = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    selector = kernsift.FeatureVectorSelector(n_components=3, random_state=0).set_output(transform="pandas").fit(frame)
    selector.save(tmp_path / "s.npz")
    pd.testing.assert_frame_equal(kernsift.load(tmp_path / "s.npz").transform(frame), selector.transform(frame))
    with config_context(enable_metadata_routing=True):
        model = kernsift.OnlineLSSVMRegressor().set_fit_request(sample_weight=True).fit(frame, y)
        model.save(tmp_path / "m.npz")
        again = kernsift.load(tmp_path / "m.npz")
        assert again.get_metadata_routing().fit.requests == model.get_metadata_routing().fit.requests
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["b", "a", "c"]])


def test_what_is_not_plain_is_refused_by_name(tmp_path):
    from sklearn.tree import DecisionTreeRegressor

    path = tmp_path / "m.npz"
    path.write_text("old")
    for value, said in ((DecisionTreeRegressor(), "DecisionTreeRegressor"), (len, "builtin_function"), ({1}, "set")):
        with pytest.raises(TypeError, match=rf"basis holds a value of type {said}.*pickle or joblib"):
            kernsift.SubsetLSSVMRegressor(basis=value).save(path)
    with pytest.raises(TypeError, match=r"gamma holds a .*\(in gamma\.1\)"):
        kernsift.OnlineLSSVMRegressor(gamma=[1.0, object()]).save(path)
    with pytest.raises(TypeError, match="gamma holds a value of type object"):
        kernsift.OnlineLSSVMRegressor(gamma=np.array([object()])).save(path)

    class Mine(kernsift.OnlineLSSVMRegressor):
        pass

    with pytest.raises(TypeError, match="Mine is none of them"):
        Mine().save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# --- writing


@pytest.mark.parametrize("step", ["fsync", "replace", "open", "array"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(step, error, saved, monkeypatch):
    before = saved.read_bytes()

    def fails(*_, **__):
        raise error

    if step == "array":
        monkeypatch.setattr(np.lib.format, "write_array", fails)
    else:
        monkeypatch.setattr(os, step, fails)
    with pytest.raises(type(error)):
        made("OROLSRegressor").save(saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_folder_that_is_not_there_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        kernsift.OnlineLSSVMRegressor().save(tmp_path / "nowhere" / "m.npz")


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_mode_and_link_of_the_old_file_are_kept(saved):
    saved.chmod(0o640)
    link = saved.with_name("link.npz")
    link.symlink_to(saved)
    made("OROLSRegressor").save(link)
    assert link.is_symlink()
    assert saved.stat().st_mode & 0o777 == 0o640
    assert isinstance(kernsift.load(saved), kernsift.OROLSRegressor)
    fresh = saved.with_name("fresh.npz")
    made("OROLSRegressor").save(fresh)
    umask = os.umask(0)
    os.umask(umask)
    assert fresh.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_the_file_is_its_owners_alone_until_it_is_whole(saved, monkeypatch):
    """A file that a killed process leaves is the owner's too."""
    seen = []
    sync = os.fsync

    def look(descriptor):
        seen.extend(path.stat().st_mode & 0o777 for path in saved.parent.glob(".*.tmp"))
        sync(descriptor)

    write = np.lib.format.write_array
    monkeypatch.setattr(os, "fsync", look)
    monkeypatch.setattr(np.lib.format, "write_array", lambda *a, **k: (look_at(), write(*a, **k)))

    def look_at():
        seen.extend(path.stat().st_mode & 0o777 for path in saved.parent.glob(".*.tmp"))

    old = os.umask(0o022)
    try:
        made("OROLSRegressor").save(saved.with_name("new.npz"))
        saved.chmod(0o666)
        made("OROLSRegressor").save(saved)
    finally:
        os.umask(old)
    assert set(seen) == {0o600}
    assert len(seen) > 4
    assert saved.with_name("new.npz").stat().st_mode & 0o777 == 0o644
    assert saved.stat().st_mode & 0o777 == 0o666
    assert sorted(path.name for path in saved.parent.iterdir()) == ["model.npz", "new.npz"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="root alone can give a file away")
def test_the_owner_of_the_old_file_is_kept(saved):
    os.chown(saved, 12345, 23456)
    saved.chmod(0o640)
    made("OROLSRegressor").save(saved)
    assert (saved.stat().st_uid, saved.stat().st_gid, saved.stat().st_mode & 0o777) == (12345, 23456, 0o640)


SAVES = """
import sys, numpy as np, kernsift
rng = np.random.default_rng(0)
model = kernsift.OnlineLSSVMRegressor(gamma=1.0, max_basis=200, novelty_tol=1e-6)
print("ready", flush=True)
while True:
    X = rng.normal(size=(50, 2))
    model.partial_fit(X, np.sin(X[:, 0])).save(sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("kill", [*range(3), *(pytest.param(i, marks=pytest.mark.slow) for i in range(3, 60))])
def test_a_process_killed_while_saving_leaves_a_whole_file(kill, tmp_path):
    path = tmp_path / "m.npz"
    with subprocess.Popen([sys.executable, "-c", SAVES, str(path)], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        while not path.exists():
            time.sleep(0.001)
        time.sleep(float(np.random.default_rng(kill).uniform(0, 0.2)))
        process.send_signal(signal.SIGKILL)
    model = kernsift.load(path)
    # as many rows as blocks of fifty say, and the model a run without interruption has after them
    rows = model.n_samples_seen_
    assert rows > 0
    assert rows % 50 == 0
    rng = np.random.default_rng(0)
    expected = kernsift.OnlineLSSVMRegressor(gamma=1.0, max_basis=200, novelty_tol=1e-6)
    for _ in range(rows // 50):
        X = rng.normal(size=(50, 2))
        expected.partial_fit(X, np.sin(X[:, 0]))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


# --- files of earlier versions, and skops


@pytest.mark.skipif(not DATA.is_dir(), reason="tests/data is not beside these tests")
def test_files_of_earlier_versions_load_for_ever():
    """Written by ``tests/data/make.py`` of their time; never rewritten."""
    folders = sorted(DATA.glob("format*"))
    assert [f.name for f in folders] == [f"format{i + 1}" for i in range(_archive.FORMAT)]
    for folder in folders:
        expected = np.load(folder / "expected.npz", allow_pickle=False)
        files = sorted(p for p in folder.glob("*.npz") if p.name != "expected.npz")
        assert len(files) >= 13
        for path in files:
            model = kernsift.load(path)
            answer = (model.transform if hasattr(model, "transform") else model.predict)(expected["X"])
            if is_classifier(model):
                np.testing.assert_array_equal(answer, expected[path.stem], err_msg=path.name)
                continue
            # another CPU level rounds otherwise; the models have alpha = 0.1
            if path.stem == "exact-rows":  # it forgot exponentially, under a ridge that fell by a quarter at most
                np.testing.assert_allclose(answer, expected[path.stem], atol=1e-2, err_msg=path.name)
                assert model.partial_fit(expected["X"], expected["y"]).health()["sound"]
                continue
            np.testing.assert_allclose(answer, expected[path.stem], atol=1e-8, err_msg=path.name)
            if f"{path.stem} resumed" in expected:
                model.partial_fit(expected["X"], expected["y"])
                np.testing.assert_allclose(model.predict(expected["X"]), expected[f"{path.stem} resumed"], atol=1e-8)


@pytest.mark.skipif(not (DOCS / "persistence.md").is_file(), reason="docs are not beside these tests")
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_documented_list_is_what_skops_must_trust(variant):
    page = (DOCS / "persistence.md").read_text(encoding="utf-8")
    trusted = re.findall(r'^    "(kernsift\.[\w.]+)",$', page, re.M)
    model = made(variant)
    data = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=data)) <= set(trusted)
    again = skops.io.loads(data, trusted=trusted)
    for old, new in zip(answers(model), answers(again), strict=True):
        np.testing.assert_array_equal(new, old)


def test_every_name_in_the_registry_is_a_public_estimator():
    assert [n for n in PUBLIC if _saving._class_of(n) is not getattr(kernsift, n)] == []
