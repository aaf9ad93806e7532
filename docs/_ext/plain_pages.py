"""Markdown beside the HTML: each page's text as it is written here, and `llms.txt`, a list of the pages.

For programs that read documentation. What directives draw or collect is not in these files.
"""

from __future__ import annotations

from pathlib import Path

HEAD = """# {project}

> {summary}

Version {version}. Each line is a page in Markdown; the HTML page has the same name.

"""


def write(app, error):
    if error or app.builder.format != "html":
        return
    out, lines = Path(app.outdir), []
    for name in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(name))
        if source.suffix != ".md":
            continue
        target = out / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        title = app.env.titles[name].astext()
        lines.append(f"- [{title}]({name}.md)")
    head = HEAD.format(project=app.config.project, summary=app.config.html_summary, version=app.config.version)
    (out / "llms.txt").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    app.add_config_value("html_summary", "", "html")
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
