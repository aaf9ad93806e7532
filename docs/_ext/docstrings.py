"""Docstrings are written to be read in a terminal: here names and bars in their prose become literal.

scikit-learn's fitted attributes end in an underscore, which reStructuredText takes for a link, and |r| for a
substitution.  Runs after numpydoc.  Classes are shown with the arguments of their constructors.
"""

from __future__ import annotations

import inspect
import re

from sphinx.util.inspect import safe_getattr

MARKED = re.compile(r"(``.*?``|:\w+:`.*?`|`[^`]*`|\*\*.*?\*\*|\.\. .*)")
NAME = re.compile(r"(?<![\w`/.\]])(\w*[A-Za-z]\w*_)(?![\w`])(\[\w+\])?")


def literal(app, what, name, thing, options, lines):
    doctest = False
    for i, line in enumerate(lines):
        doctest = line.strip().startswith(">>>") or (doctest and line.strip() != "")
        if doctest:
            continue
        parts = MARKED.split(line)
        for j in range(0, len(parts), 2):
            parts[j] = NAME.sub(r"``\1\2``", parts[j]).replace("|", "\\|")
        lines[i] = "".join(parts)


def skip_inherited(app, what, name, thing, skip, options):
    """Leave out what classes inherit from scikit-learn and river: their documentation is not ours to repeat."""
    function = safe_getattr(thing, "fget", thing)
    function = safe_getattr(function, "__func__", function)
    module = safe_getattr(function, "__module__", "kernsift")
    return skip if (module or "kernsift").startswith("kernsift") else True


def constructor(app, what, name, thing, options, arguments, returned):
    """The arguments of a class: Sphinx reads `__new__` first, which the estimators have for their own use."""
    if what != "class" or arguments != "(*args, **kwargs)":
        return None
    found = inspect.signature(thing)
    bare = [part.replace(annotation=inspect.Parameter.empty) for part in found.parameters.values()]
    return str(inspect.Signature(bare)), None


def setup(app):
    app.connect("autodoc-process-signature", constructor)
    app.connect("autodoc-process-docstring", literal, priority=900)
    app.connect("autodoc-skip-member", skip_inherited)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
