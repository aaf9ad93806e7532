"""
A table larger than memory
==========================

:meth:`kernsift.SubsetLSSVMRegressor.fit_batches` reads a Parquet file twice (and what can be read
only once, once): for a sample of rows from which it chooses the kernels, and for sums whose size
depends on the number of kernels, not of rows.  To see it without filling this machine, tables of
growing length are written and the memory is measured while they are read.

Needs ``pip install 'kernsift[arrow]'`` for Parquet; without it the example reads numpy files and
says so.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMRegressor

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None
    print("pyarrow is not installed: batches of a numpy file instead of Parquet")

FEATURES, NOISE, GROUP = 8, 0.3, 20_000
NAMES = [f"x{j}" for j in range(FEATURES)]
rng = np.random.default_rng(7)


def target(X):
    return np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] ** 2


def rows(n, rng=rng):
    X = rng.uniform(-1, 1, (n, FEATURES))
    return X, target(X) + NOISE * rng.standard_normal(n)


# %%
# A writer that never holds more than one row group, and a reader of batches for those without
# pyarrow.


def write(path, n):
    rng = np.random.default_rng(0)
    if pyarrow is None:
        table = np.lib.format.open_memmap(
            path, mode="w+", dtype=np.float64, shape=(n, FEATURES + 1)
        )
        for first in range(0, n, GROUP):
            X, y = rows(GROUP, rng)
            table[first : first + GROUP] = np.column_stack([X, y])
        return
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in [*NAMES, "y"]])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for _ in range(n // GROUP):
            X, y = rows(GROUP, rng)
            writer.write_table(pyarrow.table([*X.T, y], schema=schema))


def batches_of(path):
    table = np.load(path, mmap_mode="r")
    for first in range(0, len(table), GROUP):
        block = np.array(table[first : first + GROUP])
        yield block[:, :-1], block[:, -1]


# %%
# ``model.fit_batches("rows.parquet", target="y")`` is all there is to it; the rest is the
# measurement.  Python's memory and Arrow's are counted apart.


def learn(path):
    """The model, and the most memory that reading and learning took, in MB."""
    model = SubsetLSSVMRegressor(max_basis=150, gamma=0.15, random_state=0)
    tracemalloc.start()
    if pyarrow is None:
        arrow = 0
        model.fit_batches(batches_of(path))
    else:
        usual = pyarrow.default_memory_pool()
        counted = pyarrow.proxy_memory_pool(usual)
        pyarrow.set_memory_pool(counted)
        model.fit_batches(path, target="y")
        pyarrow.set_memory_pool(usual)
        arrow = counted.max_memory()
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return model, (python + arrow) / 1e6


lengths, memory, errors = [40_000, 100_000, 200_000, 400_000], [], []
X_new, _ = rows(5000)
# a model fitted on named columns predicts from named columns
named = X_new if pyarrow is None else pyarrow.table(list(X_new.T), names=NAMES)
with tempfile.TemporaryDirectory() as folder:
    for n in lengths:
        path = Path(folder) / ("rows.npy" if pyarrow is None else "rows.parquet")
        write(path, n)
        model, most = learn(path)
        assert model.n_samples_seen_ == n
        memory.append(most)
        errors.append(np.sqrt(np.mean((model.predict(named) - target(X_new)) ** 2)))
        path.unlink()

table = [8 * (FEATURES + 1) * n / 1e6 for n in lengths]
for n, whole, most, error in zip(lengths, table, memory, errors, strict=True):
    print(f"{n:>7} rows, {whole:4.1f} MB as a table: {most:4.1f} MB to learn,", end=" ")
    print(f"distance to the truth {error:.4f}")
assert max(memory) < 1.5 * min(memory)
assert memory[-1] < table[-1]
assert max(errors) < 0.7 * NOISE  # which kernels are chosen depends on the sample

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(lengths, table, "C1--s", label="the table itself")
ax.plot(lengths, memory, "C0-o", label="memory while learning")
ax.set(xlabel="rows", ylabel="MB", ylim=(0, None))
ax.set_xticks(lengths, [f"{n:,}" for n in lengths])
ax.legend()
plt.show()
