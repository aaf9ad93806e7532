"""The stated subset that every pull request is timed on, against the commit it begins from (``python bench/guard``).

Short pieces of the paths users feel. asv takes samples of both commits in turn, and judges by their spread.
"""

from __future__ import annotations

from .common import Array, Timed, kernsift, setup, table

__all__ = ["setup"]


class Guarded(Timed):
    """A dozen samples of each commit in three rounds, taken in turn."""

    rounds = 3
    repeat = (4, 8, 10.0)


class Stream(Guarded):
    """`update` row by row, `partial_fit` of a quiet block, and growth at the cap: the default model and one memory."""

    params = (["default", "one memory"],)
    param_names = ("model",)

    def setup(self, model: str) -> None:
        plain = {"forgetting": 1.0, "linear": False} if model == "one memory" else {}
        self.X, self.y = table(6000)
        self.settings = {"gamma": 0.1, "max_basis": 100, **plain}
        self.model = kernsift.OnlineLSSVMRegressor(**self.settings).partial_fit(self.X[:3000], self.y[:3000])
        self.rows = list(zip(self.X[3000:4000], self.y[3000:4000].tolist(), strict=True))

    def time_update(self, model: str) -> None:
        update = self.model.update
        for x, y in self.rows:
            update(x, y)

    def time_block(self, model: str) -> None:
        self.model.partial_fit(self.X[4000:], self.y[4000:])

    def time_cap(self, model: str) -> None:
        kernsift.OnlineLSSVMRegressor(**self.settings).partial_fit(self.X[:1500], self.y[:1500])


class Tables(Guarded):
    """A fit on a table, learned widths, a selection, and predictions."""

    def setup(self) -> None:
        self.X, self.y = table(20_000)
        self.fitted = self.model().fit(self.X[:2000], self.y[:2000])

    def model(self) -> kernsift.SubsetLSSVMRegressor:
        return kernsift.SubsetLSSVMRegressor(gamma=0.1, max_basis=200, random_state=0)

    def time_fit(self) -> None:
        self.model().fit(self.X, self.y)

    def time_predict(self) -> Array:
        return self.fitted.predict(self.X)

    def time_learned_widths(self) -> None:
        kernsift.learn_gamma(self.X[:1500], self.y[:1500], m=80, random_state=0)

    def time_selection(self) -> None:
        kernsift.FeatureVectorSelector(gamma=0.1, n_components=60, random_state=0).fit(self.X[:5000])


class Import:
    """The package in a fresh process, without scikit-learn's own import."""

    number = 1
    rounds = 3
    repeat = (4, 8, 10.0)
    warmup_time = 0.0

    def timeraw_import(self) -> tuple[str, str]:
        return "import kernsift", "import sklearn.base, sklearn.utils.validation, scipy.linalg"
