"""The scripts of examples/papers: each asserts that its dictionary and predictions are the estimator's."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "papers"
SCRIPTS = sorted(FOLDER.glob("*.py"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="examples is not beside these tests")


def test_every_paper_has_its_script():
    papers = {"efvs", "engel_krls", "isls", "jung_polani", "kernel_lstd", "orols_gcv"}
    assert {path.stem for path in SCRIPTS} == papers


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_gives_what_the_estimator_gives(path, capsys):
    text = path.read_text(encoding="utf-8")
    assert "basis_indices_" in text or "basis_vectors_" in text
    assert "<= 1e-10" in text
    runpy.run_path(str(path), run_name="__main__")
    assert "as the estimator's" in capsys.readouterr().out
