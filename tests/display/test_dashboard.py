"""The page about a running stream: its figures, its size, and what it refuses."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from kernsift import OnlineLSSVMClassifier, OnlineLSSVMRegressor
from kernsift.display import StreamDashboard
from kernsift.display import _dashboard as dashboard


class Silent:
    """A model that says nothing of itself."""


def followed(path, errors, block=1, **settings):
    page = StreamDashboard(path, seconds=1e9, **settings)
    for first in range(0, len(errors), block):
        part = errors[first : first + block]
        page.add(Silent(), part, np.zeros(len(part)))
    return page


def svgs(text):
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", text, re.S)]


@pytest.fixture(scope="module")
def drifting(tmp_path_factory):
    """The page of a stream that turns round half-way, and the model."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-3, 3, (1500, 1))
    y = np.sin(X[:, 0]) * np.where(np.arange(1500) < 750, 1, -1) + 0.05 * rng.standard_normal(1500)
    path = tmp_path_factory.mktemp("page") / "stream.html"
    model = OnlineLSSVMRegressor(max_basis=10)
    with StreamDashboard(path, title="sensor <7>") as page:
        for x, target in zip(X, y, strict=True):
            if page.n_rows_ == 0:
                model.partial_fit(x[None], [target])
            predicted, (low, high) = model.predict_one(x), model.predict_interval_one(x, 0.9)
            model.update(x, target)
            page.add(model, target, predicted, lower=low, upper=high)
    return page, model, path.read_text(encoding="utf-8")


@pytest.mark.parametrize("n", [5, 799, 800, 5000])
@pytest.mark.parametrize("block", [1, 97])
def test_the_running_error_is_that_of_the_rows_before(tmp_path, n, block):
    errors = np.random.default_rng(n).standard_normal(n)
    page = followed(tmp_path / "page.html", errors, block)
    ends, shown = page._errors()
    reach = dashboard.SMOOTH * page._width
    literal = [np.sqrt(np.mean(errors[max(0, end - reach) : end] ** 2)) for end in ends]
    np.testing.assert_allclose(shown, literal, rtol=1e-12)  # sums of some thousand squares
    assert ends[-1] == n - n % page._width
    assert len(ends) < 2 * dashboard.POINTS


def test_the_page_does_not_grow_with_the_stream(tmp_path):
    sizes = []
    for n in (6400, 51_200):
        page = followed(tmp_path / "page.html", np.ones(n), 100)
        page.write()
        sizes.append(page.path.stat().st_size)
    assert sizes[1] < 1.1 * sizes[0]  # numbers of rows have a digit more


def test_the_page_shows_the_model(drifting):
    page, model, text = drifting
    assert page.n_rows_ == 1500
    assert "sensor &lt;7&gt;" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")  # nothing is loaded from elsewhere
    titles = [figure.get("aria-label") for figure in svgs(text)]
    assert [t.split(" of the last")[0] for t in titles] == [
        "RMSE",
        "the last rows: targets, predictions",
        "kernels",
        "kernels added and removed",
        "weights of the memories",
    ]
    assert model.drift_
    marks = [line for line in svgs(text)[0] if line.tag == "line"]
    assert [int(line[0].text.split()[-1]) for line in marks] == model.drift_
    assert page._points[-1].n_basis == model.n_basis_
    assert len([c for c in svgs(text)[1] if c.tag == "circle"]) == dashboard.LATEST


def test_kernels_added_and_removed_are_those_of_the_audit(tmp_path):
    X = np.random.default_rng(0).uniform(-3, 3, (1000, 1))
    model = OnlineLSSVMRegressor(max_basis=5, gamma=1.0, forgetting=1.0).partial_fit(X[:1], X[:1, 0])
    page, begun = StreamDashboard(tmp_path / "page.html"), model.audit_
    page._close(model)
    for x in X[1:]:
        predicted = model.predict_one(x)
        model.update(x, float(np.sin(x[0])))
        page.add(model, np.sin(x[0]), predicted)
    page._close(model)
    for name in ("admitted", "evicted"):
        assert sum(getattr(p, name) for p in page._points) == model.audit_[name] - begun[name] > 0


def test_a_browser_loads_a_running_page_again_and_no_ended_one(tmp_path, drifting):
    page = followed(tmp_path / "page.html", np.ones(3))
    page.write()
    assert 'http-equiv="refresh"' in page.path.read_text(encoding="utf-8")
    assert 'http-equiv="refresh"' not in drifting[2]


def test_pages_are_written_when_it_is_time(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(dashboard.time, "perf_counter", lambda: now[0])
    page, written = StreamDashboard(tmp_path / "page.html", seconds=2), []
    monkeypatch.setattr(page, "write", lambda: written.append(now[0]))
    for now[0] in (0.0, 1.9, 2.0, 3.9, 4.5):
        page.add(Silent(), 1.0, 0.0)
    assert written == [0.0, 2.0, 4.5]


def test_labels_count_those_that_are_wrong(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    model = OnlineLSSVMClassifier(max_basis=10)
    found = model.prequential(X, y)
    page = StreamDashboard(tmp_path / "page.html")
    page.add(model, y, found.y_pred)
    judged = sum(p.judged for p in page._points)
    assert judged == 300 - 300 % page._width
    wrong = found.y_pred != y
    assert sum(p.loss for p in page._points) == wrong[:judged].sum()
    page.write()
    assert "% wrong of the last" in page.path.read_text(encoding="utf-8")


def test_rows_without_a_prediction_are_not_judged(tmp_path):
    page = StreamDashboard(tmp_path / "page.html")
    page.add(Silent(), [1.0, 2.0, 3.0], [np.nan, 1.0, 3.0])
    assert sum(p.judged for p in page._points) == 2
    assert sum(p.loss for p in page._points) == 1.0
    svgs(page.path.read_text(encoding="utf-8"))


def test_a_page_without_rows_is_written_and_lets_errors_pass(tmp_path):
    with pytest.raises(RuntimeError, match="of the stream"), StreamDashboard(tmp_path / "page.html"):
        raise RuntimeError("of the stream")
    svgs((tmp_path / "page.html").read_text(encoding="utf-8"))


def test_several_outputs_are_averaged(tmp_path):
    page = StreamDashboard(tmp_path / "page.html")
    page.add(Silent(), [[1.0, 3.0]], [[0.0, 0.0]])
    assert page._points[0].loss == 5.0


def test_what_it_refuses(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        StreamDashboard(tmp_path / "nowhere" / "page.html")
    with pytest.raises(ValueError, match="seconds=0"):
        StreamDashboard(tmp_path / "page.html", seconds=0)
    page = StreamDashboard(tmp_path / "page.html")
    with pytest.raises(ValueError, match=r"\(2, 1\) but y_pred \(3, 1\)"):
        page.add(Silent(), [1.0, 2.0], [1.0, 2.0, 3.0])
    assert page.n_rows_ == 0
