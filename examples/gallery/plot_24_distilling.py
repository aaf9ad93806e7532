"""
Distil boosted trees into 500 kernels
=====================================

An ensemble of trees that is accurate may be too large or too slow for the place where it is
needed.  A small model learns what the large one says, on as many rows as one likes: the teacher
labels them, and nothing is measured again.  What is lost is a distance that can be stated, on rows
that neither model has seen.
"""

import pickle
import re
import time

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMRegressor, learn_gamma
from kernsift.export import to_c
from sklearn.ensemble import HistGradientBoostingRegressor


def function(X):
    return np.sin(8 * X[:, 0]) * np.cos(6 * X[:, 1]) + np.sin(6 * X[:, 2] * X[:, 3]) + X[:, 4]


rng = np.random.default_rng(7)
X = rng.uniform(size=(5000, 5))
y = function(X) + 0.2 * rng.standard_normal(len(X))
teacher = HistGradientBoostingRegressor(max_iter=400, learning_rate=0.05, random_state=0).fit(X, y)

# %%
# The teacher labels 10,000 rows.  One fit begins with many kernels and deletes one after another;
# ``resize`` goes along that path, so that a size costs one solution.  Labels without noise want
# hardly any ridge; a larger one keeps the coefficients small enough for float32.

rows = rng.uniform(size=(10_000, 5))
labels = teacher.predict(rows)
gamma = learn_gamma(rows, labels, n_rows=2000, m=150, random_state=0).gamma
student = SubsetLSSVMRegressor(max_basis=500, gamma=gamma, alpha=0.1, random_state=0)
student.fit(rows, labels)

# %%
# The distance is that of the predictions, as a part of their standard deviation, on new rows.  The
# bytes are those of a pickle, and of the constants of the C header that the student becomes.

X_new = rng.uniform(size=(3000, 5))
truth, taught = function(X_new), teacher.predict(X_new)


def rms(difference):
    return np.sqrt(np.mean(difference**2)) / np.std(taught)


def microseconds(model):
    """CPU time of a prediction, all new rows in one call, the best of five."""
    spent = []
    for _ in range(5):
        begin = time.process_time()
        model.predict(X_new)
        spent.append(time.process_time() - begin)
    return 1e6 * min(spent) / len(X_new)


sizes, distances, room = [500, 250, 125, 62, 31, 16], [], []
print("            distance   99 % within  to the truth      bytes  µs a row")
line = "{:11} {:8.3f}  {:12.3f}  {:12.3f}  {:9,}  {:8.2f}"
size_of_teacher, time_of_teacher = len(pickle.dumps(teacher)), microseconds(teacher)
print(line.format("teacher", 0, 0, rms(taught - truth), size_of_teacher, time_of_teacher))
for size in sizes:
    said = student.resize(size).predict(X_new)
    distances.append(rms(said - taught))
    room.append(int(re.search(r"Constants (\d+) bytes", to_c(student, name="student"))[1]))
    most = np.quantile(np.abs(said - taught), 0.99) / np.std(taught)
    figures = distances[-1], most, rms(said - truth), room[-1], microseconds(student)
    print(line.format(f"{size} kernels", *figures))
    if size == 500:
        assert distances[0] < 0.17
        assert rms(said - truth) < rms(taught - truth)
        assert room[0] < size_of_teacher / 50
        assert figures[-1] < time_of_teacher / 10

# %%
# The teacher predicts in steps, and the function behind its rows has none.  So the student of 500
# kernels is nearer to the truth than the teacher is: most of its distance is those steps.

_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.loglog(room, distances, "C0o-", linewidth=2, markersize=7, label="student to teacher")
for size, byte, distance in zip(sizes, room, distances, strict=True):
    ax.annotate(str(size), (byte, distance), (-22, -14), textcoords="offset points")
ax.axhline(rms(taught - truth), color="C1", linestyle="--", label="teacher to the truth")
ax.axvline(size_of_teacher, color="C1", linewidth=2, label="bytes of the teacher")
ax.set(xlabel="bytes (labels: kernels)", ylabel="distance, of the standard deviation")
ax.set_xlim(300, 2 * size_of_teacher)
ax.set_ylim(0.1, 0.9)
ax.set_yticks([0.1, 0.2, 0.4, 0.8], ["0.1", "0.2", "0.4", "0.8"])
ax.minorticks_off()
ax.legend(loc="upper center")
plt.show()
