"""Links to examples of the gallery by file name: ```{in-the-gallery} plot_02_drift plot_07_uncertainty```.

Nothing is written where the gallery is not there (the source distribution has none); a name it lacks is a warning.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)
GALLERY = Path(__file__).resolve().parents[2] / "examples" / "gallery"


class InTheGallery(SphinxDirective):
    """A sentence of links, titled as the examples are."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        if not GALLERY.is_dir():
            return []
        paragraph = nodes.paragraph("", "", nodes.strong("", "In the gallery: "))
        for i, name in enumerate(self.arguments[0].split()):
            path = GALLERY / f"{name}.py"
            if not path.is_file():
                logger.warning("no example %s in the gallery", name, location=self.get_location())
                continue
            title = re.match(r'(?:r?"""|#.*\n)\s*(.+)', path.read_text(encoding="utf-8"))[1]
            link = addnodes.pending_xref(
                "", nodes.inline("", title), refdomain="std", reftype="doc", reftarget=f"/auto_examples/{name}",
                refexplicit=True, refdoc=self.env.docname, refwarn=True,
            )  # fmt: skip
            if i:
                paragraph += nodes.Text("; ")
            paragraph += link
        paragraph += nodes.Text(".")
        return [paragraph]


class GalleryEntry(SphinxDirective):
    """The gallery's place in the table of contents, where there is one."""

    def run(self):
        if not GALLERY.is_dir():
            return []
        lines = ["```{toctree}", ":hidden:", "", "/auto_examples/index", "```"]
        node = nodes.container()
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, node)
        return node.children


def setup(app):
    app.add_directive("in-the-gallery", InTheGallery)
    app.add_directive("gallery-entry", GalleryEntry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
