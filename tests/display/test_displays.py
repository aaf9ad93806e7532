"""What the displays draw is what the models say."""

from __future__ import annotations

import subprocess
import sys

import kernsift
import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'kernsift[plot]'")
matplotlib.use("agg")

import matplotlib.pyplot as plt  # noqa: E402
from kernsift.display import (  # noqa: E402
    AuditDisplay,
    BasisPathDisplay,
    DictionaryDisplay,
    MemoriesDisplay,
    PrequentialDisplay,
    PruningPathDisplay,
)

rng = np.random.default_rng(20263)
X = rng.uniform(-3, 3, (400, 2))
Y = np.sin(X[:, 0]) * X[:, 1] + 0.05 * rng.standard_normal(400)
MOONS, LABELS = make_moons(400, noise=0.2, random_state=7)
NAMES = np.array(["left", "right"])[LABELS]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def saved(display, folder):
    """The picture can be drawn to a file."""
    path = folder / "picture.png"
    display.figure_.savefig(path)
    assert path.stat().st_size > 1000


def online(**more):
    return kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=20, **more)


# ---- along a stream


def test_prequential_error_is_that_of_predict_then_learn(tmp_path):
    model = online()
    display = PrequentialDisplay.from_estimator(model, X, Y, window=50)
    assert not hasattr(model, "basis_vectors_")
    expected = online().prequential(X, Y)
    np.testing.assert_allclose(display.loss, expected.error**2)
    np.testing.assert_array_equal(display.line_basis_.get_ydata(), expected.n_basis)
    literal = [np.sqrt(np.mean(expected.error[max(0, i - 49) : i + 1] ** 2)) for i in range(400)]
    np.testing.assert_allclose(display.line_.get_ydata(), literal, rtol=1e-12)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(400))
    assert display.ax_.get_ylabel() == "RMSE of the last 50 rows"
    assert display.ax_basis_.figure is display.figure_
    saved(display, tmp_path)


def test_prequential_goes_on_from_a_fitted_model():
    model = online().fit(X[:200], Y[:200])
    before = model.dual_coef_.copy()
    display = PrequentialDisplay.from_estimator(model, X[200:], Y[200:], name="mine")
    np.testing.assert_array_equal(model.dual_coef_, before)
    np.testing.assert_allclose(display.loss, model.prequential(X[200:], Y[200:]).error ** 2)
    assert display.rows[0] == 200
    assert display.ax_.get_legend().get_texts()[0].get_text() == "mine"


def test_prequential_error_of_classes():
    model = kernsift.OnlineLSSVMClassifier(gamma=2.0, max_basis=20)
    display = PrequentialDisplay.from_estimator(model, MOONS, NAMES, window=30)
    expected = kernsift.OnlineLSSVMClassifier(gamma=2.0, max_basis=20).prequential(MOONS, NAMES).error
    np.testing.assert_array_equal(display.loss, expected)
    np.testing.assert_array_equal(display.rows, np.arange(400))
    assert display.line_.get_ydata()[-1] == pytest.approx(np.mean(expected[-30:]))
    assert display.ax_.get_ylabel() == "error rate of the last 30 rows"


@pytest.mark.parametrize("estimator", [kernsift.OnlineLSSVMRegressor, kernsift.OnlineLSSVMClassifier])
def test_prequential_error_does_not_look_ahead(estimator):
    """What comes later changes no error before it."""
    target = Y if estimator is kernsift.OnlineLSSVMRegressor else NAMES
    inputs = X if estimator is kernsift.OnlineLSSVMRegressor else MOONS
    later = np.vstack([inputs[:300], 50 * inputs[300:]])
    one, other = (PrequentialDisplay.from_estimator(estimator(max_basis=20), rows, target) for rows in (inputs, later))
    np.testing.assert_array_equal(one.rows, np.arange(400))
    np.testing.assert_allclose(one.loss[:300], other.loss[:300], rtol=1e-9, atol=1e-12)


def test_a_stream_not_begun_is_watched_from_its_first_row():
    model = kernsift.OnlineLSSVMClassifier(max_basis=20)
    display = AuditDisplay.from_estimator(model, MOONS, NAMES, block=50)
    whole = kernsift.OnlineLSSVMClassifier(max_basis=20).partial_fit(MOONS, NAMES, classes=np.unique(NAMES))
    assert {k: v[-1] for k, v in display.counts.items()} == whole.audit_


