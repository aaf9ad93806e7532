"""
Partitions that merge
=====================

The rows of a subset model enter through sums, and sums add.  So every partition of a table can be
summed where it lies, on threads, processes or other machines, and the merged sums give the model of
all rows: not an average of models, the same model.  :func:`kernsift.dask.fit` does it for Dask
collections; here also by hand, to see the parts.

Needs ``pip install 'kernsift[dask]'``; without it the parts are merged by hand only, and the
example says so.
"""

import pickle

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMRegressor

try:
    import dask
    import dask.array as da
    import kernsift.dask
except ImportError:
    dask = None
    print("dask is not installed: the parts are merged by hand only")

PARTS, NOISE = 4, 0.2
rng = np.random.default_rng(7)
X = np.sort(rng.uniform(0, 12, 8000))[:, None]


def curve(X):
    return np.sin(X[:, 0]) + 0.3 * np.sin(3.1 * X[:, 0])


y = curve(X) + NOISE * rng.standard_normal(len(X))

# %%
# The rows are sorted: each partition knows a quarter of the axis and nothing else.  Averaging four
# models would be no use.  First choose width and kernels on a sample; then sum each part on them,
# in any order; then merge.

sample = rng.permutation(len(X))[:1000]
shared = SubsetLSSVMRegressor(max_basis=40, gamma=0.5, random_state=0).select_basis(
    X[sample], y[sample]
)
parts = np.split(np.arange(len(X)), PARTS)
states = [shared.accumulate(X[part], y[part]) for part in parts]
merged = shared.merge(*states)
alone = [
    SubsetLSSVMRegressor(basis=merged.basis_vectors_, gamma=0.5).fit(X[part], y[part])
    for part in parts
]
whole = SubsetLSSVMRegressor(basis=merged.basis_vectors_, gamma=0.5).fit(X, y)

grid = np.linspace(0, 12, 600)[:, None]
apart = np.abs(merged.predict(grid) - whole.predict(grid)).max()
size = len(pickle.dumps(states[0])) / 1024
print(f"a part is sent as {size:.0f} KB of sums, whatever its rows")
print(f"merged and fitted in one piece differ by at most {apart:.1e}")
assert apart < 1e-8

# %%
# The same by Dask, on whatever scheduler is set; here its threads.

if dask is not None:
    chunks = len(X) // PARTS
    with dask.config.set(scheduler="threads"):
        by_dask = kernsift.dask.fit(
            SubsetLSSVMRegressor(max_basis=40, gamma=0.5, random_state=0),
            da.from_array(X, chunks=(chunks, 1)),
            da.from_array(y, chunks=chunks),
            sample=(X[sample], y[sample]),
        )
    apart = np.abs(by_dask.predict(grid) - merged.predict(grid)).max()
    print(f"by hand and by Dask differ by at most {apart:.1e}")
    assert apart < 1e-8

# %%
# Each part's own model is good on its quarter and lost elsewhere; the merged one is good
# everywhere.

_, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for i, (model, part) in enumerate(zip(alone, parts, strict=True)):
    ax.plot(X[part[::10], 0], y[part[::10]], ".", color=("0.75", "0.6")[i % 2], markersize=3)
    ax.plot(
        grid[:, 0],
        model.predict(grid),
        "C1-",
        linewidth=1,
        label="a part's own model" if i == 0 else None,
    )
ax.plot(grid[:, 0], merged.predict(grid), "C0-", linewidth=2.5, label="merged")
ax.plot(grid[:, 0], curve(grid), "k--", linewidth=1, label="curve")
ax.set(xlabel="x", ylabel="y", ylim=(-2.2, 2.4), xlim=(0, 12))
ax.legend(loc="upper right", ncols=3, fontsize="small")
plt.show()


def error(model):
    return np.sqrt(np.mean((model.predict(grid) - curve(grid)) ** 2))


least = min(map(error, alone))
mean = np.mean([model.predict(grid) for model in alone], axis=0)
averaged = np.sqrt(np.mean((mean - curve(grid)) ** 2))
print(f"the mean of the parts' models is {averaged:.2f} off")
print(f"distance to the curve: merged {error(merged):.3f}, the parts {least:.2f} or more")
assert error(merged) < 0.05 < 0.3 < min(least, averaged)
