"""Long fits: scikit-learn's callbacks, lines of progress, and what Ctrl-C leaves behind."""

from __future__ import annotations

import logging
import os
import signal
import threading

import numpy as np
import pytest
from kernsift import KRLSRegressor, OnlineLSSVMClassifier, OnlineLSSVMRegressor
from kernsift.base import reports as _reports
from sklearn.base import clone

ROWS = 3 * _reports.BLOCK + 500


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(ROWS, 2))
    return X, np.sin(X[:, 0])


def state(model):
    return {name: value.tobytes() for name, value in model._core.state().items()}


def test_reports_change_no_bit_and_are_printed_when_asked(rows, capsys, caplog):
    X, y = rows
    quiet = OnlineLSSVMRegressor(gamma=0.5, max_basis=20).fit(X, y)
    assert capsys.readouterr().out == ""
    told = OnlineLSSVMRegressor(gamma=0.5, max_basis=20, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1] == f"OnlineLSSVMRegressor: {2 * _reports.BLOCK} of {ROWS} rows, 20 kernels"
    caplog.clear()  # other packages may have asked the root logger for all lines
    with caplog.at_level(logging.INFO, logger="kernsift"):
        logged = OnlineLSSVMRegressor(gamma=0.5, max_basis=20).fit(X, y)
    assert [record.getMessage() for record in caplog.records] == lines
    assert capsys.readouterr().out == ""
    assert state(quiet) == state(told) == state(logged)
    told.set_params(verbose=0).partial_fit(X[:10], y[:10])  # how, not what: no new stream


def test_a_classifier_and_a_child_class_report_too(rows, capsys):
    X, y = rows
    plain = OnlineLSSVMClassifier(gamma=0.5, max_basis=20).fit(X, y > 0)
    told = OnlineLSSVMClassifier(gamma=0.5, max_basis=20, verbose=True).fit(X, y > 0)
    assert "OnlineLSSVMClassifier" in capsys.readouterr().out
    np.testing.assert_array_equal(told.predict_proba(X[:50]), plain.predict_proba(X[:50]))
    KRLSRegressor(gamma=0.5, max_basis=20).fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.fixture
def callbacks():
    return pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class Recorder:
    """What a callback is told; ends the fit after `stop` blocks."""

    def __init__(self, stop=None):
        self.told, self.stop, self.scores = [], stop, []

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.told.append(f"end {context.task_name}")
        self.scores.append(fitted_estimator.n_samples_seen_)
        assert fitted_estimator._core is not estimator._core  # a copy, as of now
        return context.task_name == "block" and self.told.count("end block") == self.stop


def test_callbacks_are_told_of_every_block(rows, callbacks):
    X, y = rows
    recorder = Recorder()
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20).set_callbacks(recorder).fit(X, y)
    blocks = ["begin block", "end block"] * 4
    assert recorder.told == ["setup", "begin fit", *blocks, "end fit", "teardown"]
    assert recorder.scores == [_reports.BLOCK * i for i in (1, 2, 3)] + [ROWS] * 2
    assert state(model) == state(OnlineLSSVMRegressor(gamma=0.5, max_basis=20).fit(X, y))
    assert "_callback_fit_ctx" not in vars(model)


def test_a_callback_can_end_the_fit(rows, callbacks):
    X, y = rows
    for kind, target in ((OnlineLSSVMRegressor, y), (OnlineLSSVMClassifier, y > 0)):
        model = kind(gamma=0.5, max_basis=20).set_callbacks(Recorder(stop=2)).fit(X, target)
        assert model.n_samples_seen_ == 2 * _reports.BLOCK
        shorter = kind(gamma=0.5, max_basis=20).fit(X[: 2 * _reports.BLOCK], target[: 2 * _reports.BLOCK])
        assert state(model) == state(shorter)


def test_progress_bars_of_scikit_learn_work(rows, callbacks, tmp_path):
    pytest.importorskip("rich", reason="the bar of scikit-learn needs rich")
    import kernsift
    from sklearn.callback import ProgressBar

    X, y = rows
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20).set_callbacks(ProgressBar()).fit(X, y)
    model.save(tmp_path / "m.npz")  # a callback is not part of the model
    assert state(kernsift.load(tmp_path / "m.npz")) == state(model)


def test_callbacks_are_absent_where_scikit_learn_has_none(monkeypatch):
    monkeypatch.setattr(_reports.importlib.util, "find_spec", lambda name: None)
    model = OnlineLSSVMRegressor(gamma=1.0)
    assert not hasattr(model, "set_callbacks")
    assert model.fit(np.ones((3, 1)), np.ones(3)).n_samples_seen_ == 3


