"""
Twenty-six classes on one basis
===============================

Letters from A to Z, drawn with matplotlib's own fonts and then turned, slanted, shifted and
smeared.  A classifier that trains one machine a class would fit 26 of them; here all classes share
the kernels and the factorised matrix, and a further class costs one more column of coefficients.
"""

import string
import time

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMClassifier
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.ndimage import map_coordinates

SIDE, LETTERS = 14, np.array(list(string.ascii_uppercase))
FONTS = [
    ("DejaVu Sans", "normal"),
    ("DejaVu Sans", "bold"),
    ("DejaVu Serif", "normal"),
    ("DejaVu Sans Mono", "normal"),
]
rng = np.random.default_rng(7)


def printed(letter, family, weight):
    """A letter as 64 × 64 pixels, 1 where there is ink."""
    figure = Figure(figsize=(0.64, 0.64), dpi=100)
    canvas = FigureCanvasAgg(figure)
    figure.text(
        0.5, 0.5, letter, family=family, weight=weight, size=33, ha="center", va="center_baseline"
    )
    canvas.draw()
    return 1 - np.asarray(canvas.buffer_rgba())[..., 0] / 255


def scrawled(picture, n):
    """``n`` versions of it: random maps near the identity, a shift, noise."""
    across = np.linspace(-1, 1, SIDE)
    pixels = np.stack(np.meshgrid(across, across, indexing="ij"), axis=-1).reshape(-1, 2)
    maps = np.eye(2) * 0.95 + 0.1 * rng.standard_normal((n, 2, 2))
    places = pixels @ maps + 0.04 * rng.standard_normal((n, 1, 2))
    ink = map_coordinates(picture, np.moveaxis(31.5 + 30 * places, -1, 0), order=1)
    return np.clip(ink + 0.1 * rng.standard_normal(ink.shape), 0, 1)


def write(n):
    """``n`` of each letter in each font."""
    X = [scrawled(printed(letter, *font), n) for letter in LETTERS for font in FONTS]
    order = rng.permutation(len(LETTERS) * len(FONTS) * n)
    return np.concatenate(X)[order], np.repeat(LETTERS, len(FONTS) * n)[order]


X, y = write(60)
X_new, y_new = write(15)

# %%
# Five hundred kernels for all letters together.

model = SubsetLSSVMClassifier(max_basis=500, gamma=0.03, random_state=0).fit(X, y)
said, sure = model.predict(X_new), model.predict_proba(X_new).max(axis=1)
wrong = said != y_new
print(f"{len(X)} letters learned with {model.n_basis_} kernels;", end=" ")
print(f"{wrong.mean():.1%} of {len(X_new)} new ones misread")
assert wrong.mean() < 0.08

# %%
# What does the number of classes cost?  The same rows and kernels with 2 classes (the first half of
# the alphabet or the second) and with 26, in CPU time.


def seconds(labels, repeats=3):
    rows = model.basis_indices_
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        SubsetLSSVMClassifier(basis=rows, gamma=0.03).fit(X, labels)
        taken.append(time.process_time() - begin)
    return min(taken)


two, many = seconds(y < "N"), seconds(y)
print(f"2 classes {two:.2f} s, 26 classes {many:.2f} s:", end=" ")
print(f"{many / two:.1f} times as long for 13 times the classes")
assert many < 5 * two

# %%
# Above, letters read rightly; below, the misread ones it was surest of, with what they are and what
# it took them for.

right_ones = np.flatnonzero(~wrong)[:12]
worst = np.flatnonzero(wrong)[np.argsort(-sure[wrong])][:12]
figure, axes = plt.subplots(2, 12, figsize=(8, 2.2), layout="constrained")
for ax, i in zip(axes.ravel(), [*right_ones, *worst], strict=True):
    ax.imshow(X_new[i].reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(f"{y_new[i]}" if not wrong[i] else f"{y_new[i]} → {said[i]}", fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])
plt.show()

# %%
# Which letters are taken for which?  The kernels are rows, so it can also be counted how many each
# letter needed.

confused = np.zeros((26, 26))
np.add.at(
    confused, (np.searchsorted(LETTERS, y_new[wrong]), np.searchsorted(LETTERS, said[wrong])), 1
)
_, (left, right) = plt.subplots(1, 2, figsize=(8, 4), width_ratios=[1.2, 1], layout="constrained")
image = left.imshow(confused, cmap="Blues")
left.set(xlabel="read as", ylabel="letter", title="mistakes")
left.set_xticks(range(26), LETTERS, fontsize=7)
left.set_yticks(range(26), LETTERS, fontsize=7)
ticks = range(0, int(confused.max()) + 1, 2)
plt.colorbar(image, ax=left, shrink=0.8, ticks=ticks, label="letters")
names, counts = np.unique(y[model.basis_indices_], return_counts=True)
order = np.argsort(counts)
right.barh(names[order], counts[order], color="C0")
right.set(xlabel="kernels", title="kernels that are this letter")
right.tick_params(axis="y", labelsize=7)
plt.show()
assert len(names) == 26
