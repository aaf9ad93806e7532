"""Thumbnails of the gallery: one panel of the figure, without words, its lines thick enough for the size.

The panel is the largest of the figure that `sphinx_gallery_thumbnail_number` names (the first unless stated), of equal
ones the first, or that of `# sphinx_gallery_thumbnail_panel = number`.  A figure of many small panels is kept whole.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

SIZE = (400, 280)
WIDTH = 2.2  # inches of the panel: what is drawn in points becomes as large as it is in a figure of this width
MANY = 6  # panels


def panels(figure):
    return [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]


def chosen(figure, number):
    """The panel for the thumbnail, or None for the whole figure."""
    found = panels(figure)
    if number is not None:
        return found[number - 1]
    if not found or len(found) > MANY:
        return None
    return max(found, key=lambda axis: round(axis.get_position().width * axis.get_position().height, 2))


@contextlib.contextmanager
def bare(figure, panel):
    """The figure without words, at the size where the panel is WIDTH wide."""
    parts = [
        part for axis in figure.axes for part in (axis.title, axis.xaxis, axis.yaxis, axis.get_legend(), *axis.texts)
    ]
    shown = [part for part in (*parts, figure._suptitle, *figure.legends) if part is not None and part.get_visible()]
    size = figure.get_size_inches().copy()
    try:
        for part in shown:
            part.set_visible(False)
        scale = WIDTH / (panel.get_position().width * size[0])
        figure.set_size_inches(size * scale)
        yield
    finally:
        figure.set_size_inches(size)
        for part in shown:
            part.set_visible(True)


def setting(text, name):
    found = re.search(rf"^# *sphinx_gallery_thumbnail_{name} *= *(-?\d+)", text, re.M)
    return int(found[1]) if found else None


def place(thumbnails: Path, stem: str) -> Path:
    return thumbnails / f"sphx_glr_{stem}_thumb.png"


def scraper(block, block_vars, gallery_conf):
    """sphinx-gallery's of matplotlib, which first draws the thumbnails' panels."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    iterator, source = block_vars["image_path_iterator"], Path(block_vars["src_file"])
    text = source.read_text(encoding="utf-8")
    wanted, number = setting(text, "number") or 1, setting(text, "panel")
    for i, name in enumerate(plt.get_fignums(), len(iterator) + 1):
        figure = plt.figure(name)
        panel = chosen(figure, number) if i == wanted else None
        if panel is None:
            continue
        target = Path(iterator.image_path.format(i)).parent / "panels" / f"{source.stem}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        with bare(figure, panel):
            figure.canvas.draw()
            box = panel.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
            figure.savefig(target, dpi=SIZE[0] / WIDTH, bbox_inches=box.padded(0.03), facecolor="white")
    return matplotlib_scraper(block, block_vars, gallery_conf)


def replace(app):
    """The gallery's own thumbnails by the panels that were drawn, now or in an earlier build."""
    from sphinx_gallery.utils import scale_image

    images = Path(app.srcdir) / app.config.sphinx_gallery_conf["gallery_dirs"] / "images"
    for panel in sorted((images / "panels").glob("*.png")):
        if place(images / "thumb", panel.stem).is_file():
            scale_image(str(panel), str(place(images / "thumb", panel.stem)), *SIZE)


def setup(app):
    app.connect("builder-inited", replace, priority=900)  # after the gallery is made
    return {"parallel_read_safe": True, "parallel_write_safe": True}
