"""KernelRegressor and KernelClassifier: what is chosen, what is said of it, and what the chosen model goes on doing."""

from __future__ import annotations

import pickle
import warnings

import kernsift
import numpy as np
import pytest
from kernsift import KernelClassifier, KernelRegressor, Warp
from kernsift.display import RaceDisplay
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV


def table(rng, n=300):
    X = rng.uniform(-2, 2, (n, 3)) * [1e4, 1.0, 1e-3]
    return X, (X[:, 0] > 3e3) * 2.0 + np.sin(2 * X[:, 1]) + 0.1 * rng.standard_normal(n)


def test_the_choice_is_that_of_the_family_and_needs_no_scaling(rng):
    X, y = table(rng)
    model = KernelRegressor(random_state=0).fit(X, y)
    family = kernsift.SubsetLSSVMRegressor(kernel="auto", gamma="learn", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), family.predict(X))
    assert [line["kernel"] for line in model.search_] == [line["kernel"] for line in family.search_]
    for name in ("kernel_", "n_basis_", "alpha_", "n_features_in_", "noise_variance_"):
        assert getattr(model, name) == getattr(family, name)
    assert model.score(*table(rng)) > 0.85
    mean, std = model.predict(X[:4], return_std=True)
    assert mean.shape == std.shape == (4,)
    assert (std > 0).all()


def test_a_small_table_may_have_a_kernel_on_every_row(rng):
    """Without noise every row counts: few kernels lose."""
    X = rng.uniform(0, 1, (260, 1))
    y = np.abs(np.sin(200 * X[:, 0])) + 5 * np.sign(np.sin(60 * X[:, 0]))
    few = KernelRegressor(random_state=0, settings={"max_basis": 20}).fit(X, y)
    every = KernelRegressor(small=False, random_state=0, settings={"max_basis": 20}).fit(X, y)
    assert type(few.model_).__name__ == "SubsetLSSVMRegressor"
    assert type(every.model_).__name__ == "LSSVMRegressor"
    assert every.rivals_[0]["family"] == "SubsetLSSVMRegressor"
    assert every.search_[0]["error"] < every.rivals_[0]["error"]
    assert every.model_.alpha == every.alpha_ == pytest.approx(every.learned_gamma_["alpha"], rel=1e-12)
    assert not hasattr(every, "partial_fit")
    assert not hasattr(every, "merge")
    assert "SubsetLSSVMRegressor with 20 kernels" in every.report()
    every.model_.predict(X, return_std=True)


def test_size_by_itself(rng):
    X, y = table(rng)
    model = KernelRegressor(small=False, random_state=0).fit(X, y)
    sparse = model.model_ if hasattr(model, "partial_fit") else None
    best = min([model.search_[0]["error"], *(rival["error"] for rival in model.rivals_)])
    assert model.search_[0]["error"] == best
    if sparse is not None:
        assert "size: " in model.report()


def test_the_report_says_what_was_chosen_and_why(rng):
    pd = pytest.importorskip("pandas", reason="needs pandas")

    X, y = table(rng)
    X[7, 2] = 1.0  # a thousand times the others
    names = ["load", "angle", "tail"]
    model = KernelRegressor(random_state=0).fit(pd.DataFrame(X, columns=names), y)
    text = model.report()
    first = text.splitlines()[0]
    assert first.startswith(f"KernelRegressor: {model.n_basis_} kernels {model.kernel_!r} (SubsetLSSVMRegressor)")
    assert first.endswith("on 300 rows and 3 columns")
    error = model.search_[0]["error"]
    assert f"error on rows held out: RMSE {error:.4g} ± " in text
    for line in model.search_:
        assert line["kernel"] in text
    assert "relevance" in text
    assert "load " in text
    assert model.tails_ == [2]
    assert "warning: values far from the others in tail" in text
    assert f"{8 * model.n_basis_ * 4 / 1000:.3g} kB" in text
    kinds = KernelClassifier(random_state=0, validation="time").fit(X, y > 0.5)
    assert "% ± " in kinds.report()
    assert "the last fifth" in kinds.report()


def test_rows_in_order_are_warned_about_and_reported(rng):
    t = np.arange(300.0)[:, None]
    y = np.sin(t[:, 0] / 5) + 0.5 * np.sin(t[:, 0] / 40)
    X = np.column_stack([t, rng.standard_normal(300)])
    with pytest.warns(UserWarning, match="the rows look ordered"):
        model = KernelRegressor(random_state=0, settings={"max_basis": 8}).fit(X, y)
    assert "warning: the rows look ordered" in model.report()


def test_a_kernel_that_is_named_races_in_both_families(rng):
    X, y = table(rng)
    settings = {"kernel": "rbf", "gamma": "standard", "max_basis_limit": 100}
    model = KernelRegressor(small=False, random_state=0, settings=settings).fit(X, y)
    families = {type(model.model_).__name__, model.rivals_[0]["family"]}
    assert families == {"SubsetLSSVMRegressor", "LSSVMRegressor"}
    assert model.search_[0]["error"] <= model.rivals_[0]["error"]
    assert {line["kernel"] for line in (*model.search_, *model.rivals_)} == {"rbf"}


