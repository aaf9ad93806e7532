"""A model that goes on learning on a Cortex-M4: flash, RAM and instructions, on the processor that QEMU emulates.

    python examples/microcontroller [--out PAGE.md] [--quick]

A pump's flow is learned on a table.  The device gets the model as a C header, and its sensor then drifts: the same rows
go through the C program and through `update` in Python, which must predict the same.  Needs arm-none-eabi-gcc with
newlib, and qemu-system-arm (Debian: gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm).
"""

from __future__ import annotations

import argparse
import copy
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from kernsift import OnlineLSSVMRegressor
from kernsift.export import to_c

HERE = Path(__file__).resolve().parent
COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
MACHINE = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
FLAGS = [*MACHINE, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-fdata-sections"]
# The board's processor runs at 25 MHz; with shift=0 an instruction takes one of its nanoseconds.
INSTRUCTIONS_PER_TICK = 40
FITTED = 300  # rows, before the export


def pump(X):
    """Flow of a pump: speed, pressure, temperature."""
    speed, pressure, warm = X.T
    return np.tanh(2 * speed - pressure) + 0.3 * np.sin(4 * speed) * (1 + warm)


def flash(folder: Path) -> int:
    """Bytes of the model's code and constants."""
    subprocess.run([COMPILER, *FLAGS, "-I.", "-c", HERE / "model.c", "-o", "model.o"], cwd=folder, check=True)
    sizes = subprocess.run(["arm-none-eabi-size", "model.o"], cwd=folder, check=True, capture_output=True, text=True)
    text, data, zeroed = (int(size) for size in sizes.stdout.splitlines()[1].split()[:3])
    assert zeroed == 0
    return text + data


def emulate(folder: Path, rows):
    """Predictions of each row before it was learned, bytes of state and stack, instructions a prediction and a row."""
    rows.astype("<f4").tofile(folder / "rows.bin")
    link = ["-nostartfiles", f"-T{HERE / 'board.ld'}", "-Wl,--gc-sections", "-I.", "-o", "pump.elf"]
    subprocess.run([COMPILER, *FLAGS, HERE / "main.c", HERE / "model.c", *link], cwd=folder, check=True)
    board = ["-machine", "mps2-an386", "-icount", "shift=0", "-nographic", "-monitor", "none", "-serial", "none"]
    program = ["-semihosting-config", "enable=on,target=native", "-kernel", "pump.elf"]
    subprocess.run([EMULATOR, *board, *program], cwd=folder, check=True, timeout=600)
    written = (folder / "out.bin").read_bytes()
    n, stack, state, predict, learn = struct.unpack("<IIIxxxxQQ", written[4 * len(rows) :])
    assert n == len(rows), f"the program learned {n} of {len(rows)} rows"
    predicted = np.frombuffer(written, "<f4", len(rows))
    return predicted, state, stack, INSTRUCTIONS_PER_TICK * predict / n, INSTRUCTIONS_PER_TICK * learn / n


def measure(size: int, n_rows: int):
    """A line of the table."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (FITTED, 3))
    # the paper's rule, its dictionary kept as it is once full: what the header does too
    model = OnlineLSSVMRegressor(
        max_basis=size, gamma=3.0, alpha=0.1, forgetting=1.0, linear=False, swap_until=FITTED, exact_rows=0
    ).fit(X, pump(X) + 0.05 * rng.standard_normal(len(X)))
    assert model.n_basis_ == size, "the dictionary is not full: on the device it would stay as it is, in Python grow"
    X = rng.uniform(-1, 1, (n_rows, 3)).astype(np.float32).astype(float)
    truth = 0.8 * pump(X) + 0.2  # the sensor has drifted
    y = (truth + 0.05 * rng.standard_normal(n_rows)).astype(np.float32).astype(float)
    frozen, learning, expected = model.predict(X), copy.deepcopy(model), []
    for x, target in zip(X, y, strict=True):
        expected.append(learning.predict_one(x))
        learning.update(x, target)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        header = to_c(model, folder / "pump.h", name="pump", learn=True)
        predicted, state, stack, predict, learn = emulate(folder, np.column_stack([X, y]))
        room = flash(folder)
    distance = np.abs(predicted - expected).max() / np.abs(expected).max()
    assert distance < 1e-3, f"off by {distance:.1e} of the largest prediction"
    half = slice(n_rows // 2, None)
    errors = [np.sqrt(np.mean((values[half] - truth[half]) ** 2)) for values in (frozen, predicted)]
    stated = float(re.search(r"200 updates (\S+)", " ".join(header.replace(" * ", " ").split()))[1])
    print(f"{model.n_basis_} kernels: float32 off by {distance:.1e}, the header states {stated:.1e}", file=sys.stderr)
    return [
        f"{model.n_basis_}", f"{room / 1024:.1f}", f"{(state + stack) / 1024:.1f}", f"{predict:,.0f}", f"{learn:,.0f}",
        f"{errors[0]:.3f}", f"{errors[1]:.3f}", f"{distance:.0e}",
    ]  # fmt: skip


HEADINGS = [
    "kernels", "flash, kB", "RAM, kB", "instructions a prediction", "instructions a row learned",
    "error, not learning", "error, learning", "from Python",
]  # fmt: skip
PAGE = """# On a microcontroller

Written by `python examples/microcontroller --out docs/measured/microcontroller.md` with {compiler} and {emulator}.

A model of three columns is fitted to {fitted} rows of a pump's flow and exported by `to_c(model, learn=True)`,
float32. On the device the sensor has drifted (scale 0.8, offset 0.2), and each row is predicted and then learned.
Errors are RMSE against the flow without noise over the second half of {rows:,} such rows: of the model as it was
exported, and of the one that learns. Flash is the model's code and constants (`-O2`), RAM its state and its stack.
"From Python" is the largest distance to what `predict_one` and `update` predict of the same rows, as a part of the
largest prediction.

QEMU runs the program of a Cortex-M4 with its floating-point unit and counts instructions; it knows neither their cycles
nor the waits of a flash memory. An M4 takes one to two cycles for most of them, and some fourteen for a division.

{table}

A prediction solves a triangle of m kernels and learning updates another: both grow with m². The program is
[main.c](../../examples/microcontroller/main.c), some hundred lines with all that runs before it;
[the export](../export.md#c99) has the other settings.
"""


def version(program: str) -> str:
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return f"{program} {re.search(r'[0-9]+[.][0-9]+[.][0-9]+', said)[0]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python examples/microcontroller", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="page to write")
    parser.add_argument("--quick", action="store_true", help="one size, few rows")
    options = parser.parse_args()
    missing = [name for name in (COMPILER, EMULATOR) if shutil.which(name) is None]
    if missing:
        print(f"needs {' and '.join(missing)}: on Debian, `apt-get install gcc-arm-none-eabi "
              "libnewlib-arm-none-eabi qemu-system-arm`", file=sys.stderr)  # fmt: skip
        return 1
    sizes, n_rows = ([10], 100) if options.quick else ([10, 20, 40, 80], 2000)
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(measure(size, n_rows) for size in sizes)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    page = PAGE.format(compiler=version(COMPILER), emulator=version(EMULATOR), fitted=FITTED, rows=n_rows, table=table)
    if options.out:
        options.out.write_text(page, encoding="utf-8")
    print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
