"""Links between the pages as they were written: a file or a heading that is not there is a warning."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from sphinx.util import logging

logger = logging.getLogger(__name__)
OUTSIDE = re.compile(r"[a-z]+:|//|#$", re.I)
# made by Sphinx and the theme
GENERATED = ("_modules", "_static", "search.html", "genindex.html")


class Page(HTMLParser):
    """The places and links of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links |= {found[name] for name in ("href", "src") if found.get(name)}


def dead(folder: Path) -> list[tuple[str, str]]:
    """Pages with links from them that lead nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.resolve().rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve()).as_posix()
        if name.startswith(GENERATED):
            continue
        for link in sorted(page.links):
            if OUTSIDE.match(link):
                continue
            target, _, place = link.partition("#")
            to = (path.parent / unquote(target.split("?")[0])).resolve() if target else path
            to = to / "index.html" if to.is_dir() else to
            if not to.is_file() or (place and to in pages and unquote(place) not in pages[to].places):
                found.append((name, link))
    return found


def check(app, error):
    if error is None and app.builder.format == "html":
        for page, link in dead(Path(app.outdir)):
            logger.warning("%s: the link %s leads nowhere", page, link)


def setup(app):
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
