"""Figures that draw themselves from left to right when a page is opened: those listed in `reveal_figures`.

What is drawn inside the axes of an SVG of matplotlib is clipped by a rectangle; its width is animated by a style inside
the file.  Readers who prefer reduced motion, and programs that do not know such styles, see the figure as it is.
"""

from __future__ import annotations

from pathlib import Path

STYLE = """<style>
@media (prefers-reduced-motion: no-preference) { clipPath rect { animation: reveal 6s linear 0.5s backwards } }
@keyframes reveal { from { width: 0 } }
</style>
"""


def animated(svg: str) -> str:
    """The file with the style before its end; as it was if it has it."""
    return svg if STYLE in svg else svg.replace("</svg>", STYLE + "</svg>")


def write(app, error):
    if error or app.builder.format != "html":
        return
    for name in app.config.reveal_figures:
        for path in Path(app.outdir).rglob(name):
            path.write_text(animated(path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app):
    app.add_config_value("reveal_figures", [], "html")
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
