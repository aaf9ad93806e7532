"""Links from the pages to the rest of the repository.

A link to a file outside `docs` leads to the page made of it, where there is one (`repository_pages` in conf.py), and
else to a page that shows the file.  `path#words` leads to the first line that holds the words; a file or words that
are not there are a warning.  The links are those that work in a checkout too.

`<!-- repository: path -->` in a page stands for the text of that file, and `<!-- repository: path | words -->` for the
same or, where there is no such file yet, the words (` // ` between paragraphs).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from docutils import nodes
from equation_map import link_rows
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound
from sphinx.util import logging

logger = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INCLUDE = re.compile(r"^<!-- repository: (\S+?)(?: \| (.+))? -->$", re.M)
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
OUTSIDE = re.compile(r"\]\((\.\./[^)\s]*)\)")


def page_of(path: str) -> str:
    return f"_repository/{path}"


def read_source(app, docname, source):
    folder = (DOCS / docname).parent

    def include(match):
        path = ROOT / match[1]
        app.env.note_dependency(str(path))  # also of a file that may come
        if not path.is_file():
            if match[2] is None:
                logger.warning("no file %s in the repository", match[1], location=docname)
            return (match[2] or "").replace(" // ", "\n\n")

        def relative(link):
            return f"{link[1]}{os.path.relpath(path.parent / link[2], folder)}{link[3]}"

        return LINK.sub(relative, path.read_text(encoding="utf-8"))

    def outside(match):
        """A link out of `docs`: to a page, or to a page yet to be made."""
        target, _, words = match[1].partition("#")
        path = (folder / target).resolve()
        if path.is_relative_to(DOCS) or not path.is_relative_to(ROOT) or path.suffix == ".png":
            return match[0]
        name = path.relative_to(ROOT).as_posix()
        page = app.config.repository_pages.get(name)
        if page:
            return f"]({os.path.relpath(DOCS / page, folder)}.md{'#' + words if words else ''})"
        if name.startswith("examples/gallery/"):
            return f"]({os.path.relpath(DOCS / 'auto_examples' / path.stem, folder)}.rst)"
        anchor = wanted(app, docname, path, name, unquote(words))
        link = os.path.relpath(DOCS / page_of(name), folder) + ".html" + anchor
        return f"](repository:{link})"

    if os.fspath(app.env.doc2path(docname)).endswith(".md"):
        text = INCLUDE.sub(include, source[0])
        if docname == app.config.repository_pages.get("cpp/EQUATIONS.md"):
            text = link_rows(text)
        source[0] = OUTSIDE.sub(outside, text)


def wanted(app, docname, path, name, words) -> str:
    """Note that the page of a file is wanted, and return the anchor of the line."""
    if path.is_dir() or not path.is_file():
        logger.warning("no file %s in the repository", name, location=docname)
        return ""
    if not hasattr(app.env, "repository_files"):
        app.env.repository_files = {}
    app.env.repository_files.setdefault(docname, set()).add(name)
    if not words:
        return ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if words in line:
            return f"#L-{number}"
    logger.warning("no line of %s holds %r", name, words, location=docname)
    return ""


def forget(app, env, docname):
    getattr(env, "repository_files", {}).pop(docname, None)


def merge(app, env, docnames, other):
    env.repository_files = {**getattr(env, "repository_files", {}), **getattr(other, "repository_files", {})}


def show_files(app):
    """The pages that show files."""
    files = set().union(*getattr(app.env, "repository_files", {}).values())
    for name in sorted(files):
        text = (ROOT / name).read_text(encoding="utf-8")
        try:
            lexer = get_lexer_for_filename(name)
        except ClassNotFound:
            lexer = TextLexer()
        lines = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, cssclass="highlight")
        yield page_of(name), {"title": name, "body": f"<h1>{name}</h1>{highlight(text, lexer, lines)}"}, "page.html"


def resolve(app, doctree, docname):
    for node in doctree.findall(nodes.reference):
        uri = node.get("refuri", "")
        if uri.startswith("repository:"):
            node["refuri"] = uri.removeprefix("repository:")
            node["internal"] = True


def setup(app):
    app.add_config_value("repository_pages", {}, "env")
    app.connect("source-read", read_source)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", resolve)
    app.connect("html-collect-pages", show_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
