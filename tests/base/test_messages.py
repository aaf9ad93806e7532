"""The words of refusals: each names the parameter or column, brings the nearest right word, and no internal name."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import kernsift
import numpy as np
import pytest
from kernsift import blocks, export
from kernsift.base.words import did_you_mean, in_our_words
from kernsift.forecast import KernelForecaster

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (60, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
LABELS = np.where(Y > 0, "up", "down")
NAMES = ["width", "height", "depth"]
Call = Callable[[], Any]
# Classes and modules that no user imports, bindings, addresses.
INTERNAL = re.compile(
    r"(?<![\w'\"./])_[a-z]\w*|\w+\._\w+|Base\b|Parameters\b|pybind|_core|incompatible|object at 0x|Front\b|"
    r"np\.(str_|float64|int64)|Supervised|Regression\b|Learning\b|kernsift\.\w+\.\w+|could not convert"
)


def of(kind: Any, y: Any = Y, **how: Any) -> Call:
    return lambda: kind(**how).fit(X, y)


def few(**how: Any) -> Call:
    return of(kernsift.SubsetLSSVMRegressor, **how)


def stream(**how: Any) -> Call:
    return of(kernsift.OnlineLSSVMRegressor, **how)


def meant(parameter: str, word: str) -> str:
    """The parameter, and the word that the user meant."""
    return rf"(?s)'?{parameter}\b.*did you mean '{word}'\?"


WORDS: dict[str, tuple[Call, str]] = {
    "part of a word": (few(kernel="poly"), meant("kernel", "polynomial")),
    "capitals": (few(kernel="RBF"), meant("kernel", "rbf")),
    "a family": (few(kernel="matern"), meant("kernel", "matern32")),
    "the name elsewhere": (few(kernel="gaussian"), meant("kernel", "rbf")),
    "letters exchanged": (few(gamma="medain"), meant("gamma", "median")),
    "letters exchanged in three": (few(alpha="gvc"), meant("alpha", "gcv")),
    "capitals of a method": (few(alpha="LOO"), meant("alpha", "loo")),
    "a letter left out": (few(basis="kmean"), meant("basis", "kmeans")),
    "auto": (few(max_basis="atuo"), meant("max_basis", "auto")),
    "a letter too many": (few(noise="inputs"), meant("noise", "input")),
    "validation": (few(kernel="auto", validation="tme"), meant("validation", "time")),
    "another form": (few(keep="prediction"), meant("keep", "predict")),
    "class_weight": (
        of(kernsift.SubsetLSSVMClassifier, LABELS, class_weight="balance"),
        meant("class_weight", "balanced"),
    ),
    "a blank for a hyphen": (stream(admission="two part"), meant("admission", "two-part")),
    "engine": (stream(engine="inverze"), meant("engine", "inverse")),
    "forgetting": (stream(forgetting="aut"), meant("forgetting", "auto")),
    "linear": (stream(linear="Auto"), meant("linear", "auto")),
    "on_full": (of(kernsift.KRLSRegressor, on_full="drop"), meant("on_full", "drop-oldest")),
    "selection": (of(kernsift.OROLSRegressor, selection="residuals"), meant("selection", "residual")),
    "method": (of(kernsift.SparseLSSVMRegressor, method="ils"), meant("method", "isls")),
    "pruning": (of(kernsift.SparseLSSVMRegressor, pruning="coeff"), meant("pruning", "coefficient")),
    "strategy": (lambda: KernelForecaster(strategy="recursiv").fit(Y), meant("strategy", "recursive")),
    "what of save": (
        lambda: kernsift.LSSVMRegressor().fit(X, Y).save("m.npz", what="predic"),
        meant("what", "predict"),
    ),
    "of a block": (lambda: blocks.Kernel("poly"), meant("kernel", "polynomial")),
    "a setting's value": (of(kernsift.KernelRegressor, settings={"kernel": "poly"}), meant("kernel", "polynomial")),
    "a setting's name": (of(kernsift.KernelRegressor, settings={"max_bases": 3}), meant("settings", "max_basis")),
    "of a classifier": (of(kernsift.KernelClassifier, LABELS, settings={"gama": 3}), meant("settings", "gamma")),
    "a parameter's name": (few(gama=1.0), meant("gama", "gamma")),
    "set_params": (lambda: kernsift.SubsetLSSVMRegressor().set_params(gama=1.0), meant("gama", "gamma")),
    "of the forecaster": (lambda: KernelForecaster(horizon=3), meant("horizon", "horizons")),
}

PARAMETERS: dict[str, tuple[Call, str]] = {
    "gamma of another number of features": (few(gamma=[1.0, 2.0]), r"gamma has shape \(2,\) but X has 3 features"),
    "gamma of texts": (few(gamma=["a", "b", "c"]), "gamma must be one number or one per feature"),
    "gamma's own kind": (few(gamma=-1.0), r"'gamma'.*an instance of 'kernsift\.Warp'"),
    "negative ridge": (few(alpha=-1), "'alpha'"),
    "part of a kernel": (few(max_basis=2.5), "'max_basis'"),
    "no kernel": (few(max_basis=0), "'max_basis'"),
    "no degree": (few(kernel="polynomial", degree=0), "'degree'"),
    "basis of other columns": (few(basis=np.zeros((5, 2))), "basis has shape"),
    "no threads": (few(n_jobs=0), "n_jobs=0 has no meaning"),
    "a seed of letters": (few(random_state="seed"), "'random_state'"),
    "a class that there is not": (
        of(kernsift.SubsetLSSVMClassifier, LABELS, class_weight={"upp": 2}),
        "class_weight.*'upp'",
    ),
    "a memory beyond 1": (stream(forgetting=2.0), "'forgetting'"),
    "a window of -1": (stream(window=-1), "'window'"),
    "another library's estimator": (lambda: KernelForecaster(estimator="krls").fit(Y), "'kernsift.OnlineLSSVMReg"),
    "no lags": (lambda: KernelForecaster(lags=0).fit(Y), "lags=0"),
    "no horizon": (lambda: KernelForecaster(horizons=0).fit(Y), "horizons=0"),
    "a list of settings": (of(kernsift.KernelRegressor, settings=["max_basis"]), "'settings'"),
    "a model's parameter at the front door": (
        of(kernsift.KernelRegressor, max_basis=9),
        r"settings=\{'max_basis': \.\.\.\}",
    ),
    "the front door's in settings": (of(kernsift.KernelRegressor, settings={"n_jobs": 2}), "'n_jobs'.*give n_jobs="),
    "seconds below 0": (of(kernsift.KernelRegressor, time_budget=-1), "'time_budget'"),
    "a discount of 2": (lambda: kernsift.KernelLSTD(discount=2).partial_fit(X, Y, X), "'discount'"),
    "without names": (lambda: kernsift.SubsetLSSVMRegressor(3), "SubsetLSSVMRegressor takes its parameters by name"),
    "percent": (lambda: kernsift.LSSVMRegressor().fit(X, Y).predict_interval(X, 90), "coverage=90.*such as 0.9"),
    "a delay of -1": (lambda: kernsift.OnlineLSSVMRegressor().prequential(X, Y, delay=-1), "delay.*-1"),
    "a kernel that returns texts": (of(kernsift.LSSVMRegressor, kernel=lambda a, b: "far"), "kernel= returned 'far'"),
    "a table for a matrix": (of(kernsift.LSSVMRegressor, kernel="precomputed"), r"kernel='precomputed'.*\(60, 3\)"),
    "a name that C has not": (lambda: export.to_c(kernsift.LSSVMRegressor().fit(X, Y), name="a b"), "name='a b'"),
    "a type that ONNX has not": (
        lambda: export.to_onnx(kernsift.LSSVMRegressor().fit(X, Y), dtype="half"),
        "dtype='half'",
    ),
    "a kernel that LIBSVM has not": (
        lambda: export.to_libsvm(kernsift.LSSVMRegressor(kernel="matern32").fit(X, Y)),
        "kernel 'matern32'",
    ),
    "a word for a model": (lambda: kernsift.tune("subset", X, Y), "got str"),
}

DATA: dict[str, tuple[Call, str]] = {
    "labels for a regressor": (few(y=LABELS), "y holds '(up|down)' in row 0, which is no number: .*classifier"),
    "labels of a stream": (stream(y=LABELS), "y holds '(up|down)' in row 0"),
    "one class": (of(kernsift.SubsetLSSVMClassifier, np.full(60, "up")), r"1 class \('up'\)"),
    "numbers for a classifier": (of(kernsift.SubsetLSSVMClassifier), "continuous"),
    "no targets": (few(y=None), "y"),
    "fewer targets": (few(y=Y[:-1]), "X has 60 rows and y 59"),
    "one row for a table": (lambda: kernsift.LSSVMRegressor().fit(X[0], Y), "2D array"),
    "a text for rows": (
        lambda: kernsift.LSSVMRegressor().fit(X, Y).predict("abc"),
        "X holds 'abc', which is no number",
    ),
    "a text in a row": (
        lambda: kernsift.OnlineLSSVMRegressor().fit([["1", "a"], ["2", "3"]], [1, 2]),
        "column 1 of X holds 'a' in row 0",
    ),
    "fewer columns": (lambda: kernsift.LSSVMRegressor().fit(X, Y).predict(X[:, :2]), "X has 2 features.*expecting 3"),
    "a word for weights": (
        lambda: kernsift.LSSVMRegressor().fit(X, Y, sample_weight="balanced"),
        "sample_weight holds 'balanced'",
    ),
    "fewer weights": (lambda: kernsift.LSSVMRegressor().fit(X, Y, sample_weight=np.ones(3)), "sample_weight"),
    "NaN": (lambda: kernsift.OnlineLSSVMRegressor().fit(np.where(X > 1.9, np.nan, X), Y), r"row \d+, column \d of X"),
    "NaN in y": (few(y=np.where(Y > 1, np.nan, Y)), r"row \d+ of y"),
    "a text in a series": (lambda: kernsift.lag_embed(["1", "a"], 1), "series holds 'a' in row 1"),
    "rewards left out": (
        lambda: kernsift.KernelLSTD().partial_fit(X, Y[:5], X),
        r"r has shape \(5,\), expected \(60,\)",
    ),
}


def learned(**how: Any) -> Any:
    return kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=10, **how).fit(X, Y)


ONE: dict[str, tuple[Call, str]] = {
    "a shorter row": (lambda: learned().update(X[0, :2], 1.0), r"x has shape \(2,\), expected \(3,\)"),
    "nothing": (lambda: learned().update(None, 1.0), "x has shape"),
    "a text": (lambda: learned().update("abc", 1.0), "x must be a row of numbers.*'abc'"),
    "a target of letters": (lambda: learned().update(X[0], "high"), "y must be a number, got 'high'"),
    "no target": (lambda: learned().update(X[0], None), "y is .*nan"),
    "two targets": (lambda: learned().update(X[0], [1.0, 2.0]), "y must"),
    "a negative weight": (lambda: learned().update(X[0], 1.0, -1.0), "sample_weight is -1.0"),
    "a weight of letters": (lambda: learned().update(X[0], 1.0, "much"), "sample_weight must be a number, got 'much'"),
    "the first of letters": (
        lambda: kernsift.OnlineLSSVMRegressor().update(X[0], "high"),
        "y must be a number, got 'high'",
    ),
    "before a fit": (lambda: kernsift.OnlineLSSVMRegressor().predict_one(X[0]), "not fitted yet"),
    "a dictionary": (lambda: learned().predict_one({"a": 1.0}), "x is a dictionary and this model has no names"),
    "of a classifier": (
        lambda: kernsift.OnlineLSSVMClassifier().fit(X, LABELS).update(X[0, :2], "up"),
        r"x has shape \(2,\), expected \(3,\)",
    ),
}

MISTAKES = {
    f"{what}: {name}": row
    for what, rows in (("words", WORDS), ("parameters", PARAMETERS), ("data", DATA), ("one row", ONE))
    for name, row in rows.items()
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.filterwarnings("ignore")
def test_a_mistake_is_named(name):
    mistake, said = MISTAKES[name]
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        mistake()
    assert re.search(said, str(caught.value)), str(caught.value)
    assert not INTERNAL.search(str(caught.value)), str(caught.value)


FRAMES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "renamed": (lambda F: F.rename(columns={"depth": "dept"}), r"'dept' of X.*did you mean 'depth'\?"),
    "left out": (lambda F: F[["width", "height"]], "missing:\n- depth"),
    "reordered": (lambda F: F[["height", "width", "depth"]], "Column 'height' stands where 'width' stood"),
    "a text": (lambda F: F.assign(depth="deep"), "column 'depth' of X holds 'deep' in row 0"),
    "a date": (lambda F: F.assign(depth=np.datetime64("2026-01-01", "s")), "column 'depth' of X holds dates"),
    "infinite": (lambda F: F.assign(depth=np.inf), "row 0, column 'depth' of X"),
}


@pytest.mark.parametrize(
    "kind",
    [kernsift.OnlineLSSVMRegressor, kernsift.SubsetLSSVMRegressor, kernsift.LSSVMRegressor, kernsift.OROLSRegressor],
)
@pytest.mark.parametrize("name", FRAMES)
def test_a_mistake_in_a_frame_names_the_column(kind, name):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(X, columns=NAMES)
    spoil, said = FRAMES[name]
    model = kind(gamma=0.5).fit(frame, Y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=f"(?s){said}") as caught:
        model.predict(spoil(frame))
    assert not INTERNAL.search(str(caught.value)), str(caught.value)
    assert pickle.dumps(model) == before


def test_columns_named_in_parameters_and_twice_are_named():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(X, columns=NAMES)
    for how in ({"categorical_features": ["heihgt"]}, {"periods": {"heihgt": 24}}):
        with pytest.raises(ValueError, match=rf"{next(iter(how))} names 'heihgt'.*did you mean 'height'\?"):
            kernsift.SubsetLSSVMRegressor(**how).fit(frame, Y)
    model = kernsift.OnlineLSSVMRegressor().fit(frame, Y)
    for x, said in (
        ({"width": 1.0, "height": 2.0, "deptth": 3.0}, r"'deptth'.*did you mean 'depth'\?"),
        ({"width": 1.0, "height": 2.0}, "x has no 'depth'"),
        ({"width": np.nan, "height": 2.0, "depth": 3.0}, "feature 'width' of x is nan"),
    ):
        with pytest.raises(ValueError, match=said):
            model.predict_one(x)


def test_set_params_sets_all_or_none():
    model = kernsift.SubsetLSSVMRegressor(alpha=1.0)
    with pytest.raises(ValueError, match="gama"):
        model.set_params(alpha=2.0, gama=3.0)
    assert model.alpha == 1.0
    assert model.set_params(alpha=2.0) is model
    assert model.alpha == 2.0


def test_the_parts_can_fail():
    assert did_you_mean("nothing", ["rbf", "linear"]) == ""
    assert did_you_mean("", ["rbf"]) == ""
    assert in_our_words("{'b', 'a'} or 'kernsift.base.warp.Warp'") == "{'a', 'b'} or 'kernsift.Warp'"
    assert INTERNAL.search("SubsetBase.__init__() got an unexpected keyword argument")
    assert INTERNAL.search("kernsift.base.warp.Warp")