def test_weights_of_memories_are_those_after_each_block():
    model = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=20, forgetting=[0.9, 1.0, 0.99])
    display = MemoriesDisplay.from_estimator(model, X, Y, block=40)
    np.testing.assert_allclose(display.weights.sum(axis=1), 1.0)
    assert display.rows.tolist() == [*range(40, len(X) + 1, 40)]
    model.partial_fit(X[:80], Y[:80])
    np.testing.assert_allclose(display.weights[1], [each["weight"] for each in model.experts_], rtol=1e-9)
    assert display.memories == [0.9, 1.0, 0.99]
    # the longest at the bottom
    assert [area.get_label() for area in display.areas_] == [f"forgetting={f}" for f in ("1", "0.99", "0.9")]
    bottom = display.areas_[0].get_paths()[0].vertices[:, 1].max()
    assert bottom == pytest.approx(display.weights[:, 1].max())
    again = display.plot(name="mine", alpha=0.5)
    assert again.ax_.get_title() == "mine"
    assert again.areas_[0].get_alpha() == 0.5


def test_drift_is_marked_where_it_was_noted():
    rows = np.tile(X, (4, 1))
    target = np.where(np.arange(1600) < 800, 1.0, -1.0) * np.tile(Y, 4)
    display = MemoriesDisplay.from_estimator(kernsift.OnlineLSSVMRegressor(max_basis=20), rows, target)
    assert 800 < display.drift[0] < 1100
    marks = [line.get_xdata()[0] for line in display.ax_.get_lines()]
    assert marks == list(display.drift)


def test_error_against_the_size_of_a_growing_model(tmp_path):
    display = PrequentialDisplay.from_estimator(online(), X, Y, against="kernels")
    sizes, errors = display.line_.get_data()
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] == 20
    # the last row before the model had another size
    for size, error in zip(sizes, errors, strict=True):
        assert error == display.running_error[np.flatnonzero(display.n_basis == size)[-1]]
    saved(display, tmp_path)
    display.plot()
    assert display.ax_.get_xlabel() == "row"


def test_predictions_made_elsewhere():
    result = online().prequential(X, Y)
    display = PrequentialDisplay.from_predictions(Y, result.y_pred, n_basis=result.n_basis, name="mine")
    np.testing.assert_allclose(display.loss, result.error**2)
    other = PrequentialDisplay.from_predictions(Y, np.zeros(400), ax=display.ax_, color="k")
    assert other.ax_ is display.ax_
    assert other.ax_basis_ is None
    assert other.ax_.get_ylim()[1] > max(other.running_error.max(), display.running_error.max())
    classes = PrequentialDisplay.from_predictions(NAMES, np.roll(NAMES, 1))
    np.testing.assert_array_equal(classes.loss, np.roll(NAMES, 1) != NAMES)
    with pytest.raises(ValueError, match=r"y_true has shape \(400,\) and y_pred \(3,\)"):
        PrequentialDisplay.from_predictions(Y, Y[:3])
    with pytest.raises(ValueError, match="n_basis has shape"):
        PrequentialDisplay.from_predictions(Y, Y, n_basis=[1])
    with pytest.raises(ValueError, match="against='kernels' needs"):
        other.plot(against="kernels")
    with pytest.raises(ValueError, match="against='time'"):
        other.plot(against="time")
    with pytest.raises(ValueError, match="window=0"):
        PrequentialDisplay.from_predictions(Y, Y, window=0)


def test_audit_counts_are_those_of_the_model(tmp_path):
    model = online()
    display = AuditDisplay.from_estimator(model, X, Y, block=40)
    assert not hasattr(model, "basis_vectors_")
    copy = online()
    for i in range(0, 400, 40):
        copy.partial_fit(X[i : i + 40], Y[i : i + 40])
        place = i // 40 + 1
        assert {k: v[place] for k, v in display.counts.items()} == copy.audit_
        assert display.n_basis[place] == copy.n_basis_
    np.testing.assert_array_equal(display.rows, np.arange(0, 401, 40))
    np.testing.assert_array_equal(display.lines_["admitted"].get_ydata(), display.counts["admitted"])
    np.testing.assert_array_equal(display.lines_["kernels"].get_ydata(), display.n_basis)
    assert "bounced" in display.lines_ or not display.counts["bounced"].any()
    saved(display, tmp_path)
    again = AuditDisplay.from_estimator(copy, X, Y, counts=["rejected_novelty", "refused"])
    assert again.rows[0] == 400
    assert again.counts["admitted"][0] == copy.audit_["admitted"]
    assert set(again.lines_) == {"rejected_novelty", "refused", "kernels"}
    with pytest.raises(ValueError, match=r"counts=\['lost'\] must be one or more of"):
        again.plot(counts=["lost"])


@pytest.mark.parametrize("display", [PrequentialDisplay, AuditDisplay])
def test_what_is_no_stream_is_refused(display):
    with pytest.raises(TypeError, match=f"{display.__name__} watches a stream.*got LSSVMRegressor"):
        display.from_estimator(kernsift.LSSVMRegressor(), X, Y)
    with pytest.raises(ValueError, match=r"10.*400|400.*10"):
        display.from_estimator(online(), X, Y[:10])
    if display is AuditDisplay:
        with pytest.raises(ValueError, match="block=0"):
            display.from_estimator(kernsift.OnlineLSSVMClassifier(), MOONS, NAMES, block=0)


