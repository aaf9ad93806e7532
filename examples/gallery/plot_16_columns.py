"""
Columns of every kind in one pipeline
=====================================

Tables hold numbers on different scales, categories and holes.  Kernels measure distances and want
all of it as numbers of about the same size: a scikit-learn pipeline makes them so, and the model at
its end is one like any other.  Here is a table of houses, made up so that we know what depends on
what.
"""

import matplotlib.pyplot as plt
import numpy as np
from kernsift import SubsetLSSVMRegressor
from kernsift.datasets import houses
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

NOISE = 12.0  # thousands
# old and new are dear, high up is dear with a lift only; the year of construction may be missing
table, y = houses(2000, noise=NOISE, random_state=7)
print(table[:3])

# %%
# Numbers: holes filled and marked, then scaled.  Categories: a column of 0 and 1 for each, about as
# far apart as the scaled numbers are.

numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
columns = ColumnTransformer(
    [("numbers", numbers, [0, 1, 2]), ("kinds", OneHotEncoder(sparse_output=False), [3, 4])]
)
X_train, X_test, y_train, y_test = train_test_split(table, y, random_state=0)

linear = make_pipeline(columns, RidgeCV()).fit(X_train, y_train)
model = make_pipeline(
    columns, SubsetLSSVMRegressor(max_basis=150, gamma="learn", random_state=0)
).fit(X_train, y_train)


def rmse(pipeline):
    return np.sqrt(np.mean((pipeline.predict(X_test) - y_test) ** 2))


print("RMSE on new houses:", end=" ")
print(f"linear {rmse(linear):.1f}, kernels {rmse(model):.1f}; the noise is {NOISE}")
assert rmse(model) < 0.6 * rmse(linear)

# %%
# The pipeline answers questions in the table's own terms: the price of one flat, storey by storey.

floors = np.arange(9)
_, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
slopes, truths = {}, {}
for has_lift, colour in ((True, "C0"), (False, "C1")):
    flats = np.empty((9, 5), dtype=object)
    for j, column in enumerate((100.0, 1990, floors, has_lift, "hill")):
        flats[:, j] = column
    said = model.predict(flats)
    slopes[has_lift] = np.polyfit(floors, said, 1)[0]
    left.plot(floors, said, "o-", color=colour, label=f"{'with' if has_lift else 'no'} lift")
    truth = 40 + 1.1 * 100 * 1.8 + 60 * (25 / 55) ** 2 + floors * (5.0 if has_lift else -6.0)
    truths[has_lift] = np.polyfit(floors, truth, 1)[0]
    left.plot(floors, truth, "--", color=colour, linewidth=1)
left.plot([], [], "k--", linewidth=1, label="truth")
left.set(xlabel="storey", ylabel="price, thousands", title="100 m² on the hill, of 1990")
left.legend()
for pipeline, style, label in ((linear, "C1.", "linear"), (model, "C0.", "kernels")):
    right.plot(
        y_test,
        pipeline.predict(X_test),
        style,
        markersize=3,
        alpha=0.6,
        label=f"{label}: RMSE {rmse(pipeline):.0f}",
    )
ends = [y.min(), y.max()]
right.plot(ends, ends, "k", linewidth=0.8)
right.set(xlabel="price, thousands", ylabel="prediction", title="new houses")
right.legend(markerscale=3)
plt.show()

for has_lift in slopes:
    which = "with" if has_lift else "without"
    modelled, true = slopes[has_lift], truths[has_lift]
    print(f"a storey {which} a lift: {modelled:+.1f}, in truth {true:+.1f}")
    assert abs(slopes[has_lift] - truths[has_lift]) < 1