# --- errors between two blocks


class Pipe:
    """A standard output that closes after one line."""

    def __init__(self):
        self.lines = 0

    def write(self, text):
        self.lines += text.count("\n")
        if self.lines > 1:
            raise BrokenPipeError(32, "Broken pipe")

    def flush(self):
        pass


class Handler(logging.Handler):
    """A logger's handler that fails at its second line."""

    def __init__(self):
        super().__init__()
        self.lines = 0

    def emit(self, record):
        self.lines += 1
        if self.lines == 2:
            raise KeyError("the handler's own error")


class Failing:
    """A callback that fails after the second block."""

    blocks = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        Failing.blocks += context.task_name == "block"
        if Failing.blocks == 2:
            raise OSError("no space left for the callback's file")


@pytest.mark.parametrize("source", ["pipe", "logger", "callback"])
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", [OnlineLSSVMRegressor, OnlineLSSVMClassifier, KRLSRegressor])
def test_an_error_between_two_blocks_leaves_the_rows_before_it_and_says_how_many(rows, source, verb, kind, monkeypatch):
    if kind is KRLSRegressor and source == "pipe":
        return  # it prints nothing
    X, y = rows
    y = y > 0 if kind is OnlineLSSVMClassifier else y
    model, calm = kind(gamma=0.5, max_basis=20), kind(gamma=0.5, max_basis=20)
    before = 0
    if verb == "partial_fit":
        for each in (model, calm):
            each.partial_fit(X[:100], y[:100])
        before = 100
    handler, logger = Handler(), logging.getLogger("kernsift")
    with monkeypatch.context() as patch:
        if source == "pipe":
            model.set_params(verbose=1)
            patch.setattr("sys.stdout", Pipe())
        elif source == "logger":
            logger.addHandler(handler)
            patch.setattr(logger, "level", logging.INFO)
            logger.manager._clear_cache()
        else:
            pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
            Failing.blocks = 0
            model.set_callbacks(Failing())
        error = {"pipe": BrokenPipeError, "logger": KeyError, "callback": OSError}[source]
        with pytest.raises(error) as raised:
            getattr(model, verb)(X, y)
        logger.removeHandler(handler)
    logger.manager._clear_cache()
    learned = 2 * _reports.BLOCK
    note = f"kernsift: learning stopped after {learned} of {ROWS} rows; the model has learned them"
    assert raised.value.__notes__ == [note]
    assert model.n_samples_seen_ == before + learned
    if source == "callback":
        model.set_callbacks()
    model.set_params(**({} if kind is KRLSRegressor else {"verbose": 0}))
    if verb == "partial_fit":
        calm.partial_fit(X[:learned], y[:learned])
        assert state(model) == state(calm)
        if kind is OnlineLSSVMClassifier:
            assert model.temperature_ == calm.temperature_
    model.partial_fit(X[learned:], y[learned:])  # it goes on


# --- Ctrl-C


def interrupted(call):
    """Run a long call and press Ctrl-C in the middle of it."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as stopped:
            call()
    finally:
        timer.cancel()
    return str(stopped.value)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("verbose", [0, 1])
def test_ctrl_c_leaves_the_rows_so_far(verbose):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(400_000, 3))
    y = np.sin(X[:, 0])
    fresh = OnlineLSSVMRegressor(gamma=0.3, max_basis=300, novelty_tol=1e-3, verbose=verbose)
    message = interrupted(lambda: fresh.fit(X, y))
    seen = fresh.n_samples_seen_
    assert 0 < seen < len(X)
    assert message == f"stopped after {seen} of {len(X)} rows: the model has learned them"
    # it is the model of those rows, and goes on
    expected = clone(fresh).set_params(verbose=0).fit(X[:seen], y[:seen])
    assert state(fresh) == state(expected)
    interrupted(lambda: fresh.partial_fit(X[seen:], y[seen:]))
    more = fresh.n_samples_seen_
    assert seen < more < len(X)
    assert state(fresh) == state(expected.partial_fit(X[seen:more], y[seen:more]))
    classifier = OnlineLSSVMClassifier(gamma=0.3, max_basis=300, novelty_tol=1e-3)
    interrupted(lambda: classifier.fit(X, y > 0))
    assert classifier.score(X[:2000], y[:2000] > 0) > 0.9


def test_an_error_still_changes_nothing(rows):
    X, y = rows
    model = OnlineLSSVMRegressor(gamma=0.5, max_basis=20).fit(X[:100], y[:100])
    before = state(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan), np.zeros(5))
    assert state(model) == before
