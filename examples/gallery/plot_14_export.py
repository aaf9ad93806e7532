"""
On a microcontroller, and anywhere else
=======================================

:func:`kernsift.export.to_c` writes a fitted model as one C99 header that needs no library,
:func:`kernsift.export.to_onnx` as a graph for any ONNX runtime.  Few kernels are a small file: the
size is a matter of choice, and here is what it buys.

The header is compiled where there is a C compiler, and the graph run where ``kernsift[onnx]`` and
``onnxruntime`` are installed; the example says what it could not do.
A model that goes on learning on a Cortex-M4 has
:doc:`its flash, RAM and instructions measured </measured/microcontroller>`.
"""

import ctypes
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMRegressor
from kernsift.export import to_c

try:
    import onnx  # noqa: F401
    import onnxruntime
    from kernsift.export import to_onnx
except ImportError:
    onnxruntime = None
    print("onnx or onnxruntime is not installed: no graph is run")

compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
if compiler is None:
    print("there is no C compiler: the header is written but not run")

rng = np.random.default_rng(7)
X = rng.uniform(-1, 1, (3000, 3))


def pump(X):
    """Flow of a pump: speed, pressure, temperature."""
    speed, pressure, warm = X.T
    return np.tanh(2 * speed - pressure) + 0.3 * np.sin(4 * speed) * (1 + warm)


y = pump(X) + 0.05 * rng.standard_normal(len(X))
X_new = rng.uniform(-1, 1, (2000, 3))

# %%
# One model is fitted, with its pruning path; ``resize`` goes along it.  The header says itself how
# many bytes of constants it takes.

model = SubsetLSSVMRegressor(max_basis=200, gamma=1.0, random_state=0).fit(X, y)
sizes, room, errors = [5, 10, 20, 40, 80, 160], [], []
for size in sizes:
    header = to_c(model.resize(size), name="pump")
    room.append(int(re.search(r"Constants (\d+) bytes", header)[1]))
    errors.append(np.sqrt(np.mean((model.predict(X_new) - pump(X_new)) ** 2)))
    print(f"{size:>4} kernels: {room[-1]:>5} bytes, distance {errors[-1]:.4f}")
assert all(np.diff(errors[:4]) < 0)

# %%
# Forty kernels it shall be.  ``max_bytes`` refuses what would not fit.

model.resize(40)
header = to_c(model, name="pump", max_bytes=1024)
print("\n".join(line for line in header.splitlines() if "pump_predict(" in line))


def run_c(header):
    """Predictions of the compiled header, in float32."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pump.h").write_text(header)
        Path(folder, "pump.c").write_text(
            '#include "pump.h"\nfloat pump(const float *x) {return pump_predict(x);}\n'
        )
        library = Path(folder, "pump.so")
        flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, "-o", library, Path(folder, "pump.c")], check=True)
        call = ctypes.CDLL(str(library)).pump
        call.restype, call.argtypes = ctypes.c_float, [ctypes.POINTER(ctypes.c_float)]
        rows = np.ascontiguousarray(X_new, np.float32)
        return np.array([call(row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))) for row in rows])


def run_onnx(model):
    session = onnxruntime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["variable"], {"X": X_new.astype(np.float32)})[0][:, 0]


expected = model.predict(X_new.astype(np.float32).astype(np.float64))
answers = {}
if compiler is not None:
    answers["C99, float32"] = run_c(header)
if onnxruntime is not None:
    answers["ONNX, float32 in and out"] = run_onnx(model)
for name, answer in answers.items():
    off = np.abs(answer - expected).max() / np.abs(expected).max()
    print(f"{name}: off by at most {off:.1e} of the largest output")
    assert off < 1e-4

# %%
# What float32 loses is far below what the model itself misses: the distances on the right are less
# than a thousandth of the error on the left.

_, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
left.loglog(room, errors, "C0-o")
for size, byte, error in zip(sizes, room, errors, strict=True):
    left.annotate(str(size), (byte, error), xytext=(5, 5), textcoords="offset points")
left.set(
    xlabel="constants, bytes of float32",
    ylabel="distance to the truth",
    title="size against error (labels: kernels)",
    ylim=(0.007, 0.5),
)
left.set_xlim(80, 4000)
left.set_xticks([100, 300, 1000, 3000], ["100", "300", "1000", "3000"])
left.set_yticks([0.01, 0.03, 0.1, 0.3], ["0.01", "0.03", "0.1", "0.3"])
left.minorticks_off()
bins = np.linspace(-9, -5, 33)
for (name, answer), style in zip(answers.items(), ("C0", "C1"), strict=False):
    distance = np.maximum(np.abs(answer - expected), 1e-9)
    right.hist(np.log10(distance), bins, color=style, histtype="step", linewidth=2, label=name)
right.set(
    xlabel="log₁₀ of the distance to Python's answer",
    ylabel="rows",
    title="what float32 loses, 40 kernels",
)
if answers:
    right.legend(loc="upper left", fontsize="small")
    right.set_ylim(0, 1.25 * right.get_ylim()[1])
plt.show()
assert all(np.abs(answer - expected).max() < errors[3] / 1000 for answer in answers.values())