def test_columns_that_drift_are_reported(rng):
    X = rng.standard_normal((200, 3))
    X[:, 1] = np.arange(200.0) // 2  # a counter
    X[160:, 2] += np.where(np.arange(40) < 8, 50.0, 0.0)  # a fifth of the last fifth
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    settings = {"kernel": "rbf", "gamma": "standard", "max_basis": 10}
    model = KernelRegressor(random_state=0, settings=settings).fit(X, y)
    assert list(model.drifts_) == [1, 2]
    last, before = X[160:], X[:160]
    for j, part in model.drifts_.items():
        assert part == np.mean((last[:, j] < before[:, j].min()) | (last[:, j] > before[:, j].max()))
    line = next(line for line in model.report().splitlines() if "beyond the range" in line)
    assert "in 1 (100 %), 2 (2" in line
    assert "predictions there go to the constant" in line
    shuffled = rng.permutation(200)
    assert "beyond" not in model.fit(X[shuffled], y[shuffled]).report()
    settings["gamma"] = Warp([np.array([0.0, 100.0])] * 3, [np.ones(1)] * 3)
    assert "predictions there stay as at its end" in KernelRegressor(settings=settings).fit(X, y).report()
    settings["gamma"] = "standard"
    assert KernelRegressor(random_state=0, settings=settings).partial_fit(X, y).drifts_ == {}


def test_too_little_time_leaves_the_first_candidate(rng):
    X, y = table(rng)
    for small in (True, False):
        with pytest.warns(UserWarning, match="time_budget ended before"):
            model = KernelRegressor(small=small, time_budget=1e-6, random_state=0).fit(X, y)
        assert model.kernel_ == "rbf"
        assert [line["stage"] for line in model.search_][1:] == ["not tried", "not tried"]
        assert "time_budget ended" in model.report()
        assert not [name for name in vars(model.model_) if name == "_until"]


def test_it_goes_on_merges_and_is_saved(rng, tmp_path):
    X, y = table(rng)
    model = KernelRegressor(random_state=0, settings={"gamma": "standard", "max_basis": 30}).fit(X[:200], y[:200])
    whole = clone(model).fit(X[:200], y[:200])
    whole.model_.partial_fit(X[200:], y[200:])
    before = pickle.dumps(model)
    copied = pickle.loads(before)
    copied.partial_fit(X[200:], y[200:])
    assert copied.n_samples_seen_ == 300
    np.testing.assert_array_equal(copied.predict(X), whole.predict(X))
    assert pickle.dumps(model) == before
    merged = pickle.loads(before).merge(model)  # its own rows twice
    assert merged.n_samples_seen_ == 400
    model.save(tmp_path / "model.npz")
    again = kernsift.load(tmp_path / "model.npz")
    assert again.report() == model.report()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    fresh = KernelClassifier(settings={"gamma": "standard", "max_basis": 10}, random_state=0)
    fresh.partial_fit(X[:100], y[:100] > 0.5, classes=[False, True]).partial_fit(X[100:], y[100:] > 0.5)
    assert fresh.n_samples_seen_ == 300
    assert fresh.predict_proba(X[:3]).shape == (3, 2)
    # a failure leaves the model as it was
    state = pickle.dumps(copied)
    with pytest.raises(ValueError, match="NaN"):
        copied.partial_fit(np.full((2, 3), np.nan), [0.0, 1.0])
    with pytest.raises(ValueError, match="NaN"):
        copied.fit(np.full((2, 3), np.nan), [0.0, 1.0])
    assert pickle.dumps(copied) == state


def test_exports_and_displays_take_it(rng):
    pytest.importorskip("matplotlib").use("agg")
    X, y = table(rng)
    model = KernelRegressor(random_state=0, settings={"gamma": "standard", "max_basis": 20}).fit(X, y)
    assert "predict" in kernsift.export.to_c(model.model_)
    display = RaceDisplay.from_estimator(model)
    assert display.names == [line["kernel"] for line in model.search_]
    np.testing.assert_array_equal(display.error, [line["error"] for line in model.search_])
    assert display.ax_.get_xlabel() == "root mean squared error, on rows held out"
    with pytest.raises(ValueError, match="has tried no kernels: fit it with kernel='auto'"):
        RaceDisplay.from_estimator(kernsift.SubsetLSSVMRegressor(max_basis=5, gamma="standard").fit(X, y))


def test_settings_are_checked_and_searched(rng):
    X, y = table(rng, 120)
    with pytest.raises(ValueError, match=r"settings holds 'max_bases'.*did you mean 'max_basis'"):
        KernelRegressor(settings={"max_bases": 3}).fit(X, y)
    with pytest.raises(ValueError, match="'time_budget' parameter"):
        KernelRegressor(time_budget=0).fit(X, y)
    with pytest.raises(ValueError, match=r"'max_basis' parameter"):
        KernelRegressor(settings={"max_basis": -1}).fit(X, y)
    with pytest.raises(TypeError, match="KernelRegressor has no parameter 'kernel'"):
        KernelRegressor(kernel="rbf")
    settings = [{"gamma": "standard", "max_basis": m} for m in (5, 25)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(KernelRegressor(random_state=0), {"settings": settings}, cv=2).fit(X, y)
    assert search.best_params_["settings"]["max_basis"] == 25
