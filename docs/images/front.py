"""Draws the README's picture, which is the front page's: `python docs/images/front.py`."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "figures"))
style = {"figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False, "font.size": 10}
with mpl.rc_context(style):
    figure = runpy.run_path(str(HERE.parent / "figures" / "front.py"))["figure"]
    figure.savefig(HERE / "front.png", dpi=120, facecolor="white", metadata={"Software": None})
