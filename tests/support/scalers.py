"""Steps before a model that are folded into its kernels."""

from __future__ import annotations

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

SCALERS = {
    "standard": StandardScaler(),
    "range": MinMaxScaler((-2, 2)),
    "robust": RobustScaler(),
    "some": ColumnTransformer([("s", StandardScaler(), [2, 0])]),
}
