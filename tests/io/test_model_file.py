"""A file that is not whole, or not what it says, is refused with the reason; it runs nothing and takes no memory."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import struct
import tracemalloc
import zipfile

import kernsift
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernsift.io import archive as _archive
from support.saved_models import answers, made


def test_numpy_reads_the_arrays_and_any_tool_the_header(saved):
    with np.load(saved, allow_pickle=False) as file:
        assert file["_core.arrays.basis"].shape == (4, 3)
        header = json.loads(file[_archive.HEADER])
    assert header["format"] == 1
    assert header["class"] == "OnlineLSSVMRegressor"
    assert header["version"] == kernsift.__version__
    assert header["state"]["max_basis"] == 4


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_refused(step, saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(1)
    for place in [*range(0, len(whole), step), *range(30), *range(len(whole) - 110, len(whole))]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(damaged)
        with pytest.raises(ValueError, match=re.escape(repr(str(saved)))):
            kernsift.load(saved)


def test_a_file_cut_short_says_so(saved):
    whole = saved.read_bytes()
    for length in [*range(4, len(whole), 61), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut short"):
            kernsift.load(saved)
    saved.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match="end is missing or changed"):
        kernsift.load(saved)
    saved.write_bytes(b"")
    with pytest.raises(ValueError, match="empty"):
        kernsift.load(saved)


def test_foreign_files_are_named_as_such(tmp_path, saved):
    foreign = tmp_path / "foreign"
    foreign.write_bytes(pickle.dumps(kernsift.OnlineLSSVMRegressor()))
    with pytest.raises(ValueError, match=r"not a model saved by kernsift.*pickle"):
        kernsift.load(foreign)
    np.savez(foreign.with_suffix(".npz"), a=np.eye(2))
    with pytest.raises(ValueError, match="npz archive but not a model"):
        kernsift.load(foreign.with_suffix(".npz"))
    with pytest.raises(FileNotFoundError):
        kernsift.load(tmp_path / "nothing.npz")
    with pytest.raises(ValueError, match="is a folder, and a saved model is a regular file"):
        kernsift.load(tmp_path)


def forge(path, change=lambda header: None, arrays=None):
    """Rewrite a file with another header, under a checksum that is right."""
    header, old = _archive.read(path)
    text = json.loads(json.dumps(header))
    change(text)
    number = text.pop("format")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_archive, "FORMAT", number)
        _archive.write(path, text, {**old, **(arrays or {})})


def test_a_newer_format_asks_for_an_update(saved):
    forge(saved, lambda header: header.update(format=2, version="9.0"))
    with pytest.raises(ValueError, match=r"format 2, written by kernsift 9\.0.*update kernsift"):
        kernsift.load(saved)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda h: h.update({"class": "Anything"}), "holds a Anything.*update"),
        (lambda h: h.update({"class": "os.system"}), "update"),
        (lambda h: h.update({"class": "load"}), "update"),
        (lambda h: h["state"].update(temper=1), "parameter 'temper'.*update"),
        (lambda h: h.update(state=3), "no state"),
        (lambda h: h["state"]["_core"]["settings"].update(n_outputs=10**12), "outputs"),
        (lambda h: h["state"]["_core"]["settings"].update(max_basis=-1), "setting .* out of its range"),
        (lambda h: h["state"]["_core"]["settings"].update(exact_rows=-5), "setting .* out of its range"),
        (lambda h: h["state"]["_core"]["settings"].update(forgetting=2.0), "setting .* out of its range"),
        (lambda h: h["state"]["_core"]["settings"].update(alpha=-0.1), "setting .* out of its range"),
        (lambda h: h["state"]["_core"]["settings"].update(temper=1), "not hold a whole"),
        (lambda h: h["state"]["_core"]["settings"].update(max_basis="many"), "not hold a whole"),
        (lambda h: h["state"]["_core"].update(settings=[1, 0.1]), "not hold a whole"),
        (lambda h: h["state"]["_core"].update(engine="Kernel"), "not hold a whole"),
        (lambda h: h["state"]["_core"]["arrays"].pop("theta"), "'theta' is missing"),
        (lambda h: h["state"]["_core"]["arrays"].update(theta={"$array": "nowhere"}), "nowhere"),
        (
            lambda h: h["state"]["_core"]["arrays"].update(theta={"$objects": {"shape": [10**12], "values": []}}),
            "shape",
        ),
        (lambda h: h["state"].update(gamma={"$object": 0}), "not hold a whole"),
        (lambda h: h["state"].update(gamma={"$call": "print"}), r"\$call"),
        (lambda h: h.update(objects=[{"record": "Popen", "fields": {}}]), "Popen"),
        (lambda h: h.update(objects=[{"estimator": "subprocess.Popen", "state": {}}]), "Popen"),
    ],
)
def test_a_forged_header_is_refused(change, said, saved):
    forge(saved, change)
    tracemalloc.start()
    with pytest.raises(ValueError, match=said):
        kernsift.load(saved)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


class Trap:
    """What unpickling would run."""

    ran = False

    def __reduce__(self):
        return setattr, (Trap, "ran", True)


def sealed_zip(path, members, compression=zipfile.ZIP_STORED):
    with open(path, "w+b") as file:
        with zipfile.ZipFile(file, "w", compression) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
            archive.comment = _archive._MARK + b"0" * 64
        _archive._seal(file)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(values, **options):
    file = io.BytesIO()
    np.save(file, values, **options)
    return file.getvalue()


def test_a_pickle_inside_does_not_run(saved):
    parts = members(saved)
    parts["_core.arrays.theta.npy"] = npy(np.array([Trap()], dtype=object), allow_pickle=True)
    sealed_zip(saved, parts)
    with pytest.raises(ValueError, match="object"):
        kernsift.load(saved)
    assert not Trap.ran


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(4294967296, 4294967296)", "(-1,)", "(True,)", "(5,)"])
def test_an_array_that_claims_more_than_it_holds_is_refused(shape, saved):
    parts = members(saved)
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    parts["_core.arrays.theta.npy"] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    sealed_zip(saved, parts)
    tracemalloc.start()
    with pytest.raises(ValueError, match="theta"):
        kernsift.load(saved)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.parametrize("descr", ["<U0", "|S0", "<U250000000"])
def test_an_array_of_items_without_bytes_or_larger_than_the_file_is_refused(descr, saved):
    parts = members(saved)
    shape = "(300000000,)" if descr.endswith("0") and len(descr) == 3 else "(0,)"
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    parts["_core.arrays.theta.npy"] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    sealed_zip(saved, parts)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"theta.*holds .*not a plain number or text"):
        kernsift.load(saved)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_members_that_lie_over_one_another_are_refused(saved):
    """One large array under a hundred names: each is as large as the file."""
    parts = members(saved)
    parts["big.npy"] = npy(np.zeros(10**6))
    parts |= {f"{i}.npy": b"" for i in range(100)}
    sealed_zip(saved, parts)
    with zipfile.ZipFile(saved) as archive:
        infos, place = archive.infolist(), archive.start_dir
    big = next(info for info in infos if info.filename == "big.npy")
    data = bytearray(saved.read_bytes())
    for info in infos:
        if info.filename[0].isdigit():
            data[place + 16 : place + 28] = struct.pack("<LLL", big.CRC, big.file_size, big.file_size)
            data[place + 42 : place + 46] = struct.pack("<L", big.header_offset)
        place += 46 + len(info.filename) + len(info.extra)
    saved.write_bytes(data)
    with open(saved, "r+b") as file:
        _archive._seal(file)
    tracemalloc.start()
    with pytest.raises(ValueError, match="overlaps"):
        kernsift.load(saved)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("part", "value"),
    [("pos", 625), ("pos", 10**6), ("pos", -1), ("pos", 1.5), ("key", 623), ("key", "zeros"), ("gauss", "nan")],
)
def test_a_generator_in_a_state_it_cannot_have_is_refused(part, value, tmp_path):
    """numpy reads beyond the key where the place says so: the next draw ended the process."""
    path = tmp_path / "m.npz"
    made("drawing").save(path)
    _, arrays = _archive.read(path)
    (name,) = (n for n, values in arrays.items() if values.shape == (624,))
    key = {623: arrays[name][:623], "zeros": np.zeros(624, np.uint32)}

    def change(header):
        state = next(o for o in header["objects"] if "random_state" in o)["random_state"]
        if part == "pos":
            state["state"]["pos"] = value
        if part == "gauss":
            state["gauss"] = {"$float": "nan"}

    forge(path, change, {name: key[value]} if part == "key" else None)
    with pytest.raises(ValueError, match="RandomState"):
        kernsift.load(path)


@pytest.mark.parametrize(
    ("part", "value"),
    [("state", 2**128), ("state", -1), ("inc", 2), ("inc", 1.5), ("uinteger", 2**32), ("has_uint32", 2)],
)
def test_a_generator_of_default_rng_in_such_a_state_is_refused(part, value, tmp_path):
    path = tmp_path / "m.npz"
    made("drawing on").save(path)

    def change(header):
        place = next(o for o in header["objects"] if "generator" in o)["generator"]
        (place["state"] if part in ("state", "inc") else place)[part] = value

    forge(path, change)
    with pytest.raises(ValueError, match="Generator"):
        kernsift.load(path)


def test_one_array_in_a_thousand_places_is_refused(saved):
    """Each place may make its own copy."""
    big = {"$array": "big"}
    forge(saved, lambda h: h["state"].update(gamma=[big] * 1000), {"big": np.zeros(10**5)})
    with pytest.raises(ValueError, match="'big' stands in too many places"):
        kernsift.load(saved)


def test_a_number_in_a_file_takes_no_memory(saved):
    """A ring of 10^13 recent rows has room for the rows that have come."""
    rows = kernsift.load(saved).basis_vectors_
    forge(saved, lambda h: h["state"]["_core"]["settings"].update(exact_rows=10**13))
    assert np.isfinite(kernsift.load(saved).partial_fit(rows, np.zeros(len(rows))).predict(rows)).all()


def test_a_file_that_would_hide_a_method_is_refused(saved):
    forge(saved, lambda h: h["state"].update(_fitted=3))
    with pytest.raises(ValueError, match="'_fitted' would hide a method"):
        kernsift.load(saved)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
def test_only_regular_files_are_read_and_written(saved, tmp_path):
    from kernsift import export

    model = kernsift.load(saved)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for path, kind in ((pipe, "a pipe"), (link, "a pipe"), ("/dev/null", "a device"), (tmp_path, "a folder")):
        before = os.stat(path)
        with pytest.raises(ValueError, match=rf"is {kind}, and a saved model is a regular file: give the path"):
            kernsift.load(path)
        for write in (model.save, lambda path: export.to_c(model, path), lambda path: export.to_libsvm(model, path)):
            with pytest.raises(ValueError, match=rf"is {kind}, and what is written becomes a regular file"):
                write(path)
        assert os.stat(path) == before


def test_a_compressed_bomb_is_refused(saved):
    parts = members(saved)
    parts["_core.arrays.theta.npy"] = npy(np.zeros(5 * 10**6))
    sealed_zip(saved, parts, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed"):
        kernsift.load(saved)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_a_header_of_a_million_brackets_is_refused(saved):
    parts = members(saved)
    parts[_archive.HEADER] = b'{"format": 1, "state": ' + b"[" * 10**6
    sealed_zip(saved, parts)
    with pytest.raises(ValueError, match=r"model\.npz"):
        kernsift.load(saved)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_mutated_file_under_a_right_checksum_loads_or_is_refused(tmp_path_factory, data):
    """Not only accidents: whoever forges the checksum too gets a ValueError or a model, never a crash."""
    path = tmp_path_factory.getbasetemp() / "fuzz.npz"
    variant = data.draw(st.sampled_from(["OnlineLSSVMRegressor", "OROLSRegressor", "SubsetLSSVMClassifier"]))
    if not (source := path.with_suffix(f".{variant}")).exists():
        made(variant).save(source)
    parts = members(source)
    name = data.draw(st.sampled_from([_archive.HEADER] * len(parts) + list(parts)))
    text = bytearray(parts[name])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    parts[name] = bytes(text)
    sealed_zip(path, parts)
    try:
        model = kernsift.load(path)
    except ValueError:
        return
    try:
        answers(model)
    except Exception:  # nonsense in, an exception out; what must not happen is a crash of the process
        return
