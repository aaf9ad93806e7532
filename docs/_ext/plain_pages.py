"""Markdown beside the HTML: each page's text as it is written here, and `llms.txt`, a list of the pages.

For programs that read documentation. Files of the repository that a page takes in are in its text; what directives draw
or collect is not.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes

HEAD = """# {project}

> {summary}

Version {version}. Each line is a page in Markdown; the HTML page has the same name.
"""
#: Folders of pages, and their headings in the list.
PARTS = {
    "": "Using it", "guide": "User guide", "api": "Reference", "measured": "Measured", "papers": "From the papers",
    "develop": "For contributors",
}  # fmt: skip


def keep(app, docname, source):
    """The text of a page, with links that lead to pages."""
    if app.env.doc2path(docname).suffix == ".md":
        text = source[0].replace("](repository:", "](")
        texts(app.env)[docname] = re.sub(r"(\]\([^)\s]*auto_examples/\w+)\.rst", r"\1.html", text)


def texts(env) -> dict[str, str]:
    if not hasattr(env, "plain_pages"):
        env.plain_pages = {}
    return env.plain_pages


def merge(app, env, docnames, other):
    texts(env).update(texts(other))


def forget(app, env, docname):
    texts(env).pop(docname, None)


def first_sentence(doctree) -> str:
    for paragraph in doctree.findall(nodes.paragraph):
        return re.split(r"(?<=\w)[.:](?:\s|$)", " ".join(paragraph.astext().split()))[0]
    return ""


def write(app, error):
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    parts: dict[str, list[str]] = {folder: [] for folder in PARTS}
    for name, text in sorted(texts(app.env).items()):
        target = out / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        about = first_sentence(app.env.get_doctree(name))
        line = f"- [{app.env.titles[name].astext()}]({name}.md)"
        parts[name.rpartition("/")[0]].append(f"{line}: {about}" if about else line)
    head = HEAD.format(project=app.config.project, summary=app.config.html_summary, version=app.config.version)
    lists = ("\n".join([f"\n## {title}\n", *parts[folder], ""]) for folder, title in PARTS.items())
    (out / "llms.txt").write_text(head + "".join(lists), encoding="utf-8")


def setup(app):
    app.add_config_value("html_summary", "", "html")
    app.connect("source-read", keep, priority=900)  # after files of the repository have been put in
    app.connect("env-merge-info", merge)
    app.connect("env-purge-doc", forget)
    app.connect("build-finished", write)
    return {"version": "2", "env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}
