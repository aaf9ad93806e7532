"""
Messages, checkpoints and a crash
=================================

A model that learns from a log of messages must go on after a crash as if there had been none.  The
file that ``save`` writes holds the whole state, the number of rows learned with it, and takes the
place of the old file in one step.  So that number is the place in the log at which to go on: no
message is learned twice and none is left out, and the model ends with the same bytes.

The log here is a list, or a stream of Redis where ``pip install redis`` and a ``redis-server`` are
there; the example says which.
"""

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import kernsift
import matplotlib.pyplot as plt
import numpy as np

try:
    import redis
except ImportError:
    redis = None
    print("redis is not installed (pip install redis): the log is a list")

MESSAGES, EVERY = 3000, 250
rng = np.random.default_rng(7)
X = rng.uniform(-3, 3, (MESSAGES, 2))
y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(MESSAGES)
messages = [json.dumps({"x": x.tolist(), "y": target}) for x, target in zip(X, y, strict=True)]
folder = Path(tempfile.mkdtemp())

# %%
# A log keeps its messages, and is read from any place on.  With Kafka the place is the offset of a
# partition: ``consumer.seek(partition, place)`` instead of a group's committed offset, which is
# another record than the model's and may differ from it after a crash.


class List:
    """Messages in memory."""

    def __init__(self):
        self.messages = list(messages)

    def read(self, place, most):
        return self.messages[place : place + most]


class Redis:
    """A stream of Redis whose message number n has the name n-0, from 1 on."""

    def __init__(self, client):
        self.client = client
        for i, message in enumerate(messages):
            client.xadd("rows", {"message": message}, id=f"{i + 1}-0")

    def read(self, place, most):
        found = self.client.xread({"rows": f"{place}-0"}, count=most)
        return [fields[b"message"] for _, fields in found[0][1]] if found else []


# %%
# The loop: go on from the file if there is one, learn, save every 250 messages.


class Crash(Exception):
    """The process is killed."""


def run(log, path, crash_after=None):
    if path.exists():
        model = kernsift.load(path)
    else:
        model = kernsift.OnlineLSSVMRegressor(max_basis=60, gamma=0.5)
    place, errors = getattr(model, "n_samples_seen_", 0), []
    while found := log.read(place, 50):
        for message in found:
            row = json.loads(message)
            x = np.array(row["x"])
            errors.append((place, row["y"] - model.predict_one(x) if place else 0.0))
            model.update(x, row["y"])
            place += 1
            if place % EVERY == 0:
                model.save(path)
            if len(errors) == crash_after:
                raise Crash(errors)
    return errors


# %%
# Without a crash, and with two of them, at messages 1,100 and 1,900.


def three_lives(log):
    lives = []
    for crash_after in (1100, 900, None):
        try:
            lives.append(run(log, folder / "killed.npz", crash_after))
        except Crash as crash:
            lives.append(crash.args[0])
    return lives


whole = run(List(), folder / "whole.npz")
lives = three_lives(List())
assert [life[0][0] for life in lives] == [0, 1000, 1750]
assert (folder / "killed.npz").read_bytes() == (folder / "whole.npz").read_bytes()
print("after two crashes the model's file is the same to the byte")

server = shutil.which("redis-server")
if redis is not None and server is not None:
    (folder / "killed.npz").unlink()
    address = str(folder / "redis.sock")
    options = ["--port", "0", "--unixsocket", address, "--save", "", "--dir", str(folder)]
    process = subprocess.Popen([server, *options], stdout=subprocess.DEVNULL)
    try:
        client = redis.Redis(unix_socket_path=address)
        for _ in range(100):
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)
        three_lives(Redis(client))
        client.close()
    finally:
        process.terminate()
        process.wait()
    assert (folder / "killed.npz").read_bytes() == (folder / "whole.npz").read_bytes()
    print("and so it is with messages from Redis")
elif redis is not None:
    print("redis-server is not installed: the log is a list")

# %%
# Messages between a checkpoint and a crash are learned a second time by a model that has not seen
# them: their errors are those of the run that nobody killed.

_, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for number, life in enumerate(lives):
    places, errors = np.array(life).T
    assert (errors == np.array(whole)[places.astype(int), 1]).all()
    ax.plot(places, number + np.clip(errors, -0.45, 0.45), f"C{number}", linewidth=0.8)
    if number < 2:
        ax.plot(places[-1], number, "kx", markersize=12, markeredgewidth=3)
for place in range(0, MESSAGES + 1, EVERY):
    ax.axvline(place, color="0.85", linewidth=0.8, zorder=0)
ax.set(xlabel="message (lines: checkpoints, crosses: crashes)", ylabel="error", xlim=(0, MESSAGES))
ax.set_yticks([0, 1, 2], ["first life", "second", "third"])
plt.show()
shutil.rmtree(folder)
