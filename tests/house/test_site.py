"""The site's own parts: dead links are found, figures draw themselves, the model in the page predicts as in Python."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="docs is not beside these tests")
pytest.importorskip("sphinx", reason="needs sphinx")


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    return importlib.import_module


def test_links_of_built_pages_that_lead_nowhere_are_found(extension, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text('<h1 id="there">a</h1><img src="../none.svg">')
    (tmp_path / "a.html").write_text(
        '<a href="sub/"></a><a href="sub/index.html#there"></a><a href="sub/index.html#gone"></a>'
        '<a href="b.html"></a><a href="#"></a><a href="https://nowhere.invalid/x"></a>'
    )
    dead = extension("internal_links").dead(tmp_path)
    assert dead == [("a.html", "b.html"), ("a.html", "sub/index.html#gone"), ("sub/index.html", "../none.svg")]


def test_a_figure_draws_itself_once_and_not_for_those_who_prefer_no_motion(extension):
    reveal = extension("reveal")
    once = reveal.animated("<svg><clipPath><rect/></clipPath></svg>")
    assert once.endswith("</style>\n</svg>")
    assert once.index("prefers-reduced-motion: no-preference") < once.index("animation:")
    assert reveal.animated(once) == once


def test_the_size_of_thumbnails_panels_is_put_back(extension):
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib")
    plt.switch_backend("agg")
    thumbnails = extension("thumbnails")
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), width_ratios=[1, 2])
    axes[1].set_title("a title")
    assert thumbnails.chosen(figure, None) is axes[1]
    assert thumbnails.chosen(figure, 1) is axes[0]
    with thumbnails.bare(figure, axes[1]):
        assert not axes[1].title.get_visible()
        wide = figure.get_size_inches()[0] * axes[1].get_position().width
        assert wide == pytest.approx(thumbnails.WIDTH)
    assert axes[1].title.get_visible()
    assert tuple(figure.get_size_inches()) == (8, 3)
    many = plt.subplots(3, 3)[0]
    assert thumbnails.chosen(many, None) is None
    plt.close("all")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_model_in_the_page_predicts_as_python_does(extension, tmp_path):
    slider = extension("pruning_slider")
    found = slider.models()
    (tmp_path / "models.json").write_text(json.dumps(found))
    code = f"""const {{ predict }} = require({json.dumps(str(DOCS / "_static" / "pruning_slider.js"))});
    const {{ gamma, models, rows }} = require({json.dumps(str(tmp_path / "models.json"))});
    console.log(JSON.stringify(models.map((m) => rows.map(([x]) => predict(m, gamma, x)))))"""
    said = subprocess.run(["node", "-e", code], check=True, capture_output=True, text=True).stdout
    x = np.array(found["rows"])[:, 0]
    for predicted, model in zip(json.loads(said), found["models"], strict=True):
        error = np.sqrt(np.mean((predicted - slider.curve(x)) ** 2))
        # of the estimator's own predictions; the same sums in another order, of terms up to the largest coefficient
        assert error == pytest.approx(model["error"], abs=1e-13 * np.abs(model["coefficients"]).max())
    errors = [model["error"] for model in found["models"]]
    assert [len(model["centres"]) for model in found["models"]] == list(range(1, len(errors) + 1))
    assert errors[-1] < 0.1 < errors[0]