# ---- two features


def points(display):
    across, up = display.grid
    return np.column_stack([g.ravel() for g in np.meshgrid(across, up)])


@pytest.mark.parametrize(
    "model",
    [
        online(),
        kernsift.OROLSRegressor(gammas=[0.3, 1.0], max_basis=10),
        kernsift.LSSVMRegressor(gamma=0.5),
        kernsift.SubsetLSSVMRegressor(gamma=0.5, max_basis=15, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_surface_of_a_regressor(model, tmp_path):
    model.fit(X, Y)
    display = DictionaryDisplay.from_estimator(model, X, Y, grid_resolution=30)
    np.testing.assert_allclose(display.response.ravel(), model.predict(points(display)), rtol=0, atol=1e-10)
    assert display.boundary_ is None
    drawn = display.kernels_.get_offsets()
    assert sorted(map(tuple, drawn.tolist())) == sorted(map(tuple, model.basis_vectors_.tolist()))
    largest = display.vectors[display.sizes.argmax()]
    assert largest in model.basis_vectors_[np.abs(model.dual_coef_).argmax()]
    assert len(display.points_.get_offsets()) == 400
    saved(display, tmp_path)


def test_the_boundary_of_two_classes(tmp_path):
    model = kernsift.SubsetLSSVMClassifier(gamma=2.0, max_basis=20, random_state=0).fit(MOONS, NAMES)
    fig, ax = plt.subplots()
    display = DictionaryDisplay.from_estimator(model, MOONS, NAMES, ax=ax, cmap="PuOr")
    assert display.figure_ is fig
    np.testing.assert_allclose(
        display.response.ravel(), model.decision_function(points(display)), rtol=0, atol=1e-10
    )  # fmt: skip
    line = np.concatenate([path.vertices for path in display.boundary_.get_paths()])
    # interpolated on a grid of a hundredth of the picture
    assert np.abs(model.decision_function(line)).max() < 0.02 * np.abs(display.response).max()
    np.testing.assert_array_equal(display.data[1], LABELS)
    saved(display, tmp_path)


def test_the_regions_of_several_classes(tmp_path):
    rows, labels = make_blobs(300, centers=4, random_state=2)
    model = kernsift.OnlineLSSVMClassifier(gamma=0.1, max_basis=15).fit(rows, labels)
    display = DictionaryDisplay.from_estimator(model, rows, labels)
    winner = display.response.argmax(axis=2).ravel()
    np.testing.assert_array_equal(model.classes_[winner], model.predict(points(display)))
    assert display.boundary_ is not None
    saved(display, tmp_path)


def test_without_rows_the_picture_reaches_as_far_as_the_kernels():
    model = online().fit(X, np.column_stack([Y, -Y]))
    first, second = (DictionaryDisplay.from_estimator(model, output=o, grid_resolution=20) for o in (0, 1))
    np.testing.assert_allclose(first.response, -second.response, atol=1e-12)
    assert first.points_ is None
    assert first.grid[0][0] < model.basis_vectors_[:, 0].min()
    with pytest.raises(ValueError, match="output=2 must be between 0 and 1"):
        DictionaryDisplay.from_estimator(model, output=2)


def test_names_of_columns_are_on_the_axes():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=["depth", "flow"])
    display = DictionaryDisplay.from_estimator(online().fit(frame, Y), frame, Y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("depth", "flow")
    AuditDisplay.from_estimator(online(), frame, Y)
    PrequentialDisplay.from_estimator(online(), frame, Y)


def test_what_has_no_two_features_is_refused():
    three = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match=r"draws 2 features and the model has 3.*principal"):
        DictionaryDisplay.from_estimator(online().fit(three, Y))
    with pytest.raises(ValueError, match=r"FeatureVectorSelector.*has none"):
        DictionaryDisplay.from_estimator(kernsift.FeatureVectorSelector(n_components=3).fit(X))
    with pytest.raises(ValueError, match="y has 3 rows but X has 400"):
        DictionaryDisplay.from_estimator(online().fit(X, Y), X, Y[:3])
    with pytest.raises(TypeError, match="estimator of kernsift"):
        DictionaryDisplay.from_estimator(plt)


# ---- error against the size


def test_the_path_of_a_pruned_subset_of_regressors(tmp_path):
    model = kernsift.SubsetLSSVMRegressor(gamma=0.5, max_basis=30, random_state=0).fit(X[:300], Y[:300])
    before = model.dual_coef_.copy()
    display = PruningPathDisplay.from_estimator(model, X[300:], Y[300:])
    np.testing.assert_array_equal(model.dual_coef_, before)
    assert model.n_basis_ == 30
    assert (display.n_basis[0], display.n_basis[-1], display.chosen) == (60, 1, 30)
    for place in (0, 5, -1):
        smaller = kernsift.SubsetLSSVMRegressor(gamma=0.5, max_basis=30, random_state=0).fit(X[:300], Y[:300])
        smaller.resize(int(display.n_basis[place]))
        error = np.sqrt(np.mean((smaller.predict(X[300:]) - Y[300:]) ** 2))
        assert display.values[place] == pytest.approx(error, rel=1e-9)
    gcv = PruningPathDisplay.from_estimator(model)
    assert gcv.values[np.flatnonzero(gcv.n_basis == 30)[0]] == pytest.approx(model.gcv_, rel=1e-9)
    assert gcv.ax_.get_ylabel() == "GCV"
    cost = PruningPathDisplay.from_estimator(model, what="cost")
    assert cost.values[np.flatnonzero(cost.n_basis == 30)[0]] == pytest.approx(model.cost_, rel=1e-9)
    saved(display, tmp_path)
    with pytest.raises(ValueError, match="what='loo_error' must be 'gcv', 'cost' or 'held_out'"):
        PruningPathDisplay.from_estimator(model, what="loo_error")
    with pytest.raises(ValueError, match="basis='pruned' and keep_path=True"):
        PruningPathDisplay.from_estimator(kernsift.SubsetLSSVMRegressor(max_basis=9, basis="random").fit(X, Y))


def test_errors_held_out_of_the_sizes_that_were_compared(tmp_path):
    settings = {"kernel": "rbf", "gamma": "standard", "max_basis_limit": 200}
    front = kernsift.KernelRegressor(small=False, random_state=0, settings=settings).fit(X, Y)
    model = kernsift.SubsetLSSVMRegressor(max_basis="auto", random_state=0, **settings).fit(X, Y)
    drawn = PruningPathDisplay.from_estimator(model, what="held_out")
    np.testing.assert_array_equal(drawn.n_basis, model.path_["n_basis"])
    np.testing.assert_allclose(drawn.line_.get_ydata() ** 2, model.path_["error"])
    assert drawn.chosen == min(n for n in drawn.n_basis if n >= model.n_basis_)
    # the knee: a size from which no doubling up to the end gains 2 %, and the last that gained
    error = dict(zip(drawn.n_basis.tolist(), model.path_["error"].tolist(), strict=True))
    assert all(error[n] >= 0.98 * error[drawn.chosen] for n in error if n > drawn.chosen)
    assert all(error[n] > error[drawn.chosen] for n in error if n < drawn.chosen)
    assert drawn.ax_.get_ylabel() == "RMSE on rows held out"
    assert PruningPathDisplay.from_estimator(model).ax_.get_ylabel() == "GCV"  # the path is kept
    if type(front.model_) is type(model):
        np.testing.assert_allclose(PruningPathDisplay.from_estimator(front).values, drawn.values)
    labels = kernsift.SubsetLSSVMClassifier(max_basis="auto", keep="predict", random_state=0, **settings)
    of_classes = PruningPathDisplay.from_estimator(labels.fit(X, Y > 0))
    assert of_classes.ax_.get_ylabel() == "RMSE of targets ±1 on rows held out"
    saved(drawn, tmp_path)
    fixed = kernsift.SubsetLSSVMRegressor(max_basis=9, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="fit with max_basis='auto' or size='held-out'"):
        PruningPathDisplay.from_estimator(fixed, what="held_out")
    with pytest.raises(ValueError, match="a front door that chose one, got KernelRegressor"):
        PruningPathDisplay.from_estimator(kernsift.KernelRegressor())


def test_the_path_of_a_selector(tmp_path):
    selector = kernsift.FeatureVectorSelector(gamma=0.5, n_components=25, random_state=0).fit(X)
    display = BasisPathDisplay.from_estimator(selector)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [1.0, *selector.path_])
    assert display.axes_[0].get_ylabel() == "reconstruction error"
    saved(display, tmp_path)


# ---- the extra


def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = "import sys, kernsift.display; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    "draw",
    [
        lambda: PrequentialDisplay.from_predictions(Y, Y),
        lambda: AuditDisplay.from_estimator(online(), X, Y),
        lambda: MemoriesDisplay.from_estimator(online(), X, Y),
        lambda: DictionaryDisplay.from_estimator(online().fit(X, Y)),
        lambda: BasisPathDisplay.from_estimator(kernsift.OROLSRegressor(gamma=0.5, max_basis=5).fit(X, Y)),
        lambda: PruningPathDisplay.from_estimator(kernsift.SparseLSSVMRegressor(max_basis=5).fit(X[:50], Y[:50])),
    ],
)
def test_a_missing_matplotlib_is_named(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'kernsift\[plot\]'"):
        draw()
